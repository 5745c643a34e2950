//! Recorded streams of real programs, and what hostile ones could print.

use std::time::Duration;

use super::stream::{OutputFormat, Transcript};
use journeyman_order::agent_run::AgentFailureKind;
use journeyman_order::{AgentRun, Exit};
use proptest::prelude::*;

fn fixture(name: &str) -> Vec<u8> {
    let path =
        format!("{}/tests/fixtures/agents/{name}.jsonl", journeyman_test_support::repository().display());
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn finish(form: OutputFormat, pieces: &[&[u8]], exit: Exit, stderr: &str) -> AgentRun {
    let mut stream = Transcript::new(form);
    for piece in pieces {
        stream.feed(piece);
    }
    stream.finish(exit, stderr, Duration::from_secs(2))
}

/// A successful run of Claude Code with this output.
fn claude(output: &[u8]) -> AgentRun {
    finish(OutputFormat::Records, &[output], Exit::Code(0), "")
}

fn command(output: &[u8]) -> AgentRun {
    finish(OutputFormat::RecordsOrText, &[output], Exit::Code(0), "")
}

fn kind(run: &AgentRun) -> Option<AgentFailureKind> {
    run.failure.as_ref().map(|failure| failure.kind)
}

fn message(run: &AgentRun) -> &str {
    run.failure.as_ref().map_or("", |failure| failure.message.as_str())
}

#[test]
fn real_streams_are_read_as_they_ended() {
    use AgentFailureKind::{Ended, LimitReached, Misconfigured, Unavailable};
    for (name, code, result, failure, tokens, usd) in [
        ("claude-plain", 0, Some("Hello from the mock. The answer is 42."), None, 120, 0.0008),
        ("claude-thinking", 0, Some("answer"), None, 120, 0.0008),
        ("claude-tool-fails", 0, Some("The command failed."), None, 240, 0.0016),
        ("claude-schema-ok", 0, Some(r#"{"status":"fixed","summary":"did it"}"#), None, 120, 0.0008),
        // Several results: the last counts, and their usage is summed.
        ("claude-background-bash", 0, Some("after notification"), None, 360, 0.0024),
        // On resume, one version reports the session's dollars, the other the run's.
        ("claude-resume", 0, Some("Resumed answer."), None, 120, 0.0008),
        ("claude197-resume", 0, Some("Resumed answer."), None, 120, 0.001),
        // Retries on the way are not a failure.
        ("claude-api-529-then-ok", 0, Some("recovered"), None, 120, 0.0008),
        // All of these report `success`.
        ("claude-api-401", 1, Some("Invalid API key · Fix external API key"), Some(Misconfigured), 0, 0.0),
        ("claude-no-key", 1, Some("Not logged in · Please run /login"), Some(Misconfigured), 0, 0.0),
        // These have no result, but their usage is known.
        ("claude-max-turns", 1, None, Some(LimitReached), 240, 0.0016),
        ("claude197-max-turns", 1, None, Some(LimitReached), 240, 0.002),
        ("claude-max-budget", 1, None, Some(LimitReached), 110_000, 0.6),
        // An error despite exit code 0.
        ("claude-timeout-int", 0, None, Some(Ended), 0, 0.0),
        // It says "done" though every tool was denied: its text is no evidence.
        ("claude-permission-denied", 0, Some("Done. Committed the fix."), None, 360, 0.0024),
    ] {
        let run = finish(OutputFormat::Records, &[&fixture(name)], Exit::Code(code), "");
        assert_eq!(run.result.as_deref(), result, "{name}");
        assert_eq!(kind(&run), failure, "{name}: {}", message(&run));
        assert_eq!(run.usage.input_tokens + run.usage.output_tokens, tokens, "{name}");
        assert!((run.usage.usd - usd).abs() < 1e-9, "{name}: {}", run.usage.usd);
        assert!(run.session_id.is_some_and(|id| id.len() == 36), "{name}");
        assert!(run.warnings.is_empty(), "{name}: {:?}", run.warnings);
        // The runtime `command` reads the same program the same way.
        let again = finish(OutputFormat::RecordsOrText, &[&fixture(name)], Exit::Code(code), "");
        assert_eq!((again.result.as_deref(), kind(&again)), (result, failure), "{name}");
    }
    let run = finish(OutputFormat::Records, &[&fixture("claude-api-500-retries2")], Exit::Code(1), "");
    assert_eq!(kind(&run), Some(Unavailable), "{}", message(&run));
}

#[test]
fn a_session_that_is_not_known_is_told_apart_and_not_offered_again() {
    let words = "No conversation found with session ID: 00000000-0000-4000-8000-000000000000";
    for output in [fixture("claude-resume-unknown"), Vec::new()] {
        let run = finish(OutputFormat::Records, &[&output], Exit::Code(1), words);
        assert_eq!(kind(&run), Some(AgentFailureKind::UnknownSession), "{}", message(&run));
        assert_eq!(run.session_id, None);
    }
}

#[test]
fn a_run_that_is_ended_before_its_result_keeps_its_session() {
    let run = finish(OutputFormat::Records, &[&fixture("claude-timeout-term")], Exit::TimedOut, "");
    assert_eq!(kind(&run), Some(AgentFailureKind::LimitReached));
    assert!(run.session_id.is_some());
    let run = finish(OutputFormat::Records, &[&fixture("claude-timeout-int")], Exit::TimedOut, "");
    assert_eq!(kind(&run), Some(AgentFailureKind::LimitReached), "an aborted result is still a timeout");
    let run = finish(OutputFormat::Records, &[&fixture("claude-timeout-term")], Exit::Code(143), "");
    assert_eq!(kind(&run), Some(AgentFailureKind::Ended));
}

#[test]
fn strings_are_kept_as_they_are_other_values_as_json_and_null_as_none() {
    for (value, result) in [
        (r#""text""#, Some("text")),
        (r#""""#, Some("")),
        (r#"" spaces stay ""#, Some(" spaces stay ")),
        (r#""$1 {\"type\":\"result\"}""#, Some(r#"$1 {"type":"result"}"#)),
        (r#"{"b":[1,2.5,null]}"#, Some(r#"{"b":[1,2.5,null]}"#)),
        ("[]", Some("[]")),
        ("7", Some("7")),
        ("false", Some("false")),
        ("null", None),
    ] {
        let run = claude(format!("{{\"type\":\"result\",\"result\":{value}}}\n").as_bytes());
        assert_eq!(run.result.as_deref(), result, "{value}");
        assert_eq!(
            kind(&run),
            if result.is_none() { Some(AgentFailureKind::Ended) } else { None },
            "{value}"
        );
    }
    assert_eq!(kind(&claude(b"{\"type\":\"result\"}\n")), Some(AgentFailureKind::Ended));
    for (structured, result) in
        [(r#"{"passed":true}"#, r#"{"passed":true}"#), ("null", "said"), ("7", "said")]
    {
        let line =
            format!("{{\"type\":\"result\",\"result\":\"said\",\"structured_output\":{structured}}}\n");
        assert_eq!(claude(line.as_bytes()).result.as_deref(), Some(result), "{structured}");
    }
}

#[test]
fn a_result_that_is_cut_off_or_nested_without_end_is_a_failure_and_not_the_one_before() {
    let first = "{\"type\":\"result\",\"result\":\"first\"}\n";
    let cut = "{\"type\":\"result\",\"result\":\"seco";
    let deep = format!("{{\"type\":\"result\",\"result\":{}{}}}\n", "[".repeat(5_000), "]".repeat(5_000));
    let huge = "{\"type\":\"result\",\"result\":\"x\",\"total_cost_usd\":1e999}\n";
    for second in [cut, &deep, huge] {
        let run = claude(format!("{first}{second}").as_bytes());
        assert_eq!((run.result.as_deref(), kind(&run)), (None, Some(AgentFailureKind::Ended)));
    }
}

#[test]
fn success_with_a_bad_exit_is_no_success_and_an_error_with_a_good_one_is_an_error() {
    let good =
        b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"24 tests pass\"}\n";
    for exit in [Exit::Code(1), Exit::Signal(9)] {
        let run = finish(OutputFormat::Records, &[good], exit, "out of memory");
        assert_eq!(kind(&run), Some(AgentFailureKind::Ended));
        assert!(message(&run).contains("out of memory"), "{}", message(&run));
    }
    let bad = b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"no\"}\n";
    assert_eq!(kind(&claude(bad)), Some(AgentFailureKind::Ended));
}

#[test]
fn failures_are_told_apart_by_what_they_ask_for() {
    use AgentFailureKind::{Ended, LimitReached, Misconfigured, Unavailable, UnknownSession};
    let api = |fields: &str| {
        format!("{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,{fields}}}\n").into_bytes()
    };
    for (output, expected) in [
        (api(r#""api_error_status":429,"result":"x""#), Unavailable),
        (api(r#""api_error_status":529,"result":"x""#), Unavailable),
        (api(r#""api_error_status":503,"result":"x""#), Unavailable),
        (api(r#""api_error_status":403,"result":"x""#), Misconfigured),
        (api(r#""api_error_status":404,"result":"model not found""#), Misconfigured),
        (api(r#""api_error_status":400,"result":"x""#), Ended),
        (api(r#""terminal_reason":"api_error","result":"API Error: Connection error.""#), Unavailable),
        (api(r#""result":"API Error: Unable to connect to API (ConnectionRefused)""#), Unavailable),
        (api(r#""result":"response exceeded the 32000 output token maximum""#), LimitReached),
        (api(r#""result":"I will not do that.""#), Ended),
    ] {
        let run = finish(OutputFormat::Records, &[&output], Exit::Code(1), "");
        assert_eq!(kind(&run), Some(expected), "{}: {}", String::from_utf8_lossy(&output), message(&run));
    }
    for (exit, stderr, expected) in [
        (Exit::Code(127), "claude: not found", Misconfigured),
        (Exit::Code(1), "bwrap: execvp claude: No such file or directory", Misconfigured),
        (Exit::Code(1), "cannot be used with root/sudo privileges for security reasons", Misconfigured),
        (Exit::Code(1), "No conversation found with session ID: x", UnknownSession),
        (Exit::Code(1), "connect ECONNREFUSED 127.0.0.1:1", Unavailable),
        (Exit::Code(1), "Segmentation fault", Ended),
        (Exit::Signal(11), "", Ended),
        (Exit::Code(0), "", Ended),
        (Exit::TimedOut, "", LimitReached),
    ] {
        let run = finish(OutputFormat::Records, &[], exit, stderr);
        assert_eq!(kind(&run), Some(expected), "{stderr}: {}", message(&run));
        assert!(message(&run).contains(stderr), "{}", message(&run));
    }
}

const SKIPPED: &str = "1 lines of the stream were longer than 8 MiB, or of too many values, and skipped";

#[test]
fn a_line_of_many_megabytes_costs_no_more_memory_than_its_share() {
    let long = |start: &str, end: &str| {
        let mut line = start.as_bytes().to_vec();
        line.resize(9 << 20, b'x');
        line.extend_from_slice(end.as_bytes());
        line.push(b'\n');
        line
    };
    let message_line = long(r#"{"type":"user","text":""#, r#""}"#);
    let result = b"{\"type\":\"result\",\"result\":\"done\"}\n";
    let run = finish(OutputFormat::Records, &[&message_line, result], Exit::Code(0), "");
    assert_eq!((run.result.as_deref(), kind(&run)), (Some("done"), None));
    assert_eq!(run.warnings, [SKIPPED]);
    for too_long in
        [long(r#"{"type":"result","result":""#, r#""}"#), long(r#"{"result":""#, r#"","type":"result"}"#)]
    {
        let run = finish(OutputFormat::Records, &[result, &too_long], Exit::Code(0), "");
        assert_eq!(run.result, None, "the result before it is not the last");
        assert_eq!(run.warnings, [SKIPPED]);
    }
    // Long, but within the limit: the journal keeps its beginning.
    let text = "é".repeat(1 << 20);
    let run = claude(format!("{{\"type\":\"result\",\"result\":\"{text}\"}}\n").as_bytes());
    assert_eq!(run.result.map(|text| text.len()), Some(1 << 20));
    assert_eq!(run.warnings.len(), 1);
}

#[test]
fn a_command_may_print_plain_text() {
    for (output, result) in [
        (&b"fix-the-sum\n"[..], "fix-the-sum"),
        (b"  two\n\nlines \r\n", "two\n\nlines"),
        (b"{\"answer\": 42}\n", "{\"answer\": 42}"),
        (b"{not json", "{not json"),
        (b"caf\xff", "caf\u{fffd}"),
    ] {
        let run = command(output);
        assert_eq!((run.result.as_deref(), kind(&run)), (Some(result), None));
        assert!(run.warnings.is_empty(), "{:?}", run.warnings);
    }
    assert_eq!(command(&fixture("claude-text-format")).result.as_deref(), Some("ok"));
    assert_eq!(kind(&command(b" \n")), Some(AgentFailureKind::Ended));
    let failed = finish(OutputFormat::RecordsOrText, &[b"I tried"], Exit::Code(3), "and failed");
    assert_eq!((failed.result.as_deref(), kind(&failed)), (Some("I tried"), Some(AgentFailureKind::Ended)));
    assert!(message(&failed).contains("exit code 3") && message(&failed).contains("and failed"));

    // Keeps the end, cut at a character boundary.
    let long = format!("{}the end", "é".repeat(1 << 20));
    let run = command(long.as_bytes());
    let result = run.result.unwrap_or_default();
    assert!(result.ends_with("éthe end") && result.len() <= 1 << 20 && !result.contains('\u{fffd}'));
    assert_eq!(run.warnings.len(), 1);
}

#[test]
fn a_line_of_json_with_a_type_makes_a_stream_wherever_the_result_is() {
    let (result, progress) =
        ("{\"type\":\"result\",\"result\":\"/bug\"}\n", "{\"type\":\"progress\",\"text\":\"hm\"}\n");
    for output in [
        format!("{}{result}", progress.repeat(50)),
        format!("{}{result}{}", progress.repeat(50), progress.repeat(50)),
        format!("installing ...\n{}{result}", progress.repeat(40)),
        format!("{}{progress}{result}", "installing ...\n".repeat(100)),
        format!("starting\n{result}"),
        format!("starting\n{result}done\n"),
        result.to_owned(),
    ] {
        let run = command(output.as_bytes());
        assert_eq!((run.result.as_deref(), kind(&run)), (Some("/bug"), None), "{output}");
    }
    let run = command(progress.repeat(3).as_bytes());
    assert_eq!((run.result.as_deref(), kind(&run)), (None, Some(AgentFailureKind::Ended)), "no result came");
    // A single line of JSON may be the answer itself.
    assert_eq!(command(progress.as_bytes()).result.as_deref(), Some(progress.trim()));
}

/// Claude Code prints such an error when a background task ends after the answer.
#[test]
fn an_empty_error_after_an_answer_does_not_replace_it() {
    let good = "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"42\",\"total_cost_usd\":0.5,\
        \"usage\":{\"input_tokens\":3}}\n";
    let error = |fields: &str| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true{fields},\
            \"usage\":{{\"input_tokens\":3}}}}\n"
        )
    };
    for (second, code) in [
        (error(",\"num_turns\":0,\"errors\":[\"only prompt commands\"]"), 0),
        (error(",\"num_turns\":0,\"result\":\" \""), 1),
        (error(",\"result\":null"), 1),
    ] {
        let output = format!("{good}{second}");
        let run = finish(OutputFormat::Records, &[output.as_bytes()], Exit::Code(code), "");
        assert_eq!((run.result.as_deref(), kind(&run)), (Some("42"), None), "{second}");
        assert_eq!((run.usage.input_tokens, run.usage.usd), (3, 0.5), "{second}");
        assert_eq!(run.warnings.len(), 1, "{:?}", run.warnings);
    }
    // An error with text or turns counts; so does one without an answer before it.
    for second in [error(",\"result\":\"I broke it\""), error(",\"num_turns\":4,\"errors\":[\"too many\"]")] {
        assert!(kind(&claude(format!("{good}{second}").as_bytes())).is_some(), "{second}");
    }
    assert!(kind(&claude(error("").as_bytes())).is_some());
    assert!(kind(&claude(format!("{}{}", error(""), error("")).as_bytes())).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn bytes_in_any_pieces_give_the_same_answer(
        lines in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..60),
                "\\PC{0,40}".prop_map(String::into_bytes),
                Just(br#"{"type":"system","subtype":"init","session_id":"s-1"}"#.to_vec()),
                Just(br#"{"type":"result","result":"r","total_cost_usd":0.5,"is_error":true}"#.to_vec()),
                Just("{\"result\":\"a\u{2028}\\ud83d\",\"type\":\"result\"}".as_bytes().to_vec()),
                Just(br#"{"type":"result","result":"#.to_vec()),
                Just(br#"{"type":"assistant"}"#.to_vec()),
                Just(b"```".to_vec()),
            ],
            0..12,
        ),
        cuts in proptest::collection::vec(1_usize..30, 1..20),
        is_text in any::<bool>(),
    ) {
        let form = || if is_text { OutputFormat::RecordsOrText } else { OutputFormat::Records };
        let output = lines.join(&b'\n');
        let whole = finish(form(), &[&output], Exit::Code(0), "");
        let single: Vec<&[u8]> = output.chunks(1).collect();
        prop_assert_eq!(&finish(form(), &single, Exit::Code(0), ""), &whole);
        let mut pieces = Vec::new();
        let mut rest = output.as_slice();
        for cut in cuts.iter().cycle().take(2_000) {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        prop_assert_eq!(&finish(form(), &pieces, Exit::Code(0), ""), &whole);
    }
}

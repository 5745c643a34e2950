//! The real Claude Code in bubblewrap, against the model server on loopback. Checks what Journeyman relies on with the
//! program itself instead of our assumptions.
//!
//! `make fetch` fetches the program. Without it these tests fail, unless `JOURNEYMAN_SKIP` names `claude`.

mod bench;

use crate::model_server::{ModelServer, Reply, Request};
use bench::Bench;
pub use bench::claude_or_skip;

const BUGGY: &str = "def total(numbers):\n    return sum(numbers[1:])\n";

/// Fixes the sum wrongly at first, and correctly when told that tests fail.
fn script(request: &Request) -> Reply {
    let is_rework = request.prompt().contains("tests fail");
    let (old, new, message) = if is_rework {
        ("sum(numbers[:-1])", "sum(numbers)", "Sum all numbers")
    } else {
        ("sum(numbers[1:])", "sum(numbers[:-1])", "Sum from the first number")
    };
    let push = format!(
        "git add -A && git commit -q -m '{message}' && git push -q origin HEAD:work && git rev-parse HEAD"
    );
    match request.step() {
        0 => Reply::read("/work/repo/total.py"),
        1 => Reply::edit("/work/repo/total.py", old, new),
        2 => Reply::bash(&push),
        _ => Reply::text("I fixed the issue and all tests pass."),
    }
}

#[test]
fn the_real_claude_code_pushes_twice_and_remembers_the_first_round_in_the_second() {
    let Some(claude) = claude_or_skip() else { return };
    let server = ModelServer::start(script);
    let bench = Bench::new(&claude, server.url(), "total.py", BUGGY);

    let first = bench.run("Fix `total` in total.py: it forgets a number.", None);
    assert_eq!(first.exit_code, Some(0), "{first:#?}");
    assert_eq!(first.result()["is_error"], false, "{first:#?}");
    let session = first.result()["session_id"].as_str().expect("a result names its session").to_owned();
    assert!(bench.origin_file("work", "total.py").contains("sum(numbers[:-1])"), "{first:#?}");
    assert_eq!(bench.origin_subjects("work"), ["Sum from the first number", "Begin"]);
    let told = server.conversation().last().map(Request::tool_results).unwrap_or_default();
    assert!(told.len() == 3 && told.iter().all(|result| !result.is_error), "{told:#?}");
    assert_eq!(told[2].text.trim(), bench.origin_head("work"), "the model hears what its command printed");
    let asked_before = server.conversation().len();

    let second = bench.run("The tests fail: total([1, 2]) is 1, not 3.", Some(&session));
    assert_eq!(second.exit_code, Some(0), "{second:#?}");
    assert!(bench.origin_file("work", "total.py").contains("sum(numbers)\n"), "{second:#?}");
    assert_eq!(bench.origin_subjects("work"), ["Sum all numbers", "Sum from the first number", "Begin"]);
    assert_eq!(second.result()["session_id"], session.as_str(), "a resumed session keeps its id");

    let requests = server.conversation();
    let resumed = &requests[asked_before];
    assert_eq!(resumed.step(), 0);
    assert_eq!(resumed.prompts().len(), 2, "{:#?}", resumed.prompts());
    for remembered in ["it forgets a number", "Sum from the first number", "all tests pass", "The tests fail"]
    {
        assert!(resumed.remembers(remembered), "{remembered:?} is not in the resumed conversation");
    }
    assert!(["Bash", "Edit", "Read", "Write"].iter().all(|tool| resumed.tools().contains(tool)));
    assert!(requests[0].prompts().len() == 1 && !requests[0].remembers("The tests fail"));
}

#[test]
fn the_real_claude_code_runs_nothing_that_the_repository_brings_along() {
    let Some(claude) = claude_or_skip() else { return };
    let server = ModelServer::start(|request| match request.step() {
        0 => Reply::write("/work/proof", "tools do run"),
        _ => Reply::text("Nothing to do."),
    });
    let hook =
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch /work/tripwire"}]}]}}"#;
    let bench = Bench::new(&claude, server.url(), ".claude/settings.json", hook);
    bench.write(".mcp.json", r#"{"mcpServers":{"evil":{"command":"touch","args":["/work/tripwire"]}}}"#);

    let run = bench.run("Say that there is nothing to do.", None);

    assert_eq!(run.result()["result"], "Nothing to do.", "{run:#?}");
    assert!(bench.exists("proof"), "{run:#?}");
    assert!(!bench.exists("tripwire"), "a hook or server of the repository ran: {run:#?}");
}

#[test]
fn the_real_claude_code_says_success_when_the_api_is_overloaded_and_only_is_error_tells() {
    let Some(claude) = claude_or_skip() else { return };
    let server = ModelServer::start(|_| Reply::overloaded());
    let bench = Bench::new(&claude, server.url(), "total.py", BUGGY);

    let run = bench.run("Fix it.", None);

    assert_eq!(run.exit_code, Some(1), "{run:#?}");
    assert_eq!(run.result()["subtype"], "success", "{run:#?}");
    assert_eq!(run.result()["is_error"], true, "{run:#?}");
}

/// The options for a role with `tools: [read]`.
const READ_ONLY: [&str; 6] = [
    "--tools",
    "Read,Glob,Grep",
    "--disallowedTools",
    "Edit,Write,NotebookEdit,Bash",
    "--append-system-prompt",
    "# Your role\n\nYou judge what others made.",
];

#[test]
fn the_real_claude_code_in_a_role_that_only_reads_cannot_change_or_run_anything() {
    let Some(claude) = claude_or_skip() else { return };
    let server = ModelServer::start(|request| match request.step() {
        0 => Reply::read("/work/repo/total.py"),
        1 => Reply::bash("touch /work/tripwire"),
        2 => Reply::write("/work/tripwire", "x"),
        3 => Reply::edit("/work/repo/total.py", "numbers[1:]", "numbers"),
        _ => Reply::text("It leaves out a number."),
    });
    let bench = Bench::new(&claude, server.url(), "total.py", BUGGY);

    let run = bench.run_with("Judge total.py.", None, &READ_ONLY);

    assert_eq!(run.result()["result"], "It leaves out a number.", "{run:#?}");
    let requests = server.conversation();
    let first = requests.first().expect("the model was asked");
    let tools = first.tools();
    assert!(["Glob", "Grep", "Read"].iter().all(|tool| tools.contains(tool)), "{tools:?}");
    // Apart from them, at most a placeholder without effect may be offered.
    let others = ["Bash", "Edit", "Write", "NotebookEdit", "Task", "WebFetch", "Skill", "ToolSearch"];
    assert!(!others.iter().any(|tool| tools.contains(tool)), "{tools:?}");
    assert!(
        first.body["system"].to_string().contains("You judge what others made."),
        "{:#}",
        first.body["system"]
    );
    let told = requests.last().map(Request::tool_results).unwrap_or_default();
    let refused: Vec<bool> = told.iter().map(|result| result.is_error).collect();
    assert_eq!(refused, [false, true, true, true], "{told:#?}");
    assert!(!bench.exists("tripwire"));
    assert!(bench.reads("total.py").contains("numbers[1:]"), "the file is as it was");
}

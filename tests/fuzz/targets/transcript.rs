//! An agent's output in pieces, for the runtime with its own protocol and the one for any program.

use std::collections::BTreeMap;
use std::time::Duration;

use journeyman::agent::{AgentProgram, AgentSettings, Agents, Runtime, RuntimeKind};
use journeyman::order::moves::AgentTask;
use journeyman::order::{AgentRun, Exit};

use super::text;

pub const WORDS: &[&str] = &[
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\"}\n",
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"0a-1b\"}\n",
    "\"type\":\"result\"",
    "\"type\":\"assistant\"",
    "\"is_error\":true",
    "\"session_id\":\"--resume\"",
    "\"total_cost_usd\":",
    "\"usage\":{\"input_tokens\":",
    "\"modelUsage\":{",
    "\"result\":null",
    "\"result\":[",
    "\"api_error_status\":",
    "\"errors\":[",
    "\"uuid\":\"",
    "\"subtype\":\"error_max_turns\"",
    "Retry-After: ",
    "\\ud800",
    "\\u0000",
];

/// The longest message, in bytes.
const LONGEST_MESSAGE: usize = 64 << 10;

/// Reads it whole and in pieces, as from a program that ended well, badly, or not at all.
pub fn transcripts(bytes: &[u8]) {
    let exits = [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::TimedOut];
    let exit = &exits[bytes.len() % exits.len()];
    for kind in [RuntimeKind::Claude, RuntimeKind::Command] {
        let agents = agents(kind);
        let program = program(&agents);
        let whole = read(program, [bytes].into_iter(), *exit);
        let length = 1 + bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % 97;
        assert_eq!(
            read(program, bytes.chunks(length), *exit),
            whole,
            "pieces of {length} say something else"
        );
        is_sound(&whole, *exit);
        resumes_nothing_else(program, &whole);
    }
}

fn agents(runtime: RuntimeKind) -> Agents {
    let settings = AgentSettings {
        name: "a".to_owned(),
        program: if runtime == RuntimeKind::Command { vec!["run".to_owned()] } else { Vec::new() },
        runtime,
        ..AgentSettings::default()
    };
    Agents::new(BTreeMap::from([("a".to_owned(), settings)]), &Default::default()).unwrap()
}

fn program(agents: &Agents) -> &AgentProgram {
    match agents.get("a") {
        Ok(Runtime::Program(program)) => program,
        Ok(Runtime::Api(_)) | Err(_) => panic!("there is a program"),
    }
}

fn read<'a>(program: &AgentProgram, pieces: impl Iterator<Item = &'a [u8]>, exit: Exit) -> AgentRun {
    let mut transcript = program.transcript();
    for piece in pieces {
        transcript.feed(piece);
    }
    transcript.finish(exit, "the end of its errors", Duration::from_secs(1))
}

fn is_sound(run: &AgentRun, exit: Exit) {
    assert!(run.result.as_ref().is_none_or(|result| result.len() <= 1 << 20));
    assert!(run.usage.usd.is_finite() && run.usage.usd >= 0.0, "{:?}", run.usage);
    assert!(run.warnings.len() <= 20 && run.warnings.iter().all(|warning| warning.len() <= 500));
    if let Some(failure) = &run.failure {
        assert!(
            !failure.message.is_empty() && failure.message.len() <= LONGEST_MESSAGE,
            "{}",
            failure.message.len()
        );
    }
    // An agent that a signal ended has not reported success.
    if matches!(exit, Exit::Signal(_)) && run.result.is_none() {
        assert!(run.failure.is_some());
    }
    assert!(run.result.is_some() || run.failure.is_some(), "it neither said something nor failed");
}

/// A session's name becomes an argument of the next run, so only an identifier may get there.
fn resumes_nothing_else(program: &AgentProgram, run: &AgentRun) {
    let Some(session) = &run.session_id else { return };
    let task = AgentTask { session: Some(session.clone()), stage: "s".to_owned(), ..AgentTask::default() };
    let next = program.invocation(&task, None, "", &|_| None);
    let given = next.program.iter().chain(next.environment.values()).any(|word| word == session);
    let is_plain = !session.is_empty()
        && session.len() <= 200
        && !session.starts_with('-')
        && session.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    assert!(!given || is_plain, "{}", text(session.as_bytes()));
}

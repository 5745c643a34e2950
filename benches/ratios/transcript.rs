//! Reading an agent's stream for its result, compared with only splitting it into lines.

use std::collections::BTreeMap;
use std::time::Duration;

use journeyman::agent::{AgentSettings, Agents, Runtime, RuntimeKind};
use journeyman::order::Exit;

use super::{heading, line, ratio, timed};

const RUN: &[u8] = include_bytes!("../../tests/fixtures/agents/claude-tool-fails.jsonl");
const MIB: usize = 1024 * 1024;
const SIZE: usize = 64 * MIB;

pub fn measure() {
    let stream = RUN.repeat(SIZE.div_ceil(RUN.len()));
    heading(&format!("transcript: {} MiB of Claude Code's stream, in pieces of 64 KiB", stream.len() / MIB));
    let settings =
        AgentSettings { name: "claude".to_owned(), runtime: RuntimeKind::Claude, ..AgentSettings::default() };
    let agents = Agents::new(BTreeMap::from([("claude".to_owned(), settings)]), &Default::default())
        .expect("an agent");
    let Runtime::Program(claude) = agents.get("claude").expect("the agent") else { panic!("a program") };
    let mut transcript = claude.transcript();

    let (lines, least) = timed(|| stream.split(|byte| *byte == b'\n').count());
    let (run, ours) = timed(|| {
        stream.chunks(64 * 1024).for_each(|piece| transcript.feed(piece));
        transcript.finish(Exit::Code(0), "", Duration::ZERO)
    });
    assert!(run.result.is_some() && run.failure.is_none(), "the stream is read to its end: {run:?}");
    let speed = |took: Duration| format!("{:.0} MiB/s", SIZE as f64 / MIB as f64 / took.as_secs_f64());
    line(&format!("{lines} lines split"), least, &speed(least));
    line("read for its result", ours, &format!("{}, {} splitting", speed(ours), ratio(ours, least)));
}

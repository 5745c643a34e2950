//! An agent that is right at a given rate, for `journeyman eval --simulate`. It is a real program in the real sandbox
//! that commits and pushes; only whether its change is right is random.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::eval::simulation::Simulation;

/// How the simulated tech lead's guidance starts, and how the simulated agent recognizes it.
const GUIDANCE: &str = "Simulated guidance:";

/// The role that gives guidance.
const LEAD: &str = "tech_lead";

/// What it is told.
#[derive(Debug, Args)]
pub(super) struct SimulatedAgentArguments {
    /// The simulation, in JSON.
    #[arg(value_parser = read)]
    simulation: Simulation,
}

fn read(json: &str) -> serde_json::Result<Simulation> {
    serde_json::from_str(json)
}

pub(super) fn main(arguments: &SimulatedAgentArguments) -> anyhow::Result<u8> {
    let simulation = &arguments.simulation;
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt)?;
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_lead = variable("JOURNEYMAN_ROLE") == LEAD;
    let (said, usd) = match prompt.lines().find_map(|line| line.strip_prefix("Case: ")) {
        _ if is_lead => (advise(), simulation.usd(LEAD, 1)),
        Some(case) => {
            let attempt = variable("JOURNEYMAN_ROUND").parse().unwrap_or(1);
            let is_advised = is_advised(&prompt, Path::new(&variable("HOME")))?;
            work(&simulation.attempt(case.trim(), attempt, is_advised), attempt)?;
            ("I changed answer.txt. All tests pass.".to_owned(), simulation.usd(case.trim(), attempt))
        }
        None => {
            anyhow::bail!("the prompt names no case: this agent is for `journeyman eval --simulate` alone")
        }
    };
    let record = json!({"type": "result", "subtype": "success", "is_error": false, "result": said,
                        "total_cost_usd": usd, "num_turns": 1});
    println!("{record}");
    Ok(0)
}

/// Guidance is given once and remembered, like in an agent's session.
fn is_advised(prompt: &str, home: &Path) -> anyhow::Result<bool> {
    let memory = home.join("advised");
    if prompt.contains(GUIDANCE) {
        std::fs::write(&memory, "").with_context(|| format!("cannot write {}", memory.display()))?;
    }
    Ok(memory.exists())
}

fn advise() -> String {
    let answer = json!({
        "decision": "guide",
        "diagnosis": "The attempts so far went for the wrong answer.",
        "guidance": format!("{GUIDANCE} think again, and look at the failing tests first."),
    });
    answer.to_string()
}

fn work(fails: &[u32], attempt: u32) -> anyhow::Result<()> {
    let word = if fails.is_empty() { "right" } else { "wrong" };
    let numbers: String = fails.iter().map(|test| format!(" {test}")).collect();
    std::fs::write("answer.txt", format!("{word}{numbers}\n")).context("answer.txt")?;
    // Otherwise a stubborn agent's second commit would have the same tree.
    std::fs::write("attempt.txt", format!("{attempt}\n")).context("attempt.txt")?;
    let script = r#"git add -A && git commit -q -m "$1" && git push -q origin HEAD"#;
    let message = format!("Answer at attempt {attempt}");
    let ended = Command::new("sh").args(["-c", script, "sh", &message]).status().context("sh")?;
    anyhow::ensure!(ended.success(), "the commit could not be pushed");
    Ok(())
}

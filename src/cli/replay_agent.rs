//! An agent that makes the change that was written down for its case. It is a real program in the real sandbox, and it really
//! commits and pushes. For suites of real fixes.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::eval::CASE;

/// What it is told.
#[derive(Debug, Args)]
pub(super) struct ReplayAgentArguments {
    /// The folder with a patch for each case.
    #[arg(long)]
    patches: PathBuf,
}

pub(super) fn main(arguments: &ReplayAgentArguments) -> anyhow::Result<u8> {
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt)?;
    let case = prompt.lines().rev().find_map(|line| line.trim().strip_prefix(CASE)).unwrap_or_default();
    let is_name = !case.is_empty() && case.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let said = match std::env::var("JOURNEYMAN_STAGE").as_deref() {
        Ok("branch") => "the-change".to_owned(),
        Ok("classify") => "/bug".to_owned(),
        _ => {
            anyhow::ensure!(
                is_name,
                "the prompt names no case: this agent is for suites of real fixes alone"
            );
            work(&arguments.patches.join(format!("{case}.patch")))?;
            "I changed what the issue asks for. All tests pass.".to_owned()
        }
    };
    let record = json!({"type": "result", "subtype": "success", "is_error": false, "result": said,
                        "total_cost_usd": 0, "num_turns": 1});
    println!("{record}");
    Ok(0)
}

/// What was made once is there, and nothing new is pushed.
fn work(patch: &std::path::Path) -> anyhow::Result<()> {
    let script = r#"git apply --whitespace=nowarn --binary "$1" 2>/dev/null || exit 0
        git add -A && git commit -q -m 'Mend what the issue says' && git push -q origin HEAD"#;
    let ended = Command::new("sh").args(["-c", script, "sh"]).arg(patch).status().context("sh")?;
    anyhow::ensure!(ended.success(), "the commit could not be pushed");
    Ok(())
}

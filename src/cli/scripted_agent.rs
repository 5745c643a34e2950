//! An agent that follows a script instead of a model, for the demo, suites of real fixes and stories. It is a real
//! program, started like any other agent in the same sandbox with the same output stream.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::sample;

/// What it is told.
#[derive(Debug, Args)]
pub(super) struct ScriptedAgentArguments {
    /// The script; the demo's when absent.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

/// What to do in one stage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptStep {
    /// `JOURNEYMAN_STAGE`; if absent, any stage without a scene of its own.
    stage: Option<String>,
    /// `JOURNEYMAN_ROLE`; if absent, any role without a scene of its own in this stage.
    role: Option<String>,
    /// `JOURNEYMAN_ROUND`; if absent, any round without a scene of its own.
    round: Option<u32>,
    /// A shell script, run in the workspace with the prompt on standard input.
    #[serde(default)]
    run: String,
    /// The result; if absent, the output of `run`.
    say: Option<String>,
    /// The cost it claims.
    #[serde(default)]
    usd: f64,
    /// How long it pretends to think, in milliseconds.
    #[serde(default)]
    think: u64,
    #[serde(default)]
    exit: u8,
    /// Passes the output of `run` through unchanged as the whole stream.
    #[serde(default)]
    raw: bool,
}

pub(super) fn main(arguments: &ScriptedAgentArguments) -> anyhow::Result<u8> {
    let script = match &arguments.script {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("--script {}", path.display()))?
        }
        None => sample::script()?,
    };
    let scenes: Vec<ScriptStep> = serde_saphyr::from_str(&script).context("the script")?;
    let stage = std::env::var("JOURNEYMAN_STAGE").unwrap_or_default();
    let round = std::env::var("JOURNEYMAN_ROUND").ok().and_then(|round| round.parse().ok()).unwrap_or(1);
    let role = std::env::var("JOURNEYMAN_ROLE").unwrap_or_default();
    let scene = scene_for(&scenes, &stage, &role, round).with_context(|| {
        format!(
            "this agent is a script, not a model, and has nothing to say in stage {stage}, role {role:?}, round {round}"
        )
    })?;
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt)?;
    anyhow::ensure!(
        arguments.script.is_some() || is_of_the_demo(&prompt),
        "this agent is a script, not a model, and knows one issue alone, {:?}: this is another one or was edited. Name an \
         agent with --agent",
        sample::issue().0
    );
    std::thread::sleep(Duration::from_millis(scene.think));
    let printed = play(scene, &prompt)?;
    if scene.raw {
        return Ok(scene.exit);
    }
    let said = scene.say.clone().unwrap_or_else(|| String::from_utf8_lossy(&printed).trim().to_owned());
    let session = std::env::var("JOURNEYMAN_SESSION").unwrap_or_else(|_| uuid::Uuid::new_v4().to_string());
    let words = |text: &str| text.split_whitespace().count();
    let records = [
        json!({"type": "system", "subtype": "init", "session_id": session, "model": "scripted", "tools": ["Bash"]}),
        json!({"type": "assistant", "session_id": session,
               "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": said, "session_id": session,
               "total_cost_usd": scene.usd, "num_turns": 1,
               "usage": {"input_tokens": words(&prompt), "output_tokens": words(&said)}}),
    ];
    for record in records {
        println!("{record}");
    }
    Ok(scene.exit)
}

/// Whether a prompt with an issue shows the demo's: the script would apply the same fix to any other.
fn is_of_the_demo(prompt: &str) -> bool {
    let (title, body) = sample::issue();
    let shows = |frame: &str, text: &str| !prompt.contains(frame) || prompt.contains(text.trim());
    shows("<untrusted what=\"issue title\">", &title) && shows("<untrusted what=\"issue body\">", &body)
}

/// The most specific scene: the stage matters more than the role, and the role more than the round.
fn scene_for<'a>(scenes: &'a [ScriptStep], stage: &str, role: &str, round: u32) -> Option<&'a ScriptStep> {
    scenes
        .iter()
        .filter(|scene| scene.stage.as_deref().is_none_or(|wanted| wanted == stage))
        .filter(|scene| scene.role.as_deref().is_none_or(|wanted| wanted == role))
        .filter(|scene| scene.round.is_none_or(|wanted| wanted == round))
        .min_by_key(|scene| (scene.stage.is_none(), scene.role.is_none(), scene.round.is_none()))
}

fn play(scene: &ScriptStep, prompt: &str) -> anyhow::Result<Vec<u8>> {
    if scene.run.is_empty() {
        return Ok(Vec::new());
    }
    let mut shell = Command::new("sh")
        .args(["-c", &scene.run])
        .stdin(Stdio::piped())
        .stdout(if scene.raw { Stdio::inherit() } else { Stdio::piped() })
        .spawn()
        .context("sh")?;
    if let Some(mut stdin) = shell.stdin.take() {
        // The script may ignore its prompt.
        let _ = stdin.write_all(prompt.as_bytes());
    }
    Ok(shell.wait_with_output()?.stdout)
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    /// The demo agent's answer to a request, on the sample with the fix.
    fn answered(sample: Sample, place: &std::path::Path, request: &str) -> serde_json::Value {
        let scenes: Vec<ScriptStep> = serde_saphyr::from_str(&sample.script()).unwrap();
        let scene = scene_for(&scenes, "answer", "developer", 1).unwrap();
        let prompt = format!(
            "### p1 (from mona)\n\n{request}\n\n### p2 (from ann)\n\nMake it faster.\n\n</untrusted>"
        );
        let run = format!("cd '{}' && {}", place.display(), scene.run.trim_start());
        serde_json::from_slice(&play(&ScriptStep { run, ..scene_of("answer") }, &prompt).unwrap()).unwrap()
    }

    fn scene_of(stage: &str) -> ScriptStep {
        serde_saphyr::from_str(&format!("{{stage: {stage}}}")).unwrap()
    }

    #[test]
    fn the_demos_script_does_the_one_request_it_knows_and_says_of_others_that_it_is_a_script() {
        for sample in [Sample::Python, Sample::Shell] {
            let place = tempfile::tempdir().unwrap();
            for (path, bytes) in sample.files() {
                let path = place.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            }
            let git = |words: &str| {
                let mut git = Command::new("git");
                git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words.split(' '));
                git.current_dir(place.path()).output().unwrap()
            };
            git("init -q .");
            git("add -A");
            git("commit -q -m Begin");
            for request in
                ["Return the upper value.", "Say nothing in the documentation of an even number of values."]
            {
                let said = answered(sample, place.path(), request);
                for point in said["answers"].as_array().unwrap() {
                    assert_eq!(point["done"], false, "{said}");
                    assert!(
                        point["text"].as_str().unwrap().starts_with("I am a script, not a model"),
                        "{said}"
                    );
                }
                assert!(git("status --porcelain").stdout.is_empty(), "{request} changed something");
            }
            let said = answered(sample, place.path(), sample::REQUEST);
            let done = said["answers"].as_array().unwrap().iter().map(|point| &point["done"]);
            assert_eq!(done.collect::<Vec<_>>(), [true, false], "{said}");
            let changed = String::from_utf8(git("show HEAD").stdout).unwrap();
            assert!(changed.contains("the mean of the two in the middle"), "{changed}");
        }
    }

    #[test]
    fn the_scene_that_says_most_is_played() {
        let script = "[{stage: review, say: a}, {stage: review, round: 2, say: b}, {stage: review, role: judge, say: c}, \
                      {stage: review, role: judge, round: 2, say: d}, {stage: plan, role: judge, say: e}, \
                      {round: 3, say: f}]";
        let scenes: Vec<ScriptStep> = serde_saphyr::from_str(script).unwrap();
        for (stage, role, round, said) in [
            ("review", "", 1, Some("a")),
            ("review", "developer", 2, Some("b")),
            ("review", "judge", 1, Some("c")),
            ("review", "judge", 2, Some("d")),
            ("plan", "developer", 1, None),
            ("plan", "developer", 3, Some("f")),
            ("review", "developer", 3, Some("a")),
        ] {
            let scene = scene_for(&scenes, stage, role, round);
            assert_eq!(scene.and_then(|scene| scene.say.as_deref()), said, "{stage} {role} {round}");
        }
    }
}

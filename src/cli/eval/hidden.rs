//! Copies the hidden tests onto the resulting commit and runs them in the sandbox.

use std::path::{Component, Path};
use std::time::Duration;

use anyhow::Context as _;

use super::record::HiddenVerdict;
use super::suite::HiddenTests;
use crate::app::EvalSandbox;
use crate::order::{CommitSha, Exit, RepositoryName};
use crate::sandbox::SandboxNetwork;

/// Timeout for the setup and for the tests.
const TIME: Duration = Duration::from_secs(600);
/// How many characters of the output to keep, from its end.
const KEPT: usize = 1_000;

/// Judges a commit. The text is the end of the output if it did not pass.
pub(super) async fn judge(
    sandbox: &EvalSandbox,
    repository: &RepositoryName,
    commit: &CommitSha,
    hidden: &HiddenTests,
) -> anyhow::Result<(HiddenVerdict, Option<String>)> {
    let place = tempfile::Builder::new().prefix("journeyman-hidden-").tempdir()?;
    let (tree, home) = (place.path().join("tree"), place.path().join("home"));
    std::fs::create_dir(&home)?;
    let (of, at, into) = (repository.clone(), commit.clone(), tree.clone());
    sandbox.with_workspaces(move |known| Ok(known.checkout(&of, &at, &into)?)).await?;
    lay_over(&tree, hidden)?;
    if let Some(setup) = &hidden.setup {
        let (exit, output) = sandbox.run_command(&tree, &home, setup, SandboxNetwork::Host, TIME).await?;
        if exit != Exit::Code(0) {
            let said = format!("the setup ended with {exit}: {}", end_of(&output));
            return Ok((HiddenVerdict::Failed, Some(said)));
        }
    }
    let (exit, output) = sandbox.run_command(&tree, &home, &hidden.test, SandboxNetwork::None, TIME).await?;
    Ok(match exit {
        Exit::Code(0) => (HiddenVerdict::Passed, None),
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
            (HiddenVerdict::Failed, Some(format!("{exit}: {}", end_of(&output))))
        }
    })
}

/// Replaces whatever the agent put in the way of a hidden file, and follows none of its links.
fn lay_over(tree: &Path, hidden: &HiddenTests) -> anyhow::Result<()> {
    for (name, bytes) in &hidden.files {
        let mut path = tree.to_owned();
        let mut parts = name.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(part) = part else { continue };
            path.push(part);
            let found = std::fs::symlink_metadata(&path).ok();
            let is_last = parts.peek().is_none();
            match found {
                Some(found) if found.is_dir() && is_last => {
                    crate::app::remove_all(&path).map_err(std::io::Error::other)
                }
                Some(found) if !found.is_dir() => std::fs::remove_file(&path),
                Some(_) | None => Ok(()),
            }
            .and_then(|()| match is_last {
                true => std::fs::write(&path, bytes),
                false if path.is_dir() => Ok(()),
                false => std::fs::create_dir(&path),
            })
            .with_context(|| format!("cannot lay a hidden file over the result: {}", name.display()))?;
        }
    }
    Ok(())
}

fn end_of(output: &str) -> String {
    let output = output.trim();
    let excess = output.chars().count().saturating_sub(KEPT);
    output.chars().skip(excess).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_link_of_the_agents_does_not_lead_a_hidden_file_astray() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::create_dir_all(tree.join("real/check.py")).unwrap();
        std::fs::write(outside.join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("tests")).unwrap();
        std::os::unix::fs::symlink(outside.join("kept"), tree.join("hidden.py")).unwrap();
        let names = ["tests/deep/hidden.py", "hidden.py", "real/check.py"];
        let files: BTreeMap<PathBuf, Vec<u8>> =
            names.iter().map(|name| (PathBuf::from(name), name.as_bytes().to_vec())).collect();

        lay_over(&tree, &HiddenTests { files, setup: None, test: String::new() }).unwrap();

        for name in names {
            assert_eq!(std::fs::read_to_string(tree.join(name)).unwrap(), name);
        }
        let left: Vec<_> =
            std::fs::read_dir(&outside).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(
            (left, std::fs::read_to_string(outside.join("kept")).unwrap().as_str()),
            (vec!["kept".into()], "kept")
        );
    }
}

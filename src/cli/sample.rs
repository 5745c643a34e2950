//! The demo's samples: a repository with a real bug, an issue that describes it, and an agent's script.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rust_embed::RustEmbed;

use super::issue_file;
use crate::app::EvalSandbox;
use crate::config::{AgentSettings, RuntimeKind};
use crate::order::Exit;
use crate::sandbox::SandboxNetwork;

pub(super) const AGENT: &str = "scripted";

/// The only review comment that the script can handle.
pub(super) const REQUEST: &str = "Please say in the documentation what comes of an even number of values.";

#[derive(RustEmbed)]
#[folder = "templates/demo/python"]
struct PythonRepository;

#[derive(RustEmbed)]
#[folder = "templates/demo/shell"]
struct ShellRepository;

/// Whether the sandbox can run the Python sample. Debian's minimal Python lacks `unittest`.
const PYTHON_THERE: &str = "python3 -c 'import sys, unittest; sys.exit(sys.version_info < (3, 6))'";
const PATIENCE: Duration = Duration::from_secs(20);

/// The same bug in two languages, so that the demo runs wherever Journeyman does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    Python,
    Shell,
}

impl Sample {
    /// The sample whose tests can run in this sandbox.
    pub(super) async fn for_sandbox(sandbox: &EvalSandbox) -> anyhow::Result<Self> {
        let place = tempfile::tempdir()?;
        let (folder, home) = (place.path().join("work"), place.path().join("home"));
        std::fs::create_dir(&folder)?;
        let offline = SandboxNetwork::None;
        let (exit, _) = sandbox.run_command(&folder, &home, PYTHON_THERE, offline, PATIENCE).await?;
        Ok(if exit == Exit::Code(0) { Self::Python } else { Self::Shell })
    }

    /// The sample checked out in a folder. Without one, either script will do.
    fn in_folder(folder: &Path) -> Self {
        if folder.join("median.sh").exists() { Self::Shell } else { Self::Python }
    }

    pub(super) fn files(self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::Python => files::<PythonRepository>(),
            Self::Shell => files::<ShellRepository>(),
        }
    }

    pub(super) fn script(self) -> String {
        let common = include_str!("../../templates/demo/script/common.yaml");
        let own = match self {
            Self::Python => include_str!("../../templates/demo/script/python.yaml"),
            Self::Shell => include_str!("../../templates/demo/script/shell.yaml"),
        };
        format!("{common}{own}")
    }
}

/// The files of an embedded folder.
pub(super) fn files<Repository: RustEmbed>() -> BTreeMap<String, Vec<u8>> {
    let file = |path: std::borrow::Cow<'static, str>| {
        let file = Repository::get(&path)?;
        Some((path.into_owned(), file.data.into_owned()))
    };
    Repository::iter().filter_map(file).collect()
}

/// The scripted agent's script for the current folder.
pub(super) fn script() -> anyhow::Result<String> {
    Ok(Sample::in_folder(&std::env::current_dir()?).script())
}

pub(super) fn issue() -> (String, String) {
    let text = include_str!("../../templates/demo/issue.md");
    issue_file::parse(text)
        .map_or_else(|| (text.to_owned(), String::new()), |issue| (issue.title, issue.body))
}

/// An agent that runs this program.
pub(super) fn own_agent(name: &str, words: &[&str]) -> anyhow::Result<AgentSettings> {
    let program = std::env::current_exe()?;
    let path = program.to_str().ok_or_else(|| anyhow::anyhow!("the path of this program is not UTF-8"))?;
    Ok(AgentSettings {
        name: name.to_owned(),
        runtime: RuntimeKind::Command,
        program: std::iter::once(path).chain(words.iter().copied()).map(str::to_owned).collect(),
        read: vec![program.clone()],
        ..AgentSettings::default()
    })
}

//! The sample of the demo: a repository with a real bug, an issue that describes it, and the script of an agent.

use std::collections::BTreeMap;

use rust_embed::RustEmbed;

use super::issue_file;
use crate::config::{AgentSettings, RuntimeKind};

/// The scripted agent's name.
pub(super) const AGENT: &str = "scripted";

#[derive(RustEmbed)]
#[folder = "templates/demo/repository"]
struct SampleRepository;

/// What the scripted agent does in the demo.
pub(super) const SCRIPT: &str = include_str!("../../templates/demo/script.yaml");

pub(super) fn files() -> BTreeMap<String, Vec<u8>> {
    SampleRepository::iter()
        .filter_map(|path| {
            let file = SampleRepository::get(&path)?;
            // A manifest of that name would make the folder a package of its own, which is not compiled in.
            let path = path.strip_suffix(".sample").unwrap_or(&path).to_owned();
            Some((path, file.data.into_owned()))
        })
        .collect()
}

pub(super) fn issue() -> (String, String) {
    let text = include_str!("../../templates/demo/issue.md");
    issue_file::parse(text)
        .map_or_else(|| (text.to_owned(), String::new()), |issue| (issue.title, issue.body))
}

/// The scripted agent: this very program.
pub(super) fn agents() -> anyhow::Result<BTreeMap<String, AgentSettings>> {
    let program = std::env::current_exe()?;
    let name = program.to_str().ok_or_else(|| anyhow::anyhow!("the path of this program is not UTF-8"))?;
    let agent = AgentSettings {
        name: AGENT.to_owned(),
        runtime: RuntimeKind::Command,
        model: None,
        program: vec![name.to_owned(), "scripted-agent".to_owned()],
        env: Vec::new(),
        read: vec![program.clone()],
        network: Vec::new(),
    };
    Ok(BTreeMap::from([(AGENT.to_owned(), agent)]))
}

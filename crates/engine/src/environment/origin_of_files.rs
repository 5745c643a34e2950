//! Whether what a setup made depends on the sources that were there, or only on what they ask to be installed. Only the
//! latter is as good for another commit. In doubt it depends on them: then it costs time, and nothing else.

use std::path::Path;

use serde::Deserialize;

use crate::place::folder::LayeredFolder;
use journeyman_environment::EnvironmentPlan;
use journeyman_workspace::SourceTree;

/// A file of these is a few hundred bytes.
const LARGEST: u64 = 64 << 10;

/// Where pip says what it installed from (PEP 610).
const DIRECT: &str = "direct_url.json";

#[derive(Deserialize)]
struct DirectUrl {
    url: String,
    dir_info: Option<DirectoryInfo>,
}

#[derive(Deserialize)]
struct DirectoryInfo {
    #[serde(default)]
    editable: bool,
}

/// What shows that the setup made something of the sources, for people; none where nothing does.
pub(super) fn made_of_sources(
    tree: &LayeredFolder,
    home: &LayeredFolder,
    plan: &EnvironmentPlan,
    source: &SourceTree,
    seen_tree: &str,
) -> std::io::Result<Option<String>> {
    let is_dependency = |path: &Path| path.to_str().is_some_and(|path| plan.dependency_folders.contain(path));
    let command = plan.setup_command().unwrap_or_default();
    for path in tree.walk_written(&|path| !is_dependency(path))? {
        let text = path.to_string_lossy();
        let is_known = is_dependency(&path)
            || source.has(&path)
            || path.components().any(|part| part.as_os_str() == "__pycache__")
            // A lockfile that is not in the repository is made by what is installed.
            || journeyman_environment::decides(&text, &command);
        if !is_known {
            return Ok(Some(format!("the setup makes {text}, which it may make of the sources")));
        }
    }
    for folder in [tree, home] {
        for path in folder.walk_written(&|_| true)? {
            if path.file_name().is_some_and(|name| name == DIRECT)
                && is_copy(&folder.written().join(&path), seen_tree)
            {
                let text = path.display();
                return Ok(Some(format!("the setup installs a copy of the sources, as {text} says")));
            }
        }
    }
    Ok(None)
}

/// Whether a package was copied from the checkout, so that another source is not seen by who uses it.
fn is_copy(file: &Path, seen_tree: &str) -> bool {
    let read = || {
        let found = std::fs::symlink_metadata(file).ok()?;
        let is_read = found.is_file() && found.len() <= LARGEST;
        is_read.then(|| std::fs::read(file).ok())?
    };
    let Some(bytes) = read() else { return false };
    // What cannot be read is taken for a copy.
    let Ok(direct) = serde_json::from_slice::<DirectUrl>(&bytes) else { return true };
    let is_of_tree = direct.url.strip_prefix("file://").is_some_and(|path| path.starts_with(seen_tree));
    is_of_tree && !direct.dir_info.is_some_and(|directory| directory.editable)
}

//! Writes whole files from an agent without tools as a commit in the agent's repository. We produce the stream for
//! `git fast-import`, and the sandbox reads it. We never open a repository that an agent could write.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use chrono::{DateTime, Utc};

use super::origin::{AGENT_EMAIL, AGENT_NAME, shell};
use super::remote::oid;
use super::{GitError, OrderDirs, Workspaces};
use journeyman_order::{BranchName, CommitSha, RepositoryName};

/// Prints the current commit (the origin's branch, or the base) and which of the files exist there.
const LOOK: &str = r#"
set -eu
origin=$1 branch=$2 base=$3; shift 3
export GIT_DIR="$origin" GIT_LITERAL_PATHSPECS=1 GIT_NO_REPLACE_OBJECTS=1 GIT_TERMINAL_PROMPT=0
parent=$(git rev-parse --quiet --verify "refs/heads/$branch^{commit}") || parent=$base
printf '%s\0' "$parent"
git ls-tree -z --full-tree "$parent" -- "$@"
"#;

/// Imports the stream and moves branch, work tree and origin to its result. A commit without changes is left out. Each
/// step can be repeated.
const WRITE: &str = r#"
set -eu
origin=$1 work=$2 branch=$3 parent=$4
export GIT_TERMINAL_PROMPT=0 GIT_NO_REPLACE_OBJECTS=1
repo() { git --git-dir="$work/.git" --work-tree="$work" -c core.hooksPath=/dev/null "$@"; }
repo cat-file -e "$parent^{commit}" 2>/dev/null ||
  repo fetch --quiet --no-tags -- "$origin" "refs/heads/$branch"
repo fast-import --quiet --force
new=$(repo rev-parse --verify 'refs/journeyman/written^{commit}')
if [ "$(repo rev-parse "$new^{tree}")" = "$(repo rev-parse "$parent^{tree}")" ]; then new=$parent; fi
repo symbolic-ref HEAD "refs/heads/$branch"
repo update-ref "refs/heads/$branch" "$new"
repo push --quiet -- "$origin" "$new:refs/heads/$branch"
repo reset --quiet --hard || {
  find "$work" -mindepth 1 -maxdepth 1 ! -name .git ! -name .journeyman -exec rm -rf {} +
  repo reset --quiet --hard
}
"#;

/// The state of the work before the files are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginState {
    pub parent: CommitSha,
    /// The files that exist and are executable.
    pub executable: BTreeSet<String>,
}

/// A commit to write. The same input gives the same commit, byte for byte.
#[derive(Debug, Clone, Copy)]
pub struct NewFiles<'a> {
    pub parent: &'a CommitSha,
    pub message: &'a str,
    /// The commit's date, in whole seconds.
    pub date: DateTime<Utc>,
    /// Path, content, and whether it is executable.
    pub files: &'a [(&'a str, &'a str, bool)],
    /// Paths to reset to the base, with mode and object there, or `None` if absent.
    pub restored: &'a [(String, Option<(u32, String)>)],
}

impl Workspaces {
    /// The command that prints the state of the work, for [`OriginState::read`]. Run it *in a sandbox* with `origin`
    /// mounted read-only.
    pub fn origin_state_command(
        places: &OrderDirs,
        branch: &BranchName,
        base: &CommitSha,
        paths: &[&str],
    ) -> Vec<OsString> {
        let origin = &places.origin;
        let mut arguments: Vec<&OsStr> =
            vec![origin.as_os_str(), branch.as_str().as_ref(), base.as_str().as_ref()];
        arguments.extend(paths.iter().map(OsStr::new));
        shell(LOOK, &arguments)
    }

    /// The command that reads [`NewFiles::stream`] from standard input and pushes the result to the origin. Run it *in
    /// the agent's sandbox* after readying the work tree, with `work` and `origin` mounted writable.
    pub fn write_command(places: &OrderDirs, branch: &BranchName, parent: &CommitSha) -> Vec<OsString> {
        let (branch, parent) = (branch.as_str().as_ref(), parent.as_str().as_ref());
        shell(WRITE, &[places.origin.as_os_str(), places.work.as_os_str(), branch, parent])
    }

    /// Mode and object of a file in one of our commits; `None` if the path is not a file or link.
    pub fn entry(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        path: &str,
    ) -> Result<Option<(u32, String)>, GitError> {
        let commits = self.commits(repository)?;
        let tree = self.tree_within(&commits, oid(commit)?)?;
        match tree.get_path(std::path::Path::new(path)) {
            Ok(entry) => {
                let mode = u32::try_from(entry.filemode()).unwrap_or_default();
                let is_file = matches!(mode, 0o100_644 | 0o100_755 | 0o120_000);
                Ok(is_file.then(|| (mode, entry.id().to_string())))
            }
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl OriginState {
    /// Parses the command's output. It ran on the agent's repository, so we accept only a commit id and the list of
    /// executable files.
    pub fn read(said: &[u8]) -> Option<Self> {
        let mut parts = said.split(|byte| *byte == 0);
        let parent = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        let executable = parts.filter_map(|part| {
            let (entry, path) = std::str::from_utf8(part).ok()?.split_once('\t')?;
            entry.starts_with("100755 ").then(|| path.to_owned())
        });
        Some(Self { parent, executable: executable.collect() })
    }
}

impl NewFiles<'_> {
    pub fn stream(&self) -> Vec<u8> {
        let who = format!("{AGENT_NAME} <{AGENT_EMAIL}> {} +0000", self.date.timestamp().max(0));
        let mut stream = format!("commit refs/journeyman/written\nauthor {who}\ncommitter {who}\n");
        data(&mut stream, self.message);
        stream += &format!("from {}\n", self.parent);
        // Before the writes: a file may have become a folder.
        for (path, before) in self.restored {
            stream += &match before {
                Some((mode, id)) => format!("M {mode:06o} {id} {}\n", quoted(path)),
                None => format!("D {}\n", quoted(path)),
            };
        }
        for (path, content, executable) in self.files {
            let mode = if *executable { "100755" } else { "100644" };
            stream += &format!("M {mode} inline {}\n", quoted(path));
            data(&mut stream, content);
        }
        (stream + "\n").into_bytes()
    }
}

fn data(stream: &mut String, text: &str) {
    *stream += &format!("data {}\n{text}\n", text.len());
}

/// A path for fast-import, quoted as in C.
fn quoted(path: &str) -> String {
    let mut quoted = String::with_capacity(path.len() + 2);
    quoted.push('"');
    for character in path.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

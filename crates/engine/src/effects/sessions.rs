//! An agent's session as an artifact of its order: its files are kept after a run, and restored before a run resumes it
//! if they are missing, as on another machine or after the order was tidied up.
//!
//! The agent wrote and named these files, so they are untrusted data: bounded, recognised by name alone, read through
//! no link, and written only into the agent's own home.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{EffectContext, EffectError};
use crate::job::blocking;
use crate::place::HOME;
use crate::place::folder::LayeredFolder;
use journeyman_agent::{SESSION_FOLDERS, is_session_file};
use journeyman_order::AgentRun;
use journeyman_order::bounds::{LARGEST_STREAM, MOST_ITEMS, MOST_LISTED};
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace};
use journeyman_store::StoreError;

/// Bytes of a session's artifact.
const MOST_KEPT: usize = 20 << 20;
/// Bytes of a session's files as JSON.
const MOST_UNPACKED: u64 = 2 * LARGEST_STREAM as u64;

/// Precedes the prompt of a run whose session was restored.
pub(super) const MADE_ANEW: &str = "Your work tree was made anew since you last worked in it. What you had changed there \
    may be gone, commits included: look at it before you rely on it.";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SessionFile {
    path: PathBuf,
    text: String,
}

impl EffectContext {
    /// The artifact's name of an agent's session. Agents that judge one another share none, whatever their session ids.
    fn session_artifact(task: &AgentTask, session: &str) -> String {
        let whose = match &task.place {
            AgentTaskWorkspace::Workspace => String::new(),
            AgentTaskWorkspace::Checkout { .. } => format!("{}\0{}", task.stage, task.role),
        };
        let digest = Sha256::new().chain_update(whose).chain_update([0]).chain_update(session).finalize();
        format!("session-{}.json.gz", hex::encode(digest).get(..24).unwrap_or_default())
    }

    /// Stores a run's session as an artifact, if there is one, and records the artifact's name in the run.
    pub(super) async fn keep_session(
        &self,
        run: &mut AgentRun,
        task: &AgentTask,
        redact: impl Fn(&str) -> String + Send + 'static,
    ) -> Result<(), EffectError> {
        let Some(session) = run.session_id.clone() else { return Ok(()) };
        let home = self.place_of(task).join(HOME);
        let name = Self::session_artifact(task, &session);
        let packed = blocking(move || {
            let home = LayeredFolder::written_before(&home);
            pack(&files(&home, &session)?, redact)
        });
        match packed.await? {
            Ok(Some(packed)) => {
                self.keep_of_run(&name, "application/gzip", &packed).await?;
                run.artifacts.push(name);
            }
            Ok(None) => {}
            // The work does not depend on it: without a session the next round begins a new one.
            Err(error) => run.warnings.push(format!("its session is not kept: {error}")),
        }
        Ok(())
    }

    /// Restores a task's kept session files in the agent's home if they are missing. Returns whether it did.
    pub(super) async fn lay_session(
        &self,
        task: &AgentTask,
        home: &LayeredFolder,
    ) -> Result<bool, EffectError> {
        let Some(session) = task.session.clone() else { return Ok(false) };
        let (there, looked_for) = (home.written(), session.clone());
        let is_there = blocking(move || is_there(&there, &looked_for));
        if is_there.await? {
            return Ok(false);
        }
        let kept = match self.parts.store.artifact(self.order, &Self::session_artifact(task, &session)).await
        {
            Ok(kept) => kept.content,
            Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let (home, order) = (home.clone(), self.order);
        blocking(move || {
            let laid = unpack(&kept, &session).and_then(|files| {
                files.iter().try_for_each(|file| home.put(&file.path, file.text.as_bytes()))?;
                Ok(files.len())
            });
            match laid {
                Ok(files) => {
                    tracing::info!(%order, session, files, "a session is laid back");
                    true
                }
                // Then the program reports an unknown session and begins another.
                Err(error) => {
                    tracing::warn!(%order, session, %error, "a session cannot be laid back");
                    false
                }
            }
        })
        .await
    }
}

/// Paths of the session's files below a folder that an agent wrote, sorted by name.
fn paths(written: &Path, session: &str) -> io::Result<Vec<PathBuf>> {
    if !written.is_dir() {
        return Ok(Vec::new());
    }
    let leads_there =
        |path: &Path, folder: &str| Path::new(folder).starts_with(path) || path.starts_with(folder);
    let (mut paths, mut open, mut names) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(written.join(&folder))? {
            let entry = entry?;
            names += 1;
            if names > MOST_ITEMS {
                let said = format!("the home has more than {MOST_ITEMS} files and folders");
                return Err(io::Error::other(said));
            }
            let path = folder.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                paths.extend(is_session_file(&path, session).then_some(path));
            } else if SESSION_FOLDERS.iter().any(|of| leads_there(&path, of)) {
                open.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether such files exist. Files that are unreadable or too large to keep count as existing.
fn is_there(written: &Path, session: &str) -> bool {
    paths(written, session).map_or(true, |paths| !paths.is_empty())
}

/// The session's files with their content.
fn files(written: &Path, session: &str) -> io::Result<Vec<SessionFile>> {
    let paths = paths(written, session)?;
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    if paths.len() > MOST_LISTED {
        return Err(io::Error::other(format!("it has more than {MOST_LISTED} files")));
    }
    let root = File::open(written)?;
    let (mut files, mut left) = (Vec::new(), LARGEST_STREAM as u64);
    for path in paths {
        // Follows no link and never blocks: an agent may have put anything in its place.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let Ok(file) = rustix::fs::openat2(&root, &path, flags, Mode::empty(), inside) else { continue };
        let file = File::from(file);
        let found = file.metadata()?;
        if !found.is_file() || std::os::unix::fs::MetadataExt::nlink(&found) != 1 {
            continue;
        }
        let mut bytes = Vec::new();
        (&file).take(left + 1).read_to_end(&mut bytes)?;
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| io::Error::other(format!("it has more than {} MiB", LARGEST_STREAM >> 20)))?;
        // Sessions are text. Anything else is dropped, because nothing could be redacted from it.
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SessionFile { path, text });
        }
    }
    Ok(files)
}

/// The packed session. `None` if it has no files.
fn pack(files: &[SessionFile], redact: impl Fn(&str) -> String) -> io::Result<Option<Vec<u8>>> {
    if files.is_empty() {
        return Ok(None);
    }
    let clean = files.iter().map(|file| SessionFile { path: file.path.clone(), text: redact(&file.text) });
    let text = serde_json::to_vec(&clean.collect::<Vec<_>>())?;
    // Unpacking stops at this size, and as JSON a control character takes six bytes.
    if text.len() as u64 > MOST_UNPACKED {
        return Err(io::Error::other(format!("it has more than {} MiB as JSON", MOST_UNPACKED >> 20)));
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&text)?;
    let packed = packed.finish()?;
    if packed.len() > MOST_KEPT {
        return Err(io::Error::other(format!("it has more than {} MiB, compressed", MOST_KEPT >> 20)));
    }
    Ok(Some(packed))
}

/// The kept files of a session. Each must belong to it by name.
fn unpack(kept: &[u8], session: &str) -> io::Result<Vec<SessionFile>> {
    let mut text = Vec::new();
    GzDecoder::new(kept).take(MOST_UNPACKED + 1).read_to_end(&mut text)?;
    let files: Vec<SessionFile> = serde_json::from_slice(&text)?;
    match files.iter().find(|file| !is_session_file(&file.path, session)) {
        Some(other) => Err(io::Error::other(format!("{:?} is no file of the session", other.path))),
        None => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const ID: &str = "0198c0de-aaaa";
    const PROJECT: &str = ".claude/projects/-workspace-work";

    fn named(files: &[SessionFile]) -> Vec<(String, String)> {
        files.iter().map(|file| (file.path.display().to_string(), file.text.clone())).collect()
    }

    #[test]
    fn a_session_that_grew_too_large_to_be_kept_is_there_and_nothing_is_laid_over_it() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_there(home.path(), ID));
        let folder = home.path().join(PROJECT).join(ID);
        fs::create_dir_all(&folder).unwrap();
        for number in 0..=MOST_LISTED {
            fs::write(folder.join(format!("{number}.txt")), "result").unwrap();
        }
        assert!(files(home.path(), ID).is_err() && is_there(home.path(), ID));
        // Neither is a session with nothing to keep.
        fs::remove_dir_all(&folder).unwrap();
        fs::write(home.path().join(PROJECT).join(format!("{ID}.jsonl")), [0xff]).unwrap();
        assert!(files(home.path(), ID).unwrap().is_empty() && is_there(home.path(), ID));
    }

    #[test]
    fn a_session_is_its_own_files_and_nothing_that_they_lead_to() {
        let place = tempfile::tempdir().unwrap();
        let (home, outside) = (place.path().join("home"), place.path().join("outside"));
        let project = home.join(PROJECT);
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(outside.join(ID)).unwrap();
        fs::write(outside.join(ID).join("secret"), "secret").unwrap();
        fs::write(project.join(format!("{ID}.jsonl")), "{\"said\": \"my key is k-123456789\"}\n").unwrap();
        fs::write(project.join("another.jsonl"), "another's").unwrap();
        fs::write(home.join(ID), "not in a folder of sessions").unwrap();
        fs::write(outside.join("plain"), "secret").unwrap();
        symlink(outside.join("plain"), project.join(format!("{ID}.link"))).unwrap();
        symlink(outside.join(ID), project.join(ID)).unwrap();
        symlink(&outside, home.join(".codex")).unwrap();
        fs::create_dir_all(outside.join("sessions")).unwrap();
        fs::write(outside.join("sessions").join(ID), "secret").unwrap();
        fs::hard_link(outside.join(ID).join("secret"), project.join(format!("{ID}.hard"))).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            project.join(format!("{ID}.pipe")),
            rustix::fs::FileType::Fifo,
            Mode::from_bits_truncate(0o600),
            0,
        )
        .unwrap();
        fs::write(project.join(format!("{ID}.raw")), [0xff, 0xfe]).unwrap();

        let found = files(&home, ID).unwrap();

        let (path, text) = (format!("{PROJECT}/{ID}.jsonl"), "{\"said\": \"my key is k-123456789\"}\n");
        assert_eq!(named(&found), [(path.clone(), text.to_owned())]);
        let kept = pack(&found, |text| text.replace("k-123456789", "[KEY]")).unwrap().unwrap();
        let clean = text.replace("k-123456789", "[KEY]");
        assert_eq!(named(&unpack(&kept, ID).unwrap()), [(path, clean)]);
        assert_eq!(files(&home, "another-session").unwrap(), []);
        assert_eq!(pack(&[], str::to_owned).unwrap(), None);
    }

    #[test]
    fn a_session_that_is_too_large_is_not_kept() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().join(PROJECT);
        fs::create_dir_all(&project).unwrap();
        let sparse = File::create(project.join(format!("{ID}.jsonl"))).unwrap();
        sparse.set_len(LARGEST_STREAM as u64 + 1).unwrap();
        assert_eq!(files(place.path(), ID).unwrap_err().to_string(), "it has more than 64 MiB");
        sparse.set_len(1).unwrap();
        for nth in 0..MOST_LISTED {
            fs::write(project.join(format!("{ID}.{nth}")), "").unwrap();
        }
        assert_eq!(files(place.path(), ID).unwrap_err().to_string(), "it has more than 200 files");
    }

    #[test]
    fn a_home_of_very_many_files_is_not_looked_through() {
        let place = tempfile::tempdir().unwrap();
        let project = place.path().join(PROJECT);
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{ID}.jsonl")), "said").unwrap();
        for nth in 0..MOST_ITEMS {
            File::create(project.join(format!("{nth}"))).unwrap();
        }
        let because = "the home has more than 20000 files and folders";
        assert_eq!(files(place.path(), ID).unwrap_err().to_string(), because);
        assert!(is_there(place.path(), ID), "and nothing is laid over it");
    }

    #[test]
    fn a_session_is_laid_into_the_home_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let (home, outside) = (place.path().join("home"), place.path().join("outside"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(outside.join("projects/-workspace-work")).unwrap();
        symlink(&outside, home.join(".claude")).unwrap();
        let folder = LayeredFolder::existing(&home, &[], crate::place::folder::LayerMethod::Copy);
        let path = PathBuf::from(format!("{PROJECT}/{ID}.jsonl"));
        folder.put(&path, b"said").unwrap();
        assert_eq!(fs::read(home.join(&path)).unwrap(), b"said");
        assert_eq!(fs::read_dir(outside.join("projects/-workspace-work")).unwrap().count(), 0);

        for path in ["../x", "/etc/x", ".claude/projects/../../../x", ".claude/settings.json", ".bashrc"] {
            let file = SessionFile { path: PathBuf::from(path), text: "x".to_owned() };
            let kept = pack(&[file], str::to_owned).unwrap().unwrap();
            assert!(unpack(&kept, ID).is_err(), "{path}");
        }
        assert!(unpack(b"no archive", ID).is_err());
    }
}

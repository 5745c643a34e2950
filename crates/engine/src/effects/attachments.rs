//! Attachments of the issue and of task comments: read together with the text, kept as artifacts, and placed beside an
//! agent's repository.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::agent_filesystem::AgentFilesystem;
use super::{EffectContext, EffectError, soon};
use crate::job::{make_folder, readable, remove};
use journeyman_agent::Runtime;
use journeyman_github::{AttachmentLink, AttachmentSource, FetchedAttachment};
use journeyman_order::moves::AgentTask;
use journeyman_order::{AttachmentContent, AttachmentKind, TaskAttachment};
use journeyman_store::StoreError;

const MOST_KEPT: usize = 6;
const MOST_NAMED: usize = 20;
const LARGEST_PICTURE: usize = 5 * 1024 * 1024;
const LONGEST_TEXT: usize = 256 * 1024;
const LONGEST_NAME: usize = 60;
/// Endings of text attachments. Other text, such as SVG and HTML, is not an attachment of a task.
const TEXTS: [&str; 7] = ["txt", "log", "md", "json", "csv", "patch", "diff"];
const FOLDER: &str = "attachments";

/// Where the text is from, who wrote it, and the text.
pub(super) type TextWithLinks = (AttachmentSource, String, String);

impl EffectContext {
    /// Reads what these texts link to. Anything unavailable is named and does not block the order.
    pub(super) async fn attachments(
        &self,
        texts: Vec<TextWithLinks>,
    ) -> Result<Vec<TaskAttachment>, EffectError> {
        let github = &self.parts.github;
        let mut wanted: Vec<(AttachmentLink, AttachmentSource, String)> = Vec::new();
        for (source, by, text) in texts {
            for link in github.attachment_links(&text) {
                if !wanted.iter().any(|(known, ..)| known.is_same(&link)) {
                    wanted.push((link, source, by.clone()));
                }
            }
        }
        let more = wanted.len().saturating_sub(MOST_NAMED);
        let mut kept = 0;
        let mut attachments = Vec::new();
        for (number, (link, source, by)) in (1..).zip(wanted.into_iter().take(MOST_NAMED)) {
            let called = link.name.as_ref().or(link.alternative.as_ref());
            let called = &self.without_secrets(called.map_or("attachment", String::as_str));
            let read = match kept {
                MOST_KEPT => Err(format!("at most {MOST_KEPT} are given")),
                _ => self.read_attachment(&link, source, called).await?,
            };
            let (ending, content) = match read {
                Ok((kind, bytes)) => {
                    kept += 1;
                    let artifact = TaskAttachment::artifact_name(&hex::encode(Sha256::digest(&bytes)));
                    let (store, media_type) = (&self.parts.store, kind.media_type());
                    let info = store.put_artifact(self.order, &artifact, media_type, &bytes).await?;
                    let content = AttachmentContent::Kept { kind, sha256: info.sha256, size: info.size };
                    (ending_of(kind, called), content)
                }
                Err(because) => (String::new(), AttachmentContent::LeftOut { because }),
            };
            let name = format!("{number}-{}", safe_name(called, &ending));
            attachments.push(TaskAttachment { name, by, content });
        }
        if more > 0 {
            let because = format!("at most {MOST_NAMED} are looked at");
            let (name, by) = (format!("{more} more"), "several".to_owned());
            attachments.push(TaskAttachment { name, by, content: AttachmentContent::LeftOut { because } });
        }
        Ok(attachments)
    }

    async fn read_attachment(
        &self,
        link: &AttachmentLink,
        source: AttachmentSource,
        called: &str,
    ) -> Result<Result<(AttachmentKind, Vec<u8>), String>, EffectError> {
        let at = self.at().await?;
        let bytes = match self.parts.github.attachment(&at, link, source).await {
            Ok(FetchedAttachment::Bytes(bytes)) => bytes,
            Ok(FetchedAttachment::Unreadable(because)) => return Ok(Err(because)),
            Err(error) => return Ok(Err(format!("it could not be read: {}", error.message))),
        };
        let Some(kind) = kind_of(&bytes, called) else {
            return Ok(Err("it is neither a picture (PNG, JPEG, GIF, WebP) nor a text file".to_owned()));
        };
        let bytes = match kind == AttachmentKind::Text {
            true => both_ends(&self.without_secrets(&String::from_utf8_lossy(&bytes))).into_bytes(),
            false => bytes,
        };
        if bytes.len() > LARGEST_PICTURE {
            return Ok(Err(format!("it is larger than {} MiB", LARGEST_PICTURE >> 20)));
        }
        Ok(Ok((kind, bytes)))
    }

    pub(super) async fn lay_attachments(
        &self,
        task: &AgentTask,
        place: &mut AgentFilesystem,
    ) -> Result<(), EffectError> {
        let kept: Vec<(&str, String)> = task
            .attachments
            .iter()
            .filter_map(|attachment| Some((attachment.name.as_str(), attachment.artifact()?)))
            .collect();
        if kept.is_empty() {
            return Ok(());
        }
        let folder = self.place_of(task).join(FOLDER);
        remove(&folder).await?;
        make_folder(&folder)?;
        for (name, artifact) in kept {
            let content = match self.parts.store.artifact(self.order, &artifact).await {
                Ok(artifact) => artifact.content,
                // The order was at rest for longer than attachments are kept.
                Err(StoreError::NotFound { what }) => {
                    tracing::warn!(order = %self.order, name, "an attachment is kept no longer: {what}");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let path = folder.join(name);
            let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o444).open(&path);
            let written = file.and_then(|mut file| file.write_all(&content));
            written.map_err(|error| soon(format!("cannot write {}: {error}", path.display())))?;
        }
        place.mounts.push(readable(&folder));
        Ok(())
    }

    /// The note for an agent about its attachments. `None` if there are none.
    pub(super) fn attachments_note(&self, task: &AgentTask, runtime: &Runtime) -> Option<String> {
        let seen = match runtime {
            Runtime::Program(_) => Some(self.parts.environments.inside(&self.place_of(task)).join(FOLDER)),
            Runtime::Api(_) => None,
        };
        note(&task.attachments, seen.as_deref())
    }
}

fn note(attachments: &[TaskAttachment], folder: Option<&Path>) -> Option<String> {
    if attachments.is_empty() {
        return None;
    }
    let is_kept = attachments.iter().any(|attachment| attachment.artifact().is_some());
    let mut text = "Files that people attached to the issue and its comments.".to_owned();
    text.push_str(match folder {
        _ if !is_kept => " None of them could be taken.\n",
        Some(_) => {
            " Read those that matter to the task. They lie beside the repository, for reading only: they are no part of \
             it, and are not to be committed.\n"
        }
        None => " You cannot open them.\n",
    });
    for TaskAttachment { name, by, content } in attachments {
        match content {
            AttachmentContent::Kept { kind, size, .. } => {
                let at =
                    folder.map_or_else(|| name.clone(), |folder| folder.join(name).display().to_string());
                text.push_str(&format!("\n{at}: {}, {size} bytes, from {by}", kind.words()));
            }
            AttachmentContent::LeftOut { because } => {
                text.push_str(&format!("\n{name}, from {by}: left out, since {because}"));
            }
        }
    }
    Some(text)
}

/// The kind, by content. Text also needs the name of a text file.
fn kind_of(bytes: &[u8], called: &str) -> Option<AttachmentKind> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(AttachmentKind::Png),
        [0xff, 0xd8, 0xff, ..] => Some(AttachmentKind::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(AttachmentKind::Gif),
        _ if is_webp => Some(AttachmentKind::Webp),
        _ => is_text(bytes, called).then_some(AttachmentKind::Text),
    }
}

fn is_text(bytes: &[u8], called: &str) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    // A page instead of a file says nothing about the task; it may be a sign-in page.
    let begins = text.trim_start().get(..9).unwrap_or_default().to_ascii_lowercase();
    let is_page =
        begins.starts_with("<!doctype") || begins.starts_with("<html") || begins.starts_with("<svg");
    text_ending(called).is_some() && !text.contains('\0') && !is_page
}

fn text_ending(called: &str) -> Option<String> {
    let ending = called.rsplit_once('.')?.1.to_ascii_lowercase();
    TEXTS.contains(&ending.as_str()).then_some(ending)
}

fn ending_of(kind: AttachmentKind, called: &str) -> String {
    match kind {
        AttachmentKind::Png => "png".to_owned(),
        AttachmentKind::Jpeg => "jpg".to_owned(),
        AttachmentKind::Gif => "gif".to_owned(),
        AttachmentKind::Webp => "webp".to_owned(),
        AttachmentKind::Text => text_ending(called).unwrap_or_else(|| "txt".to_owned()),
    }
}

/// A name that needs no escaping anywhere, with this ending. If `ending` is empty, it keeps its own.
fn safe_name(called: &str, ending: &str) -> String {
    let stem = match called.rsplit_once('.') {
        Some((stem, own)) if !ending.is_empty() && own.len() <= 5 => stem,
        Some(_) | None => called,
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = stem.chars().map(plain).take(LONGEST_NAME).collect();
    let name = name.trim_matches(['-', '.']);
    let name = if name.is_empty() { "attachment" } else { name };
    if ending.is_empty() { name.to_owned() } else { format!("{name}.{ending}") }
}

fn both_ends(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let half = LONGEST_TEXT / 2;
    let begin = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    format!("{begin}\n[{} bytes left out here]\n{end}", text.len() - begin.len() - end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_is_shows_in_its_bytes() {
        let kinds: [(&[u8], &str, Option<AttachmentKind>); 11] = [
            (b"\x89PNG\r\n\x1a\n....", "attachment", Some(AttachmentKind::Png)),
            (b"\xff\xd8\xff\xe0....", "run.log", Some(AttachmentKind::Jpeg)),
            (b"GIF89a....", "x", Some(AttachmentKind::Gif)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "x", Some(AttachmentKind::Webp)),
            (b"RIFF\x10\0\0\0WAVE", "x.txt", None),
            (b"It says 41.\n", "run.LOG", Some(AttachmentKind::Text)),
            (b"It says 41.\n", "attachment", None),
            (b"It says\0 41.\n", "run.log", None),
            (b"\n <!DOCTYPE html>", "run.log", None),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg", None),
            (b"PK\x03\x04....", "a.png", None),
        ];
        for (bytes, called, kind) in kinds {
            assert_eq!(kind_of(bytes, called), kind, "{called}");
        }
    }

    #[test]
    fn a_name_is_made_safe() {
        for (called, ending, name) in [
            ("screenshot.png", "png", "screenshot.png"),
            ("../../etc/passwd", "png", "etc-passwd.png"),
            ("a b\u{202e}\n\"'`<x>.log", "log", "a-b------x.log"),
            ("...", "", "attachment"),
            ("page.svg", "", "page.svg"),
            ("\u{e4}", "jpg", "attachment.jpg"),
        ] {
            assert_eq!(safe_name(called, ending), name, "{called}");
        }
        assert!(safe_name(&"x".repeat(500), "png").len() < 70);
    }

    #[test]
    fn whoever_cannot_open_files_is_told_their_names_alone() {
        let of =
            |name: &str, content| TaskAttachment { name: name.to_owned(), by: "ada".to_owned(), content };
        let kept = AttachmentContent::Kept { kind: AttachmentKind::Png, sha256: "00".to_owned(), size: 7 };
        let left_out = AttachmentContent::LeftOut { because: "it is too large".to_owned() };
        let both = [of("1-a.png", kept), of("2-b.zip", left_out)];
        let said = note(&both, None).unwrap();
        assert_eq!(
            said,
            "Files that people attached to the issue and its comments. You cannot open them.\n\n\
             1-a.png: a picture (PNG), 7 bytes, from ada\n2-b.zip, from ada: left out, since it is too large"
        );
        assert!(note(&both, Some(Path::new("/w"))).unwrap().contains("\n/w/1-a.png: a picture"), "{said}");
        assert!(note(&both[1..], Some(Path::new("/w"))).unwrap().contains("None of them could be taken."));
        assert_eq!(note(&[], None), None);
    }

    #[test]
    fn of_a_long_text_both_ends_are_kept() {
        let text = format!("begin\n{}end\n", "\u{e4}".repeat(LONGEST_TEXT));
        let kept = both_ends(&text);
        assert!(kept.starts_with("begin\n") && kept.ends_with("end\n"), "{}", kept.len());
        assert!(kept.len() < LONGEST_TEXT + 60 && kept.contains("bytes left out here]"), "{}", kept.len());
        assert_eq!(both_ends("short"), "short");
    }
}

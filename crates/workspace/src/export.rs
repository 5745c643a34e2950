//! The output of the agent's sandbox: one line, then whole, uncompressed objects as `git cat-file --batch` writes them.
//! So there is nothing to inflate, no delta to apply and no claim to trust: we compute the object ids. The file with
//! the output is the quarantine, and nothing leaves it unexamined.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use git2::{ObjectType, Oid};

use super::GitError;
use journeyman_order::bounds::{LARGEST_SOURCE, LONGEST_TEXT, MOST_PARTS, MOST_PRINTED};
use journeyman_order::commit_message::is_hidden;

/// Most bytes of one object. GitHub warns from 50 MiB on.
pub(super) const MOST_OBJECT: u64 = 25 << 20;

pub(super) enum ExportedBranch {
    /// The reason why there is nothing to import.
    Nothing(String),
    /// Which limit of an export was exceeded.
    TooMuch(String),
    /// The commit at the branch, and the exported objects.
    Commit(Oid, ExportedObjects),
}

/// Tree and message of a commit, the only parts that we use. An error says why git would not write such a commit.
type ExportedCommit = Result<(Oid, String), &'static str>;

pub(super) struct ExportedObjects {
    file: RefCell<File>,
    pieces: HashMap<Oid, ObjectSpan>,
}

#[derive(Clone, Copy)]
struct ObjectSpan {
    kind: ObjectType,
    offset: u64,
    size: u64,
}

impl ExportedObjects {
    /// Kind and size of an object, without reading it. A large object is listed under the id that the export claims.
    pub(super) fn header(&self, id: Oid) -> Option<(ObjectType, u64)> {
        self.pieces.get(&id).map(|piece| (piece.kind, piece.size))
    }

    /// An object's bytes; `None` if it is missing or too large.
    pub(super) fn read(&self, id: Oid) -> io::Result<Option<(ObjectType, Vec<u8>)>> {
        let Some(piece) = self.pieces.get(&id).filter(|piece| piece.size <= MOST_OBJECT) else {
            return Ok(None);
        };
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(piece.offset))?;
        let mut bytes = Vec::new();
        file.by_ref().take(piece.size).read_to_end(&mut bytes)?;
        // The file is ours alone, but a wrong id would defeat the whole airlock.
        let same = Oid::hash_object(piece.kind, &bytes).is_ok_and(|found| found == id);
        if same {
            Ok(Some((piece.kind, bytes)))
        } else {
            Err(io::Error::other("an object changed while it was read"))
        }
    }

    /// A commit, parsed as strictly as git writes it; `None` if it is missing or not a commit.
    pub(super) fn commit(&self, id: Oid) -> Result<Option<ExportedCommit>, GitError> {
        if self
            .header(id)
            .is_some_and(|(kind, size)| kind == ObjectType::Commit && size > LARGEST_SOURCE as u64)
        {
            return Ok(Some(Err("it is larger than a message can be")));
        }
        let read = self.read(id);
        let read = read.map_err(|error| GitError::broken(format!("could not read a commit: {error}")))?;
        Ok(match read {
            Some((ObjectType::Commit, bytes)) => Some(commit(&bytes)),
            Some(_) | None => None,
        })
    }
}

fn commit(bytes: &[u8]) -> ExportedCommit {
    let text = String::from_utf8_lossy(bytes);
    let (head, message) = text.split_once("\n\n").ok_or("it has no message")?;
    if head.contains('\0') {
        return Err("there is a NUL in its head");
    }
    let mut lines = head.lines().peekable();
    let tree = lines.next().and_then(|line| line.strip_prefix("tree ")).and_then(self::id);
    let tree = tree.ok_or("it names no tree")?;
    while let Some(parent) = lines.peek().and_then(|line| line.strip_prefix("parent ")) {
        self::id(parent).ok_or("it names a parent that is none")?;
        lines.next();
    }
    for who in ["author ", "committer "] {
        if !lines.next().and_then(|line| line.strip_prefix(who)).is_some_and(is_signature) {
            return Err("it does not say who made it and when, once and in this order");
        }
    }
    if lines.any(|line| ["tree ", "parent ", "author ", "committer "].iter().any(|key| line.starts_with(key)))
    {
        return Err("it says something twice");
    }
    Ok((tree, message.to_owned()))
}

/// `NAME <ADDRESS> SECONDS ZONE`
fn is_signature(text: &str) -> bool {
    let Some((name, rest)) = text.split_once('<') else { return false };
    let Some((address, when)) = rest.split_once("> ") else { return false };
    let Some((seconds, zone)) = when.split_once(' ') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain =
        !name.contains('>') && !address.contains(['<', '>']) && (name.is_empty() || name.ends_with(' '));
    let zone = zone.strip_prefix(['+', '-']).is_some_and(|zone| zone.len() == 4 && is_number(zone));
    plain && zone && is_number(seconds) && seconds.parse::<i64>().is_ok()
}

pub(super) fn read(path: &Path) -> Result<ExportedBranch, GitError> {
    let file = File::open(path).map_err(|error| GitError::file("open what was exported,", path, &error))?;
    let size =
        file.metadata().map_err(|error| GitError::file("look at what was exported,", path, &error))?.len();
    if size >= MOST_PRINTED {
        return Ok(ExportedBranch::TooMuch(format!("the change is larger than {} MiB", MOST_PRINTED >> 20)));
    }
    scan(file).map_err(|error| GitError::file("read what was exported,", path, &error))
}

fn scan(file: File) -> io::Result<ExportedBranch> {
    let unreadable =
        || Ok(ExportedBranch::Nothing("what was pushed could not be read from the origin".to_owned()));
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let Some(first) = line(&mut reader)? else { return unreadable() };
    if let Some(because) = first.strip_prefix("none: ") {
        return Ok(ExportedBranch::Nothing(because.chars().filter(|c| !is_hidden(*c)).take(1_000).collect()));
    }
    let Some(pushed) = id(&first) else { return unreadable() };
    let mut pieces = HashMap::new();
    let mut at = first.len() as u64 + 1;
    while !reader.fill_buf()?.is_empty() {
        let Some(header) = line(&mut reader)? else { return unreadable() };
        at += header.len() as u64 + 1;
        let mut words = header.split(' ');
        let (claimed, kind, size) = (words.next().and_then(id), words.next(), words.next());
        // `ID missing`: code that needs the object will notice.
        if kind == Some("missing") {
            continue;
        }
        let kind = match kind {
            Some("commit") => Some(ObjectType::Commit),
            Some("tree") => Some(ObjectType::Tree),
            Some("blob") => Some(ObjectType::Blob),
            Some("tag") => Some(ObjectType::Tag),
            Some(_) | None => None,
        };
        let (Some(claimed), Some(kind), Some(size)) =
            (claimed, kind, size.and_then(|s| s.parse::<u64>().ok()))
        else {
            return unreadable();
        };
        if pieces.len() >= MOST_PARTS {
            return Ok(ExportedBranch::TooMuch(format!("the change has more than {MOST_PARTS} objects")));
        }
        let piece = ObjectSpan { kind, offset: at, size };
        let Some(next) = at.checked_add(size).and_then(|end| end.checked_add(1)) else { return unreadable() };
        if size > MOST_OBJECT {
            let Ok(far) = i64::try_from(size) else { return unreadable() };
            reader.seek_relative(far)?;
            pieces.insert(claimed, piece);
        } else {
            let mut bytes = Vec::new();
            reader.by_ref().take(size).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != size {
                return unreadable();
            }
            let Ok(name) = Oid::hash_object(kind, &bytes) else { return unreadable() };
            pieces.insert(name, piece);
        }
        let mut end = [0];
        if reader.read_exact(&mut end).is_err() || end != *b"\n" {
            return unreadable();
        }
        at = next;
    }
    Ok(ExportedBranch::Commit(pushed, ExportedObjects { file: RefCell::new(reader.into_inner()), pieces }))
}

/// The next line without its newline; `None` if it is unterminated, too long or not text.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.take(LONGEST_TEXT as u64).read_until(b'\n', &mut bytes)?;
    Ok(match bytes.pop() {
        Some(b'\n') => String::from_utf8(bytes).ok(),
        Some(_) | None => None,
    })
}

fn id(text: &str) -> Option<Oid> {
    text.parse::<journeyman_order::CommitSha>().ok().and_then(|sha| Oid::from_str(sha.as_str()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn scanned(bytes: &[u8]) -> ExportedBranch {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        scan(file).unwrap()
    }

    #[test]
    fn objects_have_the_names_of_their_content_whatever_they_claim() {
        let zero = "0".repeat(40);
        let text = format!("{zero}\n{zero} blob 5\nhello\n{zero} missing\n{zero} blob 0\n\n");
        let ExportedBranch::Commit(_, objects) = scanned(text.as_bytes()) else { panic!("not read") };
        let hello = Oid::from_str("b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0").unwrap();
        assert_eq!(objects.read(hello).unwrap(), Some((ObjectType::Blob, b"hello".to_vec())));
        assert_eq!(objects.header(Oid::ZERO_SHA1), None);
        assert_eq!(objects.pieces.len(), 2);
    }

    #[test]
    fn what_is_not_an_export_is_nothing() {
        let zero = "0".repeat(40);
        for bad in [
            "".to_owned(),
            "x".repeat(10_000),
            zero.clone(),
            format!("{zero}\n{zero} blob 9\nshort\n"),
            format!("{zero}\n{zero} blob 99999999999999999999\n"),
            format!("{zero}\n{zero} blob 18446744073709551615\nx"),
            format!("{zero}\n{zero} blob 18446744073709551600\nx"),
            format!("{zero}\n{zero} blob 2\nhi"),
            format!("{zero}\n{zero} commit-graph 2\nhi\n"),
            format!("{zero}\n{zero} blob 30000000\nhi\n"),
            format!("{zero}\n{zero} missing\n{zero} missi"),
        ] {
            assert!(
                matches!(scanned(bad.as_bytes()), ExportedBranch::Nothing(_)),
                "{}",
                &bad[bad.len().saturating_sub(60)..]
            );
        }
        let ExportedBranch::Nothing(because) = scanned(b"none: only main\x1b[2J\nmore") else { panic!() };
        assert_eq!(because, "only main[2J");
    }

    #[test]
    fn more_objects_than_may_be_are_too_much() {
        let zero = "0".repeat(40);
        let mut text = format!("{zero}\n");
        for number in 0..=MOST_PARTS {
            text.push_str(&format!("{zero} blob 7\n{number:07}\n"));
        }
        assert!(
            matches!(scanned(text.as_bytes()), ExportedBranch::TooMuch(what) if what.contains("200000 objects"))
        );
    }

    #[test]
    fn a_commit_is_read_as_strictly_as_git_writes_it() {
        let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let who = "author A B <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 -0730\n";
        let sound = [
            format!("tree {tree}\n{who}\nFix it\n"),
            format!("tree {tree}\nparent {tree}\nparent {tree}\n{who}gpgsig -----\n x\n\nFix it\n"),
            format!("tree {tree}\nauthor <> 0 +0000\ncommitter <> 0 +0000\nencoding ISO-8859-1\n\nFix it\n"),
        ];
        for text in sound {
            let (found, message) = commit(text.as_bytes()).unwrap();
            assert_eq!((found.to_string().as_str(), message.as_str()), (tree, "Fix it\n"));
        }
        for text in [
            format!("tree {tree}\n{who}"),
            format!("tree {}\n{who}\nx", &tree[1..]),
            format!("{who}tree {tree}\n\nx"),
            format!("tree {tree}\ntree {tree}\n{who}\nx"),
            format!("tree {tree}\n{who}tree {tree}\n\nx"),
            format!("tree {tree}\nparent HEAD\n{who}\nx"),
            format!("tree {tree}\n{who}parent {tree}\n\nx"),
            format!("tree {tree}\n{who}author A <a> 1 +0000\n\nx"),
            format!("tree {tree}\nauthor A <a> 1 +0000\n\nx"),
            format!("tree {tree}\n{}\nx", who.replace("A B <", "A B> <")),
            format!("tree {tree}\n{}\nx", who.replace("A B <", "A B<")),
            format!("tree {tree}\n{}\nx", who.replace("1 +0000", "99999999999999999999 +0000")),
            format!("tree {tree}\n{}\nx", who.replace("1 +0000", "1 +0")),
            format!("tree {tree}\n{}\nx", who.replace("A B", "A\0B")),
            String::new(),
        ] {
            assert!(commit(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_commit_has_an_answer(text in "(tree |parent |author |[0-9a-f]{40}|<|> |1 |\\+0000|\n|\\PC){0,30}") {
            let _ = commit(text.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..300)) {
            let mut all = format!("{}\n", "0".repeat(40)).into_bytes();
            all.extend(&bytes);
            scanned(&all);
            scanned(&bytes);
        }
    }
}

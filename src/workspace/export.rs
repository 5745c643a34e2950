//! What came out of the agent's sandbox: one line, then objects, whole and uncompressed, as `git cat-file --batch`
//! writes them. So there is nothing to inflate, no delta to apply, and no claim to believe: what an object is called
//! is computed here. The file that it was written to is the quarantine; nothing leaves it before it was examined.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use git2::{ObjectType, Oid};

use super::GitError;
use crate::order::commit_message::is_hidden;

/// Bytes that an export may have: the job that writes it is given this as its `most_output`.
pub const MOST_EXPORTED: u64 = 256 << 20;
/// Bytes that one object may have. GitHub warns from 50 MiB on.
pub(super) const MOST_OBJECT: u64 = 25 << 20;
/// Objects that an export may have.
const MOST_OBJECTS: usize = 200_000;
/// Bytes of the first line, and of each object's.
const MOST_LINE: u64 = 4_096;

/// An export, read.
pub(super) enum Exported {
    /// There is nothing to import, because.
    Nothing(String),
    /// More than an export may have; says what.
    TooMuch(String),
    /// The commit that the branch is at, and objects.
    Commit(Oid, Objects),
}

/// Objects by their true names.
pub(super) struct Objects {
    file: RefCell<File>,
    pieces: HashMap<Oid, Piece>,
}

#[derive(Clone, Copy)]
struct Piece {
    kind: ObjectType,
    offset: u64,
    size: u64,
}

impl Objects {
    /// Kind and size of an object, without reading it. One that is too large stands here by the name that it claims.
    pub(super) fn header(&self, id: Oid) -> Option<(ObjectType, u64)> {
        self.pieces.get(&id).map(|piece| (piece.kind, piece.size))
    }

    /// An object's bytes; none when it is not here or too large.
    pub(super) fn read(&self, id: Oid) -> io::Result<Option<(ObjectType, Vec<u8>)>> {
        let Some(piece) = self.pieces.get(&id).filter(|piece| piece.size <= MOST_OBJECT) else {
            return Ok(None);
        };
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(piece.offset))?;
        let mut bytes = Vec::new();
        file.by_ref().take(piece.size).read_to_end(&mut bytes)?;
        // The file is ours alone, but a name that is not the content's would undo everything.
        let same = Oid::hash_object(piece.kind, &bytes).is_ok_and(|found| found == id);
        if same {
            Ok(Some((piece.kind, bytes)))
        } else {
            Err(io::Error::other("an object changed while it was read"))
        }
    }
}

/// Reads an export.
pub(super) fn read(path: &Path) -> Result<Exported, GitError> {
    let file = File::open(path).map_err(|error| GitError::file("open what was exported,", path, &error))?;
    let size =
        file.metadata().map_err(|error| GitError::file("look at what was exported,", path, &error))?.len();
    if size >= MOST_EXPORTED {
        return Ok(Exported::TooMuch(format!("the change is larger than {} MiB", MOST_EXPORTED >> 20)));
    }
    scan(file).map_err(|error| GitError::file("read what was exported,", path, &error))
}

fn scan(file: File) -> io::Result<Exported> {
    let unreadable = || Ok(Exported::Nothing("what was pushed could not be read from the origin".to_owned()));
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let Some(first) = line(&mut reader)? else { return unreadable() };
    if let Some(because) = first.strip_prefix("none: ") {
        return Ok(Exported::Nothing(because.chars().filter(|c| !is_hidden(*c)).take(1_000).collect()));
    }
    let Some(pushed) = id(&first) else { return unreadable() };
    let mut pieces = HashMap::new();
    let mut at = first.len() as u64 + 1;
    while !reader.fill_buf()?.is_empty() {
        let Some(header) = line(&mut reader)? else { return unreadable() };
        at += header.len() as u64 + 1;
        let mut words = header.split(' ');
        let (claimed, kind, size) = (words.next().and_then(id), words.next(), words.next());
        // `ID missing`: whoever needs it will notice.
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
        if pieces.len() >= MOST_OBJECTS {
            return Ok(Exported::TooMuch(format!("the change has more than {MOST_OBJECTS} objects")));
        }
        let piece = Piece { kind, offset: at, size };
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
    Ok(Exported::Commit(pushed, Objects { file: RefCell::new(reader.into_inner()), pieces }))
}

/// The next line without its end; none when it has no end, or is not text of a sane length.
fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.take(MOST_LINE).read_until(b'\n', &mut bytes)?;
    Ok(match bytes.pop() {
        Some(b'\n') => String::from_utf8(bytes).ok(),
        Some(_) | None => None,
    })
}

fn id(text: &str) -> Option<Oid> {
    text.parse::<crate::order::CommitSha>().ok().and_then(|sha| Oid::from_str(sha.as_str()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn scanned(bytes: &[u8]) -> Exported {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        scan(file).unwrap()
    }

    #[test]
    fn objects_have_the_names_of_their_content_whatever_they_claim() {
        let zero = "0".repeat(40);
        let text = format!("{zero}\n{zero} blob 5\nhello\n{zero} missing\n{zero} blob 0\n\n");
        let Exported::Commit(_, objects) = scanned(text.as_bytes()) else { panic!("not read") };
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
                matches!(scanned(bad.as_bytes()), Exported::Nothing(_)),
                "{}",
                &bad[bad.len().saturating_sub(60)..]
            );
        }
        let Exported::Nothing(because) = scanned(b"none: only main\x1b[2J\nmore") else { panic!() };
        assert_eq!(because, "only main[2J");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(0_u8..=255, 0..300)) {
            let mut all = format!("{}\n", "0".repeat(40)).into_bytes();
            all.extend(&bytes);
            scanned(&all);
            scanned(&bytes);
        }
    }
}

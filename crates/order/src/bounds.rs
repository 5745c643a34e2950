//! How much of one kind of thing is taken in, kept or shown. Each kind has one bound, for everybody.
//!
//! May know: numbers.
//! A bound of its own has only what a page of ours or another program states in numbers, and what costs a run.

/// Characters of a name, a title or a few words within a line.
pub const LONGEST_NAME: usize = 120;
/// Characters of a line of others that is shown.
pub const LONGEST_LINE: usize = 300;
/// Characters of what a program or a server says of a failure.
pub const LONGEST_MESSAGE: usize = 600;
/// Characters of a comment, or of a command.
pub const LONGEST_TEXT: usize = 4_000;
/// Characters of a text of several pages.
pub const LONGEST_DOCUMENT: usize = 20_000;
/// Bytes of a path or an address.
pub const LONGEST_PATH: usize = 1_024;
/// Bytes of an argument or a variable of a program: Linux takes 128 KiB.
pub const LONGEST_ARGUMENT: usize = 64_000;
/// Bytes of the end of an output that are looked at.
pub const LONGEST_TAIL: usize = 64 << 10;
/// Bytes that a program may print before its job is ended.
pub const MOST_PRINTED: u64 = 256 << 20;

/// Bytes of a file of settings or keys, of a form, and of an answer over HTTP that is an error.
pub const LARGEST_SETTINGS: usize = 64 << 10;
/// Bytes of a source text that people wrote.
pub const LARGEST_SOURCE: usize = 1 << 20;
/// Bytes of a text that is parsed as a whole: an answer over HTTP, a list of packages.
pub const LARGEST_DOCUMENT: usize = 4 << 20;
/// Bytes of any other file that is held in memory.
pub const LARGEST_FILE: usize = 16 << 20;
/// Bytes of what arrives in pieces before it is whole.
pub const LARGEST_STREAM: usize = 64 << 20;

/// Names in one sentence; of more it says how many there are.
pub const MOST_IN_A_SENTENCE: usize = 5;
/// Entries of a list that people read.
pub const MOST_NAMED: usize = 30;
/// Entries of a list that is kept.
pub const MOST_LISTED: usize = 200;
/// Things that are looked at one by one, where each takes work.
pub const MOST_LOOKED_AT: usize = 1_000;
/// The same where each takes little.
pub const MOST_ITEMS: usize = 20_000;
/// Parts of a document, each of which takes much more memory than its text, and entries of a change.
pub const MOST_PARTS: usize = 200_000;
/// Files and folders of a tree.
pub const MOST_ENTRIES: usize = 1_000_000;
/// What of one order runs at the same time.
pub const MOST_SIDE_BY_SIDE: usize = 4;

/// Folders in folders, and whatever else holds its own kind.
pub const DEEPEST: usize = 64;
/// How often one thing leads on to the next: redirects, scripts that run scripts, files that name files.
pub const MOST_HOPS: usize = 5;
/// Bytes of a secret. A shorter text is too common to be taken out wherever it stands.
pub const SHORTEST_SECRET: usize = 8;

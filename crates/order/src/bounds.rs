//! Limits on what we accept, keep or show. Each kind of thing has one limit, used everywhere.
//!
//! May know: numbers.
//! Only documented numbers, other programs' limits and limits that cost a run are defined elsewhere.

/// Characters of a name, a title or a phrase.
pub const LONGEST_NAME: usize = 120;
/// Characters of a foreign line that is shown.
pub const LONGEST_LINE: usize = 300;
/// Characters of an error message from a program or a server.
pub const LONGEST_MESSAGE: usize = 600;
/// Characters of a comment, or of a command.
pub const LONGEST_TEXT: usize = 4_000;
/// Characters of a text of several pages.
pub const LONGEST_DOCUMENT: usize = 20_000;
/// Bytes of a path or a URL.
pub const LONGEST_PATH: usize = 1_024;
/// Bytes of a program's argument or variable: Linux allows 128 KiB.
pub const LONGEST_ARGUMENT: usize = 64_000;
/// Bytes read from the end of an output.
pub const LONGEST_TAIL: usize = 64 << 10;
/// Bytes that a program may print before its job is stopped.
pub const MOST_PRINTED: u64 = 256 << 20;

/// Bytes of a settings or key file, of a form, and of an HTTP error response.
pub const LARGEST_SETTINGS: usize = 64 << 10;
/// Bytes of a source file written by people.
pub const LARGEST_SOURCE: usize = 1 << 20;
/// Bytes of a text that is parsed as a whole: an HTTP response, a list of packages.
pub const LARGEST_DOCUMENT: usize = 4 << 20;
/// Bytes of any other file that is held in memory.
pub const LARGEST_FILE: usize = 16 << 20;
/// Bytes buffered until a message that arrives in pieces is complete.
pub const LARGEST_STREAM: usize = 64 << 20;

/// Names in one sentence; the rest is only counted.
pub const MOST_IN_A_SENTENCE: usize = 5;
/// Entries of a list that people read.
pub const MOST_NAMED: usize = 30;
/// Entries of a list that is kept.
pub const MOST_LISTED: usize = 200;
/// Items to check one by one, if each is expensive.
pub const MOST_LOOKED_AT: usize = 1_000;
/// Items to check one by one, if each is cheap.
pub const MOST_ITEMS: usize = 20_000;
/// Parts of a document, which take much more memory than their text, and entries of a change.
pub const MOST_PARTS: usize = 200_000;
/// Files and folders of a tree.
pub const MOST_ENTRIES: usize = 1_000_000;
/// Jobs of one order that run in parallel.
pub const MOST_SIDE_BY_SIDE: usize = 4;

/// Nesting of folders and other recursive structures.
pub const DEEPEST: usize = 64;
/// Length of a chain: redirects, scripts that run scripts, files that name files.
pub const MOST_HOPS: usize = 5;
/// Bytes of a secret. A shorter text is too common to redact everywhere.
pub const SHORTEST_SECRET: usize = 8;

//! Mutates corpus entries and feeds them to a target: flipped bits, cut and repeated pieces, pieces of other entries,
//! and words that parsers look for. Failing inputs are minimized and stored.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Longest entry to start with, in bytes.
const LONGEST: usize = 64 << 10;
/// The deadline of an input, far above the usual time, because machines are busy.
const SLOWEST: Duration = Duration::from_secs(20);
/// The most steps to minimize a failing input.
const MOST_STEPS: usize = 3_000;

/// A parser to fuzz, with its inputs.
pub struct Target {
    /// The folder of its corpus in `tests/fixtures/fuzz`.
    pub name: &'static str,
    /// More folders under the repository's root whose files serve as seeds.
    pub seeds: &'static [&'static str],
    /// Words that its parser looks for.
    pub words: &'static [&'static str],
    /// Mutated inputs to try by default: about a second of work.
    pub cases: u64,
    /// Runs the parser, and panics if its guarantees do not hold.
    pub run: fn(&[u8]),
}

/// One mutation of an input.
#[derive(Debug, Clone)]
enum Edit {
    FlipBit(Index, u8),
    Byte(Index, u8),
    Remove(Index, Index),
    Double(Index, Index, usize),
    Insert(Index, Vec<u8>),
    Word(Index, Index),
    Number(Index, Index),
    Splice(Index, Index, Index, Index),
    Cut(Index),
    Swap(Index, Index),
}

/// Numbers at the limits of types, or of what parsers accept.
const NUMBERS: &[&str] = &[
    "0", "-1", "1", "127", "255", "256", "65535", "65536", "2147483647", "4294967295", "4294967296",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e308",
    "1e999", "-0", "0.1", "nan", ".inf", "0x7f", "1_000", "00",
];

/// Words that may trip any parser.
const WORDS: &[&str] = &[
    "\0", "\n", "\r\n", "\r", "\t", " ", "\u{feff}", "\u{200b}", "\u{200d}", "\u{202e}", "\u{2028}",
    "\u{85}", "\u{e0041}", "\u{301}", "\u{1f389}", "\u{130}", "\u{df}", "\\", "\"", "'", "`", "```", "~~~",
    "<", ">", "<!--", "-->", "&", "&#64;", "@", "@octocat", "#1", "GH-1", "fixes #1", "closes ", "https://",
    "www.", "$", "${", "{", "}", "[", "]", "(", ")", "{}", "[]", ",", ":", ": ", ";", "|", "- ", "---\n",
    "...", "..", "../", "/", "%", "*", "&a ", "*a", "<<: ", "!!", "? ", "null", "true", "\n%%\n",
    "\u{1b}[31m", "\u{1b}]8;;x\u{7}",
];

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        2 => (at(), 0_u8..8).prop_map(|(place, bit)| Edit::FlipBit(place, bit)),
        1 => (at(), any::<u8>()).prop_map(|(place, byte)| Edit::Byte(place, byte)),
        3 => (at(), at()).prop_map(|(from, length)| Edit::Remove(from, length)),
        2 => (at(), at(), 1_usize..40).prop_map(|(from, length, times)| Edit::Double(from, length, times)),
        1 => (at(), vec(any::<u8>(), 1..12)).prop_map(|(place, bytes)| Edit::Insert(place, bytes)),
        6 => (at(), at()).prop_map(|(place, word)| Edit::Word(place, word)),
        2 => (at(), at()).prop_map(|(place, number)| Edit::Number(place, number)),
        4 => (at(), at(), at(), at()).prop_map(|(place, entry, from, to)| Edit::Splice(place, entry, from, to)),
        1 => at().prop_map(Edit::Cut),
        1 => (at(), at()).prop_map(|(one, other)| Edit::Swap(one, other)),
    ]
}

/// A target's initial entries, stored here or recorded elsewhere.
struct Corpus {
    entries: Vec<Vec<u8>>,
    words: Vec<&'static str>,
}

impl Corpus {
    fn of(target: &Target) -> Self {
        let mut files = Vec::new();
        for folder in target.seeds {
            gather(&root().join(folder), &mut files);
        }
        gather(&kept(target), &mut files);
        files.sort();
        let entries: Vec<Vec<u8>> = files
            .iter()
            .map(|file| fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
            .filter(|bytes| bytes.len() <= LONGEST)
            .collect();
        assert!(!entries.is_empty(), "{} has no corpus", target.name);
        Self { entries, words: [WORDS, target.words].concat() }
    }

    fn changed(&self, entry: Index, edits: &[Edit]) -> Vec<u8> {
        let mut bytes = entry.get(&self.entries).clone();
        for edit in edits {
            self.apply(edit, &mut bytes);
            bytes.truncate(4 * LONGEST);
        }
        bytes
    }

    fn apply(&self, edit: &Edit, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        // Favours short pieces over long ones.
        let end = |from: usize, index: &Index| {
            let rest = length - from;
            let most = if index.index(4) == 0 { rest } else { rest.min(40) };
            from + index.index(most + 1)
        };
        match edit {
            Edit::FlipBit(place, bit) if length > 0 => bytes[place.index(length)] ^= 1 << bit,
            Edit::Byte(place, byte) if length > 0 => bytes[place.index(length)] = *byte,
            Edit::FlipBit(..) | Edit::Byte(..) => {}
            Edit::Remove(place, until) => {
                let from = place.index(length + 1);
                bytes.drain(from..end(from, until));
            }
            Edit::Double(place, until, times) => {
                let from = place.index(length + 1);
                let piece = bytes[from..end(from, until)].repeat(*times);
                bytes.splice(from..from, piece);
            }
            Edit::Insert(place, new) => insert(bytes, *place, new),
            Edit::Word(place, word) => insert(bytes, *place, word.get(&self.words).as_bytes()),
            Edit::Number(place, number) => {
                let from = place.index(length + 1);
                let Some(digit) = bytes[from..].iter().position(u8::is_ascii_digit) else { return };
                let from = from + digit;
                let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(from..from + digits, number.get(NUMBERS).bytes());
            }
            Edit::Splice(place, entry, from, to) => {
                let other = entry.get(&self.entries);
                let (from, to) = (from.index(other.len() + 1), to.index(other.len() + 1));
                insert(bytes, *place, &other[from.min(to)..from.max(to)]);
            }
            Edit::Cut(place) => bytes.truncate(place.index(length + 1)),
            Edit::Swap(one, other) => {
                let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
                *bytes = lines.join(&b'\n');
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, place: Index, new: &[u8]) {
    let place = place.index(bytes.len() + 1);
    bytes.splice(place..place, new.iter().copied());
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn kept(target: &Target) -> PathBuf {
    root().join("tests/fixtures/fuzz").join(target.name)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { gather(&path, files) } else { files.push(path) }
    }
}

/// When to stop.
enum Until {
    Cases(u64),
    Time(Instant),
}

impl Until {
    /// `JOURNEYMAN_FUZZ_SECONDS` or `JOURNEYMAN_FUZZ_CASES`, each per target; the first takes precedence.
    fn asked_for(target: &Target) -> Self {
        let number = |name: &str| {
            let value = std::env::var(name).ok()?;
            Some(value.parse::<u64>().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
        };
        match (number("JOURNEYMAN_FUZZ_SECONDS"), number("JOURNEYMAN_FUZZ_CASES")) {
            (Some(seconds), _) => Self::Time(Instant::now() + Duration::from_secs(seconds)),
            (None, cases) => Self::Cases(cases.unwrap_or(target.cases)),
        }
    }

    fn goes_on(&self, done: u64) -> bool {
        match self {
            Self::Cases(most) => done < *most,
            Self::Time(end) => Instant::now() < *end,
        }
    }
}

/// Runs a target on its stored entries, then on mutations of them.
pub fn fuzz(target: &Target) {
    let corpus = Corpus::of(target);
    let mut slowest = Duration::ZERO;
    for entry in &corpus.entries {
        if let Err(why) = attempt(target, entry, &mut slowest) {
            panic!("{}: {why}: {}", target.name, entry.escape_ascii());
        }
    }
    // A random seed each time. It need not be known, because failing inputs are stored.
    let config = Config { failure_persistence: None, rng_seed: RngSeed::Random, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let inputs = (any::<Index>(), vec(edit(), 1..8));
    let (until, started, mut done) = (Until::asked_for(target), Instant::now(), 0);
    while until.goes_on(done) {
        let mut tree = inputs.new_tree(&mut runner).unwrap();
        let (entry, edits) = tree.current();
        if let Err(why) = attempt(target, &corpus.changed(entry, &edits), &mut slowest) {
            let small = smallest(target, &corpus, &mut tree);
            let file = keep(target, &small);
            panic!("{}: {why}\nafter {done} cases; the input is kept in {}", target.name, file.display());
        }
        done += 1;
    }
    println!(
        "{}: {} kept, {done} changed, in {:.1} s; the slowest took {} ms",
        target.name,
        corpus.entries.len(),
        started.elapsed().as_secs_f64(),
        slowest.as_millis()
    );
}

/// Runs one input, which is in a file meanwhile: a stack overflow or an endless loop leaves no other trace.
fn attempt(target: &Target, bytes: &[u8], slowest: &mut Duration) -> Result<(), String> {
    let running = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    fs::write(&running, bytes).unwrap();
    let started = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    let took = started.elapsed();
    *slowest = took.max(*slowest);
    match ended {
        Ok(()) if took > SLOWEST => Err(format!("it took {} s", took.as_secs())),
        Ok(()) => Ok(()),
        Err(panic) => Err(panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "it panicked".to_owned())),
    }
}

/// Minimizes a failing input, first by fewer mutations, then by removing bytes.
fn smallest(
    target: &Target,
    corpus: &Corpus,
    tree: &mut impl ValueTree<Value = (Index, Vec<Edit>)>,
) -> Vec<u8> {
    let of = |(entry, edits): (Index, Vec<Edit>)| corpus.changed(entry, &edits);
    let fails = |bytes: &[u8]| attempt(target, bytes, &mut Duration::default()).is_err();
    let mut small = of(tree.current());
    let mut steps = 0;
    let mut goes_on = tree.simplify();
    while goes_on && steps < MOST_STEPS / 4 {
        steps += 1;
        let bytes = of(tree.current());
        goes_on = if fails(&bytes) {
            small = bytes;
            tree.simplify()
        } else {
            tree.complicate()
        };
    }
    let mut piece = small.len() / 2;
    while piece > 0 && steps < MOST_STEPS {
        let mut at = 0;
        while at < small.len() && steps < MOST_STEPS {
            steps += 1;
            let less = [&small[..at], &small[(at + piece).min(small.len())..]].concat();
            if fails(&less) { small = less } else { at += piece }
        }
        piece /= 2;
    }
    small
}

fn keep(target: &Target, bytes: &[u8]) -> PathBuf {
    use sha2::{Digest, Sha256};
    let name: String = hex::encode(Sha256::digest(bytes)).chars().take(12).collect();
    let file = kept(target).join(format!("failed-{name}"));
    fs::write(&file, bytes).unwrap();
    file
}

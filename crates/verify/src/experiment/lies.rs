//! The lie detector's lies: one expectation of a test made false, which any honest test run must report.
//!
//! Parsed by words and brackets, so that all languages work alike. Not every lie has to be found. If no lie can be
//! told, that is reported. A lie that shows nothing is detected by telling it to the code of the base as well.

use std::collections::{BTreeSet, HashMap};

use super::example_lies::{all_lies_in, is_code};
use super::lie::{Lie, lies_in};
use super::names::{is_of, is_program_of, without_parameters, words_of};
use super::titles::{TestTitle, meant_by, titles};
use crate::overlay::{Overlay, OverlayAction};
use journeyman_languages::grammar_kind::file_name;
use journeyman_order::bounds::LARGEST_SOURCE;

/// Test files, to find lies in.
pub struct TestTexts<'a> {
    pub files: &'a [(String, Vec<u8>)],
}

/// A test file with its tests and its possible lies.
struct ReadFile<'a> {
    path: &'a str,
    text: &'a str,
    titles: Vec<TestTitle>,
    lies: Vec<Lie>,
}

impl ReadFile<'_> {
    fn lies_of<'r>(&'r self, title: &'r TestTitle) -> impl Iterator<Item = &'r Lie> {
        self.lies.iter().filter(move |lie| title.holds(lie.at.start, &self.titles))
    }
}

/// The tests that a runner's name refers to, each with its file.
fn meant<'r>(
    name: &'r str,
    read: &'r [ReadFile<'r>],
) -> impl Iterator<Item = (&'r ReadFile<'r>, &'r TestTitle)> {
    // A program has the tests of its own file alone, whatever a function elsewhere is called.
    let is_program = read.iter().any(|file| is_program_of(name, file.path));
    let own = read.iter().filter(move |file| match is_program {
        true => is_program_of(name, file.path),
        false => is_of(name, file.path) != Some(false),
    });
    own.flat_map(move |file| meant_by(name, &file.titles).into_iter().map(move |title| (file, title)))
}

impl<'a> TestTexts<'a> {
    /// The files in which these tests can hold a lie.
    fn read(&self, names: &[String]) -> Vec<ReadFile<'a>> {
        let read = |(path, bytes): &'a (String, Vec<u8>)| {
            let text = std::str::from_utf8(bytes).ok()?;
            let may_hold_one = names.iter().any(|name| is_of(name, path) != Some(false));
            let lies = if may_hold_one { all_lies_in(path, bytes) } else { Vec::new() };
            let is_program = || names.iter().any(|name| is_program_of(name, path));
            (!lies.is_empty() || is_program()).then(|| ReadFile {
                path,
                text,
                titles: titles(path, text),
                lies,
            })
        };
        self.files.iter().filter_map(read).collect()
    }

    pub(super) fn file(&self, path: &str) -> Option<&'a [u8]> {
        self.files.iter().find(|(known, _)| known == path).map(|(_, bytes)| bytes.as_slice())
    }

    pub(super) fn text_of(&self, path: &str) -> Option<&'a str> {
        std::str::from_utf8(self.file(path)?).ok()
    }

    /// For each of these tests, by its runner's name, the possible lies in it. Those that `hints` mention come first,
    /// such as what failed on the base.
    pub fn of_tests(&self, names: &[String], hints: &str) -> Vec<(String, Vec<Lie>)> {
        let read = self.read(names);
        let of = |name: &String| {
            let lies = meant(name, &read).flat_map(|(file, title)| file.lies_of(title));
            let mut lies: Vec<Lie> = lies.cloned().collect();
            rank(&mut lies, hints);
            for lie in &mut lies {
                lie.test = Some(name.clone());
            }
            (name.clone(), lies)
        };
        names.iter().map(of).collect()
    }

    /// The possible lies in the tests that the file of a program has, and the base's file has not.
    pub(super) fn added_to_program(&self, name: &str, base: &TestTexts<'_>, hints: &str) -> Vec<Lie> {
        let mut lies: Vec<Lie> = Vec::new();
        for file in self.read(&[name.to_owned()]).iter().filter(|file| is_program_of(name, file.path)) {
            let before = base.text_of(file.path).unwrap_or_default();
            let is_added = |title: &&TestTitle| title.is_test && !before.contains(title.own_text(file.text));
            lies.extend(file.titles.iter().filter(is_added).flat_map(|title| file.lies_of(title)).cloned());
        }
        rank(&mut lies, hints);
        for lie in &mut lies {
            lie.test = Some(name.to_owned());
        }
        lies
    }

    /// A lie closer to the truth: a number's sign, or a space at the end of a text.
    pub fn slight_lie(&self, lie: &Lie) -> Option<Lie> {
        let text = self.text_of(&lie.path).filter(|_| !lie.is_opposite)?;
        if lie.was.bytes().all(|byte| byte.is_ascii_digit()) && lie.was.bytes().any(|byte| byte != b'0') {
            let is_negative = text.get(..lie.at.start)?.ends_with('-');
            let at = lie.at.start - usize::from(is_negative)..lie.at.end;
            let now = if is_negative { lie.was.clone() } else { format!("-{}", lie.was) };
            let was = text.get(at.clone())?.to_owned();
            return Some(Lie { at, was, now, ..lie.clone() });
        }
        let quote = lie.was.chars().next_back().filter(|c| matches!(c, '"' | '\''))?;
        let inner = lie.was.strip_suffix(quote)?;
        let is_long = inner.ends_with(quote) || inner.len() < 2 || inner.ends_with('\\');
        (!is_long).then(|| Lie { now: format!("{inner}\\t{quote}"), ..lie.clone() })
    }

    /// Lies in the data that tests read: the last number of each file.
    pub fn in_data(&self) -> Vec<Lie> {
        let mut lies = Vec::new();
        for (path, bytes) in self.files.iter().filter(|(path, _)| !super::sides::is_source(path)) {
            let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST_SOURCE)
            else {
                continue;
            };
            let numbers = pattern!(r"\b[0-9]{2,9}\b");
            let Some(found) = numbers.find_iter(text).last() else { continue };
            let Some(now) = super::text::other_number(found.as_str()) else { continue };
            let line = text.get(..found.start()).unwrap_or_default().matches('\n').count() + 1;
            let place = (u32::try_from(line).unwrap_or(u32::MAX), found.range());
            lies.push(Lie { is_input: true, ..Lie::of(path, text, place, now) });
        }
        lies
    }

    /// The tests that can hold a lie and mention most of these words. They are the nearest to what a change touches.
    pub fn nearest(&self, names: &[String], words: &BTreeSet<String>, most: usize) -> Vec<String> {
        let read = self.read(names);
        // Per test: how many of the words its text mentions. `None` if no lie can be told in it.
        let mut known: HashMap<*const TestTitle, Option<usize>> = HashMap::new();
        let mut spoken = |file: &ReadFile<'_>, title: &TestTitle| {
            *known.entry(std::ptr::from_ref(title)).or_insert_with(|| {
                file.lies_of(title).next()?;
                let own: BTreeSet<&str> = words_of(title.own_text(file.text)).collect();
                Some(own.into_iter().filter(|word| words.contains(*word)).count())
            })
        };
        // All cases of a test share its text.
        let mut seen = BTreeSet::new();
        let names = names.iter().filter(|name| seen.insert(without_parameters(name)));
        let mut ranked: Vec<(usize, usize, &String)> = names
            .enumerate()
            .filter_map(|(at, name)| {
                let most = meant(name, &read).filter_map(|(file, title)| spoken(file, title)).max()?;
                Some((most, at, name))
            })
            .collect();
        ranked.sort_by_key(|(spoken, at, _)| (std::cmp::Reverse(*spoken), *at));
        ranked.into_iter().take(most).map(|(_, _, name)| name.clone()).collect()
    }

    /// The files that mention any of these words.
    pub fn files_with<'t>(&'t self, words: &'t BTreeSet<String>) -> impl Iterator<Item = &'t str> {
        let speaks = |bytes: &[u8]| super::edits::words_in(bytes).iter().any(|word| words.contains(word));
        self.files.iter().filter(move |(_, bytes)| speaks(bytes)).map(|(path, _)| path.as_str())
    }

    /// Lies in any of the files, the most noticeable first, for runners that name no tests.
    pub fn anywhere(&self, hints: &str) -> Vec<Lie> {
        let own = self.files.iter().filter(|(path, bytes)| !is_code(path, bytes));
        let mut lies: Vec<Lie> = own.flat_map(|(path, bytes)| lies_in(path, bytes)).collect();
        rank(&mut lies, hints);
        lies
    }

    /// The overlays that put these edits into the checkout. Of several for one place, the first is made.
    pub fn overlays_of(&self, lies: &[&Lie]) -> Vec<Overlay> {
        self.files
            .iter()
            .filter_map(|(path, bytes)| {
                let mut own: Vec<&&Lie> = lies.iter().filter(|lie| lie.path == *path).collect();
                own.sort_by_key(|lie| std::cmp::Reverse(lie.at.start));
                own.dedup_by_key(|lie| lie.at.start);
                (!own.is_empty()).then(|| {
                    let mut text = bytes.clone();
                    for lie in own {
                        if lie.at.end <= text.len() {
                            text.splice(lie.at.clone(), lie.now.bytes());
                        }
                    }
                    Overlay { path: path.clone(), action: OverlayAction::Write(text) }
                })
            })
            .collect()
    }
}

/// Sure lies first, then those whose place or value the hints mention.
fn rank(lies: &mut [Lie], hints: &str) {
    let words: BTreeSet<&str> = hints.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    lies.sort_by_key(|lie| {
        let name = file_name(&lie.path);
        let is_placed = hints.contains(&format!("{name}:{}", lie.line))
            || hints.contains(&format!("{name}\", line {}", lie.line));
        let digits = lie.was.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_spoken_of = digits.len() > 1 && words.contains(digits);
        // What a value is compared with says more than what is claimed, or asked.
        let is_weak = lie.is_opposite || lie.is_input;
        (!lie.is_sure, is_weak, !is_placed, !is_spoken_of, lie.at.start)
    });
}

#[cfg(test)]
mod tests;

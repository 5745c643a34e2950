//! Attributes as git decides about them, held against git itself; and those that are made to cost us time and memory.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

fn of(files: &[(&str, &str)]) -> TreeAttributes {
    let owned = |(path, text): &(&str, &str)| (path.as_bytes().to_vec(), text.as_bytes().to_vec());
    TreeAttributes::new(&files.iter().map(owned).collect::<Vec<_>>(), MOST_STEPS).unwrap()
}

#[test]
fn the_last_line_that_matches_the_deepest_file_and_macros_decide_as_for_git() {
    let attributes = of(&[
        (
            ".gitattributes",
            "[attr]big filter=lfs -text\n*.bin filter=lfs diff=lfs\n/top.dat big\nsmall.bin !filter\nplain/** -filter\n",
        ),
        (
            "deep/.gitattributes",
            "*.png filter=lfs\nmine.bin filter=other\n[attr]huge filter=lfs\n*.huge huge\n",
        ),
    ]);
    for path in ["a.bin", "x/y/a.bin", "top.dat", "deep/a.png", "deep/er/a.png", "deep/a.bin"] {
        assert_eq!(attributes.is_lfs(path.as_bytes()), Ok(true), "{path}");
    }
    for path in
        ["a.png", "small.bin", "x/small.bin", "x/top.dat", "plain/a.bin", "deep/mine.bin", "a", "deep/a.huge"]
    {
        assert_eq!(attributes.is_lfs(path.as_bytes()), Ok(false), "{path}");
    }
    assert!(of(&[(".gitattributes", "*.md text\n")]).are_without_lfs());
    assert!(of(&[]).are_without_lfs());
}

/// Throws the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn some(&mut self, of: &[&str], most: usize) -> String {
        (0..=self.below(most)).map(|_| self.one(of)).collect()
    }

    fn pattern(&mut self) -> String {
        let begin = self.one(&["", "", "", "/", "**/", "*", "!", "\\!", "\"", "a/"]);
        let pieces = [
            "a",
            "b",
            "c",
            "ab",
            ".",
            "*",
            "*",
            "**",
            "***",
            "?",
            "/",
            "/",
            "**/",
            "/**",
            "/**/",
            "[ab]",
            "[!a]",
            "[^b-c]",
            "[a-c]",
            "[[:alpha:]]",
            "[[:digit:][:punct:]]",
            "[]a]",
            "[a\\]b]",
            "[[:a]",
            "[[:no:]]",
            "[a/]",
            "[\\a-c]",
            "[-a]",
            "[a-]",
            "[--/]",
            "[a-a-c]",
            "\\*",
            "\\a",
            "\\/",
            "[",
            "]",
            "-",
            "\\",
            "1",
        ];
        let body = self.some(&pieces, 4);
        match begin {
            "\"" => format!("\"{}\"", body.replace('\\', "\\\\").replace('a', "\\141")),
            _ => format!("{begin}{body}"),
        }
    }

    fn line(&mut self) -> String {
        let names = [
            "filter=lfs",
            "filter=lfs",
            "filter=lfs",
            "filter",
            "-filter",
            "!filter",
            "filter=no",
            "text",
            "one",
            "one",
            "two",
            "-one",
            "!two",
            "two=x",
            "three",
            "-filter=lfs",
            "filter=lfs=x",
            "wrong!",
            "=x",
        ];
        let pattern = match self.below(12) {
            0 => format!("[attr]{}", self.one(&["one", "two", "three", "filter"])),
            1 => self.one(&["#", "\"a", "", " "]).to_owned(),
            2..=4 => self.one(&["*", "a*", "*b", "a/**", "**/b", "/a", "b/*", "a**/b"]).to_owned(),
            _ => self.pattern(),
        };
        let words: Vec<&str> = (0..=self.below(3)).map(|_| self.one(&names)).collect();
        format!("{pattern}{}{}", self.one(&[" ", "\t", "  "]), words.join(" "))
    }

    fn file(&mut self, lines: usize) -> String {
        let begin = if self.below(20) == 0 { "\u{feff}" } else { "" };
        let lines: Vec<String> = (0..=self.below(lines)).map(|_| self.line()).collect();
        format!("{begin}{}{}", lines.join(self.one(&["\n", "\n", "\r\n"])), self.one(&["", "\n"]))
    }

    fn path(&mut self) -> String {
        let parts = [
            "a", "a", "a", "b", "b", "c", "ab", "abc", "aab", "ba", "a.b", ".", "*", "[", "]", "-", "!a",
            "1", "a1", "\\", "ü", "\"",
        ];
        let of_two = |dice: &mut Self| {
            let part = format!("{}{}", dice.one(&parts), dice.one(&["", "", "", "a", "b"]));
            if matches!(part.as_str(), "." | "..") { "x".to_owned() } else { part }
        };
        (0..=self.below(4)).map(|_| of_two(self)).collect::<Vec<_>>().join("/")
    }
}

/// Which of these paths have the filter, if one asks git.
fn asked_of_git(repository: &Path, paths: &[String]) -> Vec<bool> {
    let mut git = Command::new("git")
        .args(["check-attr", "-z", "--stdin", "filter"])
        .current_dir(repository)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, all) = (git.stdin.take().unwrap(), paths.join("\0") + "\0");
    let writing = std::thread::spawn(move || input.write_all(all.as_bytes()).unwrap());
    let said = git.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(said.status.success());
    let words: Vec<&[u8]> = said.stdout.split(|byte| *byte == 0).collect();
    words.chunks_exact(3).map(|said| said[2] == b"lfs").collect()
}

fn repository() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let made = Command::new("git").args(["init", "-q"]).current_dir(place.path()).status().unwrap();
    assert!(made.success());
    place
}

/// Writes the files of attributes, and holds what we say of paths against what git says. How many have the filter.
fn hold_against_git(repository: &Path, files: &[(String, String)], paths: &[String]) -> usize {
    for (path, text) in files {
        let place = repository.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    let attributes = of(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let theirs = asked_of_git(repository, paths);
    assert_eq!(theirs.len(), paths.len());
    for (path, theirs) in paths.iter().zip(&theirs) {
        if attributes.is_lfs(path.as_bytes()) != Ok(*theirs) {
            let of_it = |(file, _): &&(String, String)| path.starts_with(&file[..file.len() - NAME.len()]);
            panic!("to git {path:?} is: {theirs}, by {:#?}", files.iter().filter(of_it).collect::<Vec<_>>());
        }
    }
    theirs.iter().filter(|is_lfs| **is_lfs).count()
}

#[test]
fn patterns_without_number_mean_what_they_mean_to_git() {
    let (repository, mut dice) = (repository(), Dice(7));
    let (mut files, mut paths) = (Vec::new(), Vec::new());
    // Each in a folder of its own, so that git is asked once.
    for number in 0..4_000 {
        let pattern = dice.pattern();
        files.push((format!("d{number}/.gitattributes"), format!("{pattern} filter=lfs\n")));
        paths.extend((0..12).map(|_| format!("d{number}/{}", dice.path())));
    }
    let given = hold_against_git(repository.path(), &files, &paths);
    assert!(given > 2_500, "{given}");
}

#[test]
fn whole_files_of_attributes_with_macros_and_in_folders_mean_what_they_mean_to_git() {
    let mut dice = Dice(11);
    let mut given = 0;
    for _ in 0..80 {
        let repository = repository();
        let files: Vec<_> = ["", "a/", "b/", "a/b/"]
            .iter()
            .map(|folder| (format!("{folder}.gitattributes"), dice.file(12)))
            .collect();
        let paths: Vec<String> = (0..150).map(|_| dice.path()).collect();
        given += hold_against_git(repository.path(), &files, &paths);
    }
    assert!(given > 500, "{given}");
}

#[test]
fn fifty_patterns_and_ten_thousand_paths_are_a_small_part_of_what_may_be_done() {
    let patterns: String = (0..50)
        .map(|n| match n % 3 {
            0 => format!("*.p{n} filter=lfs diff=lfs merge=lfs -text\n"),
            1 => format!("Content/**/*.u{n} filter=lfs\n"),
            _ => format!("assets{n}/** filter=lfs\n"),
        })
        .collect();
    let files = [(NAME.as_bytes().to_vec(), patterns.into_bytes())];
    let attributes = TreeAttributes::new(&files, MOST_STEPS / 50).unwrap();
    for n in 0..10_000 {
        let path = format!("Content/characters/of/the/third/act/{n}/textures/skin.u{}", n % 50);
        assert_eq!(attributes.is_lfs(path.as_bytes()), Ok(n % 50 % 3 == 1));
    }
}

#[test]
fn patterns_that_are_made_to_match_in_more_ways_than_anybody_can_try_are_answered() {
    let stars = format!("{}b filter=lfs\n{}b filter=lfs\n", "*a*a*a*a/".repeat(5), "**/".repeat(100));
    let attributes = of(&[(NAME, &stars)]);
    for path in ["aaaaaaaaaaaaaaaa/".repeat(5), "d/".repeat(12)] {
        assert_eq!(attributes.is_lfs(format!("{path}c").as_bytes()), Ok(false));
        assert_eq!(attributes.is_lfs(format!("{path}b").as_bytes()), Ok(true));
    }
}

#[test]
fn what_would_cost_more_than_there_is_time_for_is_said() {
    let line = format!("{}b filter=lfs\n", "*a".repeat(900));
    let files = [(NAME.as_bytes().to_vec(), line.repeat(100).into_bytes())];
    let attributes = TreeAttributes::new(&files, 1_000_000).unwrap();
    // Too few letters for the stars, which is seen at the end.
    let path = "a".repeat(800) + "ab";
    assert_eq!(attributes.is_lfs(path.as_bytes()), Err(NoStepsLeft.into()));
    assert_eq!(attributes.is_lfs(b"x"), Err(NoStepsLeft.into()), "and all that comes behind it");
}

#[test]
fn macros_that_stand_for_each_other_and_many_of_them_come_to_an_end() {
    let nested = |count: usize| {
        let chain: String = (1..count).map(|n| format!("[attr]m{n} m{} m{0} m{0}\n", n - 1)).collect();
        format!("[attr]m0 filter=lfs m{}\n{chain}*.bin m{}\n", count - 1, count - 1)
    };
    let attributes = of(&[(NAME, &nested(MOST_MACROS))]);
    assert_eq!(attributes.is_lfs(b"a.bin"), Ok(true));
    let files = [(NAME.as_bytes().to_vec(), nested(MOST_MACROS + 1).into_bytes())];
    assert!(
        TreeAttributes::new(&files, MOST_STEPS).is_err_and(|AttributesOverBound(why)| why.contains("macros"))
    );
}

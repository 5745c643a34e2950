//! Replays real fixes of public repositories: the repository before a fix, and a change made from that fix.
//!
//! May know: git repositories on this machine and on GitHub. Must never know: what Journeyman says of a change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use clap::ValueEnum;
use git2::{DiffOptions, Oid, Repository, Tree};
use serde::{Deserialize, Serialize};

use crate::app::bounded_tree;
use crate::order::RepositoryName;

/// The last line of a replayed issue, by which the script in `templates/eval` finds its change.
pub(super) const CASE: &str = "Case: ";

/// What is made of a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(super) enum ReplayVariant {
    /// The fix as it was made.
    Right,
    /// Its code, and none of its tests.
    CodeAlone,
    /// Its tests, and code that mends nothing.
    WrongCode,
    /// Its tests without what they expect, and code that mends nothing.
    Weakened,
}

impl ReplayVariant {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::CodeAlone => "code_alone",
            Self::WrongCode => "wrong_code",
            Self::Weakened => "weakened",
        }
    }

    /// Whether this form fixes the issue.
    pub(super) fn is_mended(self) -> bool {
        matches!(self, Self::Right | Self::CodeAlone)
    }
}

/// A line of `fixes.jsonl`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RealFix {
    pub(super) repository: RepositoryName,
    pub(super) language: String,
    /// The commit before the fix.
    pub(super) base: String,
    pub(super) fix: String,
    pub(super) source_files: Vec<String>,
    pub(super) test_files: Vec<String>,
    /// The issue, in the suite's own words.
    pub(super) title: String,
    pub(super) body: String,
}

/// One fix in one form.
#[derive(Debug, Clone)]
pub(super) struct ReplayCase {
    pub(super) fix: RealFix,
    pub(super) variant: ReplayVariant,
    /// Where clones of repositories are; missing ones are cloned into it.
    pub(super) mirrors: PathBuf,
    /// `.github/journeyman.yml` for the commit before the fix; `None` if the repository has none.
    pub(super) settings: Option<String>,
}

/// Reads the fixes of a suite.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<RealFix>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let fixes = lines.map(|(number, line)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", file.display(), number + 1))
    });
    fixes.collect()
}

impl ReplayCase {
    /// Writes the repository before the fix to `place`, and the change to `patch`.
    pub(super) fn write(&self, place: &Path, patch: &Path) -> anyhow::Result<()> {
        let mirror = self.mirror()?;
        let theirs = Repository::open(&mirror).with_context(|| mirror.display().to_string())?;
        let objects = theirs.path().join("objects").canonicalize()?;
        // Reads the mirror's objects in place, and writes new ones here.
        let ours = Repository::init_bare(place)?;
        std::fs::create_dir_all(place.join("objects/info"))?;
        std::fs::write(place.join("objects/info/alternates"), format!("{}\n", objects.display()))?;
        let ours = Repository::open(ours.path())?;
        let lacks = |what: &str| format!("{} has no commit {what}: fetch it", mirror.display());
        let tree = |name: &str| -> anyhow::Result<Tree<'_>> {
            bounded_tree(&ours, Oid::from_str(name)?).with_context(|| lacks(name))
        };
        let (before, after) = (tree(&self.fix.base)?, tree(&self.fix.fix)?);
        std::fs::write(patch, self.patch(&ours, &before, &after)?)?;
        let base = match &self.settings {
            None => Oid::from_str(&self.fix.base)?,
            Some(settings) => {
                let blob = ours.blob(settings.as_bytes())?;
                let mut added = git2::build::TreeUpdateBuilder::new();
                added.upsert(".github/journeyman.yml", blob, git2::FileMode::Blob);
                let tree = ours.find_tree(added.create_updated(&ours, &before)?)?;
                let by = git2::Signature::new("you", "you@invalid", &git2::Time::new(1_700_000_000, 0))?;
                let parent = ours.find_commit(Oid::from_str(&self.fix.base)?)?;
                ours.commit(None, &by, &by, "Settings for Journeyman", &tree, &[&parent])?
            }
        };
        ours.reference("refs/heads/main", base, true, "the state before")?;
        ours.set_head("refs/heads/main")?;
        Ok(())
    }

    fn mirror(&self) -> anyhow::Result<PathBuf> {
        let name = &self.fix.repository;
        let (owner, short) = (name.owner(), name.name());
        let is_repository = |path: &Path| path.join("HEAD").is_file() && path.join("objects").is_dir();
        let own = self.mirrors.join(owner).join(format!("{short}.git"));
        let near = [
            own.clone(),
            self.mirrors.join(owner).join(short),
            self.mirrors.join(format!("{owner}+{short}")),
        ];
        for folder in near {
            let below = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            if let Some(found) = std::iter::once(folder.clone()).chain(below).find(|path| is_repository(path))
            {
                return Ok(found);
            }
        }
        let url = format!("https://github.com/{name}.git");
        let clone = Command::new("git").args(["clone", "--quiet", "--bare", &url]).arg(&own).status();
        anyhow::ensure!(
            clone.is_ok_and(|ended| ended.success()),
            "{url} cannot be cloned; put a clone into {}",
            own.display()
        );
        Ok(own)
    }

    fn patch(&self, ours: &Repository, before: &Tree<'_>, after: &Tree<'_>) -> anyhow::Result<Vec<u8>> {
        let RealFix { source_files, test_files, .. } = &self.fix;
        let is_test = |path: &&String| test_files.contains(path);
        let code: Vec<&String> = source_files.iter().filter(|path| !is_test(path)).collect();
        let bytes = |tree: &Tree<'_>, path: &str| -> Option<Vec<u8>> {
            Some(ours.find_blob(tree.get_path(Path::new(path)).ok()?.id()).ok()?.content().to_vec())
        };
        let text =
            |tree: &Tree<'_>, path: &str| Some(String::from_utf8_lossy(&bytes(tree, path)?).into_owned());
        // The trees are built in memory, without a checkout.
        let mut changed = git2::build::TreeUpdateBuilder::new();
        let mut upsert = |path: &str, content: Option<Vec<u8>>| -> anyhow::Result<()> {
            match content {
                Some(content) => {
                    let there = after.get_path(Path::new(path)).or_else(|_| before.get_path(Path::new(path)));
                    let mode = match there.map_or(0o100_644, |entry| entry.filemode()) {
                        0o100_755 => git2::FileMode::BlobExecutable,
                        _ => git2::FileMode::Blob,
                    };
                    changed.upsert(path, ours.blob(&content)?, mode);
                }
                None if before.get_path(Path::new(path)).is_ok() => drop(changed.remove(path)),
                None => {}
            }
            Ok(())
        };
        match self.variant {
            ReplayVariant::Right | ReplayVariant::CodeAlone => {
                let tests = test_files.iter().filter(|_| self.variant == ReplayVariant::Right);
                for path in code.into_iter().chain(tests) {
                    upsert(path, bytes(after, path))?;
                }
            }
            ReplayVariant::WrongCode | ReplayVariant::Weakened => {
                for path in test_files {
                    let now = match self.variant == ReplayVariant::Weakened {
                        true => text(after, path).map(|now| {
                            weakened(path, &text(before, path).unwrap_or_default(), &now).into_bytes()
                        }),
                        false => bytes(after, path),
                    };
                    upsert(path, now)?;
                }
                for path in code {
                    if let Some(before) = text(before, path) {
                        let with_comment = format!("{}\n{}\n", before.trim_end(), comment(path));
                        upsert(path, Some(with_comment.into_bytes()))?;
                    }
                }
            }
        }
        let made = ours.find_tree(changed.create_updated(ours, before)?)?;
        let mut options = DiffOptions::new();
        options.show_binary(true).context_lines(3);
        let diff = ours.diff_tree_to_tree(Some(before), Some(&made), Some(&mut options))?;
        let mut patch = Vec::new();
        diff.print(git2::DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                patch.push(line.origin() as u8);
            }
            patch.extend_from_slice(line.content());
            true
        })?;
        Ok(patch)
    }
}

/// The comment marker of a file's language.
fn comment(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("py" | "rb" | "sh" | "toml" | "yml" | "yaml") => "# Looked at.",
        Some("c" | "h" | "cc" | "cpp" | "hpp") => "/* Looked at. */",
        Some(_) | None => "// Looked at.",
    }
}

/// Marks a line that contains an expectation.
const EXPECTS: [&str; 12] = [
    "assert", "expect(", ".should", "EXPECT_", "ASSERT_", "CHECK", "REQUIRE", "t.Error", "t.Fatal",
    "require.", ".toBe", "fail(",
];

/// The tests of a fix without their expectations, as far as these are on lines of their own.
fn weakened(path: &str, before: &str, after: &str) -> String {
    let known: BTreeSet<&str> = before.lines().collect();
    let is_whole = |line: &str| {
        line.matches('(').count() == line.matches(')').count()
            && line.matches('{').count() == line.matches('}').count()
    };
    let mut text = String::new();
    for line in after.lines() {
        let is_expectation =
            !known.contains(line) && is_whole(line) && EXPECTS.iter().any(|sign| line.contains(sign));
        if !is_expectation {
            text.push_str(line);
        } else if path.ends_with(".py") {
            let indentation = line.len() - line.trim_start().len();
            text.push_str(&format!("{}pass", " ".repeat(indentation)));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_new_tests_expect_is_taken_out_and_what_was_there_stays() {
        let before = "def test_a():\n    assert a() == 1\n";
        let after = format!(
            "{before}\ndef test_b():\n    b = a()\n    assert b == 2\n    assert (b ==\n            3)\n"
        );
        assert_eq!(
            weakened("test_a.py", before, &after),
            format!("{before}\ndef test_b():\n    b = a()\n    pass\n    assert (b ==\n            3)\n")
        );
        assert_eq!(
            weakened("a.test.js", "", "it('x', () => {\n  expect(a).toBe(1);\n});\n"),
            "it('x', () => {\n\n});\n"
        );
    }

    #[test]
    fn each_form_of_a_fix_is_a_patch_on_the_commit_before_it() {
        let place = tempfile::tempdir().unwrap();
        let mirror = place.path().join("mirrors/acme/sums.git");
        let theirs = Repository::init_bare(&mirror).unwrap();
        let by = git2::Signature::now("a", "a@invalid").unwrap();
        let commit = |files: &[(&str, &str)], parents: &[Oid]| {
            let mut tree = theirs.treebuilder(None).unwrap();
            for (name, text) in files {
                tree.insert(name, theirs.blob(text.as_bytes()).unwrap(), 0o100_644).unwrap();
            }
            let tree = theirs.find_tree(tree.write().unwrap()).unwrap();
            let parents: Vec<_> = parents.iter().map(|id| theirs.find_commit(*id).unwrap()).collect();
            theirs.commit(None, &by, &by, "x", &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
        };
        let base = commit(&[("sum.py", "wrong = 1\n"), ("test_sum.py", "old = 1\n")], &[]);
        let fix = commit(&[("sum.py", "right = 1\n"), ("test_sum.py", "old = 1\nassert right\n")], &[base]);
        let line = serde_json::json!({
            "repository": "acme/sums", "language": "Python", "base": base.to_string(), "fix": fix.to_string(), "year": 2020,
            "source_files": ["sum.py"], "test_files": ["test_sum.py"], "title": "It is wrong", "body": "Mend it.",
        });
        let file = place.path().join("fixes.jsonl");
        std::fs::write(&file, format!("{line}\n")).unwrap();
        let fix = read(&file).unwrap().remove(0);
        for (variant, has) in [
            (ReplayVariant::Right, ["+right = 1", "+assert right"]),
            (ReplayVariant::CodeAlone, ["+right = 1", "-wrong = 1"]),
            (ReplayVariant::WrongCode, ["+# Looked at.", "+assert right"]),
            (ReplayVariant::Weakened, ["+# Looked at.", "+pass"]),
        ] {
            let (repository, patch) = (place.path().join(variant.word()), place.path().join("patch"));
            let case = ReplayCase {
                fix: fix.clone(),
                variant,
                mirrors: place.path().join("mirrors"),
                settings: None,
            };
            case.write(&repository, &patch).unwrap();
            let patch = std::fs::read_to_string(patch).unwrap();
            assert!(has.iter().all(|line| patch.contains(line)), "{variant:?}: {patch}");
            let head = Repository::open(&repository).unwrap().head().unwrap().peel_to_commit().unwrap().id();
            assert_eq!(head, base);
        }
        std::fs::write(&file, line.to_string().replace("acme/sums", "../sums")).unwrap();
        assert!(read(&file).is_err());
    }
}

//! What reading a change tells the experiment: which files are tests and which are code, and what people are told of it.
//! A change may be large, and is hostile, so that it is read beside the runtime.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{CommitTester, TestRunRequest, VerdictBasis};
use journeyman_order::{CommitSha, EffectError, Weakening};
use journeyman_verify::experiment::{
    ChangeSplit, ChangedPath, EditedTest, NewParameters, defined_in, edited_tests, introduced_names,
    is_of_tests, may_hold_tests, new_parameters, split_change, unread_sources, with_empty_names, words_in,
};
use journeyman_verify::{Mutant, Overlay, OverlayAction, changed_lines, mutants, new_dependencies, tamper};
use journeyman_workspace::{ChangedContent, ChangedFile};

/// Bytes of files that did not change and are read beside those that did.
const MOST_UNCHANGED: usize = 8 << 20;
/// Tests of the base that are named as changed.
pub(super) const MOST_NAMED: usize = 100;

/// Mutants of one change that are tried.
const MOST_MUTANTS: usize = 12;

/// What reading a change tells.
#[derive(Default)]
pub(super) struct ChangeAnalysis {
    pub(super) sides: ChangeSplit,
    /// For reviewer and person.
    pub(super) remarks: Vec<Weakening>,
    pub(super) dependencies: Vec<String>,
    /// Paths of the base's tests that the change touches and that cannot be put back, since they cannot be read.
    pub(super) unread: Vec<String>,
    /// Sources that the change makes too large or too tangled to be read: what it brings with them, nobody can tell.
    pub(super) overgrown: Vec<String>,
    /// The first path that was not read since the change as a whole is too large.
    pub(super) past_total: Option<String>,
    /// Paths of compiled code beside the tests, which nobody can read.
    pub(super) compiled: Vec<String>,
    /// Words of the change's code that stand nowhere in the base.
    pub(super) new_words: BTreeSet<String>,
    /// Those of them that the code defines, takes or asks for.
    pub(super) introduced: BTreeSet<String>,
    /// What functions of the base take with the change only.
    pub(super) parameters: Vec<NewParameters>,
    /// Gives the code of the base these names, with nothing behind them.
    pub(super) empty_names: Vec<Overlay>,
    /// What is defined in the files of code that the change touches.
    pub(super) own_words: BTreeSet<String>,
    /// Tests of the base with another text.
    pub(super) edited_tests: Vec<EditedTest>,
    /// Mutants of the changed lines of code, those worth trying first.
    pub(super) mutants: Vec<Mutant>,
    /// The files that they are of, after the change.
    pub(super) after: BTreeMap<String, Vec<u8>>,
}

/// Reads both sides of a change.
pub(super) async fn read_change(
    testing: &CommitTester,
    ask: &TestRunRequest,
    judging: &VerdictBasis,
) -> Result<ChangeAnalysis, EffectError> {
    let command = judging.before.test_command().unwrap_or_default().to_owned();
    let TestRunRequest { repository, base, commit, .. } = ask.clone();
    testing
        .git(move |workspaces| {
            let read_base = |path: &str| workspaces.file(&repository, &base, path).ok().flatten();
            let read_after = |path: &str| workspaces.file(&repository, &commit, path).ok().flatten();
            let changes = workspaces.changes(&repository, &base, &commit)?;
            let changed: HashSet<&str> = changes.iter().map(|file| file.path.as_str()).collect();
            let is_other = |path: &str| !changed.contains(path) && tamper::is_source_path(path);
            let same = workspaces.some_files(&repository, &commit, MOST_UNCHANGED, &is_other)?;
            Ok(of(&changes, &same, &command, &read_base, &read_after))
        })
        .await
}

fn of(
    changes: &[ChangedFile],
    same: &[(String, Vec<u8>)],
    command: &str,
    read_base: &dyn Fn(&str) -> Option<Vec<u8>>,
    read_after: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> ChangeAnalysis {
    let changed: Vec<ChangedPath<'_>> = changes
        .iter()
        .map(|file| ChangedPath {
            path: &file.path,
            before: file.before.as_ref().and_then(ChangedContent::bytes),
            after: file.after.as_ref().and_then(ChangedContent::bytes),
        })
        .collect();
    let sides = split_change(&changed, command, read_base, read_after);
    let files: Vec<tamper::FileVersions<'_>> = changed
        .iter()
        .map(|file| tamper::FileVersions {
            before: file.before.map(|bytes| (file.path, bytes)),
            after: file.after.map(|bytes| (file.path, bytes)),
        })
        // What did not change is what helpers and expected values are recognised by.
        .chain(same.iter().map(|(path, bytes)| {
            let file = Some((path.as_str(), bytes.as_slice()));
            tamper::FileVersions { before: file, after: file }
        }))
        .collect();
    let is_code = |file: &&ChangedPath<'_>| !is_of_tests(file.path);
    let dependencies: Vec<_> = changed.iter().map(|file| (file.path, file.before, file.after)).collect();
    let (mut all_mutants, mut mutated) = (Vec::new(), BTreeMap::new());
    for file in changed.iter().filter(is_code) {
        let Some(bytes) = file.after else { continue };
        let own = mutants(file.path, bytes, &changed_lines(file.before, bytes), MOST_MUTANTS);
        if !own.is_empty() {
            mutated.insert(file.path.to_owned(), bytes.to_vec());
        }
        all_mutants.push(own.into_iter());
    }
    let mut old_words = BTreeSet::new();
    for bytes in
        changed.iter().filter_map(|file| file.before).chain(same.iter().map(|(_, bytes)| bytes.as_slice()))
    {
        old_words.extend(words_in(bytes));
    }
    let after = || changed.iter().filter(is_code).filter_map(|file| Some((file.path, file.after?)));
    let new_words: BTreeSet<String> =
        after().flat_map(|(_, bytes)| words_in(bytes)).filter(|word| !old_words.contains(word)).collect();
    let introduced = introduced_names(&after().collect::<Vec<_>>(), &new_words);
    let is_unread_now = |file: &ChangedFile| file.after == Some(ChangedContent::NotRead);
    // In Rust tests of the base may stand in a file of code.
    let had_tests = |file: &ChangedFile| {
        let before = file.before.as_ref().and_then(ChangedContent::bytes).unwrap_or_default();
        file.path.ends_with(".rs") && may_hold_tests(before)
    };
    let is_unread = |file: &&ChangedFile| {
        file.before == Some(ChangedContent::NotRead) && is_of_tests(&file.path)
            || is_unread_now(file) && had_tests(file)
    };
    let is_overgrown = |file: &&ChangedFile| {
        let is_code = tamper::is_source_path(&file.path) && !is_of_tests(&file.path);
        let is_new = is_unread_now(file) && file.before != Some(ChangedContent::NotRead);
        // What is past the total is unread because of the change, whatever it is and on whichever side.
        file.is_past_total || is_code && is_new
    };
    let unread = changes.iter().filter(is_unread).map(|file| file.path.clone());
    let overgrown = changes.iter().filter(is_overgrown).map(|file| file.path.clone());
    // What is moved as it is was there.
    let was_there = |file: &ChangedFile| {
        let bytes = file.after.as_ref().and_then(ChangedContent::bytes);
        bytes.is_some()
            && changes.iter().any(|other| other.before.as_ref().and_then(ChangedContent::bytes) == bytes)
    };
    let is_compiled = |file: &&ChangedFile| {
        let is_one = tamper::is_compiled_path(&file.path) && !is_of_tests(&file.path);
        file.after.is_some() && is_one && !was_there(file)
    };
    ChangeAnalysis {
        compiled: changes.iter().filter(is_compiled).map(|file| file.path.clone()).collect(),
        unread: unread.chain(sides.unread.iter().cloned()).collect(),
        overgrown: overgrown.chain(unread_sources(&changed)).collect::<BTreeSet<_>>().into_iter().collect(),
        past_total: changes.iter().find(|file| file.is_past_total).map(|file| file.path.clone()),
        remarks: tamper::weakenings(&files),
        dependencies: new_dependencies(&dependencies).into_iter().map(|dependency| dependency.what).collect(),
        empty_names: with_empty_names(&changed, &introduced),
        introduced,
        parameters: new_parameters(&changed, &new_words),
        new_words,
        mutants: in_turn(all_mutants, MOST_MUTANTS),
        after: mutated,
        own_words: after().flat_map(|(path, bytes)| defined_in(path, bytes)).collect(),
        edited_tests: edited_tests(&changed, &sides.test_paths),
        sides,
    }
}

/// One of each list after the other.
fn in_turn(mut lists: Vec<std::vec::IntoIter<Mutant>>, most: usize) -> Vec<Mutant> {
    let mut all = Vec::new();
    while all.len() < most && !lists.is_empty() {
        lists.retain_mut(|list| list.next().map(|mutant| all.push(mutant)).is_some());
    }
    all.truncate(most);
    all
}

/// The files of tests in a commit with something laid over it: what a lie can be told in. In Rust any file may hold tests.
pub(super) async fn texts_of(
    testing: &CommitTester,
    ask: &TestRunRequest,
    commit: &CommitSha,
    overlays: &[Overlay],
) -> Result<Vec<(String, Vec<u8>)>, EffectError> {
    let (repository, commit, overlays) = (ask.repository.clone(), commit.clone(), overlays.to_vec());
    testing
        .git(move |workspaces| {
            let is_wanted = |path: &str| is_of_tests(path) || path.ends_with(".rs");
            let files = workspaces.some_files(&repository, &commit, MOST_UNCHANGED, &is_wanted)?;
            let mut files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
            for overlay in overlays.into_iter().filter(|overlay| is_wanted(&overlay.path)) {
                match overlay.action {
                    OverlayAction::Write(bytes) => drop(files.insert(overlay.path, bytes)),
                    OverlayAction::Remove => drop(files.remove(&overlay.path)),
                }
            }
            // A file of code may hold tests, and is none: lies are told within its tests only.
            files.retain(|path, bytes| {
                is_of_tests(path)
                    || bytes.windows(6).any(|window| window == b"test]\n" || window == b"(test)")
            });
            Ok(files.into_iter().collect())
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, before: Option<ChangedContent>, after: Option<ChangedContent>) -> ChangeAnalysis {
        let file = ChangedFile { path: path.to_owned(), before, after, is_past_total: false };
        of(&[file], &[], "make", &|_| None, &|_| None)
    }

    #[test]
    fn what_a_change_is_too_large_to_have_read_is_overgrown_on_both_sides() {
        let unread = || Some(ChangedContent::NotRead);
        for path in ["a.py", "a.csv"] {
            let (path, is_past_total) = (path.to_owned(), true);
            let file = ChangedFile { path: path.clone(), before: unread(), after: unread(), is_past_total };
            let read = of(&[file], &[], "make", &|_| None, &|_| None);
            assert_eq!((read.overgrown, read.past_total), (vec![path.clone()], Some(path)));
        }
    }

    #[test]
    fn what_a_change_makes_unreadable_is_named_and_what_was_so_before_is_not() {
        let whole = |text: &str| Some(ChangedContent::Whole(text.as_bytes().to_vec()));
        let code = "def f(a):\n    return 1\n";
        let deep = format!("{code}b = {}1{}\n", "(".repeat(3_000), ")".repeat(3_000));
        for (path, before, after, overgrown, unread) in [
            ("a.py", whole(code), Some(ChangedContent::NotRead), true, false),
            ("a.py", None, Some(ChangedContent::NotRead), true, false),
            ("a.py", whole(code), whole(&deep), true, false),
            ("a.py", whole(&deep), whole(&deep.replace("return 1", "return 2")), false, false),
            ("a.py", Some(ChangedContent::NotRead), Some(ChangedContent::NotRead), false, false),
            ("a.py", whole(code), None, false, false),
            ("src/lib.rs", whole("fn latest() {}\n"), Some(ChangedContent::NotRead), true, false),
            ("a.csv", whole(code), Some(ChangedContent::NotRead), false, false),
            ("src/lib.rs", whole("#[test]\nfn a() {}\n"), Some(ChangedContent::NotRead), true, true),
            ("tests/test_a.py", Some(ChangedContent::NotRead), whole(code), false, true),
        ] {
            let read = read(path, before, after);
            assert_eq!((!read.overgrown.is_empty(), !read.unread.is_empty()), (overgrown, unread), "{path}");
        }
    }
}

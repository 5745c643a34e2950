//! What reading a change tells the experiment: which files are tests, which are code, and what people are told.
//! A change may be large and hostile, so it is read off the async runtime.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{TestRunRequest, VerdictBasis};
use journeyman_order::bounds::{LARGEST_DOCUMENT, LARGEST_FILE};
use journeyman_order::{CommitSha, EffectError, Weakening, WeakeningKind};
use journeyman_verify::examples::{TestedCall, tested_calls};
use journeyman_verify::experiment::{
    ChangeSplit, EditedTest, defined_in, edited_tests, example_mark, has_words_of_tests, holds_examples,
    holds_tests, is_of_tests, is_source, may_hold_tests, split_change, words_in,
};
use journeyman_verify::{
    ChangedPath, Mutant, Overlay, OverlayAction, changed_lines, is_dependency_list, mutants,
    new_dependencies, package_changes, parts_taken_back, tamper, unparsed_language, unread_dependencies,
};
use journeyman_workspace::{ChangedContent, ChangedFile, TreeLinks};

/// Including those that are parts of the change.
const MOST_MUTANTS: usize = 12;
const MOST_PARTS: usize = 8;

#[derive(Default)]
pub(super) struct ChangeAnalysis {
    pub(super) sides: ChangeSplit,
    pub(super) remarks: Vec<Weakening>,
    pub(super) dependencies: Vec<String>,
    /// Whether it does nothing but bring them.
    pub(super) only_dependencies: bool,
    pub(super) packages: Vec<String>,
    /// Test paths of the base that the change touches and that cannot be restored, because they are unreadable.
    pub(super) unread: Vec<String>,
    /// Sources that the change makes too large or too tangled to read, with the reason. What they bring is unknown.
    pub(super) overgrown: BTreeMap<String, String>,
    /// Paths of compiled code beside the tests, which cannot be read.
    pub(super) compiled: Vec<String>,
    /// Words in the change's code that do not occur in the base.
    pub(super) new_words: BTreeSet<String>,
    pub(super) own_words: BTreeSet<String>,
    pub(super) edited_tests: Vec<EditedTest>,
    /// The calls of changed functions in the change's tests.
    pub(super) tested_calls: Vec<TestedCall>,
    pub(super) mutants: Vec<Mutant>,
    pub(super) after: BTreeMap<String, Vec<u8>>,
    /// Unreadable files, which therefore have no mutants: how many of their lines, and why.
    pub(super) untried: BTreeMap<String, String>,
    /// Languages of changed lines that are not parsed and therefore have no mutants, for people.
    pub(super) unparsed: BTreeSet<&'static str>,
}

pub(super) async fn read_change(basis: &VerdictBasis<'_>) -> Result<ChangeAnalysis, EffectError> {
    let command = basis.before.test_command().unwrap_or_default().to_owned();
    let TestRunRequest { repository, base, commit, .. } = basis.ask.clone();
    basis
        .testing
        .git(move |workspaces| {
            let changes = workspaces.changes(&repository, &base, &commit)?;
            let changed: HashSet<&str> = changes.iter().map(|file| file.path.as_str()).collect();
            let is_other = |path: &str| !changed.contains(path) && tamper::is_source_path(path);
            let same = workspaces.some_files(&repository, &commit, LARGEST_FILE, &is_other)?;
            let of_base = workspaces.links(&repository, &base)?;
            let of_change = workspaces.links(&repository, &commit)?;
            let read = |at: &CommitSha, links: &TreeLinks, path: &str| {
                let file = |path: &str| workspaces.file(&repository, at, path).ok().flatten();
                file(path).or_else(|| file(&links.behind(path)?))
            };
            let paths: Vec<String> = changes.iter().map(|file| file.path.clone()).collect();
            let readers = ChangeReaders {
                names: [of_base.seen_as(&paths), of_change.seen_as(&paths)].concat(),
                base: &|path| read(&base, &of_base, path),
                after: &|path| read(&commit, &of_change, path),
            };
            Ok(of(&changes, &same, &command, &readers))
        })
        .await
}

struct ChangeReaders<'r> {
    /// Names under which links on either side expose changed files, each with the path that it stands for.
    names: Vec<(String, String)>,
    base: &'r dyn Fn(&str) -> Option<Vec<u8>>,
    after: &'r dyn Fn(&str) -> Option<Vec<u8>>,
}

fn of(
    changes: &[ChangedFile],
    same: &[(String, Vec<u8>)],
    command: &str,
    readers: &ChangeReaders<'_>,
) -> ChangeAnalysis {
    let changed: Vec<ChangedPath<'_>> = changes
        .iter()
        .map(|file| ChangedPath {
            path: &file.path,
            before: file.before.as_ref().and_then(ChangedContent::bytes),
            after: file.after.as_ref().and_then(ChangedContent::bytes),
        })
        .collect();
    let mut sides = split_change(&changed, command, &readers.names, readers.base, readers.after);
    put_back_unread(&mut sides, changes);
    // Unchanged files help to recognise helpers and expected values.
    let same_files = same.iter().map(|(path, bytes)| {
        let bytes = Some(bytes.as_slice());
        ChangedPath { path, before: bytes, after: bytes }
    });
    let files: Vec<ChangedPath<'_>> = changed.iter().copied().chain(same_files).collect();
    let is_code = |file: &&ChangedPath<'_>| !is_of_tests(file.path);
    let remarks = tamper::weakenings(&files);
    let overgrown = overgrown(changes, &changed, &remarks);
    let (mut all_mutants, mut all_parts, mut new_code) = (Vec::new(), Vec::new(), 0_usize);
    let mut unparsed = BTreeSet::new();
    let mut untried: BTreeMap<String, String> = overgrown
        .iter()
        .map(|(path, because)| (path.clone(), format!("its lines, since {because}")))
        .collect();
    for (file, of) in changed.iter().zip(changes).filter(|(file, _)| is_code(file)) {
        let Some(bytes) = file.after else {
            if brings_unread(of) && tamper::is_source_path(file.path) {
                untried.insert(file.path.to_owned(), format!("its lines, since {}", unread_because(of)));
            }
            continue;
        };
        let lines = changed_lines(file.before, bytes);
        let language = unparsed_language(file.path).filter(|_| !lines.is_empty());
        unparsed.extend(language);
        let is_read = language.is_some() || tamper::is_source_path(file.path);
        new_code += usize::from(file.before.is_none() && is_read);
        if all_parts.len() < MOST_PARTS {
            let parts = parts_taken_back(file.path, file.before, bytes, MOST_PARTS);
            all_parts.extend((!parts.is_empty()).then(|| parts.into_iter()));
        }
        let Some(own) = mutants(file.path, bytes, &lines, MOST_MUTANTS) else {
            let all = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
            let until = |last: u32| usize::try_from(last).map_or(all, |last| last.min(all));
            let count: usize = lines.iter().map(|of| until(*of.end()) + 1 - until(*of.start())).sum();
            untried.insert(file.path.to_owned(), format!("{count} lines, since {}", unread_because(of)));
            continue;
        };
        all_mutants.push(own.into_iter());
    }
    let mut parts = in_turn(all_parts, MOST_PARTS);
    // A change without its only part is the base, which the tests ran on already.
    if parts.len() + new_code < 2 {
        parts.clear();
    }
    // Where there is no time for all, some of each are tried: a part first.
    let others = in_turn(all_mutants, MOST_MUTANTS);
    let chosen = in_turn(vec![parts.into_iter(), others.into_iter()], MOST_MUTANTS);
    let is_mutated = |file: &&ChangedPath<'_>| chosen.iter().any(|one| one.path == file.path);
    let mutated = changed.iter().filter(is_mutated);
    let mutated = mutated.filter_map(|file| Some((file.path.to_owned(), file.after?.to_vec()))).collect();
    let unread_lists = changes.iter().filter(|file| brings_unread(file));
    let unread_lists = unread_lists.filter_map(|file| unread_dependencies(&file.path));
    let dependencies: Vec<String> = unread_lists.chain(new_dependencies(&changed)).collect();
    let only_dependencies = !dependencies.is_empty() && changed.iter().all(is_dependency_list);
    let is_read = |of: &ChangedFile| ![&of.before, &of.after].contains(&&Some(ChangedContent::NotRead));
    let lists = changed.iter().zip(changes).filter(|_| only_dependencies);
    let lists: Vec<_> = lists.map(|(file, of)| (*file, is_read(of))).collect();
    let old_words: BTreeSet<String> =
        files.iter().filter_map(|file| file.before).flat_map(words_in).collect();
    let after = || changed.iter().filter(is_code).filter_map(|file| Some((file.path, file.after?)));
    let new_words: BTreeSet<String> =
        after().flat_map(|(_, bytes)| words_in(bytes)).filter(|word| !old_words.contains(word)).collect();
    // A code file of the base may contain tests.
    let had_tests = |file: &ChangedFile| {
        let before = file.before.as_ref().and_then(ChangedContent::bytes).unwrap_or_default();
        may_hold_tests(&file.path) && has_words_of_tests(before)
    };
    // Unread files are restored anyway. Whether the tests of an unread program changed stays unknown.
    let is_program = |path: &str| is_source(path) && (is_of_tests(path) || may_hold_tests(path));
    let is_unread = |file: &&ChangedFile| {
        let was_unread = file.before == Some(ChangedContent::NotRead) && !file.is_moved;
        let is_unread = file.after == Some(ChangedContent::NotRead);
        was_unread && is_program(&file.path) || is_unread && had_tests(file)
    };
    let unread = changes.iter().filter(is_unread).map(|file| file.path.clone());
    let is_compiled = |file: &&ChangedFile| {
        tamper::is_compiled_path(&file.path) && !is_of_tests(&file.path) && !file.is_moved
    };
    ChangeAnalysis {
        compiled: changes.iter().filter(is_compiled).map(|file| file.path.clone()).collect(),
        unread: unread.chain(sides.unread.iter().cloned()).collect(),
        overgrown,
        untried,
        unparsed,
        remarks,
        only_dependencies,
        packages: package_changes(&lists),
        dependencies,
        new_words,
        after: mutated,
        mutants: chosen,
        own_words: after().flat_map(|(path, bytes)| defined_in(path, bytes)).collect(),
        edited_tests: edited_tests(&changed, &sides.test_paths),
        tested_calls: tested_calls(&changed),
        sides,
    }
}

/// Sources that the change makes unreadable, and files past the total size, each with the reason.
fn overgrown(
    changes: &[ChangedFile],
    changed: &[ChangedPath<'_>],
    remarks: &[Weakening],
) -> BTreeMap<String, String> {
    let not_read: HashSet<&str> = remarks
        .iter()
        .filter(|remark| remark.kind == WeakeningKind::NotRead)
        .map(|remark| remark.path.as_str())
        .collect();
    let was_read = |file: &ChangedPath<'_>| {
        let found = tamper::weakenings(&[ChangedPath { before: None, after: file.before, ..*file }]);
        found.iter().all(|remark| remark.kind != WeakeningKind::NotRead)
    };
    let is_overgrown = |(file, read): &(&ChangedFile, &ChangedPath<'_>)| {
        let is_code = tamper::is_source_path(&file.path) && !is_of_tests(&file.path);
        let is_new = brings_unread(file) && file.before != Some(ChangedContent::NotRead);
        let is_tangled = || not_read.contains(file.path.as_str()) && read.after.is_some() && was_read(read);
        // A file past the total is unread because of the change, whatever its kind and side.
        file.is_past_total || is_code && (is_new || is_tangled())
    };
    let files = changes.iter().zip(changed).filter(is_overgrown);
    files.map(|(file, _)| (file.path.clone(), unread_because(file))).collect()
}

fn brings_unread(file: &ChangedFile) -> bool {
    file.after == Some(ChangedContent::NotRead) && !file.is_moved
}

fn unread_because(file: &ChangedFile) -> String {
    let is_more_than = |most: usize| usize::try_from(file.size).is_ok_and(|size| size > most);
    let is_source = || tamper::is_source_path(&file.path);
    let because = if file.is_past_total {
        "the change is too large for all of it to be read"
    } else if is_more_than(LARGEST_FILE) || is_more_than(LARGEST_DOCUMENT) && is_source() {
        "it is too large to be read"
    } else if [&file.before, &file.after].contains(&&Some(ChangedContent::NotRead)) {
        "it is no regular file"
    } else {
        "it is nested too deep, or too tangled"
    };
    because.to_owned()
}

/// Lays each side's unread test files as that side has them.
fn put_back_unread(sides: &mut ChangeSplit, changes: &[ChangedFile]) {
    let unread = |side: fn(&ChangedFile) -> &Option<ChangedContent>| -> HashSet<&str> {
        let unread = changes.iter().filter(|file| *side(file) == Some(ChangedContent::NotRead));
        unread.map(|file| file.path.as_str()).collect()
    };
    let (before, after) = (unread(|file| &file.before), unread(|file| &file.after));
    let lists = [
        (&mut sides.old_tests, before, OverlayAction::OfBase),
        (&mut sides.new_tests, after, OverlayAction::OfChange),
    ];
    for (overlays, unread, action) in lists {
        let is_unread = |overlay: &&mut Overlay| {
            overlay.action == OverlayAction::Remove && unread.contains(overlay.path.as_str())
        };
        overlays.iter_mut().filter(is_unread).for_each(|overlay| overlay.action = action.clone());
    }
}

fn in_turn(mut lists: Vec<std::vec::IntoIter<Mutant>>, most: usize) -> Vec<Mutant> {
    let mut all = Vec::new();
    while all.len() < most && !lists.is_empty() {
        lists.retain_mut(|list| list.next().map(|mutant| all.push(mutant)).is_some());
    }
    all.truncate(most);
    all
}

/// The test files of a commit with overlays, which may carry lies. In some languages any file may contain tests.
pub(super) async fn texts_of(
    basis: &VerdictBasis<'_>,
    commit: &CommitSha,
    overlays: &[Overlay],
) -> Result<Vec<(String, Vec<u8>)>, EffectError> {
    let (repository, commit, overlays) = (basis.ask.repository.clone(), commit.clone(), overlays.to_vec());
    basis
        .testing
        .git(move |workspaces| {
            let is_wanted = |path: &str| is_of_tests(path) || may_hold_tests(path);
            // Code whose documentation may contain examples, after all test files are read.
            let is_documented = |path: &str| example_mark(path).is_some() && !is_wanted(path);
            let files = workspaces.some_files(&repository, &commit, LARGEST_FILE, &is_wanted)?;
            let mut files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
            files.extend(workspaces.some_files(&repository, &commit, LARGEST_FILE, &is_documented)?);
            let is_wanted = |path: &str| is_wanted(path) || is_documented(path);
            for overlay in overlays.into_iter().filter(|overlay| is_wanted(&overlay.path)) {
                match overlay.action {
                    OverlayAction::Write(bytes) => drop(files.insert(overlay.path, bytes)),
                    // Unread files carry no lies.
                    OverlayAction::Remove | OverlayAction::OfBase | OverlayAction::OfChange => {
                        files.remove(&overlay.path);
                    }
                }
            }
            files.retain(|path, bytes| holds_tests(path, bytes) || holds_examples(path, bytes));
            Ok(files.into_iter().collect())
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_READ: Option<ChangedContent> = Some(ChangedContent::NotRead);

    fn whole(text: &str) -> Option<ChangedContent> {
        Some(ChangedContent::Whole(text.as_bytes().into()))
    }

    fn changed(path: &str, before: Option<ChangedContent>, after: Option<ChangedContent>) -> ChangedFile {
        let size = |side: &Option<ChangedContent>| {
            side.as_ref().map_or(0, |side| side.bytes().map_or(17 << 20, |bytes| bytes.len() as u64))
        };
        let size = size(&before).max(size(&after));
        let (path, is_past_total, is_moved) = (path.to_owned(), false, after.is_none());
        ChangedFile { path, before, after, size, is_past_total, is_moved }
    }

    fn read_all(changes: &[ChangedFile]) -> ChangeAnalysis {
        of(changes, &[], "make", &ChangeReaders { names: Vec::new(), base: &|_| None, after: &|_| None })
    }

    fn read(path: &str, before: Option<ChangedContent>, after: Option<ChangedContent>) -> ChangeAnalysis {
        read_all(&[changed(path, before, after)])
    }

    #[test]
    fn what_a_change_is_too_large_to_have_read_is_overgrown_on_both_sides() {
        for path in ["a.py", "a.csv"] {
            let file = ChangedFile { is_past_total: true, ..changed(path, NOT_READ, NOT_READ) };
            let because = "the change is too large for all of it to be read".to_owned();
            assert_eq!(read_all(&[file]).overgrown, BTreeMap::from([(path.to_owned(), because)]));
        }
    }

    #[test]
    fn what_a_change_makes_unreadable_is_named_and_what_was_so_before_is_not() {
        let code = "def f(a):\n    return 1\n";
        let deep = format!("{code}b = {}1{}\n", "(".repeat(3_000), ")".repeat(3_000));
        let tangled = format!("{code}b = {}a\n", "a+".repeat(5_000));
        for (path, before, after, overgrown, unread) in [
            ("a.py", whole(code), NOT_READ, true, false),
            ("a.py", None, NOT_READ, true, false),
            ("a.py", whole(code), whole(&deep), true, false),
            ("a.py", whole(&deep), whole(&deep.replace("return 1", "return 2")), false, false),
            ("a.py", whole(code), whole(&tangled), true, false),
            ("a.py", whole(&tangled), whole(&tangled.replace("return 1", "return 2")), false, false),
            ("a.py", NOT_READ, NOT_READ, false, false),
            ("a.py", whole(code), None, false, false),
            ("src/lib.rs", whole("fn latest() {}\n"), NOT_READ, true, false),
            ("a.csv", whole(code), NOT_READ, false, false),
            ("src/lib.rs", whole("#[test]\nfn a() {}\n"), NOT_READ, true, true),
            ("src/lib.rs", NOT_READ, whole("fn a() {}\n"), false, true),
            ("tests/test_a.py", NOT_READ, whole(code), false, true),
            ("tests/data/rows.csv", NOT_READ, whole(code), false, false),
        ] {
            let read = read(path, before, after);
            assert_eq!((!read.overgrown.is_empty(), !read.unread.is_empty()), (overgrown, unread), "{path}");
        }
    }

    #[test]
    fn a_program_of_two_mebibytes_is_read_and_a_larger_one_is_named() {
        let row = format!("ROWS.append('{}')\n", "a row of a table ".repeat(20));
        let rows = |mib: usize| row.repeat((mib << 20) / row.len() + 1);
        let grown = format!("{}\n\ndef added(a, b):\n    return a < b\n", rows(2));
        let large = read("table.py", whole(&rows(1)), whole(&grown));
        assert_eq!((large.overgrown, large.untried), (BTreeMap::new(), BTreeMap::new()));
        assert!(large.new_words.contains("added"), "{:?}", large.new_words);
        assert!(!large.mutants.is_empty());
        for after in [whole(&rows(5)), NOT_READ] {
            let larger = read("table.py", None, after).overgrown;
            let because = "it is too large to be read".to_owned();
            assert_eq!(larger, BTreeMap::from([("table.py".to_owned(), because)]));
        }
    }

    #[test]
    fn lines_of_a_file_that_cannot_be_gone_over_are_told_as_not_tried() {
        let tangled = format!("def f(a):\n    return 1\nb = {}a\n", "a+".repeat(5_000));
        let edited = tangled.replace("return 1", "return 2");
        let read = read_all(&[
            changed("a.py", whole(&tangled), whole(&edited)),
            changed("large.py", NOT_READ, NOT_READ),
            changed("b.py", None, whole("def f(a):\n    return 1\n")),
            ChangedFile { is_moved: true, ..changed("moved.py", None, NOT_READ) },
        ]);
        let told: Vec<String> = read.untried.iter().map(|(path, what)| format!("{path}: {what}")).collect();
        assert_eq!(
            told,
            [
                "a.py: 1 lines, since it is nested too deep, or too tangled",
                "large.py: its lines, since it is too large to be read"
            ]
        );
        assert!(!read.mutants.is_empty(), "of the other file");
    }

    #[test]
    fn languages_that_are_not_parsed_are_named_where_code_of_them_changed() {
        let read = read_all(&[
            changed("lib/sum.rb", None, whole("def sum = 1\n")),
            changed("src/sum.c", whole("int a;\n"), whole("int b;\n")),
            changed("src/sum.h", whole("int a;\nint b;\n"), whole("int a;\n")),
            changed("test/sum_test.php", None, whole("<?php\n")),
            changed("sum.py", None, whole("# sums\n")),
            changed("README.md", None, whole("Sums.\n")),
        ]);
        assert_eq!(read.unparsed.iter().copied().collect::<Vec<_>>(), ["C", "Ruby"]);
        assert!(read.mutants.iter().all(|one| one.is_part), "{:?}", read.mutants);
    }

    #[test]
    fn parts_are_taken_back_of_a_change_that_has_more_than_one() {
        let edited = |path: &str| {
            changed(path, whole("def f(a):\n    b = a + 1\n"), whole("def f(a):\n    b = a + 2\n"))
        };
        let of = |changes: &[ChangedFile]| -> Vec<(String, bool)> {
            read_all(changes).mutants.into_iter().map(|one| (one.path, one.is_part)).collect()
        };
        let is_part = |changes: &[ChangedFile]| of(changes).iter().any(|(_, is_part)| *is_part);
        assert!(!is_part(&[edited("a.py"), edited("tests/test_a.py"), changed("b.md", None, whole("b\n"))]));
        assert!(is_part(&[edited("a.py"), edited("b.py")]));
        assert!(
            is_part(&[edited("a.py"), changed("b.rb", None, whole("b\n"))]),
            "without what calls the new file"
        );
        let many: Vec<ChangedFile> = (0..20).map(|at| edited(&format!("{at}.py"))).collect();
        let tried = of(&many);
        let parts = tried.iter().filter(|(_, is_part)| *is_part).count();
        assert_eq!((tried.len(), parts, tried[0].1), (12, 6, true), "{tried:?}");
        let unparsed: Vec<ChangedFile> =
            (0..20).map(|at| changed(&format!("{at}.rb"), whole("a\n"), whole("b\n"))).collect();
        assert_eq!(of(&unparsed).len(), 8);
        let read = read_all(&unparsed);
        assert!(read.mutants.iter().all(|one| read.after[&one.path] == b"b\n"), "{:?}", read.after.keys());
    }

    #[test]
    fn tests_that_are_not_read_are_laid_as_they_are_on_each_side() {
        let read = read_all(&[
            changed("tests/data/rows.csv", NOT_READ, whole("row")),
            ChangedFile { is_moved: true, ..changed("tests/new/rows.csv", None, NOT_READ) },
        ]);
        let laid = |overlays: &[Overlay]| -> Vec<OverlayAction> {
            overlays.iter().map(|overlay| overlay.action.clone()).collect()
        };
        assert_eq!(laid(&read.sides.old_tests), [OverlayAction::OfBase, OverlayAction::Remove]);
        let row = OverlayAction::Write(b"row".to_vec());
        assert_eq!(laid(&read.sides.new_tests), [row, OverlayAction::OfChange]);
    }

    #[test]
    fn what_a_link_of_the_tests_configuration_leads_to_is_configuration() {
        let read = |texts: &'static [(&str, &str)]| {
            move |path: &str| {
                texts.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_bytes().to_vec())
            }
        };
        let readers = ChangeReaders {
            names: [("pytest.ini", "config/runner"), (".config/nextest.toml", "settings/nextest.toml")]
                .map(|(name, path)| (name.to_owned(), path.to_owned()))
                .to_vec(),
            base: &read(&[("config/runner", "[pytest]\n"), ("settings/nextest.toml", "old")]),
            after: &read(&[
                ("config/runner", "[pytest]\naddopts = -k x\n"),
                ("settings/nextest.toml", "new"),
            ]),
        };
        let changes = ["config/runner", "settings/nextest.toml", "settings/other.toml"]
            .map(|path| changed(path, whole("old"), whole("new")));
        let read = of(&changes, &[], "pytest", &readers);
        assert_eq!(read.sides.configuration, ["config/runner", "settings/nextest.toml"]);
        assert_eq!(read.sides.old_tests[0].action, OverlayAction::Write(b"[pytest]\n".to_vec()));
    }

    #[test]
    fn a_lockfile_that_is_too_large_is_named_and_what_it_brings_is_not_known() {
        let said = "package-lock.json changed, and is too large to be read: what it brings is not known";
        for before in [whole("{}"), NOT_READ, None] {
            assert_eq!(read("package-lock.json", before, NOT_READ).dependencies, [said]);
        }
        assert_eq!(read("rows.csv", None, NOT_READ).dependencies, [""; 0]);
    }

    #[test]
    fn a_change_of_dependencies_alone_is_told_from_one_that_does_more() {
        let list = |version: &str| whole(&format!(r#"{{"dependencies": {{"a": "{version}"}}}}"#));
        let manifest = || changed("package.json", list("1"), list("2"));
        let edited = |path: &str| changed(path, whole("old"), whole("new"));
        let workflow = |version: &str| whole(&format!("  - uses: a/b@{version}\n"));
        let ci = ".github/workflows/ci.yml";
        for (changes, expected) in [
            (vec![changed(ci, workflow("v1"), workflow("v2")), edited("Gemfile.lock")], false),
            (vec![edited(ci)], false),
            (vec![manifest()], true),
            (vec![manifest(), edited("package-lock.json")], true),
            (vec![edited("api/Gemfile.lock"), edited("api/Gemfile")], true),
            (vec![changed("go.sum", NOT_READ, NOT_READ)], true),
            (vec![manifest(), edited("src/a.js")], false),
            (vec![manifest(), edited("README.md")], false),
            (vec![edited("requirements.txt"), edited("setup.py")], false),
            (vec![edited("vendor/a/package.json")], false),
            (vec![changed("package.json", whole(r#"{"main": "a"}"#), whole(r#"{"main": "b"}"#))], false),
            (vec![edited("composer.json")], false),
        ] {
            let paths: Vec<&String> = changes.iter().map(|file| &file.path).collect();
            assert_eq!(read_all(&changes).only_dependencies, expected, "{paths:?}");
        }
    }

    #[test]
    fn the_packages_of_such_a_change_are_listed_and_of_no_other() {
        let list = |version: &str| whole(&format!(r#"{{"dependencies": {{"a": "{version}"}}}}"#));
        let mut changes = vec![
            changed("package.json", list("1"), list("2")),
            changed("package-lock.json", NOT_READ, whole(r#"{"b": {"version": "1"}}"#)),
        ];
        let unread = "a lockfile that cannot be read: package-lock.json";
        assert_eq!(read_all(&changes).packages, ["a 1 → 2", unread]);
        changes.push(changed("README.md", whole("old"), whole("new")));
        assert_eq!(read_all(&changes).packages, [""; 0]);
    }
}

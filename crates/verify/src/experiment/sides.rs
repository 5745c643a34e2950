//! Splits changed files into tests and code, and builds the overlays that combine one side's tests with the other
//! side's code.

use super::family::LanguageFamily;
use crate::ChangedPath;
use crate::configuration::old_configuration;
use crate::overlay::{Overlay, OverlayAction};
use crate::tamper::graft;
use journeyman_languages::configuration::{kind, registers_new_tests};
use journeyman_languages::setups::decides;

pub use journeyman_order::test_path::is_of_tests;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSplit {
    /// Puts the tests of the base onto the change.
    pub old_tests: Vec<Overlay>,
    /// Puts the tests of the change onto the base.
    pub new_tests: Vec<Overlay>,
    /// The changed paths that are tests or configure how tests run.
    pub test_paths: Vec<String>,
    /// Those of them that are new in the change.
    pub added: Vec<String>,
    /// Those of them that configure how tests run.
    pub configuration: Vec<String>,
    /// Code files that contain tests of the base which cannot be separated.
    pub unread: Vec<String>,
    /// Restores the base's data files: neither tests nor source code.
    pub old_data: Vec<Overlay>,
    pub source_differs: bool,
    /// Whether anything other than tests differs.
    pub code_differs: bool,
}

impl ChangeSplit {
    /// The changed test paths that do not configure how tests run.
    pub(super) fn own_tests(&self) -> impl Iterator<Item = &String> {
        self.test_paths.iter().filter(move |path| !self.configuration.contains(path))
    }
}

/// Whether a path is source code rather than data.
pub fn is_source(path: &str) -> bool {
    LanguageFamily::of(path).is_some() && path.contains('.')
}

/// Whether a path is data: neither source nor a file that controls installation, build or tests.
fn is_data(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.contains('.') && !is_source(path) && !decides(path) && kind(path, &[]).is_none()
}

/// Whether a code file contains words that mark tests.
pub fn has_words_of_tests(bytes: &[u8]) -> bool {
    const OTHERS: [&[u8]; 3] = [b"rstest", b"proptest", b"doctest"];
    let is_one = |word: &[u8]| word.starts_with(b"test") || OTHERS.contains(&word);
    bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(is_one)
}

/// Splits a change. `command` runs the tests. `names` maps the names under which links expose a path to that path. The
/// readers also read unchanged files, and follow links.
pub fn split_change(
    changed: &[ChangedPath<'_>],
    command: &str,
    names: &[(String, String)],
    read_base: &dyn Fn(&str) -> Option<Vec<u8>>,
    read_after: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> ChangeSplit {
    let paths: Vec<String> = changed.iter().map(|file| file.path.to_owned()).collect();
    let mut sides = ChangeSplit {
        old_tests: old_configuration(&paths, command, names, read_base, read_after),
        new_tests: old_configuration(&paths, command, names, read_after, read_base),
        ..ChangeSplit::default()
    };
    // An unreadable file of the base stays in place: without it, tests would fail there for that reason alone.
    let is_there = |path: &str| read_base(path).is_some();
    sides.new_tests.retain(|overlay| overlay.action != OverlayAction::Remove || is_there(&overlay.path));
    // A shell script of checks is run by the test command, and is still a test.
    let is_a_test = |path: &str| is_of_tests(path) && LanguageFamily::of(path) == Some(LanguageFamily::Shell);
    sides.test_paths = sides.old_tests.iter().map(|overlay| overlay.path.clone()).collect();
    sides.configuration = sides.test_paths.iter().filter(|path| !is_a_test(path)).cloned().collect();
    for file in changed {
        let write = |bytes: &[u8]| OverlayAction::Write(bytes.to_vec());
        let lay = |action: OverlayAction| Overlay { path: file.path.to_owned(), action };
        if sides.test_paths.iter().any(|path| path == file.path) {
            // In a file that does more than configure tests, the rest is code.
            sides.code_differs |= rest_differs(file, &sides.old_tests);
            continue;
        }
        if is_of_tests(file.path) {
            sides.test_paths.push(file.path.to_owned());
            sides.old_tests.push(lay(file.before.map_or(OverlayAction::Remove, write)));
            sides.new_tests.push(lay(file.after.map_or(OverlayAction::Remove, write)));
            continue;
        }
        if let Some(before) = file.before.filter(|_| is_data(file.path)) {
            sides.old_data.push(lay(write(before)));
        }
        let differs = self::code_differs(file);
        sides.code_differs |= differs;
        sides.source_differs |= differs && is_source(file.path);
        // In some languages tests are in the same file as the code.
        let (before, after) = (file.before.unwrap_or_default(), file.after.unwrap_or_default());
        let mut is_unread = false;
        let mut mixed = |code: Option<&[u8]>, tests: &[u8]| {
            let mixed = graft(file.path, code?, tests);
            is_unread |= mixed.is_err();
            mixed.ok().flatten().filter(|mixed| Some(mixed.as_slice()) != code)
        };
        let (old, new) = (mixed(file.after, before), mixed(file.before, after));
        if is_unread && has_words_of_tests(before) {
            sides.unread.push(file.path.to_owned());
        }
        if old.is_some() || new.is_some() {
            sides.test_paths.push(file.path.to_owned());
        }
        sides.old_tests.extend(old.map(|bytes| lay(OverlayAction::Write(bytes))));
        sides.new_tests.extend(new.map(|bytes| lay(OverlayAction::Write(bytes))));
    }
    with_new_registrations(&mut sides, changed);
    sides.added = sides.test_paths.iter().filter(|path| !is_there(path)).cloned().collect();
    sides
}

/// Handles code files that also register new tests. On the base's code these tests are built as the file says. On the
/// change's code, empty files stand in while the base's tests run, since missing files would break the build.
fn with_new_registrations(sides: &mut ChangeSplit, changed: &[ChangedPath<'_>]) {
    const PROGRAM: &[u8] = b"int main() { return 0; }\n";
    const PART: &[u8] = b"typedef int left_out;\n";
    let builds = changed.iter().filter(|file| !is_of_tests(file.path));
    let builds: Vec<_> =
        builds.filter(|file| registers_new_tests(file.path, file.before, file.after)).collect();
    if builds.is_empty() {
        return;
    }
    for (path, bytes) in builds.iter().filter_map(|file| Some((file.path, file.after?))) {
        sides.new_tests.retain(|overlay| overlay.path != path);
        let action = OverlayAction::Write(bytes.to_vec());
        sides.new_tests.push(Overlay { path: path.to_owned(), action });
    }
    let is_source = |path: &str| [".c", ".cc", ".cpp", ".cxx", ".c++"].iter().any(|end| path.ends_with(end));
    let is_removed =
        |overlay: &&mut Overlay| overlay.action == OverlayAction::Remove && is_source(&overlay.path);
    for overlay in sides.old_tests.iter_mut().filter(is_removed) {
        let file = changed.iter().find(|file| file.path == overlay.path);
        let text = String::from_utf8_lossy(file.and_then(|file| file.after).unwrap_or_default());
        let has_main = pattern!(r"\bmain\s*\(").is_match(&text);
        overlay.action = OverlayAction::Write(if has_main { PROGRAM } else { PART }.to_vec());
    }
}

/// Whether the code of a file differs: ignores layout and comments in known languages, and prose files.
fn code_differs(file: &ChangedPath<'_>) -> bool {
    let is_prose = [".md", ".rst", ".adoc"].iter().any(|ending| file.path.ends_with(ending));
    let tokens =
        |bytes: Option<&[u8]>| bytes.and_then(|bytes| crate::tamper::code_tokens(file.path, bytes, &[]));
    match (tokens(file.before), tokens(file.after)) {
        (Some(before), Some(after)) => before != after,
        _ => !is_prose && file.before != file.after,
    }
}

fn rest_differs(file: &ChangedPath<'_>, old: &[Overlay]) -> bool {
    let laid = old.iter().find(|overlay| overlay.path == file.path).map(|overlay| &overlay.action);
    matches!(laid, Some(OverlayAction::Write(bytes)) if Some(bytes.as_slice()) != file.before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(files: &[(&str, Option<&str>, Option<&str>)]) -> ChangeSplit {
        let changed: Vec<ChangedPath<'_>> = files
            .iter()
            .map(|(path, before, after)| ChangedPath {
                path,
                before: before.map(str::as_bytes),
                after: after.map(str::as_bytes),
            })
            .collect();
        let read = |after: bool| {
            let files = files.to_vec();
            move |path: &str| {
                let (_, old, new) = files.iter().find(|(known, ..)| *known == path)?;
                Some((*(if after { new } else { old }))?.as_bytes().to_vec())
            }
        };
        split_change(&changed, "make test", &[], &read(false), &read(true))
    }

    fn laid(overlays: &[Overlay]) -> Vec<String> {
        let mut laid: Vec<String> = overlays
            .iter()
            .map(|overlay| match &overlay.action {
                OverlayAction::Write(bytes) => {
                    format!("{}: {}", overlay.path, String::from_utf8_lossy(bytes).trim())
                }
                other @ (OverlayAction::Remove | OverlayAction::OfBase | OverlayAction::OfChange) => {
                    format!("{} {other:?}", overlay.path)
                }
            })
            .collect();
        laid.sort();
        laid
    }

    #[test]
    fn tests_of_the_base_within_code_that_the_change_makes_unreadable_are_named() {
        let old = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n";
        let deep = format!("{old}const B: i32 = {}1{};\n", "(".repeat(3_000), ")".repeat(3_000));
        assert_eq!(taken(&[("src/lib.rs", Some(old), Some(&deep))]).unread, ["src/lib.rs"]);
        assert_eq!(taken(&[("src/lib.rs", Some(old), Some("fn b() {}\n"))]).unread, [""; 0]);
        assert_eq!(taken(&[("src/new.rs", None, Some(&deep))]).unread, [""; 0], "the base had none there");
        let code = old.replace("test", "tost");
        assert_eq!(taken(&[("src/lib.rs", Some(&code), Some(&deep))]).unread, [""; 0], "nor there");
        let code = "fn latest() {}\n";
        assert_eq!(taken(&[("src/lib.rs", Some(code), Some(&deep))]).unread, [""; 0], "no word of a test");
    }

    #[test]
    fn a_new_test_that_the_root_registers_is_built_on_the_old_code_and_stands_empty_on_the_new() {
        let lists = "add_executable(a tests/a.c)\nadd_test(a a)\n";
        let more = format!("{lists}add_executable(b tests/b.c)\nadd_test(b b)\n");
        let sides = taken(&[
            ("CMakeLists.txt", Some(lists), Some(&more)),
            ("tests/b.c", None, Some("int main(void) { return 1; }")),
            ("tests/part.c", None, Some("int part;")),
            ("tests/b.h", None, Some("int part;")),
        ]);
        assert_eq!(
            laid(&sides.old_tests),
            [
                "tests/b.c: int main() { return 0; }",
                "tests/b.h Remove",
                "tests/part.c: typedef int left_out;"
            ]
        );
        assert_eq!(laid(&sides.new_tests)[0], format!("CMakeLists.txt: {}", more.trim()));
        let sides = taken(&[("tests/b.c", None, Some("int main(void) { return 1; }"))]);
        assert_eq!(laid(&sides.old_tests), ["tests/b.c Remove"]);
    }

    #[test]
    fn tests_data_and_configuration_go_to_one_side_and_code_to_the_other() {
        let sides = taken(&[
            ("src/a.c", Some("old"), Some("new")),
            ("tests/a.c", Some("old test"), Some("new test")),
            ("tests/data/rows.csv", None, Some("row")),
            ("conftest.py", Some("old conf"), None),
        ]);
        assert!(sides.code_differs);
        assert_eq!(
            laid(&sides.old_tests),
            ["conftest.py: old conf", "tests/a.c: old test", "tests/data/rows.csv Remove"]
        );
        assert_eq!(
            laid(&sides.new_tests),
            ["conftest.py Remove", "tests/a.c: new test", "tests/data/rows.csv: row"]
        );
    }

    #[test]
    fn what_controls_installation_or_build_is_no_data() {
        let edited = |path| (path, Some("old"), Some("new"));
        let paths =
            ["rates.csv", "composer.json", "app/mix.exs", "requirements-dev.txt", "CMakeLists.txt", "a.py"];
        let data = taken(&paths.map(edited)).old_data;
        assert_eq!(laid(&data), ["rates.csv: old"]);
    }

    #[test]
    fn tests_beside_the_code_are_taken_from_either_side() {
        let old = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n";
        let new = "fn b() {}\n#[cfg(test)]\nmod tests;\n";
        let sides = taken(&[
            ("src/lib.rs", Some(old), Some(new)),
            ("src/tests.rs", None, Some("#[test]\nfn new() {}\n")),
        ]);
        assert_eq!(
            laid(&sides.old_tests),
            [
                "src/lib.rs: fn b() {}\n\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}",
                "src/tests.rs Remove"
            ]
        );
        assert_eq!(
            laid(&sides.new_tests),
            ["src/lib.rs: fn a() {}\n\n\n#[cfg(test)]\nmod tests;", "src/tests.rs: #[test]\nfn new() {}"]
        );
        assert!(sides.code_differs);
        let stripped = taken(&[("src/lib.rs", Some("fn a() {}\n"), Some(old))]);
        assert_eq!(laid(&stripped.old_tests), ["src/lib.rs: fn a() {}"]);
        assert!(!stripped.code_differs, "only a test was added");
        assert!(!taken(&[("a.py", Some("a = 1\n"), Some("# why\na = 1\n"))]).code_differs);
        let differs = |before: &str, after: &str| taken(&[("a.py", Some(before), Some(after))]).code_differs;
        assert!(differs(
            "for a in b:\n    if a:\n        c()\n    d()\n",
            "for a in b:\n    if a:\n        c()\n        d()\n"
        ));
        assert!(differs("a = f\"{b:X}\"\n", "a = f\"{b:x}\"\n"));
        assert!(differs("a = f\"No such flie: {b}\"\n", "a = f\"No such file: {b}\"\n"));
        assert!(differs("a = 'a b'\n", "a = 'a  b'\n"));
        assert!(!differs("def a():\n    'Old.'\n    return 1\n", "def a():\n    'New.'\n    return 1\n"));
    }
}

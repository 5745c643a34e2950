use super::*;
use crate::verify::read;
use proptest::prelude::*;

const RED: Exit = Exit::Code(1);
const GREEN: Exit = Exit::Code(0);

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/runners/{name}", env!("CARGO_MANIFEST_DIR"));
    String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
}

fn changed(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A run of cargo with one binary.
fn cargo(tests: &[(&str, &str)]) -> Reading {
    let failed = tests.iter().filter(|(_, end)| *end == "FAILED").count();
    let mut text = format!(
        "     Running unittests src/lib.rs (target/debug/deps/calc-1f)\n\nrunning {} tests\n",
        tests.len()
    );
    for (name, end) in tests {
        text += &format!("test {name} ... {end}\n");
    }
    text += &format!(
        "\ntest result: ok. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        tests.len() - failed
    );
    read(&text, None)
}

#[test]
fn a_test_that_fails_on_the_old_code_and_passes_on_the_new_proves_the_fix() {
    let (old, new) = (
        cargo(&[("tests::adds", "FAILED"), ("tests::ok", "ok")]),
        cargo(&[("tests::adds", "ok"), ("tests::ok", "ok")]),
    );
    let proven = Proof::Proven { red: changed(&["calc > src/lib.rs > tests::adds"]) };
    assert_eq!(proof((&RED, &old), &new, &changed(&["tests::adds"]), &[]), proven);
    assert_eq!(proof((&RED, &old), &new, &changed(&["src/lib.rs::tests::adds", "tests::more"]), &[]), proven);
    let flaky = changed(&["calc > src/lib.rs > tests::adds"]);
    assert!(
        matches!(proof((&RED, &old), &new, &changed(&["tests::adds"]), &flaky), Proof::CannotTell { .. }),
        "of a flaky test nothing follows"
    );
    assert_eq!(proof((&RED, &old), &new, &[], &[]), Proof::NoTestsChanged);
}

#[test]
fn tests_that_pass_on_the_old_code_or_fail_on_the_new_prove_nothing() {
    let green = cargo(&[("tests::adds", "ok"), ("tests::old", "FAILED")]);
    let red = cargo(&[("tests::adds", "FAILED"), ("tests::old", "FAILED")]);
    let because =
        |old: (&Exit, &Reading), new: &Reading| match proof(old, new, &changed(&["tests::adds"]), &[]) {
            Proof::NotProven { because } => because,
            other @ (Proof::Proven { .. } | Proof::CannotTell { .. } | Proof::NoTestsChanged) => {
                panic!("{other:?}")
            }
        };
    assert!(because((&RED, &green), &green).contains("pass on the old code as well"));
    assert!(because((&RED, &red), &red).contains("do not pass on the new code"));
}

#[test]
fn what_did_not_compile_or_load_on_the_old_code_is_no_proof() {
    let new = cargo(&[("tests::adds", "ok")]);
    for name in ["cargo-unloaded.txt", "pytest-unloaded.txt", "unittest-unloaded.txt"] {
        let old = read(&fixture(name), None);
        let changed = changed(&["tests::adds", "test_broken", "test_broken.py::test_a"]);
        match proof((&RED, &old), &new, &changed, &[]) {
            Proof::CannotTell { because } => {
                assert!(because.contains("did not compile or load"), "{name}: {because}")
            }
            other @ (Proof::Proven { .. } | Proof::NotProven { .. } | Proof::NoTestsChanged) => {
                panic!("{name}: {other:?}")
            }
        }
    }
    // One file does not load, and a test in another is red: that is a proof.
    let old = fixture("jest-named.txt");
    let new = old
        .replace("  ✕ adds (24 ms)", "  ✓ adds (24 ms)")
        .replace("2 failed, 1 skipped, 1 todo, 6 passed", "1 failed, 1 skipped, 1 todo, 7 passed");
    let (old, new) = (read(&old, None), read(&new, None));
    let red = changed(&["j/calc.test.js > adds"]);
    assert_eq!(proof((&RED, &old), &new, &changed(&["adds"]), &[]), Proof::Proven { red });
    // The words of a compiler in a run that passed are a test's own.
    let mut old = cargo(&[("tests::adds", "ok")]);
    old.unloaded.push("calc".into());
    assert!(matches!(proof((&GREEN, &old), &old, &changed(&["tests::adds"]), &[]), Proof::NotProven { .. }));
}

#[test]
fn where_tests_are_not_named_only_a_clear_run_tells() {
    let old = read(&fixture("unittest-fail.txt"), None);
    assert_eq!(old.cases, None);
    let all_green = read("Ran 6 tests in 0.001s\n\nOK\n", None);
    let some_skipped = read("Ran 6 tests in 0.001s\n\nOK (skipped=1)\n", None);
    let tests = changed(&["test_calc.CalcTest.test_adds"]);
    assert_eq!(proof((&RED, &old), &all_green, &tests, &[]), Proof::Proven { red: tests.clone() });
    assert!(matches!(proof((&RED, &old), &some_skipped, &tests, &[]), Proof::CannotTell { .. }));
    assert!(matches!(proof((&GREEN, &all_green), &all_green, &tests, &[]), Proof::NotProven { .. }));
    let nothing = Reading::default();
    for exit in [RED, GREEN, Exit::TimedOut, Exit::Signal(9)] {
        assert!(
            matches!(proof((&exit, &nothing), &nothing, &tests, &[]), Proof::CannotTell { .. }),
            "{exit}"
        );
    }
}

#[test]
fn new_tests_are_laid_over_old_code_and_code_is_not() {
    let base = |path: &str| match path {
        "src/lib.rs" => Some(b"old code | old tests".to_vec()),
        "src/main.rs" => Some(b"old code".to_vec()),
        "tests/a.rs" | "tests/gone.rs" => Some(b"old".to_vec()),
        _ => None,
    };
    let after = |path: &str| match path {
        "src/lib.rs" => Some(b"new code | new tests".to_vec()),
        "src/main.rs" | "src/added.rs" => Some(b"new code".to_vec()),
        "tests/a.rs" | "tests/data/b.json" => Some(b"new".to_vec()),
        _ => None,
    };
    let paths = [
        "src/lib.rs",
        "src/main.rs",
        "src/added.rs",
        "tests/a.rs",
        "tests/gone.rs",
        "tests/data/b.json",
        "src/gone.rs",
    ];
    let overlays = new_tests_on_old_code(&TestFiles {
        changed: &changed(&paths),
        is_test: &|path| path.starts_with("tests/"),
        read_base: &base,
        read_after: &after,
        graft: &|_, old, new| {
            let (code, _) = std::str::from_utf8(old).ok()?.split_once(" | ")?;
            let (_, tests) = std::str::from_utf8(new).ok()?.split_once(" | ")?;
            Some(format!("{code} | {tests}").into_bytes())
        },
    });
    let shown: Vec<(&str, &Lay)> =
        overlays.iter().map(|overlay| (overlay.path.as_str(), &overlay.lay)).collect();
    assert_eq!(
        shown,
        [
            ("src/lib.rs", &Lay::Write(b"old code | new tests".to_vec())),
            ("tests/a.rs", &Lay::Write(b"new".to_vec())),
            ("tests/gone.rs", &Lay::Remove),
            ("tests/data/b.json", &Lay::Write(b"new".to_vec())),
        ]
    );
}

proptest! {
    /// Whatever is printed: only a test that is said to have failed, and to pass now, proves anything.
    #[test]
    fn nothing_is_proven_without_a_red_test_that_is_green_now(
        old in proptest::collection::btree_map("[a-c]", prop::sample::select(vec!["ok", "FAILED"]), 0..4),
        new in proptest::collection::btree_map("[a-c]", prop::sample::select(vec!["ok", "FAILED"]), 0..4),
        names in proptest::collection::vec("[a-d]", 0..4),
        flaky in proptest::collection::vec("[a-d]", 0..2),
        code in 0..3,
    ) {
        let run = |tests: &std::collections::BTreeMap<String, &'static str>| {
            cargo(&tests.iter().map(|(name, end)| (name.as_str(), *end)).collect::<Vec<_>>())
        };
        let flaky: Vec<String> = flaky.iter().map(|name| format!("calc > src/lib.rs > {name}")).collect();
        if let Proof::Proven { red } = proof((&Exit::Code(code), &run(&old)), &run(&new), &names, &flaky) {
            prop_assert!(!red.is_empty());
            for name in red {
                prop_assert!(!flaky.contains(&name));
                let last = name.rsplit(' ').next().unwrap().to_owned();
                prop_assert!(old[&last] == "FAILED" && new[&last] == "ok" && names.contains(&last));
            }
        }
    }
}

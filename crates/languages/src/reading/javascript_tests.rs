//! What our helpers report beside the output of real runs. In each a test prints that a test named `forged` passed.

use super::tests::{fixture, output, shown};
use super::{read, read_runs};
use crate::asking::reporting_command;
use crate::runs::TestRuns;
use journeyman_order::TestCounts;

fn report(name: &str) -> Vec<u8> {
    fixture(&format!("{name}-report.{}", if name == "bun" { "xml" } else { "jsonl" }))
}

#[test]
fn every_test_is_named_by_what_the_runners_of_javascript_really_report() {
    let node = [
        "- test/broken.test.js",
        "- test/calc.test.js > adds",
        "+ test/calc.test.js > bad part > part one",
        "- test/calc.test.js > bad part > part two",
        "+ test/calc.test.js > fun # name",
        "- test/calc.test.js > group > inner fails",
        "+ test/calc.test.js > group > inner ok",
        "/ test/calc.test.js > group > inner skipped",
        "- test/calc.test.js > hook > never",
        "/ test/calc.test.js > later",
        "+ test/calc.test.js > ok",
        "+ test/calc.test.js > ok (2)",
        "- test/calc.test.js > own failure",
        "+ test/calc.test.js > own failure > part one",
        "- test/calc.test.js > slow",
        "/ test/calc.test.js > someday",
        "+ test/calc.test.js > with parts > part one",
        "+ test/calc.test.js > with parts > part two",
        "- test/exits.test.js",
        "+ test/ok.test.js > a > b",
        "+ test/ok.test.js > ok",
        "+ test/plain.test.js",
    ];
    let jest = [
        "- j/calc.test.js > adds",
        "+ j/calc.test.js > expected",
        "- j/calc.test.js > group > deep > inner fails",
        "+ j/calc.test.js > group > inner ok",
        "+ j/calc.test.js > group > last",
        "- j/calc.test.js > hook > never",
        "- j/calc.test.js > hook > never two",
        "+ j/calc.test.js > hook after > does",
        "/ j/calc.test.js > later",
        "+ j/calc.test.js > ok",
        "+ j/calc.test.js > ok (2)",
        "+ j/calc.test.js > param 1",
        "- j/calc.test.js > param 2",
        "+ j/calc.test.js > retry > retried",
        "+ j/calc.test.js > slow (ish)",
        "/ j/calc.test.js > someday",
        "+ j/ok.test.js > ok",
    ];
    let vitest = [
        "- calc.test.mjs > adds",
        "/ calc.test.mjs > expected",
        "- calc.test.mjs > group > inner fails",
        "+ calc.test.mjs > group > inner ok",
        "/ calc.test.mjs > hook > never",
        "/ calc.test.mjs > hook > never two",
        "+ calc.test.mjs > hook after > does",
        "/ calc.test.mjs > later",
        "+ calc.test.mjs > ok",
        "+ calc.test.mjs > ok (2)",
        "+ calc.test.mjs > param 1",
        "- calc.test.mjs > param 2",
        "+ calc.test.mjs > retried",
        "/ calc.test.mjs > skipped group > a",
        "/ calc.test.mjs > skips itself",
        "+ calc.test.mjs > slow",
        "/ calc.test.mjs > someday",
        "- calc.test.mjs > unexpected",
        "+ ok.test.mjs > ok",
    ];
    let mocha = [
        "+ test/calc.js > group > deep > slow",
        "- test/calc.js > group > deep > times out",
        "+ test/calc.js > group > each > passes",
        "- test/calc.js > group > fails",
        "+ test/calc.js > group > many spaces in it",
        "+ test/calc.js > group > ok",
        "+ test/calc.js > group > ok (2)",
        "/ test/calc.js > group > pending",
        "+ test/calc.js > group > retried",
        "/ test/calc.js > group > skipped",
        "/ test/calc.js > group > skips itself",
        "- test/calc.js > group > twice",
        "+ test/calc.js > outside",
        "+ test/ok.js > group > ok",
    ];
    let ava = [
        "- test/calc.js > adds up wrong",
        "/ test/calc.js > known",
        "- test/calc.js > known but passes",
        "/ test/calc.js > later",
        "/ test/calc.js > not now",
        "+ test/calc.js > ok",
        "+ test/calc.js > slow",
        "+ test/calc.js > two",
        "+ test/each.js > passes",
        "- test/exits.js > first",
        "- test/exits.js > quits",
        "- test/hook.js > never",
        "+ test/ok.js > ok",
        "+ test/throws.js > fine",
        "- test/throws.js > fine too",
    ];
    let bun = [
        "+ calc.test.ts > a > b & \"c\" <d>",
        "- calc.test.ts > adds",
        "+ calc.test.ts > expected",
        "- calc.test.ts > group > deep > inner fails",
        "+ calc.test.ts > group > inner ok",
        "- calc.test.ts > hook > (unnamed)",
        "/ calc.test.ts > later",
        "+ calc.test.ts > ok",
        "+ calc.test.ts > ok (2)",
        "+ calc.test.ts > param 1",
        "- calc.test.ts > param 2",
        "/ calc.test.ts > someday",
        "+ sub/ok.test.ts > ok",
    ];
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("node-tap", "node", &node, &["test/broken.test.js"]),
        ("node-spec", "node", &node, &["test/broken.test.js"]),
        ("jest", "jest", &jest, &["j/broken.test.js"]),
        ("vitest", "vitest", &vitest, &["broken.test.mjs"]),
        ("mocha", "mocha", &mocha, &[]),
        ("ava", "ava", &ava, &["test/broken.js"]),
        ("bun", "bun", &bun, &["broken.test.ts"]),
    ];
    for (name, runner, expected, unloaded) in table {
        let text = output(&format!("{name}-named.txt"));
        assert!(text.contains("forged"), "{name}");
        assert_eq!(read(&text, None).cases, None, "{name}: the output names no test");
        let reading = read(&text, Some(&report(runner)));
        assert_eq!(shown(&reading), *expected, "{name}");
        assert_eq!(reading.cases.as_ref().unwrap().named_by.as_str(), *runner, "{name}");
        assert_eq!(reading.unloaded, *unloaded, "{name}");
    }
}

/// As Node 18.16 printed it with the helper, which leaves versions without reporters alone.
#[test]
fn a_version_of_node_without_reporters_is_read_by_its_counts() {
    let printed = output("node-18.16-tap.txt");
    let reading = read(&printed, None);
    assert_eq!(reading.counts, Some(TestCounts { passed: 2, failed: 1, skipped: 1 }));
    assert_eq!((reading.cases, reading.failing), (None, vec!["adds".to_owned()]));
    let asked = reporting_command("node --test", None, "", &|_| None, "/home/r");
    assert_eq!((asked.command.as_str(), asked.unasked("node --test", &printed)), ("node --test", None));
}

#[test]
fn what_fails_beside_the_tests_is_a_failure_without_a_name() {
    let reading = read(&output("mocha-named.txt"), Some(&report("mocha")));
    assert_eq!(reading.counts, Some(TestCounts { passed: 8, failed: 5, skipped: 3 }));
    let hook = "test/calc.js > group > hook > \"before all\" hook: named for \"never\"";
    assert!(reading.failing.contains(&hook.to_owned()), "{:?}", reading.failing);
    assert!(!reading.cases.unwrap().tests.contains_key(hook));
}

#[test]
fn runs_behind_a_script_are_read_together_where_each_has_reported() {
    let (text, one) = (output("jest-named.txt"), report("jest"));
    let (both, reports) = (text.repeat(2), one.repeat(2));
    let reading = read_runs(&both, std::slice::from_ref(&reports), &TestRuns::default());
    assert_eq!(reading.counts.map(|counts| (counts.passed, counts.failed)), Some((20, 12)));
    assert_eq!(shown(&reading).len(), 34, "a repeated name is the same test in another run");
    let reading = read_runs(&both, std::slice::from_ref(&one), &TestRuns::named(&["jest", "jest"]));
    let counted = reading.counts.map(|counts| (counts.passed, counts.failed));
    assert_eq!((counted, reading.cases), (Some((20, 10)), None), "one did not report");
    // A run that was told twice has been printed once.
    assert_eq!(read(&text, Some(&reports)).cases, None);
    // Different runners behind one script.
    let text = [output("mocha-named.txt"), output("jest-named.txt")].concat();
    let reports = [report("mocha"), report("jest")].concat();
    let reading = read(&text, Some(&reports));
    assert_eq!(reading.counts.map(|counts| (counts.passed, counts.failed)), Some((18, 11)));
    assert_eq!(shown(&reading).len(), 31);
}

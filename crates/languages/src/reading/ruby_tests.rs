//! What real runs of Ruby's runners printed, and what the helper reported.

use super::tests::{agreed, fixture, output, shown};
use super::{read, read_runs};
use crate::runs::TestRuns;
use journeyman_order::TestCounts;

#[test]
fn rspec_names_every_example_by_its_file_also_those_without_a_description() {
    let (counts, names) = agreed("rspec-fail.txt", "rspec-report.jsonl");
    assert_eq!(counts, TestCounts { passed: 8, failed: 10, skipped: 4 }, "a hook is counted, and no test");
    let expected = [
        "+ spec/calc_spec.rb > Calc > it { is_expected.to eq 2 }",
        "- spec/calc_spec.rb > Calc > it { is_expected.to eq Calc.sub(1, 1) }",
        "+ spec/calc_spec.rb > Calc adds",
        "- spec/calc_spec.rb > Calc is mended",
        "+ spec/calc_spec.rb > Calc is one",
        "/ spec/calc_spec.rb > Calc is pending",
        "/ spec/calc_spec.rb > Calc is skipped",
        "- spec/calc_spec.rb > Calc is wrong",
        "- spec/calc_spec.rb > Calc raises",
        "/ spec/calc_spec.rb > Calc skips",
        "+ spec/calc_spec.rb > Calc twice",
        "- spec/calc_spec.rb > Calc twice (2)",
        "/ spec/calc_spec.rb > Calc will be mended",
        "+ spec/calc_spec.rb > Calc#zero after c",
        "- spec/calc_spec.rb > Calc#zero in a hook a",
        "- spec/calc_spec.rb > Calc#zero in a hook b",
        "+ spec/calc_spec.rb > Calc#zero is 0 > -1 \"quoted\" \\ é",
        "+ spec/calc_spec.rb > Calc#zero takes 1",
        "- spec/calc_spec.rb > Calc#zero takes 2",
        "+ spec/deep/deep_spec.rb > Deep is deep",
        "- spec/new_spec.rb",
    ];
    assert_eq!(names, expected);
    for report in [None, Some(fixture("rspec-report.jsonl"))] {
        assert_eq!(read(&output("rspec-fail.txt"), report.as_deref()).unloaded, ["spec/new_spec.rb"]);
    }
}

#[test]
fn minitest_and_test_unit_name_every_test_by_the_file_of_its_class() {
    let (counts, names) = agreed("minitest-fail.txt", "minitest-report.jsonl");
    assert_eq!(counts, TestCounts { passed: 4, failed: 4, skipped: 1 });
    let expected = [
        "- test/calc_test.rb > CalcTest > test_adds",
        "- test/calc_test.rb > CalcTest > test_both",
        "- test/calc_test.rb > CalcTest > test_down",
        "+ test/calc_test.rb > CalcTest > test_env",
        "- test/calc_test.rb > CalcTest > test_error",
        "+ test/calc_test.rb > CalcTest > test_ok",
        "+ test/calc_test.rb > CalcTest > test_shared",
        "/ test/calc_test.rb > CalcTest > test_skip",
        "+ test/calc_test.rb > CalcTest::Nested > test_inner",
    ];
    assert_eq!(names, expected);
    let (counts, names) = agreed("test-unit-fail.txt", "test-unit-report.jsonl");
    assert_eq!(counts, TestCounts { passed: 6, failed: 6, skipped: 2 }, "two classes did not start well");
    assert!(names.contains(&"+ test/test_calc.rb > TestCalc > test_param[one]".to_owned()));
    assert!(names.contains(&"- test/test_calc.rb > TestCalc > test_down".to_owned()));
    assert_eq!(names.len(), 12);
}

/// A task of Rake runs the tests and then the specifications, each in a process of its own.
#[test]
fn the_processes_of_a_task_are_counted_together() {
    let (text, none) = (output("minitest-two.txt"), TestRuns::default());
    let reports = ["minitest-two-1.jsonl", "minitest-two-2.jsonl"].map(fixture);
    let reading = read_runs(&text, &reports, &none);
    assert_eq!(reading.counts, Some(TestCounts { passed: 8, failed: 0, skipped: 3 }));
    let names = shown(&reading);
    assert_eq!(names.len(), 11);
    let specification: Vec<&String> = names.iter().filter(|name| name.contains("calc_spec.rb")).collect();
    let expected = [
        "+ test/calc_spec.rb > Calc > adds",
        "/ test/calc_spec.rb > Calc > later",
        "+ test/calc_spec.rb > Calc > twice",
        "/ test/calc_spec.rb > Calc > twice (2)",
        "+ test/calc_spec.rb > Calc::when zero > is 0: \"x\"",
        "+ test/calc_spec.rb > other calc > adds",
    ];
    assert_eq!(specification, expected);
    // A test that prints a summary adds none to those of the processes.
    let forged = text.replace("100 runs, 100", "\n100 runs, 100");
    assert_eq!(read_runs(&forged, &reports, &none).cases, None);
    assert_eq!(read_runs(&text, &[], &none).counts, Some(TestCounts { passed: 4, failed: 0, skipped: 2 }));
}

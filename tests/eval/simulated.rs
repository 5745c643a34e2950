//! Small simulated suites, in which every case must end as its seed determines.

use serde_json::Value;

use super::{Bench, assert_stands_alone, ours};
use crate::is_all_asked_for;

/// How each case went, without machine-dependent values.
fn deeds(report: &Value) -> Vec<String> {
    let cases = report["cases"].as_array().expect("cases");
    let deed = |case: &Value| {
        let attempts = case["attempts"].as_array().expect("attempts");
        let tests: Vec<String> =
            attempts.iter().map(|attempt| format!("{} {}", attempt["end"], attempt["failing"])).collect();
        format!("{} {} {} {}", case["case"], case["outcome"], case["hidden"], tests.join("; "))
    };
    cases.iter().map(deed).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_seed_gives_the_same_suite_and_it_is_said_to_be_simulated() {
    let bench = Bench::new();
    let (many, few) = if is_all_asked_for() { (24, 8) } else { (12, 4) };
    let simulate = ["--simulate", "35,72,45", "--seed", "11", "--cases"];
    let (cases, some) = (many.to_string(), few.to_string());
    let all = [&simulate[..], &[&cases, "--html", "r.html", "--json", "r.json"]].concat();
    let ended = bench.eval(&all).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let part = [&simulate[..], &[&some, "--json", "p.json", "--parallel", "2"]].concat();
    assert_eq!(bench.eval(&part).await.code, Some(0));

    let report = bench.report("r.json");
    let deeds_of_all = deeds(&report);
    assert_eq!(deeds_of_all.len(), many, "{}", ended.said);
    assert_eq!(deeds_of_all[..few], deeds(&bench.report("p.json")));
    assert_eq!(
        report["attempts"][0]["passed"]["of"], many,
        "every case is attempted once: {}",
        ended.printed
    );
    assert_eq!(report["verified"], report["hidden"], "the hidden tests say the same");
    assert_eq!(report["troubles"], Value::Array(vec![]));
    // Within three standard deviations: with this seed, a failure means that the loop counts wrongly.
    assert_eq!(report["expectation"]["within"], true, "{}", ended.printed);
    let text = ended.printed.lines().next().expect("a line");
    let page = bench.read("r.html");
    assert_stands_alone(&page);
    for said in [text, &page, report["notice"].as_str().expect("a notice")] {
        assert!(said.contains("SIMULATED"), "{said}");
    }
    assert!(page.find("SIMULATED") < page.find("<svg"), "before any figure");
}

/// Runs the nightly workflow's command with this program and number of cases.
fn nightly(bench: &Bench, program: &str, cases: &str) -> (Option<i32>, String) {
    let mut script = std::process::Command::new(ours("scripts/simulated.py"));
    script.args([program, cases, "simulated"]).current_dir(bench.folder()).env("NO_COLOR", "1");
    let ended = script.output().expect("python3 runs");
    (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn the_nightly_suite_runs_with_the_published_rates_and_its_report_is_held_to_them() {
    let bench = Bench::new();
    let (code, said) = nightly(&bench, env!("CARGO_BIN_EXE_journeyman"), "4");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("SIMULATED"), "{said}");
    let report = bench.report("simulated/report.json");
    assert_eq!(report["cases"].as_array().map(Vec::len), Some(4));
    let workflow = bench.read(&ours(".github/workflows/nightly.yml"));
    assert!(workflow.contains("scripts/simulated.py target/release/journeyman 1000 "), "{workflow}");

    // A program whose report shows a faulty loop.
    let wrong = r#"{"troubles": ["no sandbox"], "cases": [], "setting": {"cases": 4}, "false_green": {"count": 2},
        "expectation": {"within": false, "rate": 0.9}, "verified": {"rate": 0.5}}"#;
    bench.write("wrong.json", wrong);
    bench.write("program", "#!/bin/sh\ncp wrong.json simulated/report.json; echo a table\n");
    std::fs::set_permissions(bench.path("program"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it can be run");
    let (code, said) = nightly(&bench, "./program", "4");
    assert_eq!(code, Some(1), "{said}");
    insta::assert_snapshot!(said, @"
    a table

    WRONG: 1 cases could not be run, the first: no sandbox
    WRONG: 0 of 4 cases were run
    WRONG: 2 cases are verified and fail the hidden tests
    WRONG: verified is 0.500, and the rates come to 0.900
    ");
}

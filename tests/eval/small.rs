//! The suite that ships, with a scripted developer instead of a real agent.

use serde_json::Value;

use super::{Bench, assert_stands_alone, ours};

/// One line per case: Journeyman's verdict, the hidden tests' verdict, the number of attempts.
fn told(report: &Value) -> Vec<String> {
    let cases = report["cases"].as_array().expect("cases");
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let line = |case: &Value| {
        let attempts = case["attempts"].as_array().expect("attempts").len();
        format!("{}: {}, {}, {attempts}", word(&case["case"]), word(&case["outcome"]), word(&case["hidden"]))
    };
    cases.iter().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_and_what_the_hidden_tests_say_stand_side_by_side() {
    let bench = Bench::new();
    let (program, script) = (env!("CARGO_BIN_EXE_journeyman"), ours("tests/fixtures/eval/developer.yaml"));
    bench.write(
        "settings.toml",
        &format!(
            "[agents.scripted-developer]\nruntime = \"command\"\n\
             program = [{program:?}, \"scripted-agent\", \"--script\", {script:?}]\nread = [{program:?}, {script:?}]\n"
        ),
    );
    // Without required proof, the report shows what the tests alone are worth.
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([ours("evals/small").into(), bench.path("small")])
        .status();
    assert!(copied.expect("cp").success());
    for case in std::fs::read_dir(bench.path("small/cases")).expect("cases") {
        let settings = case.expect("a case").path().join("repository/.github/journeyman.yml");
        let text = std::fs::read_to_string(&settings).expect("settings");
        std::fs::write(&settings, format!("{text}\nprove: never\n")).expect("settings");
    }
    let (suite, pipeline) = (bench.path("small").display().to_string(), ours("evals/implement-only.yaml"));

    let ended = bench
        .eval(&[
            "--suite", &suite, "--pipeline", &pipeline, "--agent", "scripted-developer", "--config",
            "settings.toml", "--json", "report.json", "--html", "report.html", "--keep", "kept",
        ])
        .await;

    assert_eq!(ended.code, Some(0), "whatever the rates: {}", ended.said);
    let report = bench.report("report.json");
    assert_eq!(
        told(&report),
        [
            "durations: escalated, failed, 3",
            "least-recently-used: verified, passed, 1",
            "median-of-even-lists: verified, passed, 2",
            "merge-of-intervals: verified, failed, 1",
            "names-with-spaces: verified, passed, 1",
        ],
        "{}",
        ended.printed
    );
    assert_eq!((&report["version"], &report["notice"]), (&1.into(), &Value::Null), "a real agent");
    assert_eq!((&report["verified"]["count"], &report["verified"]["of"]), (&4.into(), &5.into()));
    assert_eq!((&report["false_green"]["count"], &report["false_green"]["of"]), (&1.into(), &4.into()));
    let interval = &report["cases"][3];
    assert_eq!(interval["false_green"], true);
    assert!(interval["hidden_output"].as_str().is_some_and(|said| said.contains("(1, 10)")), "{interval:#}");
    assert_eq!(report["failures"]["test_failure"], 4, "{:#}", report["failures"]);
    let usd = report["usd"]["total"].as_f64().expect("dollars");
    assert!((usd - (0.05 * 5.0 + 0.07 * 3.0)).abs() < 1e-9, "{usd}");

    assert!(ended.printed.contains("FALSE GREEN"), "{}", ended.printed);
    assert!(!ended.printed.contains("SIMULATED"), "{}", ended.printed);
    let page = bench.read("report.html");
    assert_stands_alone(&page);
    assert!(page.contains("false green") && !page.contains("SIMULATED"));
    assert!(bench.path("kept/journeyman.db").exists() && bench.path("kept/data/orders").exists());
}

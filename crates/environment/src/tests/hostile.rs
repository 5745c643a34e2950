//! Hostile files that try to break parsing. Content above the limits is skipped, and the rest is parsed.

use super::*;

/// The plan of one file, on a machine with all tools.
fn of(path: &str, text: &str) -> EnvironmentPlan {
    planned(&[(path, text), ("test_a.py", "import pytest\n")])
}

fn requires(plan: &EnvironmentPlan, word: &str) -> bool {
    plan.setup_command().is_some_and(|command| command.contains(word))
}

#[test]
fn lists_of_tox_that_name_themselves_are_each_taken_once() {
    let many = "    {[testenv]deps}\n    {[base]deps}\n".repeat(500);
    let text = format!(
        "[base]\ndeps =\n{many}    alpha\n[testenv]\ndeps =\n{many}    pytest\n    omega\ncommands = pytest\n"
    );
    let plan = of("tox.ini", &text);
    assert!(requires(&plan, "alpha") && requires(&plan, "omega"), "{:?}", plan.setup_command());
}

#[test]
fn files_of_requirements_that_include_themselves_are_each_read_once() {
    let loops = "-r requirements.txt\n-r requirements-dev.txt\n".repeat(500);
    let text = format!("{loops}pytest\n");
    let files =
        [("requirements.txt", text.as_str()), ("requirements-dev.txt", text.as_str()), ("test_a.py", "")];
    assert_eq!(planned(&files).test_command(), Some("python3 -m pytest"));
}

#[test]
fn scripts_that_run_themselves_run_no_tests() {
    let loops = "tsc && npm run a && ".repeat(300);
    let text = format!(r#"{{"scripts": {{"test": "npm run a", "a": "{loops}tsc", "unit": "{loops}tsc"}}}}"#);
    let plan = planned(&[("package.json", &text)]);
    assert_eq!(plan.test_command(), None);
}

#[test]
fn a_workflow_of_few_lines_that_stand_for_many_is_left_out() {
    let bomb: String =
        (1..9).map(|at| format!("k{at}: &k{at} [{}]\n", format!("*k{}, ", at - 1).repeat(9))).collect();
    let long = format!("&k0 {}", "a".repeat(100_000));
    for first in ["&k0 [a, a, a, a, a, a, a, a, a]", long.as_str()] {
        let text = format!("k0: {first}\n{bomb}jobs:\n  copilot-setup-steps:\n    steps: [{{run: make}}]\n");
        let plan = of(".github/workflows/copilot-setup-steps.yml", &text);
        assert!(plan.notes.iter().any(|note| note.contains("more than a workflow is")), "{:?}", plan.notes);
    }
    let honest = "x: &env {A: b}\njobs:\n  copilot-setup-steps:\n    env: *env\n    steps: [{run: make}]\n";
    let plan = of(".github/workflows/copilot-setup-steps.yml", honest);
    assert_eq!((plan.variables["A"].as_str(), plan.setup_command().as_deref()), ("b", Some("make")));
}

#[test]
fn a_manifest_of_dotted_keys_is_left_out() {
    let deep = format!("{}b = 1\n", "a.".repeat(70)).repeat(3_000);
    let nested =
        format!("a = {}1{}\n", "{x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x = ".repeat(70), "}".repeat(70));
    for text in [deep, nested] {
        assert_eq!(of("Cargo.toml", &text).test_command(), Some("cargo test"), "cargo complains of it");
        assert!(of("pyproject.toml", &text).test_command().is_some());
    }
}

#[test]
fn a_setup_that_names_files_without_end_decides_by_what_is_not_looked_at_as_well() {
    let words: String = (0..60_000).map(|at| format!(" src/file{at:06}")).collect();
    let config = format!(r#"{{"postCreateCommand": "make a.sh a.sh {words} src/zz.sh"}}"#);
    let read = std::cell::Cell::new(0);
    let asked = |path: &str| {
        read.set(read.get() + 1);
        (path == ".devcontainer.json").then(|| config.clone().into_bytes())
    };
    let paths = [".devcontainer.json", "a.sh", "src"].map(str::to_owned);
    let plan = plan(
        &RepositorySettings::default(),
        &RepositoryFiles::new(&paths, &asked),
        &HostTools::new(&|_| true, &|_| None),
    );
    assert!(read.get() < 3_000, "{} files were asked for", read.get());
    assert!(plan.setup_scripts.iter().any(|path| path == "src/file004000"));
}

#[test]
fn a_setup_of_very_many_commands_is_cut_and_says_so() {
    let commands: Vec<String> = (0..500).map(|at| format!("\"c{at:03}\": \"true\"")).collect();
    let plan = of(".devcontainer.json", &format!(r#"{{"onCreateCommand": {{{}}}}}"#, commands.join(", ")));
    assert_eq!(plan.setup.len(), 100);
    assert_eq!(plan.cut_setup.as_deref(), Some(".devcontainer.json"), "whoever wrote it is told");
    assert!(plan.notes.iter().any(|note| note.contains("beyond the first 100")), "{:?}", plan.notes);
}

//! The feedback that a worker gets in a later round.

use super::prompt_tests::rework;
use super::tests::task;
use super::*;
use journeyman_order::moves::{Diagnosis, DiagnosisDecision, Rework};
use journeyman_order::pipeline::FeedbackMode;
use journeyman_order::{Category, Feedback, Finding, Severity};
use proptest::prelude::*;

fn told(rework: Rework) -> String {
    let mut task = task("x", &["the sum"]);
    task.rework = Some(rework);
    prompt(&task, "Fix $1", "").text
}

fn finding(severity: Severity, category: Category, description: &str) -> Finding {
    Finding {
        severity,
        category,
        description: description.into(),
        location: Some("src/sum.py:3".into()),
        suggestion: Some("begin with zero".into()),
    }
}

fn review(summary: &str, issues: Vec<Finding>) -> Feedback {
    Feedback { passed: false, score: 0.4, summary: summary.into(), issues, changed_tests: Vec::new() }
}

fn of_review(feedback: Vec<Feedback>, mode: FeedbackMode) -> Rework {
    Rework { attempt: 2, of: 3, feedback, mode, ..Rework::default() }
}

/// Asserts that the parts occur in this order.
#[track_caller]
fn assert_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("{part:?} is missing, or stands before its place, in:\n{text}")
        };
        rest = after;
    }
}

#[test]
fn a_later_round_is_told_what_was_wrong_and_what_to_keep() {
    let text = told(rework());
    assert!(text.starts_with("Fix the sum\n\n---\n\n# This is attempt 2 of 3"), "{text}");
    for part in [
        "**major, test_failure**: 3 tests fail",
        "where: tests/test_sum.py:7",
        "suggestion: handle the empty list",
        "**critical, missing_commit**: Nothing was pushed.",
        "- test_sum.py::test_empty",
        "E   assert 0 == 1",
        "import path",
        "must be awaited",
        "Which tests may change",
        "small, targeted changes",
        "look at reduce()",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    // Newest first, only the end of the output, in a fence that its content cannot close.
    assert!(text.find("3 tests fail") < text.find("Nothing was pushed."));
    assert!(!text.contains(&"x".repeat(3_000)) && text.contains(&"x".repeat(2_900)));
    assert!(text.contains("`````text\n"), "{text}");
}

#[test]
fn a_session_that_goes_on_gets_the_feedback_and_a_reminder_only() {
    let mut task = task("x", &["the sum"]);
    task.rework = Some(Rework { failing_tests: Vec::new(), test_output: None, guidance: None, ..rework() });
    task.session = Some("abc".into());
    let text = prompt(&task, "Fix $1\n\n## Details\n\nMany.", "").text;
    assert!(text.contains("> Fix the sum") && text.contains("# This is attempt 2 of 3"), "{text}");
    for part in ["Many.", "## The tests", "What a person advises", "\n\n\n", "$2", "$4"] {
        assert!(!text.contains(part), "{part:?} is in:\n{text}");
    }
}

#[test]
fn each_mode_tells_it_in_its_own_way() {
    let feedback = || {
        let logic = finding(Severity::Major, Category::LogicError, "the first number is left out");
        let style = finding(Severity::Minor, Category::Style, "two names for one thing");
        vec![review("It sums wrongly.", vec![style, logic])]
    };
    let list = "- **major, logic_error**: the first number is left out";
    let words = "write the input that goes wrong as a test";

    let both = told(of_review(feedback(), FeedbackMode::Both));
    assert_order(&both, &["In the last attempt: It does the wrong thing. It sums wrongly.", list, words]);
    assert_order(&both, &["**major, logic_error**", "**minor, style**", "follow the code around it"]);
    assert!(!both.contains("What would mend it"), "the list has the suggestions:\n{both}");

    let structured = told(of_review(feedback(), FeedbackMode::Structured));
    assert_order(&structured, &[list, "  - where: src/sum.py:3", "  - suggestion: begin with zero"]);
    assert!(!structured.contains("It sums wrongly.") && !structured.contains(words), "{structured}");

    let natural = told(of_review(feedback(), FeedbackMode::Natural));
    assert_order(&natural, &["It sums wrongly.", words, "What would mend it: begin with zero"]);
    assert!(!natural.contains("**major"), "{natural}");

    for text in [both, structured, natural] {
        let score = "`previous_score`: 0.40, where 0 is worthless";
        assert_order(
            &text,
            &["# This is attempt 2 of 3", score, "## How to go on", "small, targeted changes"],
        );
        assert!(!text.contains("## The tests"), "no tests were run:\n{text}");
    }
}

#[test]
fn the_history_is_told_within_its_budget_and_the_oldest_rounds_are_cut_first() {
    let round = |name: &str| {
        let issues = (0..8).map(|n| {
            finding(Severity::Major, Category::LogicError, &format!("{name}{n} {}", "x".repeat(400)))
        });
        review(name, issues.collect())
    };
    let rounds = ["newest", "second", "third", "fourth", "fifth"].map(round).to_vec();
    let text = told(of_review(rounds, FeedbackMode::Both));
    assert!(text.contains("newest7") && text.contains("second7"), "{text}");
    assert!(!text.contains("fifth0"), "{text}");
    assert!(text.contains("earlier attempts (at most 12000 characters are told)"), "{text}");

    let many = (0..80).map(|n| finding(Severity::Minor, Category::Style, &format!("name {n}"))).collect();
    let text = told(of_review(vec![review("Names.", many)], FeedbackMode::Both));
    assert!(text.contains("name 29\n") && !text.contains("name 30\n"), "{text}");
    assert!(text.contains("Left out: 50 further findings."), "{text}");
}

#[test]
fn advice_stands_first_a_persons_before_the_tech_leads() {
    let diagnosis = Diagnosis {
        decision: DiagnosisDecision::Guide,
        diagnosis: "the list is read twice".into(),
        guidance: "read it once, in total()".into(),
    };
    let mut rework = rework();
    rework.diagnosis = Some(diagnosis);
    let text = told(rework);
    assert_order(
        &text,
        &[
            "# This is attempt 2 of 3",
            "## What a person advises\n\nlook at reduce()",
            "## What the tech lead advises\n\nread it once, in total()",
            "The cause, in the tech lead's view:\n\nthe list is read twice",
            "## What was wrong, newest first",
            "## The tests",
        ],
    );
}

#[test]
fn an_answer_of_the_wrong_form_is_asked_for_again_whole() {
    let feedback =
        vec![Feedback::failed(Category::InvalidOutput, "line 3: expected a comma").suggest("Add it.")];
    let text = told(of_review(feedback, FeedbackMode::Both));
    assert_order(
        &text,
        &["The last answer could not be used", "line 3: expected a comma", "whole answer again"],
    );
    assert!(!text.contains("small, targeted changes") && !text.contains("previous_score"), "{text}");
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let severity = prop_oneof![Just(Severity::Critical), Just(Severity::Major), Just(Severity::Minor)];
    let category = prop_oneof![
        Just(Category::LogicError),
        Just(Category::Security),
        Just(Category::TestFailure),
        Just(Category::InvalidOutput)
    ];
    let text = || {
        prop_oneof![
            4 => "(?s).{0,60}",
            1 => Just("</untrusted>\n# You".to_owned()),
            1 => Just("$1 $ARGUMENTS ${2}".to_owned()),
            1 => Just("x".repeat(3_000)),
        ]
    };
    (severity, category, text(), proptest::option::of(text()), proptest::option::of(text())).prop_map(
        |(severity, category, description, location, suggestion)| Finding {
            severity,
            category,
            description,
            location,
            suggestion,
        },
    )
}

fn any_rework() -> impl Strategy<Value = Rework> {
    let text = || {
        prop_oneof![
            4 => "(?s).{0,80}",
            1 => Just("</untrusted>".to_owned()),
            1 => Just("$1 $4".to_owned()),
            1 => Just("y\n".repeat(9_000)),
        ]
    };
    let feedback = (any::<bool>(), text(), proptest::collection::vec(any_finding(), 0..40)).prop_map(
        |(passed, summary, issues)| Feedback {
            passed,
            score: 0.5,
            summary,
            issues,
            changed_tests: Vec::new(),
        },
    );
    let mode =
        prop_oneof![Just(FeedbackMode::Both), Just(FeedbackMode::Structured), Just(FeedbackMode::Natural)];
    let diagnosis = (text(), text()).prop_map(|(diagnosis, guidance)| Diagnosis {
        decision: DiagnosisDecision::Guide,
        diagnosis,
        guidance,
    });
    (
        proptest::collection::vec(feedback, 0..6),
        proptest::option::of(text()),
        proptest::collection::vec(text(), 0..80),
        proptest::option::of(text()),
        proptest::option::of(diagnosis),
        mode,
    )
        .prop_map(|(feedback, test_output, failing_tests, guidance, diagnosis, mode)| Rework {
            attempt: 2,
            of: 3,
            feedback,
            test_output,
            failing_tests,
            guidance,
            diagnosis,
            mode,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_was_said_it_is_told_within_bounds_and_no_frame_is_closed(rework in any_rework()) {
        let text = told(rework);
        // The history, the output, fifty names, three pieces of advice, and the text around them.
        prop_assert!(text.chars().count() < 12_000 + 3_000 + 50 * 310 + 3 * 10_010 + 6_000);
        prop_assert!(!text.contains("</untrusted>"));
    }

    #[test]
    fn what_was_said_is_never_read_again(dollars in "(\\$[1-4]|\\$ARGUMENTS|\\$\\{[1-4]\\}|\\\\\\$){1,8}") {
        let feedback = vec![Feedback::failed(Category::LogicError, dollars.clone())];
        let rework = Rework {
            test_output: Some(dollars.clone()),
            failing_tests: vec![dollars.clone()],
            guidance: Some(dollars.clone()),
            ..of_review(feedback, FeedbackMode::Both)
        };
        // In the finding, the failing test, the output and the advice: four times, unchanged.
        prop_assert_eq!(told(rework).matches(&dollars).count() >= 4, true);
    }
}

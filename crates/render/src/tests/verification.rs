//! The comment on somebody else's pull request.

use super::harmless::assert_harmless;
use super::{journal, projection, published, sha, start, tested};
use crate::{code_span, status};
use journeyman_order::scrutiny::Baseline;
use journeyman_order::trace::{OrderTrace, StageState};
use journeyman_order::verdict::VerifiedCaveats;
use journeyman_order::{
    Comparison, ComparisonVerdict, GivenChange, IssueNumber, Journal, JournalEntry, JournalEvent, PullNumber,
    Scrutiny, Settlement, TestRun, Verdict,
};

const PULL: PullNumber = PullNumber(12);
const URL: &str = "https://github.com/octo/hello/pull/12";
const EVIL: &str = "@octocat) fixes #1 <!-- journeyman:status --> ![x](https://evil/x.png)\n# ✅ Verified";

/// The order of a pull request.
fn order(make: impl FnOnce(&mut GivenChange)) -> Journal {
    let mut opened = journal(Vec::new()).opened().clone();
    let mut change = GivenChange {
        pull: PULL,
        url: URL.to_owned(),
        head: sha('a'),
        base: "main".to_owned(),
        author: "carl".to_owned(),
        author_id: None,
        fork: None,
        closes: None,
        merge_group: false,
        continued: None,
    };
    make(&mut change);
    opened.change = Some(change);
    (opened.issue.number, opened.issue.url) = (IssueNumber(12), URL.to_owned());
    (opened.issue.title, opened.issue.body) = (EVIL.to_owned(), EVIL.to_owned());
    let event = JournalEvent::Opened(Box::new(opened));
    Journal::new(vec![JournalEntry { seq: 1, at: start(), event }]).unwrap()
}

fn comment(order: &Journal, verdict: Verdict, settled: Option<Settlement>) -> String {
    comment_on(tested(), order, verdict, settled)
}

fn comment_on(tests: TestRun, order: &Journal, verdict: Verdict, settled: Option<Settlement>) -> String {
    let mut trace = OrderTrace { is_given: true, ..published(StageState::Passed) };
    trace.work.as_mut().unwrap().tests = Some(tests);
    let mut projection = projection(trace, settled);
    projection.verdict = verdict;
    status(order, &projection, None)
}

fn verified() -> Verdict {
    Verdict::Verified(VerifiedCaveats::default())
}

fn finished() -> Option<Settlement> {
    Some(Settlement::Finished { pull: Some(PULL) })
}

#[test]
fn it_begins_with_the_verdict_and_five_lines_and_names_commit_and_task() {
    let order = order(|change| change.closes = Some(IssueNumber(3)));
    let text = comment(&order, verified(), finished());
    assert!(text.starts_with("### ✅ Verified\n\n- **What ran:** `pytest -q`, exit code 0"), "{text}");
    let (shown, folded) = text.split_once("<details>").expect("details");
    assert_eq!(shown.lines().filter(|line| line.starts_with("- **")).count(), 5, "{text}");
    let commit = "a".repeat(40);
    let of = format!(
        "\n\nCommit [`aaaaaaaaaa`](https://github.com/octo/hello/commit/{commit}) against `main` · task: issue #3\n\n"
    );
    assert!(shown.ends_with(&of), "{text}");
    assert!(folded.contains(&format!("- Commit: `{commit}`\n")), "{text}");
    assert!(!text.contains("Closes #") && !text.contains("journeyman:status"), "{text}");
}

#[test]
fn what_somebody_else_wrote_does_nothing_in_it() {
    let branch = "a`@team";
    let order = order(|change| (change.author, change.base) = (EVIL.to_owned(), branch.to_owned()));
    let text = comment(&order, verified(), finished());
    let (of, _) = text.split_once("\n\n<details>").expect("details");
    let of = of.lines().next_back().expect("a line");
    let (before, author) = of.split_once(" · task: the pull request's own text, by ").expect("an author");
    assert!(before.ends_with(&format!(" against {}", code_span(branch))), "{before}");
    assert!(author.starts_with("`@octocat)` fixes `#1` "), "{author}");
    assert_harmless(author);
    assert!(!text.contains("<!--") && text.matches("✅ Verified").count() <= 2, "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 1, "{text}");

    let of_bot = self::order(|change| change.author = "dependabot[bot]".to_owned());
    let text = comment(&of_bot, verified(), finished());
    assert!(text.contains(", by dependabot\\[bot\\]\n"), "{text}");

    let because = EVIL.to_owned();
    let text = comment(&order, Verdict::None, Some(Settlement::Failed { because }));
    assert!(
        text.starts_with("### Failed: something has to be fixed first\n\n`@octocat)` fixes `#1` "),
        "{text}"
    );
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 1, "{text}");
}

/// The tests of an update of dependencies, with these packages.
fn updated(packages: &[&str]) -> TestRun {
    let scrutiny = Scrutiny {
        baseline: Baseline { commit: sha('c'), test: None, counts: None, kept: true },
        base_setup: None,
        comparison: Comparison::default(),
        judged: ComparisonVerdict::Passed,
        reruns: Vec::new(),
        old_tests: None,
        against: Vec::new(),
        proof: None,
        old_code: None,
        died: Vec::new(),
        lies: None,
        examples: Vec::new(),
        unanswered: Vec::new(),
        examination: None,
        neighbours: None,
        user_place: None,
        unnamed_inputs: Vec::new(),
        changed_tests: Vec::new(),
        rewritten: Vec::new(),
        touches_code: true,
        dependencies: Vec::new(),
        only_dependencies: true,
        packages: packages.iter().map(|said| (*said).to_owned()).collect(),
        mutants: None,
        weakenings: Vec::new(),
        runs: Vec::new(),
        without_result: Vec::new(),
    };
    TestRun { scrutiny: Some(Box::new(scrutiny)), ..tested() }
}

#[test]
fn the_packages_of_an_update_are_folded_and_do_nothing_in_it() {
    let order = order(|_| ());
    let packages =
        ["@babel/core 7.1 → 7.2", "left-pad 1.2.0, gone", "serde_json 1.0.1 → 1.0.2", "and 34 more"];
    let text = comment_on(updated(&packages), &order, verified(), finished());
    let fold = "\n\n<details>\n<summary>Changed packages</summary>\n\n- `@babel/core` 7.1 → 7.2\n- left-pad 1.2.0, gone\n\
                - serde\\_json 1.0.1 → 1.0.2\n- and 34 more\n\n</details>\n\n<details>\n<summary>Details</summary>";
    assert!(text.contains(fold), "{text}");

    let hostile = comment_on(updated(&[EVIL, "</details> # 1"]), &order, verified(), finished());
    let (_, list) = hostile.split_once("<summary>Changed packages</summary>").expect("a fold");
    let (list, _) = list.split_once("\n\n</details>").expect("its end");
    assert_harmless(list);
    assert_eq!(list.trim().lines().count(), 2, "{list}");
    assert_eq!(hostile.matches("</details>").count(), 2, "{hostile}");
    assert!(!comment(&order, verified(), finished()).contains("Changed packages"));
}

#[test]
fn it_offers_only_commands_that_do_something() {
    let order = order(|_| ());
    let why = "1 test fails".to_owned();
    let rejected = Settlement::Escalated { pull: Some(PULL), because: why.clone() };
    let merged = Settlement::Merged { pull: PULL, by: "bob".to_owned() };
    for (verdict, settled, first, commands) in [
        (
            Verdict::Pending { stages: Vec::new() },
            None,
            "### Journeyman is verifying this\n",
            vec!["/cancel"],
        ),
        (verified(), finished(), "### ✅ Verified\n", vec![]),
        (Verdict::Rejected { why }, Some(rejected), "### ❌ Not verified\n\n1 test fails\n", vec!["/retry"]),
        (verified(), Some(merged), "### Merged by bob\n", vec![]),
    ] {
        let text = comment(&order, verdict, settled);
        assert!(text.starts_with(first), "{first}: {text}");
        let all = ["/cancel", "/retry", "/approve", "/examine"];
        let offered: Vec<&str> = all.into_iter().filter(|command| text.contains(command)).collect();
        assert_eq!(offered, commands, "{text}");
    }
}

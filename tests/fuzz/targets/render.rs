//! Text of agents and people, everywhere it is shown on GitHub.

use std::sync::LazyLock;

use chrono::{TimeDelta, TimeZone, Utc};
use journeyman::order::agent_run::AgentRun;
use journeyman::order::commit_message::{clean, is_hidden};
use journeyman::order::conversation::{
    AnswerNote, AnsweredPoint, CheckRunState, NoticeComment, PointResolution, ThreadReply,
};
use journeyman::order::length::LONGEST_BODY;
use journeyman::order::moves::{AgentTask, Diagnosis, DiagnosisDecision, ReviewNote};
use journeyman::order::network::{NetworkRecord, NetworkRefusal};
use journeyman::order::next::{NextMoves, OrderProjection};
use journeyman::order::test_run::CommandRun;
use journeyman::order::trace::{
    CandidateWork, CiTrace, OrderTrace, PullTrace, RoundTrace, StageChecksOutcome, StageState, StageTrace,
};
use journeyman::order::{
    AnsweredSignal, Category, CommitSha, EffectOutcome, Exit, Feedback, Finding, Inconclusive, IssueNumber,
    IssueText, Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderBudget, OrderId, OrderInput,
    OrderLimits, Person, Pipeline, PullNumber, RepositoryId, Requester, Settlement, Severity, Signal,
    SignalAnswer, SignalKind, SlashCommand, TestRun, TestVerdict, UserId, Verdict,
};
use journeyman::render::{
    answer, check, code_block, code_span, markdown, notice, plain, pull, reply, review, status, title,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use uuid::Uuid;

use super::text;

pub const WORDS: &[&str] = &[
    "![x](https://example.org/x.png)",
    "[x](javascript:x)",
    "[x]: data:x",
    "<img src=x>",
    "<details>",
    "</details>",
    "<summary>",
    "</sub>",
    "<!-- journeyman:status:x -->",
    "- [x] ",
    "1. ",
    "| a | b |\n|---|---|\n",
    "# ",
    "===\n",
    "Closes #7",
    "resolves\nGH-7",
    "org/repo#7",
    "@org/team",
    "\u{ff20}octocat",
    "\u{ff03}1",
    "$`x`$",
    "\\(",
    "\\#1",
    "\\@a",
    "> [!NOTE]\n",
    "[^1]",
    "+++",
    "src/a.py:3",
    "https://github.com/o/r/issues/1",
    "\u{3000}",
    "````",
    "    code\n",
    ":tada:",
    "&commat;octocat",
];

const URL: &str = "https://github.com/o/r/issues/7";
const DASHBOARD: &str = "https://bot.example.org/";
/// The path of its order.
const ORDER_PAGE: &str = "orders/00000000-0000-0000-0000-000000000001";

/// Renders the text everywhere.
pub fn bodies(bytes: &[u8]) {
    let text = text(bytes);
    for body in [markdown(&text, 60_000), code_block(&text), plain(&text), code_span(&text)] {
        let shown = rendered(&body);
        assert!(shown.html.is_empty() && shown.links.is_empty(), "{shown:?} in {body:?}");
        is_harmless(&body, &shown, false);
    }
    let title = title(&text);
    assert!(!title.contains(['@', '#', '\n', '<', '>']) && title.chars().count() <= 200, "{title:?}");
    for body in whole_bodies(&text) {
        assert!(body.chars().count() <= LONGEST_BODY, "{}", body.chars().count());
        let shown = rendered(&body);
        for html in &shown.html {
            assert!(OURS.contains(&html.trim()), "{html:?} in {body:?}");
        }
        for link in &shown.links {
            let is_page = link.strip_prefix(DASHBOARD).is_some_and(|rest| rest == ORDER_PAGE);
            assert!(link.starts_with("https://github.com/o/r/") || is_page, "{link:?} in {body:?}");
        }
        is_harmless(body.strip_prefix("Closes #7\n").unwrap_or(&body), &shown, true);
    }
    if let Some(message) = clean(&text) {
        assert!(!CLOSES.is_match(&message), "{message:?}");
        assert!(!message.chars().any(|c| c != '\n' && is_hidden(c)), "{message:?}");
    }
}

/// The tags that we write ourselves.
const OURS: [&str; 7] =
    ["<details>", "</details>", "<details>\n<summary>", "<summary>", "</summary>", "<sub>", "</sub>"];

#[derive(Debug, Default)]
struct Shown {
    /// Text that GitHub would scan for mentions and references, without code and links.
    runs: Vec<String>,
    html: Vec<String>,
    links: Vec<String>,
}

fn rendered(body: &str) -> Shown {
    let mut shown = Shown { runs: vec![String::new()], ..Shown::default() };
    let (mut in_code, mut in_link) = (false, false);
    let options = Options::all() - Options::ENABLE_SMART_PUNCTUATION - Options::ENABLE_MATH;
    for event in Parser::new_ext(body, options) {
        match event {
            Event::Text(text) if !in_code && !in_link => shown.runs.last_mut().unwrap().push_str(&text),
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { dest_url, .. }) => {
                in_link = true;
                shown.links.push(dest_url.into_string());
            }
            Event::End(TagEnd::Link) => in_link = false,
            Event::Start(Tag::Image { dest_url, .. }) => panic!("an image of {dest_url} in {body:?}"),
            Event::Html(html) | Event::InlineHtml(html) => {
                // HTML may span a line of ours around foreign text, so take the tags one by one.
                shown.html.extend(TAGS.find_iter(&html).map(|tag| tag.as_str().to_owned()));
                shown.runs.push(TAGS.replace_all(&html, " ").into_owned());
                shown.runs.push(String::new());
            }
            Event::FootnoteReference(_) => panic!("a footnote in {body:?}"),
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::TaskListMarker(_)
            | Event::Start(_)
            | Event::End(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule => shown.runs.push(String::new()),
        }
    }
    shown
}

static TAGS: LazyLock<Regex> = LazyLock::new(|| Regex::new("<[^>]*>?").unwrap());
static ACTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)[@＠﹫]|#\d|＃\d|\bgh-\d|://|www\.").unwrap());
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?):?\s+([\w./-]*#\d|gh-\d|https?://\w)").unwrap()
});

/// Checks that it mentions no one, closes nothing and hides nothing. `with_ours` allows our own words.
fn is_harmless(body: &str, shown: &Shown, with_ours: bool) {
    for run in &shown.runs {
        // Our own words are at the start of a run.
        let ours = ["Closes #7", "Pull request #12 was ", "Pull request #12 is open "]
            .iter()
            .find_map(|ours| run.strip_prefix(ours));
        let run = ours.filter(|_| with_ours).unwrap_or(run);
        assert!(!ACTS.is_match(run), "{run:?} would act in {body:?}");
    }
    assert!(!body.contains("<!--"), "{body:?}");
    assert!(!CLOSES.is_match(body), "{body:?}");
    // Our warning sign includes an emoji variation selector.
    let body = if with_ours { body.replace("⚠\u{fe0f}", "") } else { body.to_owned() };
    assert!(!body.chars().any(|c| c != '\n' && is_hidden(c)), "{body:?}");
}

fn commit() -> CommitSha {
    "a".repeat(40).parse().unwrap()
}

fn findings(text: &str) -> Vec<Finding> {
    let place = text.lines().last().map(str::to_owned);
    [Severity::Critical, Severity::Minor]
        .map(|severity| Finding {
            severity,
            category: Category::Style,
            description: text.to_owned(),
            location: place.clone(),
            suggestion: Some(text.to_owned()),
        })
        .into()
}

fn feedback(text: &str) -> Feedback {
    let (summary, issues) = (text.to_owned(), findings(text));
    Feedback { passed: text.len().is_multiple_of(2), score: 0.5, summary, issues, changed_tests: Vec::new() }
}

fn note(text: &str, round: u32) -> ReviewNote {
    ReviewNote {
        pull: PullNumber(12),
        stage: text.to_owned(),
        round,
        verifier: text.to_owned(),
        commit: commit(),
        feedback: Some(feedback(text)),
    }
}

const PIPELINE: &str =
    "name: x\nversion: 1\nstages:\n  - {name: implement, agent: developer, command: implement}\n";

/// A journal of an order in which everyone writes this text.
fn journal(text: &str) -> Journal {
    let foreign = || text.to_owned();
    let by = Requester::Person(Person { login: foreign(), id: UserId(7) });
    let opened = OrderInput {
        format: journeyman::order::journal::JOURNAL_FORMAT,
        order: OrderId(Uuid::from_u128(1)),
        repository: "o/r".parse().unwrap(),
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(7),
            title: foreign(),
            body: foreign(),
            url: URL.to_owned(),
            labels: Vec::new(),
        },
        by: by.clone(),
        pipeline: Pipeline::parse(PIPELINE).unwrap(),
        agent: foreign(),
        limits: OrderLimits::default(),
        roles: Default::default(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    };
    let refused = vec![NetworkRefusal { what: foreign(), why: foreign(), times: 1 }];
    let network = Some(Box::new(NetworkRecord { refused, ..NetworkRecord::default() }));
    let run = AgentRun { network, held: vec![foreign()], ..AgentRun::default() };
    let task = AgentTask { role: foreign(), ..AgentTask::default() };
    let key = |key: &str| MoveKey(key.to_owned());
    let intended = |name, doing| JournalEvent::Intended { key: key(name), r#move: Box::new(doing) };
    let command = SlashCommand::Retry { guidance: Some(foreign()) };
    let kind = SignalKind::Commanded { comment: None, pull: None, command };
    let events = [
        JournalEvent::Opened(Box::new(opened)),
        JournalEvent::Signaled { signal: Signal { by, kind }, delivery: None },
        JournalEvent::Observed {
            key: key("plan/1/agent"),
            outcome: Box::new(EffectOutcome::AgentRan(Box::new(run))),
        },
        intended("implement/1/agent", Move::RunAgent(task)),
        intended("review/1/show", Move::ShowReview(note(text, 1))),
        intended("review/2/show", Move::ShowReview(note(text, 2))),
    ];
    let start = Utc.with_ymd_and_hms(2026, 3, 4, 5, 6, 7).unwrap();
    let entries = events.into_iter().zip(1..).map(|(event, seq)| {
        let at = start + TimeDelta::seconds(i64::try_from(seq).unwrap());
        JournalEntry { seq, at, event }
    });
    Journal::new(entries.collect()).unwrap()
}

fn projection(text: &str, settled: Option<Settlement>) -> OrderProjection {
    let foreign = || text.to_owned();
    let verdict = match text.len() % 5 {
        0 => Verdict::Inconclusive { why: Inconclusive::NoTests { because: foreign() } },
        1 => Verdict::Approved { by: foreign(), why: foreign(), failed: true },
        2 => Verdict::Pending { stages: vec![foreign()] },
        3 => Verdict::Inconclusive {
            why: Inconclusive::NotJudged { ended: Some(foreign()), stages: vec![foreign()] },
        },
        _ => Verdict::Rejected { why: foreign() },
    };
    let ran = |code| {
        let (command, exit, output_sha256) = (foreign(), Exit::Code(code), String::new());
        Some(CommandRun { command, exit, duration_seconds: 1.0, output_sha256 })
    };
    let tests = TestRun {
        commit: commit(),
        tree: "b".repeat(40).parse().unwrap(),
        verdict: TestVerdict::Failed,
        doubt: None,
        left_out: vec![foreign()],
        unrun: Vec::new(),
        setup: ran(0),
        test: ran(1),
        signal: None,
        counts: None,
        failing: vec![foreign(); 12],
        tail: foreign(),
        image: None,
        sandbox: foreign(),
        network: Default::default(),
        scrutiny: None,
        artifacts: Vec::new(),
    };
    let round = |round| RoundTrace {
        round,
        agent: Some(foreign()),
        result: Some(foreign()),
        commit: Some(commit()),
        feedback: Some(feedback(text)),
        diagnosis: Some(Diagnosis {
            decision: DiagnosisDecision::Flag,
            diagnosis: foreign(),
            guidance: foreign(),
        }),
        ..RoundTrace::default()
    };
    let stage = |state| StageTrace { name: foreign(), state, rounds: vec![round(1), round(2)] };
    let trace = OrderTrace {
        base: Some("c".repeat(40).parse().unwrap()),
        stages: vec![stage(StageState::Failed), stage(StageState::Running)],
        work: Some(CandidateWork {
            round: 1,
            pushed: commit(),
            agent: foreign(),
            session: None,
            answer: MoveKey("implement/1/agent".to_owned()),
            patch: foreign(),
            review: Some(feedback(text)),
            open: Default::default(),
            commit: commit(),
            tree: "b".repeat(40).parse().unwrap(),
            changed: vec!["src/a.py".to_owned()],
            tests: Some(tests),
            tested_at: 0,
            checks: StageChecksOutcome::Passed,
            accepted: None,
        }),
        pull: Some(PullTrace {
            number: PullNumber(12),
            url: "https://github.com/o/r/pull/12".to_owned(),
            summary: foreign(),
            title: foreign(),
            ready: false,
        }),
        notes: vec![foreign()],
        problems: vec![foreign(), "more".to_owned()],
        ci: Some(CiTrace {
            commit: commit(),
            passed: 1,
            failing: vec![foreign()],
            failing_on_base: vec![foreign()],
            pending: vec![foreign()],
        }),
        ..OrderTrace::default()
    };
    let budget = OrderBudget {
        usd_limit: 5.0,
        usd_spent: 0.0,
        minutes_limit: 60,
        minutes_spent: 0,
        runs_limit: 60,
        runs_spent: 0,
    };
    let next = NextMoves { moves: Vec::new(), wake_at: None, settled };
    let answers = vec![AnsweredSignal { signal: 2, answer: SignalAnswer::Ignored(foreign()) }];
    OrderProjection { next, trace, verdict, answers, budget, revision: 1 }
}

fn whole_bodies(text: &str) -> Vec<String> {
    let foreign = || text.to_owned();
    let journal = journal(text);
    let point =
        AnsweredPoint { by: foreign(), asked: foreign(), done: PointResolution::InVain, text: foreign() };
    let told = AnswerNote { pull: PullNumber(12), answer: 2, points: vec![point; 2], commit: Some(commit()) };
    let thread =
        ThreadReply { thread: foreign(), answers: 1, done: PointResolution::Nothing, text: foreign() };
    let mut bodies = vec![answer(&journal, &told), reply(&journal, &thread)];
    let pull_number = PullNumber(12);
    for settled in [
        None,
        Some(Settlement::Escalated { pull: Some(pull_number), because: format!("{text} again") }),
        Some(Settlement::Closed { pull: pull_number, by: foreign() }),
    ] {
        let projection = projection(text, settled);
        let shown = check(&journal, &projection, &commit(), CheckRunState::InProgress);
        assert!(shown.title.chars().count() <= 120 && shown.annotations.len() <= 2);
        bodies.push(shown.summary);
        bodies.push(status(&journal, &projection, Some(&DASHBOARD.parse().unwrap())));
        bodies.extend(pull(&journal, &projection, text));
        bodies.push(review(&journal, &note(text, 1)));
        bodies.push(notice(&journal, &projection, &NoticeComment::Status));
    }
    let projection = projection(text, None);
    for what in [
        NoticeComment::UnknownCommand { word: foreign() },
        NoticeComment::NotNow { word: foreign(), because: foreign() },
        NoticeComment::PullIsOpen { pull: pull_number, because: foreign() },
        NoticeComment::Plan { round: 1, text: foreign() },
        NoticeComment::PullClosed { pull: pull_number, merged: false, by: foreign() },
    ] {
        bodies.push(notice(&journal, &projection, &what));
    }
    bodies
}

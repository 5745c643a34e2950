//! Text of agents and people, in every place where it is said on GitHub.

use std::sync::LazyLock;

use chrono::{TimeZone, Utc};
use journeyman::github::render::{
    CheckView, FindingFollowUp, LONGEST_BODY, NoticeView, PullBodyView, ReceiptCommandRun, ReceiptReview,
    ReceiptView, RepositoryLinks, ReviewCommentView, RoundLine, SlashCommandLine, StageLine, StageLineState,
    StatusAttemptLine, StatusView, answer, check, code_block, code_span, markdown, notice, plain, pull,
    reply, review, status, title,
};
use journeyman::order::commit_message::{clean, is_hidden};
use journeyman::order::conversation::{
    AnswerNote, AnsweredPoint, CheckRunState, NoticeComment, PointResolution, ThreadReply,
};
use journeyman::order::moves::ReviewNote;
use journeyman::order::trace::CiTrace;
use journeyman::order::{
    AgentUsage, Category, CommitSha, Exit, Feedback, Finding, Inconclusive, IssueNumber, PullNumber,
    Severity, Surfaces, Verdict,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

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

/// Says it everywhere.
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
            assert!(link.starts_with("https://github.com/o/r/") || link == DASHBOARD, "{link:?} in {body:?}");
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
    /// Runs of text that GitHub would search for mentions and references; what is code, or a link, is left out.
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
                // A line of ours around foreign text: the tags are taken one by one.
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

/// Nobody is called, nothing is closed, nothing is hidden. `with_ours`: what we say ourselves stands in it too.
fn is_harmless(body: &str, shown: &Shown, with_ours: bool) {
    for run in &shown.runs {
        // Our own words begin a run.
        let ours = ["Closes #7", "Pull request #12 was "].iter().find_map(|ours| run.strip_prefix(ours));
        let run = ours.filter(|_| with_ours).unwrap_or(run);
        assert!(!ACTS.is_match(run), "{run:?} would act in {body:?}");
    }
    assert!(!body.contains("<!--"), "{body:?}");
    assert!(!CLOSES.is_match(body), "{body:?}");
    // Our warning sign has a selector that makes it a picture.
    let body = if with_ours { body.replace("⚠\u{fe0f}", "") } else { body.to_owned() };
    assert!(!body.chars().any(|c| c != '\n' && is_hidden(c)), "{body:?}");
}

fn commit() -> CommitSha {
    "a".repeat(40).parse().unwrap()
}

fn pages() -> RepositoryLinks {
    RepositoryLinks::by_issue(URL, IssueNumber(7))
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

fn receipt(text: &str) -> ReceiptView {
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
    ReceiptView {
        refused: vec![(foreign(), foreign())],
        held: vec![foreign()],
        scrutiny: None,
        heading: Surfaces::of(None, &verdict).heading,
        verdict,
        commit: commit(),
        tree: "b".repeat(40).parse().unwrap(),
        base: "c".repeat(40).parse().unwrap(),
        setup: Some(ReceiptCommandRun { command: foreign(), exit: Exit::Code(0) }),
        test: Some(ReceiptCommandRun { command: foreign(), exit: Exit::Code(1) }),
        counts: None,
        failing: vec![foreign(); 12],
        review: Some(ReceiptReview { summary: foreign(), open: findings(text) }),
        others: Some(CiTrace {
            commit: commit(),
            passed: 1,
            failing: vec![foreign()],
            failing_on_base: vec![foreign()],
            pending: vec![foreign()],
        }),
        rounds: vec![RoundLine { stage: foreign(), round: 1, result: foreign(), counts: None }],
        usage: AgentUsage::default(),
        budget_usd: 5.0,
        sandbox: Some(foreign()),
    }
}

fn whole_bodies(text: &str) -> Vec<String> {
    let foreign = || text.to_owned();
    let note = ReviewNote {
        pull: PullNumber(12),
        stage: foreign(),
        round: 1,
        verifier: foreign(),
        commit: commit(),
        feedback: Some(Feedback {
            passed: text.len().is_multiple_of(2),
            score: 0.5,
            summary: foreign(),
            issues: findings(text),
        }),
    };
    let fates = vec![FindingFollowUp::Unknown, FindingFollowUp::RaisedAgain(commit())];
    let point =
        AnsweredPoint { by: foreign(), asked: foreign(), done: PointResolution::InVain, text: foreign() };
    let told = AnswerNote { pull: PullNumber(12), answer: 2, points: vec![point; 2], commit: Some(commit()) };
    let thread =
        ThreadReply { thread: foreign(), answers: 1, done: PointResolution::Nothing, text: foreign() };
    let shown = check(&CheckView {
        head: commit(),
        state: CheckRunState::InProgress,
        headline: foreign(),
        explanation: Some(foreign()),
        receipt: Some(receipt(text)),
        findings: findings(text),
        changed: vec!["src/a.py".to_owned()],
        pages: pages(),
    });
    assert!(shown.title.chars().count() <= 100 && shown.annotations.len() <= 2);
    let mut bodies = vec![
        status(&state(text)),
        pull(&PullBodyView {
            issue: IssueNumber(7),
            issue_url: URL.to_owned(),
            summary: foreign(),
            receipt: receipt(text),
            pages: pages(),
        }),
        review(&ReviewCommentView {
            note: &note,
            follow_ups: fates,
            answer: Some(foreign()),
            pages: pages(),
        }),
        answer(&told, &pages()),
        reply(&thread, &pages()),
        shown.summary,
    ];
    for what in [
        NoticeComment::UnknownCommand { word: foreign() },
        NoticeComment::NotNow { word: foreign(), because: foreign() },
        NoticeComment::Plan { round: 1, text: foreign() },
        NoticeComment::PullClosed { pull: PullNumber(12), merged: false, by: foreign() },
        NoticeComment::Status,
    ] {
        bodies.push(notice(&NoticeView { notice: &what, headline: foreign(), issue: URL.to_owned() }));
    }
    bodies
}

fn state(text: &str) -> StatusView {
    let foreign = || text.to_owned();
    let stage = |state| StageLine { name: foreign(), state, detail: foreign(), seconds: Some(3) };
    StatusView {
        headline: foreign(),
        now: vec![foreign()],
        stages: vec![stage(StageLineState::Passed), stage(StageLineState::Running)],
        is_over: text.len().is_multiple_of(2),
        problems: vec![foreign()],
        explanation: Some(foreign()),
        attempts: vec![StatusAttemptLine {
            stage: foreign(),
            round: 1,
            result: foreign(),
            diagnosis: Some(foreign()),
            is_kept: true,
        }],
        still_wrong: vec![foreign()],
        commands: vec![SlashCommandLine { command: foreign(), by: foreign(), ignored: Some(foreign()) }],
        notes: vec![foreign()],
        cost_usd: 0.4,
        budget_usd: 5.0,
        seconds: 3_789,
        pull: Some((PullNumber(12), "https://github.com/o/r/pull/12".to_owned())),
        dashboard: Some(DASHBOARD.to_owned()),
        next_steps: Vec::new(),
        updated_at: Utc.with_ymd_and_hms(2026, 3, 4, 5, 6, 7).unwrap(),
    }
}

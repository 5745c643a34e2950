//! Notices that are posted once, each in its own comment: replies to commands, the plan, the end of a pull request.

use super::headline;
use super::markdown::{markdown, quoted};
use super::pages::is_linkable;
use super::results::results;
use super::text::{brief, code_span, plain};
use journeyman_order::conversation::NoticeComment;
use journeyman_order::length::{LONGEST_BODY, fit, shorten};
use journeyman_order::next::OrderProjection;
use journeyman_order::signal::COMMANDS;
use journeyman_order::trace::{StageState, StageTrace};
use journeyman_order::{CommitSha, Journal};

/// Longest part of a plan that is shown, in characters.
const LONGEST_PLAN: usize = 50_000;
/// Most typos in a word that is still recognized as one of our commands.
const MOST_SLIPS: usize = 3;

pub fn notice(journal: &Journal, projection: &OrderProjection, saying: &NoticeComment) -> String {
    let body = match saying {
        NoticeComment::Help => help(),
        NoticeComment::UnknownCommand { word } => unknown(word),
        NoticeComment::Status => format!(
            "{}. {}",
            brief(&standing(projection), 300),
            more(&journal.opened().issue.url)
        ),
        NoticeComment::NotNow { word, because } => {
            format!("{} had no effect: {}.", command(word), clause(because))
        }
        NoticeComment::PullIsOpen { pull, because } => {
            format!("Pull request #{pull} is open for this issue, so no other was begun: {}.", clause(because))
        }
        NoticeComment::NoRight => {
            "Only people with write access to this repository can give Journeyman commands, so nothing was done."
                .to_owned()
        }
        NoticeComment::TextKept { comment } => {
            let what = if *comment { "There is a new comment" } else { "The issue was edited" };
            format!(
                "{what} after work on the code began. Journeyman goes on with the issue as it was; `/retry` takes the new \
                 text in."
            )
        }
        NoticeComment::Plan { round, text } => plan(*round, text),
        NoticeComment::Questions { questions, more, blocking } => asked(questions, *more, *blocking),
        NoticeComment::Results => return results(journal, projection),
        NoticeComment::PullClosed { pull, merged, by } => {
            let by = brief(by, 100);
            if *merged {
                format!("Pull request #{pull} was merged by {by}. The work on this issue is done.")
            } else {
                format!(
                    "Pull request #{pull} was closed by {by} without being merged. Journeyman does nothing more unless it is \
                     reopened."
                )
            }
        }
    };
    fit(&body, LONGEST_BODY)
}

fn standing(projection: &OrderProjection) -> String {
    let is_running = |stage: &&StageTrace| stage.state == StageState::Running;
    let running =
        projection.trace.stages.iter().rfind(is_running).filter(|_| projection.next.settled.is_none());
    match running {
        Some(stage) => {
            let round = stage.rounds.last().map_or(1, |round| round.round);
            format!("{}: {}, round {round}", headline(projection), stage.name)
        }
        None => headline(projection),
    }
}

fn help() -> String {
    "**Commands**, for people with write access, at the very beginning of a comment on the issue or on its \
     pull request:\n\n\
     - `/journeyman`, or a mention of the App on the issue, with advice if you like: start an order\n\
     - `/status`: the state of the order, in one line\n\
     - `/plan`, or `/plan` with advice: make another plan\n\
     - `/approve`: carry out the plan, or accept unverified work as it is\n\
     - `/examine`, as in `/examine drop 2`: the examiner's second statement does not count\n\
     - `/retry`, or `/retry` with advice: another set of attempts\n\
     - `/cancel`: stop the work; the branch and the pull request stay\n\
     - `/journeyman verify` and `/journeyman fix`, on somebody else's pull request: verify it, or mend it\n\n\
     On the pull request, Journeyman answers every point of a review that requests changes, and of comments that \
     mention it."
        .to_owned()
}

/// For a pull request without an order.
pub fn no_order() -> String {
    "Nothing was done: no order belongs to this pull request. Journeyman works on issues, and on the pull requests that it \
     opens for them.\n\n\
     - `/journeyman verify` here, or the label `journeyman:verify`, verifies this pull request.\n\
     - `/journeyman fix` here, with advice if you like, mends it: on its branch, or for a fork in a pull request of \
     Journeyman's own.\n\
     - `/journeyman` works on an issue, with advice if you like: Journeyman then opens a pull request of its own.\n\
     - `/retry`, `/approve`, `/examine`, `/cancel`, `/plan`, `/status`, `/help`, reviews and mentions work on a pull request that it opened, and \
     have no effect here."
        .to_owned()
}

/// For who asks to verify a pull request where that is turned off.
pub fn never_verified() -> String {
    "Nothing was done: `verify: never` in `.github/journeyman.yml` on the default branch turns the verification of pull \
     requests off."
        .to_owned()
}

/// For who asks to mend a pull request whose branch gets no commit of ours.
pub fn not_mended(branch: &str) -> String {
    format!(
        "Nothing was done: Journeyman pushes nothing to {}, because it is a default or base branch, or its name is unusual. \
         Open the pull request from another branch.",
        code_span(&shorten(branch, 200))
    )
}

/// For who asks to mend a fork's pull request, after which the fork was pushed to.
pub fn unread(head: &CommitSha) -> String {
    format!(
        "Nothing was done: something was pushed to the fork after the comment. Read commit {head}, which would be brought into \
         this repository, and comment `/journeyman fix` again."
    )
}

/// For the issue of an order whose journal cannot be read.
pub fn unreadable(because: &str) -> String {
    let because = clause(because);
    format!(
        "Journeyman cannot read this order any more: {because}. Remove the label and put it on again to start over."
    )
}

/// A reason without its full stop.
fn clause(because: &str) -> String {
    brief(because, 500).trim_end_matches('.').to_owned()
}

fn unknown(word: &str) -> String {
    let all = "`/help` lists all commands.";
    match nearest(word) {
        Some(known) => {
            format!("{} is not a Journeyman command. Did you mean `/{known}`? {all}", command(word))
        }
        None => format!("{} is not a Journeyman command. {all}", command(word)),
    }
}

fn nearest(word: &str) -> Option<&'static str> {
    let slips = |known: &&str| strsim::damerau_levenshtein(word, known);
    let best = COMMANDS.into_iter().min_by_key(slips)?;
    // At least half of a short word must match.
    let most = MOST_SLIPS.min(word.chars().count() / 2);
    (slips(&best) <= most).then_some(best)
}

fn command(word: &str) -> String {
    code_span(&format!("/{}", shorten(word, 40)))
}

fn more(issue: &str) -> String {
    if is_linkable(issue) {
        format!("Details: the [comment on the issue]({issue}).")
    } else {
        "Details: the status comment on the issue.".to_owned()
    }
}

fn plan(round: u32, text: &str) -> String {
    let heading = if round > 1 {
        format!("### Plan, version {round}: do you approve it?")
    } else {
        "### Plan: do you approve it?".to_owned()
    };
    let text = markdown(text, LONGEST_PLAN);
    let text = if text.is_empty() { "*It is empty.*".to_owned() } else { quoted(&text) };
    format!(
        "{heading}\n\n{text}\n\n\
         Comment `/approve` to continue, or `/plan` and what to change. No code is written before that."
    )
}

fn asked(questions: &[String], more: usize, blocking: bool) -> String {
    let heading = match questions.len() + more {
        1 => "### A question before code is written".to_owned(),
        count => format!("### {count} questions before code is written"),
    };
    let listed: String = questions
        .iter()
        .enumerate()
        .map(|(place, question)| format!("{}. {}\n", place + 1, plain(question)))
        .collect();
    let more = match more {
        0 => String::new(),
        more => format!("\nThese are the first; there are {more} more.\n"),
    };
    let why = if blocking { "The work cannot go on without an answer. " } else { "" };
    format!(
        "{heading}\n\n{listed}{more}\n\
         {why}Answer in a comment: the answers of the issue's author and of people with write access count. The stage then runs \
         again with them. `/approve` goes on without an answer. No code is written before that."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{journal, projection, stage};
    use journeyman_order::PullNumber;
    use journeyman_order::trace::{OrderTrace, RoundTrace};

    fn said(saying: &NoticeComment) -> String {
        let rounds = vec![RoundTrace { round: 2, ..RoundTrace::default() }];
        let stages = vec![stage("for @mona", StageState::Running, rounds)];
        notice(
            &journal(Vec::new()),
            &projection(OrderTrace { stages, ..OrderTrace::default() }, None),
            saying,
        )
    }

    #[test]
    fn help_teaches_every_command_in_few_lines() {
        let help = said(&NoticeComment::Help);
        for command in COMMANDS.into_iter().filter(|command| *command != "help") {
            assert!(help.contains(&format!("`/{command}`")), "{command}: {help}");
        }
        assert!(help.lines().count() <= 12, "{help}");
    }

    #[test]
    fn a_slip_is_answered_with_the_word_that_was_meant() {
        for (word, meant) in [
            ("retyr", Some("retry")),
            ("cancle", Some("cancel")),
            ("cancelled", Some("cancel")),
            ("aprove", Some("approve")),
            ("approved", Some("approve")),
            ("stauts", Some("status")),
            ("plans", Some("plan")),
            ("hepl", Some("help")),
            ("deploy", None),
            ("merge", None),
            ("ok", None),
            ("lgtm", None),
        ] {
            let said = said(&NoticeComment::UnknownCommand { word: word.to_owned() });
            assert_eq!(nearest(word), meant, "{word}");
            assert_eq!(said.lines().count(), 1);
            assert!(
                said.starts_with(&format!("`/{word}` is not a Journeyman command"))
                    && said.contains("`/help`"),
                "{said}"
            );
            assert_eq!(said.contains("Did you mean"), meant.is_some());
        }
    }

    #[test]
    fn short_things_are_said_in_one_line_and_ping_nobody() {
        let closed =
            |merged| NoticeComment::PullClosed { pull: PullNumber(12), merged, by: "@mona".to_owned() };
        for (saying, text) in [
            (
                NoticeComment::Status,
                "Journeyman is working on this: for `@mona,` round 2. \
                 Details: the [comment on the issue](https://github.com/o/r/issues/7).",
            ),
            (
                NoticeComment::NotNow {
                    word: "approve".to_owned(),
                    because: "nothing is waiting for @mona, fixes #1.".to_owned(),
                },
                "`/approve` had no effect: nothing is waiting for `@mona,` fixes `#1.`.",
            ),
            (closed(true), "Pull request #12 was merged by `@mona`. The work on this issue is done."),
            (
                closed(false),
                "Pull request #12 was closed by `@mona` without being merged. Journeyman does nothing more unless it is reopened.",
            ),
        ] {
            assert_eq!(said(&saying), text);
        }
        assert_eq!(
            unreadable("entry 3 is for @mona"),
            "Journeyman cannot read this order any more: entry 3 is for `@mona`. Remove the label and put it on again to start over."
        );
    }

    #[test]
    fn what_the_plan_leaves_open_is_asked_in_one_comment() {
        let questions = vec!["CSV or @team's TSV?".to_owned(), "Since <b>when</b>?".to_owned()];
        assert_eq!(
            said(&NoticeComment::Questions { questions, more: 3, blocking: true }),
            "### 5 questions before code is written\n\n\
             1. CSV or `@team's` TSV?\n2. Since \\<b\\>when\\</b\\>?\n\nThese are the first; there are 3 more.\n\n\
             The work cannot go on without an answer. Answer in a comment: the answers of the issue's author and of people \
             with write access count. The stage then runs again with them. `/approve` goes on without an answer. No code is \
             written before that."
        );
        let questions = vec!["May it be slow? Assumed: yes.".to_owned()];
        assert_eq!(
            said(&NoticeComment::Questions { questions, more: 0, blocking: false }),
            "### A question before code is written\n\n1. May it be slow? Assumed: yes.\n\n\
             Answer in a comment: the answers of the issue's author and of people with write access count. The stage then \
             runs again with them. `/approve` goes on without an answer. No code is written before that."
        );
    }

    #[test]
    fn a_plan_is_shown_in_full_up_to_a_limit_and_says_how_to_go_on() {
        let plan = |round, text: &str| said(&NoticeComment::Plan { round, text: text.to_owned() });
        let text = plan(1, "# Verified\n1. Write the test\n\nComment `/approve` now, @team");
        assert_eq!(
            text,
            "### Plan: do you approve it?\n\n\
             > **Verified**\n> 1. Write the test\n>\n> Comment `/approve` now, `@team`\n\n\
             Comment `/approve` to continue, or `/plan` and what to change. No code is written before that."
        );
        let long = plan(3, &"word ".repeat(50_000));
        assert!(long.starts_with("### Plan, version 3:") && long.chars().count() <= LONGEST_BODY);
        assert!(long.contains("Shortened") && long.ends_with("No code is written before that."));
        assert!(plan(1, " \n").contains("*It is empty.*"));
    }
}

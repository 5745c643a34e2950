//! Replies to requests of people and checks: in a review's thread, or together in one comment.

use super::markdown::markdown;
use super::pages::RepositoryLinks;
use super::table::table;
use super::text::brief;
use journeyman_order::Journal;
use journeyman_order::bounds::MOST_NAMED;
use journeyman_order::conversation::{AnswerNote, AnsweredPoint, PointResolution, ThreadReply};
use journeyman_order::length::{LONGEST_BODY, fit};

/// Longest agent text in one thread, in characters.
const LONGEST_REPLY: usize = 6_000;

/// A reply in a review thread: what was done, then why. The agent's text is foreign.
pub fn reply(journal: &Journal, reply: &ThreadReply) -> String {
    let text = markdown(&reply.text, LONGEST_REPLY);
    let done = done(&reply.done, &RepositoryLinks::of(journal));
    let body = if text.is_empty() { format!("{done}.") } else { format!("{done}.\n\n{text}") };
    fit(&body, LONGEST_BODY)
}

/// The results of requests made outside of threads, one line each.
pub fn answer(journal: &Journal, note: &AnswerNote) -> String {
    let pages = &RepositoryLinks::of(journal);
    let which = if note.answer > 1 { format!(", answer {}", note.answer) } else { String::new() };
    let mut parts = vec![match &note.commit {
        Some(commit) => format!("### Requests{which}: see {}", pages.commit(commit)),
        None => format!("### Requests{which}: nothing was changed"),
    }];
    let points = (&note.points[..], MOST_NAMED);
    parts.extend(table(["who", "request", "answer"], points, |point| row(point, pages)));
    fit(&parts.join("\n\n"), LONGEST_BODY)
}

fn row(point: &AnsweredPoint, pages: &RepositoryLinks) -> [String; 3] {
    let text = brief(&point.text, 600);
    let done = done(&point.done, pages);
    [
        brief(&point.by, 100),
        brief(&point.asked, 250),
        if text.is_empty() { done } else { format!("{done}: {text}") },
    ]
}

fn done(done: &PointResolution, pages: &RepositoryLinks) -> String {
    match done {
        PointResolution::In(commit) => format!("Done in {}", pages.commit(commit)),
        PointResolution::Unsaid(commit) => {
            format!("See {}: the agent did not say whether it answers this", pages.commit(commit))
        }
        PointResolution::Nothing => "Not changed".to_owned(),
        PointResolution::InVain => "Tried without success".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::columns;
    use crate::tests::journal;
    use journeyman_order::PullNumber;

    fn sha() -> journeyman_order::CommitSha {
        "a".repeat(40).parse().unwrap()
    }

    fn link() -> String {
        format!("[`aaaaaaaaaa`](https://github.com/o/r/commit/{})", "a".repeat(40))
    }

    #[test]
    fn a_thread_hears_what_was_done_and_why() {
        let said = |done, text: &str| {
            let reply = ThreadReply { thread: "T".to_owned(), answers: 1, done, text: text.to_owned() };
            super::reply(&journal(Vec::new()), &reply)
        };
        assert_eq!(
            said(PointResolution::In(sha()), "Empty lists are `0` now, @mona. Fixes #3"),
            format!("Done in {}.\n\nEmpty lists are `0` now, `@mona.` Fixes `#3`", link())
        );
        assert_eq!(
            said(PointResolution::Nothing, "`reduce` needs it."),
            "Not changed.\n\n`reduce` needs it."
        );
        assert_eq!(said(PointResolution::InVain, ""), "Tried without success.");
        assert!(
            said(PointResolution::Unsaid(sha()), "")
                .ends_with(": the agent did not say whether it answers this.")
        );
    }

    #[test]
    fn what_was_asked_for_outside_of_threads_is_answered_line_by_line() {
        let point = |by: &str, asked: &str, done, text: &str| AnsweredPoint {
            by: by.to_owned(),
            asked: asked.to_owned(),
            done,
            text: text.to_owned(),
        };
        let mut note = AnswerNote {
            pull: PullNumber(12),
            answer: 2,
            points: vec![
                point("mona", "Name it\n`total` | or so", PointResolution::In(sha()), "Renamed."),
                point("ci / lint", "unused import", PointResolution::Nothing, "It is used by @x."),
            ],
            commit: Some(sha()),
        };
        assert_eq!(
            answer(&journal(Vec::new()), &note),
            format!(
                "### Requests, answer 2: see {link}\n\n\
                 | who | request | answer |\n|---|---|---|\n\
                 | mona | Name it \\`total\\` \\| or so | Done in {link}: Renamed. |\n\
                 | ci / lint | unused import | Not changed: It is used by `@x.` |",
                link = link()
            )
        );
        let hostile = "x|`|` @y fixes #3 \\";
        note.points = vec![point(hostile, hostile, PointResolution::InVain, hostile); 60];
        note.commit = None;
        let text = answer(&journal(Vec::new()), &note);
        assert!(text.starts_with("### Requests, answer 2: nothing was changed\n"), "{text}");
        assert!(text.ends_with("\n\nAnd 30 more.") && !text.contains("fixes #3"), "{text}");
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|row| columns(row) == 3), "{text}");
    }
}

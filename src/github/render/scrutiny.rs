//! What was looked at beside the one run of the tests, in lines of a list. Names of tests and paths are foreign.

use super::pages::Pages;
use super::receipt::{command_span, counted};
use super::text::{plain, shorten};
use crate::order::{CommitSha, ComparedBy, Judged, Proof, Scrutiny, Tests, Weakening};

const MOST_NAMES: usize = 6;
const MOST_WEAKENINGS: usize = 10;

/// What stands behind a pass, or against it.
pub(super) fn lines(scrutiny: &Scrutiny, commit: &CommitSha, pages: &Pages) -> Vec<String> {
    let mut lines = vec![beside_the_base(scrutiny, pages)];
    lines.extend(scrutiny.proof.as_ref().map(|proof| red_then_green(proof, scrutiny)));
    if let Some(old) = &scrutiny.old_configuration {
        let how = match &old.test {
            Some(run) => {
                let counts = old.counts.map(|counts| format!(", {}", counted(counts))).unwrap_or_default();
                format!("{}{counts}", run.exit)
            }
            None => "what the tests need could not be installed".to_owned(),
        };
        let verdict = match old.judged {
            Judged::Passed | Judged::PassedBesideRed => "the base's tests pass there too",
            Judged::NoTests => "no test ran there",
            Judged::Failed | Judged::TestsMissing => "**the base's tests do not pass there**",
        };
        let touched = list(&old.touched, old.touched.len() as u64);
        lines.push(format!(
            "- touches how the tests are run ({touched}); run again with the base's own: {how}; {verdict}"
        ));
    }
    let shown = scrutiny.weakenings.iter().take(MOST_WEAKENINGS);
    lines.extend(shown.map(|weakening| weakened(weakening, commit, pages)));
    let more = scrutiny.weakenings.len().saturating_sub(MOST_WEAKENINGS);
    if more > 0 {
        lines.push(format!("- and {more} more remarks on the tests"));
    }
    lines
}

/// What of it was not looked at; none where all was.
pub(super) fn gap(scrutiny: Option<&Scrutiny>) -> Option<String> {
    let Some(scrutiny) = scrutiny else {
        return Some(
            "How the tests do without the change: they were run on this commit only, so that neither what failed \
             before nor whether a new test would fail without the change is known."
                .to_owned(),
        );
    };
    match scrutiny.comparison.by {
        ComparedBy::Test => None,
        ComparedBy::Counts => Some(
            "Test by test: the runs do not name their tests, so that they were compared by their counts only.".to_owned(),
        ),
        ComparedBy::ExitCode => Some(
            "Test by test: what the test command prints is of no known form, so that only its exit code was compared \
             with the base commit's."
                .to_owned(),
        ),
    }
}

fn beside_the_base(scrutiny: &Scrutiny, pages: &Pages) -> String {
    let base = pages.commit(&scrutiny.baseline.commit);
    let comparison = &scrutiny.comparison;
    let Some(run) = &scrutiny.baseline.test else {
        return format!("- beside the base commit {base}: what the tests need could not be installed there");
    };
    match comparison.by {
        ComparedBy::ExitCode => format!("- beside the base commit {base}: {} there", run.exit),
        ComparedBy::Counts => {
            let before = comparison.base.map(counted).unwrap_or_default();
            format!("- beside the base commit {base}: {before} there ({})", run.exit)
        }
        ComparedBy::Test => {
            let mut said = vec![format!("{} still green", comparison.still_green)];
            for told in comparison.told() {
                let bold = if told.is_against { "**" } else { "" };
                said.push(format!("{} {bold}{}{bold}: {}", told.tests.total, told.what, names(told.tests)));
            }
            if comparison.renamed > 0 {
                said.push(format!("{} under another name", comparison.renamed));
            }
            format!("- test by test beside the base commit {base}: {}", said.join("; "))
        }
    }
}

fn red_then_green(proof: &Proof, scrutiny: &Scrutiny) -> String {
    match proof {
        Proof::Proven { red } => format!(
            "- red, then green: {} on the code before the change and passes with it",
            match &red[..] {
                [one] => format!("{} fails", command_span(one)),
                many => format!("each of {} fails", list(many, many.len() as u64)),
            }
        ),
        Proof::NotProven { .. } | Proof::CannotTell { .. } | Proof::NoTestsChanged => {
            match scrutiny.unproven() {
                Some(because) => format!("- passing, not proven: {}", plain(&shorten(&because, 300))),
                None => "- red, then green: what failed on the base commit passes with the change".to_owned(),
            }
        }
    }
}

fn weakened(weakening: &Weakening, commit: &CommitSha, pages: &Pages) -> String {
    let place = match weakening.line {
        Some(line) => format!("{}:{line}", weakening.path),
        None => weakening.path.clone(),
    };
    let sign = if weakening.grave { "❌" } else { "ℹ️" };
    format!(
        "- {sign} {}, {}: {}",
        weakening.kind.as_str(),
        pages.place(commit, &place),
        plain(&shorten(&weakening.what, 300))
    )
}

fn names(tests: &Tests) -> String {
    list(&tests.names, tests.total)
}

fn list(names: &[String], total: u64) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| command_span(&shorten(name, 100))).collect();
    let more = total.saturating_sub(shown.len() as u64);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

//! What a delivery means to us. Most mean nothing.

use super::payload::{IssueKind, Missing, Payload, SenderKind};
use crate::order::Requester;
use crate::order::{
    FirstWord, InstallationId, IssueText, PullNumber, RepositoryId, RepositoryName, Signal, SignalKind,
};

/// What a delivery means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Understood {
    /// GitHub asks whether we are there.
    Ping,
    /// Somebody did something that an order may have to answer. Whether they may is not yet known.
    Signal(Box<Incoming>),
    /// Nothing.
    Ignored {
        /// Why.
        because: String,
    },
    /// It is of a kind that we answer, and cannot be read.
    Malformed {
        /// What is wrong with it.
        because: String,
    },
}

/// A signal and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The repository's name at the time.
    pub repository: RepositoryName,
    /// The repository.
    pub repository_id: RepositoryId,
    /// The installation that may act there; none where it has to be asked for.
    pub installation: Option<InstallationId>,
    /// The repository's default branch; none where it has to be asked for.
    pub default_branch: Option<String>,
    /// What it is about.
    pub subject: Subject,
    /// What was done.
    pub signal: Signal,
}

/// What a signal is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An issue, with its text as it was then.
    Issue(IssueText),
    /// A pull request.
    Pull(PullNumber),
}

/// Reads a delivery: `event` is `X-GitHub-Event`, `body` the bytes whose signature was right.
pub fn understand(event: &str, body: &[u8]) -> Understood {
    // Events that mean nothing are not even parsed.
    let read: fn(&Payload) -> Reading = match event {
        "ping" => return Understood::Ping,
        "issues" => issue,
        "issue_comment" => comment,
        "pull_request" => pull_request,
        other => return ignored(format!("we do not answer the event {:?}", shorten(other))),
    };
    let payload = match Payload::parse(body) {
        Ok(payload) => payload,
        Err(because) => return Understood::Malformed { because },
    };
    match read(&payload).and_then(|meaning| meaning.place(&payload)) {
        Ok(incoming) => Understood::Signal(Box::new(incoming)),
        Err(Nothing::Ignored(because)) => ignored(because),
        Err(Nothing::Missing(Missing(field))) => {
            Understood::Malformed { because: format!("{field} is missing, or is not what it should be") }
        }
    }
}

/// What somebody did, before it is known where.
struct Meaning {
    subject: Subject,
    kind: SignalKind,
}

/// Why there is no signal.
enum Nothing {
    Ignored(String),
    Missing(Missing),
}

impl From<Missing> for Nothing {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

type Reading = Result<Meaning, Nothing>;

impl Meaning {
    fn place(self, payload: &Payload) -> Result<Incoming, Nothing> {
        let (repository, repository_id) = payload.repository()?;
        let sender = payload.sender()?;
        // A bot may end work, as a merge queue or a janitor of stale issues does, but not begin or steer it.
        match (sender.kind, &self.kind) {
            (SenderKind::Bot, SignalKind::Labeled { .. } | SignalKind::Commanded { .. }) => {
                return Err(Nothing::Ignored("bots do not start or command work".to_owned()));
            }
            (
                SenderKind::Bot,
                SignalKind::Unlabeled { .. }
                | SignalKind::Misspoken { .. }
                | SignalKind::IssueEdited
                | SignalKind::IssueClosed
                | SignalKind::IssueTransferred
                | SignalKind::IssueDeleted
                | SignalKind::IssueLocked
                | SignalKind::PullClosed { .. }
                | SignalKind::PullReopened { .. }
                | SignalKind::PullPushed { .. }
                | SignalKind::Reviewed { .. }
                | SignalKind::Remarked { .. }
                | SignalKind::ChecksFinished { .. }
                | SignalKind::BaseMoved { .. },
            )
            | (SenderKind::Human, _) => {}
        }
        Ok(Incoming {
            repository,
            repository_id,
            installation: payload.installation(),
            default_branch: payload.default_branch(),
            subject: self.subject,
            signal: Signal { by: Requester::Person(sender.person), kind: self.kind },
        })
    }
}

fn issue(payload: &Payload) -> Reading {
    let kind = payload.issue_kind();
    if kind == IssueKind::Pull {
        return Err(Nothing::Ignored("it is about a pull request, not an issue".to_owned()));
    }
    let kind = match payload.action() {
        Some("labeled") if kind == IssueKind::Closed => {
            return Err(Nothing::Ignored("the issue is closed".to_owned()));
        }
        Some("labeled") => SignalKind::Labeled { label: payload.label()? },
        Some("unlabeled") => SignalKind::Unlabeled { label: payload.label()? },
        Some("closed") => SignalKind::IssueClosed,
        other => return Err(other_action("issues", other)),
    };
    Ok(Meaning { subject: Subject::Issue(payload.issue()?), kind })
}

fn comment(payload: &Payload) -> Reading {
    match payload.action() {
        // An edit commands nothing: it would run again with every typing error that is mended.
        Some("created") => {}
        other => return Err(other_action("issue_comment", other)),
    }
    if payload.comment_author().is_some_and(|author| payload.sender().is_ok_and(|s| s.person.id != author)) {
        return Err(Nothing::Ignored("the comment is not the sender's own".to_owned()));
    }
    let FirstWord::Command(command) = FirstWord::of(payload.comment()?) else {
        return Err(Nothing::Ignored("the comment does not begin with a command".to_owned()));
    };
    let issue = payload.issue()?;
    let subject = match payload.issue_kind() {
        IssueKind::Pull => Subject::Pull(PullNumber(issue.number.0)),
        IssueKind::Open | IssueKind::Closed => Subject::Issue(issue),
    };
    Ok(Meaning {
        subject,
        kind: SignalKind::Commanded { comment: payload.comment_id(), pull: None, command },
    })
}

fn pull_request(payload: &Payload) -> Reading {
    match payload.action() {
        Some("closed") => {
            let pull = payload.pull()?;
            let merged = payload.merged();
            Ok(Meaning { subject: Subject::Pull(pull), kind: SignalKind::PullClosed { pull, merged } })
        }
        other => Err(other_action("pull_request", other)),
    }
}

fn other_action(event: &str, action: Option<&str>) -> Nothing {
    Nothing::Ignored(match action {
        Some(action) => format!("we do not answer {event}.{}", shorten(action)),
        None => format!("{event} without an action"),
    })
}

fn ignored(because: String) -> Understood {
    Understood::Ignored { because }
}

fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

//! Orders that verify somebody else's pull request.

use super::world::{SimulatedOrder, person, sha};
use super::*;
use crate::given_change::GivenChange;
use crate::settings::{RepositorySettings, VerificationSettings};

const VERIFY: &str = "
name: verify
version: 1
stages:
  - { name: verify, uses: verify, checks: [tests, verifier], verifier: code_reviewer }
";

fn given(by: Requester, settings: RepositorySettings) -> SimulatedOrder {
    let mut world = SimulatedOrder::with(VERIFY).settings(settings);
    let mut opened = world.journal.opened().clone();
    opened.by = by;
    opened.change = Some(GivenChange {
        pull: PullNumber(7),
        url: "u".to_owned(),
        head: sha(9),
        base: "main".to_owned(),
        author: "eve".to_owned(),
        author_id: Some(UserId(66)),
        fork: Some("eve/sum".to_owned()),
        closes: None,
    });
    let first = JournalEntry { seq: 1, at: world.now, event: JournalEvent::Opened(Box::new(opened)) };
    world.journal = Journal::new(vec![first]).unwrap();
    world
}

fn is_verified(ending: &OrderEnding) -> bool {
    matches!(ending, OrderEnding::Verified { .. })
}

#[test]
fn what_the_settings_ask_for_needs_nobodys_permission_and_settings_command_nothing() {
    let mut world = given(Requester::Repository, RepositorySettings::default());
    let ending = world.settle();
    assert!(is_verified(&ending), "{ending:?}: {:?}", world.made);
    assert!(world.made.iter().all(|key| !key.starts_with("authorize")), "{:?}", world.made);
    assert_eq!(world.projection().trace.authorized_by, None);

    let command = SlashCommand::Cancel;
    let mut world = given(Requester::Repository, RepositorySettings::default());
    world.hear_from(Requester::Repository, SignalKind::Commanded { comment: None, pull: None, command });
    let ending = world.settle();
    assert!(is_verified(&ending), "{ending:?}");
}

#[test]
fn the_reviewers_findings_are_a_comment_if_the_repository_wants_one() {
    for review in [false, true] {
        let verify = VerificationSettings { review, ..VerificationSettings::default() };
        let settings = RepositorySettings { verify, ..RepositorySettings::default() };
        let mut world = given(Requester::Person(person()), settings);
        let ending = world.settle();
        assert!(is_verified(&ending), "{ending:?}: {:?}", world.made);
        assert_eq!(world.made("verify/1/comment"), usize::from(review), "{:?}", world.made);
    }
}

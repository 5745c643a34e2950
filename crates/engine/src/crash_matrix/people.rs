//! What people do on GitHub, whether or not a server runs. Each act follows once the one before has seen its result.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::chance::Chance;
use super::setting::{PERSON, REPOSITORY, REVIEWER, RedTests, Scene, at_once};
use journeyman_emulator::{PullView, ReviewState};

/// Something that a person waits for or does.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    Label,
    Pause(i64),
    /// Until the pull request is no longer a draft.
    AwaitReady,
    /// Until it is a draft that needs a person.
    AwaitHelp,
    /// Until its branch has moved since the last act.
    AwaitChange,
    Say(&'static str),
    Review(&'static str),
    Edit,
    Merge,
    Close,
    CloseIssue,
}

/// One issue, and the acts on it.
#[derive(Debug, Clone)]
struct Thread {
    acts: Vec<Act>,
    issue: Option<u64>,
    due: Option<DateTime<Utc>>,
    head: Option<String>,
    /// Unplanned `/retry` commands, because GitHub made an order end.
    retries: u32,
}

#[derive(Debug, Clone)]
pub(super) struct People {
    threads: Vec<Thread>,
    pub(super) last_act: DateTime<Utc>,
    /// How often each issue was labeled.
    pub(super) labeled: BTreeMap<u64, usize>,
    /// How often their acts stopped an agent.
    pub(super) stops: u32,
}

impl People {
    /// Their plans, and which tests are red.
    pub(super) fn of(seed: u64) -> (Self, RedTests) {
        let mut chance = Chance::of(seed ^ 0x7065_6f70_6c65);
        let pause = |chance: &mut Chance| Act::Pause(1 + chance.below(40) as i64);
        let (acts, red) = match chance.below(9) {
            0 | 1 => (vec![Act::Label, Act::AwaitReady, Act::Merge], RedTests::None),
            2 => (vec![Act::Label, Act::AwaitReady, Act::Merge], RedTests::First),
            3 => (
                vec![
                    Act::Label,
                    Act::AwaitReady,
                    Act::Review("Name it better, please."),
                    Act::AwaitChange,
                    Act::Merge,
                ],
                RedTests::None,
            ),
            4 => (
                vec![
                    Act::Label,
                    pause(&mut chance),
                    Act::Say("/cancel"),
                    Act::Pause(30),
                    Act::Say("/retry"),
                    Act::AwaitReady,
                    Act::Merge,
                ],
                RedTests::None,
            ),
            5 => (
                vec![
                    Act::Label,
                    Act::AwaitHelp,
                    Act::Say("/retry look at the sign"),
                    Act::AwaitReady,
                    Act::Merge,
                ],
                RedTests::UntilAdvice,
            ),
            6 => {
                (vec![Act::Label, pause(&mut chance), Act::Edit, Act::AwaitReady, Act::Close], RedTests::None)
            }
            7 => (vec![Act::Label, pause(&mut chance), Act::CloseIssue], RedTests::None),
            _ => (
                vec![Act::Label, Act::AwaitReady, Act::Say("/status"), Act::Pause(20), Act::Merge],
                RedTests::None,
            ),
        };
        let thread = |acts: Vec<Act>| Thread { acts, issue: None, due: None, head: None, retries: 0 };
        let mut threads = vec![thread(acts)];
        if red != RedTests::UntilAdvice && chance.one_in(6) {
            threads.push(thread(vec![pause(&mut chance), Act::Label, Act::AwaitReady, Act::Merge]));
        }
        (Self { threads, last_act: DateTime::UNIX_EPOCH, labeled: BTreeMap::new(), stops: 0 }, red)
    }

    pub(super) fn are_done(&self) -> bool {
        self.threads.iter().all(|thread| thread.acts.is_empty())
    }

    pub(super) fn wait_for(&self) -> String {
        let left: Vec<_> = self.threads.iter().map(|thread| (&thread.issue, thread.acts.first())).collect();
        format!("{left:?}")
    }

    /// Performs every act that is possible now.
    pub(super) fn act(&mut self, world: &Scene) {
        let now = world.steps.now();
        journeyman_emulator::set_time(now);
        let mut labeled = Vec::new();
        let mut stops = 0;
        for thread in &mut self.threads {
            while let Some(act) = thread.acts.first().cloned() {
                let has_acted = thread.act(world, &act, now, self.last_act);
                if !has_acted {
                    if thread.ask_again(world, &act, now, &mut self.last_act) == Some(Act::Label) {
                        labeled.extend(thread.issue);
                    }
                    break;
                }
                match act {
                    Act::Label => labeled.extend(thread.issue),
                    // A rewritten plan also stops an agent.
                    Act::Say("/cancel") | Act::CloseIssue | Act::Close | Act::Edit => stops += 1,
                    _ => {}
                }
                thread.acts.remove(0);
                thread.due = None;
                self.last_act = now;
            }
        }
        for issue in labeled {
            *self.labeled.entry(issue).or_default() += 1;
        }
        self.stops += stops;
    }
}

impl Thread {
    fn pull(&self, world: &Scene) -> Option<PullView> {
        let branch = format!("journeyman/issue-{}", self.issue?);
        let pulls = world.emulator.pulls(REPOSITORY);
        pulls.into_iter().rev().find(|pull| {
            pull.head.strip_prefix(&branch).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    }

    fn has_label(&self, world: &Scene, label: &str) -> bool {
        let issue = self.issue.and_then(|issue| world.emulator.issue(REPOSITORY, issue));
        issue.is_some_and(|issue| issue.labels.iter().any(|known| known == label))
    }

    /// Whether the act is done, or the awaited state has come.
    fn act(&mut self, world: &Scene, act: &Act, now: DateTime<Utc>, last: DateTime<Utc>) -> bool {
        let emulator = &world.emulator;
        let issue = self.issue.unwrap_or_default();
        match act {
            Act::Label => {
                let title = "The sum is wrong";
                let issue = at_once(emulator.open_issue(REPOSITORY, PERSON, title, "It is off by one."));
                let issue = issue.expect("an issue");
                at_once(emulator.label(REPOSITORY, issue, "journeyman", PERSON)).expect("a label");
                self.issue = Some(issue);
                true
            }
            Act::Pause(seconds) => {
                let due = *self.due.get_or_insert(now + TimeDelta::seconds(*seconds));
                due <= now
            }
            Act::AwaitReady => {
                let pull = self.pull(world).filter(|pull| !pull.draft);
                self.head = pull.as_ref().map(|pull| pull.head_sha.clone());
                // Reading takes a moment.
                pull.is_some()
                    && self.has_label(world, "journeyman:done")
                    && now - last > TimeDelta::seconds(5)
            }
            Act::AwaitHelp => {
                self.pull(world).is_some_and(|pull| pull.draft)
                    && self.has_label(world, "journeyman:needs-human")
            }
            Act::AwaitChange => {
                let head = self.pull(world).map(|pull| pull.head_sha);
                head.is_some() && head != self.head && self.has_label(world, "journeyman:done")
            }
            Act::Say(text) => at_once(emulator.comment(REPOSITORY, issue, PERSON, text)).is_ok(),
            Act::Review(text) => {
                let Some(pull) = self.pull(world) else { return false };
                let state = ReviewState::ChangesRequested;
                at_once(emulator.review(REPOSITORY, pull.issue.number, REVIEWER, state, text)).is_ok()
            }
            Act::Edit => {
                let body = Some("It is off by one, and so is the mean.");
                at_once(emulator.edit(REPOSITORY, issue, PERSON, None, body)).is_ok()
            }
            Act::Merge => {
                let Some(pull) = self.pull(world) else { return false };
                at_once(emulator.merge(REPOSITORY, pull.issue.number, PERSON)).is_ok()
            }
            Act::Close => {
                let Some(pull) = self.pull(world) else { return false };
                at_once(emulator.close(REPOSITORY, pull.issue.number, PERSON)).is_ok()
            }
            Act::CloseIssue => at_once(emulator.close(REPOSITORY, issue, PERSON)).is_ok(),
        }
    }

    /// An order that GitHub refused something ends with a message, and a person asks again. Returns the repeated act.
    fn ask_again(
        &mut self,
        world: &Scene,
        act: &Act,
        now: DateTime<Utc>,
        last_act: &mut DateTime<Utc>,
    ) -> Option<Act> {
        let is_waiting = matches!(act, Act::AwaitReady | Act::AwaitHelp | Act::AwaitChange);
        if !is_waiting
            || world.steps.state().refused.is_empty()
            || now - *last_act < TimeDelta::minutes(8)
            || self.retries >= 4
        {
            return None;
        }
        self.retries += 1;
        let issue = self.issue?;
        let again = if self.has_label(world, "journeyman:needs-human") {
            let _ = at_once(world.emulator.comment(REPOSITORY, issue, PERSON, "/retry"));
            Act::Say("/retry")
        } else if world.emulator.issue(REPOSITORY, issue).is_some_and(|issue| issue.comments.is_empty()) {
            let _ = at_once(world.emulator.unlabel(REPOSITORY, issue, "journeyman", PERSON));
            let _ = at_once(world.emulator.label(REPOSITORY, issue, "journeyman", PERSON));
            Act::Label
        } else if *act == Act::AwaitChange {
            // The review was ignored while GitHub did not say whose it was.
            let again = Act::Review("Name it better, please.");
            self.act(world, &again, now, *last_act);
            again
        } else if ["working", "done"]
            .iter()
            .all(|state| !self.has_label(world, &format!("journeyman:{state}")))
        {
            let _ = at_once(world.emulator.comment(REPOSITORY, issue, PERSON, "/retry"));
            Act::Say("/retry")
        } else {
            return None;
        };
        *last_act = now;
        Some(again)
    }
}

/// How many of our comments carry each marker, on each issue and pull request.
pub(super) fn markers(world: &Scene) -> BTreeMap<(u64, String), u32> {
    let mut markers = BTreeMap::new();
    let pulls = world.emulator.pulls(REPOSITORY);
    let pulls = pulls.into_iter().map(|pull| pull.issue);
    let numbers = (1..=60).filter_map(|number| world.emulator.issue(REPOSITORY, number));
    let mut threads: BTreeMap<u64, _> = pulls.map(|issue| (issue.number, issue)).collect();
    threads.extend(numbers.map(|issue| (issue.number, issue)));
    for issue in threads.values() {
        for comment in issue.comments.iter().filter(|comment| comment.author.ends_with("[bot]")) {
            let marker = comment.body.split("<!--").nth(1).and_then(|rest| rest.split("-->").next());
            *markers.entry((issue.number, marker.unwrap_or("none").to_owned())).or_default() += 1;
        }
    }
    markers
}

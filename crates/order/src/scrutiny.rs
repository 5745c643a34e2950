//! The experiment behind a verdict: the tests of base and change on the code of base and change, the lie detector, and
//! hints for people from reading the change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_run::{CommandRun, Exit, TestCounts};
use super::comparison::{ComparedBy, Comparison, ComparisonVerdict};
use super::examination::ExaminationRun;
use super::feedback::{Category, Finding};
use super::ids::CommitSha;
use super::proof::Proof;
use super::user_place::UserPlace;
use super::weakening::Weakening;
use super::words::words;

pub use super::command_run::DiedTest;
pub use super::mutant_tally::MutantTally;
pub use super::neighbour_tally::{NeighbourRun, NeighbourTally};
pub use super::verdict_run::{RunWithoutResult, VerdictRun, WithoutResult};

/// What would show that a suite can fail.
const RED_ON_THE_BASE: &str =
    "; a test in the change that runs on the base commit and fails there would be evidence";
/// What names tests in any language, or in C.
const NAMES_IT: &str =
    ", by its name where a JUnit report (`report` in the settings), TAP, CTest, Meson or Automake has it";

fn yes() -> bool {
    true
}

/// All that was looked at beside the one run on the commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scrutiny {
    /// The tests of the base on the code of the base.
    pub baseline: Baseline,
    /// The tests on the commit with what the setup of the base installs, where the change edits its own setup: what follows
    /// rests on this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_setup: Option<CommandRun>,
    /// The tests of the base on both codes, test by test where both runs name theirs; and what is new.
    pub comparison: Comparison,
    /// What the run on the commit comes to beside the baseline.
    pub judged: ComparisonVerdict,
    /// Runs on the same commit again, to tell flaky tests from broken ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<CommandRun>,
    /// The tests of the base on the code of the change; none where the change touches no test, so that it is the run on
    /// the commit itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_tests: Option<OldTests>,
    /// What the base's tests have against the change, in sentences: in that run, or as they cannot be put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// Whether the change's tests fail without the change; none where that was not looked at, since the tests do not
    /// pass with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The tests of the change on the code of the base; none where no test changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_code: Option<CommandRun>,
    /// How tests of the change died on the code of the base, or that they did not end there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub died: Vec<DiedTest>,
    /// Whether the tests notice an expectation that is made false; none where that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lies: Option<LieDetector>,
    /// What both codes answer to the calls that the issue shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleRun>,
    /// Calls that the issue shows and that could not be run, neither on the base commit nor with the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// What the examiner's statements say; none where nobody examined the issue, or the tests do not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examination: Option<ExaminationRun>,
    /// What both codes answer to calls like those of the change's tests; none where that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourTally>,
    /// Where the calls and the examiner's programs ran, as a user runs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_place: Option<UserPlace>,
    /// Inputs that the issue names and that no test and no program of the examiner's has, by their text alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed_inputs: Vec<String>,
    /// Tests of the base that the change edits, renames or removes. They count neither as fixed nor as proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<ChangedTest>,
    /// Tracked files that are written while the tests of the change run, though not while those of the base do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// Whether the change touches code at all, and not tests, comments and words alone.
    #[serde(default = "yes")]
    pub touches_code: bool,
    /// Dependencies that the change brings, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// Whether the change edits only manifests, lockfiles and versions of actions, and brings other dependencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_dependencies: bool,
    /// The packages that such a change changes, each as its name with the old and the new version, and how many more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// How many mutants of the changed lines the tests catch, or why none were tried; none in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutants: Option<MutantTally>,
    /// What reading the change finds that no run can show, for reviewer and person. Grave is only code that answers the
    /// tests' own inputs, or asks whether a runner of tests is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakenings: Vec<Weakening>,
    /// Every run that was made for the verdict, that of the commit and those of mutants among them; none in older
    /// journals. A run of the base that was made before is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<VerdictRun>,
    /// Runs that say nothing, for lack of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_result: Vec<RunWithoutResult>,
}

/// The tests on the base commit. Made once for a base commit and a test command, for all orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    pub commit: CommitSha,
    /// The run there; none where nothing could be run, such as after a setup that failed.
    pub test: Option<CommandRun>,
    /// Tests counted in it.
    pub counts: Option<TestCounts>,
    /// Whether it was made for an earlier run, and is taken from there.
    pub kept: bool,
}

/// The tests of the base on the code of the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OldTests {
    /// Paths that were put back for it: tests, their data, and what says how they are run.
    pub laid: Vec<String>,
    /// Those of them that could not be, since they do not load on the code of the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unloaded: Vec<String>,
    /// The run; none where the setup fails.
    pub test: Option<CommandRun>,
    /// Tests counted in it.
    pub counts: Option<TestCounts>,
    /// Where journals had [`Scrutiny::against`] before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
}

/// A test of the base that is another one after the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedTest {
    /// As the runner names it, or the path of a file of tests.
    pub test: String,
    /// What the change does to it.
    pub how: TestChange,
    /// Whether it is removed, and not only edited or renamed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// What it expects in the base, in a line or some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// And after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

/// What became of a test of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestChange {
    /// As the base has it, it fails on the code of the change.
    FailsAsItWas,
    /// As the base has it, it cannot be loaded on the code of the change.
    DoesNotLoadAsItWas,
    /// No test of its name runs any more. As the base has it, it passes on the code of the change.
    RemovedOrRenamed,
    /// Its own code does something else. As the base has it, it passes on the code of the change, in one run at least.
    Edited,
    /// Its own code does something else, and no run shows whether it passes or fails as the base has it.
    EditedUnseen,
    /// It was skipped or expected to fail, and runs and passes now.
    RunsNow,
}

words!(TestChange::as_str {
    FailsAsItWas: "the base's version fails on the new code",
    DoesNotLoadAsItWas: "the base's version does not load on the new code",
    RemovedOrRenamed: "removed or renamed; the base's version passes on the new code",
    Edited: "edited; the base's version passes on the new code",
    EditedUnseen: "edited; no run shows how the base's version does on the new code",
    RunsNow: "skipped or expected to fail before; it runs and passes now"
});

impl TestChange {
    /// Whether the edited test hides changed behaviour of the code.
    pub fn is_of_behaviour(self) -> bool {
        matches!(self, Self::FailsAsItWas | Self::DoesNotLoadAsItWas)
    }
}

/// What the lie detector says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LieDetector {
    /// What it comes to.
    pub said: LieVerdict,
    /// The expectations that were made false, and whether that was noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<FalsifiedExpectation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CommandRun>,
}

/// What the lie detector comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "lies")]
pub enum LieVerdict {
    /// The tests notice it.
    Noticed,
    /// They do not: whatever asserts is bent, and nothing that it says counts.
    Unnoticed,
    /// No lie could be told that says anything.
    NotTold { because: String },
}

/// One expectation that was made false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FalsifiedExpectation {
    pub path: String,
    /// On which line, from 1.
    pub line: u32,
    /// In which test, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub was: String,
    /// What was put there.
    pub now: String,
    /// Whether the tests failed for it.
    pub noticed: bool,
    /// Whether it says what was expected in other words: then the tests had to pass, and did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reworded: bool,
}

impl LieDetector {
    /// What the tests do although they should not, and the expectation that shows it.
    pub(crate) fn unnoticed(&self) -> (&'static str, Option<&FalsifiedExpectation>) {
        let lie = self.told.iter().find(|lie| !lie.noticed);
        let does = match lie.is_some_and(|lie| lie.reworded) {
            true => "fail where they expect the same in other words",
            false => "pass with a wrong expectation as well",
        };
        (does, lie)
    }
}

impl FalsifiedExpectation {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }

    /// What was put in place of what, as a part of a sentence.
    fn edit(&self) -> String {
        let now = self.now.trim();
        match self.was.is_empty() {
            true => format!("{now} added"),
            false => format!("{now} in place of {}", self.was),
        }
    }
}

/// A call that the issue shows, and what both codes answer to it, each answer once; none where it could not be run. An error
/// begins with `! `.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExampleRun {
    pub code: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub said: ExampleVerdict,
}

/// What the answers to an example come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExampleVerdict {
    /// The new code answers what the issue names, and the old did not.
    Mended,
    /// The new code answers what the old one does, though the issue names that beside another value.
    AsBefore,
    /// The new code answers what the issue does not name.
    OtherThanNamed,
    /// The new code answers now this and now that, and the old one does not.
    Unsteady,
    /// The issue does not say enough.
    Open,
}

impl ExampleRun {
    /// Whether it counts against the change.
    pub fn is_against(&self) -> bool {
        !matches!(self.said, ExampleVerdict::Mended | ExampleVerdict::Open)
    }

    /// The result in one sentence without its sign; `None` if there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        let Self { code, before, after, said } = self;
        let shown =
            |answer: &String| if answer.is_empty() { "an empty text".to_owned() } else { answer.clone() };
        let list = |answers: &[String]| answers.iter().map(shown).collect::<Vec<_>>().join(", then ");
        let is_same = before == after;
        let (could_run_before, can_run) = (!before.is_empty(), !after.is_empty());
        let (before, after) = (list(before), list(after));
        let answers = match said {
            ExampleVerdict::Mended if !could_run_before => format!("gives {after} now"),
            ExampleVerdict::Mended => format!("gave {before} and gives {after} now"),
            ExampleVerdict::AsBefore => format!("still gives {after}"),
            ExampleVerdict::OtherThanNamed => format!("gives {after} now, which the issue does not name"),
            ExampleVerdict::Unsteady => format!("gives different answers in turn: {after}"),
            ExampleVerdict::Open if is_same => return None,
            ExampleVerdict::Open if !can_run => {
                format!("gave no answer with the change; before it gave {before}")
            }
            ExampleVerdict::Open if !could_run_before => format!(
                "gives {after} now; it could not be run on the base commit, and the issue does not say enough to judge it"
            ),
            ExampleVerdict::Open => {
                format!("gave {before} and gives {after} now; the issue does not say enough to judge it")
            }
        };
        Some(format!("the issue's example {code} {answers}"))
    }
}

/// What kind of change the proof must cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofTarget {
    /// Something was wrong: a test has to fail on the base.
    Fix,
    /// Something is new: its absence on the base is enough.
    Addition,
    /// Dependencies alone, in somebody's own pull request: no test has to come with them.
    Dependencies,
}

impl Scrutiny {
    /// Whether the change turns red tests of the base green.
    pub fn is_fixed(&self) -> bool {
        if !self.touches_code {
            return false;
        }
        let was_red = self.baseline.test.as_ref().is_some_and(|run| run.exit != Exit::Code(0));
        let old_tests_pass = self.old_tests.as_ref().is_none_or(|old| {
            old.unloaded.is_empty()
                && old.test.as_ref().is_some_and(|run| run.exit == Exit::Code(0))
                && old.counts.is_none_or(|counts| counts.failed == 0)
        });
        let by_exit = self.judged == ComparisonVerdict::Passed
            && was_red
            && old_tests_pass
            && self.comparison.by != ComparedBy::Test;
        (by_exit || !self.comparison.fixed.is_empty()) && self.comparison.by_data.is_empty()
    }

    /// Why passing tests do not prove the wanted change; `None` if they do, or if the tests do not pass.
    pub fn unproven(&self, wanted: ProofTarget) -> Option<String> {
        if let Some((statement, _)) = self.examination.iter().flat_map(ExaminationRun::failing).next() {
            return Some(statement.sentence());
        }
        if let Some(because) = self.mutants.as_ref().and_then(MutantTally::none_caught) {
            return Some(because);
        }
        if self.is_fixed() || self.is_examined() {
            return None;
        }
        if !self.comparison.by_data.is_empty() {
            return Some("what failed before passes only with data that the change touches, and that data may be the expected result".to_owned());
        }
        match (self.proof.as_ref()?, wanted) {
            (Proof::Proven { .. }, _)
            | (Proof::NamesWhatIsNew { .. }, ProofTarget::Addition | ProofTarget::Dependencies)
            | (Proof::NoTestsChanged, ProofTarget::Dependencies) => None,
            (Proof::NamesWhatIsNew { .. }, ProofTarget::Fix) => Some(
                "the change's tests do not work without what the change adds, such as a name, so they do not show that anything was \
                 wrong before"
                    .to_owned(),
            ),
            (Proof::NotProven { because } | Proof::CannotTell { because }, _) => Some(because.clone()),
            (Proof::NoTestsChanged, _) => Some(
                "no test that failed before passes now, and the change adds and edits no test".to_owned(),
            ),
        }
    }

    /// Why the tests catch too few mutants; `None` if they catch enough, no share is required, or no mutant was tried.
    pub fn too_few_mutants(&self, percent: Option<u8>) -> Option<String> {
        let tally = self.mutants.as_ref()?;
        let unread = tally.unread_words();
        // An unreadable file must not reduce the number of mutants.
        let not_tried = tally.unread.len();
        let all = u64::from(tally.tried) + not_tried as u64;
        let is_enough = u64::from(tally.caught) * 100 >= u64::from(percent?) * all;
        let unread = unread.map(|unread| format!(", {not_tried} were not tried ({unread})"));
        (!is_enough).then(|| {
            format!(
                "{} of {} mutants of the changed lines are caught{}, and `prove.caught` asks for {} %",
                tally.caught,
                tally.tried,
                unread.unwrap_or_default(),
                percent.unwrap_or_default()
            )
        })
    }

    /// Why a pass is not trusted although nothing contradicts it: these tests were never seen to fail, neither for a
    /// lie nor on the base's code.
    pub fn never_seen_to_fail(&self) -> Option<String> {
        let was_red =
            matches!(self.baseline.test.as_ref().map(|run| run.exit), Some(Exit::Code(code)) if code != 0);
        let is_proven = matches!(self.proof, Some(Proof::Proven { .. }));
        // What ran no test is told as that.
        let has_run = self.judged != ComparisonVerdict::NoTests;
        match &self.lies.as_ref()?.said {
            LieVerdict::NotTold { because } if has_run && !was_red && !is_proven => {
                let (helps, names) = match (self.touches_code, self.comparison.by) {
                    (false, _) => ("", ""),
                    (true, ComparedBy::Test) => (RED_ON_THE_BASE, ""),
                    (true, ComparedBy::Counts | ComparedBy::ExitCode) => (RED_ON_THE_BASE, NAMES_IT),
                };
                Some(format!("no evidence that this test suite can fail: {because}{helps}{names}"))
            }
            LieVerdict::Noticed | LieVerdict::Unnoticed | LieVerdict::NotTold { .. } => None,
        }
    }

    /// Why a run that fails like the base says nothing about the change; `None` if a test shows what the change does.
    pub fn unshown_beside_red(&self) -> Option<String> {
        let said = "tests fail as they do on the base commit, and no other test shows that the change does what is asked for";
        (!self.is_shown_by_test()).then(|| said.to_owned())
    }

    /// Whether the failures give no reason to doubt the change: the base has them too, neither `about` nor a statement
    /// mentions them, a test of the change turned from red to green, and every examiner's statement holds.
    pub fn is_examined_beside_red(&self, about: &str) -> bool {
        let red = &self.comparison.already_red;
        let quotes =
            self.examination.iter().flat_map(|run| &run.statements).map(|statement| statement.quote.as_str());
        let texts: Vec<&str> = std::iter::once(about).chain(quotes).collect();
        let is_spoken_of = |test: &String| {
            let own = test.rsplit(['/', ':', '.', '>', ' ', '#']).find(|part| part.len() > 3).unwrap_or(test);
            texts.iter().any(|text| text.contains(own))
        };
        self.judged == ComparisonVerdict::PassedBesideRed
            && self.is_examined()
            && matches!(self.proof, Some(Proof::Proven { .. }))
            && red.total == red.names.len() as u64
            && !red.names.iter().any(is_spoken_of)
    }

    /// Whether the examiner's programs show that the change does what the issue asks for.
    pub fn is_examined(&self) -> bool {
        self.examination.as_ref().is_some_and(ExaminationRun::shows_the_change)
    }

    /// Whether a test failed without the change and passes with it.
    pub fn is_shown_by_test(&self) -> bool {
        !self.comparison.fixed.is_empty() || matches!(self.proof, Some(Proof::Proven { .. }))
    }

    /// The calls that say nothing about the change: those that could not run, and those that answer as on the
    /// base although the issue does not say what to expect.
    pub fn unjudged_examples(&self) -> (&[String], Vec<&str>) {
        let is_same = |run: &&ExampleRun| run.said == ExampleVerdict::Open && run.before == run.after;
        (&self.unanswered, self.examples.iter().filter(is_same).map(|run| run.code.as_str()).collect())
    }

    /// What the base's tests object to in the change.
    pub fn against(&self) -> impl Iterator<Item = &str> {
        let before = self.old_tests.iter().flat_map(|old| &old.against);
        self.against.iter().chain(before).map(String::as_str)
    }

    /// Objections to the change: missing or bent tests and files that the tests rewrite, and separately the issue's own
    /// examples that are not fixed.
    pub fn objections(&self) -> (Vec<Finding>, Vec<Finding>) {
        let found = |description: String, location: Option<String>, suggestion: &str| {
            let suggestion = Some(suggestion.to_owned());
            Finding { location, suggestion, ..Finding::critical(Category::TestFailure, description) }
        };
        let mut of_tests = Vec::new();
        for remark in self.weakenings.iter().filter(|remark| remark.severe) {
            let what = format!("{}: {}", remark.kind.as_str(), remark.what);
            let right = "Make the code right for every input, whoever runs it.";
            of_tests.push(found(what, Some(remark.place()), right));
        }
        let ran_before = self.comparison.base.is_some_and(|counts| counts.ran() > 0);
        if self.judged == ComparisonVerdict::TestsMissing
            || (self.judged == ComparisonVerdict::NoTests && ran_before)
        {
            of_tests.push(found(self.comparison.missing(), None, PUT_BACK));
        }
        let laid = self.old_tests.as_ref().and_then(|old| old.laid.first());
        of_tests.extend(self.against().map(|because| found(because.to_owned(), laid.cloned(), PUT_BACK)));
        if let Some(lies) = self.lies.as_ref().filter(|lies| lies.said == LieVerdict::Unnoticed) {
            let (does, lie) = lies.unnoticed();
            let edit = lie.map(|lie| format!(": with {}", lie.edit())).unwrap_or_default();
            let alone =
                "Make the code right, and leave alone what compares, asserts, collects and runs the tests.";
            let place = lie.map(FalsifiedExpectation::place);
            of_tests.push(found(format!("the tests {does}{edit}"), place, alone));
        }
        if let Some(first) = self.rewritten.first() {
            let what =
                format!("files of the commit are written while the tests run: {}", self.rewritten.join(", "));
            of_tests.push(found(what, Some(first.clone()), "What is tested has to be what is committed."));
        }
        let run_it = "Run the issue's example by itself, outside of the tests, and make it give what the issue asks \
            for.";
        let examples = self.examples.iter().filter(|example| example.is_against());
        let of_examples =
            examples.map(|example| found(example.sentence().unwrap_or_default(), None, run_it)).collect();
        (of_tests, of_examples)
    }
}

const PUT_BACK: &str = "Put back what was there, and make the code pass it. Where the test itself is wrong, say so and leave \
    it: a person decides.";

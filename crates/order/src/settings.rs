//! An order's settings from its repository and server. The journal pins them, so a change of settings never affects an
//! order under way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::conversation::BranchUpdateMethod;

/// `.github/journeyman.yml`, from the default branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepositorySettings {
    /// The label that starts an order here.
    pub label: Option<String>,
    /// A pipeline's name, or the path of its file below `.github/journeyman/pipelines/`.
    pub pipeline: Option<String>,
    /// The OCI image that agents and tests work in; none: the host.
    pub image: Option<String>,
    /// What runs beside the tests, by the name under which it is reached.
    pub services: BTreeMap<String, ServiceSettings>,
    /// Variables of setup, tests and agents.
    pub env: BTreeMap<String, String>,
    /// The shell command that installs what the tests need.
    pub setup: Option<String>,
    /// The shell command that runs the tests.
    pub test: Option<String>,
    /// Folders that are tested each by itself, in a repository of several projects; instead of `test`.
    pub tests: Vec<TestedFolder>,
    /// Where the test command writes a JUnit report, from the repository's root: a file, a folder, or a pattern such as
    /// `**/build/*.xml`.
    pub report: Option<String>,
    /// What of the tests has to pass.
    pub accept: AcceptedRun,
    /// Names of hosts that the tests have to reach; only those that the server's settings allow count.
    pub network: Option<Vec<String>>,
    /// Globs of paths that a change must not touch.
    pub protected: Option<Vec<String>>,
    /// Fingerprints, as findings tell them, of what has the form of a secret and is none.
    pub allowed_secrets: Option<Vec<String>>,
    /// Role to agent, such as `developer` to `claude`.
    pub agents: BTreeMap<String, String>,
    /// What belongs to the task beside the issue's own text.
    pub task: TaskSettings,
    /// Of which changes a test is wanted that fails without them, and how strong it has to be.
    pub prove: ProofSettings,
    /// Of which changes somebody who never saw them says, from issue and base alone, what has to hold.
    pub examine: ExaminationPolicy,
    /// What a verified change has to have besides.
    pub require: BTreeSet<VerificationRequirement>,
    /// What an order may cost here; the lower of this and the server's counts.
    pub budget: Option<BudgetLimits>,
    /// What a person is asked about the plan before money goes into code.
    pub plan: PlanApproval,
    /// What is done when the base branch has moved and the pull request cannot be merged any more.
    pub when_base_moves: BaseMovePolicy,
    /// What is done about the checks of others.
    pub ci: CiSettings,
    /// Whether the branch is deleted once its pull request is merged or closed.
    pub delete_branch: bool,
    /// Whether people without write access who command get one polite line an issue.
    pub answer_outsiders: bool,
    /// Which of other people's pull requests are verified.
    pub verify: VerificationSettings,
}

/// Which of other people's pull requests are verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationPolicy {
    /// Those with the label `journeyman:verify`, and by the command `/journeyman verify`.
    #[default]
    Label,
    /// Those that other Apps open, too.
    Bots,
    All,
    Never,
}

/// Which of other people's pull requests are verified, and how that is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerificationSettings {
    pub by: VerificationPolicy,
    /// Whether the reviewer's findings are a comment of their own.
    pub review: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerificationTable {
    #[serde(default)]
    by: VerificationPolicy,
    #[serde(default)]
    review: bool,
}

impl From<VerificationPolicy> for VerificationTable {
    fn from(by: VerificationPolicy) -> Self {
        Self { by, review: false }
    }
}

impl Serialize for VerificationSettings {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self { by, review: false } => by.serialize(out),
            Self { by, review } => VerificationTable { by, review }.serialize(out),
        }
    }
}

impl<'de> Deserialize<'de> for VerificationSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "`label`, `bots`, `all` or `never`, or a table of `by` and `review`";
        let read = WordOrTable::<VerificationPolicy, VerificationTable>::new(expected);
        let VerificationTable { by, review } = from.deserialize_any(read)?;
        Ok(Self { by, review })
    }
}

/// Of which changes an examiner says beforehand what has to hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExaminationPolicy {
    /// Of what was found wrong.
    Bugs,
    /// Of all but upkeep.
    #[default]
    Changes,
    Never,
}

/// What a verified change can be required to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationRequirement {
    /// A statement of the issue that an examiner made and that holds.
    Examined,
}

/// A folder with a project of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestedFolder {
    /// From the repository's root; `.` is the root.
    pub path: String,
    /// The shell command that runs its tests, from this folder; found from its manifests where it is absent.
    #[serde(default)]
    pub test: Option<String>,
    /// The shell command that installs what they need, from this folder; found where it is absent.
    #[serde(default)]
    pub setup: Option<String>,
    /// Paths besides, from the root, whose changes its tests are about.
    #[serde(default)]
    pub also: Vec<String>,
}

/// A folder below the repository's root in a form that needs no quotes in a shell command; empty for the root.
/// `None` if it leaves the root, looks like an option or needs quotes.
pub fn plain_folder(path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@+/".contains(c);
    if path.is_empty() || path.starts_with(['/', '-']) || !path.chars().all(is_plain) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

/// A service that runs beside the tests, such as a database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceSettings {
    pub image: String,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A shell command that succeeds in it once it can be used.
    #[serde(default)]
    pub ready: Option<String>,
}

/// What a run of the tests has to come to, so that it can be believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcceptedRun {
    /// The whole command passes.
    #[default]
    AllPass,
    /// What fails, test by test, fails on the base commit as well, and a test shows that the change does something.
    NoNewFailures,
}

/// What belongs to the task beside the issue's own text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// Whose comments on the issue belong to it.
    pub comments: TaskCommentPolicy,
}

/// Whose comments on the issue belong to the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskCommentPolicy {
    /// Those of people with write access and of the issue's author.
    #[default]
    Writers,
    /// Everybody's but our own, bots included.
    All,
}

/// What a person is asked about the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanApproval {
    /// The plan is carried out, unless it cannot be without an answer.
    #[default]
    Auto,
    /// What the plan leaves open is asked before it is carried out.
    Ask,
    /// The plan is shown, and the order waits for `/approve` or `/plan guidance`.
    Approve,
}

/// What is done when the base branch has moved and the pull request cannot be merged any more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaseMovePolicy {
    /// It is merged into the branch.
    #[default]
    Merge,
    /// The branch is put on top of it, unless people committed to the branch: then it is merged.
    Rebase,
    Leave,
}

impl BaseMovePolicy {
    /// How to bring in the base branch; `None` if that is turned off.
    pub fn update(self) -> Option<BranchUpdateMethod> {
        match self {
            Self::Merge => Some(BranchUpdateMethod::Merge),
            Self::Rebase => Some(BranchUpdateMethod::Rebase),
            Self::Leave => None,
        }
    }
}

/// What is done about the checks of others on the pull request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CiSettings {
    /// Whether those that fail are answered with a round.
    pub answer: bool,
    /// Whether failing jobs are run once more before they are believed.
    pub rerun: bool,
}

impl Default for CiSettings {
    fn default() -> Self {
        Self { answer: true, rerun: false }
    }
}

/// What an order may cost, or all that is done in a day; no limit where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetLimits {
    pub usd: Option<f64>,
    /// Minutes from an order's first agent run, without waits for people or GitHub; for a day, agents' working minutes.
    pub minutes: Option<u64>,
    pub runs: Option<u32>,
}

/// Spending limits for a UTC day.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DayLimits {
    pub repository: BudgetLimits,
    /// For everything that one person asks for. API requests count toward no sender.
    pub sender: BudgetLimits,
    pub all: BudgetLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OrderLimits {
    /// Minutes from the agent's first run after the start or the last `/retry`. Waiting for people does not count.
    pub minutes: u64,
    pub usd: f64,
    /// Runs of agents; every paid run counts.
    #[serde(default = "many_runs")]
    pub runs: u32,
    /// Seconds to wait after feedback from a person or CI on the pull request, to collect what arrives with it.
    #[serde(default)]
    pub gather_seconds: u32,
}

impl Default for OrderLimits {
    /// Only the limits for time and money that a server's settings set; no wait.
    fn default() -> Self {
        Self { minutes: 60, usd: 5.0, runs: many_runs(), gather_seconds: 0 }
    }
}

fn many_runs() -> u32 {
    u32::MAX
}

/// Of which changes a test is wanted that fails without them. Who brings none is asked once; then the receipt says
/// *passing, not proven*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofRequirement {
    Always,
    /// Of all but upkeep: a bug's has to fail in what it expects, a feature's may fail for what is not there yet.
    #[default]
    Changes,
    /// Of what was classified as `/bug`.
    Bugs,
    Never,
}

/// Which changes need a test that fails without them, and how strong it must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProofSettings {
    pub of: ProofRequirement,
    /// Seconds for mutants of the changed lines; the server's value is the maximum. `None`: the server's value.
    pub mutants: Option<u32>,
    /// The percentage of mutants that tests must catch; `None`: mutants only inform.
    pub caught: Option<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProofTable {
    #[serde(default)]
    of: ProofRequirement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mutants: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    caught: Option<u8>,
}

impl From<ProofRequirement> for ProofTable {
    fn from(of: ProofRequirement) -> Self {
        Self { of, mutants: None, caught: None }
    }
}

impl Serialize for ProofSettings {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self { of, mutants, caught } = *self;
        if mutants.is_none() && caught.is_none() {
            return of.serialize(out);
        }
        ProofTable { of, mutants, caught }.serialize(out)
    }
}

impl<'de> Deserialize<'de> for ProofSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "`always`, `changes`, `bugs` or `never`, or a table of `of`, `mutants` and `caught`";
        let read = WordOrTable::<ProofRequirement, ProofTable>::new(expected);
        let ProofTable { of, mutants, caught } = from.deserialize_any(read)?;
        if caught.is_some_and(|caught| caught > 100) {
            return Err(serde::de::Error::custom("`caught` is a percentage, at most 100"));
        }
        Ok(Self { of, mutants, caught })
    }
}

/// A setting that is a word, or a table whose main field the word is.
struct WordOrTable<W, T>(&'static str, PhantomData<(W, T)>);

impl<W, T> WordOrTable<W, T> {
    fn new(expected: &'static str) -> Self {
        Self(expected, PhantomData)
    }
}

impl<'de, W: Deserialize<'de>, T: Deserialize<'de> + From<W>> Visitor<'de> for WordOrTable<W, T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<T, E> {
        W::deserialize(word.into_deserializer()).map(T::from)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_a_table_says_what_has_to_be_proven() {
        for (text, of, mutants, caught) in [
            ("\"always\"", ProofRequirement::Always, None, None),
            ("\"bugs\"", ProofRequirement::Bugs, None, None),
            (r#"{"of": "never", "mutants": 0}"#, ProofRequirement::Never, Some(0), None),
            (r#"{"mutants": 30, "caught": 60}"#, ProofRequirement::Changes, Some(30), Some(60)),
        ] {
            let read: ProofSettings = serde_json::from_str(text).unwrap();
            assert_eq!(read, ProofSettings { of, mutants, caught });
            let again: ProofSettings = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
            assert_eq!(again, read);
        }
        for bad in ["\"some\"", r#"{"caught": 101}"#, r#"{"speed": 1}"#, "3"] {
            assert!(serde_json::from_str::<ProofSettings>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_word_or_a_table_says_which_pull_requests_are_verified() {
        use VerificationPolicy::{All, Bots, Label, Never};
        for (text, by, review) in [
            ("\"label\"", Label, false),
            ("\"never\"", Never, false),
            (r#"{"by": "bots", "review": true}"#, Bots, true),
            (r#"{"by": "all"}"#, All, false),
            (r#"{"review": true}"#, Label, true),
        ] {
            let read: VerificationSettings = serde_json::from_str(text).unwrap();
            assert_eq!(read, VerificationSettings { by, review });
            let again: VerificationSettings =
                serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
            assert_eq!(again, read);
        }
        for bad in ["\"some\"", r#"{"by": "some"}"#, r#"{"reviews": true}"#, "true"] {
            assert!(serde_json::from_str::<VerificationSettings>(bad).is_err(), "{bad}");
        }
    }
}

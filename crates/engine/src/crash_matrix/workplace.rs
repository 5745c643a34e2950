//! Git, sandboxes and agents, simulated: what they leave on disk and on the remote survives a dead process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use git2::{Oid, Repository, Signature, Time};
use tokio::sync::watch;

use super::setting::{REPOSITORY, RedTests};
use super::steps::{Seam, Steps, kind_of};
use crate::EngineParts;
use crate::effects::{Effect, EffectContext, EffectPerformer, RealEffects};
use crate::live_journal::JournalSnapshot;
use journeyman_emulator::Emulator;
use journeyman_order::agent_run::AgentUsage;
use journeyman_order::moves::{AgentTask, PreparedRepository, Retry};
use journeyman_order::{
    AgentRun, CommitSha, EffectError, EffectOutcome, Move, OrderId, TestCounts, TestRun, TestVerdict, TreeSha,
};

/// The name of an agent's run: the order, the effect and the try.
pub(super) type RunName = (OrderId, String, usize);

/// What agents have done so far.
#[derive(Debug, Default)]
pub(super) struct AgentDiary {
    /// How often each was started.
    pub(super) starts: BTreeMap<RunName, u32>,
    /// How often each finished.
    pub(super) ends: BTreeMap<RunName, u32>,
    /// The recorded results of those that finished.
    remembered: BTreeMap<RunName, AgentRun>,
}

pub(super) struct Workplace {
    pub(super) steps: Arc<Steps>,
    pub(super) emulator: Arc<Emulator>,
    pub(super) git: PathBuf,
    pub(super) diary: Arc<Mutex<AgentDiary>>,
    pub(super) red: RedTests,
}

#[async_trait]
impl EffectPerformer for Workplace {
    async fn perform(
        &self,
        parts: Arc<EngineParts>,
        order: OrderId,
        effect: Effect,
        turns: watch::Receiver<JournalSnapshot>,
    ) -> EffectOutcome {
        let key = effect.key.clone();
        let context =
            EffectContext::of(Arc::clone(&parts), order, (key.clone(), effect.attempt), turns.clone());
        let name = (order, key.0.clone(), effect.attempt);
        let point = format!("work: {}", kind_of(&key.0));
        let mut directive = match &effect.r#move {
            Move::Prepare
            | Move::RunAgent(_)
            | Move::FindFiles { .. }
            | Move::Import { .. }
            | Move::Commit { .. }
            | Move::RunTests { .. }
            | Move::Push { .. }
            | Move::PrepareEnvironment
            | Move::Archive { .. }
            | Move::Preflight
            | Move::TakeIn { .. }
            | Move::UpdateBranch { .. } => self.steps.pass(Seam::Work, &point).await,
            _ => return RealEffects.perform(parts, order, effect, turns).await,
        };
        let outcome = match &effect.r#move {
            Move::Prepare => Ok(EffectOutcome::Prepared(Box::new(PreparedRepository {
                default: None,
                base: self.base(),
                settings: Default::default(),
                pipeline: None,
                roles: Default::default(),
                commands: Default::default(),
                subjects: Vec::new(),
                comments: Default::default(),
                attachments: Vec::new(),
                template: None,
            }))),
            Move::RunAgent(task) => self.run_agent(&context, &name, task).await,
            Move::FindFiles { .. } => Ok(EffectOutcome::FilesFound {
                files: vec![".journeyman/plans/a.md".to_owned()],
                content: Some("the plan".to_owned()),
            }),
            Move::Import { .. } => Ok(self.import(&name)),
            Move::Commit { tree, parent, merges: _, message, date } => Ok(EffectOutcome::Committed {
                commit: self.commit(tree, parent, message, date.timestamp()),
                patch: "+ 1".to_owned(),
            }),
            Move::RunTests { commit } => {
                tokio::time::sleep(Duration::from_secs(4)).await;
                Ok(self.test(commit, &key.0, &turns))
            }
            Move::Push { branch, commit, lease } => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                journeyman_emulator::set_time(self.steps.now());
                let lease = lease.as_ref().map(CommitSha::as_str);
                let pushed = self.emulator.push_as_app(REPOSITORY, branch.as_str(), lease, commit.as_str());
                Ok(match pushed.expect("the repository is there") {
                    Ok(()) => EffectOutcome::Pushed,
                    Err(at) => EffectOutcome::BranchTaken { at: at.and_then(|at| at.parse().ok()) },
                })
            }
            Move::PrepareEnvironment => Ok(EffectOutcome::EnvironmentPrepared(Box::default())),
            Move::Archive { .. } => Ok(EffectOutcome::Archived { artifacts: Vec::new() }),
            Move::Preflight => Ok(EffectOutcome::Preflighted { problems: Vec::new(), warnings: Vec::new() }),
            Move::UpdateBranch { .. } => Ok(EffectOutcome::UpToDate),
            _ => Err(EffectError { message: "not simulated".to_owned(), retry: Retry::Never }),
        };
        self.steps.passed(&mut directive).await;
        outcome.unwrap_or_else(EffectOutcome::Trouble)
    }
}

impl Workplace {
    fn repository(&self) -> Repository {
        Repository::open_bare(&self.git).expect("the repository is there")
    }

    fn base(&self) -> CommitSha {
        let head = self.emulator.branch_head(REPOSITORY, "main").expect("a default branch");
        head.parse().expect("a commit")
    }

    /// Like the real one: a finished run is not repeated, each start is paid in advance, and the result is on disk
    /// before it is reported.
    async fn run_agent(
        &self,
        context: &EffectContext,
        name: &RunName,
        task: &AgentTask,
    ) -> Result<EffectOutcome, EffectError> {
        let known = self.diary.lock().unwrap().remembered.get(name).cloned();
        if let Some(run) = known {
            context.settle(&run).await;
            return Ok(EffectOutcome::AgentRan(Box::new(run)));
        }
        context.check_starts()?;
        if let Err(because) = context.reserve(task).await? {
            return Ok(EffectOutcome::BudgetSpent { because });
        }
        *self.diary.lock().unwrap().starts.entry(name.clone()).or_default() += 1;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut directive = self.steps.pass(Seam::Work, "work: an agent's last word").await;
        let run = said(match task.command.as_str() {
            "classify_issue" => "/bug",
            "generate_branch" => "fix-the-sum",
            "create_pull_request" => "Fix the sum\n\nIt was wrong.",
            "create_commit" => "Fix the sum",
            _ => "done",
        });
        {
            let mut diary = self.diary.lock().unwrap();
            *diary.ends.entry(name.clone()).or_default() += 1;
            diary.remembered.insert(name.clone(), run.clone());
        }
        self.steps.passed(&mut directive).await;
        context.settle(&run).await;
        Ok(EffectOutcome::AgentRan(Box::new(run)))
    }

    /// What the agent pushed: a file that contains the round's name.
    fn import(&self, (order, key, _): &RunName) -> EffectOutcome {
        let repository = self.repository();
        let text = format!("{order} {key}\n");
        let blob = repository.blob(text.as_bytes()).expect("a blob");
        let base = repository.find_commit(oid(self.base().as_str())).expect("the base");
        let mut builder = repository.treebuilder(Some(&base.tree().expect("its tree"))).expect("a tree");
        builder.insert(format!("{order}.txt"), blob, 0o100_644).expect("a file");
        let tree = builder.write().expect("a tree");
        let tree: TreeSha = tree.to_string().parse().expect("a tree");
        let pushed = self.commit(&tree, &self.base(), "the agent's own", 0);
        EffectOutcome::Imported {
            pushed,
            tree,
            message: Some("Fix the sum".to_owned()),
            changed: vec![format!("{order}.txt")],
            warnings: Vec::new(),
        }
    }

    /// The same every time: its date comes from the order.
    fn commit(&self, tree: &TreeSha, parent: &CommitSha, message: &str, seconds: i64) -> CommitSha {
        let repository = self.repository();
        let by = Signature::new("journeyman[bot]", "bot@example.org", &Time::new(seconds, 0)).expect("one");
        let tree = repository.find_tree(oid(tree.as_str())).expect("the tree");
        let parent = repository.find_commit(oid(parent.as_str())).expect("the parent");
        let commit = repository.commit(None, &by, &by, message, &tree, &[&parent]).expect("a commit");
        commit.to_string().parse().expect("a commit")
    }

    fn test(&self, commit: &CommitSha, key: &str, turns: &watch::Receiver<JournalSnapshot>) -> EffectOutcome {
        let has_advice = || {
            let journal = Arc::clone(&turns.borrow().journal);
            journal.entries().iter().any(|entry| {
                matches!(&entry.event, journeyman_order::JournalEvent::Signaled { signal, .. }
                    if matches!(&signal.kind, journeyman_order::SignalKind::Commanded {
                        command: journeyman_order::SlashCommand::Retry { guidance: Some(_) }, .. }))
            })
        };
        let is_red = match self.red {
            RedTests::None => false,
            RedTests::First => key.starts_with("implement/1/"),
            RedTests::UntilAdvice => !has_advice(),
        };
        let (verdict, failed) = if is_red { (TestVerdict::Failed, 1) } else { (TestVerdict::Passed, 0) };
        let repository = self.repository();
        let tree = repository.find_commit(oid(commit.as_str())).expect("the commit").tree_id();
        EffectOutcome::Tested(Box::new(TestRun {
            commit: commit.clone(),
            tree: tree.to_string().parse().expect("a tree"),
            verdict,
            doubt: None,
            left_out: Vec::new(),
            unrun: Vec::new(),
            setup: None,
            test: None,
            signal: None,
            counts: Some(TestCounts { passed: 3, failed, skipped: 0 }),
            failing: (0..failed).map(|n| format!("test_{n}_{key}")).collect(),
            tail: format!("boom in {key}"),
            image: None,
            sandbox: "none".to_owned(),
            network: Default::default(),
            scrutiny: None,
            artifacts: Vec::new(),
        }))
    }
}

fn oid(text: &str) -> Oid {
    Oid::from_str(text).expect("an object's name")
}

fn said(text: &str) -> AgentRun {
    AgentRun {
        result: Some(text.to_owned()),
        session_id: Some("s1".to_owned()),
        usage: AgentUsage { input_tokens: 10, output_tokens: 5, usd: 0.01 },
        duration_seconds: 3.0,
        ..AgentRun::default()
    }
}

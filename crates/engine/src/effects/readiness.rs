//! What this machine and the settings need before work begins: agents with their programs and credentials, command
//! templates, a sandbox, something to verify with, a budget.

use std::collections::{BTreeMap, BTreeSet};

use super::EffectContext;
use super::preflight::{PATIENCE, PreflightReport};
use journeyman_agent::{Invocation, Runtime, built_in, command_name, dropped_placeholders};
use journeyman_order::EffectError;
use journeyman_order::moves::{AgentTask, Retry};
use journeyman_order::pipeline::{Check, Stage, StageKind};
use journeyman_sandbox::Sandbox;

const BESIDE_STAGES: [&str; 7] =
    ["answer", "answer_words", "create_commit", "diagnose", "examine_again", "find_plan_file", "resolve"];

const REVIEW: &str = "review";

impl EffectContext {
    pub(super) async fn readiness(&self) -> PreflightReport {
        let (mut found, mut tests) = (PreflightReport::default(), PreflightReport::default());
        let programs = async {
            self.agents(&mut found).await;
            self.commands(&mut found).await;
            self.replaced(&mut found).await;
        };
        let ((), walls, ()) = tokio::join!(programs, self.parts.sandbox.check(), self.tests(&mut tests));
        if let Err(error) = walls {
            found.problem(format!("The sandbox cannot be used: {error}."));
        }
        found.join(tests);
        self.budget(&mut found);
        found
    }

    fn stages(&self) -> &[Stage] {
        &self.journal.pipeline().stages
    }

    fn needed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut needed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for stage in self.stages() {
            for (_, role) in stage.roles() {
                needed.entry(self.agent_for(role)).or_default().insert(role.to_owned());
            }
            if stage.agent.is_none() && has_worker(stage) {
                needed.entry(self.agent_for("")).or_default().insert(String::new());
            }
        }
        needed
    }

    fn agent_for(&self, role: &str) -> String {
        self.journal.agent_for(role, &self.projection.trace.request, &self.settings())
    }

    async fn agents(&self, found: &mut PreflightReport) {
        for (name, roles) in self.needed() {
            let list: Vec<&str> = roles.iter().map(String::as_str).filter(|role| !role.is_empty()).collect();
            match self.parts.agents.get(&name) {
                Err(error) => {
                    let by = if list.is_empty() {
                        "The pipeline".to_owned()
                    } else {
                        format!("The pipeline (for {})", list.join(", "))
                    };
                    found.problem(format!("{by} needs an agent that is not there: {error}."));
                }
                Ok(Runtime::Program(program)) => {
                    let environment = &self.parts.settings.lookup();
                    let invocation = program.invocation(&AgentTask::default(), None, "", environment);
                    let missing = missing_for_agent(&name, &invocation, &self.parts.sandbox);
                    missing.into_iter().for_each(|problem| found.problem(problem));
                }
                Ok(Runtime::Api(api)) => {
                    let key = api.key(&self.parts.settings.lookup());
                    if let Some(why) = api.refused_key(&key, PATIENCE).await {
                        found.problem(format!("The agent {name} cannot work: {why}."));
                    }
                }
            }
        }
    }

    async fn commands(&self, found: &mut PreflightReport) {
        let mut wanted: BTreeMap<String, String> = BTreeMap::new();
        for stage in self.stages() {
            for command in self.commands_of(stage) {
                wanted.entry(command).or_insert_with(|| stage.name.clone());
            }
        }
        for (command, stage) in wanted {
            // A template that cannot be read now is retried when the agent runs.
            if let Err(trouble) = self.template(&command).await
                && trouble.retry == Retry::Never
            {
                found.problem(format!(
                    "Stage {stage}: {}; add .github/journeyman/commands/{command}.md, or name another command.",
                    trouble.message
                ));
            }
        }
    }

    /// Warns of templates and roles that replace ours, and refuses a template that omits what ours requires.
    async fn replaced(&self, found: &mut PreflightReport) {
        for role in self.journal.prepared().into_iter().flat_map(|known| known.roles.keys()) {
            if self.opened().roles.contains_key(role) {
                found.warn(format!(
                    "The repository's .github/journeyman/agents/{role}.yaml replaces Journeyman's role {role}."
                ));
            }
        }
        // With the number of arguments each gets.
        let mut used: BTreeMap<String, usize> = BTreeMap::new();
        for stage in self.stages() {
            for name in self.journal.pipeline().commands_of(stage) {
                let given = used.entry(name.to_owned()).or_default();
                *given = stage.arguments.len().max(*given);
            }
        }
        let reviews = self.stages().iter().flat_map(|stage| self.commands_of(stage));
        for command in reviews.chain(BESIDE_STAGES.map(str::to_owned)) {
            let name = command_name(&command).map(str::to_owned);
            used.extend(name.ok().filter(|name| !used.contains_key(name)).map(|name| (name, usize::MAX)));
        }
        for (name, given) in used {
            if built_in(&name).is_none() {
                continue;
            }
            match self.own_template(&name).await {
                Ok(Some((file, text))) => {
                    let dropped = dropped_placeholders(&name, &text, given);
                    match dropped.is_empty() {
                        true => found.warn(format!("{file} replaces Journeyman's template {name}.")),
                        false => found.problem(format!(
                            "{file} replaces Journeyman's template {name} without {}, so the agent would not see \
                             what Journeyman fills in there: add it to the file, or $ARGUMENTS, or rename the file; \
                             docs/COMMANDS.md says what each placeholder is.",
                            dropped.join(", ")
                        )),
                    }
                }
                Err(trouble) if trouble.retry == Retry::Never => {
                    found.problem(format!("{}.", trouble.message))
                }
                // A template that cannot be read now is retried when the agent runs.
                Ok(None) | Err(_) => {}
            }
        }
    }

    fn commands_of(&self, stage: &Stage) -> Vec<String> {
        let mut commands = Vec::new();
        if has_worker(stage) {
            let named = self.journal.pipeline().commands_of(stage);
            commands.extend(named.into_iter().map(str::to_owned));
        }
        if stage.checks.contains(&Check::Verifier) && stage.max_adversarial_rounds > 0 {
            for role in stage.verifier.roles() {
                let own = self.journal.role(role).and_then(|role| role.review_command.clone());
                commands.push(own.unwrap_or_else(|| REVIEW.to_owned()));
            }
        }
        commands
    }

    /// Whether there is something to verify with, as a test run would detect it on the base commit.
    async fn tests(&self, found: &mut PreflightReport) {
        let tests = |stage: &Stage| stage.uses == StageKind::Tests || stage.checks.contains(&Check::Tests);
        if !self.stages().iter().any(tests) {
            return;
        }
        // The programs in an image do not matter for this, so no image is pulled.
        let plan = async {
            let source = self.source(&self.base()?).await?;
            Ok::<_, EffectError>(self.parts.environments.plan_on(self.settings(), source, None).await?)
        };
        match plan.await {
            Ok(plan) if plan.test.is_none() => found.warn(
                "No test command was found on the base branch, so the result will be unverified: name one as \
                 test: in .github/journeyman.yml.",
            ),
            Ok(_) => {}
            Err(trouble) => {
                tracing::warn!(order = %self.order, message = trouble.message, "the test command is not known");
            }
        }
    }

    fn budget(&self, found: &mut PreflightReport) {
        let usd = self.projection.budget.usd_limit;
        if usd.is_nan() || usd <= 0.0 {
            found.problem(format!(
                "The order may spend ${usd:.2}, which is nothing: raise limits.order_usd in journeyman.toml, or \
                 budget.usd in .github/journeyman.yml."
            ));
        }
    }
}

/// What an agent's program needs and this machine lacks, each with the fix.
pub fn missing_for_agent(name: &str, invocation: &Invocation, sandbox: &Sandbox) -> Vec<String> {
    let mut problems = Vec::new();
    let first = invocation.executable();
    if !sandbox.has(first) {
        problems.push(format!(
            "The program {first:?} of the agent {name} was not found: install it, or say in agents.{name}.program where it \
             is."
        ));
    }
    for path in invocation.reads.iter().filter(|path| !path.exists()) {
        problems.push(format!(
            "The agent {name} needs {}, which is not there: look at agents.{name}.read.",
            path.display()
        ));
    }
    let missing = invocation.missing_credentials();
    if !missing.is_empty() {
        let each = if missing.len() > 1 { "none of them is" } else { "it is not" };
        problems.push(format!(
            "The agent {name} has no credential: agents.{name}.env asks for {}, and {each} set in Journeyman's environment; \
             set one and start Journeyman again.",
            missing.join(", ")
        ));
    }
    problems
}

fn has_worker(stage: &Stage) -> bool {
    match stage.uses {
        StageKind::Agent | StageKind::Examine | StageKind::Branch | StageKind::Publish => true,
        StageKind::Archive => stage.agent.is_some(),
        StageKind::Tests | StageKind::Verify | StageKind::Ready => false,
    }
}

//! The environment, before an agent is paid: prepared, and the tests run in it once. What does not work is told with what to
//! change, and costs nobody a round.

use super::{EffectContext, EffectResult};
use crate::environment::PlanFault;
use crate::environment_survey::EnvironmentSurvey;
use crate::testing::{BaselineSource, TestRunRequest};
use journeyman_order::EffectOutcome;

impl EffectContext {
    pub(super) async fn prepare_environment(&self) -> EffectResult {
        self.bring_large_files(vec![self.base()?]).await?;
        let (ask, images) = match self.environment_request().await {
            Ok(planned) => planned,
            Err(PlanFault::Problem(problem)) => {
                let survey = EnvironmentSurvey::without_plan(problem);
                return Ok(EffectOutcome::EnvironmentPrepared(Box::new(survey.report)));
            }
            Err(PlanFault::Trouble(trouble)) => return Err(trouble),
        };
        let (base, at) = (ask.commit.clone(), ask.commit.clone());
        let tree = self.git(move |workspaces, repository| workspaces.tree_of(repository, &at)).await?;
        let request = self.test_request((base.clone(), self.is_on_the_default_branch()), &base, tree);
        let tests = TestRunRequest { images: images.clone(), ..request };
        let testing = self.tester();
        let surveyed = Box::pin(testing.survey_in(&ask, images, &tests, BaselineSource::KnownOrRun)).await;
        let survey = match surveyed {
            Ok(survey) => survey,
            Err(trouble) => return Err(self.after_trouble(trouble).await),
        };
        if let Some(printed) = &survey.setup_failure {
            let artifact = format!("{}-setup.log", self.key.file_name());
            let text = printed.text.as_bytes();
            self.parts.store.put_artifact(self.order, &artifact, "text/plain", text).await?;
        }
        Ok(EffectOutcome::EnvironmentPrepared(Box::new(survey.report)))
    }
}

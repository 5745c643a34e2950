//! A repository that has moved is found again, even if an installation denies access.

use std::collections::BTreeMap;

use journeyman_emulator::{Fault, FaultKind, RepositorySource};
use journeyman_order::conversation::CheckRunState;
use journeyman_order::moves::Retry;
use journeyman_order::{EffectError, EffectOutcome, Move};

use super::{EffectsFixture, REPOSITORY};

impl EffectsFixture {
    /// An account with its own repository and installation. Installations are listed by repository name.
    async fn another_account(&self, repository: &str) -> u64 {
        let nothing = RepositorySource::Files(BTreeMap::new());
        self.emulator.create_repository(repository, nothing).await.expect("a repository");
        let (owner, _) = repository.split_once('/').expect("a name");
        self.emulator.install_apart(owner)
    }

    /// As if it were suspended or deleted at this moment, or had a list of allowed addresses.
    fn lets_nobody_in(&self, installation: u64, code: u16) {
        let body = "{\"message\": \"no\"}".to_owned();
        self.emulator.inject(Fault {
            method: Some("POST".to_owned()),
            path_contains: format!("/app/installations/{installation}/access_tokens"),
            times: 1_000,
            kind: FaultKind::Status { code, headers: Vec::new(), body },
        });
    }

    async fn shows_a_check(&self) -> EffectOutcome {
        let show = Move::ShowCheck { head: self.base().await, state: CheckRunState::InProgress };
        self.attempt("check/1", show).await
    }

    async fn trouble(&self) -> EffectError {
        match self.shows_a_check().await {
            EffectOutcome::Trouble(trouble) => trouble,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_lets_nobody_in_hides_no_repository_of_another() {
    for code in [401, 403, 404, 451] {
        let world = EffectsFixture::new().await;
        let closed = world.another_account("aaa/closed").await;
        world.lets_nobody_in(closed, code);
        world.emulator.rename_repository(REPOSITORY, "acme/totals").await.expect("it is free");
        let trouble = world.trouble().await;
        assert_eq!(trouble.retry, Retry::Soon, "{code}: {}", trouble.message);
        assert_eq!(world.shows_a_check().await, EffectOutcome::Done, "{code}");

        // A refusal at the repository's own place is final, whichever installation cannot be asked.
        let refusal = FaultKind::Status { code: 422, headers: Vec::new(), body: "{}".to_owned() };
        let pushed = world.emulator.push_commit("acme/totals", "main", "mona", "Go on", [].into()).await;
        let head = pushed.expect("a commit").parse().expect("a SHA");
        world.strike("POST", "/check-runs", refusal);
        let outcome = world.attempt("check/2", Move::ShowCheck { head, state: CheckRunState::Success }).await;
        let EffectOutcome::Trouble(trouble) = outcome else { panic!("{outcome:?}") };
        assert_eq!(trouble.retry, Retry::Never, "{code}: {}", trouble.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_may_be_where_nobody_is_let_in_is_waited_for() {
    for code in [401, 403, 404, 418, 451, 503] {
        let world = EffectsFixture::new().await;
        world
            .emulator
            .create_repository("acme/other", RepositorySource::Files(BTreeMap::new()))
            .await
            .expect("one");
        let closed = world.another_account("zeta/closed").await;
        world.lets_nobody_in(closed, code);
        world.emulator.rename_repository(REPOSITORY, "zeta/totals").await.expect("it is free");
        let trouble = world.trouble().await;
        assert_eq!(trouble.retry, Retry::Outage, "{code}: {}", trouble.message);

        world.emulator.clear_faults();
        assert_eq!(world.trouble().await.retry, Retry::Soon, "{code}: it is seen where it is");
        assert_eq!(world.shows_a_check().await, EffectOutcome::Done, "{code}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_its_own_installation_lets_nobody_in_a_repository_is_waited_for() {
    for code in [403, 404, 451] {
        let world = EffectsFixture::new().await;
        world.lets_nobody_in(world.emulator.installation_id(), code);
        let trouble = world.trouble().await;
        assert_eq!(trouble.retry, Retry::Outage, "{code}: {}", trouble.message);

        world.emulator.clear_faults();
        assert_eq!(world.shows_a_check().await, EffectOutcome::Done, "{code}");
    }
}

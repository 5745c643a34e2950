//! What is asked of GitHub again and again while deliveries are taken in, and remembered for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use journeyman_order::RepositoryId;
use journeyman_webhook::AppIdentity;

#[derive(Debug, Default)]
pub(super) struct IntakeCache {
    /// Who we are. Kept until the end: whoever renames the App starts us again.
    pub(super) identity: OnceCell<AppIdentity>,
    /// The label that a repository names, for a minute: a flood of labels is not a flood of questions.
    pub(super) labels: LabelCache,
}

#[derive(Debug, Default)]
pub(super) struct LabelCache(Mutex<BTreeMap<RepositoryId, (Instant, Option<String>)>>);

impl LabelCache {
    const KEPT: Duration = Duration::from_secs(60);

    pub(super) fn get(&self, repository: RepositoryId) -> Option<Option<String>> {
        let labels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        labels
            .get(&repository)
            .filter(|(since, _)| since.elapsed() < Self::KEPT)
            .map(|(_, label)| label.clone())
    }

    pub(super) fn put(&self, repository: RepositoryId, label: Option<String>) {
        let mut labels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        labels.retain(|_, (since, _)| since.elapsed() < Self::KEPT);
        labels.insert(repository, (Instant::now(), label));
    }
}

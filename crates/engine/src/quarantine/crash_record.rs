//! What may have ended the server, and how often it did: as it stands in a small file each.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use journeyman_order::{DeliveryGuid, InstallationId, MoveKey, OrderId, RepositoryId};

/// So many deaths may be somebody else's fault.
pub(super) const BESIDE_OTHERS: u32 = 2;
/// So many deaths while nothing else was under way are its own.
pub(super) const ALONE: u32 = 3;
/// So many are too many, whoever was beside it.
pub(super) const AT_MOST: u32 = 10;
/// So many, where it lasted long before each of them.
pub(super) const LATE: u32 = 20;
/// What was cut off and never begun again since is forgotten.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A file that was written so much later than now.
const CLOCK_AHEAD: Duration = Duration::from_secs(60 * 60);
/// What is done again and again, and what somebody asks for, is tried again after a day.
const KEPT_OF_WHAT_COMES_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a path that stand for themselves.
const LONGEST_PATH: usize = 200;

/// What may have ended the server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CrashSuspect {
    /// Reading an order's journal, and telling from it how things stand.
    Journal(OrderId),
    Effect(OrderId, MoveKey),
    /// Taking in deliveries, of which nobody knows yet which.
    Intake,
    Delivery(DeliveryGuid),
    Housekeeping(HousekeepingStep),
    /// Reading GitHub's list of deliveries.
    DeliveryList,
    /// Fetching one that did not come.
    MissedDelivery(DeliveryGuid),
    /// Reading which installations the App has, or which repositories one of them includes.
    RepositoryList(Option<InstallationId>),
    /// Looking for what no delivery told of.
    MissedEvents(RepositoryId),
    Trace(OrderId),
    /// Answering whoever asks for this path.
    Page(String),
}

/// What is gone through from one end to the other, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackgroundPass {
    Housekeeping,
    Reconcile,
    MissedEvents,
    Traces,
}

/// What is taken away, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HousekeepingStep {
    OrderFolders,
    Artifacts,
    Orders,
    ArtifactFiles,
    DeliveryBodies,
    Deliveries,
    Database,
    Mirrors,
}

impl CrashSuspect {
    /// By its path and what is asked for there.
    pub(crate) fn page(asked: &str) -> Self {
        if asked.len() <= LONGEST_PATH {
            return Self::Page(asked.to_owned());
        }
        Self::Page(hex::encode(Sha256::digest(asked)))
    }

    pub(super) fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    pub(super) fn order(&self) -> Option<OrderId> {
        match self {
            Self::Journal(order) | Self::Effect(order, _) => Some(*order),
            Self::Intake
            | Self::Delivery(_)
            | Self::Housekeeping(_)
            | Self::DeliveryList
            | Self::MissedDelivery(_)
            | Self::RepositoryList(_)
            | Self::MissedEvents(_)
            | Self::Trace(_)
            | Self::Page(_) => None,
        }
    }

    pub(super) fn pass(&self) -> Option<BackgroundPass> {
        match self {
            Self::Housekeeping(_) => Some(BackgroundPass::Housekeeping),
            Self::DeliveryList | Self::MissedDelivery(_) => Some(BackgroundPass::Reconcile),
            Self::RepositoryList(_) | Self::MissedEvents(_) => Some(BackgroundPass::MissedEvents),
            Self::Trace(_) => Some(BackgroundPass::Traces),
            Self::Journal(_) | Self::Effect(..) | Self::Intake | Self::Delivery(_) | Self::Page(_) => None,
        }
    }

    /// Whether it has to come before the other can begin.
    pub(super) fn leads_to(&self, other: &Self) -> bool {
        match self {
            Self::Journal(order) => other.order() == Some(*order),
            Self::Effect(..) | Self::Intake | Self::Delivery(_) | Self::Page(_) => false,
            // What was missed is taken in before what came, and is looked for after it.
            Self::DeliveryList | Self::MissedDelivery(_) => {
                let comes_after = [Some(BackgroundPass::Reconcile), Some(BackgroundPass::MissedEvents)];
                *other == Self::Intake || comes_after.contains(&other.pass())
            }
            Self::Housekeeping(_) | Self::RepositoryList(_) | Self::MissedEvents(_) | Self::Trace(_) => {
                self.pass() == other.pass()
            }
        }
    }

    /// How long it is known what became of it.
    fn kept(&self) -> Duration {
        let comes_again = self.pass().is_some() || matches!(self, Self::Page(_));
        if comes_again { KEPT_OF_WHAT_COMES_AGAIN } else { KEPT }
    }

    /// Where its record is.
    pub(super) fn file(&self, folder: &Path) -> PathBuf {
        let name = serde_json::to_vec(self).unwrap_or_default();
        folder.join(hex::encode(Sha256::digest(name).get(..16).unwrap_or_default()))
    }
}

/// How often the server died while one thing was under way, and in whose company.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CrashRecord {
    pub(super) of: CrashSuspect,
    pub(super) deaths: u32,
    pub(super) alone: u32,
    /// Deaths after it had been alone for long and others were let in.
    pub(super) late: u32,
    pub(super) under_way: Option<CrashCompany>,
    /// The machine's start that it is of: a machine that ends is nobody's fault.
    pub(super) boot: String,
    /// How many of it are under way at once.
    #[serde(skip)]
    pub(super) at_once: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CrashCompany {
    Alone,
    Others,
    /// It was alone for long, and the server did not die of it.
    LaterOthers,
}

impl CrashRecord {
    pub(super) fn new(of: CrashSuspect) -> Self {
        Self { of, deaths: 0, alone: 0, late: 0, under_way: None, boot: boot(), at_once: 0 }
    }

    /// Reads one; none where it is none, or too old to mean anything.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let record: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        (!record.is_old(path)).then_some(record)
    }

    /// Whether nothing was added to it for so long that it is tried anew.
    pub(super) fn is_old(&self, path: &Path) -> bool {
        let written = path.metadata().and_then(|file| file.modified()).ok();
        // Of a clock that was ahead nothing is known.
        written.is_none_or(|at| match at.elapsed() {
            Ok(age) => age >= self.of.kept(),
            Err(ahead) => ahead.duration() >= CLOCK_AHEAD,
        })
    }

    /// Counts the death of the server that kept it. Whether it was under way.
    pub(super) fn died(&mut self) -> bool {
        let Some(company) = self.under_way.take() else { return false };
        let now = boot();
        if self.boot != now {
            self.boot = now;
            return false;
        }
        match company {
            CrashCompany::Alone => (self.deaths, self.alone) = (self.deaths + 1, self.alone + 1),
            CrashCompany::Others => self.deaths += 1,
            CrashCompany::LaterOthers => self.late += 1,
        }
        true
    }

    /// Whether the server died while it was under way, and more than once.
    pub(super) fn is_doubted(&self) -> bool {
        self.deaths >= BESIDE_OTHERS
    }

    /// Nobody waits for a page: it comes when somebody asks for it.
    pub(super) fn is_suspect(&self) -> bool {
        !self.of.is_page() && self.is_doubted()
    }

    /// The intake itself is never given up: each delivery is looked at by itself then. A page is never alone. What it was
    /// beside twice is tried without it first, and another page that may be to blame is not shown beside it: a third death is
    /// most likely its own.
    pub(super) fn is_guilty(&self) -> bool {
        if self.of.is_page() {
            return self.deaths > BESIDE_OTHERS;
        }
        let is_too_much = self.alone >= ALONE || self.deaths >= AT_MOST || self.late >= LATE;
        self.of != CrashSuspect::Intake && is_too_much
    }

    /// Something else is to blame: it has to be alone as often again.
    pub(super) fn clear(&mut self) {
        (self.deaths, self.alone, self.late) = (self.deaths.min(BESIDE_OTHERS), 0, 0);
    }

    /// Written whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        let path = self.of.file(folder);
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec(self)?)?;
        std::fs::rename(&new, &path)
    }
}

impl fmt::Display for CrashRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deaths = self.deaths + self.late;
        write!(
            out,
            "the server died {deaths} times while this was under way, {} times with nothing beside it",
            self.alone
        )
    }
}

/// Another one after each start of the machine.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

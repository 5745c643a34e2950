//! What can happen at a step.

use std::time::Duration;

use super::chance::Chance;

/// A fault.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// The process dies before the step, and is down for this long.
    DieBefore { down: Duration },
    /// The step is done, but the process dies before it hears of it.
    DieAfter { down: Duration },
    /// The process gets SIGTERM, and is started again.
    Terminate { down: Duration },
    /// GitHub answers wrongly.
    GitHub { answer: FaultyAnswer, applied: bool, times: u32 },
    /// GitHub is unreachable for this long.
    Outage { lasts: Duration },
    /// The database refuses everything for this long.
    StoreRefuses { lasts: Duration },
    /// A commit succeeds, and its caller is told that it failed.
    CommitUnheard,
    /// A webhook does not arrive.
    HookLost,
    /// A webhook arrives twice.
    HookTwice,
    /// A webhook arrives again under another GUID.
    HookUnderTwoGuids,
    /// A webhook arrives later than those after it.
    HookLate { by: Duration },
}

/// The kinds, all equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FateKind {
    DieBefore,
    DieAfter,
    Terminate,
    GitHubBefore,
    GitHubAfter,
    Outage,
    StoreRefuses,
    CommitUnheard,
    HookLost,
    HookTwice,
    HookUnderTwoGuids,
    HookLate,
}

impl FateKind {
    pub(super) const ALL: [Self; 16] = [
        Self::DieBefore,
        Self::DieAfter,
        Self::GitHubBefore,
        Self::GitHubAfter,
        Self::DieBefore,
        Self::DieAfter,
        Self::GitHubBefore,
        Self::GitHubAfter,
        Self::Terminate,
        Self::Outage,
        Self::StoreRefuses,
        Self::CommitUnheard,
        Self::HookLost,
        Self::HookTwice,
        Self::HookUnderTwoGuids,
        Self::HookLate,
    ];
}

impl Fate {
    pub(super) fn of(kind: FateKind, chance: &mut Chance) -> Self {
        let down = Duration::from_secs([1, 5, 40, 400][chance.below(4) as usize]);
        let github = |chance: &mut Chance, applied| Self::GitHub {
            answer: FaultyAnswer::ALL[chance.below(FaultyAnswer::ALL.len() as u64) as usize],
            applied,
            times: [1, 1, 2, 5][chance.below(4) as usize],
        };
        match kind {
            FateKind::DieBefore => Self::DieBefore { down },
            FateKind::DieAfter => Self::DieAfter { down },
            FateKind::Terminate => Self::Terminate { down },
            FateKind::GitHubBefore => github(chance, false),
            FateKind::GitHubAfter => github(chance, true),
            FateKind::Outage => {
                let lasts = [60, 60, 60, 60, 60, 60, 1_800, 1_800, 1_800, 21_600][chance.below(10) as usize];
                Self::Outage { lasts: Duration::from_secs(lasts) }
            }
            FateKind::StoreRefuses => {
                Self::StoreRefuses { lasts: Duration::from_secs([1, 10, 120][chance.below(3) as usize]) }
            }
            FateKind::CommitUnheard => Self::CommitUnheard,
            FateKind::HookLost => Self::HookLost,
            FateKind::HookTwice => Self::HookTwice,
            FateKind::HookUnderTwoGuids => Self::HookUnderTwoGuids,
            FateKind::HookLate => Self::HookLate { by: Duration::from_secs(30 + chance.below(90)) },
        }
    }

    /// The name in the table.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::DieBefore { .. } => "dies before",
            Self::DieAfter { .. } => "dies after",
            Self::Terminate { .. } => "SIGTERM",
            Self::GitHub { applied: false, .. } => "faulty answer",
            Self::GitHub { applied: true, .. } => "faulty answer, applied",
            Self::Outage { .. } => "outage",
            Self::StoreRefuses { .. } => "store refuses",
            Self::CommitUnheard => "commit unheard",
            Self::HookLost => "lost",
            Self::HookTwice => "twice",
            Self::HookUnderTwoGuids => "two GUIDs",
            Self::HookLate { .. } => "late",
        }
    }
}

/// How GitHub or a proxy in between answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultyAnswer {
    Cut,
    Silence,
    Status(u16),
    /// 403 with `retry-after`.
    SecondaryLimit,
    /// 429 with `retry-after`.
    TooMany,
    /// 403 with `x-ratelimit-remaining: 0` and a reset.
    PrimaryLimit,
    /// 200 with a proxy's page.
    Page,
    /// 200 without a body.
    Empty,
    /// 200 with half a body.
    Half,
    /// 200 with JSON of another shape.
    OtherShape,
}

impl FaultyAnswer {
    /// Each before and after the request takes effect: 36.
    pub(super) const ALL: [Self; 18] = [
        Self::Cut,
        Self::Silence,
        Self::Status(401),
        Self::Status(403),
        Self::Status(404),
        Self::Status(409),
        Self::Status(422),
        Self::Status(500),
        Self::Status(502),
        Self::Status(503),
        Self::Status(504),
        Self::SecondaryLimit,
        Self::TooMany,
        Self::PrimaryLimit,
        Self::Page,
        Self::Empty,
        Self::Half,
        Self::OtherShape,
    ];

    /// Whether GitHub refuses the request by it. Then an order may end with a message that says so.
    pub(super) fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Status(401 | 403 | 404 | 409 | 422)
                | Self::Page
                | Self::Empty
                | Self::Half
                | Self::OtherShape
        )
    }
}

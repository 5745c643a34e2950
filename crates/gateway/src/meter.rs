//! Counts what a job's model costs and stops it when the budget is spent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use super::egress_log::harmless;
use super::usage::{BYTES_OF_A_TOKEN, ReportedUsage};
use journeyman_order::network::{MeteredTokens, ModelUsageRecord};

/// Assumed output per second, hidden thinking included, when an answer is dropped before its usage arrives. Otherwise a
/// job could avoid the cost by hanging up early.
const TOKENS_OF_A_SECOND: u64 = 100;

/// Limits on a job's use of its model. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GatewayBudget {
    pub usd: Option<f64>,
    /// Tokens read and written, including cached ones.
    pub tokens: Option<u64>,
    pub requests: Option<u64>,
}

/// The cost of a model's tokens in dollars, or `None` if unknown: then a budget in dollars cannot be enforced and the
/// gateway refuses the model. A function may return an estimate instead, and 0 for a self-hosted model.
pub type PriceLookup = Arc<dyn Fn(&str, &MeteredTokens) -> Option<f64> + Send + Sync>;

/// The meter of one job.
pub(super) struct Meter {
    budget: GatewayBudget,
    price: PriceLookup,
    state: Mutex<MeterState>,
    exhausted: watch::Sender<Option<String>>,
}

#[derive(Default)]
struct MeterState {
    next: u64,
    settled: MeteredUsage,
    requests: u64,
    failed: u64,
    estimated: u64,
    running: BTreeMap<u64, MeteredUsage>,
}

/// The usage of one or more requests.
#[derive(Debug, Clone, Default)]
struct MeteredUsage {
    tokens: MeteredTokens,
    usd: f64,
    /// A model that answered but has no price.
    unpriced: Option<String>,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BudgetRefusal {
    /// This part of the budget is spent.
    Spent(String),
    /// The budget is in dollars, and this model's price is unknown.
    Unpriced(String),
}

/// A request that was passed on. Dropping it before it ends counts as broken off.
pub(super) struct MeteredRequest {
    meter: Arc<Meter>,
    id: u64,
    began: Instant,
    ended: bool,
    /// The requested model.
    asked: Option<String>,
    told: ReportedUsage,
    read: u64,
}

impl fmt::Debug for Meter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Meter").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Meter {
    pub(super) fn new(budget: GatewayBudget, price: PriceLookup) -> Self {
        Self { budget, price, state: Mutex::default(), exhausted: watch::Sender::new(None) }
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits one more request to this model, with a body of `bytes` bytes.
    ///
    /// # Errors
    /// When the budget is spent or cannot be enforced for this model.
    pub(super) fn begin(
        self: &Arc<Self>,
        asked: Option<String>,
        bytes: usize,
    ) -> Result<MeteredRequest, BudgetRefusal> {
        let mut state = self.state();
        // Once reported it stays exhausted, even if an estimate turns out too high.
        let known = self.exhausted.borrow().clone();
        if let Some(why) = known.or_else(|| self.spent(&state)) {
            self.exhausted.send_if_modified(|known| known.replace(why.clone()).is_none());
            return Err(BudgetRefusal::Spent(why));
        }
        // The input of concurrent requests counts before they are answered.
        let read = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_OF_A_TOKEN;
        let told = ReportedUsage::default();
        let count =
            self.priced(&told, asked.as_deref(), MeteredTokens { input: read, ..MeteredTokens::default() });
        if let (Some(model), Some(_)) = (&count.unpriced, self.budget.usd) {
            return Err(BudgetRefusal::Unpriced(model.clone()));
        }
        let id = state.next;
        state.next = state.next.wrapping_add(1);
        state.requests = state.requests.saturating_add(1);
        state.running.insert(id, count);
        Ok(MeteredRequest {
            meter: Arc::clone(self),
            id,
            began: Instant::now(),
            ended: false,
            asked,
            told,
            read,
        })
    }

    fn spent(&self, state: &MeterState) -> Option<String> {
        let all = state.all();
        let GatewayBudget { usd, tokens, requests } = self.budget;
        if let Some(most) = requests.filter(|most| state.requests >= *most) {
            return Some(format!("{} of {most} requests are used", state.requests));
        }
        if let Some(most) = tokens.filter(|most| all.tokens.all() >= *most) {
            return Some(format!("{} of {most} tokens are used", all.tokens.all()));
        }
        let most = usd?;
        // Written so that NaN counts as spent.
        let left = all.usd < most;
        (!left).then(|| format!("${:.2} of ${most:.2} are spent", all.usd))
    }

    pub(super) fn metered(&self) -> ModelUsageRecord {
        let state = self.state();
        let all = state.all();
        ModelUsageRecord {
            requests: state.requests,
            failed: state.failed,
            estimated: state.estimated,
            tokens: all.tokens,
            usd: all.unpriced.is_none().then_some(all.usd),
            exhausted: self.exhausted.borrow().clone(),
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.exhausted.subscribe()
    }

    /// Priced by the model in the answer; if that has no price, by the requested one.
    fn priced(&self, told: &ReportedUsage, asked: Option<&str>, tokens: MeteredTokens) -> MeteredUsage {
        let price = |model: &str| (self.price)(model, &tokens).filter(|usd| usd.is_finite() && *usd >= 0.0);
        let names = [told.model.as_deref(), asked];
        match names.into_iter().flatten().find_map(price) {
            Some(usd) => MeteredUsage { tokens, usd, unpriced: None },
            None => {
                let named = names.into_iter().flatten().find(|name| !name.is_empty());
                let named = named.unwrap_or("a model that is not named");
                MeteredUsage { tokens, usd: 0.0, unpriced: Some(harmless(named)) }
            }
        }
    }
}

impl MeterState {
    fn all(&self) -> MeteredUsage {
        self.running.values().fold(self.settled.clone(), |all, one| all.and(one.clone()))
    }
}

impl MeteredUsage {
    fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            usd: self.usd + other.usd,
            unpriced: self.unpriced.or(other.unpriced),
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestEnding {
    /// The service refused it or could not be reached: it costs nothing.
    Refused,
    /// The answer was complete.
    Whole,
    /// The answer broke off, or the client stopped reading.
    BrokenOff,
}

impl MeteredRequest {
    /// Updates the usage reported so far.
    pub(super) fn saw(&mut self, told: &ReportedUsage) {
        let changed = told.tokens != self.told.tokens;
        self.told.clone_from(told);
        if changed {
            let count = self.meter.priced(&self.told, self.asked.as_deref(), self.so_far(&self.told));
            self.meter.state().running.insert(self.id, count);
        }
    }

    pub(super) fn end(mut self, ending: RequestEnding) {
        self.settle(ending);
    }

    /// The tokens that count until the service reports the final usage.
    fn so_far(&self, told: &ReportedUsage) -> MeteredTokens {
        let input = if told.tokens.read() == 0 { self.read } else { told.tokens.input };
        MeteredTokens { input, ..told.tokens }
    }

    fn settle(&mut self, ending: RequestEnding) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let estimated = ending != RequestEnding::Refused && !self.told.is_final;
        let mut tokens = self.told.tokens;
        if estimated {
            tokens = self.so_far(&self.told);
            tokens.output = tokens.output.max(self.told.letters / BYTES_OF_A_TOKEN);
            if ending == RequestEnding::BrokenOff {
                let seconds = self.began.elapsed().as_secs();
                tokens.output = tokens.output.max(seconds.saturating_mul(TOKENS_OF_A_SECOND));
            }
        }
        let count = match ending {
            RequestEnding::Refused => MeteredUsage::default(),
            RequestEnding::Whole | RequestEnding::BrokenOff => {
                self.meter.priced(&self.told, self.asked.as_deref(), tokens)
            }
        };
        let mut state = self.meter.state();
        state.running.remove(&self.id);
        state.settled = std::mem::take(&mut state.settled).and(count);
        state.failed = state.failed.saturating_add(u64::from(ending != RequestEnding::Whole));
        state.estimated = state.estimated.saturating_add(u64::from(estimated));
    }
}

impl Drop for MeteredRequest {
    fn drop(&mut self) {
        self.settle(RequestEnding::BrokenOff);
    }
}

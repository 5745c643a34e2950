//! Counters for `GET /metrics`, updated where things happen: ends, durations, costs, limits. Values that can be read
//! from the store at any time are not counted here.
//!
//! May know: names from the settings or this program. Must never know: names of issues, repositories and people. Each
//! name would become a series of its own, and everyone with the token sees the numbers.
//!
//! One set of counters per process, as in Prometheus' own libraries. They start at 0 with the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, String)>;
type Counts = Family<Labels, Counter>;
type Amounts = Family<Labels, Counter<f64, AtomicU64>>;
type Levels = Family<Labels, Gauge>;
type Durations = Family<Labels, Histogram, fn() -> Histogram>;

pub fn metrics() -> &'static ServerMetrics {
    static METRICS: LazyLock<ServerMetrics> = LazyLock::new(ServerMetrics::new);
    &METRICS
}

/// The end and the usage of one agent run.
#[derive(Debug, Clone, Copy)]
pub struct CountedAgentRun<'a> {
    pub agent: &'a str,
    /// The model in its settings, or empty.
    pub model: &'a str,
    /// `done`, or the kind of its failure.
    pub end: &'static str,
    pub seconds: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub usd: f64,
}

/// Declares each family with its help text.
macro_rules! families {
    ($($name:ident: $family:ty = $new:expr, $help:literal;)+) => {
        /// All counters. Each method counts one event.
        #[derive(Debug)]
        pub struct ServerMetrics {
            $($name: $family,)+
            stages: LabelWords,
            /// Roles name models, and repositories may define roles, so the number of names is unbounded.
            models: LabelWords,
            resources: LabelWords,
        }

        impl ServerMetrics {
            fn empty() -> Self {
                Self {
                    $($name: $new,)+
                    stages: LabelWords::default(),
                    models: LabelWords::default(),
                    resources: LabelWords::default(),
                }
            }

            /// Adds all of them to a registry that already has the prefix.
            pub fn register(&self, registry: &mut Registry) {
                $(registry.register(stringify!($name), $help, self.$name.clone());)+
            }
        }
    };
}

families! {
    orders_ended: Counts = Counts::default(), "Ends that orders came to";
    stage_seconds: Durations = long_durations(), "From the first to the last of a stage";
    round_seconds: Durations = long_durations(), "A worker's run and the checks after it";
    effect_seconds: Durations = long_durations(), "What orders had done for them";
    statements: Counts = Counts::default(),
        "Statements of examiners, by what became of them when their order ended";
    agent_runs: Counts = Counts::default(), "Runs of agents";
    agent_run_seconds: Durations = long_durations(), "How long agents' runs took";
    agent_usd: Amounts = Amounts::default(), "Dollars, as agents say, or by the prices of the settings";
    agent_tokens: Counts = Counts::default(), "Tokens, as agents say";
    github_requests: Counts = Counts::default(), "Requests to GitHub, by its answer";
    github_rate_limit: Levels = Levels::default(), "Requests an hour, as GitHub said last";
    github_rate_remaining: Levels = Levels::default(), "Requests left in the hour, as GitHub said last";
    github_pauses: Counts = Counts::default(), "Pauses that GitHub asked for";
    github_pause_seconds: Amounts = Amounts::default(), "Their length together";
    github_write_wait_seconds: Durations = short_durations(), "How long writes to GitHub waited for their turn";
    deliveries_received: Counts = Counts::default(), "Webhooks that came in";
    deliveries_concluded: Counts = Counts::default(), "What became of deliveries";
    sandbox_starts: Counts = Counts::default(), "Jobs that a sandbox was started for";
    store_write_seconds: Durations = short_durations(),
        "Transactions that wrote, from their begin until they were kept";
    store_write_failures: Counts = Counts::default(), "Transactions that were not kept";
    notifications: Counts = Counts::default(), "Outgoing notifications";
    trace_spans: Counts = Counts::default(), "Spans of traces that a collector took or left";
}

/// How orders end, in the words of the lists.
const ENDS: [&str; 12] = [
    "verified", "unverified", "unproven", "approved", "escalated", "blocked", "failed", "unprepared",
    "cancelled", "merged", "closed", "refused",
];
const RUN_ENDS: [&str; 6] =
    ["done", "unavailable", "misconfigured", "unknown_session", "limit_reached", "ended"];
/// Classes of GitHub's answers, or [`NO_ANSWER`].
const ANSWERS: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", NO_ANSWER];
const NO_ANSWER: &str = "none";

impl ServerMetrics {
    /// Creates foreseeable series at 0: `increase` misses the first event of a series that starts with it.
    fn new() -> Self {
        let metrics = Self::empty();
        let at_zero = |family: &Counts, label: &'static str, words: &[&str]| {
            for word in words {
                drop(family.get_or_create(&vec![(label, (*word).to_owned())]));
            }
        };
        at_zero(&metrics.orders_ended, "end", &ENDS);
        at_zero(&metrics.github_requests, "answer", &ANSWERS);
        at_zero(&metrics.deliveries_received, "outcome", &["new", "seen", "refused"]);
        at_zero(&metrics.deliveries_concluded, "conclusion", &["opened", "signaled", "ignored", "refused"]);
        at_zero(&metrics.sandbox_starts, "started", &["true", "false"]);
        at_zero(&metrics.notifications, "sent", &["true", "false"]);
        at_zero(&metrics.trace_spans, "sent", &["true", "false"]);
        drop(metrics.github_pauses.get_or_create(&Vec::new()));
        drop(metrics.github_pause_seconds.get_or_create(&Vec::new()));
        metrics
    }

    /// An order ended, in the word of the lists. Called again if the end changes.
    pub fn order_ended(&self, end: &str) {
        count(&self.orders_ended, vec![("end", end.to_owned())]);
    }

    pub fn stage_ended(&self, stage: &str, end: &'static str, seconds: f64) {
        let labels = vec![("stage", self.stages.word(stage)), ("end", end.to_owned())];
        self.stage_seconds.get_or_create(&labels).observe(seconds);
    }

    pub fn round_ended(&self, stage: &str, passed: bool, seconds: f64) {
        let labels = vec![("stage", self.stages.word(stage)), ("passed", passed.to_string())];
        self.round_seconds.get_or_create(&labels).observe(seconds);
    }

    /// An effect succeeded or failed: an agent run, a test run, a request to GitHub.
    pub fn effect_ended(&self, effect: &str, done: bool, took: Duration) {
        let labels = vec![("effect", effect.to_owned()), ("done", done.to_string())];
        self.effect_seconds.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// An order ended. Counts its examiner's statements by result, which is
    /// `holds`, `fails`, `disputed`, `unconfirmed`, `dropped`.
    pub fn statements_ended(&self, agent: &str, model: &str, counts: &BTreeMap<String, u64>) {
        for (verdict, count) in counts {
            let labels = vec![
                ("agent", agent.to_owned()),
                ("model", self.models.word(model)),
                ("verdict", verdict.clone()),
            ];
            self.statements.get_or_create(&labels).inc_by(*count);
        }
    }

    /// The settings name this agent and model, or a run starts. Creates its series at 0.
    pub fn expect_agent(&self, agent: &str, model: &str) {
        let labels = vec![("agent", agent.to_owned()), ("model", self.models.word(model))];
        for end in RUN_ENDS {
            let ended = labels.iter().cloned().chain([("end", end.to_owned())]).collect();
            drop(self.agent_runs.get_or_create(&ended));
        }
        drop(self.agent_usd.get_or_create(&labels));
    }

    pub fn agent_ran(&self, run: &CountedAgentRun<'_>) {
        let with = |more: Option<(&'static str, &str)>| {
            let mut labels = vec![("agent", run.agent.to_owned()), ("model", self.models.word(run.model))];
            labels.extend(more.map(|(name, value)| (name, value.to_owned())));
            labels
        };
        count(&self.agent_runs, with(Some(("end", run.end))));
        self.agent_run_seconds.get_or_create(&with(None)).observe(run.seconds);
        add(&self.agent_usd, &with(None), run.usd);
        let tokens = |direction, number| {
            self.agent_tokens.get_or_create(&with(Some(("direction", direction)))).inc_by(number);
        };
        tokens("input", run.input_tokens);
        tokens("output", run.output_tokens);
    }

    /// GitHub answered with this status; 0 means no answer.
    pub fn github_answered(&self, status: u16) {
        let class = if status == 0 { NO_ANSWER.to_owned() } else { format!("{}xx", status / 100) };
        count(&self.github_requests, vec![("answer", class)]);
    }

    /// A rate limit from GitHub's answer.
    pub fn github_rate(&self, resource: &str, limit: u64, remaining: u64) {
        let labels = vec![("resource", self.resources.word(resource))];
        self.github_rate_limit.get_or_create(&labels).set(gauge(limit));
        self.github_rate_remaining.get_or_create(&labels).set(gauge(remaining));
    }

    pub fn github_paused(&self, wait: Duration) {
        count(&self.github_pauses, Vec::new());
        add(&self.github_pause_seconds, &Vec::new(), wait.as_secs_f64());
    }

    /// A write was allowed after waiting, or was postponed.
    pub fn github_write_waited(&self, passed: bool, waited: Duration) {
        let labels = vec![("passed", passed.to_string())];
        self.github_write_wait_seconds.get_or_create(&labels).observe(waited.as_secs_f64());
    }

    /// `new`, `seen` before, or `refused`.
    pub fn delivery_received(&self, outcome: &'static str) {
        count(&self.deliveries_received, vec![("outcome", outcome.to_owned())]);
    }

    pub fn delivery_concluded(&self, conclusion: &'static str) {
        count(&self.deliveries_concluded, vec![("conclusion", conclusion.to_owned())]);
    }

    /// A job's sandbox started, or failed to start.
    pub fn sandbox_started(&self, started: bool) {
        count(&self.sandbox_starts, vec![("started", started.to_string())]);
    }

    pub fn store_wrote(&self, what: &'static str, took: Duration) {
        self.store_write_seconds.get_or_create(&vec![("what", what.to_owned())]).observe(took.as_secs_f64());
    }

    /// A transaction starts. Creates the series of its failures at 0.
    pub fn store_begins(&self, what: &'static str) {
        drop(self.store_write_failures.get_or_create(&vec![("what", what.to_owned())]));
    }

    /// A transaction failed to start or to commit.
    pub fn store_failed(&self, what: &'static str) {
        count(&self.store_write_failures, vec![("what", what.to_owned())]);
    }

    pub fn notified(&self, sent: bool) {
        count(&self.notifications, vec![("sent", sent.to_string())]);
    }

    /// The collector accepted `taken` spans; `left` are lost.
    pub fn spans_sent(&self, taken: u64, left: u64) {
        for (sent, number) in [(true, taken), (false, left)] {
            self.trace_spans.get_or_create(&vec![("sent", sent.to_string())]).inc_by(number);
        }
    }
}

fn count(family: &Counts, labels: Labels) {
    family.get_or_create(&labels).inc();
}

/// Agents may report any number, but a counter must never fall.
fn add(family: &Amounts, labels: &Labels, amount: f64) {
    if amount.is_finite() && amount >= 0.0 {
        family.get_or_create(labels).inc_by(amount);
    }
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// For work that takes seconds to hours.
fn long_durations() -> Durations {
    Family::new_with_constructor(|| {
        Histogram::new([1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 1_800.0, 3_600.0, 10_800.0])
    })
}

/// For work that takes milliseconds to minutes.
fn short_durations() -> Durations {
    Family::new_with_constructor(|| {
        Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0])
    })
}

/// Repositories name stages. Further names count as `other`.
const MOST_WORDS: usize = 40;
const LONGEST_WORD: usize = 64;

/// Label values chosen by others. A limited number stay separate, the rest share one series.
#[derive(Debug, Default)]
struct LabelWords(Mutex<BTreeSet<String>>);

impl LabelWords {
    /// The word itself, or `other` if there are too many already.
    fn word(&self, word: &str) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !known.contains(word);
        if is_new && (known.len() >= MOST_WORDS || word.len() > LONGEST_WORD) {
            return "other".to_owned();
        }
        if is_new {
            known.insert(word.to_owned());
        }
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_it_cost_never_makes_a_counter_fall() {
        let metrics = ServerMetrics::new();
        for usd in [0.5, -3.0, f64::NAN, f64::INFINITY, 0.25] {
            metrics.agent_ran(&CountedAgentRun {
                agent: "a",
                model: "",
                end: "done",
                seconds: 1.0,
                input_tokens: 1,
                output_tokens: 1,
                usd,
            });
        }
        let labels = vec![("agent", "a".to_owned()), ("model", String::new())];
        assert!((metrics.agent_usd.get_or_create(&labels).get() - 0.75).abs() < 1e-9);
    }

    #[test]
    fn a_flood_of_words_is_one_series() {
        let words = LabelWords::default();
        assert_eq!(words.word("implement"), "implement");
        for number in 0..1_000 {
            words.word(&format!("stage-{number}"));
        }
        assert_eq!(words.word("implement"), "implement", "what was there stays");
        assert_eq!(words.word("one more"), "other");
        assert_eq!(words.0.lock().unwrap().len(), MOST_WORDS);
    }
}

//! Records what happens at the gateway.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use journeyman_order::bounds::{LONGEST_LINE, MOST_LISTED};
use journeyman_order::commit_message::is_hidden;
use journeyman_order::network::{NetworkRecord, NetworkRefusal, ReachedHost};

/// The log of one job.
#[derive(Debug, Default)]
pub(super) struct EgressLog {
    pages: Mutex<EgressEntries>,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct EgressEntries {
    refused: Vec<NetworkRefusal>,
    besides: u64,
    reached: BTreeMap<String, HostTraffic>,
}

#[derive(Debug, Default)]
struct HostTraffic {
    connections: u64,
    bytes: Arc<AtomicU64>,
}

/// Counts the bytes of one connection, for its host and for the job.
#[derive(Debug, Clone)]
pub(super) struct TrafficCounter {
    book: Arc<EgressLog>,
    host: Arc<AtomicU64>,
}

impl EgressLog {
    fn pages(&self) -> MutexGuard<'_, EgressEntries> {
        // A panic cannot leave the counters half updated.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Both texts may contain input from the job.
    pub(super) fn refuse(&self, what: &str, why: &str) {
        let (what, why) = (harmless(what), harmless(why));
        tracing::debug!(what, why, "refused at the gateway");
        let mut pages = self.pages();
        if let Some(known) = pages.refused.iter_mut().find(|known| known.what == what && known.why == why) {
            known.times = known.times.saturating_add(1);
        } else if pages.refused.len() < MOST_LISTED {
            pages.refused.push(NetworkRefusal { what, why, times: 1 });
        } else {
            pages.besides = pages.besides.saturating_add(1);
        }
    }

    /// Starts a connection to a host, given as `name:port`.
    pub(super) fn reach(self: &Arc<Self>, mut host: String) -> TrafficCounter {
        let mut pages = self.pages();
        if !pages.reached.contains_key(&host) && pages.reached.len() >= MOST_LISTED {
            host = "others".to_owned();
        }
        let visits = pages.reached.entry(host).or_default();
        visits.connections = visits.connections.saturating_add(1);
        TrafficCounter { book: Arc::clone(self), host: Arc::clone(&visits.bytes) }
    }

    /// The record so far, without the model's usage.
    pub(super) fn record(&self) -> NetworkRecord {
        let pages = self.pages();
        let reached = pages.reached.iter().map(|(host, visits)| ReachedHost {
            host: host.clone(),
            connections: visits.connections,
            bytes: visits.bytes.load(Ordering::Relaxed),
        });
        NetworkRecord {
            refused: pages.refused.clone(),
            refused_besides: pages.besides,
            reached: reached.collect(),
            metered: None,
        }
    }
}

impl TrafficCounter {
    /// Counts bytes and returns the total through all of the job's tunnels.
    pub(super) fn add(&self, bytes: usize) -> u64 {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.host.fetch_add(bytes, Ordering::Relaxed);
        self.book.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
    }
}

/// One line, visible and short.
pub(super) fn harmless(text: &str) -> String {
    let mut visible = text.chars().filter(|character| !is_hidden(*character));
    let mut line: String = visible.by_ref().take(LONGEST_LINE).collect();
    if visible.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_cannot_fill_the_book_nor_write_lines_of_its_own_into_it() {
        let book = Arc::new(EgressLog::default());
        for number in 0..250 {
            book.refuse(&format!("host{number}.example:443"), "not allowed");
        }
        book.refuse("host0.example:443", "not allowed");
        book.refuse(&format!("a\nb\u{202e}c{}", "x".repeat(500)), "why");
        let record = book.record();
        assert_eq!((record.refused.len(), record.refused_besides), (MOST_LISTED, 51));
        assert_eq!(record.refused[0].times, 2);
        assert_eq!(harmless("a\nb\u{202e}c\u{1b}[0m"), "abc[0m");
        assert_eq!(harmless(&"é".repeat(500)).chars().count(), LONGEST_LINE + 1);
        for number in 0..300 {
            let target = format!("host{number}.example:443");
            book.reach(target).add(10);
        }
        let reached = book.record().reached;
        assert_eq!(reached.len(), MOST_LISTED + 1);
        assert_eq!(reached.iter().map(|host| host.bytes).sum::<u64>(), 3_000);
        assert_eq!(reached.iter().map(|host| host.connections).sum::<u64>(), 300);
    }
}

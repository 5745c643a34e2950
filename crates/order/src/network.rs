//! What a job did with its network, as its only door recorded it; the job's own claims do not count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The record of one job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkRecord {
    /// Refused requests, the first ones of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<NetworkRefusal>,
    /// How many other requests were refused after the list was full.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_besides: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<ReachedHost>,
    /// Requests to its model; `None` if the job has no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<ModelUsageRecord>,
}

impl NetworkRecord {
    /// Merges the records of two commands. At most one of them has a model.
    pub fn joined(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (mut all, more) = match (one, other) {
            (Some(one), Some(other)) => (one, other),
            (one, other) => return one.or(other),
        };
        for refused in more.refused {
            let known =
                all.refused.iter_mut().find(|known| known.what == refused.what && known.why == refused.why);
            match known {
                Some(known) => known.times = known.times.saturating_add(refused.times),
                None => all.refused.push(refused),
            }
        }
        for reached in more.reached {
            match all.reached.iter_mut().find(|known| known.host == reached.host) {
                Some(ReachedHost { connections, bytes, .. }) => {
                    *connections = connections.saturating_add(reached.connections);
                    *bytes = bytes.saturating_add(reached.bytes);
                }
                None => all.reached.push(reached),
            }
        }
        all.refused_besides = all.refused_besides.saturating_add(more.refused_besides);
        all.metered = all.metered.or(more.metered);
        Some(all)
    }
}

/// Something that was asked for and refused. The texts hold what a job wrote: on one line, visible and short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkRefusal {
    /// What: a host and port, a request, a tool of the model's service.
    pub what: String,
    pub why: String,
    pub times: u32,
}

/// A host that was reached through the door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedHost {
    /// `name:port`.
    pub host: String,
    pub connections: u64,
    /// Bytes in both directions.
    pub bytes: u64,
}

/// Requests to the model's service and their usage, by its answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelUsageRecord {
    /// Requests that were passed on.
    pub requests: u64,
    /// Requests that failed or broke off.
    pub failed: u64,
    /// Requests with estimated tokens, because the answer ended before reporting them.
    pub estimated: u64,
    /// Tokens of all answers so far, including running ones.
    pub tokens: MeteredTokens,
    /// Dollars; `None` if the price of a model that answered is unknown.
    pub usd: Option<f64>,
    /// Why no more requests are passed on; `None` while there is budget left.
    pub exhausted: Option<String>,
}

/// Tokens by price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeteredTokens {
    /// Input without cache reads or writes.
    pub input: u64,
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
}

impl MeteredTokens {
    pub fn all(self) -> u64 {
        self.read().saturating_add(self.output)
    }

    /// All input, cached or not.
    pub fn read(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

impl std::ops::Add for MeteredTokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_as_it_was_written_and_an_empty_one_is_short() {
        let record = NetworkRecord {
            refused: vec![NetworkRefusal {
                what: "evil.example:443".into(),
                why: "not allowed".into(),
                times: 3,
            }],
            refused_besides: 7,
            reached: vec![ReachedHost { host: "registry.example:443".into(), connections: 2, bytes: 99 }],
            metered: Some(ModelUsageRecord {
                requests: 4,
                failed: 1,
                estimated: 1,
                tokens: MeteredTokens { input: 1, output: 2, cache_read: 3, cache_write: u64::MAX },
                usd: Some(0.25),
                exhausted: Some("spent".into()),
            }),
        };
        let written = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<NetworkRecord>(&written).unwrap(), record);
        assert_eq!(serde_json::to_string(&NetworkRecord::default()).unwrap(), "{}");
        let tokens = record.metered.unwrap().tokens;
        assert_eq!((tokens + tokens).all(), u64::MAX, "no overflow by what a service says");
    }

    #[test]
    fn what_several_commands_did_with_the_network_is_one_record() {
        let record = |host: &str, bytes: u64| NetworkRecord {
            refused: vec![NetworkRefusal { what: "evil:443".into(), why: "not allowed".into(), times: 2 }],
            refused_besides: 1,
            reached: vec![ReachedHost { host: host.into(), connections: 1, bytes }],
            metered: None,
        };
        let all = NetworkRecord::joined(
            NetworkRecord::joined(None, Some(record("a:443", 1))),
            Some(record("b:443", 2)),
        );
        let all = NetworkRecord::joined(NetworkRecord::joined(all, None), Some(record("a:443", 4)))
            .expect("a record");
        assert_eq!((all.refused.len(), all.refused_besides), (1, 3));
        assert_eq!(all.refused.first().map(|refused| refused.times), Some(6));
        let reached: Vec<_> =
            all.reached.iter().map(|host| (host.host.as_str(), host.connections, host.bytes)).collect();
        assert_eq!(reached, [("a:443", 2, 5), ("b:443", 1, 2)]);
    }
}

//! Monitors a running job by polling, for limits that the system does not enforce.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::cgroup::JobCgroup;
use super::disk::{self, DiskUsage};
use super::{ExceededLimit, Job, JobLimits, MountAccess};

const EVERY: Duration = Duration::from_millis(100);
/// When a job's disk is first counted, and the longest time between counts while its file systems do not grow.
const FIRST_COUNT: Duration = Duration::from_secs(5);
const LONGEST_UNCOUNTED: Duration = Duration::from_secs(30);
/// Least growth worth counting, in bytes and as a part of the limit.
const GROWTH: u64 = 1 << 20;
const PART: u64 = 8;
/// Counting takes at most one part in this many of the time, and one count at most this long.
const SHARE: u32 = 10;
const LONGEST_COUNT: Duration = Duration::from_secs(300);
/// This many unfinished counts in a row are too many. A slow disk can cause one.
const MOST_LATE: u32 = 2;

/// What to monitor.
pub(super) struct LimitWatcher {
    limits: JobLimits,
    /// The job's home and other writable folders.
    written: Vec<PathBuf>,
    /// The job's own `/proc`, as seen from the host.
    processes: Option<PathBuf>,
}

impl LimitWatcher {
    pub(super) fn over(job: &Job) -> Self {
        let writable = job.mounts.iter().filter(|mount| mount.access == MountAccess::ReadWrite);
        let written = writable.map(|mount| &mount.path).chain([&job.home]).map(|path| job.written(path));
        let written = written.chain(job.root.as_ref().map(|root| root.layers.upper.clone())).collect();
        Self { limits: job.limits, written, processes: None }
    }

    /// Finds the job's `/proc` through the first process of its namespace.
    pub(super) fn with_first(mut self, first: Option<Pid>) -> Self {
        self.processes = first.map(|first| format!("/proc/{}/root/proc", first.as_raw_nonzero()).into());
        self
    }

    /// Ready when a limit was reached, and never otherwise.
    pub(super) async fn reached(self, group: Option<&JobCgroup>) -> ExceededLimit {
        let mut disk = DiskWatch::new(&self.written);
        loop {
            tokio::time::sleep(EVERY).await;
            let reached = match (group, &self.processes) {
                (Some(group), _) => group.reached(),
                (None, Some(processes)) => self.counted(processes),
                (None, None) => None,
            };
            if let Some(limit) = reached {
                return limit;
            }
            if disk.is_due(&self) && disk.is_full(&self).await {
                return ExceededLimit::Disk(self.limits.disk);
            }
        }
    }

    /// Without a control group: counts all processes of the namespace, which belong to the job alone.
    fn counted(&self, processes: &Path) -> Option<ExceededLimit> {
        let (mut threads, mut most_memory) = (0_u64, 0_u64);
        let mut each = Vec::new();
        for entry in fs::read_dir(processes).into_iter().flatten().filter_map(Result::ok) {
            let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
            threads += number(&status, "Threads:").unwrap_or(0);
            most_memory += number(&status, "VmRSS:").unwrap_or(0) * 1_024;
            each.push(entry.path());
        }
        // Where the system limits them too, the count never goes higher.
        if threads >= u64::from(self.limits.processes) {
            return Some(ExceededLimit::Processes(self.limits.processes));
        }
        // Shared memory counts for each process: correct for that only if the sum is too high, because it takes time.
        if most_memory <= self.limits.memory {
            return None;
        }
        let shared = each.iter().filter_map(|process| fs::read_to_string(process.join("smaps_rollup")).ok());
        let memory: u64 = shared.filter_map(|rollup| number(&rollup, "Pss:")).map(|kib| kib * 1_024).sum();
        (memory > self.limits.memory).then_some(ExceededLimit::Memory(self.limits.memory))
    }
}

/// The number after a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// When the disk was last counted, and the result.
struct DiskWatch {
    at_start: u64,
    at_count: u64,
    due: Instant,
    not_before: Instant,
    /// Consecutive counts that did not finish in time.
    late: u32,
}

impl DiskWatch {
    fn new(written: &[PathBuf]) -> Self {
        let now = Instant::now();
        let in_use = disk::in_use_by_all(written);
        Self { at_start: in_use, at_count: in_use, due: now + FIRST_COUNT, not_before: now, late: 0 }
    }

    /// Whether the file systems have grown or the last count is old: counting many files is expensive.
    fn is_due(&self, watch: &LimitWatcher) -> bool {
        let now = Instant::now();
        let grown = disk::in_use_by_all(&watch.written).saturating_sub(self.at_count);
        let much = (watch.limits.disk / PART).max(GROWTH);
        now >= self.not_before && (grown >= much || now >= self.due)
    }

    async fn is_full(&mut self, watch: &LimitWatcher) -> bool {
        let begun = Instant::now();
        self.at_count = disk::in_use_by_all(&watch.written);
        let stop = StopOnDrop(Arc::default());
        let (written, processes) = (watch.written.clone(), watch.processes.clone());
        let (most, stopped) = (watch.limits.disk, stop.0.clone());
        let until = begun + LONGEST_COUNT;
        let counting = tokio::task::spawn_blocking(move || {
            disk::used(&written, processes.as_deref(), most, until, &stopped)
        });
        let unknown = DiskUsage { bytes: 0, complete: false, in_time: true };
        let used = counting.await.unwrap_or(unknown);
        drop(stop);
        let now = Instant::now();
        self.not_before = now + (now - begun) * SHARE;
        self.due = now + LONGEST_UNCOUNTED;
        self.is_over(used, watch.limits.disk)
    }

    fn is_over(&mut self, used: DiskUsage, most: u64) -> bool {
        self.late = if used.in_time { 0 } else { self.late + 1 };
        self.late == MOST_LATE || used.is_over(most, self.at_count.saturating_sub(self.at_start))
    }
}

/// Stops a running count when dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_count_ends_no_job_and_two_in_a_row_do() {
        let counted = |bytes, in_time| DiskUsage { bytes, complete: true, in_time };
        let mut disk = DiskWatch::new(&[]);
        for (used, is_over) in [
            (counted(1, false), false),
            (counted(1, true), false),
            (counted(1, false), false),
            (counted(1, false), true),
            (counted(11, true), true),
            (counted(11, false), true),
        ] {
            assert_eq!(disk.is_over(used, 10), is_over, "{used:?}");
        }
    }

    #[test]
    fn a_late_count_is_judged_by_what_the_file_systems_have_grown_by() {
        let late = DiskUsage { bytes: 1, complete: true, in_time: false };
        let mut disk = DiskWatch::new(&[]);
        (disk.at_start, disk.at_count) = (100, 111);
        assert!(disk.is_over(late, 10));
    }
}

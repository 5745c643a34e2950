//! Measures a job's disk usage.
//!
//! A job may change its folders during the count and make them hard to count. No links are followed, files are opened
//! relative to their folder, and unreadable parts are reported.

use std::cell::Cell;
use std::collections::HashSet;
use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat, statvfs};

use journeyman_order::bounds::MOST_ENTRIES;

/// Deepest nesting; each level holds a descriptor during the count.
const DEEPEST: usize = 200;
/// Least size of an entry, in bytes.
const ENTRY: u64 = 4_096;
/// Cost of each further hard link to a file: more than the longest name takes in a folder.
const NAME: u64 = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiskUsage {
    pub(super) bytes: u64,
    /// Whether everything was readable.
    pub(super) complete: bool,
    /// Whether the count finished in time.
    pub(super) in_time: bool,
}

impl DiskUsage {
    /// Whether the usage exceeds `most`. `grown` is the growth of the file systems since the job began. It stands in
    /// for parts that are unreadable or were not reached in time.
    pub(super) fn is_over(&self, most: u64, grown: u64) -> bool {
        let hidden = if self.complete && self.in_time { 0 } else { grown };
        self.bytes.max(hidden) > most
    }
}

/// Counts these folders until they exceed `most`, the time is up or `stop` is set. `processes` is the job's own
/// `/proc`: deleted files that its processes hold open count too.
pub(super) fn used(
    roots: &[PathBuf],
    processes: Option<&Path>,
    most: u64,
    until: Instant,
    stop: &AtomicBool,
) -> DiskUsage {
    let is_late = Cell::new(false);
    let mut count = DiskCounter {
        bytes: 0,
        complete: true,
        linked: HashSet::new(),
        systems: HashSet::new(),
        enough: &|bytes| {
            // Check here, because a job can change folders so that they never end and add nothing.
            is_late.set(Instant::now() >= until);
            bytes > most || is_late.get() || stop.load(Ordering::Relaxed)
        },
    };
    for root in outermost(roots) {
        count.tree(root);
    }
    if let Some(processes) = processes {
        count.nameless(processes);
    }
    DiskUsage { bytes: count.bytes, complete: count.complete, in_time: !is_late.get() }
}

/// Bytes in use on the file systems of these folders, by all users.
pub(super) fn in_use_by_all(roots: &[PathBuf]) -> u64 {
    let mut seen = HashSet::new();
    let mut bytes = 0_u64;
    for root in roots {
        let (Ok(there), Ok(stat)) = (statvfs(root), statat(CWD, root, AtFlags::empty())) else { continue };
        if seen.insert(stat.st_dev) {
            let blocks = there.f_blocks.saturating_sub(there.f_bfree);
            bytes = bytes.saturating_add(blocks.saturating_mul(there.f_frsize));
        }
    }
    bytes
}

fn outermost(roots: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    roots
        .iter()
        .enumerate()
        .filter(|(at, root)| {
            let covers = |(other, outer): (usize, &PathBuf)| {
                other != *at && root.starts_with(outer) && (outer != *root || other < *at)
            };
            !roots.iter().enumerate().any(covers)
        })
        .map(|(_, root)| root)
}

struct DiskCounter<'a> {
    bytes: u64,
    complete: bool,
    linked: HashSet<(u64, u64)>,
    systems: HashSet<u64>,
    enough: &'a dyn Fn(u64) -> bool,
}

impl DiskCounter<'_> {
    fn tree(&mut self, root: &Path) {
        let Ok(stat) = statat(CWD, root, AtFlags::SYMLINK_NOFOLLOW) else {
            self.complete = false;
            return;
        };
        let system = stat.st_dev;
        self.systems.insert(system);
        self.add(&stat);
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return;
        }
        let mut open = Vec::new();
        self.enter(CWD, root, &mut open);
        while let Some((folder, entries)) = open.last_mut() {
            if (self.enough)(self.bytes) {
                return;
            }
            let entry = match entries.next() {
                None => {
                    open.pop();
                    continue;
                }
                Some(Ok(entry)) => entry,
                Some(Err(_)) => {
                    self.complete = false;
                    open.pop();
                    continue;
                }
            };
            let name: &CStr = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // An error means that it is already gone.
            let Ok(stat) = statat(&*folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if stat.st_dev != system {
                continue;
            }
            self.add(&stat);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                match folder.try_clone() {
                    Ok(folder) => self.enter(folder.as_fd(), name, &mut open),
                    Err(_) => self.complete = false,
                }
            }
        }
    }

    fn enter<P: rustix::path::Arg>(&mut self, beside: impl AsFd, name: P, open: &mut Vec<(OwnedFd, Dir)>) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match openat(beside, name, flags, Mode::empty()) {
            Ok(folder) if open.len() < DEEPEST => folder,
            Err(rustix::io::Errno::NOENT) => return,
            Ok(_) | Err(_) => {
                self.complete = false;
                return;
            }
        };
        match Dir::read_from(&folder) {
            Ok(entries) => open.push((folder, entries)),
            Err(_) => self.complete = false,
        }
    }

    fn add(&mut self, stat: &Stat) {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if stat.st_nlink > 1 && !is_folder {
            let file = (stat.st_dev, stat.st_ino);
            if self.linked.contains(&file) {
                self.bytes = self.bytes.saturating_add(NAME);
                return;
            }
            if self.linked.len() < MOST_ENTRIES {
                self.linked.insert(file);
            }
        }
        let bytes = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        self.bytes = self.bytes.saturating_add(bytes.max(ENTRY));
    }

    /// Counts deleted files that are still open.
    fn nameless(&mut self, processes: &Path) {
        let mut seen = HashSet::new();
        for process in fs::read_dir(processes).into_iter().flatten().filter_map(Result::ok) {
            if !process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                continue;
            }
            let open = fs::read_dir(process.path().join("fd")).into_iter().flatten().filter_map(Result::ok);
            for file in open {
                if (self.enough)(self.bytes) {
                    return;
                }
                let Ok(stat) = statat(CWD, file.path(), AtFlags::empty()) else { continue };
                let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                let is_nameless = is_file && stat.st_nlink == 0 && self.systems.contains(&stat.st_dev);
                if is_nameless && seen.insert((stat.st_dev, stat.st_ino)) {
                    self.add(&stat);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn count(roots: &[PathBuf], most: u64) -> DiskUsage {
        used(roots, None, most, Instant::now() + Duration::from_secs(600), &AtomicBool::new(false))
    }

    #[test]
    fn what_lies_there_is_counted_once_and_no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("a");
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::write(root.join("b/large"), vec![1; 3 << 20]).unwrap();
        fs::hard_link(root.join("b/large"), root.join("b/c/again")).unwrap();
        std::os::unix::fs::symlink("/usr", root.join("link")).unwrap();
        let sparse = fs::File::create(root.join("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let roots = [root.clone(), root.join("b"), root.clone()];
        let DiskUsage { bytes, complete, in_time } = count(&roots, u64::MAX);
        assert!(complete && in_time && (3 << 20..(3 << 20) + 100_000).contains(&bytes), "{bytes}");
        assert_eq!(count(&roots, 0).bytes, ENTRY.max(bytes.min(ENTRY)), "no further than needed");
    }

    #[test]
    fn what_cannot_be_looked_into_is_said() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = place.path().to_owned();
        for _ in 0..DEEPEST + 5 {
            folder.push("d");
        }
        fs::create_dir_all(&folder).unwrap();
        assert!(!count(&[place.path().to_owned()], u64::MAX).complete);
        assert!(!count(&[place.path().join("gone")], u64::MAX).complete);
    }

    #[test]
    fn each_further_name_of_a_file_costs_something_and_its_blocks_count_once() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("large"), vec![1; 3 << 20]).unwrap();
        let once = count(&[place.path().to_owned()], u64::MAX).bytes;
        for name in 0..5_000 {
            fs::hard_link(place.path().join("large"), place.path().join(format!("{name}"))).unwrap();
        }
        let all = count(&[place.path().to_owned()], u64::MAX);
        // Includes the growth of the folder itself.
        assert!((once + 5_000 * NAME..once + 6_000 * NAME).contains(&all.bytes), "{once} {}", all.bytes);
        assert!(all.is_over(7 << 20, 0) && !all.is_over(10 << 20, u64::MAX));
    }

    #[test]
    fn what_cannot_be_counted_in_the_time_that_there_is_is_what_the_file_systems_have_grown_by() {
        let place = tempfile::tempdir().unwrap();
        for name in 0..100 {
            fs::write(place.path().join(format!("{name}")), "").unwrap();
        }
        let roots = [place.path().to_owned()];
        assert!(!count(&roots, u64::MAX).is_over(1 << 20, u64::MAX));
        let late = used(&roots, None, u64::MAX, Instant::now(), &AtomicBool::new(false));
        assert!(!late.in_time && late.bytes < 100 * ENTRY, "{late:?}");
        assert!(!late.is_over(1 << 20, 1 << 20) && late.is_over(1 << 20, (1 << 20) + 1));
        assert!(late.is_over(late.bytes - 1, 0), "what was counted counts");
    }
}

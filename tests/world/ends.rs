//! The end of a story: nothing unexpected may be left.

use std::time::{Duration, Instant};

use journeyman::order::{OrderId, Settlement};
use journeyman::store::OrderFilter;

use super::look::{BOT, status_marker};
use super::{GLANCE, REPOSITORY, WEBHOOK_SECRET, World};
use crate::conformance;

/// The folder for the journals of the stories that run.
const KEEP_JOURNALS: &str = "JOURNEYMAN_KEEP_JOURNALS";

impl World {
    /// Waits until all is quiet and checks what is left: one status comment per order, no pushes except to the branches
    /// of pull requests, no process, no readable secret, no request that GitHub would not accept.
    pub async fn end(mut self) {
        self.quiet().await;
        self.keep_journals().await;
        self.assert_one_status_comment_an_order().await;
        self.assert_no_secret_is_told().await;
        conformance::assert_conforming(&self.github);
        if self.bot.is_some() {
            self.stop_bot().await;
        }
        self.assert_no_process_is_left().await;
        self.store.close().await;
    }

    /// For `make journals`: writes the journals of this story's orders, one file each.
    async fn keep_journals(&self) {
        let Some(folder) = std::env::var_os(KEEP_JOURNALS) else { return };
        let story = std::thread::current().name().unwrap_or_default().to_owned();
        let story = story.rsplit("::").next().unwrap_or_default();
        for (number, order) in self.readable_orders().await.into_iter().rev().enumerate() {
            let (journal, _) = self.look(order).await;
            let line = |entry| serde_json::to_string(entry).expect("an entry is JSON") + "\n";
            let lines: String = journal.entries().iter().map(line).collect();
            let file = std::path::Path::new(&folder).join(format!("{story}-{}.jsonl", number + 1));
            std::fs::write(&file, lines).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }

    /// All orders except those that ended because their journals cannot be read.
    async fn readable_orders(&self) -> Vec<OrderId> {
        let filter = OrderFilter { limit: 1_000, ..OrderFilter::default() };
        let rows = self.store.orders(&filter).await.expect("the store can be read").into_iter();
        rows.filter(|row| row.state != "unreadable").map(|row| row.id).collect()
    }

    async fn assert_one_status_comment_an_order(&self) {
        for order in self.readable_orders().await {
            let (journal, projection) = self.look(order).await;
            if journal.opened().merge_group().is_some() {
                // The check run is all that it says.
                continue;
            }
            let expected = match projection.next.settled {
                // What another order of the pull request says stays.
                Some(Settlement::Refused { .. }) if journal.opened().change.is_some() => continue,
                Some(Settlement::Refused { .. }) => 0,
                // All orders of somebody's pull request share theirs.
                Some(_) => 1,
                None => panic!("{order} has not ended"),
            };
            let marker = status_marker(&journal);
            let issue = self.github.issue(REPOSITORY, journal.opened().issue.number.0).expect("the issue");
            let own = issue.comments.iter().filter(|comment| comment.author == BOT);
            let found = own.filter(|comment| comment.body.starts_with(&marker)).count();
            assert_eq!(found, expected, "status comments of {order}: {:#?}", issue.comments);
        }
    }

    async fn assert_no_secret_is_told(&self) {
        let mut told: Vec<String> = Vec::new();
        for order in self.readable_orders().await {
            let (journal, _) = self.look(order).await;
            told.push(serde_json::to_string(journal.entries()).expect("a journal is JSON"));
        }
        for number in 1..100 {
            if let Some(issue) = self.github.issue(REPOSITORY, number) {
                told.push(format!("{issue:?}"));
            }
        }
        told.extend(self.github.calls().iter().map(|call| format!("{} {}", call.path, call.body)));
        for secret in ["ghs_", "PRIVATE KEY", WEBHOOK_SECRET] {
            for text in &told {
                assert!(!text.contains(secret), "{secret} is told: {text}");
            }
        }
    }

    /// Processes that Journeyman started must not outlive their purpose; dead ones get a moment to disappear.
    pub async fn assert_no_process_is_left(&self) {
        let begun = Instant::now();
        while !self.processes().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(3), "still there: {:#?}", self.processes());
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Command lines of this story's processes: they mention its folder, or work in it.
    pub fn processes(&self) -> Vec<String> {
        let place = self.place.path().to_str().expect("a path in UTF-8").to_owned();
        let own = std::process::id();
        let all = std::fs::read_dir("/proc").expect("/proc can be read").flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers
            .filter(|process| *process != own)
            .filter_map(|process| {
                let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                let folder = std::fs::read_link(format!("/proc/{process}/cwd")).unwrap_or_default();
                (line.contains(&place) || folder.starts_with(&place)).then_some(line)
            })
            .collect()
    }
}

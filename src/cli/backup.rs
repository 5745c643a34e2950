//! `journeyman backup` and `journeyman restore`: a server's state to one file and back.

use std::path::PathBuf;

use clap::Args;

use super::{doctor, user_settings};
use crate::app::{BackupReport, back_up, restore};
use crate::attest::KEY_FILE;

/// What `backup` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "The server may run meanwhile; the backup is as things were at one moment. It holds the database, large \
                        artifacts, and the key that receipts are signed with: keep it as secret as the server's own folder. It \
                        does not hold the settings, the App's private key, nor what is fetched or made again: mirrors, \
                        environments, work trees. What an agent has not pushed to GitHub at that moment is not in it. \
                        Artifacts that the disk has damaged are left out and counted.\n\n\
                        For PostgreSQL, use `pg_dump`; this command says what else to keep.\n\n\
                        Example, every night:\n  journeyman backup --config /etc/journeyman/journeyman.toml \
                        /backup/journeyman-$(date +%F).tar.gz"
)]
pub(super) struct BackupArguments {
    /// Where the backup goes, such as journeyman.tar.gz. One of that name is replaced when the new one is whole.
    file: PathBuf,
    /// The settings; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What `restore` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Stop the server first; where one runs, nothing is changed and the error names it. The backup is read to its \
                        end and its database is checked before anything is put in its place; one that is damaged, or of a \
                        newer Journeyman, changes nothing. Then start `journeyman \
                        serve` as always: orders go on, what GitHub sent meanwhile is fetched, and what Journeyman had done on \
                        GitHub since the backup is found there and not done again.\n\n\
                        Example:\n  systemctl stop journeyman\n  journeyman restore --config /etc/journeyman/journeyman.toml \
                        /backup/journeyman-2026-01-31.tar.gz\n  systemctl start journeyman"
)]
pub(super) struct RestoreArguments {
    /// The backup.
    file: PathBuf,
    /// The settings; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Put a database that is there aside; without this it stays, and nothing is restored.
    #[arg(long)]
    force: bool,
}

pub(super) async fn main(arguments: BackupArguments) -> anyhow::Result<u8> {
    super::log("warn");
    let settings = doctor::load_without_app(user_settings(arguments.config).as_deref())?;
    let report = back_up(&settings, &arguments.file).await?;
    println!("{}: {}", arguments.file.display(), in_words(&report));
    if !report.has_key {
        eprintln!(
            "journeyman: the key that receipts are signed with is not in it: {} is not there (data.dir). A server that is \
             restored from this backup makes another key: receipts that were fetched before can be checked with the public \
             key of that time alone, if somebody has kept it, and not with that server's",
            settings.data.dir.join(KEY_FILE).display()
        );
    }
    Ok(0)
}

pub(super) async fn restored(arguments: RestoreArguments) -> anyhow::Result<u8> {
    super::log("warn");
    let settings = doctor::load_without_app(user_settings(arguments.config).as_deref())?;
    let report = restore(&settings, &arguments.file, arguments.force).await?;
    if let Some(aside) = &report.put_aside {
        println!("what was there before is put aside as {}", aside.display());
    }
    println!("restored: {}", in_words(&report));
    let key = settings.data.dir.join(KEY_FILE);
    if !report.has_key && !key.exists() {
        eprintln!(
            "journeyman: the backup has no key of receipts, and {} is not there: the server makes another key, and receipts \
             that were fetched before cannot be checked with it. If the old key is somewhere, put it there first",
            key.display()
        );
    }
    Ok(0)
}

fn in_words(report: &BackupReport) -> String {
    let mut words =
        format!("a database of {} KiB, {} large artifacts", report.bytes / 1024, report.artifacts);
    words.push_str(if report.has_key { ", the key of receipts" } else { ", no key of receipts" });
    if report.missing > 0 {
        words.push_str(&format!(
            "; {} artifacts that the database names are gone or damaged, and left out",
            report.missing
        ));
    }
    words
}

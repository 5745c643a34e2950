//! `journeyman receipt`: shows a signed receipt, and verifies it.
//!
//! May know: signed receipts, local repositories, how to repeat tests. Must never know: how and by which order they
//! were signed. Only the signature makes a receipt credible.

mod show;
mod verify;

pub(super) use show::listed;

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::live::line;
use super::{UsageError, doctor, user_settings};
use crate::attest::{Envelope, SigningKey};

/// Larger receipts are rejected.
const MOST_BYTES: u64 = 8 * 1024 * 1024 + 1;
/// The signature is missing or does not match.
const NOT_SIGNED: u8 = 3;

/// What `receipt` is told.
#[derive(Debug, Args)]
pub(super) struct ReceiptArguments {
    #[command(subcommand)]
    command: ReceiptCommand,
}

#[derive(Debug, Subcommand)]
enum ReceiptCommand {
    /// Print what a signed receipt says. The signature is not checked.
    Show {
        /// The receipt, as `GET /api/v1/work-orders/{id}/attestation` gives it; `-` for standard input.
        file: PathBuf,
    },
    /// Check the signature, run the tests again on the receipt's commit, and compare.
    #[command(
        after_help = "Exit codes: 0 the signature is good and all that can be repeated here is the same, 1 something differs \
                      or could not be tried, 2 wrong usage, 3 the signature is bad or the receipt contradicts itself, 4 as \
                      0, and the signature was not checked.\n\n\
                      The tests run as Journeyman runs them: by the commands of the repository, in the sandbox of \
                      sandbox.mode, and never by what the receipt says. The history of the branch and of its base has to \
                      be there.\n\n\
                      Example, as a gate before a merge:\n  journeyman receipt verify receipt.json --repo . --key \
                      receipt-key.pem --commit \"$(git rev-parse HEAD)\" --passed"
    )]
    Verify(verify::ReceiptVerifyArguments),
    /// Print the public key of the receipts that a server on this machine signs.
    #[command(after_help = "Example:\n  journeyman receipt key --config journeyman.toml > receipt-key.pem")]
    Key {
        /// The server's settings; ~/.config/journeyman/journeyman.toml when absent.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) async fn main(arguments: ReceiptArguments) -> anyhow::Result<u8> {
    super::log("error");
    match arguments.command {
        ReceiptCommand::Show { file } => {
            let envelope = match open(&file)? {
                Ok(envelope) => envelope,
                Err(why) => return Ok(not_signed(&why)),
            };
            match envelope.statement_unverified() {
                Ok(statement) => {
                    print!("{}", show::in_words(&statement, &envelope.named_keys()));
                    Ok(0)
                }
                Err(error) => Ok(not_signed(&error)),
            }
        }
        ReceiptCommand::Verify(arguments) => verify::main(arguments).await,
        ReceiptCommand::Key { config } => {
            let data = doctor::load_without_app(user_settings(config).as_deref())?.data.dir;
            let key = SigningKey::find(&data)?.ok_or_else(|| {
                UsageError(format!(
                    "there is no receipt key in {} (data.dir) yet: `serve` makes it when it first starts. --config FILE \
                     names the settings of another server",
                    data.display()
                ))
            })?;
            print!("{}", key.public().to_pem());
            Ok(0)
        }
    }
}

/// The envelope in a file, or why it contains none.
fn open(file: &Path) -> anyhow::Result<Result<Envelope, crate::attest::EnvelopeError>> {
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
    };
    read.map_err(|error| UsageError(format!("{}: {error}", file.display())))?;
    Ok(Envelope::parse(&bytes))
}

fn not_signed(why: &dyn std::fmt::Display) -> u8 {
    eprintln!("journeyman: not a valid receipt: {}", line(&why.to_string(), 500));
    NOT_SIGNED
}

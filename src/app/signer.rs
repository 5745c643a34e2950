//! Signs receipts: the order's record, the server's key, and the versions of its tools.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::OnceCell;

use super::eval_sandbox::EvalSandbox;
use crate::attest::{AttestationVerifier, Envelope, PublicKey, SigningError, SigningKey};
use crate::http::ReceiptAttester;
use crate::order::bounds::LONGEST_NAME;
use crate::order::next::OrderProjection;
use crate::order::receipt::said_at;
use crate::order::{Journal, Receipt};
use crate::sandbox::{IsolationMode, SandboxNetwork};

/// Programs and the commands that print their versions.
const ASKED: &[(&str, &str)] = &[
    ("git", "git --version"),
    ("python3", "python3 --version"),
    ("node", "node --version"),
    ("rustc", "rustc --version"),
    ("go", "go version"),
    ("java", "java -version"),
];
const BUBBLEWRAP: (&str, &str) = ("bubblewrap", "bwrap --version");
const TIME_TO_ASK: Duration = Duration::from_secs(20);

/// Signs receipts from the journals of orders.
pub struct ReceiptSigner {
    key: SigningKey,
    url: Option<String>,
    sandbox: EvalSandbox,
    /// Asked once, at the first signature.
    versions: OnceCell<BTreeMap<String, String>>,
}

impl ReceiptSigner {
    pub(super) fn new(key: SigningKey, url: Option<String>, sandbox: EvalSandbox) -> Self {
        Self { key, url, sandbox, versions: OnceCell::new() }
    }
}

#[async_trait]
impl ReceiptAttester for ReceiptSigner {
    fn public_key(&self) -> PublicKey {
        *self.key.public()
    }

    async fn attest(
        &self,
        journal: &Journal,
        projection: &OrderProjection,
    ) -> Result<Envelope, SigningError> {
        let receipt = Receipt::of(journal, projection);
        let time = said_at(journal, projection);
        let verifier = AttestationVerifier {
            name: "Journeyman".to_owned(),
            url: self.url.clone(),
            versions: self.versions.get_or_init(|| versions(&self.sandbox)).await.clone(),
        };
        Envelope::of(&receipt, time, &verifier, &self.key)
    }
}

/// Asked inside the sandbox, where tests find the same programs. What is missing or does not answer is left out.
async fn versions(sandbox: &EvalSandbox) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::from([("journeyman".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]);
    let walls = match sandbox.sandbox.mode() {
        IsolationMode::Bubblewrap => Some(BUBBLEWRAP),
        IsolationMode::None => None,
    };
    let asked = ASKED.iter().copied().chain(walls).map(|(name, command)| {
        format!("said=$({command} </dev/null 2>&1) && printf '%s\\t%s\\n' {name} \"$(printf '%s' \"$said\" | head -n 1)\"\n")
    });
    let Ok(place) = tempfile::tempdir() else { return versions };
    let script = format!("{}true", asked.collect::<String>());
    let folder = place.path();
    let said = match sandbox.run_command(folder, folder, &script, SandboxNetwork::None, TIME_TO_ASK).await {
        Ok((_, said)) => said,
        Err(error) => {
            tracing::warn!("receipts are signed without versions of toolchains: {error}");
            return versions;
        }
    };
    for (name, version) in said.lines().filter_map(|line| line.split_once('\t')) {
        versions.insert(name.to_owned(), number(version));
    }
    versions
}

/// The number in a version text such as `git version 2.47.3`; the whole text if it has none.
fn number(said: &str) -> String {
    let words = said.split(|c: char| c.is_whitespace() || c == '"');
    let number = words
        .map(|word| word.trim_start_matches(|c: char| c.is_ascii_alphabetic()))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    number.unwrap_or(said).chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_their_version_each_in_its_own_way() {
        for (said, version) in [
            ("git version 2.47.3", "2.47.3"),
            ("bubblewrap 0.8.0", "0.8.0"),
            ("v20.20.2", "20.20.2"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
            ("openjdk version \"17.0.15\" 2025-04-15", "17.0.15"),
            ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"),
            ("something else", "something else"),
            ("", ""),
        ] {
            assert_eq!(number(said), version, "{said}");
        }
    }
}

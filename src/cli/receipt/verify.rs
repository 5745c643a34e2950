//! Verifies a receipt statement by statement: its signature, its commit and tree, and its tests.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::live::line;
use super::super::{UsageError, user_settings};
use super::show::listed;
use super::{not_signed, open};
use crate::app::{RepeatedTests, open_clone, reverify};
use crate::attest::{
    AttestationResult, KeyId, PublicKey, ReceiptClaims, ReverificationResult, ReverifiedStatement,
    RunOfToday, Statement, compare,
};
use crate::config::TestRunSettings;
use crate::order::CommitSha;

/// Everything is the same, but no key says who signed it.
const SAME_AND_UNSIGNED: u8 = 4;
const DIFFERS: u8 = 1;

/// What `receipt verify` is told.
#[derive(Debug, Args)]
pub(super) struct ReceiptVerifyArguments {
    /// The receipt, as `GET /api/v1/work-orders/{id}/attestation` gives it; `-` for standard input.
    file: PathBuf,
    /// The git repository that has the commit.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,
    /// The public key, as `GET /api/v1/receipt-key` gives it; a file may hold several. Can be given several times.
    #[arg(long, value_name = "KEY.pem")]
    key: Vec<PathBuf>,
    /// The commit that the receipt has to be about; without it, any receipt of the repository will do.
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitSha>,
    /// The receipt has to say PASSED, and not only to be true; and the tests have to pass here, too.
    #[arg(long)]
    passed: bool,
    /// Print one JSON document instead of words.
    #[arg(long)]
    json: bool,
    /// Settings for the sandbox and the limits; ~/.config/journeyman/journeyman.toml when absent. Nothing is read from the
    /// current folder: a change under test could bring its own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn main(arguments: ReceiptVerifyArguments) -> anyhow::Result<u8> {
    let settings =
        TestRunSettings::load(user_settings(arguments.config.clone()).as_deref(), std::env::vars())?;
    let mut keys = Vec::new();
    for file in &arguments.key {
        keys.extend(PublicKey::read_file(file).map_err(|error| UsageError(format!("--key: {error}")))?);
    }
    let repository = open_clone(&arguments.repo)
        .map_err(|error| UsageError(format!("--repo {}: {error}", arguments.repo.display())))?;
    let envelope = match open(&arguments.file)? {
        Ok(envelope) => envelope,
        Err(why) => return Ok(not_signed(&why)),
    };
    // If a required signature is missing or wrong, run nothing.
    let read = if keys.is_empty() {
        envelope.statement_unverified().map(|statement| (statement, None))
    } else {
        envelope.verify(&keys).map(|(statement, key)| (statement, Some(key)))
    };
    let (statement, signer) = match read {
        Ok(read) => read,
        Err(why) => {
            if arguments.json {
                println!(
                    "{}",
                    json!({"signature": {"is": "bad", "because": why.to_string()}, "same": false})
                );
            }
            return Ok(not_signed(&why));
        }
    };
    let mut rows = asked(&arguments, &statement);
    rows.extend(committed(&repository, &statement.claims)?);
    if rows.iter().all(|row| row.found != ReverificationResult::Differs) {
        let folder = repository.workdir().unwrap_or_else(|| repository.path());
        rows.extend(tested(&settings, folder, &statement, arguments.passed).await?);
        rows.extend(word_alone(&statement.claims));
    }
    let same = rows.iter().all(|row| row.found != ReverificationResult::Differs);
    if arguments.json {
        println!("{}", as_json(&statement, signer.as_ref(), &rows, same));
    } else {
        print!("{}", in_words(&statement, signer.as_ref(), &rows));
    }
    Ok(match (same, signer) {
        (false, _) => DIFFERS,
        (true, None) => SAME_AND_UNSIGNED,
        (true, Some(_)) => 0,
    })
}

/// The conditions of `--commit` and `--passed`.
fn asked(arguments: &ReceiptVerifyArguments, statement: &Statement) -> Vec<ReverifiedStatement> {
    let commit = arguments.commit.as_ref();
    let commit = commit.map(|wanted| {
        ReverifiedStatement::new("the commit of --commit", statement.claims.commit.as_str(), wanted.as_str())
    });
    let passed = arguments.passed.then(|| {
        ReverifiedStatement::new(
            "the result of --passed",
            statement.result.word(),
            AttestationResult::Passed.word(),
        )
    });
    commit.into_iter().chain(passed).collect()
}

/// Whether the repository has this commit, with this tree.
fn committed(
    repository: &git2::Repository,
    claims: &ReceiptClaims,
) -> anyhow::Result<Vec<ReverifiedStatement>> {
    let found = repository.find_commit(git2::Oid::from_str(claims.commit.as_str())?);
    let commit = claims.commit.as_str();
    Ok(match found {
        Ok(found) => vec![
            ReverifiedStatement::new("commit", commit, &found.id().to_string()),
            ReverifiedStatement::new("tree", claims.tree.as_str(), &found.tree_id().to_string()),
        ],
        Err(_) => vec![ReverifiedStatement::new("commit", commit, "not in the repository")],
    })
}

/// Repeats the tests.
async fn tested(
    settings: &TestRunSettings,
    repo: &Path,
    statement: &Statement,
    have_to_pass: bool,
) -> anyhow::Result<Vec<ReverifiedStatement>> {
    let Some(told) = &statement.claims.tests else { return Ok(Vec::new()) };
    eprintln!("journeyman: running the tests of {}", statement.claims.commit.short());
    let repeated = reverify(settings, repo, &statement.claims).await?;
    let said = statement.receipt.get("tests").unwrap_or(&serde_json::Value::Null);
    let here = &repeated.evidence;
    let today = RunOfToday { tests: here, is_image_by_digest: repeated.is_image_by_digest };
    let mut rows = compare(said, told, today)?;
    rows.extend(unmended(&statement.claims, &repeated));
    if have_to_pass {
        let word = here.verdict.as_str().replace('_', " ");
        let word = here.doubt.as_ref().map_or(word.clone(), |doubt| format!("{word}, and {doubt}"));
        rows.insert(0, ReverifiedStatement::new("the tests of --passed", "passed", &word));
    }
    Ok(rows)
}

/// A receipt that says verified although one of its own examination's statements fails. The tests still pass, but the
/// change is not proven.
fn unmended(claims: &ReceiptClaims, repeated: &RepeatedTests) -> Option<ReverifiedStatement> {
    let scrutiny = claims.tests.as_ref()?.scrutiny.as_ref()?;
    let (failing, _) = scrutiny.examination.as_ref()?.failing().next()?;
    // If a person committed too, that commit may be the fix, so nothing has to be proven.
    let is_of_base = claims.base.as_ref() == Some(&scrutiny.baseline.commit);
    let is_wrong = claims.verified && repeated.is_proof_wanted && is_of_base;
    is_wrong.then(|| {
        ReverifiedStatement::new(
            "verified",
            "yes",
            &format!("not proven by the receipt itself: {}", failing.sentence()),
        )
    })
}

/// What only the signer vouches for.
fn word_alone(claims: &ReceiptClaims) -> Vec<ReverifiedStatement> {
    let mut rows = Vec::new();
    if claims.tests.is_none() {
        rows.push(ReverifiedStatement::not_repeated("tests", "none", "none were run"));
    }
    if let Some(branch) = claims.branch.as_ref().filter(|_| claims.on_remote) {
        rows.push(ReverifiedStatement::not_repeated(
            "on the remote",
            branch.as_str(),
            "the remote was asked at that time",
        ));
    }
    if let Some(review) = &claims.review {
        rows.push(ReverifiedStatement::not_repeated(
            "review",
            &review.summary,
            "a second agent would say it otherwise",
        ));
    }
    if let Some(by) = &claims.approved_by {
        rows.push(ReverifiedStatement::not_repeated("approved by", by, "a person said so at that time"));
    }
    rows
}

fn as_json(
    statement: &Statement,
    signer: Option<&KeyId>,
    rows: &[ReverifiedStatement],
    same: bool,
) -> serde_json::Value {
    let signature = match signer {
        Some(key) => json!({"is": "good", "key": key.to_string()}),
        None => json!({"is": "not checked", "because": "no key given"}),
    };
    json!({
        "signature": signature,
        "commit": statement.claims.commit.as_str(),
        "tree": statement.claims.tree.as_str(),
        "result": statement.result,
        "findings": statement.claims.all_findings(),
        "statements": rows,
        "same": same,
    })
}

fn in_words(statement: &Statement, signer: Option<&KeyId>, rows: &[ReverifiedStatement]) -> String {
    let claims = &statement.claims;
    let signature = match signer {
        Some(key) => format!("signed by the key {key}"),
        None => "signature not checked: no key given".to_owned(),
    };
    let mut out = format!(
        "{}#{} at {}: {} ({})\n{signature}\n\n{}\n",
        claims.repository,
        claims.issue,
        claims.commit.short(),
        line(&claims.verdict, 60),
        statement.result.word(),
        listed(&claims.all_findings())
    );
    let width = rows.iter().map(|row| row.statement.chars().count()).max().unwrap_or(0).min(60);
    for row in rows {
        let (sign, statement) = (sign(row.found), line(&row.statement, 60));
        let said = line(&row.receipt, 100);
        let said = match row.found {
            ReverificationResult::Same => said,
            ReverificationResult::Differs => {
                format!("the receipt: {said}\n{:19}{:width$}  here: {}", "", "", line(&row.here, 100))
            }
            ReverificationResult::CannotBeRepeated { because } if row.here.is_empty() => {
                format!("{said}  (cannot be repeated here: {because})")
            }
            ReverificationResult::CannotBeRepeated { because } => {
                format!("{said}  (cannot be repeated here: {because}; here {})", line(&row.here, 100))
            }
        };
        out.push_str(&format!("{sign:<19}{statement:width$}  {said}\n"));
    }
    let count = |like: fn(ReverificationResult) -> bool| rows.iter().filter(|row| like(row.found)).count();
    out.push_str(&format!(
        "\n{} the same, {} differing, {} that cannot be repeated\n",
        count(|found| found == ReverificationResult::Same),
        count(|found| found == ReverificationResult::Differs),
        count(|found| matches!(found, ReverificationResult::CannotBeRepeated { .. }))
    ));
    if rows.iter().any(|row| matches!(row.found, ReverificationResult::CannotBeRepeated { .. })) {
        out.push_str(
            "What cannot be repeated rests on the word of whoever signed the receipt, and on nothing else.\n",
        );
    }
    out
}

fn sign(found: ReverificationResult) -> &'static str {
    match found {
        ReverificationResult::Same => "same",
        ReverificationResult::Differs => "differs",
        ReverificationResult::CannotBeRepeated { .. } => "cannot be repeated",
    }
}

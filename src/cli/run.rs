//! `journeyman run`: the whole job on a local repository. The GitHub emulator runs in this process: the repository is
//! imported into it, and the resulting branch is fetched back.

use std::path::{Path, PathBuf};

use clap::Args;

use super::live::{LineTarget, LiveOutput};
use super::local::{HumanPresence, LocalOptions, LocalStack, surfaces};
use super::{INTERRUPTED, UsageError, issue_file, local_clone, log, user_settings};
use crate::app::{open_clone, plain_name};
use crate::attest::{SigningError, SigningKey, SigningKeyOrigin};
use crate::emulator::RepositorySource;
use crate::http::ReceiptAttester as _;
use crate::order::{BranchName, OrderId, Receipt, Surfaces};

/// What `run` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 verified, 1 failed, 2 wrong usage, 3 a person is needed, 4 finished but \
                        not verified (no tests, not proven, or approved by a person).\n\n\
                        The result is a branch journeyman/issue-N-… in the repository, and what was done and verified on \
                        standard output.\nYour work tree is not touched. Progress is printed on standard error. What the \
                        tests need is installed once and kept in your cache folder (XDG_CACHE_HOME).\n\n\
                        Example:\n  ANTHROPIC_API_KEY=… journeyman run --repo . --issue bug.md --agent claude"
)]
pub(super) struct RunArguments {
    /// The git repository, or a folder in it; its HEAD is the branch that the work starts from.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,
    /// The issue in Markdown; its first line is the title.
    #[arg(long, value_name = "FILE.md")]
    issue: PathBuf,
    /// The agent, by its name in the settings.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The pipeline, by its name or its file.
    #[arg(long, value_name = "NAME|FILE")]
    pipeline: Option<String>,
    /// Print the receipt as JSON instead of the text.
    #[arg(long)]
    json: bool,
    /// Write the signed receipt to this file. It is signed with the key of the settings' data.dir; where they name none,
    /// with one that is made for this run, whose public key is written next to it as FILE.pem.
    #[arg(long, value_name = "FILE")]
    attestation: Option<PathBuf>,
    /// Settings for agents, templates, limits, the network and the sandbox, and [signing];
    /// ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn main(arguments: RunArguments) -> anyhow::Result<u8> {
    log("error");
    let issue = issue_file::read(&arguments.issue)?;
    let repository = open(&arguments.repo)?;
    local_clone::require_files_of(&repository, repository.head()?.peel_to_commit()?.id())?;
    let folder = repository.workdir().unwrap_or_else(|| repository.path()).to_owned();
    let local = LocalStack::start(LocalOptions {
        config: user_settings(arguments.config),
        agent: arguments.agent,
        pipeline: arguments.pipeline,
        environment_of: Some(folder.clone()),
        ..LocalOptions::default()
    })
    .await?;
    let name = format!("local/{}", plain_name(&folder));
    let source = RepositorySource::Path(folder.clone());
    let issue = match local.start_order(&name, source, &issue.title, &issue.body).await {
        Ok(issue) => issue,
        Err(error) => return local.give_up(error).await,
    };
    let mut live = LiveOutput::new(LineTarget::BesideWithoutGitHub);
    let Some((order, _)) = local.work((name.as_str(), issue), &mut live, HumanPresence::Absent).await? else {
        local.stop().await?;
        eprintln!("journeyman: stopped; no branch was created in the repository");
        return Ok(INTERRUPTED);
    };
    let (shown, branch) = report(&local, order, &name, &repository, arguments.json).await?;
    if let Some(file) = &arguments.attestation {
        attest(&local, order, file).await?;
    }
    local.stop().await?;
    eprintln!("\n  {}{}", shown.outcome, shown.because.map(|why| format!(": {why}")).unwrap_or_default());
    if let Some(branch) = branch {
        eprintln!("  branch {branch}\n  next{}: git diff {}...{branch}", place(&folder), base(&repository)?);
    }
    Ok(shown.exit_code)
}

/// Prints the result and returns the branch that the repository now has, if any.
async fn report(
    local: &LocalStack,
    order: OrderId,
    name: &str,
    repository: &git2::Repository,
    json: bool,
) -> anyhow::Result<(Surfaces, Option<BranchName>)> {
    let (journal, projection) = local.handle.look(order).await?;
    let receipt = Receipt::of(&journal, &projection);
    let branch = receipt.branch.clone().filter(|_| receipt.on_remote);
    if let Some(branch) = &branch {
        bring_back(repository, &local.emulator.git_dir(name)?, branch)?;
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&receipt)?);
    } else if let Some(number) = receipt.pull_request
        && let Some(pull) = local.emulator.pulls(name).into_iter().find(|pull| pull.issue.number == number.0)
    {
        println!("# {}\n\n{}", pull.issue.title, pull.issue.body);
    }
    Ok((surfaces(&projection), branch))
}

/// Names the folder for the next command, unless it is the current one.
fn place(folder: &Path) -> String {
    let is_here =
        std::env::current_dir().is_ok_and(|here| folder.canonicalize().is_ok_and(|at| here.starts_with(at)));
    if is_here {
        String::new()
    } else {
        format!(", in {}", folder.components().collect::<PathBuf>().display())
    }
}

/// The branch the work started from; the commit if the head is detached or the shell would misread the branch's name.
fn base(repository: &git2::Repository) -> anyhow::Result<String> {
    let head = repository.head()?;
    let is_plain = |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    let branch = head.shorthand().ok().filter(|_| head.is_branch()).filter(is_plain);
    Ok(match branch {
        Some(branch) => branch.to_owned(),
        None => head.peel_to_commit()?.id().to_string(),
    })
}

/// Writes the signed receipt if there is something to sign.
pub(super) async fn attest(local: &LocalStack, order: OrderId, file: &Path) -> anyhow::Result<()> {
    let (key, origin) = match &local.data {
        Some(data) => SigningKey::open_or_make(data)?,
        None => (SigningKey::generate()?, SigningKeyOrigin::Made),
    };
    let public = key.public().to_pem();
    let (journal, projection) = local.handle.look(order).await?;
    let envelope = match local.handle.signer(key).attest(&journal, &projection).await {
        Ok(envelope) => envelope,
        Err(nothing @ (SigningError::AtWork | SigningError::NoCommit)) => {
            eprintln!("  no signed receipt: {nothing}");
            return Ok(());
        }
        Err(failed @ (SigningError::Key(_) | SigningError::Unwritable(_))) => return Err(failed.into()),
    };
    let write = |file: &Path, text: &str| {
        std::fs::write(file, text).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))
    };
    write(file, &format!("{}\n", envelope.to_json()))?;
    let with = match (origin, &local.data) {
        (SigningKeyOrigin::Found, _) => String::new(),
        (SigningKeyOrigin::Made, Some(data)) => {
            format!(", with a key that was created in {}", data.display())
        }
        (SigningKeyOrigin::Made, None) => {
            let mut beside = file.as_os_str().to_owned();
            beside.push(".pem");
            let beside = Path::new(&beside);
            write(beside, &public)?;
            format!(", with a key of this run alone: its public key is in {}", beside.display())
        }
    };
    eprintln!("  signed receipt {}{with}", file.display());
    Ok(())
}

pub(super) fn open(path: &Path) -> anyhow::Result<git2::Repository> {
    let wrong = |error: git2::Error| local_clone::without_commit(path, &error);
    let repository =
        open_clone(path).map_err(|error| UsageError(format!("--repo {}: {error}", path.display())))?;
    repository.head().map_err(wrong)?.peel_to_commit().map_err(wrong)?;
    if let Some(problem) = missing_history(&repository) {
        return Err(UsageError(format!("--repo {}: {problem}", path.display())).into());
    }
    Ok(repository)
}

/// Why work cannot start from an incomplete clone; `None` for a complete one.
fn missing_history(repository: &git2::Repository) -> Option<&'static str> {
    if local_clone::is_shallow(repository) {
        return Some("the clone is shallow, and work needs the history: `git fetch --unshallow` gets it");
    }
    local_clone::is_partial(repository).then_some(local_clone::PARTIAL)
}

/// Fetches only the branch. It is new here, because existing names were avoided.
fn bring_back(repository: &git2::Repository, from: &Path, branch: &BranchName) -> anyhow::Result<()> {
    let from = from.to_str().ok_or_else(|| anyhow::anyhow!("the temporary folder's name is not UTF-8"))?;
    let reference = branch.reference();
    let mut options = git2::FetchOptions::new();
    options.download_tags(git2::AutotagOption::None);
    repository.remote_anonymous(from)?.fetch(
        &[format!("{reference}:{reference}")],
        Some(&mut options),
        None,
    )?;
    Ok(())
}

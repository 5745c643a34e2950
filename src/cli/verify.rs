//! `journeyman verify`: whether a branch does what it says, on a local repository and without GitHub. The GitHub emulator
//! runs in this process: the branch is a pull request there, which is verified like anybody's.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use git2::{ErrorCode, Repository};

use super::issue_file::{self, IssueFile};
use super::live::{LineTarget, LiveOutput, line, whole};
use super::local::{HumanPresence, LocalOptions, LocalStack, surfaces};
use super::receipt::listed;
use super::run::{attest, open};
use super::{INTERRUPTED, UsageError, local_clone, log, user_settings};
use crate::app::plain_name;
use crate::config::Templates;
use crate::emulator::{ProposedChange, RepositorySource};
use crate::order::bounds::{LONGEST_DOCUMENT, LONGEST_TEXT};
use crate::order::next::OrderProjection;
use crate::order::{Pipeline, Receipt, TestRun, TestVerdict, VERIFY_LABEL, VERIFY_PIPELINE};
use crate::verify::TAIL_CHARACTERS;

const MOST_PRINTED_LINES: usize = 40;
/// What the branch is called if the base is given as a commit.
const BASE: &str = "main";
const HEAD: &str = "journeyman-verify-head";

/// What `verify` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 verified, 1 failed, 2 wrong usage, 3 a check failed, 4 finished but not verified (no tests, or \
                  not proven).\n\n\
                  The tests of base and head run on the code of both, in the sandbox, and small changes of tests and code \
                  show whether a pass means anything. No key, no agent and no GitHub is needed; without --agent nobody \
                  reviews the change or examines the issue, and the result says so. Your work tree is not touched, and \
                  what is not committed is not looked at. What the tests need is installed once and kept in your cache \
                  folder (XDG_CACHE_HOME).\n\n\
                  Examples:\n  \
                  journeyman verify --base main                           the branch that is checked out\n  \
                  journeyman verify --base main --issue bug.md            and what the issue shows\n  \
                  journeyman verify --base main --agent claude            and a review by an agent\n  \
                  gh issue view 7 --json title,body -q '.title+\"\\n\\n\"+.body' | journeyman verify --issue -"
)]
pub(super) struct VerifyArguments {
    /// The git repository, or a folder in it.
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// The branch or commit that the change is to be merged into; what origin/HEAD names, main or master when absent.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// The branch or commit that is verified.
    #[arg(long, value_name = "BRANCH", default_value = "HEAD")]
    head: String,
    /// What the change has to do, in Markdown, the first line being the title; `-` for standard input. The commits'
    /// messages when absent.
    #[arg(long, value_name = "FILE.md")]
    issue: Option<PathBuf>,
    /// The agent that examines the issue and reviews the change, by its name in the settings.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Print the receipt as JSON instead of words.
    #[arg(long)]
    json: bool,
    /// Write the signed receipt to this file. It is signed with the key of the settings' data.dir; where they name none,
    /// with one that is made for this run, whose public key is written next to it as FILE.pem.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Settings for agents, limits, the network and the sandbox; ~/.config/journeyman/journeyman.toml when absent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn main(arguments: VerifyArguments) -> anyhow::Result<u8> {
    log("error");
    let repository = open(&arguments.repo)?;
    let folder = repository.workdir().unwrap_or_else(|| repository.path()).to_owned();
    let base = arguments.base.clone().map_or_else(|| usual_base(&repository), Ok)?;
    let (base, base_branch) = (commit(&repository, "--base", &base)?, branch_named(&repository, &base));
    let head = commit(&repository, "--head", &arguments.head)?;
    local_clone::require_files_of(&repository, base)?;
    local_clone::require_files_of(&repository, head)?;
    let text = said_by_commits(&repository, base, head)?;
    let issue = arguments.issue.as_deref().map(issue_of).transpose()?;
    let local = LocalStack::start(LocalOptions {
        config: user_settings(arguments.config),
        pipelines: vec![pipeline(arguments.agent.is_some())?],
        agent: arguments.agent,
        environment_of: Some(folder.clone()),
        ..LocalOptions::default()
    })
    .await?;
    let name = format!("local/{}", plain_name(&folder));
    let change = ProposedChange {
        base_branch,
        base: base.to_string(),
        head_branch: HEAD.to_owned(),
        head: head.to_string(),
        title: text.title,
        body: text.body,
    };
    let pull = match propose(&local, &name, &folder, issue, change).await {
        Ok(pull) => pull,
        Err(error) => return local.give_up(error).await,
    };
    let mut live = LiveOutput::new(LineTarget::BesideWithoutGitHub);
    let Some((order, _)) = local.work((name.as_str(), pull), &mut live, HumanPresence::Absent).await? else {
        local.stop().await?;
        eprintln!("journeyman: stopped");
        return Ok(INTERRUPTED);
    };
    let (journal, projection) = local.handle.look(order).await?;
    let (shown, receipt) = (surfaces(&projection), Receipt::of(&journal, &projection));
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&receipt)?);
    } else {
        let because =
            shown.because.as_ref().map(|why| format!("\n{}", line(why, LONGEST_TEXT))).unwrap_or_default();
        print!("{}{because}\n\n{}", shown.headline, listed(&receipt.findings));
        print!("{}", end_of_output(&projection));
    }
    if let Some(file) = &arguments.receipt {
        attest(&local, order, file).await?;
    }
    local.stop().await?;
    Ok(shown.exit_code)
}

/// The end of what tests printed that failed or were none, or a failing setup on the change or before on its base.
fn end_of_output(projection: &OrderProjection) -> String {
    let tests = projection.trace.work.as_ref().and_then(|work| work.tests.as_ref());
    let base = projection.trace.environment.as_ref().map(|environment| environment.tail.as_str());
    let is_told = |tests: &&TestRun| {
        matches!(tests.verdict, TestVerdict::Failed | TestVerdict::SetupFailed | TestVerdict::NoTests)
    };
    let tail = tests.filter(is_told).map(|tests| tests.tail.as_str()).or(base).unwrap_or_default();
    // A tail of this length may begin within a line.
    let is_cut = tail.chars().count() >= TAIL_CHARACTERS;
    let printed: Vec<&str> = tail.lines().skip(usize::from(is_cut)).collect();
    let shown = printed.iter().skip(printed.len().saturating_sub(MOST_PRINTED_LINES));
    let shown: String = shown.map(|text| format!("  {}\n", whole(text))).collect();
    if shown.is_empty() { shown } else { format!("\nThe end of the output:\n\n{shown}") }
}

/// Opens the pull request in the emulator, and labels it.
async fn propose(
    local: &LocalStack,
    name: &str,
    folder: &Path,
    issue: Option<IssueFile>,
    mut change: ProposedChange,
) -> anyhow::Result<u64> {
    local.put_repository(name, RepositorySource::Path(folder.to_owned())).await?;
    if let Some(issue) = issue {
        let number = local.emulator.open_issue(name, super::local::PERSON, &issue.title, &issue.body).await?;
        change.body = format!("Closes #{number}\n\n{}", change.body);
    }
    let pull = local.emulator.propose(name, super::local::PERSON, change)?;
    local.emulator.label(name, pull, VERIFY_LABEL, super::local::PERSON).await?;
    Ok(pull)
}

/// The pipeline of pull requests, without its agents if there is none.
fn pipeline(has_agent: bool) -> anyhow::Result<Pipeline> {
    let pipeline = Templates::load(None)?.pipeline(VERIFY_PIPELINE)?;
    Ok(if has_agent { pipeline } else { pipeline.without_agents() })
}

fn commit(repository: &Repository, option: &str, name: &str) -> anyhow::Result<git2::Oid> {
    let found = repository.revparse_single(name).and_then(|found| found.peel_to_commit());
    let unknown = |error: git2::Error| {
        let hint = if error.code() == ErrorCode::NotFound { "; `git fetch` may bring it" } else { "" };
        UsageError(format!("{option} {name}: there is no such branch or commit here{hint}"))
    };
    Ok(found.map_err(unknown)?.id())
}

/// What the remote calls its default branch, or the usual names.
fn usual_base(repository: &Repository) -> anyhow::Result<String> {
    let origin = repository.find_reference("refs/remotes/origin/HEAD").ok();
    let origin = origin.and_then(|head| Some(head.symbolic_target().ok()??.to_owned()));
    let usual = ["refs/heads/main", "refs/heads/master"].map(str::to_owned);
    let found = origin.into_iter().chain(usual).find(|name| repository.find_reference(name).is_ok());
    let unknown =
        "--base: say which branch the change is to be merged into; there is no origin/HEAD, main or master";
    Ok(found.ok_or_else(|| UsageError(unknown.to_owned()))?)
}

/// The plain name of the branch, for the receipt.
fn branch_named(repository: &Repository, base: &str) -> String {
    let reference = repository.resolve_reference_from_short_name(base).ok();
    let name = reference.and_then(|found| found.name().ok().map(str::to_owned)).unwrap_or_default();
    let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
    let remote = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch.to_owned());
    branch.or_else(remote).filter(|branch| branch != HEAD).unwrap_or_else(|| BASE.to_owned())
}

/// The commits' messages: the first one's subject, and all texts below, oldest first.
fn said_by_commits(repository: &Repository, base: git2::Oid, head: git2::Oid) -> anyhow::Result<IssueFile> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
    walk.push(head)?;
    walk.hide(base)?;
    let mut messages = Vec::new();
    for id in walk {
        let commit = repository.find_commit(id?)?;
        messages.push(String::from_utf8_lossy(commit.message_bytes()).trim().to_owned());
    }
    let all: String = messages.join("\n\n").chars().take(LONGEST_DOCUMENT).collect();
    let none = || UsageError("--head has no commit that --base lacks: there is nothing to verify".to_owned());
    if messages.is_empty() {
        return Err(none().into());
    }
    let unnamed = || IssueFile { title: "A change without a message".to_owned(), body: String::new() };
    Ok(issue_file::parse(&all).unwrap_or_else(unnamed))
}

fn issue_of(file: &Path) -> anyhow::Result<IssueFile> {
    if file != Path::new("-") {
        return issue_file::read(file);
    }
    let mut text = String::new();
    let most = u64::try_from(LONGEST_DOCUMENT)?;
    std::io::stdin().lock().take(most).read_to_string(&mut text)?;
    let empty = || UsageError("--issue -: standard input is empty; its first line is the title".to_owned());
    Ok(issue_file::parse(&text).ok_or_else(empty)?)
}

//! `journeyman demo`: the GitHub emulator, a sample repository with a bug, an issue, and the bot at work.

use std::path::PathBuf;

use clap::Args;
use secrecy::ExposeSecret;

use super::INTERRUPTED;
use super::live::{LineTarget, LiveOutput};
use super::local::{HumanPresence, LABEL, LocalOptions, LocalStack, PERSON};
use super::sample::{self, Sample};
use super::{log, user_settings};
use crate::emulator::{RepositorySource, WebPages};
use crate::order::{OrderId, Receipt, Surfaces};

/// The sample repository on the emulator.
const REPOSITORY: &str = "you/statistics";
/// Long enough for one person to write a review of several comments.
const GATHER_SECONDS: u32 = 3;

/// What `demo` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --once it keeps running: open the printed addresses, comment (/retry, /cancel), review; Ctrl-C ends \
                        it.\nExit codes with --once: 0 verified, 1 failed, 2 wrong usage, 3 a person is needed, 4 not verified.\n\n\
                        The agent `scripted` follows a script: it gets the fix wrong first, on purpose, and right when \
                        it is sent back. Everything else is real: git, sandbox, tests, HTTP."
)]
pub(super) struct DemoArguments {
    /// End when the order has settled.
    #[arg(long)]
    once: bool,
    /// Another agent than the scripted one, by its name in the settings, such as claude.
    #[arg(long, value_name = "NAME", default_value = sample::AGENT)]
    agent: String,
    /// The pipeline, by its name or its file.
    #[arg(long, value_name = "NAME|FILE")]
    pipeline: Option<String>,
    /// Settings for agents, templates, limits, the network and the sandbox; ~/.config/journeyman/journeyman.toml when
    /// absent. [server], [notifications] and [signing] are not used, and no traces are sent.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port of the emulator's pages; a free one when absent.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(super) async fn main(arguments: DemoArguments) -> anyhow::Result<u8> {
    log("error");
    let (title, body) = sample::issue();
    let scripted = arguments.agent == sample::AGENT;
    let local = LocalStack::start(LocalOptions {
        config: user_settings(arguments.config),
        agent: Some(arguments.agent.clone()),
        pipeline: arguments.pipeline,
        port: arguments.port,
        pages: WebPages::Shown,
        gather_seconds: GATHER_SECONDS,
        ..LocalOptions::default()
    })
    .await?;
    let origin = local.emulator.origin();
    eprintln!("GitHub, emulated:  {origin}/{REPOSITORY}");
    eprintln!("Journeyman:        http://{}", local.address);
    // The token opens this demo only, and only until it ends.
    if let Some(token) = local.api_token.as_ref().filter(|_| !arguments.once) {
        let token = token.expose_secret();
        eprintln!("  Sign in there with {token}. For `journeyman orders`, `show`, `retry` and so on:");
        eprintln!("  export JOURNEYMAN_URL=http://{} JOURNEYMAN_API_TOKEN={token}", local.address);
    }
    if scripted {
        eprintln!(
            "Agent:             {} (a script, not a model; its first two attempts are flawed on purpose)\n",
            sample::AGENT
        );
    } else {
        eprintln!("Agent:             {}\n", arguments.agent);
    }
    let begun = async {
        let sample = Sample::for_sandbox(local.handle.eval_sandbox()).await?;
        local.start_order(REPOSITORY, RepositorySource::Files(sample.files()), &title, &body).await
    };
    let issue = match begun.await {
        Ok(issue) => issue,
        Err(error) => return local.give_up(error).await,
    };
    eprintln!("  {PERSON} added the label `{LABEL}` to issue #{issue}: {title}");
    eprintln!("  {origin}/{REPOSITORY}/issues/{issue}\n");
    let mut live = LiveOutput::new(LineTarget::Beside);
    let people = if arguments.once { HumanPresence::Absent } else { HumanPresence::Present };
    let Some((order, mut shown)) = local.work((REPOSITORY, issue), &mut live, people).await? else {
        local.stop().await?;
        return Ok(INTERRUPTED);
    };
    summary(&local, order).await?;
    if !arguments.once {
        eprintln!("\n  Look around at {origin}/{REPOSITORY}; comment, review. Ctrl-C ends the demo.");
        if scripted {
            eprintln!("  The script can do one thing that you request: \"{}\"", sample::REQUEST);
        }
        shown = stay(&local, order, shown, &mut live).await?;
    }
    local.stop().await?;
    Ok(shown.exit_code)
}

/// Keeps running, and shows the work that people start on the pages.
async fn stay(
    local: &LocalStack,
    order: OrderId,
    mut shown: Surfaces,
    live: &mut LiveOutput,
) -> anyhow::Result<Surfaces> {
    loop {
        let at_work = local.handle.look(order).await?.1.next.settled.is_none();
        if at_work {
            match local.watch(order, live, HumanPresence::Present).await? {
                Some(ended) => shown = ended,
                None => return Ok(shown),
            }
            summary(local, order).await?;
        }
        tokio::select! {
            () = tokio::time::sleep(std::time::Duration::from_millis(300)) => {}
            () = local.asked_to_stop() => return Ok(shown),
        }
    }
}

async fn summary(local: &LocalStack, order: OrderId) -> anyhow::Result<()> {
    let (journal, projection) = local.handle.look(order).await?;
    let receipt = Receipt::of(&journal, &projection);
    println!();
    let shown = projection.surfaces();
    println!("outcome:       {}", shown.outcome);
    if let Some(because) = shown.because {
        println!("because:       {because}");
    }
    if let Some(pull) = &projection.trace.pull {
        println!("pull request:  {}", pull.url);
        let seen =
            local.emulator.pulls(REPOSITORY).into_iter().find(|seen| seen.issue.number == pull.number.0);
        if let Some(seen) = seen {
            println!("its head:      {}{}", seen.head_sha, if seen.draft { " (draft)" } else { "" });
        }
    }
    if let (Some(commit), Some(tests)) = (&receipt.commit, &receipt.tests) {
        println!("tested commit: {commit}");
        println!("sandbox:       {}", tests.sandbox);
    }
    println!("rounds:        {}", projection.trace.worker_rounds());
    println!("cost:          ${:.2}", receipt.usage.usd);
    Ok(())
}

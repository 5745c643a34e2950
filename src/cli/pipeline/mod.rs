//! `journeyman pipeline`: checks a pipeline's file, and draws pipelines.
//!
//! May know: pipelines and roles, and where their files are. Must never know: how a pipeline is run.

#[cfg(feature = "draw")]
mod draw;
mod summary;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::UsageError;
use crate::config::{Templates, command_names};
use crate::order::{Pipeline, byte_order_mark};

/// What `pipeline` is told.
#[derive(Debug, Args)]
pub(super) struct PipelineArguments {
    #[command(subcommand)]
    command: PipelineCommand,
    /// A folder like the one of the setting `templates.dir`: its roles and pipelines replace built-in ones.
    #[arg(long, global = true, value_name = "FOLDER", env = "JOURNEYMAN_TEMPLATES__DIR")]
    templates: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum PipelineCommand {
    /// Report problems in a pipeline's file, with line and column.
    #[command(
        after_help = "Exit codes: 0 it can be used, 1 it cannot, 2 it cannot be read, or wrong usage.\n\n\
                            Roles and command templates are ours, those of --templates, and those in `../agents/` and \
                            `../commands/` beside the file's folder (in a repository also `.claude/commands/`)."
    )]
    Check { file: PathBuf },
    /// Draw a pipeline.
    #[cfg(feature = "draw")]
    #[command(after_help = "A stage's dependency that others imply is not drawn.\n\n\
                            Example:\n  journeyman pipeline show issue-to-pr --mermaid > issue-to-pr.mmd")]
    Show {
        /// A pipeline by its name or its file.
        #[arg(value_name = "NAME|FILE")]
        pipeline: String,
        /// Draw it as a Mermaid flowchart, for Markdown.
        #[arg(long)]
        mermaid: bool,
    },
}

pub(super) fn main(arguments: &PipelineArguments) -> anyhow::Result<u8> {
    let mut templates = Templates::load(arguments.templates.as_deref())?;
    match &arguments.command {
        PipelineCommand::Check { file } => check(file, &mut templates),
        #[cfg(feature = "draw")]
        PipelineCommand::Show { pipeline, mermaid } => {
            let pipeline = find(pipeline, &mut templates)?;
            match mermaid {
                true => print!("{}", draw::mermaid(&pipeline)),
                false => println!("{}\n{}", draw::list(&pipeline), summary::paragraph(&pipeline)),
            }
            Ok(0)
        }
    }
}

fn check(file: &Path, templates: &mut Templates) -> anyhow::Result<u8> {
    let yaml = read(file)?;
    templates.add_roles(&beside(file))?;
    let commands = known_commands(file, templates)?;
    match Pipeline::parse_knowing(&yaml, &templates.roles, &commands) {
        Ok(pipeline) => {
            println!("ok\n{}", summary::paragraph(&pipeline));
            Ok(0)
        }
        Err(invalid) => {
            for problem in &invalid.problems {
                let place = match (problem.line, problem.column) {
                    (Some(line), Some(column)) => format!(":{line}:{column}"),
                    (Some(line), None) => format!(":{line}"),
                    (None, _) => String::new(),
                };
                println!("{}{place}: {}", file.display(), problem.said_with_key());
            }
            Ok(1)
        }
    }
}

#[cfg(feature = "draw")]
fn find(wanted: &str, templates: &mut Templates) -> anyhow::Result<Pipeline> {
    if crate::config::is_file_name(wanted) {
        templates.add_roles(&beside(Path::new(wanted)))?;
    }
    Ok(templates.pipeline(wanted)?)
}

/// The folder of a file's roles; in a repository it is a sibling of the pipelines' folder.
fn beside(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join("..").join("agents")
}

/// The names of command templates: built-in, from --templates, and from the repository of the file.
fn known_commands(file: &Path, templates: &Templates) -> anyhow::Result<BTreeSet<String>> {
    let mut commands: BTreeSet<String> = crate::app::built_in_commands().into_iter().collect();
    commands.extend(templates.commands.keys().cloned());
    let folder = file.parent().unwrap_or(Path::new(""));
    for place in ["../commands", "../../../.claude/commands"] {
        commands.extend(command_names(&folder.join(place))?);
    }
    Ok(commands)
}

fn read(file: &Path) -> anyhow::Result<String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| UsageError(format!("{}: {error}", file.display())))?;
    Ok(byte_order_mark::strip(&text).to_owned())
}

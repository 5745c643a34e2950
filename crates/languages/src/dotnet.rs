//! .NET projects: a solution or a project in the root.
//!
//! May know: `*.sln`, `*.csproj`. Must never know: other ecosystems.

use std::collections::BTreeSet;

use crate::counts::dotnet;
use crate::files::MOST_READ;
use crate::language::{Facts, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::project::{Detection, FoundProject};
use crate::runner::{
    Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection, WordsPlace,
};
use crate::tool_facts::{SetupAction, ToolFacts};
use journeyman_order::bounds::MOST_NAMED;

const PROJECTS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];

pub(crate) struct DotNet;

impl Language for DotNet {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["cs", "fs", "vb"],
                unparsed: &[("C#", &["cs"]), ("F#", &["fs"]), ("Visual Basic", &["vb"])],
                manifests: &["*.csproj", "*.fsproj", "*.vbproj"],
                programs: &["dotnet"],
                runners: RUNNERS,
                tools: &[ToolFacts {
                    name: "dotnet",
                    actions: &[SetupAction::new("actions/setup-dotnet", "dotnet-version")],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "packages.lock.json"],
                    programs: &["dotnet", "nuget"],
                    hosts: &["api.nuget.org"],
                }],
                lockfiles: &["packages.lock.json"],
                decides: &["*.props", "*.targets", "global.json"],
                dependency_folders: &["obj"],
                protected: &["nuget.config"],
                missing: &[r"^.*error NU1\d{3}: .*$"],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:Debugger\.IsAttached|Is(?:Input|Output|Error)Redirected|CallerFilePath|new StackTrace)\b",
                ],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
}

const NOT_LOADED: &[NotLoaded] = &[NotLoaded::base(r".*: error (?:CS|FS|BC)\d+: ")];

const RUNNERS: &[TestRunner] = &[TestRunner {
    name: "vstest",
    runs: |words| words.starts_with(&["dotnet", "test"]),
    ask: report_of_vstest,
    select: select_in_vstest,
    printed: Some(PrintedResult { read: dotnet::vstest, form: SummaryForm::Parts }),
    ..TestRunner::NONE
}];

/// A report for each project, with a name of its own.
fn report_of_vstest(call: &RunnerCall<'_>) -> Asked {
    // The other platform has other options, and others again where a package brings its reports.
    let settings = (call.read)("global.json").unwrap_or_default();
    let is_other = String::from_utf8_lossy(&settings).contains("Microsoft.Testing.Platform");
    let is_said = |word: &&str| {
        word.contains("trx")
            || word.starts_with("--results-directory")
            || *word == "-r"
            || word.starts_with("-r:")
    };
    let Some(report) = call.report.filter(|_| !is_other && !call.words.iter().any(is_said)) else {
        return Asked::default();
    };
    let folder = format!("{report}-trx");
    let quoted = shell_words::quote(&folder);
    let words = ["--logger", "trx", "--results-directory", quoted.as_ref()];
    Asked {
        words: words.map(str::to_owned).to_vec(),
        place: WordsPlace::After(2),
        report: Some(format!("{folder}/*.trx")),
        takes_options: !call.words.contains(&"--") && !call.has(&["--filter"]),
        ..Asked::default()
    }
}

/// By parts of full names: NUnit's also have parameters.
fn select_in_vstest(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let own = |name: &String| {
        let own = name.split(['(', '<', '[']).next().unwrap_or(name).trim_end();
        let is_plain =
            own.contains('.') && own.chars().all(|c| c.is_ascii_alphanumeric() || "._+".contains(c));
        is_plain.then(|| format!("FullyQualifiedName~{own}"))
    };
    let own = selection.names.iter().map(own).collect::<Option<BTreeSet<_>>>()?;
    let filter = own.into_iter().collect::<Vec<_>>().join("|");
    (selection.names.len() <= MOST_NAMED)
        .then(|| selection.with_option(&format!("--filter '{filter}'")))
        .flatten()
}

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let is_project = |name: &&str| PROJECTS.iter().any(|end| name.ends_with(end));
    // Visual C++ has solutions too, which dotnet cannot test.
    let is_solution = |name: &&str| {
        (name.ends_with(".sln") || name.ends_with(".slnx"))
            && ask.files.text(name).is_some_and(|text| PROJECTS.iter().any(|end| text.contains(end)))
    };
    let mut solutions = ask.files.root().filter(is_solution);
    let first = solutions.next();
    // Without a solution in the root, the only one below it.
    let below = || {
        let mut all =
            ask.files.all().filter(|path| path.contains(".sln")).take(MOST_READ).filter(is_solution);
        all.next().filter(|_| all.next().is_none())
    };
    let because = first.or_else(|| ask.files.root().find(is_project)).or_else(below)?.to_owned();
    // If there is only one, dotnet picks it.
    let is_ambiguous = solutions.next().is_some() || because.contains('/') || is_project(&because.as_str());
    let target = if is_ambiguous { format!(" {}", crate::files::quote(&because)) } else { String::new() };
    let mut found = FoundProject {
        what: ".NET",
        because: because.clone(),
        variables: vec![
            ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
            ("DOTNET_NOLOGO", "1"),
            ("DOTNET_CLI_HOME", "{home}"),
            ("NUGET_PACKAGES", "{home}/.nuget/packages"),
        ],
        ..FoundProject::default()
    };
    ask.tools.need("dotnet", &because);
    found.setup(format!("dotnet restore{target}"), &because);
    found.test(format!("dotnet test{target} --no-restore"), because);
    Some(found)
}

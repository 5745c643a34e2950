//! .NET projects: a solution or a project in the root.
//!
//! May know: `*.sln`, `*.csproj`. Must never know: other ecosystems.

use crate::files::MOST_READ;
use crate::language::{Facts, Language};
use crate::project::{Detection, FoundProject};

const PROJECTS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];

pub(crate) struct DotNet;

impl Language for DotNet {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: ".NET",
                sources: &["cs", "fs", "vb"],
                manifests: &["*.csproj", "*.fsproj", "*.vbproj"],
                programs: &["dotnet"],
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }
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

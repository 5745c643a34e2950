//! A repository's own pipelines and roles, below `.github/journeyman/` on its default branch.

use std::collections::{BTreeMap, BTreeSet};

use super::templates::is_file_name;
use journeyman_order::{Pipeline, Role, byte_order_mark};

/// Where a repository keeps its pipelines.
const PIPELINES: &str = ".github/journeyman/pipelines";
/// Where a repository keeps its roles.
const ROLES: &str = ".github/journeyman/agents";

/// A repository's own templates for one order.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryTemplates {
    /// The pipeline that it names. `None` if it names none.
    pub pipeline: Option<Pipeline>,
    /// Its own versions of the roles that the pipeline needs.
    pub roles: BTreeMap<String, Role>,
    /// The command templates named by its own pipeline and roles.
    pub commands: BTreeSet<String>,
}

/// Why a repository's templates cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryTemplatesError<E> {
    /// A file could not be read.
    Read(E),
    /// A file or a name in the settings cannot be used. Holds the path, line and reason.
    Unusable(String),
}

/// The server's templates.
#[derive(Debug, Clone, Copy)]
pub struct ServerTemplates<'a> {
    /// The pipeline if the repository names none.
    pub default: &'a Pipeline,
    /// Every pipeline that a repository can name.
    pub pipelines: &'a BTreeMap<String, Pipeline>,
    pub roles: &'a BTreeMap<String, Role>,
    /// The file that names the pipeline, for errors.
    pub named_in: &'a str,
}

/// Loads the pipeline that the repository names (`wanted`: a name, or a file's path) and the roles that it needs. The
/// repository's files override the server's. All are validated together, before anything costs money. `read` returns
/// a file of the base commit.
///
/// # Errors
/// Templates that cannot be used, worded for the repository's people; or the error of `read`.
pub fn load_repository_templates<E>(
    wanted: Option<&str>,
    known: ServerTemplates<'_>,
    mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
) -> Result<RepositoryTemplates, RepositoryTemplatesError<E>> {
    let mut read = |path: &str| -> Result<Option<String>, RepositoryTemplatesError<E>> {
        let Some(bytes) = read(path).map_err(RepositoryTemplatesError::Read)? else { return Ok(None) };
        let text = std::str::from_utf8(&bytes).map_err(|_| unusable(path, "is not UTF-8"))?;
        Ok(Some(byte_order_mark::strip(text).to_owned()))
    };
    let named = wanted.map(|wanted| named(wanted, known, &mut read)).transpose()?;
    let pipeline = named.as_ref().map_or(known.default, |(pipeline, _)| pipeline);
    let needed: BTreeSet<&str> =
        pipeline.stages.iter().flat_map(|stage| stage.roles().map(|(_, role)| role)).collect();
    let mut roles = BTreeMap::new();
    for name in needed {
        let path = format!("{ROLES}/{name}.yaml");
        let Some(yaml) = read(&path)? else { continue };
        let role = Role::parse(&yaml).map_err(|invalid| unusable(&path, invalid))?;
        if role.name != name {
            let because = format!("it says `name: {}`; file and name have to be the same", role.name);
            return Err(unusable(&path, because));
        }
        roles.insert(name.to_owned(), role);
    }
    let mut all = known.roles.clone();
    all.extend(roles.clone());
    let own = named.as_ref().and_then(|(_, own)| own.as_ref());
    match own {
        // Parse again, now with all roles, for line numbers in errors.
        Some((path, yaml)) => {
            Pipeline::parse_with(yaml, &all).map_err(|invalid| unusable(path, invalid))?;
        }
        None => {
            let with_name = |invalid| unusable(&format!("pipeline {}", pipeline.name), invalid);
            pipeline.check_variables(&all).map_err(with_name)?;
        }
    }
    let stages = own.iter().flat_map(|_| &pipeline.stages).flat_map(|stage| pipeline.commands_of(stage));
    let reviews = roles.values().filter_map(|role| role.review_command.as_deref());
    let reviews = reviews.filter_map(|command| journeyman_agent::command_name(command).ok());
    let commands = stages.chain(reviews).map(str::to_owned).collect();
    Ok(RepositoryTemplates { pipeline: named.map(|(pipeline, _)| pipeline), roles, commands })
}

/// A pipeline, with the path and text of its file if the repository contains it.
type NamedPipeline = (Pipeline, Option<(String, String)>);

fn named<E>(
    wanted: &str,
    known: ServerTemplates<'_>,
    read: &mut impl FnMut(&str) -> Result<Option<String>, RepositoryTemplatesError<E>>,
) -> Result<NamedPipeline, RepositoryTemplatesError<E>> {
    let path = if is_file_name(wanted) { wanted.to_owned() } else { format!("{PIPELINES}/{wanted}.yaml") };
    if let Some(yaml) = read(&path)? {
        let pipeline = Pipeline::parse(&yaml).map_err(|invalid| unusable(&path, invalid))?;
        return Ok((pipeline, Some((path, yaml))));
    }
    if let Some(pipeline) = known.pipelines.get(wanted) {
        return Ok((pipeline.clone(), None));
    }
    let names = known.pipelines.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let because =
        format!("pipeline {wanted:?} is not known: there is no file {path}, and these are built in: {names}");
    Err(unusable(known.named_in, because))
}

fn unusable<E>(path: &str, because: impl std::fmt::Display) -> RepositoryTemplatesError<E> {
    RepositoryTemplatesError::Unusable(format!("{path}: {because}"))
}

pub(super) fn is_plain_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Whether the settings' `pipeline` is valid: a plain name, or the path of a file in the repository's pipelines folder.
pub(super) fn is_pipeline(wanted: &str) -> bool {
    let name = if is_file_name(wanted) {
        let file = wanted.strip_prefix(PIPELINES).and_then(|file| file.strip_prefix('/'));
        file.and_then(|file| file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")))
    } else {
        Some(wanted)
    };
    name.is_some_and(is_plain_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Templates;

    const OWN: &str =
        "name: own\nversion: 1\nstages:\n  - {name: a, agent: poet, escalate_on_exhaust: developer}\n";
    const FILE: &str = ".github/journeyman/pipelines/own.yaml";
    const POET: &str = ".github/journeyman/agents/poet.yaml";

    fn of(wanted: Option<&str>, files: &[(&str, &str)]) -> Result<RepositoryTemplates, String> {
        let ours = Templates::load(None).unwrap();
        let known = ServerTemplates {
            default: &ours.pipelines["issue-to-pr"],
            pipelines: &ours.pipelines,
            roles: &ours.roles,
            named_in: ".github/journeyman.yml",
        };
        let read = |path: &str| {
            let file = files.iter().find(|(known, _)| *known == path);
            Ok::<_, ()>(file.map(|(_, text)| text.as_bytes().to_vec()))
        };
        load_repository_templates(wanted, known, read).map_err(|error| match error {
            RepositoryTemplatesError::Read(()) => "not read".to_owned(),
            RepositoryTemplatesError::Unusable(because) => because,
        })
    }

    #[test]
    fn a_repositorys_own_come_before_ours_and_only_what_is_needed_is_read() {
        assert_eq!(
            of(None, &[(FILE, "nonsense"), (POET, "nonsense")]).unwrap(),
            RepositoryTemplates { pipeline: None, roles: BTreeMap::new(), commands: BTreeSet::new() }
        );
        let own = of(Some("own"), &[(FILE, OWN), (POET, "name: poet")]).unwrap();
        assert_eq!(own.pipeline.unwrap().name, "own");
        assert_eq!(own.roles.keys().collect::<Vec<_>>(), ["poet"]);
        assert!(of(Some(FILE), &[(FILE, OWN), (POET, "name: poet")]).is_ok());
        let developer = (".github/journeyman/agents/developer.yaml", "name: developer\nmodel: small");
        let with_role = of(Some("issue-to-pr"), &[developer]).unwrap();
        assert_eq!(with_role.roles["developer"].model.as_deref(), Some("small"));
        assert_eq!(with_role.pipeline.unwrap().name, "issue-to-pr");
    }

    #[test]
    fn only_a_pipeline_or_role_of_the_repository_names_its_command_templates() {
        let stages = "\
            - {name: sort, agent: developer, command: classify_issue, output: {one_of: [/bug, /agent-work-orders/bug]}}\n\
            - {name: do, depends_on: [sort], agent: developer, command: '{{sort.result}}', arguments: ['{{issue.json}}'], \
               checks: [verifier], verifier: poet}\n";
        let own = format!("name: own\nversion: 1\nstages:\n{stages}");
        let poet = (POET, "name: poet\nreview_command: /sing");
        let named = |wanted, files: &[(&str, &str)]| of(wanted, files).unwrap().commands;
        let names = named(Some("own"), &[(FILE, &own), poet]);
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["agent-work-orders/bug", "bug", "classify_issue", "sing"]
        );
        assert!(named(Some("issue-to-pr"), &[]).is_empty() && named(None, &[]).is_empty());
        let reviewer = ".github/journeyman/agents/code_reviewer.yaml";
        let names = named(None, &[(reviewer, "name: code_reviewer\nreview_command: review")]);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["review"]);
    }

    #[test]
    fn what_cannot_be_used_is_said_with_file_line_and_reason() {
        for (wanted, files, expected) in [
            ("own", &[][..], "no file .github/journeyman/pipelines/own.yaml, and these are built in: "),
            ("own", &[(FILE, "name: own\nstages: []")], ".github/journeyman/pipelines/own.yaml: line "),
            ("own", &[(FILE, OWN)], "own.yaml: line 4: stage \"a\": `agent`: there is no role \"poet\""),
            ("own", &[(FILE, OWN), (POET, "name: bard")], "agents/poet.yaml: it says `name: bard`"),
            ("own", &[(FILE, OWN), (POET, "name: poet\nx: y")], "agents/poet.yaml: line 2: unknown key"),
        ] {
            let said = of(Some(wanted), files).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn a_path_leads_to_the_repositorys_pipelines_only() {
        for (wanted, fits) in [
            ("own", true),
            (FILE, true),
            (".github/journeyman/pipelines/own.yml", true),
            ("own.yaml", false),
            (".github/journeyman/pipelines/../../own.yaml", false),
            (".github/journeyman/pipelines/.yaml", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(is_pipeline(wanted), fits, "{wanted}");
        }
    }
}

//! Suites: folders of cases, and the one that is made up for a simulated agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use serde::Deserialize;

use super::replay::{self, RealFix, ReplayCase, ReplayVariant};
use crate::cli::{UsageError, issue_file};

/// The repository of every simulated case.
#[derive(RustEmbed)]
#[folder = "templates/eval/simulated"]
struct SimulatedRepository;

/// What passes only on the right answer; no simulated agent sees it.
const SIMULATED_HIDDEN: &str = "read -r verdict rest < answer.txt && [ \"$verdict\" = right ]\n";

/// Cases to run one agent on.
#[derive(Debug)]
pub(super) struct EvalSuite {
    pub(super) name: String,
    pub(super) description: String,
    /// The pipeline that the suite is made for, as `--pipeline` takes it.
    pub(super) pipeline: Option<String>,
    pub(super) cases: Vec<EvalCase>,
}

/// One issue, and how its result is judged.
#[derive(Debug, Clone)]
pub(super) struct EvalCase {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) repository: CaseRepository,
    /// None where nothing is hidden.
    pub(super) hidden: Option<HiddenTests>,
}

/// Where a case's repository comes from.
#[derive(Debug, Clone)]
pub(super) enum CaseRepository {
    /// A folder of files of its own.
    Folder(PathBuf),
    /// The simulated repository, one for all cases.
    Simulated,
    /// A public repository as it was before a fix.
    Real(Box<ReplayCase>),
}

/// Tests that no agent sees.
#[derive(Debug, Clone)]
pub(super) struct HiddenTests {
    /// Files that are laid over the result, by path.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) setup: Option<String>,
    pub(super) test: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    /// Real fixes to replay, as a file beside it.
    fixes: Option<String>,
    name: Option<String>,
    #[serde(default)]
    description: String,
    pipeline: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    test: String,
    setup: Option<String>,
}

/// Reads a suite.
pub(super) fn read(folder: &Path, replays: &ReplaySelection) -> anyhow::Result<EvalSuite> {
    let wrong = |path: &Path, problem: &dyn std::fmt::Display| {
        UsageError(format!("--suite {}: {}: {problem}", folder.display(), path.display()))
    };
    let about = folder.join("suite.yaml");
    let file: SuiteFile = match std::fs::read_to_string(&about) {
        Ok(yaml) => serde_saphyr::from_str(&yaml).map_err(|error| wrong(&about, &error))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            SuiteFile { fixes: None, name: None, description: String::new(), pipeline: None }
        }
        Err(error) => return Err(wrong(&about, &error).into()),
    };
    let own_name = || folder.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    let named = || file.name.clone().or_else(own_name).unwrap_or_else(|| "suite".to_owned());
    // A pipeline in the suite's own folder is named from there.
    let pipeline = file.pipeline.clone().map(|name| {
        let beside = folder.join(&name);
        if beside.is_file() { beside.to_string_lossy().into_owned() } else { name }
    });
    if let Some(fixes) = &file.fixes {
        let cases = replays
            .cases(replay::read(&folder.join(fixes)).map_err(|error| wrong(&about, &format!("{error:#}")))?);
        if cases.is_empty() {
            return Err(wrong(&about, &"no fix is selected").into());
        }
        return Ok(EvalSuite { name: named(), description: file.description, pipeline, cases });
    }
    let place = folder.join("cases");
    let listed = std::fs::read_dir(&place).map_err(|error| {
        wrong(&place, &format!("{error}; a suite has a folder `cases` with one folder a case"))
    })?;
    let mut cases = Vec::new();
    for entry in listed {
        let path = entry.map_err(|error| wrong(&place, &error))?.path();
        if path.is_dir() {
            cases.push(case(&path).map_err(|(path, problem)| wrong(&path, &problem))?);
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    if cases.is_empty() {
        return Err(wrong(&place, &"there are no cases in it").into());
    }
    Ok(EvalSuite { name: named(), description: file.description, pipeline, cases })
}

/// Which of the fixes of a suite are replayed, in which forms.
#[derive(Debug)]
pub(super) struct ReplaySelection {
    pub(super) variants: Vec<ReplayVariant>,
    /// A part of the repository's name; none: all.
    pub(super) only: Option<String>,
    pub(super) mirrors: PathBuf,
    pub(super) settings: Option<String>,
}

impl ReplaySelection {
    fn cases(&self, fixes: Vec<RealFix>) -> Vec<EvalCase> {
        let is_wanted =
            |fix: &RealFix| self.only.as_ref().is_none_or(|only| fix.repository.contains(only.as_str()));
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut cases = Vec::new();
        for fix in fixes {
            let number = numbers.entry(fix.repository.clone()).or_default();
            *number += 1;
            for variant in self.variants.iter().filter(|_| is_wanted(&fix)) {
                let name = format!("{}-{number}-{}", fix.repository.replace('/', "-"), variant.word());
                let replay = ReplayCase {
                    fix: fix.clone(),
                    variant: *variant,
                    mirrors: self.mirrors.clone(),
                    settings: self.settings.clone(),
                };
                cases.push(EvalCase {
                    title: fix.title.clone(),
                    body: format!("{}\n\n{}{name}", fix.body, replay::CASE),
                    name,
                    repository: CaseRepository::Real(Box::new(replay)),
                    hidden: None,
                });
            }
        }
        cases
    }
}

type CaseFileProblem = (PathBuf, String);

fn case(folder: &Path) -> Result<EvalCase, CaseFileProblem> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.chars().all(fits) || name.starts_with('.') || name.len() > 80 {
        let problem = "a case's folder is named with letters, digits, `-`, `_` and `.`, at most 80";
        return Err((folder.to_owned(), problem.to_owned()));
    }
    let at = |file: &str, problem: &dyn std::fmt::Display| (folder.join(file), problem.to_string());
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| at(file, &error));
    let issue = issue_file::parse(&read("issue.md")?)
        .ok_or_else(|| at("issue.md", &"the file is empty; its first line is the title"))?;
    let about: CaseFile =
        serde_saphyr::from_str(&read("case.yaml")?).map_err(|error| at("case.yaml", &error))?;
    let repository = folder.join("repository");
    if !repository.is_dir() {
        return Err(at(
            "repository",
            &"there is no such folder; it holds the files that the work starts from",
        ));
    }
    let mut files = BTreeMap::new();
    let hidden = folder.join("hidden");
    if hidden.is_dir() {
        collect(&hidden, Path::new(""), &mut files).map_err(|(path, error)| (path, error.to_string()))?;
    }
    Ok(EvalCase {
        name,
        title: issue.title,
        body: issue.body,
        repository: CaseRepository::Folder(repository),
        hidden: Some(HiddenTests { files, setup: about.setup, test: about.test }),
    })
}

fn collect(
    folder: &Path,
    under: &Path,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), (PathBuf, std::io::Error)> {
    let said = |error| (folder.to_owned(), error);
    for entry in std::fs::read_dir(folder).map_err(said)? {
        let entry = entry.map_err(said)?;
        let (path, name) = (entry.path(), under.join(entry.file_name()));
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            files.insert(name, std::fs::read(&path).map_err(|error| (path, error))?);
        }
    }
    Ok(())
}

/// So many cases for a simulated agent.
pub(super) fn simulated(cases: u32) -> EvalSuite {
    let hidden = HiddenTests {
        files: BTreeMap::from([(PathBuf::from("hidden.sh"), SIMULATED_HIDDEN.as_bytes().to_vec())]),
        setup: None,
        test: "sh hidden.sh".to_owned(),
    };
    let case = |number: u32| EvalCase {
        name: format!("{number:04}"),
        title: format!("{number:04} Answer the question"),
        body: "The answer in answer.txt is wrong.".to_owned(),
        repository: CaseRepository::Simulated,
        hidden: Some(hidden.clone()),
    };
    EvalSuite {
        name: "simulated".to_owned(),
        description: "Made up for a simulated agent.".to_owned(),
        pipeline: None,
        cases: (1..=cases).map(case).collect(),
    }
}

/// The files of the simulated repository.
pub(super) fn simulated_files() -> BTreeMap<String, Vec<u8>> {
    SimulatedRepository::iter()
        .filter_map(|path| Some((path.to_string(), SimulatedRepository::get(&path)?.data.into_owned())))
        .collect()
}

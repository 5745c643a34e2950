//! Suites: folders of cases, and the generated one for a simulated agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use rust_embed::RustEmbed;
use serde::Deserialize;

use super::replay::{self, RealFix, ReplayCase, ReplayVariant};
use crate::cli::{UsageError, issue_file, sample};
use crate::order::RepositoryName;

#[derive(RustEmbed)]
#[folder = "templates/eval/simulated"]
struct SimulatedRepository;

/// Passes only on the right answer; no simulated agent sees it.
const SIMULATED_HIDDEN: &str = "read -r verdict rest < answer.txt && [ \"$verdict\" = right ]\n";

/// Cases to run one agent on.
#[derive(Debug)]
pub(super) struct EvalSuite {
    pub(super) name: String,
    pub(super) description: String,
    /// The suite's own pipeline, as `--pipeline` takes it.
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
    /// `None` if nothing is hidden.
    pub(super) hidden: Option<HiddenTests>,
}

#[derive(Debug, Clone)]
pub(super) enum CaseRepository {
    /// A folder with the case's own files.
    Folder(PathBuf),
    /// The simulated repository, shared by all cases.
    Simulated,
    /// A public repository as it was before a fix.
    Real(Box<ReplayCase>),
}

/// Tests that no agent sees.
#[derive(Debug, Clone)]
pub(super) struct HiddenTests {
    /// Files to copy over the result, by path.
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) setup: Option<String>,
    pub(super) test: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SuiteFile {
    /// A file beside it with real fixes to replay.
    fixes: Option<String>,
    name: Option<String>,
    description: String,
    pipeline: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    test: String,
    setup: Option<String>,
}

/// Which of the fixes of a suite are replayed, in which forms.
#[derive(Debug, Args)]
pub(super) struct ReplaySelection {
    /// Of a suite of real fixes: a folder with clones of the repositories; what is missing is cloned into it.
    #[arg(long, value_name = "DIR", conflicts_with = "simulate")]
    mirrors: Option<PathBuf>,
    /// Of a suite of real fixes: the forms in which each is replayed.
    #[arg(
        long,
        value_name = "FORMS",
        value_delimiter = ',',
        conflicts_with = "simulate",
        default_value = "right,code_alone,wrong_code,weakened"
    )]
    variants: Vec<ReplayVariant>,
    /// Of a suite of real fixes: the file that is each repository's .github/journeyman.yml.
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    settings: Option<PathBuf>,
    /// Of a suite of real fixes: only repositories whose names have this in them.
    #[arg(long, value_name = "WORD", conflicts_with = "simulate")]
    only: Option<String>,
}

/// Reads a suite.
pub(super) fn read(folder: &Path, replays: &ReplaySelection) -> anyhow::Result<EvalSuite> {
    let settings = replays.settings.as_ref().map(|path| {
        std::fs::read_to_string(path)
            .map_err(|error| UsageError(format!("--settings {}: {error}", path.display())))
    });
    let suite = suite(folder, replays, settings.transpose()?);
    Ok(suite.map_err(|error| UsageError(format!("--suite {}: {error:#}", folder.display())))?)
}

fn suite(folder: &Path, replays: &ReplaySelection, settings: Option<String>) -> anyhow::Result<EvalSuite> {
    let about = folder.join("suite.yaml");
    let in_file = || about.display().to_string();
    let file: SuiteFile = match std::fs::read_to_string(&about) {
        Ok(yaml) => serde_saphyr::from_str(&yaml).with_context(in_file)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => SuiteFile::default(),
        Err(error) => return Err(error).with_context(in_file),
    };
    let cases = match &file.fixes {
        Some(fixes) => {
            let fixes = replay::read(&folder.join(fixes)).with_context(in_file)?;
            let cases = replays.cases(fixes, folder, settings);
            anyhow::ensure!(!cases.is_empty(), "{}: no fix is selected", about.display());
            cases
        }
        None => cases(&folder.join("cases"))?,
    };
    let own_name = || folder.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    // A pipeline file in the suite's folder is named relative to that folder.
    let pipeline = file.pipeline.map(|name| {
        let beside = folder.join(&name);
        if beside.is_file() { beside.to_string_lossy().into_owned() } else { name }
    });
    Ok(EvalSuite {
        name: file.name.or_else(own_name).unwrap_or_else(|| "suite".to_owned()),
        description: file.description,
        pipeline,
        cases,
    })
}

impl ReplaySelection {
    fn cases(&self, fixes: Vec<RealFix>, folder: &Path, settings: Option<String>) -> Vec<EvalCase> {
        let mirrors = self.mirrors.clone().unwrap_or_else(|| folder.join("mirrors"));
        let mut numbers: BTreeMap<RepositoryName, u32> = BTreeMap::new();
        let mut cases = Vec::new();
        for fix in fixes {
            let number = numbers.entry(fix.repository.clone()).or_default();
            *number += 1;
            let repository = fix.repository.to_string();
            let is_wanted = self.only.as_ref().is_none_or(|only| repository.contains(only));
            for variant in self.variants.iter().filter(|_| is_wanted) {
                let name = format!("{}-{number}-{}", repository.replace('/', "-"), variant.word());
                let replay = ReplayCase {
                    fix: fix.clone(),
                    variant: *variant,
                    mirrors: mirrors.clone(),
                    settings: settings.clone(),
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

/// The cases in a folder, sorted by name.
fn cases(folder: &Path) -> anyhow::Result<Vec<EvalCase>> {
    let here = folder.display();
    let listed = std::fs::read_dir(folder).map_err(|error| {
        anyhow::anyhow!("{here}: {error}; a suite has a folder `cases` with one folder a case")
    })?;
    let mut cases = Vec::new();
    for entry in listed {
        let path = entry.with_context(|| here.to_string())?.path();
        if path.is_dir() {
            cases.push(case(&path)?);
        }
    }
    anyhow::ensure!(!cases.is_empty(), "{here}: there are no cases in it");
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn case(folder: &Path) -> anyhow::Result<EvalCase> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    anyhow::ensure!(
        name.chars().all(fits) && !name.starts_with('.') && name.len() <= 80,
        "{}: a case's folder is named with letters, digits, `-`, `_` and `.`, at most 80",
        folder.display()
    );
    let at = |file: &str| folder.join(file).display().to_string();
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).with_context(|| at(file));
    let issue = issue_file::parse(&read("issue.md")?)
        .with_context(|| format!("{}: the file is empty; its first line is the title", at("issue.md")))?;
    let about: CaseFile = serde_saphyr::from_str(&read("case.yaml")?).with_context(|| at("case.yaml"))?;
    let repository = folder.join("repository");
    anyhow::ensure!(
        repository.is_dir(),
        "{}: there is no such folder; it holds the files that the work starts from",
        repository.display()
    );
    let mut files = BTreeMap::new();
    let hidden = folder.join("hidden");
    if hidden.is_dir() {
        collect(&hidden, Path::new(""), &mut files)?;
    }
    Ok(EvalCase {
        name,
        title: issue.title,
        body: issue.body,
        repository: CaseRepository::Folder(repository),
        hidden: Some(HiddenTests { files, setup: about.setup, test: about.test }),
    })
}

fn collect(folder: &Path, under: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> anyhow::Result<()> {
    let here = || folder.display().to_string();
    for entry in std::fs::read_dir(folder).with_context(here)? {
        let entry = entry.with_context(here)?;
        let (path, name) = (entry.path(), under.join(entry.file_name()));
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
            files.insert(name, bytes);
        }
    }
    Ok(())
}

/// Generates this many cases for a simulated agent.
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
    sample::files::<SimulatedRepository>()
}

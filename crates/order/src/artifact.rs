//! The code artifact: whole files as one JSON object, from an agent without tools. We write, commit and push them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer;
use super::feedback::{Category, Feedback, Finding, Severity};
use super::test_run::TestRun;

const MOST_FILES: usize = 200;
/// A file with less content is rejected.
const SHORTEST_CONTENT: usize = 10;
const LONGEST_DESCRIPTION: usize = 200;
const LONGEST_PATH: usize = 400;

/// Whole files that an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeArtifact {
    /// `CODE-` and three digits.
    pub artifact_id: String,
    /// At least one.
    pub files: Vec<CodeFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFile {
    /// Path from the tree's root, with `/`.
    pub file_path: String,
    pub file_type: CodeFileType,
    pub content: String,
    /// The purpose of the file.
    #[serde(default)]
    pub description: String,
    /// The stories and test cases that it covers.
    #[serde(default)]
    pub story_ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeFileType {
    /// Production code.
    Implementation,
    Test,
    Config,
    /// A schema migration of stored data.
    Migration,
}

/// Rules for a code artifact besides its form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRules {
    /// The id of the artifact that it replaces and must repeat; `None` for a first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
    /// Stories and test cases that its files must name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub covers: BTreeSet<String>,
}

impl ArtifactRules {
    /// For an agent with these stories and test cases that answered under this id before.
    pub(super) fn of(inputs: &BTreeMap<String, String>, keeps: Option<String>) -> Self {
        Self { keeps, covers: ids_in(inputs, &ID_FIELDS) }
    }

    /// For tasks from before journals recorded the rules.
    pub(super) fn unwritten(inputs: &BTreeMap<String, String>) -> Self {
        Self { keeps: None, covers: ids_in(inputs, &ID_FIELDS[..1]) }
    }

    /// The rule that an artifact breaks; `None` if it breaks none.
    pub(super) fn fault(&self, artifact: &CodeArtifact) -> Option<Feedback> {
        match &self.keeps {
            Some(id) if *id != artifact.artifact_id => Some(
                Feedback::failed(
                    Category::InvalidOutput,
                    format!("/artifact_id: is {}, and was {id} in the attempt before", artifact.artifact_id),
                )
                .suggest(format!(
                    "Give all files again under {id}: this artifact takes the place of that one."
                )),
            ),
            Some(_) | None => artifact.uncovered(&self.covers),
        }
    }
}

/// Fields that hold the ids of stories and test cases.
const ID_FIELDS: [&str; 3] = ["id", "story_id", "test_id"];

/// A record of an artifact: its files without their contents, and our test results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArtifactRecord {
    /// `CODE-` and three digits.
    pub artifact_id: String,
    /// The stage's attempt that produced it, 1 to 3. `/retry` and guidance restart it at 1.
    pub attempt_number: u32,
    pub files: Vec<CodeFileRecord>,
    pub implementation_files: Vec<String>,
    pub test_files: Vec<String>,
    /// Stories and test cases that its files name.
    pub stories_covered: Vec<String>,
    /// Our test run's result; `None` before the run.
    pub test_result: Option<ArtifactTestResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFileRecord {
    /// Path from the tree's root.
    pub file_path: String,
    pub file_type: CodeFileType,
    /// The purpose of the file.
    pub description: String,
    pub story_ids: Vec<String>,
    /// Size in bytes.
    pub bytes: usize,
}

/// Our test run on an artifact's commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArtifactTestResult {
    pub passed: bool,
    /// Number of tests; `None` if the output's form is unknown.
    pub total_tests: Option<u64>,
    pub passed_count: Option<u64>,
    pub failed_count: Option<u64>,
    /// The end of a failing run's output.
    pub error_output: String,
    pub duration_seconds: f64,
}

impl From<&TestRun> for ArtifactTestResult {
    fn from(run: &TestRun) -> Self {
        let passed = run.verdict.is_pass();
        Self {
            passed,
            total_tests: run.counts.map(|counts| counts.ran()),
            passed_count: run.counts.map(|counts| counts.passed),
            failed_count: run.counts.map(|counts| counts.failed),
            error_output: if passed { String::new() } else { run.tail.clone() },
            duration_seconds: run.test.as_ref().map_or(0.0, |test| test.duration_seconds),
        }
    }
}

impl ArtifactRecord {
    /// The record of an artifact that was this run's answer.
    pub fn of(artifact: &CodeArtifact, attempt_number: u32) -> Self {
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        Self {
            artifact_id: artifact.artifact_id.clone(),
            attempt_number,
            files: artifact
                .files
                .iter()
                .map(|file| CodeFileRecord {
                    file_path: file.file_path.clone(),
                    file_type: file.file_type,
                    description: file.description.clone(),
                    story_ids: file.story_ids.clone(),
                    bytes: file.content.len(),
                })
                .collect(),
            implementation_files: owned(artifact.paths(CodeFileType::Implementation)),
            test_files: owned(artifact.paths(CodeFileType::Test)),
            stories_covered: owned(artifact.stories_covered().into_iter().collect()),
            test_result: None,
        }
    }
}

impl CodeArtifact {
    /// Reads an answer and checks every rule. It ignores what a model says about its own tests or attempts.
    pub fn parse(text: &str) -> Result<Self, Feedback> {
        let value = answer::object(text)?;
        let mut faults = Vec::new();
        let artifact_id = value.get("artifact_id").and_then(Value::as_str);
        match artifact_id {
            Some(id) if is_artifact_id(id) => {}
            Some(id) => {
                faults.push(format!("/artifact_id: {:?} is not CODE- and three digits", shortened(id)))
            }
            None => faults.push("/artifact_id: has to be there, CODE- and three digits".to_owned()),
        }
        let mut files = Vec::new();
        match value.get("files").and_then(Value::as_array) {
            Some(all) if (1..=MOST_FILES).contains(&all.len()) => {
                for (place, file) in all.iter().enumerate() {
                    match CodeFile::deserialize(file) {
                        Ok(file) => {
                            faults.extend(
                                file.faults().into_iter().map(|fault| format!("/files/{place}{fault}")),
                            );
                            files.push(file);
                        }
                        Err(error) => faults.push(format!("/files/{place}: {error}")),
                    }
                }
            }
            Some(all) => {
                faults.push(format!("/files: holds {} files; 1 to {MOST_FILES} are allowed", all.len()))
            }
            None => faults.push("/files: has to be there, a list of files".to_owned()),
        }
        faults.extend(conflicts(&files));
        if !faults.is_empty() {
            return Err(answer::not_of_the_form(faults));
        }
        Ok(Self { artifact_id: artifact_id.unwrap_or_default().to_owned(), files })
    }

    /// Every story and test case that a file names, sorted.
    pub fn stories_covered(&self) -> BTreeSet<&str> {
        self.files.iter().flat_map(|file| &file.story_ids).map(String::as_str).collect()
    }

    pub fn paths(&self, kind: CodeFileType) -> Vec<&str> {
        self.files.iter().filter(|file| file.file_type == kind).map(|file| file.file_path.as_str()).collect()
    }

    /// The stories and test cases that no file covers; `None` if all are covered.
    pub fn uncovered(&self, wanted: &BTreeSet<String>) -> Option<Feedback> {
        let covered = self.stories_covered();
        let missing: Vec<&String> = wanted.iter().filter(|id| !covered.contains(id.as_str())).collect();
        if missing.is_empty() {
            return None;
        }
        let names: Vec<&str> = missing.iter().map(|id| id.as_str()).collect();
        let finding = |id: &&String| Finding {
            severity: Severity::Major,
            suggestion: Some(format!("Write what {id} asks for, and name {id} in that file's story_ids.")),
            ..Finding::critical(Category::InvalidOutput, format!("no file names {id} in its story_ids"))
        };
        Some(Feedback {
            score: 1.0 - (missing.len() as f64 / wanted.len().max(1) as f64),
            issues: missing.iter().map(finding).collect(),
            ..Feedback::failed(Category::InvalidOutput, format!("no file covers {}", names.join(", ")))
        })
    }
}

impl CodeFile {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(problem) = path_problem(&self.file_path) {
            faults.push(format!("/file_path: {:?} {problem}", shortened(&self.file_path)));
        }
        if self.content.chars().count() < SHORTEST_CONTENT {
            faults.push(format!("/content: the whole file, at least {SHORTEST_CONTENT} characters"));
        }
        if self.description.chars().count() > LONGEST_DESCRIPTION {
            faults.push(format!("/description: at most {LONGEST_DESCRIPTION} characters"));
        }
        faults
    }
}

fn is_artifact_id(id: &str) -> bool {
    id.strip_prefix("CODE-")
        .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Why a path may not be written. The airlock checks the tree again; this reports the problem to the agent early.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() || path.len() > LONGEST_PATH {
        return Some("is empty or too long");
    }
    if path.starts_with('/') || path.contains('\\') || path.contains(':') {
        return Some("is not relative to the tree's root, with / between folders");
    }
    if path.chars().any(char::is_control) {
        return Some("has control characters");
    }
    for part in path.split('/') {
        match part {
            "" => return Some("has an empty part"),
            "." | ".." => return Some("leads out of the tree"),
            _ if part.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(".git") => {
                return Some("lies in .git");
            }
            _ => {}
        }
    }
    None
}

/// Duplicate paths, or a file where another needs a folder.
fn conflicts(files: &[CodeFile]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (place, file) in files.iter().enumerate() {
        if seen.insert(file.file_path.to_lowercase(), place).is_some() {
            faults.push(format!("/files/{place}/file_path: {:?} is there twice", shortened(&file.file_path)));
        }
    }
    for (place, file) in files.iter().enumerate() {
        let path = file.file_path.to_lowercase();
        let is_folder = path.match_indices('/').any(|(end, _)| seen.contains_key(&path[..end]));
        if is_folder {
            faults.push(format!(
                "/files/{place}/file_path: {:?} lies in a folder that is a file here",
                shortened(&file.file_path)
            ));
        }
    }
    faults
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The ids in the worker's stories and test cases, which are JSON lists of objects.
fn ids_in(inputs: &BTreeMap<String, String>, fields: &[&str]) -> BTreeSet<String> {
    ["stories", "test_cases"]
        .iter()
        .filter_map(|name| serde_json::from_str::<Vec<Value>>(inputs.get(*name)?).ok())
        .flatten()
        .filter_map(|item| fields.iter().find_map(|field| item.get(field)?.as_str()).map(str::to_owned))
        .collect()
}

/// The required form as a schema, for the prompt and for runtimes that can enforce it.
pub(super) fn schema() -> Value {
    serde_json::json!({
        "type": "object",
        "required": ["artifact_id", "files"],
        "properties": {
            "artifact_id": {"type": "string", "pattern": "^CODE-[0-9]{3}$"},
            "files": {
                "type": "array", "minItems": 1, "maxItems": MOST_FILES,
                "items": {
                    "type": "object",
                    "required": ["file_path", "file_type", "content", "description", "story_ids"],
                    "properties": {
                        "file_path": {"type": "string"},
                        "file_type": {"enum": ["implementation", "test", "config", "migration"]},
                        "content": {"type": "string", "minLength": SHORTEST_CONTENT},
                        "description": {"type": "string", "maxLength": LONGEST_DESCRIPTION},
                        "story_ids": {"type": "array", "items": {"type": "string"}}
                    }
                }
            }
        }
    })
}

/// The same schema for an artifact that replaces the one with this id.
pub(super) fn schema_keeping(id: &str) -> Value {
    let mut schema = schema();
    if let Some(field) = schema.pointer_mut("/properties/artifact_id") {
        *field = serde_json::json!({"type": "string", "enum": [id]});
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn artifact(change: impl FnOnce(&mut Value)) -> Result<CodeArtifact, Feedback> {
        let mut value = json!({"artifact_id": "CODE-001", "attempt_number": 9, "test_result": {"passed": true},
            "files": [
                {"file_path": "src/a b/ä.py", "file_type": "implementation", "content": "def a():\n    pass\n",
                 "description": "a", "story_ids": ["US-001"]},
                {"file_path": "tests/test_a.py", "file_type": "test", "content": "import unittest\n",
                 "description": "", "story_ids": ["TC-001"]}]});
        change(&mut value);
        CodeArtifact::parse(&value.to_string())
    }

    #[test]
    fn what_we_compute_is_ours() {
        let artifact = artifact(|_| {}).unwrap();
        assert_eq!(artifact.paths(CodeFileType::Implementation), ["src/a b/ä.py"]);
        assert_eq!(artifact.paths(CodeFileType::Test), ["tests/test_a.py"]);
        let wanted = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(artifact.uncovered(&wanted(&["US-001", "TC-001"])), None);
        let feedback = artifact.uncovered(&wanted(&["US-001", "US-002"])).unwrap();
        assert_eq!((feedback.summary.as_str(), feedback.score), ("no file covers US-002", 0.5));
    }

    #[test]
    fn every_rule_is_held() {
        for (path, said) in [
            ("/etc/passwd", "not relative"),
            ("../a.py", "leads out"),
            ("a/../../b", "leads out"),
            (".git/config", ".git"),
            ("sub/.GIT/hooks/x", ".git"),
            ("a//b", "empty part"),
            ("C:\\a", "not relative"),
            ("a\nb", "control"),
            ("", "empty"),
            ("tests/test_a.py", "twice"),
            ("tests/test_a.py/x", "folder that is a file"),
        ] {
            let feedback = artifact(|value| value["files"][0]["file_path"] = json!(path)).unwrap_err();
            assert!(feedback.summary.contains(said), "{path:?}: {}", feedback.summary);
        }
        for (field, wrong) in [
            ("content", json!("short")),
            ("description", json!("x".repeat(201))),
            ("file_type", json!("binary")),
            ("content", json!(null)),
        ] {
            assert!(artifact(|value| value["files"][0][field] = wrong.clone()).is_err(), "{field} {wrong}");
        }
        for id in ["CODE-1", "CODE-0001", "code-001", ""] {
            assert!(artifact(|value| value["artifact_id"] = json!(id)).is_err(), "{id:?}");
        }
        assert!(artifact(|value| value["files"] = json!([])).is_err());
    }

    #[test]
    fn five_megabytes_are_read() {
        let content = "x = 1\n".repeat(900_000);
        let artifact = artifact(|value| value["files"][0]["content"] = json!(content)).unwrap();
        assert_eq!(artifact.files[0].content.len(), 5_400_000);
    }
}

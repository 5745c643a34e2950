//! The built-in roles, and what a runtime gets from a role.

use std::collections::BTreeMap;

use super::role;
use super::tests::{started as program, task};
use super::*;
use journeyman_order::role::Tool;

const SHIPPED: [&str; 12] = [
    "architecture_reviewer", "archiver", "business_analyst", "code_reviewer", "developer", "examiner",
    "logic_reviewer", "quality_analyst", "security_reviewer", "software_engineer", "tech_lead",
    "technical_architect",
];

pub(super) fn shipped() -> BTreeMap<String, Role> {
    let folder = journeyman_test_support::repository().join("templates/agents");
    std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let role = Role::parse(&std::fs::read_to_string(&path).unwrap());
            (name, role.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        })
        .collect()
}

fn allows(role: &Role, answer: serde_json::Value) -> Result<(), String> {
    let schema = role.output_schema.as_ref().expect("a schema");
    jsonschema::validate(schema, &answer).map_err(|error| error.to_string())
}

#[test]
fn every_role_that_ships_can_be_read_and_says_how_it_works() {
    let roles = shipped();
    assert_eq!(roles.keys().map(String::as_str).collect::<Vec<_>>(), SHIPPED);
    for (name, role) in &roles {
        assert_eq!(&role.name, name);
        assert!(!role.description.is_empty() && role.model.is_none() && role.runtime.is_none(), "{name}");
        for part in ["ou never", "written by others", "instruction"] {
            assert!(role.system_prompt.contains(part), "{name} does not say {part:?}");
        }
        for required in &role.required_fields {
            let schema = role.output_schema.as_ref().expect("required fields are of a schema");
            assert!(schema["properties"][required].is_object(), "{name}: {required}");
        }
        if let Some(command) = &role.review_command {
            assert!(built_in(command).is_some(), "{name}: {command}");
        }
    }
    assert_eq!(roles["code_reviewer"].review_command.as_deref(), Some("review"));
    assert_eq!(roles["tech_lead"].review_command.as_deref(), Some("review_submission"));
}

#[test]
fn only_the_developer_and_the_examiner_write() {
    for (name, role) in shipped() {
        let tools = role.tools.expect("tools are named");
        let may_all = tools == [Tool::Read, Tool::Write, Tool::Run];
        // The examiner writes into a copy of the base that is then discarded.
        assert_eq!(may_all, ["developer", "examiner"].contains(&name.as_str()), "{name}");
        // A reviewer's commands write into a separate layer that is then discarded.
        let runs = name.ends_with("_reviewer") && tools == [Tool::Read, Tool::Run];
        assert!(may_all || runs || tools == [Tool::Read], "{name}");
    }
}

#[test]
fn the_schemas_hold_what_is_asked_for() {
    let roles = shipped();
    let story = serde_json::json!({
        "id": "US-001", "title": "Sum", "as_a": "caller", "i_want": "a sum", "so_that": "I know",
        "acceptance_criteria": ["given [1, 2], total is 3"],
    });
    let analysis = serde_json::json!({ "summary": "A sum.", "stories": [story], "open_questions": [] });
    assert_eq!(allows(&roles["business_analyst"], analysis.clone()), Ok(()));
    let case = serde_json::json!({
        "test_id": "TC-001", "story_ids": ["US-001"], "title": "two", "test_type": "happy_path",
        "given": ["[1, 2]"], "when": ["total"], "then": ["3"], "priority": "high",
    });
    let cases = serde_json::json!({ "test_cases": [case] });
    assert_eq!(allows(&roles["quality_analyst"], cases.clone()), Ok(()));
    let design = serde_json::json!({
        "project_name": "sums", "specification": "Add total.", "tech_stack": ["Python 3.12", "pytest"],
        "components": [{ "name": "total", "responsibility": "sums" }],
        "data_models": [{ "name": "Sum", "fields": [{ "name": "value", "type": "int" }] }],
        "api_contracts": [{ "name": "total(numbers)", "input": "list[int]", "output": "Sum", "errors": [] }],
        "decisions": [{ "decision": "a class", "reason": "it grows", "alternatives": ["an int"] }],
        "files": [{ "path": "total.py", "purpose": "the sum" }], "risks": [],
    });
    assert_eq!(allows(&roles["technical_architect"], design.clone()), Ok(()));

    for (role, answer, pointer, wrong) in [
        ("business_analyst", &analysis, "/stories/0/id", serde_json::json!("US-1")),
        ("business_analyst", &analysis, "/stories/0/acceptance_criteria", serde_json::json!([])),
        ("business_analyst", &analysis, "/stories", serde_json::json!([])),
        ("quality_analyst", &cases, "/test_cases/0/test_id", serde_json::json!("1")),
        ("quality_analyst", &cases, "/test_cases/0/test_type", serde_json::json!("smoke")),
        ("quality_analyst", &cases, "/test_cases/0/given", serde_json::json!("[1, 2]")),
        ("quality_analyst", &cases, "/test_cases/0/when", serde_json::json!([])),
        ("quality_analyst", &cases, "/test_cases/0/then", serde_json::json!([""])),
        ("quality_analyst", &cases, "/test_cases/0/priority", serde_json::json!("p1")),
        ("technical_architect", &design, "/project_name", serde_json::json!("")),
        ("technical_architect", &design, "/tech_stack", serde_json::json!([])),
        ("technical_architect", &design, "/data_models/0/fields/0/type", serde_json::json!(3)),
        ("technical_architect", &design, "/api_contracts/0/errors", serde_json::json!("none")),
        ("technical_architect", &design, "/decisions/0/reason", serde_json::json!("")),
        ("technical_architect", &design, "/specification", serde_json::json!("")),
        ("technical_architect", &design, "/files", serde_json::json!("total.py")),
    ] {
        let mut answer = answer.clone();
        *answer.pointer_mut(pointer).unwrap() = wrong;
        assert!(allows(&roles[role], answer).is_err(), "{role} {pointer}");
    }
}

fn claude() -> Agents {
    let settings = AgentSettings {
        name: "a".into(),
        runtime: RuntimeKind::Claude,
        model: Some("sonnet".into()),
        ..AgentSettings::default()
    };
    Agents::new(BTreeMap::from([("a".to_owned(), settings)]), &OutgoingNetwork::default()).unwrap()
}

fn reviewer() -> Role {
    Role::parse("name: r\nmodel: opus[1m]\nsystem_prompt: \"--model=x you judge\\0\"\ntools: [read]\n")
        .unwrap()
}

fn started(role: &Role) -> Invocation {
    program(&claude()).invocation(&task("x", &[]), Some(role), "Judge.", &|_| None)
}

/// The value of an option.
fn after<'a>(program: &'a [String], option: &str) -> Option<&'a str> {
    let at = program.iter().position(|argument| argument == option)?;
    program.get(at + 1).map(String::as_str)
}

#[test]
fn claude_code_gets_the_roles_words_model_and_tools() {
    let Invocation { program, stdin, .. } = started(&reviewer());
    assert_eq!(after(&program, "--model"), Some("opus[1m]"));
    assert_eq!(after(&program, "--tools"), Some("Read,Glob,Grep"));
    assert_eq!(after(&program, "--disallowedTools"), Some("Edit,Write,NotebookEdit,Bash"));
    assert_eq!(after(&program, "--append-system-prompt"), Some("# Your role\n\n--model=x you judge"));
    assert_eq!(stdin, b"Judge.");

    let everything = started(&shipped()["developer"]).program;
    assert_eq!(after(&everything, "--tools"), Some("Read,Glob,Grep,Edit,Write,NotebookEdit,Bash"));
    assert_eq!(after(&everything, "--disallowedTools"), None);

    // An empty role adds no options.
    let silent = started(&Role::parse("name: r").unwrap()).program;
    assert_eq!(after(&silent, "--model"), Some("sonnet"));
    for option in ["--tools", "--disallowedTools", "--append-system-prompt"] {
        assert_eq!(after(&silent, option), None);
    }
    let none = started(&Role::parse("name: r\ntools: []").unwrap()).program;
    assert_eq!(after(&none, "--tools"), Some(""));
}

#[test]
fn a_roles_model_that_could_be_an_option_is_not_used() {
    for model in ["--mcp-config=x", "-x", "", "a b", "a\nb"] {
        let role = Role { model: Some(model.into()), ..reviewer() };
        assert_eq!(role::model_of(Some(&role)), None, "{model:?}");
        assert_eq!(after(&started(&role).program, "--model"), Some("sonnet"));
    }
}

#[test]
fn words_too_long_for_an_argument_stand_before_the_task() {
    let role = Role { system_prompt: "é".repeat(40_000), ..reviewer() };
    let Invocation { program, stdin, .. } = started(&role);
    assert_eq!(after(&program, "--append-system-prompt"), None);
    let stdin = String::from_utf8(stdin).unwrap();
    assert!(stdin.starts_with("# Your role\n\né") && stdin.ends_with("é\n\n---\n\nJudge."));
}

#[test]
fn any_other_program_reads_the_roles_words_before_the_task_and_its_name_in_the_environment() {
    let settings = AgentSettings {
        name: "a".into(),
        runtime: RuntimeKind::Command,
        program: vec!["/opt/tool".into()],
        ..AgentSettings::default()
    };
    let agents =
        Agents::new(BTreeMap::from([("a".to_owned(), settings)]), &OutgoingNetwork::default()).unwrap();
    let mut task = task("x", &[]);
    task.role = "code_reviewer".into();
    let invocation = program(&agents).invocation(&task, Some(&reviewer()), "Judge.", &|_| None);
    assert_eq!(invocation.stdin, b"# Your role\n\n--model=x you judge\n\n---\n\nJudge.");
    assert_eq!(invocation.environment.get("JOURNEYMAN_ROLE").map(String::as_str), Some("code_reviewer"));
}

//! `journeyman pipeline` as people type it.

use std::path::Path;
use std::process::{Command, Output};

fn pipeline(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.arg("pipeline").args(arguments).env_remove("JOURNEYMAN_TEMPLATES__DIR");
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(folder: &Path, path: &str, text: &str) -> String {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_sound_file_is_ok_and_its_repositorys_roles_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "agents/poet.yaml", "name: poet\n");
    let file = write(
        folder.path(),
        "pipelines/p.yaml",
        "name: p\nversion: 1\nstages:\n  - {name: a, agent: poet, escalate_on_exhaust: human_approval}\n",
    );
    let checked = pipeline(&["check", &file]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    let words = ["ok\n", "1 stage", "1 role (poet)", "a asks a person", "Nothing will be published"];
    for word in words {
        assert!(said(&checked).contains(word), "{word}: {}", said(&checked));
    }
    let shown = pipeline(&["show", &file]);
    assert!(said(&shown).contains("a\n    poet · work\n    ⇢ asks a person\n"), "{}", said(&shown));
}

#[test]
fn every_problem_is_a_line_with_file_line_and_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let stages =
        "  - {name: a, agent: nobody, budget: 0}\n  - {name: b, agent: developer, depends_on: [c]}\n";
    let file = write(folder.path(), "p.yaml", &format!("name: p\nversion: 1\nstages:\n{stages}"));
    let checked = pipeline(&["check", &file]);
    assert_eq!(checked.status.code(), Some(1));
    let said = said(&checked);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with(&format!("{file}:4:22: stage \"a\": `agent`: there is no role")), "{said}");
    assert!(lines[1].starts_with(&format!("{file}:4:38: stage \"a\": `budget`")), "{said}");
    assert!(
        lines[2].starts_with(&format!("{file}:5:46: stage \"b\": `depends_on`: depends on \"c\"")),
        "{said}"
    );
}

#[test]
fn a_command_that_nobody_has_is_an_error_and_the_repositorys_own_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), ".github/journeyman/commands/polish.md", "Polish it.\n");
    write(folder.path(), ".claude/commands/sing.md", "Sing.\n");
    let pipeline_of = |command: &str| {
        let stages = format!("  - {{name: a_b, agent: developer, command: {command}}}\n");
        format!("name: p\nversion: \"1.0\"\nstages:\n{stages}")
    };
    let path = ".github/journeyman/pipelines/p.yaml";
    for command in ["polish", "/sing", "implement"] {
        let file = write(folder.path(), path, &pipeline_of(command));
        let checked = pipeline(&["check", &file]);
        assert!(said(&checked).starts_with("ok\np 1.0: 1 stage"), "{command}: {}", said(&checked));
    }
    let file = write(folder.path(), path, &pipeline_of("polsih"));
    let checked = pipeline(&["check", &file]);
    assert_eq!(checked.status.code(), Some(1));
    let expected =
        format!("{file}:4:44: stage \"a_b\": `command`: there is no template \"polsih\"; these are: again,");
    assert!(said(&checked).starts_with(&expected), "{}", said(&checked));
    assert!(
        said(&checked).contains(", polish, ") && said(&checked).contains(", sing, "),
        "{}",
        said(&checked)
    );
}

#[test]
fn what_cannot_be_read_or_is_not_there_is_wrong_usage() {
    for arguments in
        [&["check", "/nowhere.yaml"][..], &["show", "waterfall"], &["draw"], &["show", "/nowhere.yaml"]]
    {
        assert_eq!(pipeline(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_documentation_shows_the_pipeline_that_is_used_by_default() {
    let page = include_str!("../docs/PIPELINES.md");
    let drawn = said(&pipeline(&["show", "issue-to-pr", "--mermaid"]));
    assert!(page.contains(&format!("```mermaid\n{drawn}```\n")), "put this into docs/PIPELINES.md:\n{drawn}");
}

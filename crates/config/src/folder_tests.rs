//! Repository settings: how the repository is tested, and the folders that they name.

use super::repository_settings;
use journeyman_order::settings::{BaseMovePolicy, CiSettings, PlanApproval, TaskCommentPolicy};
use journeyman_order::{RepositorySettings, VerificationPolicy, VerificationSettings};

#[test]
fn a_repository_of_several_projects_names_their_folders() {
    let yaml = "tests:\n- path: backend\n- path: web/app\n  test: npm run unit\n  setup: npm ci\n  also: [shared/]\n- path: .\n";
    let settings = repository_settings(yaml.as_bytes()).unwrap();
    let paths: Vec<&str> = settings.tests.iter().map(|folder| folder.path.as_str()).collect();
    assert_eq!(paths, ["backend", "web/app", "."]);
    assert_eq!(settings.tests[1].also, ["shared/"]);

    for (yaml, part) in [
        ("test: a\ntests: [{ path: a }]\n", "`test` has to be left out where `tests` names folders"),
        ("report: a.xml\ntests: [{ path: a }]\n", "`report` has to be left out"),
        ("tests: [{ path: a }, { path: a/ }]\n", "each of them once"),
        ("tests: [{ path: a/b }, { path: ./a//b }]\n", "each of them once"),
        ("tests: [{ path: ../a }]\n", "`tests[0].path`"),
        ("tests: [{ path: /a }]\n", "`tests[0].path`"),
        ("tests: [{ path: 'a b' }]\n", "`tests[0].path`"),
        ("tests: [{ path: '$(x)' }]\n", "`tests[0].path`"),
        ("tests: [{ path: -a }]\n", "`tests[0].path`"),
        ("tests: [{ path: a, test: ' ' }]\n", "`tests[0].test`"),
        ("tests: [{ path: a, also: [../b] }]\n", "`tests[0].also`"),
        ("tests: [{ test: x }]\n", "path"),
        ("tests: [{ path: a, image: x }]\n", "image"),
        ("tests: backend\n", "line 1"),
        ("tests: [{ path: a, setp: x }]\n", "line 1: `tests[0]`: unknown key `setp`; did you mean `setup`?"),
        ("test: a\n\ntset: b\n", ": line 3: unknown key `tset`; did you mean `test`?"),
        (
            "budget: { dolars: 1 }\n",
            "line 1: `budget`: unknown key `dolars`; known here are usd, minutes, runs",
        ),
        (
            "label: a\nplan: aprove\n",
            "line 2: `plan`: \"aprove\" is not known, one of auto, ask, approve is expected; did you mean approve?",
        ),
        ("delete-branch: true\n", "unknown key `delete-branch`; did you mean `delete_branch`?"),
        ("delete_branch: soon\n", "line 1: `delete_branch`: true or false is expected"),
        ("budget: { runs: many }\n", "line 1: `budget.runs`: a whole number, 0 or more, is expected"),
        ("budget: { usd: much }\n", "line 1: `budget.usd`: a number is expected"),
        ("test: a\ntest: b\n", "`test` is there twice"),
        (
            "budget: { usd: 0 }\ntests:\n  - path: ../a\nlabel: ''\n",
            "`label` has to be a label's name of 1 to 50 characters; `tests[0].path` has to be a folder from the root, such as \
             services/api; letters, digits and . _ - @ + / only; `budget.usd` has to be a number over 0",
        ),
    ] {
        let error = repository_settings(yaml.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{yaml:?}: {error}");
    }
}

#[test]
fn a_repository_says_how_it_is_tested() {
    let yaml = b"label: journeyman\npipeline: issue-to-pr\nsetup: pip install -e .\ntest: pytest -q\n\
        report: report.xml\nprotected: [\".github/**\"]\nagents: { developer: claude, code_reviewer: codex }\n\
        budget: { usd: 5, minutes: 60, runs: 20 }\nplan: approve\nwhen_base_moves: rebase\n\
        ci: { answer: false, rerun: true }\ndelete_branch: true\nanswer_outsiders: true\n\
        task: { comments: all }\nverify: { by: bots, review: true }\n";
    let settings = repository_settings(yaml).unwrap();
    assert_eq!(settings.verify, VerificationSettings { by: VerificationPolicy::Bots, review: true });
    let by = |yaml: &[u8]| repository_settings(yaml).unwrap().verify.by;
    assert_eq!(by(b"verify: all\n"), VerificationPolicy::All);
    assert_eq!(by(b"label: a\n"), VerificationPolicy::Label);
    assert_eq!(settings.plan, PlanApproval::Approve);
    assert_eq!(settings.when_base_moves, BaseMovePolicy::Rebase);
    assert_eq!(settings.ci, CiSettings { answer: false, rerun: true });
    assert!(settings.delete_branch && settings.answer_outsiders);
    assert_eq!(settings.task.comments, TaskCommentPolicy::All);
    assert_eq!(repository_settings(b"").unwrap().task.comments, TaskCommentPolicy::Writers);
    assert_eq!(
        repository_settings(b"ci: { rerun: true }\n").unwrap().ci,
        CiSettings { answer: true, rerun: true }
    );
    assert_eq!(settings.budget.unwrap().runs, Some(20));
    assert_eq!(settings.test.as_deref(), Some("pytest -q"));
    assert_eq!(settings.protected.unwrap(), [".github/**"]);
    assert_eq!(settings.agents["code_reviewer"], "codex");
    assert_eq!(settings.budget.unwrap().usd, Some(5.0));
    for nothing in ["", "\n\n", "# only a word\n", "---\n"] {
        assert_eq!(repository_settings(nothing.as_bytes()).unwrap(), RepositorySettings::default());
    }
}

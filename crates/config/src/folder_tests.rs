//! Folders that a repository's settings name.

use super::repository_settings;

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
    ] {
        let error = repository_settings(yaml.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{yaml:?}: {error}");
    }
}

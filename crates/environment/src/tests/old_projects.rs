//! What repositories of past years need on current machines.

use super::{FileTable, planned, planned_with};
use journeyman_order::RepositorySettings;

#[test]
fn another_node_comes_from_where_the_packages_come_from() {
    let manifest =
        |range: &str| format!("{{\"engines\":{{\"node\":\"{range}\"}},\"scripts\":{{\"test\":\"ava\"}}}}");
    let there = [("node", "v20.20.2"), ("npm", "10")];
    let plan =
        |files: FileTable<'_>| planned_with(&RepositorySettings::default(), files, &there).setup_command();
    assert!(
        plan(&[("package.json", &manifest(">=22.12"))]).unwrap().contains("'node@>=22.12'"),
        "{:?}",
        plan(&[("package.json", &manifest(">=22.12"))])
    );
    assert!(plan(&[("package.json", &manifest(">=18")), (".nvmrc", "v24\n")]).unwrap().contains(" node@24 "));
    assert_eq!(plan(&[("package.json", &manifest(">=18")), (".nvmrc", "20.1.0")]), None, "of the same line");
    assert_eq!(plan(&[("package.json", &manifest("^20 || ^22"))]), None);
    let nvmrc = |version: &str| plan(&[("package.json", &manifest(">=18")), (".nvmrc", version)]);
    assert_eq!((nvmrc("lts/*"), nvmrc("node")), (None, None));
}

#[test]
fn what_a_session_of_tox_needs_is_enough_for_a_package_that_requires_nothing() {
    let tox = "[tox]\nenvlist = py39\n[testenv]\ndeps = pytest\ncommands = python -m pytest\n";
    let files = [
        ("setup.py", "from setuptools import setup\nsetup(name='a', install_requires=[])\n"),
        ("tox.ini", tox),
        ("requirements.txt", "scipy\nmatplotlib\n"),
    ];
    let setup = |files: FileTable<'_>| planned(files).setup_command().unwrap_or_default();
    assert!(!setup(&files).contains("requirements.txt"), "{}", setup(&files));
    let bare = [files[0], files[2], ("tests/test_a.py", "import pytest\n")];
    assert!(setup(&bare).contains("-r requirements.txt"), "{}", setup(&bare));
}

//! Attributes that are more than are read: nobody guesses which files are of Git LFS.

use super::*;
use crate::GitErrorKind;

/// What says nothing, and is read all the same.
fn much() -> String {
    "# nothing\n".repeat(100_000)
}

#[test]
fn a_tree_with_more_attributes_than_are_read_is_an_error_that_says_so() {
    let mut house = House::new(&[(".gitattributes", ATTRIBUTES), ("a.bin", &pointer_to(b"a content"))]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let paths: Vec<String> = (0..5).map(|n| format!("d{n}/.gitattributes")).collect();
    let much = much();
    house.commit_more(&paths.iter().map(|path| (path.as_str(), much.as_str())).collect::<Vec<_>>());

    let error = house.fetch().unwrap_err();
    assert_eq!(error.kind, GitErrorKind::NotForUs);
    assert!(error.message.contains("the attributes are more than are read"), "{error}");
    let into = house.place.path().join("checkout");
    let checkout = house.workspaces.checkout(&house.repository, &house.commit, &into);
    assert_eq!(checkout.unwrap_err().kind, GitErrorKind::NotForUs);
    // Other repositories are looked after all the same.
    house.workspaces.maintain().unwrap();
}

#[test]
fn an_agent_whose_attributes_are_more_than_are_read_is_told() {
    let house = House::new(&[(".gitattributes", ATTRIBUTES), ("src.py", "x = 1\n")]);
    let agent = AgentPlace::new(&house);
    let script =
        "for n in 1 2 3 4 5; do mkdir d$n; yes '# nothing' | head -n 100000 > d$n/.gitattributes; done";
    let said = agent.refused(script);
    assert!(said.contains("`.gitattributes`") && said.contains("more than are read"), "{said}");
}

//! What the history tells about how people write here.

use super::{House, git};

#[tokio::test]
async fn the_first_lines_of_the_last_commits_are_told() {
    let house = House::new().await;
    let bare = house.server.path("octo/sums");
    let tree = git(&bare, &["rev-parse", "main^{tree}"]);
    let commit = |message: &str, parents: &[&str]| {
        let mut arguments = vec!["commit-tree", &tree, "-m", message];
        parents.iter().for_each(|parent| arguments.extend(["-p", parent]));
        git(&bare, &arguments)
    };
    let mut head = house.base.to_string();
    for n in 1..=60 {
        let side = commit(&format!("side {n}"), &[&head]);
        let next = commit(&format!("fix({n}): a \u{202e}sum\n\nIn many words."), &[&head]);
        head = commit("Merge branch 'side'", &[&next, &side]);
    }
    git(&bare, &["update-ref", "refs/heads/main", &head]);
    let base = house.workspaces.fetch(&house.remote(), "main").unwrap();
    let subjects = house.workspaces.subjects(&house.repository, &base).unwrap();
    assert_eq!(subjects.len(), 50);
    assert_eq!((subjects[0].as_str(), subjects[49].as_str()), ("fix(60): a sum", "fix(11): a sum"));
    assert_eq!(house.workspaces.subjects(&house.repository, &house.base).unwrap(), ["The first commit"]);
}

//! What the history says: how people write here, and where a line is today.

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

#[tokio::test]
async fn a_line_is_found_again_also_in_a_file_that_was_renamed() {
    let house = House::new().await;
    let lines = "for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done > a.txt; printf 'a\\000\\nb\\n' > picture";
    let old = house.person("main", lines);
    let new =
        house.person("main", "git mv a.txt b.txt; sed -i '1i zero' b.txt; sed -i 's/line 5/five/' b.txt");
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    let today = |from, to, path: &str, line| {
        house.workspaces.line_today(&house.repository, from, to, path, line).unwrap()
    };
    let found: Vec<_> = (0..=10).map(|line| today(&old, &new, "a.txt", line)).collect();
    let expected =
        [None, Some(2), Some(3), Some(4), Some(5), None, Some(7), Some(8), Some(9), Some(10), None];
    assert_eq!(found, expected);
    assert_eq!(today(&new, &old, "b.txt", 1), None, "put in since");
    assert_eq!(today(&new, &old, "b.txt", 2), Some(1), "also backwards");
    assert_eq!(today(&old, &new, "src/sum.py", 2), Some(2), "what nobody touched");
    let unknown = "1".repeat(40).parse().unwrap();
    for (from, to, path) in [
        (&unknown, &new, "a.txt"),
        (&old, &unknown, "a.txt"),
        (&old, &new, "b.txt"),
        (&old, &new, "src"),
        (&old, &new, "../a.txt"),
        (&old, &new, ""),
        (&old, &new, "a\0b"),
        (&old, &new, "/a.txt"),
        (&old, &new, "picture"),
        (&house.base, &new, "a.txt"),
    ] {
        assert_eq!(today(from, to, path, 1), None, "{path:?}");
    }
}

//! What an honest agent does, and what a careless one does.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use journeyman::sandbox::IsolationMode;
use journeyman::workspace::ImportOutcome;

use super::{House, files, git};

const FIX: &str = "printf 'def add(a, b):\\n    return a + b\\n' > src/sum.py; git add -A; \
                   git commit -qm 'Fix the sum of two numbers'; ";

#[tokio::test]
async fn a_pushed_commit_comes_out_as_the_tree_it_was() {
    for mode in [IsolationMode::Bubblewrap, IsolationMode::None] {
        let house = House::with_mode(mode).await;
        assert_eq!(house.agent("git symbolic-ref --short HEAD").await, house.branch.as_str());
        let pushed = house
            .agent(&format!(
                "{FIX} ln -s src/sum.py link; printf '#!/bin/sh\\n' > run; chmod +x run; \
            git rm -q README.md; git add -A; git commit -q --amend --no-edit; git push -q; git rev-parse HEAD"
            ))
            .await;
        let ImportOutcome::Imported { pushed: found, tree, message, changed, warnings } =
            house.import().await
        else {
            panic!("not imported");
        };
        assert_eq!(found.as_str(), pushed);
        assert_eq!(tree.as_str(), house.agent("git rev-parse HEAD^{tree}").await);
        assert_eq!(message.as_deref(), Some("Fix the sum of two numbers"));
        assert_eq!(changed, ["README.md", "link", "run", "src/sum.py"]);
        assert_eq!(warnings, []);
        assert_eq!(
            house.import().await,
            ImportOutcome::Imported { pushed: found, tree, message, changed, warnings },
            "again"
        );
    }
}

#[tokio::test]
async fn what_is_checked_out_is_what_was_pushed_byte_for_byte() {
    let house = House::new().await;
    house
        .agent(&format!(
            "{FIX} ln -s src/sum.py link; printf '$Id$\\r\\n' > a.md; printf '#!/bin/sh\\n' > run; \
        chmod +x run; printf 'a.md ident\\na.md -text\\n' > .gitattributes; git add -A; \
        git commit -q --amend --no-edit; git push -q"
        ))
        .await;
    let ImportOutcome::Imported { tree, .. } = house.import().await else { panic!("not imported") };
    let new = journeyman::workspace::NewCommit {
        order: house.order,
        name: "implement-1",
        tree: &tree,
        parent: &house.base,
        merges: None,
        message: "Fix the sum",
        date: chrono::DateTime::UNIX_EPOCH,
    };
    let commit = house.workspaces.commit(&house.repository, new).unwrap();
    let into = house.places().tests.join("one");
    for _ in 0..2 {
        house.workspaces.checkout(&house.repository, &commit, &into).unwrap();
        assert_eq!(fs::read(into.join("a.md")).unwrap(), b"$Id$\r\n");
        assert_eq!(fs::read_link(into.join("link")).unwrap().to_str(), Some("src/sum.py"));
        assert_eq!(fs::metadata(into.join("run")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::metadata(into.join("src/sum.py")).unwrap().permissions().mode() & 0o777, 0o644);
        assert!(!into.join(".git").exists());
        // git agrees that these files are that tree.
        fs::remove_file(into.join(".gitattributes")).unwrap();
        let attributes =
            house.workspaces.file(&house.repository, &commit, ".gitattributes").unwrap().unwrap();
        git(&into, &["init", "-q", "."]);
        git(&into, &["add", "-A"]);
        fs::write(into.join(".gitattributes"), attributes).unwrap();
        git(&into, &["add", "-A"]);
        assert_eq!(git(&into, &["write-tree"]), tree.as_str());
    }
}

#[tokio::test]
async fn nothing_pushed_is_said_with_what_is_there_instead() {
    let house = House::new().await;
    let because = |outcome| match outcome {
        ImportOutcome::NothingPushed { because } => because,
        other @ (ImportOutcome::Imported { .. } | ImportOutcome::Refused(_)) => panic!("{other:?}"),
    };
    assert!(because(house.import().await).contains("in the origin there is: main"));
    house.agent(FIX).await;
    assert!(because(house.import().await).contains("was not pushed"), "committed only");
    house.agent("git push -q origin HEAD:refs/heads/elsewhere").await;
    assert!(because(house.import().await).contains("elsewhere"));
    house.agent("git push -q origin origin/main:refs/heads/$(git symbolic-ref --short HEAD)").await;
    assert!(because(house.import().await).contains("where it started"));
    house
        .agent(
            "git reset -q --hard origin/main; git commit -q --allow-empty -m 'All tests pass'; git push -qf",
        )
        .await;
    assert!(because(house.import().await).contains("changes no file"));
    house.agent("rm -rf \"$(git remote get-url origin)\"/*").await;
    assert!(because(house.import().await).contains("no git repository"));
}

#[tokio::test]
async fn the_agents_repositories_lead_to_none_of_ours() {
    let house = House::new().await;
    let places = house.places();
    for place in [&places.origin, &places.work] {
        for file in files(place) {
            let bytes = fs::read(&file).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("mirrors") && !text.contains("commits/octo"), "{file:?}");
        }
    }
    // Fetched files belong to us: they can be read, but not changed.
    let kept = || -> Vec<_> {
        let mirror = files(&house.data.path().join("mirrors"));
        mirror
            .into_iter()
            .map(|file| (fs::metadata(&file).unwrap().permissions(), fs::read(file).unwrap()))
            .collect()
    };
    let before = kept();
    let spoil = "cd \"$(git remote get-url origin)/../packs/pack\"; for file in *; do \
                 ! chmod u+w $file || exit 1; ! rm -f $file || exit 1; ! truncate -s 0 $file || exit 1; \
                 ! mv $file other || exit 1; ! ln $file /tmp/other || exit 1; ! touch $file new || exit 1; done 2>/dev/null";
    house.agent(spoil).await;
    assert!(kept() == before, "what the mirror holds is as it was");
    house.agent("git gc -q --prune=now; git repack -adfq; git -C \"$(git remote get-url origin)\" gc -q --prune=now").await;
    assert!(kept() == before, "what the mirror holds is as it was");
    house.agent("git fsck --strict 2>&1; git -C \"$(git remote get-url origin)\" fsck --strict 2>&1").await;
}

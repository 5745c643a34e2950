//! What an honest agent does, and what a careless one does.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use journeyman::order::{Category, CommitSha, Exit};
use journeyman::sandbox::IsolationMode;
use journeyman::workspace::{ImportOutcome, ImportRules, MOST_EXPORTED, SecretSet, Workspaces};

use super::{House, count, files, git};

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
    // What was fetched are files of ours: they can be read, and nothing can be done to them.
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

#[tokio::test]
async fn readying_the_work_tree_again_keeps_what_is_there_and_mends_what_is_broken() {
    let house = House::new().await;
    let again = async || {
        let command = Workspaces::clone_command(&house.places(), Some(&house.branch), None, None, &[]);
        let (ended, _, err) = house.run(command, true).await;
        assert_eq!(ended.exit, Exit::Code(0), "{err}");
    };
    house.agent(&format!("{FIX} echo notes > notes.txt")).await;
    again().await;
    assert_eq!(
        house.agent("cat notes.txt; git log -1 --format=%s").await,
        "notes\nFix the sum of two numbers"
    );
    house
        .agent("git checkout -q -b mine; echo x > src/sum.py; git commit -qam mine; echo y > src/sum.py")
        .await;
    again().await;
    assert_eq!(
        house.agent("git symbolic-ref --short HEAD; git stash list | wc -l").await,
        format!("{}\n1", house.branch)
    );
    house.agent("git push -q; rm -rf .git; mkdir sub").await;
    again().await;
    assert_eq!(house.agent("git log -1 --format=%s; ls").await, "Fix the sum of two numbers\nREADME.md\nsrc");
    house.workspaces.create_origin(house.order, &house.repository, &house.base, "main", None).unwrap();
    assert!(matches!(house.import().await, ImportOutcome::Imported { .. }), "the origin was not made anew");
    // A branch is named only after the plan was written: what lies in the work tree comes along.
    house.workspaces.remove(house.order).unwrap();
    assert!(!house.places().work.exists() && house.places().runs.exists());
    house.workspaces.remove(house.order).unwrap();
    house.workspaces.create_origin(house.order, &house.repository, &house.base, "main", None).unwrap();
    house.run(Workspaces::clone_command(&house.places(), None, None, None, &[]), true).await;
    house.agent("echo plan > plan.md").await;
    again().await;
    assert_eq!(
        house.agent("cat plan.md; git symbolic-ref --short HEAD").await,
        format!("plan\n{}", house.branch)
    );
}

#[tokio::test]
async fn what_is_protected_or_too_large_goes_back_to_the_worker() {
    let house = House::new().await;
    for (what, script) in [
        (".github/workflows/ci.yml", "echo 'on: pull_request_target' > .github/workflows/ci.yml"),
        (".github/workflows/ci.yml", "git rm -q .github/workflows/ci.yml"),
        (".github/workflows/ci.yml", "git mv .github/workflows ci; git rm -rq --ignore-unmatch .github"),
        (".github/CODEOWNERS", "echo '* @me' > .github/CODEOWNERS"),
        ("CODEOWNERS", "echo '* @me' > CODEOWNERS"),
        (".gitmodules", "echo '[submodule \"x\"]' > .gitmodules"),
        ("a/.lfsconfig", "mkdir -p a; echo '[lfs]' > a/.lfsconfig"),
        ("big", "head -c 30000000 /dev/zero > big"),
    ] {
        house
            .agent(&format!(
                "git reset -q --hard origin/main; git clean -qfdx; {script}; git add -A; \
            git commit -qm 'Do that'; git push -qf"
            ))
            .await;
        let before = house.objects_of_ours();
        let ImportOutcome::Refused(feedback) = house.import().await else { panic!("{what} came through") };
        assert_eq!(house.objects_of_ours(), before, "nothing got in");
        assert!(
            !feedback.passed && feedback.issues.iter().all(|finding| finding.category == Category::Policy)
        );
        let told = feedback.issues.iter().any(|finding| finding.location.as_deref() == Some(what));
        assert!(told, "{what}: {feedback:?}");
    }
    let full = vec![b'x'; usize::try_from(MOST_EXPORTED).unwrap()];
    assert!(matches!(house.import_bytes(&full), ImportOutcome::Refused(_)));
    assert!(count(&house.places().runs) > 0);
    let no: CommitSha = "1".repeat(40).parse().unwrap();
    let (export, known) = (house.places().runs.join("export"), SecretSet::default());
    let import = |base, protected: &[String]| {
        let rules = ImportRules { branch: &house.branch, protected, secrets: &known, allowed_secrets: &[] };
        house.workspaces.import(house.order, &house.repository, base, &export, rules)
    };
    assert!(import(&no, &[]).is_err());
    assert!(import(&house.base, &["[".into()]).unwrap_err().message.contains("protected"));
}

//! People's commits on our branch, and work trees that start from them.

use journeyman::workspace::{GitErrorKind, ImportOutcome};

use super::{House, files, git};

#[tokio::test]
async fn what_a_person_pushed_is_taken_in_and_stays_apart() {
    let house = House::new().await;
    house.published("echo ours > ours.txt").await;
    let branch = house.branch.as_str();
    let theirs = house.person(branch, "echo 'on: never' > .github/workflows/ci.yml; echo more >> ours.txt");
    // They merged the base branch too; its content is no change of theirs.
    let base = house.person("main", "echo base > base.txt");
    let merged = house.person(
        branch,
        "git -c user.name=A -c user.email=a@b.c merge -q --no-edit origin/main; echo 3 > three",
    );
    let remote = house.remote();
    let take =
        || house.workspaces.fetch_human(house.order, &remote, &house.branch, "main", &house.base).unwrap();
    let taken = take();
    assert_eq!(taken.commit, merged);
    assert_eq!(taken.changed, [".github/workflows/ci.yml", "ours.txt", "three"]);
    assert!(taken.patch.contains("+on: never") && !taken.patch.contains("base.txt"), "{}", taken.patch);
    let bare = house.server.path("octo/sums");
    assert_eq!(taken.tree.as_str(), git(&bare, &["rev-parse", &format!("{merged}^{{tree}}")]));
    let before = house.server.requests().len();
    assert_eq!(take(), taken, "again");
    let since = house.server.requests().split_off(before);
    assert!(since.iter().all(|request| request.starts_with("GET")), "nothing was transferred: {since:?}");
    assert_eq!(house.file(&theirs, "base.txt"), None, "commits below are here too");
    assert_eq!(house.file(&base, "base.txt").as_deref(), Some("base\n"));
    // Another order's agent does not get it.
    let mirror = files(&house.data.path().join("mirrors"));
    let packs = mirror.iter().filter(|file| file.extension().is_some_and(|ending| ending == "idx"));
    for pack in packs {
        let listed = git(house.data.path(), &["verify-pack", "-v", pack.to_str().unwrap()]);
        assert!(!listed.contains(merged.as_str()) && !listed.contains(theirs.as_str()));
    }
}

#[tokio::test]
async fn what_nobody_can_check_out_safely_is_said_to_be_so() {
    let house = House::new().await;
    let head = house.published("echo ours > ours.txt").await;
    let remote = house.remote();
    let take = || house.workspaces.fetch_human(house.order, &remote, &house.branch, "main", &house.base);
    // We treat a submodule as an empty folder.
    house.person(
        house.branch.as_str(),
        &format!("git update-index --add --cacheinfo 160000,{head},sub; mkdir sub"),
    );
    let taken = take().unwrap();
    assert!(taken.changed.contains(&"sub".to_owned()), "{:?}", taken.changed);
    let into = house.places().tests.join("theirs");
    house.workspaces.checkout(&house.repository, &taken.commit, &into).unwrap();
    assert!(into.join("sub").is_dir());
    for (script, why) in [
        ("ln -s /etc/passwd link", "absolute path"),
        ("echo x > README.MD", "by case only"),
        ("printf x > \"$(printf 'a\\033b')\"", "invisible"),
    ] {
        house.person(house.branch.as_str(), script);
        let error = take().unwrap_err();
        assert_eq!(error.kind, GitErrorKind::NotForUs, "{error}");
        assert!(error.message.contains(why) && !error.message.contains('\u{1b}'), "{error}");
        let back = git(&house.server.path("octo/sums"), &["rev-parse", &format!("{}~1", house.branch)]);
        git(&house.server.path("octo/sums"), &["update-ref", &house.branch.reference(), &back]);
    }
    git(&house.server.path("octo/sums"), &["update-ref", "-d", &house.branch.reference()]);
    assert_eq!(take().unwrap_err().kind, GitErrorKind::NotFound);
}

#[tokio::test]
async fn work_begins_with_a_persons_commit_at_the_same_paths() {
    let house = House::new().await;
    house.agent("mkdir -p .journeyman/plans; echo plan > .journeyman/plans/a.md; echo me > ~/session").await;
    let ours = house.published("echo ours > ours.txt; printf 'x' > left; mkdir shut; echo s > shut/s").await;
    house.agent("echo half > left; chmod 500 shut; git branch elsewhere").await;
    let theirs = house.person(house.branch.as_str(), "echo theirs >> ours.txt");
    let remote = house.remote();
    house.workspaces.fetch_human(house.order, &remote, &house.branch, "main", &house.base).unwrap();
    house.begin(Some(&theirs)).await;
    let look = "git symbolic-ref --short HEAD; git rev-parse HEAD; git rev-parse @{u} origin/main; git status -s; \
                git branch -a | grep -c elsewhere || true; cat ours.txt .journeyman/plans/a.md ~/session left";
    let expected =
        format!("{}\n{theirs}\n{theirs}\n{}\n0\nours\ntheirs\nplan\nme\nx", house.branch, house.base);
    assert_eq!(house.agent(look).await, expected);
    assert!(
        matches!(house.import_from(&theirs).await, ImportOutcome::NothingPushed { because } if because.contains("where it started"))
    );
    // Starting from the same commit again keeps the agent's work since.
    house.agent("echo next > next; git add -A; git commit -qm 'Do the next'; git push -q").await;
    house.begin(Some(&theirs)).await;
    let ImportOutcome::Imported { changed, .. } = house.import_from(&theirs).await else { panic!() };
    assert_eq!(changed, ["next"], "against where it began");
    // Our own commit is a valid start, and so is the base.
    house.begin(Some(&ours)).await;
    assert_eq!(
        house.agent("git rev-parse HEAD; ls").await,
        format!("{ours}\nREADME.md\nleft\nours.txt\nshut\nsrc")
    );
    house.begin(None).await;
    assert_eq!(
        house.agent("git rev-parse HEAD; ls; cat ~/session").await,
        format!("{}\nREADME.md\nsrc\nme", house.base)
    );
    house.agent("git fsck --strict 2>&1; git -C \"$(git remote get-url origin)\" fsck --strict 2>&1").await;
    // Nothing from before is accessible any more.
    house.agent(&format!("! git cat-file -e {theirs} && ! git cat-file -e {ours}")).await;
}

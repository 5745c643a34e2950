//! Our repositories stay fast, and nothing in use is lost.

use std::fs;

use journeyman::order::{CommitSha, OrderId};
use journeyman::workspace::{JournaledCommits, PushOutcome, Remote};

use super::{House, git};

fn packs(house: &House) -> usize {
    let folder = house.data.path().join("mirrors/octo/sums.git/objects/pack");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "pack")).count()
}

/// Makes this many commits on the base branch, and fetches each one separately.
fn fetch_each(house: &House, commits: usize) -> CommitSha {
    let bare = house.server.path("octo/sums");
    let remote: Remote<'_> = house.remote();
    let mut newest = house.base.clone();
    for number in 0..commits {
        let blob = super::git_with(&bare, &["hash-object", "-w", "--stdin"], number.to_string().as_bytes());
        let tree = super::git_with(&bare, &["mktree"], format!("100644 blob {blob}\tnumber\n").as_bytes());
        let commit = git(&bare, &["commit-tree", &tree, "-p", "main", "-m", "one more"]);
        git(&bare, &["update-ref", "refs/heads/main", &commit]);
        newest = house.workspaces.fetch(&remote, "main").unwrap();
    }
    newest
}

#[tokio::test]
async fn a_mirror_of_many_packs_becomes_one_of_few_and_keeps_what_no_branch_has_any_more() {
    let house = House::new().await;
    let newest = fetch_each(&house, 60);
    // The base branch moves back: the server no longer has the commit, but an order is based on it.
    let bare = house.server.path("octo/sums");
    git(&bare, &["update-ref", "refs/heads/main", house.base.as_str()]);
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    assert!(packs(&house) > 60);

    house.workspaces.maintain().unwrap();

    assert!(packs(&house) < 10, "{} packs", packs(&house));
    let file = house.workspaces.file(&house.repository, &newest, "number").unwrap();
    assert_eq!(file.as_deref(), Some(b"59".as_slice()));
    house.agent("git log --oneline && echo more >> README.md && git commit -qam More && git push -q").await;
    house.commit("implement-1").await;
    // With few packs, nothing is done.
    let before = packs(&house);
    house.workspaces.maintain().unwrap();
    assert_eq!(packs(&house), before);
}

#[tokio::test]
async fn an_order_that_is_forgotten_has_no_folder_and_no_commits_and_another_keeps_its_own() {
    let house = House::new().await;
    let commit = house.published("echo more >> README.md").await;
    let repository = house.data.path().join("commits/octo/sums.git");
    let named = || git(&repository, &["for-each-ref", "--format=%(refname)"]);
    let other = OrderId(uuid::Uuid::now_v7());
    let keeps = format!("refs/journeyman/{other}/implement-1.{commit}");
    git(&repository, &["update-ref", &keeps, commit.as_str()]);

    assert_eq!(house.workspaces.orders_with_folders().unwrap(), [house.order]);
    house.workspaces.forget(house.order, &house.repository).unwrap();

    assert!(house.workspaces.orders_with_folders().unwrap().is_empty());
    assert_eq!(fs::read_dir(house.workspaces.orders()).unwrap().count(), 0, "nothing is left");
    assert_eq!(named(), keeps);
    // It is restored from what was pushed.
    let remote = house.remote();
    let known = JournaledCommits { made: vec![commit.clone()], ..JournaledCommits::default() };
    house.workspaces.fetch_behind(house.order, &remote, &house.branch, &known).unwrap();
    let rebased = git(
        &repository,
        &["commit-tree", &format!("{commit}^{{tree}}"), "-p", house.base.as_str(), "-m", "Again"],
    );
    git(&repository, &["update-ref", &format!("refs/journeyman/{}/again.{rebased}", house.order), &rebased]);
    let pushed =
        house.workspaces.push(house.order, &remote, &house.branch, &rebased.parse().unwrap(), Some(&commit));
    assert_eq!(pushed.unwrap(), PushOutcome::Pushed, "what it replaces is known to be ours");
    let place = house.workspaces.create_origin(house.order, &house.repository, &house.base, "main", None);
    assert!(place.unwrap(), "its folder is made anew");
}

#[tokio::test]
async fn a_branch_with_a_persons_commit_is_not_taken_for_one_that_was_forgotten() {
    let house = House::new().await;
    let ours = house.published("echo more >> README.md").await;
    let other = OrderId(uuid::Uuid::now_v7());
    let remote = house.remote();
    assert!(house.workspaces.reclaim(other, &remote, &house.branch, &ours).unwrap(), "all of it is by us");

    let theirs = house.person(house.branch.as_str(), "echo theirs >> README.md");
    let forgotten = OrderId(uuid::Uuid::now_v7());
    assert!(!house.workspaces.reclaim(forgotten, &remote, &house.branch, &theirs).unwrap());
    assert!(!house.workspaces.reclaim(forgotten, &remote, &house.branch, &ours).unwrap(), "it has moved on");
}

#[tokio::test]
async fn a_commit_that_rests_on_a_lost_one_counts_again_once_that_is_fetched() {
    let house = House::new().await;
    let ours = house.published("echo more >> README.md").await;
    let repository = house.data.path().join("commits/octo/sums.git");
    let later =
        git(&repository, &["commit-tree", &format!("{ours}^{{tree}}"), "-p", ours.as_str(), "-m", "Later"]);
    let known =
        JournaledCommits { made: vec![ours.clone(), later.parse().unwrap()], ..JournaledCommits::default() };
    for name in git(&repository, &["for-each-ref", "--format=%(refname)"]).lines() {
        git(&repository, &["update-ref", "-d", name]);
    }
    let ours = ours.as_str();
    fs::remove_file(repository.join("objects").join(&ours[..2]).join(&ours[2..])).unwrap();
    let adopt = || house.workspaces.adopt(house.order, &house.repository, &known).unwrap();
    assert_eq!(adopt(), known.made, "whoever fetches would believe that all of it is here");

    house.workspaces.fetch_behind(house.order, &house.remote(), &house.branch, &known).unwrap();

    assert!(adopt().is_empty());
    let named = git(&repository, &["for-each-ref", "--format=%(objectname)", "refs/journeyman"]);
    assert!(known.made.iter().all(|commit| named.contains(commit.as_str())), "{named}");
}

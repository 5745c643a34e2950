//! Fetching, pushing, and querying the remote.

use std::process::Command;

use chrono::DateTime;
use journeyman::order::{CommitSha, TreeSha};
use journeyman::workspace::{GitErrorKind, NewCommit, PushOutcome, Remote, Workspaces};
use secrecy::SecretString;

use super::server::{READER, TOKEN};
use super::{House, git, git_with};

/// Our commit with the base's tree.
fn made(house: &House, message: &str) -> CommitSha {
    let bare = house.server.path("octo/sums");
    let tree: TreeSha = git(&bare, &["rev-parse", "main^{tree}"]).parse().unwrap();
    let date = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let new = NewCommit {
        order: house.order,
        name: "implement-1",
        tree: &tree,
        parent: &house.base,
        merges: None,
        message,
        date,
    };
    house.workspaces.commit(&house.repository, new).unwrap()
}

fn head(house: &House) -> Option<CommitSha> {
    house.workspaces.remote_head(&house.remote(), house.branch.as_str()).unwrap()
}

#[tokio::test]
async fn a_fetch_brings_one_branch_and_the_second_brings_nothing() {
    let house = House::new().await;
    let bare = house.server.path("octo/sums");
    assert_eq!(git(&bare, &["rev-parse", "main"]), house.base.as_str());
    git(&bare, &["branch", "other", "main"]);
    let before = house.server.requests().len();
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap(), house.base);
    let since = house.server.requests().split_off(before);
    assert!(since.iter().all(|request| request.starts_with("GET")), "{since:?}");

    let newer = git(&bare, &["commit-tree", "main^{tree}", "-p", "main", "-m", "newer"]);
    git(&bare, &["update-ref", "refs/heads/main", &newer]);
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap().as_str(), newer);

    let older = house.base.as_str();
    git(&bare, &["update-ref", "refs/heads/main", older]);
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap().as_str(), older, "also backwards");
}

#[tokio::test]
async fn files_of_a_commit_are_read_without_a_checkout() {
    let house = House::new().await;
    let (ours, name, base) = (&house.workspaces, &house.repository, &house.base);
    assert_eq!(ours.file(name, base, "README.md").unwrap().as_deref(), Some(b"sums\n".as_slice()));
    for none in ["nothing", "src", "src/nothing", "README.md/x", "../README.md"] {
        assert_eq!(ours.file(name, base, none).unwrap(), None, "{none}");
    }
    assert_eq!(ours.root_files(name, base).unwrap(), [".gitattributes", ".github/", "README.md", "src/"]);
    let unknown: CommitSha = "1".repeat(40).parse().unwrap();
    assert_eq!(ours.root_files(name, &unknown).unwrap_err().kind, GitErrorKind::NotFound);
}

#[tokio::test]
async fn the_same_commit_made_twice_is_one_commit_and_ours() {
    let house = House::new().await;
    let first = made(&house, "Fix the sum\n\nIt was wrong.");
    assert_eq!(made(&house, "Fix the sum\n\nIt was wrong."), first);
    let pushed = house.workspaces.push(house.order, &house.remote(), &house.branch, &first, None).unwrap();
    assert_eq!(pushed, PushOutcome::Pushed);
    let bare = house.server.path("octo/sums");
    let shown = git(&bare, &["log", "-1", "--format=%an|%ae|%cn|%at|%P|%s", house.branch.as_str()]);
    let base = house.base.as_str();
    let bot = "journeyman[bot]";
    assert_eq!(shown, format!("{bot}|{bot}@users.noreply.github.com|{bot}|1700000000|{base}|Fix the sum"));
    assert!(Command::new("git").arg("-C").arg(&bare).args(["fsck", "--strict"]).status().unwrap().success());
}

#[tokio::test]
async fn a_push_holds_to_its_lease() {
    let house = House::new().await;
    let (remote, ours) = (house.remote(), &house.workspaces);
    let (first, second) = (made(&house, "one two"), made(&house, "two three"));
    assert_eq!(head(&house), None);
    assert_eq!(
        ours.push(house.order, &remote, &house.branch, &first, Some(&house.base)).unwrap(),
        PushOutcome::StaleLease { at: None },
        "the branch that we pushed was deleted"
    );
    assert_eq!(ours.push(house.order, &remote, &house.branch, &first, None).unwrap(), PushOutcome::Pushed);
    assert_eq!(
        ours.push(house.order, &remote, &house.branch, &first, None).unwrap(),
        PushOutcome::Pushed,
        "again"
    );
    assert_eq!(
        ours.push(house.order, &remote, &house.branch, &second, None).unwrap(),
        PushOutcome::StaleLease { at: Some(first.clone()) }
    );
    assert_eq!(
        ours.push(house.order, &remote, &house.branch, &second, Some(&first)).unwrap(),
        PushOutcome::Pushed
    );
    assert_eq!(head(&house), Some(second));
}

#[tokio::test]
async fn a_person_who_pushes_at_the_same_moment_is_not_overwritten() {
    let house = House::new().await;
    let bare = house.server.path("octo/sums");
    let (first, second) = (made(&house, "one two"), made(&house, "two three"));
    house.workspaces.push(house.order, &house.remote(), &house.branch, &first, None).unwrap();
    let theirs = git(&bare, &["commit-tree", "main^{tree}", "-p", first.as_str(), "-m", "by a person"]);
    let (reference, person) = (house.branch.reference(), theirs.clone());
    house.server.before_push(move || drop(git(&bare, &["update-ref", &reference, &person])));
    let outcome =
        house.workspaces.push(house.order, &house.remote(), &house.branch, &second, Some(&first)).unwrap();
    assert_eq!(outcome, PushOutcome::StaleLease { at: Some(theirs.parse().unwrap()) });
}

#[tokio::test]
async fn what_the_server_declines_is_told_in_its_words_and_is_no_push() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new().await;
    let hook = house.server.path("octo/sums").join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\necho 'no {TOKEN} here' >&2; exit 1\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pushed =
        house.workspaces.push(house.order, &house.remote(), &house.branch, &made(&house, "a b"), None);
    let PushOutcome::Declined { said } = pushed.unwrap() else { panic!("it was not declined") };
    assert!(said.contains("hook declined: no … here") && !said.contains(TOKEN), "{said}");
    assert_eq!(head(&house), None);
}

#[tokio::test]
async fn objects_that_the_server_never_takes_are_refused_with_its_reason_and_are_no_outage() {
    let house = House::new().await;
    let bare = house.server.path("octo/sums");
    git(&bare, &["config", "receive.fsckObjects", "true"]);
    // A submodule's name that leads elsewhere. Our own examination rejects it, and so does this server's git.
    let commits = house.data.path().join("commits/octo/sums.git");
    made(&house, "a b");
    let modules = b"[submodule \"../x\"]\n\tpath = x\n\turl = ../x\n";
    let blob = git_with(&commits, &["hash-object", "-w", "--stdin"], modules);
    let tree = git_with(&commits, &["mktree"], format!("100644 blob {blob}\t.gitmodules\n").as_bytes());
    let new = NewCommit {
        order: house.order,
        name: "implement-1",
        tree: &tree.parse().unwrap(),
        parent: &house.base,
        merges: None,
        message: "one two",
        date: DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
    };
    let commit = house.workspaces.commit(&house.repository, new).unwrap();

    let pushed = house.workspaces.push(house.order, &house.remote(), &house.branch, &commit, None);

    let PushOutcome::Declined { said } = pushed.unwrap() else { panic!("it was not declined") };
    assert!(said.contains("disallowed submodule name"), "{said}");
    assert_eq!(head(&house), None);
}

#[tokio::test]
async fn every_answer_of_a_server_has_its_kind() {
    let house = House::new().await;
    let ours = &house.workspaces;
    let ask = |remote: &Remote<'_>| ours.remote_head(remote, "main");
    for (status, kind) in [
        (401, GitErrorKind::Unauthorized),
        (403, GitErrorKind::Forbidden),
        (404, GitErrorKind::NotFound),
        (429, GitErrorKind::Unavailable),
        (500, GitErrorKind::Unavailable),
        (503, GitErrorKind::Unavailable),
        (418, GitErrorKind::Refused),
    ] {
        house.server.answer_with(Some(status));
        let error = ask(&house.remote()).unwrap_err();
        assert_eq!(error.kind, kind, "{status}: {error}");
        assert!(!error.message.contains(TOKEN) && error.message.contains("octo/sums"), "{error}");
    }
    house.server.answer_with(None);
    assert_eq!(ask(&house.remote()).unwrap(), Some(house.base.clone()));

    let with = |token: Option<&str>| Remote { token: token.map(SecretString::from), ..house.remote() };
    assert_eq!(ask(&with(None)).unwrap_err().kind, GitErrorKind::Unauthorized);
    assert_eq!(ask(&with(Some("ghs_expired"))).unwrap_err().kind, GitErrorKind::Unauthorized);
    let reader = with(Some(READER));
    assert_eq!(ask(&reader).unwrap(), Some(house.base.clone()));
    let error = ours.push(house.order, &reader, &house.branch, &made(&house, "a b"), None).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Forbidden, "{error}");

    let error = ours.fetch(&house.remote(), "no-such-branch").unwrap_err();
    assert_eq!(error.kind, GitErrorKind::NotFound, "{error}");
    let nobody = Remote { url: "http://127.0.0.1:1/octo/sums.git".parse().unwrap(), ..house.remote() };
    assert_eq!(ask(&nobody).unwrap_err().kind, GitErrorKind::Unavailable);
    for bad in ["ext::sh", "file:///etc", "ssh://git@127.0.0.1/x", "http://u:p@127.0.0.1/x"] {
        let strange = Remote { url: bad.parse().unwrap(), ..house.remote() };
        assert_eq!(ask(&strange).unwrap_err().kind, GitErrorKind::Broken, "{bad}");
    }
    assert_eq!(ours.remote_head(&house.remote(), "a..b").unwrap_err().kind, GitErrorKind::Broken);
    assert!(Workspaces::new(std::path::Path::new("/proc/no")).is_err());
}

#[tokio::test]
async fn many_orders_may_fetch_one_repository_at_once() {
    let house = House::new().await;
    let fresh = tempfile::tempdir().unwrap();
    let ours = Workspaces::new(fresh.path()).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| assert_eq!(ours.fetch(&house.remote(), "main").unwrap(), house.base));
        }
    });
    assert!(house.server.requests().iter().all(|request| !request.contains(TOKEN)));
}

#[tokio::test]
async fn a_redirect_is_followed_but_the_token_goes_to_no_other_host() {
    let (house, other) = (House::new().await, House::new().await);
    let below = |house: &House, path: &str| house.server.url("x").join(path).unwrap();
    house.server.lead_to(Some(below(&other, "/")));
    let before = other.server.logins().len();
    let error = house.workspaces.fetch(&house.remote(), "main").unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unauthorized, "{error}");
    assert_eq!(other.server.logins().len(), before);

    // As GitHub does with the old name of a repository.
    let newer = house.server.path("renamed/octo/sums");
    std::fs::create_dir_all(newer.parent().unwrap()).unwrap();
    std::fs::rename(house.server.path("octo/sums"), newer).unwrap();
    house.server.lead_to(Some(below(&house, "/renamed/")));
    let fresh = tempfile::tempdir().unwrap();
    let ours = Workspaces::new(fresh.path()).unwrap();
    assert_eq!(ours.fetch(&house.remote(), "main").unwrap(), house.base);
}

#[tokio::test]
async fn a_fetch_that_nobody_waits_for_is_ended_and_leaves_the_mirror_sound() {
    let house = House::new().await;
    let fresh = tempfile::tempdir().unwrap();
    let ours = Workspaces::new(fresh.path()).unwrap();
    let (waited_for, guard) = ours.until_dropped();
    house.server.hold_packs(true);
    let is_told = |line: &str, times| {
        house.server.requests().iter().filter(|request| request.starts_with(line)).count() == times
    };
    let wait = |line, times| {
        while !is_told(line, times) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    let before = house.server.requests().iter().filter(|request| request.starts_with("POST")).count();
    std::thread::scope(|threads| {
        let fetch = threads.spawn(|| waited_for.fetch(&house.remote(), "main"));
        wait("POST", before + 1);
        drop(guard);
        assert_eq!(fetch.join().unwrap().unwrap_err().kind, GitErrorKind::Unavailable);
    });
    // git's own child processes are gone too.
    wait("hung up", 1);
    house.server.hold_packs(false);
    assert_eq!(ours.fetch(&house.remote(), "main").unwrap(), house.base);
}

/// A commit that a person pushed to the order's branch, on top of it.
fn pushed_by_a_person(house: &House, on: &CommitSha) -> CommitSha {
    let bare = house.server.path("octo/sums");
    let theirs = git(&bare, &["commit-tree", "main^{tree}", "-p", on.as_str(), "-m", "by a person"]);
    git(&bare, &["update-ref", &house.branch.reference(), &theirs]);
    theirs.parse().unwrap()
}

#[tokio::test]
async fn a_lease_does_not_allow_to_take_away_what_others_pushed() {
    let house = House::new().await;
    let (remote, ours, order) = (house.remote(), &house.workspaces, house.order);
    let push = |commit: &CommitSha, lease: &CommitSha| {
        ours.push(order, &remote, &house.branch, commit, Some(lease)).unwrap()
    };
    let (first, second) = (made(&house, "one two"), made(&house, "two three"));
    ours.push(order, &remote, &house.branch, &first, None).unwrap();
    let theirs = pushed_by_a_person(&house, &first);
    let taken = PushOutcome::StaleLease { at: Some(theirs.clone()) };
    assert_eq!(push(&second, &theirs), taken, "a commit that was never fetched");
    house.workspaces.fetch_human(order, &remote, &house.branch, "main", &house.base).unwrap();
    assert_eq!(push(&second, &theirs), taken, "a commit that was fetched, and is not ours");
    // On top of theirs it is a fast-forward.
    let on_top = |parent: &CommitSha, message: &str| {
        let tree: TreeSha =
            git(&house.server.path("octo/sums"), &["rev-parse", "main^{tree}"]).parse().unwrap();
        let date = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let new = NewCommit { order, name: "answer-1", tree: &tree, parent, merges: None, message, date };
        ours.commit(&house.repository, new).unwrap()
    };
    let third = on_top(&theirs, "on top of theirs");
    assert_eq!(push(&third, &theirs), PushOutcome::Pushed);
    let other = on_top(&theirs, "another on top of theirs");
    assert_eq!(push(&other, &third), PushOutcome::Pushed, "only ours is taken away, theirs is in it");
    let without = on_top(&first, "without theirs");
    assert_eq!(
        push(&without, &other),
        PushOutcome::StaleLease { at: Some(other.clone()) },
        "theirs lies below"
    );
    assert_eq!(head(&house), Some(other));
}

#[tokio::test]
async fn only_commits_of_this_order_are_pushed() {
    let house = House::new().await;
    let other = journeyman::order::OrderId(uuid::Uuid::now_v7());
    let first = made(&house, "one two");
    for (order, commit) in [(other, &first), (house.order, &house.base)] {
        let error = house.workspaces.push(order, &house.remote(), &house.branch, commit, None).unwrap_err();
        assert!(error.message.contains("not a commit of ours"), "{error}");
    }
    assert_eq!(head(&house), None);
}

//! Merging the base branch into ours: cleanly, or with conflicts and their resolution.

use journeyman::order::conversation::BranchUpdateMethod;
use journeyman::order::{Category, CommitSha};
use journeyman::workspace::{
    BranchUpdate, BranchUpdateOutcome, GitError, GitErrorKind, ImportOutcome, NewCommit, PushOutcome,
    default_protected,
};

use super::{House, git};

const LINES: &str = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n; done > lines.txt; ";

impl House {
    /// A house with a longer file on the base.
    pub(super) async fn with_lines(script: &str) -> Self {
        let mut house = House::new().await;
        house.base = house.person("main", &format!("{LINES}{script}"));
        house.workspaces.fetch(&house.remote(), "main").unwrap();
        house.workspaces.remove(house.order).unwrap();
        house.begin(None).await;
        house
    }

    fn update(&self, head: &CommitSha, how: BranchUpdateMethod) -> Result<BranchUpdateOutcome, GitError> {
        let protected = default_protected();
        let new = BranchUpdate {
            order: self.order,
            name: "update-1",
            head,
            branch: Some(&self.branch),
            base_branch: "main",
            how,
            date: chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
            protected: &protected,
        };
        self.workspaces.update_branch(&self.remote(), new)
    }

    pub(super) fn clean(
        &self,
        head: &CommitSha,
        how: BranchUpdateMethod,
    ) -> (CommitSha, CommitSha, Vec<String>, String) {
        match self.update(head, how).unwrap() {
            BranchUpdateOutcome::Clean { base, commit, changed, patch, .. } => (base, commit, changed, patch),
            other @ (BranchUpdateOutcome::UpToDate | BranchUpdateOutcome::Conflicts { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    fn conflicts(&self, head: &CommitSha) -> (CommitSha, CommitSha, Vec<String>) {
        match self.update(head, BranchUpdateMethod::Merge).unwrap() {
            BranchUpdateOutcome::Conflicts { base, marked, paths } => (base, marked, paths),
            other @ (BranchUpdateOutcome::UpToDate | BranchUpdateOutcome::Clean { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    fn push(&self, commit: &CommitSha, lease: &CommitSha) -> Result<PushOutcome, GitError> {
        self.workspaces.push(self.order, &self.remote(), &self.branch, commit, Some(lease))
    }
}

#[tokio::test]
async fn what_goes_together_is_merged_and_is_the_same_commit_again() {
    let house = House::with_lines("").await;
    let head = house.published("sed -i 's/line 2$/ours 2/' lines.txt; echo a > ours.txt").await;
    assert_eq!(house.update(&head, BranchUpdateMethod::Merge).unwrap(), BranchUpdateOutcome::UpToDate);
    // Edited here, renamed there; and other lines further down.
    let theirs =
        house.person("main", "git mv lines.txt moved.txt; sed -i 's/line 11/base 11/' moved.txt; echo b > b");
    let (base, commit, changed, patch) = house.clean(&head, BranchUpdateMethod::Merge);
    assert_eq!(base, theirs);
    assert_eq!(house.clean(&head, BranchUpdateMethod::Merge).1, commit, "again");
    let moved = house.file(&commit, "moved.txt").unwrap();
    assert!(moved.contains("ours 2\n") && moved.contains("base 11\n"), "{moved}");
    assert_eq!(house.file(&commit, "lines.txt"), None);
    assert_eq!(changed, ["moved.txt", "ours.txt"], "against the new base");
    assert!(
        patch.contains("+ours 2") && !patch.contains("base 11\n+") && !patch.contains("b/b\n"),
        "{patch}"
    );
    assert_eq!(house.push(&commit, &head).unwrap(), PushOutcome::Pushed);
    let bare = house.server.path("octo/sums");
    let shown = git(&bare, &["log", "-1", "--format=%an|%at|%P|%s", commit.as_str()]);
    let message = format!("Merge branch 'main' into {}", house.branch);
    assert_eq!(shown, format!("journeyman[bot]|1700000000|{head} {theirs}|{message}"));
    git(&bare, &["fsck", "--strict", "--no-dangling"]);
    assert_eq!(house.update(&commit, BranchUpdateMethod::Merge).unwrap(), BranchUpdateOutcome::UpToDate);
    // git itself merges these two to the same tree.
    let merged = git(&bare, &["merge-tree", "--write-tree", head.as_str(), theirs.as_str()]);
    assert_eq!(git(&bare, &["rev-parse", &format!("{commit}^{{tree}}")]), merged);
}

#[tokio::test]
async fn a_rebase_is_one_commit_of_ours_and_only_over_ours() {
    let house = House::with_lines("").await;
    let head = house.published("sed -i 's/line 2$/ours 2/' lines.txt").await;
    let theirs = house.person("main", "sed -i 's/line 11/base 11/' lines.txt");
    let (_, commit, changed, _) = house.clean(&head, BranchUpdateMethod::Rebase);
    assert_eq!(house.push(&commit, &head).unwrap(), PushOutcome::Pushed, "over our own commit");
    let bare = house.server.path("octo/sums");
    let shown = git(&bare, &["log", "-1", "--format=%an|%P|%s", commit.as_str()]);
    assert_eq!(shown, format!("journeyman[bot]|{theirs}|The change"));
    assert_eq!(changed, ["lines.txt"]);
    // A person's commit is below, so it is kept whatever the method.
    let person = house.person(house.branch.as_str(), "echo x > x");
    house.workspaces.fetch_human(house.order, &house.remote(), &house.branch, "main", &house.base).unwrap();
    let newer = house.person("main", "sed -i 's/line 7/base 7/' lines.txt");
    let (_, commit, _, _) = house.clean(&person, BranchUpdateMethod::Rebase);
    assert_eq!(house.push(&commit, &person).unwrap(), PushOutcome::Pushed);
    assert_eq!(git(&bare, &["log", "-1", "--format=%P", commit.as_str()]), format!("{person} {newer}"));
}

#[tokio::test]
async fn a_conflict_is_settled_by_an_agent_and_published_as_a_merge() {
    // The repository's own merge settings are ignored.
    let house = House::with_lines("echo '*.txt merge=union' > .gitattributes").await;
    let head =
        house.published("sed -i 's/line 2$/ours 2/;s/line 6/ours 6/' lines.txt; echo ours > ours.txt").await;
    let theirs = house.person("main", "sed -i 's/line 2$/base 2/;s/line 11/base 11/' lines.txt; echo b > b");
    let (base, marked, paths) = house.conflicts(&head);
    assert_eq!((&base, &paths[..]), (&theirs, &["lines.txt".to_owned()][..]));
    assert_eq!(house.conflicts(&head).1, marked, "again");
    let text = house.file(&marked, "lines.txt").unwrap();
    let between = "line 1\n<<<<<<< ours\nours 2\n=======\nbase 2\n>>>>>>> the base branch\nline 3\n";
    assert!(text.starts_with(between) && text.contains("ours 6") && text.contains("base 11"), "{text}");
    assert_eq!(house.file(&marked, "b").as_deref(), Some("b\n"), "all else is merged");
    let error = house.push(&marked, &head).unwrap_err();
    assert!(error.message.contains("not a commit of ours"), "{error}");

    house.begin(Some(&marked)).await;
    assert_eq!(
        house.agent("git rev-parse HEAD; git rev-parse origin/main").await,
        format!("{marked}\n{base}")
    );
    let left = |outcome: ImportOutcome| match outcome {
        ImportOutcome::Refused(feedback) => feedback,
        other @ (ImportOutcome::Imported { .. } | ImportOutcome::NothingPushed { .. }) => panic!("{other:?}"),
    };
    // The agent did something else, only half of it, or moved the file away.
    for script in
        ["echo more > more.txt", "sed -i '/^<<<<<<< /d;/^=======/d' lines.txt", "git mv lines.txt other.txt"]
    {
        house
            .agent(&format!(
                "git reset -q --hard {marked}; {script}; git add -A; git commit -qm 'Do it so'; git push -qf"
            ))
            .await;
        let before = house.objects_of_ours();
        let feedback = left(house.import_from(&marked).await);
        let [finding] = &feedback.issues[..] else { panic!("{feedback:?}") };
        assert_eq!(finding.category, Category::LogicError);
        let file = if script.contains("mv") { "other.txt" } else { "lines.txt" };
        assert_eq!(finding.description, format!("Conflict markers are left in `{file}`."));
        assert_eq!(house.objects_of_ours(), before, "nothing got in");
    }
    house
        .agent(&format!(
            "git reset -q --hard {marked}; sed -i '/^<<<<<<< /d;/^=======/,/^>>>>>>> /d' lines.txt; \
             git commit -qam 'Settle the conflict'; git push -qf"
        ))
        .await;
    let ImportOutcome::Imported { tree, changed, .. } = house.import_from(&marked).await else { panic!() };
    assert_eq!(changed, ["lines.txt"], "what the agent did");
    let new = NewCommit {
        order: house.order,
        name: "settle-1",
        tree: &tree,
        parent: &head,
        merges: Some(&base),
        message: "Merge main",
        date: chrono::DateTime::UNIX_EPOCH,
    };
    let commit = house.workspaces.commit(&house.repository, new).unwrap();
    let fork = house.workspaces.fork(&house.repository, "main", &house.base, &commit).unwrap();
    assert_eq!(fork, base, "what it merged is no change of ours");
    assert_eq!(house.push(&commit, &head).unwrap(), PushOutcome::Pushed);
    let bare = house.server.path("octo/sums");
    assert_eq!(git(&bare, &["log", "-1", "--format=%P", commit.as_str()]), format!("{head} {base}"));
    git(&bare, &["fsck", "--strict", "--no-dangling"]);
    let all = git(&bare, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    assert!(!all.contains(marked.as_str()), "what has markers never left");
}

#[tokio::test]
async fn whatever_contradicts_itself_is_named_and_what_is_text_is_marked() {
    let house = House::with_lines(
        "for f in gone kept both; do sed \"s/line/$f/\" lines.txt > $f.txt; done; printf 'a\\000b' > picture; ln -s a link
         echo x > thing; mkdir dir; echo x > dir/a",
    )
    .await;
    let head = house
        .published(
            "git rm -q gone.txt; sed -i 's/kept 3/ours 3/' kept.txt; printf 'a\\000ours' > picture; ln -sfn ours link
             git mv lines.txt renamed.txt; sed -i 's/line 4/ours 4/' renamed.txt; git mv both.txt both-ours.txt
             echo ours > new; chmod +x new; git rm -qr dir; echo ours > dir; echo one > plain",
        )
        .await;
    house.person(
        "main",
        "sed -i 's/gone 3/base 3/' gone.txt; git rm -q kept.txt; printf 'a\\000base' > picture; ln -sfn base link
         sed -i 's/line 4/base 4/' lines.txt; git mv both.txt both-base.txt; echo base > new; echo y >> dir/a
         echo two > fine",
    );
    let (_, marked, paths) = house.conflicts(&head);
    let file = |path: &str| house.file(&marked, path).unwrap_or_else(|| "none".to_owned());
    // They are listed under every name that they have on either side.
    for path in [
        "both-base.txt", "both-ours.txt", "both.txt", "dir/a", "gone.txt", "kept.txt", "lines.txt", "link",
        "new", "picture", "renamed.txt",
    ] {
        assert!(paths.iter().any(|there| there == path), "{path} is not in {paths:?}");
    }
    assert!(!paths.iter().any(|path| path == "fine" || path == "plain"), "{paths:?}");
    assert_eq!((file("fine"), file("plain")), ("two\n".to_owned(), "one\n".to_owned()));
    let (gone, kept) = (file("gone.txt"), file("kept.txt"));
    assert!(
        gone.starts_with("<<<<<<< ours\n=======\ngone 1\n") && gone.ends_with(">>>>>>> the base branch\n"),
        "{gone}"
    );
    assert!(
        kept.starts_with("<<<<<<< ours\nkept 1\n") && kept.ends_with("=======\n>>>>>>> the base branch\n"),
        "{kept}"
    );
    let renamed = file("renamed.txt");
    assert!(
        renamed.contains("<<<<<<< ours\nours 4\n=======\nbase 4\n>>>>>>> the base branch\nline 5"),
        "{renamed}"
    );
    assert_eq!(file("lines.txt"), "none", "renamed");
    assert_eq!(file("new"), "<<<<<<< ours\nours\n=======\nbase\n>>>>>>> the base branch\n");
    assert_eq!(file("picture"), "a\0ours");
    assert_eq!((file("both-ours.txt").lines().count(), file("both-base.txt")), (12, "none".to_owned()));
    assert_eq!(file("dir"), "ours\n", "{paths:?}");
    let into = house.places().tests.join("marked");
    house.workspaces.checkout(&house.repository, &marked, &into).unwrap();
    assert_eq!(std::fs::read_link(into.join("link")).unwrap().to_str(), Some("ours"));
}

#[tokio::test]
async fn a_conflict_in_what_is_protected_is_for_people() {
    let house = House::with_lines("").await;
    let head = house.published("echo ours > ours.txt").await;
    house.person(house.branch.as_str(), "echo 'on: push # ours' > .github/workflows/ci.yml");
    let remote = house.remote();
    let taken =
        house.workspaces.fetch_human(house.order, &remote, &house.branch, "main", &house.base).unwrap();
    assert_ne!(taken.commit, head);
    house.person("main", "echo 'on: push # base' > .github/workflows/ci.yml");
    let error = house.update(&taken.commit, BranchUpdateMethod::Merge).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::NotForUs);
    assert!(error.message.contains("ci.yml\" is protected") && error.message.contains("a person"), "{error}");
}

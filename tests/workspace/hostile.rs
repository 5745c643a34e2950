//! What a malicious agent does.

use std::fs;

use journeyman::workspace::ImportOutcome;

use super::{House, files, git, git_with};

/// Pushes a tree that no `git add` would make: the base's entries and one more.
async fn push_tree(house: &House, make: &str) {
    let script = format!(
        "git reset -q --hard origin/main
         blob() {{ git hash-object -w --stdin; }}
         # Entries as `git ls-tree` writes them, with names as raw as they come.
         base() {{ git ls-tree -z origin/main | tr '\\0' '\\n'; }}
         raw() {{ git hash-object -t tree -w --literally --stdin; }}
         id() {{ printf '%s' \"$1\" | sed 's/../\\\\x&/g'; }}
         {make}
         commit=$(git commit-tree -m 'Fix the sum' -p origin/main \"$tree\")
         git push -qf origin \"$commit\":refs/heads/{}",
        house.branch
    );
    house.agent(&script).await;
}

#[tokio::test]
async fn no_entry_that_is_not_what_it_seems_gets_in() {
    let house = House::new().await;
    house.agent("git config --global user.name a; git config core.protectHFS false; git config core.protectNTFS false").await;
    let entry = |mode: &str, content: &str, name: &str| {
        format!(
            "b=$(printf '%s' '{content}' | blob); tree=$( (base; printf '{mode} blob %s\\t%s\\n' \"$b\" $'{name}') | git mktree)"
        )
    };
    let raw = |head: &str| format!("b=$(echo x | blob); tree=$(printf \"{head}\\\\0$(id $b)\" | raw)");
    for (what, why, make) in [
        (".GIT", "takes for .git", raw("100644 .GIT")),
        (".git", "takes for .git", raw("100644 .git")),
        ("git~1", "takes for .git", raw("100644 git~1")),
        ("..", "climbs out", raw("100644 ..")),
        ("slash", "climbs out", raw("100644 a/b")),
        ("hfs", "takes for .git", entry("100644", "x", ".g\\u200cit")),
        ("ntfs stream", "takes for .git", entry("100644", "x", ".git::$INDEX_ALLOCATION")),
        ("backslash", "backslash", entry("100644", "x", "a\\\\b")),
        ("escape codes", "invisible", entry("100644", "x", "a\\x1b[2Jb")),
        ("right to left", "invisible", entry("100644", "x", "a\\u202eb")),
        ("not UTF-8", "not valid UTF-8", entry("100644", "x", "caf\\xe9")),
        ("case", "by case only", entry("100644", "x", "readme.MD")),
        ("absolute link", "absolute path", entry("120000", "/etc/passwd", "link")),
        ("link out", "out of the repository", entry("120000", "../x", "link")),
        ("link back out", "up again", entry("120000", "src/../../x", "link")),
        ("link into git", "into .git", entry("120000", ".git/config", "link")),
        ("link for a protected folder", "path is protected", entry("120000", "src", ".GitHub")),
        ("link that git reads", "read by git", entry("120000", "README.md", ".mailmap")),
        ("gitlink", "nested repository", format!("tree=$( (base; printf '160000 commit %s\\tsub\\n' {}) | git mktree)", house.base)),
        ("odd mode", "mode that git", raw("100666 odd")),
        ("set user id", "mode that git", raw("104755 odd")),
        ("unsorted", "malformed", "b=$(echo x | blob); tree=$(printf \"100644 b\\\\0$(id $b)100644 a\\\\0$(id $b)\" | raw)".into()),
        ("twice", "malformed", "b=$(echo x | blob); tree=$(printf \"100644 b\\\\0$(id $b)100644 b\\\\0$(id $b)\" | raw)".into()),
        ("a bare repository", "bare git repository",
            "b=$(echo 'ref: refs/heads/x' | blob); e=$(printf '100644 blob %s\\tk\\n' $b | git mktree); d=$(printf \
             '100644 blob %s\\tHEAD\\n040000 tree %s\\tobjects\\n040000 tree %s\\trefs\\n' $b $e $e | git mktree); \
             tree=$( (base; printf '040000 tree %s\\tbare\\n' $d) | git mktree)"
                .into(),
        ),
        ("deep", "too deeply",
            "b=$(echo x | blob); t=$(printf '100644 blob %s\\tk\\n' $b | git mktree); for i in $(seq 100); do \
             t=$(printf '040000 tree %s\\td\\n' $t | git mktree); done; \
             tree=$( (base; printf '040000 tree %s\\td\\n' $t) | git mktree)"
                .into(),
        ),
    ] {
        push_tree(&house, &make).await;
        let before = house.objects_of_ours();
        let ImportOutcome::Refused(feedback) = house.import().await else { panic!("{what} came through") };
        assert!(feedback.issues.iter().any(|finding| finding.description.contains(why)), "{what}: {feedback:?}");
        assert!(!feedback.summary.contains(['\u{1b}', '\u{202e}']), "{what}: {feedback:?}");
        assert_eq!(house.objects_of_ours(), before, "{what}");
    }
    // The push itself works: the same way, something harmless is imported.
    push_tree(&house, &entry("120000", "src/sum.py", "link")).await;
    assert!(matches!(house.import().await, ImportOutcome::Imported { .. }));
}

#[tokio::test]
async fn the_host_runs_nothing_that_lies_in_the_agents_repositories() {
    let house = House::new().await;
    // Outside every mount: only code on the host can create this file, code in the sandbox cannot.
    let trip = house.data.path().join("tripped");
    let places = house.places();
    let trap = places.work.join("trap.sh");
    house.agent("echo y > src/sum.py; git add -A; git commit -qm 'Fix the sum'; git push -q").await;
    let (origin, work) = (places.origin.display(), places.work.display());
    house
        .agent(&format!(
            "printf '#!/bin/sh\\ntouch {}\\ncat\\n' > {trap}; chmod +x {trap}
             for repo in {origin} {work}/.git; do
               for hook in post-checkout pre-commit pre-receive update post-update reference-transaction; do
                 mkdir -p $repo/hooks; cp {trap} $repo/hooks/$hook; done
               git config -f $repo/config core.fsmonitor {trap}
               git config -f $repo/config filter.x.smudge {trap}
               git config -f $repo/config filter.x.clean {trap}
               git config -f $repo/config diff.external {trap}
               git config -f $repo/config uploadpack.packObjectsHook {trap}
               git config -f $repo/config url.http://127.0.0.1:1/.insteadOf http://
               echo '* filter=x' > $repo/info/attributes
               echo {}/mirrors/octo/sums.git/objects >> $repo/objects/info/alternates
             done
             git config -f {work}/.git/config core.worktree /",
            trip.display(),
            house.data.path().display(),
            trap = trap.display(),
        ))
        .await;
    assert!(matches!(house.import().await, ImportOutcome::Imported { .. }));
    house.workspaces.create_origin(house.order, &house.repository, &house.base, "main", None).unwrap();
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap(), house.base);
    house.workspaces.checkout(&house.repository, &house.base, &places.tests.join("x")).unwrap();
    assert!(!trip.exists());
    // The trap works: git on the host triggers it.
    git(&places.origin, &["update-ref", "refs/heads/x", house.base.as_str()]);
    assert!(trip.exists());
    house.workspaces.remove(house.order).unwrap();
}

#[tokio::test]
async fn what_is_not_in_the_sandbox_cannot_be_pulled_out_of_it() {
    let house = House::new().await;
    // Another order's secret in a repository on the host. The agent points its origin there.
    let other = house.data.path().join("other");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "."]);
    let blob = git_with(&other, &["hash-object", "-w", "--stdin"], b"canary-of-another-order");
    let there = other.join(".git/objects");
    house
        .agent(&format!(
            "cd {}; export GIT_DIR=.; echo {} > objects/info/alternates
             git config user.name a; git config user.email a@example.org
             id=$(echo {blob} | sed 's/../\\\\x&/g')
             tree=$(printf \"100644 leak\\\\0$id\" | git hash-object -t tree -w --literally --stdin)
             git update-ref refs/heads/{} $(git commit-tree -m 'Fix it now' $tree)",
            house.places().origin.display(),
            there.display(),
            house.branch
        ))
        .await;
    let outcome = house.import().await;
    assert!(!matches!(outcome, ImportOutcome::Imported { .. }), "{outcome:?}");
    for file in files(&house.places().runs).into_iter().chain(files(&house.data.path().join("commits"))) {
        assert!(!String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("canary"), "{file:?}");
    }
}

#[tokio::test]
async fn an_export_that_was_made_up_proves_nothing() {
    use std::fmt::Write;
    let house = House::new().await;
    // The agent replaced git, or wrote the bytes itself: objects under wrong names.
    let base = house.base.as_str();
    let tree = git(&house.server.path("octo/sums"), &["rev-parse", "main^{tree}"]);
    let mut forged = String::new();
    let commit = format!("tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nFix the sum\n");
    write!(forged, "{}\n{} commit {}\n{commit}\n", "2".repeat(40), "2".repeat(40), commit.len()).unwrap();
    assert!(matches!(house.import_bytes(forged.as_bytes()), ImportOutcome::NothingPushed { .. }));

    // A valid commit of a missing tree.
    let commit = commit.replace(&tree, &"3".repeat(40));
    let sha = git_with(
        house.server.root.path(),
        &["hash-object", "-t", "commit", "--literally", "--stdin"],
        commit.as_bytes(),
    );
    let stream = format!("{sha}\n{sha} commit {}\n{commit}\n{} missing\n", commit.len(), "3".repeat(40));
    assert!(matches!(house.import_bytes(stream.as_bytes()), ImportOutcome::Refused(_)));

    // A file whose content is a folder.
    let src = git(&house.server.path("octo/sums"), &["rev-parse", "main:src"]);
    let mut listing = b"100644 b\0".to_vec();
    listing.extend(git2::Oid::from_str(&src).unwrap().as_bytes());
    let tree = git2::Oid::hash_object(git2::ObjectType::Tree, &listing).unwrap();
    let commit = format!("tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nFix the sum\n");
    let sha = git2::Oid::hash_object(git2::ObjectType::Commit, commit.as_bytes()).unwrap();
    let mut stream =
        format!("{sha}\n{sha} commit {}\n{commit}\n{tree} tree {}\n", commit.len(), listing.len())
            .into_bytes();
    stream.extend(&listing);
    stream.push(b'\n');
    let ImportOutcome::Refused(feedback) = house.import_bytes(&stream) else { panic!("came through") };
    assert!(
        feedback.issues.iter().any(|finding| finding.description.contains("not what its mode says")),
        "{feedback:?}"
    );

    // Exports that name the base, a blob, or nothing at all.
    for text in [format!("{base}\n"), format!("{base}\n{base} blob 1\nx\n"), String::new(), "none: ".into()] {
        let outcome = house.import_bytes(text.as_bytes());
        assert!(matches!(outcome, ImportOutcome::NothingPushed { .. }), "{text}: {outcome:?}");
    }
    let mut bits = vec![0_u8; 4_096];
    bits[..41].copy_from_slice(format!("{base}\n").as_bytes());
    assert!(matches!(house.import_bytes(&bits), ImportOutcome::NothingPushed { .. }));
}

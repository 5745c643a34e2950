//! Git LFS: everyone who works on a repository, tests above all, has the content; published commits have pointers.

use sha2::{Digest as _, Sha256};

use crate::world::{REPOSITORY, Story};

const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

/// The expected answer, with bytes that are not text.
fn key() -> Vec<u8> {
    let mut key = b"42\n".to_vec();
    key.extend((0..200_000_u32).map(|at| (at % 251) as u8));
    key
}

fn pointer_to(bytes: &[u8]) -> String {
    let id = hex::encode(Sha256::digest(bytes));
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len())
}

/// Tests that read the file.
fn test() -> String {
    let id = hex::encode(Sha256::digest(key()));
    format!(
        r#"echo 1..2
failed=0
[ "$(sha256sum < key.bin)" = '{id}  -' ] && echo 'ok 1 - the key is whole' || {{ echo 'not ok 1 - the key is whole'; failed=1; }}
[ "$(cat answer)" = "$(head -n 1 key.bin)" ] && echo 'ok 2 - the answer is right' || {{ echo 'not ok 2 - the answer is right'; failed=1; }}
exit $failed
"#
    )
}

fn story(scenes: &str) -> Story {
    Story::of(scenes)
        .file(".gitattributes", ATTRIBUTES)
        .file("key.bin", &pointer_to(&key()))
        .file("test.sh", &test())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_changes_a_file_of_git_lfs_is_told_and_nothing_of_that_is_published() {
    let scenes = r#"
- stage: implement
  round: 1
  run: |
    echo 41 > key.bin
    git add -A; git commit -q -m 'Make the key fit' && git push -q origin HEAD
- stage: implement
  run: |
    cat
    git checkout -q origin/main -- key.bin; head -n 1 key.bin > answer
    git add -A; git commit -q -m 'Give the right answer' && git push -q origin HEAD
"#;
    let world = story(scenes).begin().await;
    let pointer = world.github.put_large_file(REPOSITORY, &key()).expect("the repository is there");
    world.label().await;
    let ended = world.settled_as("verified").await;

    let told = ended.said("implement/2/agent");
    assert!(told.contains("`key.bin`") && told.contains("new content would be on no server"), "{told}");
    let head = world.pull().head;
    assert_eq!(world.git(&["log", "--format=%s", &format!("main..{head}"), "--", "key.bin"]), "");
    assert_eq!(world.git(&["show", &format!("{head}:key.bin")]), pointer.trim());
    world.end().await;
}

//! The change as text: complete if it is small, and never more than the limit.

use journeyman::order::CommitSha;
use journeyman::workspace::{ImportOutcome, NewCommit};

use super::House;

impl House {
    /// Makes our commit of what the agent pushed.
    pub(super) async fn commit(&self, name: &str) -> CommitSha {
        let ImportOutcome::Imported { tree, .. } = self.import().await else { panic!("not imported") };
        let new = NewCommit {
            order: self.order,
            name,
            tree: &tree,
            parent: &self.base,
            merges: None,
            message: "The change",
            date: chrono::DateTime::UNIX_EPOCH,
        };
        self.workspaces.commit(&self.repository, new).unwrap()
    }

    async fn patch(&self, script: &str) -> String {
        self.agent(&format!("{script}\ngit add -A; git commit -qm 'The change'; git push -q")).await;
        let commit = self.commit("patch").await;
        self.workspaces.patch(&self.repository, &self.base, &commit).unwrap()
    }
}

#[tokio::test]
async fn a_small_change_is_told_whole() {
    let house = House::new().await;
    let patch = house
        .patch(
            "printf 'def add(a, b):\\n    return a + b\\n' > src/sum.py; git rm -q README.md; \
             printf '\\000\\001' > 'a b.bin'; printf 'caf\\351\\n' > ä.txt; chmod +x src/sum.py; ln -s src link",
        )
        .await;
    for told in [
        "--- a/src/sum.py\n+++ b/src/sum.py\n",
        "old mode 100644\nnew mode 100755\n",
        "-    return a - b\n+    return a + b\n",
        "deleted file mode 100644\n",
        "Binary files /dev/null and b/a b.bin differ\n",
        "+caf\u{fffd}\n",
        "new file mode 120000\n",
        "+src\n\\ No newline at end of file\n",
    ] {
        assert!(patch.contains(told), "{told:?} is not in:\n{patch}");
    }
    assert!(!patch.contains("left out"), "{patch}");
    let nothing = house.workspaces.patch(&house.repository, &house.base, &house.base).unwrap();
    assert_eq!(nothing, "");
}

#[tokio::test]
async fn a_long_change_is_cut_at_a_lines_end_and_says_what_is_missing() {
    let house = House::new().await;
    let patch = house
        .patch("for n in 1 2 3; do seq 5000 > b$n; done; for n in $(seq 300); do echo $n > c$n; done; echo a > a")
        .await;
    assert!((59_000..=60_000).contains(&patch.chars().count()), "{}", patch.chars().count());
    let lines: Vec<&str> = patch.lines().collect();
    let [.., before, last] = lines[..] else { panic!("{patch}") };
    let number: u32 = before.strip_prefix('+').unwrap().parse().unwrap();
    assert!(lines.contains(&&*format!("+{}", number - 1)), "{before} is a whole line");
    assert!(
        last.starts_with("[cut at 60000 characters; left out: the rest of b3 and 300 files: c1, c10, c100, ")
            && last.ends_with(" …]"),
        "{last}"
    );
    assert!(lines.contains(&"+++ b/a"), "the small file before is there");
}

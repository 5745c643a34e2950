//! A change to a repository, examined for its effects on tests. Each part is a file on one side: its first line is
//! `before PATH`, `after PATH` or `both PATH`, the rest its content.

use std::collections::BTreeMap;

use journeyman::verify::experiment::{TestTexts, lies_in};
use journeyman::verify::tamper::{graft, weakenings};
use journeyman::verify::{ChangedPath, changed_lines, mutants, parts_taken_back};

use super::parts;

pub const WORDS: &[&str] = &[
    "\n%%\nbefore tests/test_a.py\n",
    "\n%%\nafter tests/test_a.py\n",
    "\n%%\nboth src/lib.rs\n",
    "\n%%\nafter conftest.py\n",
    "\n%%\nafter package.json\n",
    "\n%%\nafter .github/workflows/ci.yml\n",
    "\n%%\nafter pyproject.toml\n",
    "\n%%\nafter build.rs\n",
    "\n%%\nafter a_test.go\n",
    "\n%%\nafter src/a.test.tsx\n",
    "\n%%\nafter src/test/java/ATest.java\n",
    "\n%%\nafter Makefile\n",
    "#[test]\n",
    "#[ignore]\n",
    "#[cfg(test)]\nmod tests {\n",
    "assert_eq!(",
    "assert ",
    "def test_a():\n",
    "class TestA:\n",
    "@pytest.mark.skip\n",
    "@pytest.mark.xfail\n",
    "it.skip('a', () => {\n",
    "it('a', () => {\n",
    "expect(a).toBe(1);\n",
    "})\n",
    "func TestA(t *testing.T) {\n",
    "t.Skip()\n",
    "t.Errorf(\"",
    "@Test void a() {\n",
    "@Disabled\n",
    "assertEquals(1, 2);\n",
    "os._exit(0)\n",
    "sys.exit(0)\n",
    "process.exit(0)\n",
    "return\n",
    "if False:\n    ",
    "|| true",
    "or True",
    "((((((((((((((((",
    "[[[[[[[[[[[[[[[[",
    "{{{{{{{{{{{{{{{{",
    "`${`${`${",
    "'''",
    "\"\"\"",
    "/*",
    "*/",
    "r#\"",
    "\"test\": \"true\"",
    "\\\n",
];

type Side<'a> = BTreeMap<&'a str, &'a [u8]>;

/// Reads the input as a change, and once more as a change without differences.
pub fn changes(bytes: &[u8]) {
    let (mut before, mut after) = (Side::new(), Side::new());
    for part in parts(bytes).into_iter().take(12) {
        let end = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        let (head, content) = part.split_at(end);
        let content = content.get(1..).unwrap_or_default();
        let Some((side, path)) = std::str::from_utf8(head).ok().and_then(|head| head.split_once(' ')) else {
            continue;
        };
        match side {
            "before" => drop(before.insert(path, content)),
            "after" => drop(after.insert(path, content)),
            _ => {
                before.insert(path, content);
                after.insert(path, content);
            }
        }
        let lies = lies_in(path, content);
        assert!(lies.iter().all(|lie| lie.line >= 1 && lie.at.end <= content.len() && lie.was != lie.now));
        let file = [(path.to_owned(), content.to_vec())];
        let texts = TestTexts { files: &file };
        for lie in lies.iter().take(5) {
            assert_eq!(texts.overlays_of(&[lie]).len(), 1, "{lie:?}");
        }
        for mutant in mutants(path, content, &changed_lines(None, content), 5).into_iter().flatten() {
            assert_ne!(mutant.apply(content), content);
        }
        if let (Some(old), Some(new)) = (before.get(path), after.get(path)) {
            if let Ok(Some(grafted)) = graft(path, old, new) {
                assert!(grafted.len() <= old.len() + new.len() + 1_000);
            }
            for part in parts_taken_back(path, Some(*old), new, 5) {
                assert_ne!(part.apply(new), *new);
            }
        }
    }
    let files = together(&before, &after);
    let found = weakenings(&files);
    assert_eq!(found, weakenings(&files), "the same change has other findings");
    assert!(found.len() <= 200);
    assert!(found.is_sorted_by_key(|one| !one.severe), "the grave ones come first");
    for one in &found {
        let known = before.contains_key(one.path.as_str()) || after.contains_key(one.path.as_str());
        assert!(known && one.line.is_none_or(|line| line >= 1), "{one:?}");
        assert!(one.what.chars().count() <= 2_000, "{}", one.what.chars().count());
    }
    let still = together(&after, &after);
    assert_eq!(weakenings(&still), [], "nothing was changed");
}

fn together<'a>(before: &Side<'a>, after: &Side<'a>) -> Vec<ChangedPath<'a>> {
    let mut paths: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
    paths.sort_unstable();
    paths.dedup();
    paths
        .into_iter()
        .map(|path| ChangedPath { path, before: before.get(path).copied(), after: after.get(path).copied() })
        .collect()
}

//! Expectations in tests are found in every language.

use super::*;

#[test]
fn what_tests_expect_is_found_in_every_language() {
    let rust = "fn add(a: i32) -> bool { add(7) == 8 }\n#[cfg(test)]\nmod tests {\n#[test]\n fn adds() { assert_eq!(add(1), Some(-3)); \
        assert!(add(2) == 4, \"{}\", 1); assert!((mean(&[5]) - 1.5).abs() < 0.1); assert_ne!(add(6), 9); } }\n";
    let python = "class AddTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add('1'), 3)\n        self.assertNotEqual(add(6), 9)\n\
        def test_function():\n    assert add(2) == pytest.approx(4.5)\n    assert add(x) == 7\n";
    let javascript = "it('adds', async () => { assert.strictEqual(add('1'), 3); await expect(add(2)).resolves.toBe(4); expect(add(6)).not.toBe(9); });\n\
        test('t', (t) => { t.is(add(5), 6, 'said'); });\n";
    let go = "package sum\nfunc TestAdd(t *testing.T) {\n\tif Add(1) != 3 {\n\t\tt.Fatal()\n\t}\n\tassert.Equal(t, 4, Add(2))\n}\n";
    let java = "class SumTest {\n  @Test void adds() { assertEquals(3, Sum.add(1)); assertThat(Sum.of(2)).isEqualTo(4); } }\n";
    for (path, text, expected) in [
        ("src/lib.rs", rust, &["-3 for 1", "4 for 2", "1.5 for 5"][..]),
        ("tests/test_add.py", python, &["3 for \"1\"", "4.5 for 2"]),
        ("src/add.py", python, &[]),
        ("test/sum.test.js", javascript, &["3 for \"1\"", "4 for 2", "6 for 5"]),
        ("src/sum.js", javascript, &[]),
        ("sum_test.go", go, &["3 for 1", "4 for 2"]),
        ("src/test/java/SumTest.java", java, &["3 for 1", "4 for 2"]),
    ] {
        assert_eq!(expected_in(path, text), expected, "{path}");
    }
}

#[test]
fn paths_tell_tests_from_code() {
    for path in [
        "tests/a.rs", "test_x.py", "pkg/x_test.py", "tests/helpers.py", "conftest.py", "a/b.test.tsx",
        "a_test.go", "src/__snapshots__/a.snap", "src/test/java/FooTest.java", "src/parser/tests.rs",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in
        ["src/lib.rs", "contest.py", "latest.js", "src/main/java/Foo.java", "attest/x.go", "testimony.md"]
    {
        assert!(!is_test_path(path), "{path}");
    }
}

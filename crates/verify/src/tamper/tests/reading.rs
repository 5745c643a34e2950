//! Tests are found in every language, with what they assert.

use super::*;

#[test]
fn rust_tests_are_found_by_their_attributes() {
    let source = "fn add(a: i32, b: i32) -> i32 { a + b }\n\
        #[cfg(test)]\nmod tests {\n    use super::*;\n\
        #[test]\n fn adds() { assert_eq!(add(1, 2), 3); assert!(add(1, 1) > 1, \"{}\", 1); }\n\
        /// Said.\n #[tokio::test]\n async fn waits() { assert!(true); }\n\
        fn helper() {}\n mod deep { #[test] fn down() { let x = 1; assert_ne!(x, 2) } } }\n";
    assert_eq!(tests_in("src/lib.rs", source.as_bytes()), [2, 0, 1]);
    assert_eq!(tests_in("tests/whole.rs", b"#[test]\nfn it_works() { assert_eq!(1, x()); }"), [1]);
}

#[test]
fn python_tests_are_found_by_name_and_class() {
    let source = "import unittest, pytest\n\
        class AddTest(unittest.TestCase):\n    def setUp(self): pass\n\
        \x20   def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n        self.assertTrue(True)\n\
        class Deeper(AddTest):\n    def test_more(self): assert add(2, 2) == 4\n\
        class TestPlain:\n    async def test_plain(self): assert x in y\n\
        class Other:\n    def test_not_collected(self): assert 0\n\
        def test_function():\n    with pytest.raises(ValueError):\n        add('1', 2)\n\
        \x20   def test_inner(): assert 1 == add(0, 1)\n";
    assert_eq!(tests_in("tests/test_add.py", source.as_bytes()), [1, 1, 1, 2]);
    assert_eq!(tests_in("tests/helpers.py", source.as_bytes()), [0; 0]);
    let again = "def test_a(): assert f(1) == 2\ndef test_a(): pass\n";
    assert_eq!(tests_in("test_a.py", again.as_bytes()), [0], "the later one is run");
}

#[test]
fn javascript_tests_are_found_in_their_groups() {
    let source = "describe('sum', () => {\n  it('adds', () => { assert.strictEqual(add(1, 2), 3); });\n\
        describe('of many', function () { test(`big ${x}`, async () => { await expect(f(1)).resolves.toBe(2); expect(g).not.toThrow(); }); });\n});\n\
        test.each([[1, 2], [3, 4]])('doubles %i', (a, b) => { expect(double(a)).toEqual(b); });\n\
        test('outer', async (t) => { await t.test('inner', () => { assert.ok(run()); }); });\n";
    for path in ["test/sum.test.js", "src/sum.spec.ts", "src/__tests__/sum.tsx"] {
        assert_eq!(tests_in(path, source.as_bytes()), [1, 2, 1, 1, 1], "{path}");
    }
    assert_eq!(tests_in("src/sum.js", source.as_bytes()), [0; 0]);
}

#[test]
fn go_and_java_tests_are_found() {
    let go = "package sum\nimport \"testing\"\n\
        func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"%d\", got)\n\t\tt.Fatal()\n\t}\n\tassert.Equal(t, 4, Add(2, 2))\n}\n\
        func testHelper(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\nfunc Testify(t *testing.T) {}\n";
    assert_eq!(tests_in("sum/sum_test.go", go.as_bytes()), [2]);
    assert_eq!(tests_in("sum/sum.go", go.as_bytes()), [0; 0]);
    let java = "package org.example;\nclass SumTest {\n  @Test void adds() { assertEquals(3, Sum.add(1, 2)); }\n\
        @ParameterizedTest @ValueSource(ints = {1}) void each(int i) { assertThat(Sum.of(i)).isEqualTo(1); }\n  void helper() {} }\n";
    assert_eq!(tests_in("src/test/java/org/example/SumTest.java", java.as_bytes()), [1, 1]);
}

#[test]
fn paths_tell_tests_from_code() {
    for path in [
        "tests/a.rs",
        "test_x.py",
        "pkg/x_test.py",
        "tests/helpers.py",
        "conftest.py",
        "a/b.test.tsx",
        "a_test.go",
        "src/__snapshots__/a.snap",
        "src/test/java/FooTest.java",
        "src/parser/tests.rs",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in
        ["src/lib.rs", "contest.py", "latest.js", "src/main/java/Foo.java", "attest/x.go", "testimony.md"]
    {
        assert!(!is_test_path(path), "{path}");
    }
}

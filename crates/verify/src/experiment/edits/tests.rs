//! What counts as an edited test, in each language.

use super::*;

const PYTHON: &str = "import shop\n\n\n@pytest.fixture\ndef box():\n    return shop.Box(1)\n\n\ndef test_a(box):\n    assert box.a('x') == 1\n\n\n\
    @pytest.mark.parametrize(\n    'n',\n    [\n        1,\n    ],\n)\ndef test_b(n):\n    for one in range(n):\n        assert shop.b(one)\n        assert shop.c(one)\n";
const JAVASCRIPT: &str = "const shop = require('../shop');\n\ndescribe('outer', () => {\n  beforeEach(() => shop.open(1));\n\n  it('one', () => {\n    \
    expect(shop.a(1)).toBe(1);\n  });\n\n  describe('inner', () => {\n    it('two', () => {\n      expect(shop.a(2)).toBe(2);\n    });\n  });\n\n  \
    it.each([[1, 1]])('adds %i', (n, sum) => {\n    expect(shop.b(n)).toBe(sum);\n  });\n});\n";
const RUST: &str = "use shop::*;\n\nfn open() -> Shop {\n    Shop::of(1)\n}\n\n#[test]\nfn a() {\n    assert_eq!(open().a(1), 1);\n}\n\n\
    #[rstest]\n#[case(1)]\nfn b(#[case] n: u8) {\n    assert!(open().b(n));\n}\n\nproptest! {\n    #[test]\n    fn c(n in 0..9) {\n        assert!(open().c(n));\n    }\n}\n";
const GO: &str = "package shop\n\nimport \"testing\"\n\nfunc open() Shop {\n\treturn Shop{1}\n}\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"one two\", \
    func(t *testing.T) {\n\t\tif open().A(1) != 1 {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n}\n\nfunc TestB(t *testing.T) {\n\tfor _, c := range []row{\n\t\t{1, 1},\n\t} {\n\t\t\
    t.Run(c.name, func(t *testing.T) { is(t, B(c.n), c.sum) })\n\t}\n}\n\nfunc ExampleC() {\n\tC()\n\t// Output: 1\n}\n";
const JAVA: &str = "class ShopTest {\n    Shop open() {\n        return new Shop(1);\n    }\n\n    @Test\n    void adds() {\n        assertEquals(3, open().add(1));\n    }\n\n    \
    @ParameterizedTest\n    @ValueSource(ints = {1, 2})\n    void takes(int n) {\n        assertTrue(open().takes(n));\n    }\n}\n";
const TYPESCRIPT: &str = "import { a } from './shop';\n\ntest('one', (): void => {\n  const is: number = a(1);\n  expect(is).toBe(1);\n});\n";
const C: &str = "#include \"shop.h\"\n\nstatic int open_shop(void) {\n    return 1;\n}\n\nTEST(Shop, Adds) {\n    EXPECT_EQ(add(1), 2);\n}\n\nTEST(Shop, Takes) {\n    \
    EXPECT_EQ(take(2), 1);\n}\n";
const RUBY: &str = "require 'shop'\n\ndescribe Shop do\n  let(:shop) { Shop.new(1) }\n\n  it 'adds' do\n    expect(shop.add(1)).to eq 2\n  end\n  it 'takes' do\n    [1].each do |n|\n      \
    expect(shop.take(n)).to eq 0\n    end\n  end\nend\n";
const PHP: &str = "<?php\nfinal class ShopTest extends TestCase\n{\n    private function open(): Shop\n    {\n        return new Shop(1);\n    }\n\n    public function testAdds(): void\n    {\n        \
    $this->assertSame(2, $this->open()->add(1));\n    }\n\n    /** @test */\n    public function takes(): void\n    {\n        $this->assertSame(1, $this->open()->take(2));\n    }\n}\n";
const CSHARP: &str = "public class ShopTests\n{\n    private Shop Open()\n    {\n        return new Shop(1);\n    }\n\n    [Fact]\n    public void Adds()\n    {\n        \
    Assert.Equal(2, Open().Add(1));\n    }\n\n    [Theory]\n    [InlineData(1)]\n    public async Task Takes(int n)\n    {\n        Assert.Equal(1, await Open().Take(n));\n    }\n}\n";
const KOTLIN: &str = "class ShopTest {\n    private fun open() = Shop(1)\n\n    @Test\n    fun `adds one`() {\n        assertEquals(2, open().add(1))\n    }\n\n    @Test\n    fun takes() {\n        \
    assertEquals(1, open().take(2))\n    }\n}\n";
const ELIXIR: &str = "defmodule ShopTest do\n  use ExUnit.Case\n\n  defp open, do: Shop.new(1)\n\n  test \"adds\" do\n    assert Shop.add(open(), 1) == 2\n  end\n\n  test \"takes\", %{shop: shop} do\n    \
    assert Shop.take(shop, 2) == 1\n  end\nend\n";

fn edited(files: &[(&str, Option<&str>, Option<&str>)]) -> Vec<EditedTest> {
    let changed: Vec<ChangedPath<'_>> = files
        .iter()
        .map(|(path, before, after)| ChangedPath {
            path,
            before: before.map(str::as_bytes),
            after: after.map(str::as_bytes),
        })
        .collect();
    let paths: Vec<String> = files.iter().map(|(path, ..)| (*path).to_owned()).collect();
    edited_tests(&changed, &paths)
}

/// What is said of the tests of a file: each title with its old and new lines. In brackets what is under it no more.
fn told_of(path: &str, before: &str, after: &str) -> Vec<String> {
    let all = edited(&[(path, Some(before), Some(after))]).into_iter();
    let told = |test: EditedTest| {
        let title = if test.is_edited { test.title } else { format!("[{}]", test.title) };
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned()).replace('\n', " / ");
        format!("{title}: {} => {}", text(test.old), text(test.new))
    };
    // Helpers and imports, of which runs show whether they matter.
    all.filter(|test| test.is_edited || test.title != path).map(told).collect()
}

/// The same for one replacement in a file.
fn told(path: &str, text: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(text.matches(from).count(), 1, "{path}: {from}");
    told_of(path, text, &text.replace(from, to))
}

#[test]
fn new_neighbours_helpers_comments_and_layout_edit_no_test() {
    for (path, text, from, to) in [
        ("tests/test_a.py", PYTHON, "import shop\n", "import os\nimport shop\n"),
        ("tests/test_a.py", PYTHON, "Box(1)", "Box(2)"),
        ("tests/test_a.py", PYTHON, "def test_a", "def test_new():\n    assert 2\n\n\ndef test_a"),
        ("tests/test_a.py", PYTHON, "@pytest.mark", "def test_new():\n    assert 2\n\n\n@pytest.mark"),
        ("tests/test_a.py", PYTHON, "shop.c(one)\n", "shop.c(one)\n\n\ndef test_new():\n    assert 2\n"),
        ("tests/test_a.py", PYTHON, "    assert box", "    \"\"\"One.\"\"\"\n    # Why.\n    assert box"),
        (
            "tests/test_a.py",
            PYTHON,
            "box.a('x') == 1",
            "(\n        box.a(\n            \"x\",\n        )  # so\n        == 1\n    )",
        ),
        ("test/a.test.js", JAVASCRIPT, "shop.open(1)", "shop.open(2)"),
        (
            "test/a.test.js",
            JAVASCRIPT,
            "  it('one'",
            "  it('new', () => {\n    expect(2).toBe(2);\n  });\n\n  it('one'",
        ),
        ("test/a.test.js", JAVASCRIPT, "    it('two'", "    it('new', () => {});\n\n    it('two'"),
        (
            "test/a.test.js",
            JAVASCRIPT,
            "      expect(shop.a(2)).toBe(2);",
            "    // Why.\n    expect(shop.a(2))\n      .toBe(2) /* so */",
        ),
        ("test/a.test.js", JAVASCRIPT, "'inner'", "'within'"),
        ("a.test.ts", TYPESCRIPT, "  const is", "  // Why.\n  const is"),
        ("a.test.ts", TYPESCRIPT, "test('one'", "test('new', () => {});\n\ntest('one'"),
        ("tests/a.rs", RUST, "Shop::of(1)", "Shop::of(2)"),
        (
            "tests/a.rs",
            RUST,
            "#[test]\nfn a",
            "#[test]\nfn new() {\n    assert!(true);\n}\n\n/// Why.\n#[test]\nfn a",
        ),
        ("tests/a.rs", RUST, "#[rstest]", "#[test]\nfn new() {}\n\n#[rstest]"),
        (
            "tests/a.rs",
            RUST,
            "    #[test]\n    fn c",
            "    #[test]\n    fn new(n in 0..2) {\n        assert!(n < 3);\n    }\n\n    #[test]\n    fn c",
        ),
        (
            "tests/a.rs",
            RUST,
            "assert_eq!(open().a(1), 1)",
            "// Why.\n    assert_eq!(\n        open().a(1),\n        1,\n    )",
        ),
        ("a_test.go", GO, "Shop{1}", "Shop{2}"),
        ("a_test.go", GO, "func TestB", "func TestNew(t *testing.T) {\n\tt.Log()\n}\n\n// Why.\nfunc TestB"),
        (
            "a_test.go",
            GO,
            "\tt.Run(\"one two\"",
            "\tt.Run(\"new\", func(t *testing.T) {\n\t\tt.Log()\n\t})\n\tt.Run(\"one two\"",
        ),
        ("src/test/java/ShopTest.java", JAVA, "new Shop(1)", "new Shop(2)"),
        (
            "src/test/java/ShopTest.java",
            JAVA,
            "    @Test\n",
            "    @Test\n    void added() {\n        assertTrue(true);\n    }\n\n    /** Why. */\n    @Test\n",
        ),
        (
            "src/test/java/ShopTest.java",
            JAVA,
            "    @ParameterizedTest",
            "    @Test void added() {}\n\n    @ParameterizedTest",
        ),
        ("test/a_test.cc", C, "return 1", "return 2"),
        (
            "test/a_test.cc",
            C,
            "TEST(Shop, Takes)",
            "TEST(Shop, New) {\n    EXPECT_EQ(1, 1);\n}\n\nTEST(Shop, Takes)",
        ),
        ("test/a_test.cc", C, "    EXPECT_EQ(add", "    // Why.\n    /* So. */\n    EXPECT_EQ(add"),
        ("spec/a_spec.rb", RUBY, "Shop.new(1)", "Shop.new(2)"),
        (
            "spec/a_spec.rb",
            RUBY,
            "  it 'takes'",
            "  it 'is new' do\n    expect(1).to eq 1\n  end\n  it 'takes'",
        ),
        ("spec/a_spec.rb", RUBY, "    expect(shop.add", "    # Why.\n      expect(shop.add"),
        ("tests/ShopTest.php", PHP, "new Shop(1)", "new Shop(2)"),
        (
            "tests/ShopTest.php",
            PHP,
            "    /** @test */",
            "    public function testNew(): void\n    {\n        $this->assertTrue(true);\n    }\n\n    /** @test */",
        ),
        ("tests/ShopTests.cs", CSHARP, "new Shop(1)", "new Shop(2)"),
        (
            "tests/ShopTests.cs",
            CSHARP,
            "    [Theory]",
            "    [Fact]\n    public void New()\n    {\n        Assert.True(true);\n    }\n\n    [Theory]",
        ),
        ("src/test/kotlin/ShopTest.kt", KOTLIN, "= Shop(1)", "= Shop(2)"),
        (
            "src/test/kotlin/ShopTest.kt",
            KOTLIN,
            "    @Test\n    fun takes",
            "    @Test\n    fun new() {\n        assertTrue(true)\n    }\n\n    @Test\n    fun takes",
        ),
        ("test/shop_test.exs", ELIXIR, "Shop.new(1)", "Shop.new(2)"),
        (
            "test/shop_test.exs",
            ELIXIR,
            "  test \"takes\"",
            "  test \"new\" do\n    assert true\n  end\n\n  # Why.\n  test \"takes\"",
        ),
    ] {
        assert_eq!(told(path, text, from, to), [""; 0], "{path}: {to}");
    }
}

#[test]
fn whatever_a_test_does_differently_is_told_with_its_own_lines() {
    for (path, text, from, to, expected) in [
        (
            "tests/test_a.py",
            PYTHON,
            "== 1",
            "== 2",
            "test_a: assert box.a('x') == 1 => assert box.a('x') == 2",
        ),
        (
            "tests/test_a.py",
            PYTHON,
            "def test_a",
            "@pytest.mark.skip\ndef test_a",
            "test_a: - => @pytest.mark.skip",
        ),
        ("tests/test_a.py", PYTHON, "(box):\n", "(box):\n    return\n", "test_a: - => return"),
        ("tests/test_a.py", PYTHON, "        1,\n", "        1,\n        2,\n", "test_b: - => 2"),
        (
            "tests/test_a.py",
            PYTHON,
            "    assert shop.c(one)",
            "assert shop.c(one)",
            "test_b: assert shop.c(one) => assert shop.c(one)",
        ),
        (
            "test/a.test.js",
            JAVASCRIPT,
            "it('one'",
            "it.skip('one'",
            "one: it('one', () => { => it.skip('one', () => {",
        ),
        (
            "test/a.test.js",
            JAVASCRIPT,
            "toBe(2)",
            "toBe(3)",
            "two: expect(shop.a(2)).toBe(2); => expect(shop.a(2)).toBe(3);",
        ),
        (
            "test/a.test.js",
            JAVASCRIPT,
            "[[1, 1]]",
            "[[1, 1], [2, 2]]",
            "adds %i: it.each([[1, 1]])('adds %i', (n, sum) => { => it.each([[1, 1], [2, 2]])('adds %i', (n, sum) => {",
        ),
        (
            "a.test.ts",
            TYPESCRIPT,
            "toBe(1)",
            "toBeDefined()",
            "one: expect(is).toBe(1); => expect(is).toBeDefined();",
        ),
        ("tests/a.rs", RUST, "#[test]\nfn a", "#[test]\n#[ignore]\nfn a", "a: - => #[ignore]"),
        ("tests/a.rs", RUST, "#[case(1)]\n", "#[case(1)]\n#[case(2)]\n", "b: - => #[case(2)]"),
        ("tests/a.rs", RUST, "0..9", "0..2", "c: fn c(n in 0..9) { => fn c(n in 0..2) {"),
        (
            "a_test.go",
            GO,
            "A(1) != 1",
            "A(1) != 2",
            "one_two: if open().A(1) != 1 { => if open().A(1) != 2 {",
        ),
        ("a_test.go", GO, "\t\t{1, 1},\n", "\t\t{1, 1},\n\t\t{2, 2},\n", "TestB: - => {2, 2}"),
        ("a_test.go", GO, "Output: 1", "Output: 2", "ExampleC: // Output: 1 => // Output: 2"),
        (
            "src/test/java/ShopTest.java", JAVA, "    void adds", "    @Disabled\n    void adds",
            "adds: - => @Disabled",
        ),
        (
            "src/test/java/ShopTest.java",
            JAVA,
            "{1, 2}",
            "{1}",
            "takes: @ValueSource(ints = {1, 2}) => @ValueSource(ints = {1})",
        ),
        (
            "test/a_test.cc",
            C,
            "add(1), 2",
            "add(1), 3",
            "Adds: EXPECT_EQ(add(1), 2); => EXPECT_EQ(add(1), 3);",
        ),
        (
            "spec/a_spec.rb",
            RUBY,
            "eq 2",
            "be > 0",
            "adds: expect(shop.add(1)).to eq 2 => expect(shop.add(1)).to be > 0",
        ),
        ("spec/a_spec.rb", RUBY, "    [1].each", "    skip\n    [1].each", "takes: - => skip"),
        (
            "tests/ShopTest.php",
            PHP,
            "assertSame(1,",
            "assertNotNull(",
            "takes: $this->assertSame(1, $this->open()->take(2)); => $this->assertNotNull( $this->open()->take(2));",
        ),
        (
            "tests/ShopTests.cs",
            CSHARP,
            "[Fact]",
            "[Fact(Skip = \"slow\")]",
            "Adds: [Fact] => [Fact(Skip = \"slow\")]",
        ),
        (
            "tests/ShopTests.cs",
            CSHARP,
            "    [InlineData(1)]\n",
            "    [InlineData(1)]\n    [InlineData(2)]\n",
            "Takes: - => [InlineData(2)]",
        ),
        (
            "src/test/kotlin/ShopTest.kt",
            KOTLIN,
            "assertEquals(2, open().add(1))",
            "open().add(1)",
            "adds one: assertEquals(2, open().add(1)) => open().add(1)",
        ),
        (
            "test/shop_test.exs",
            ELIXIR,
            "== 1\n",
            ">= 1\n",
            "takes: assert Shop.take(shop, 2) == 1 => assert Shop.take(shop, 2) >= 1",
        ),
    ] {
        assert_eq!(told(path, text, from, to), [expected], "{path}: {to}");
    }
}

#[test]
fn a_test_that_moves_into_a_group_or_a_file_is_the_same_test() {
    let two = "def test_a():\n    assert a() == 1\n\n\ndef test_b():\n    assert b() == 2\n";
    let [one, other] = ["def test_a():\n    assert a() == 1\n", "def test_b():\n    assert b() == 2\n"];
    assert_eq!(told_of("tests/test_a.py", two, &format!("{other}\n\n{one}")), [""; 0]);
    let class = "class TestBoth:\n    def test_a(self):\n        assert a() == 1\n\n    def test_b(self):\n        assert b() == 2\n";
    assert_eq!(told_of("tests/test_a.py", two, class), [""; 0]);
    let edited_too = class.replace("== 2", "== 3");
    assert_eq!(told_of("tests/test_a.py", two, &edited_too), ["test_b: assert b() == 2 => assert b() == 3"]);
    let alone = "it('one', () => {\n  expect(a(1)).toBe(1);\n});\n";
    let within = "describe('group', () => {\n  it('one', () => {\n    expect(a(1)).toBe(1);\n  });\n});\n";
    assert_eq!(told_of("a.test.js", alone, within), [""; 0]);
    let alone = "#[test]\nfn one() {\n    assert_eq!(a(1), 1);\n}\n";
    let within = "mod tests {\n    use super::*;\n\n    #[test]\n    fn one() {\n        assert_eq!(a(1), 1);\n    }\n}\n";
    assert_eq!(told_of("tests/a.rs", alone, within), [""; 0]);
    let files = [("tests/test_a.py", Some(two), Some(one)), ("tests/test_b.py", None, Some(other))];
    assert_eq!(edited(&files), [], "to a new file");
    let files = [
        ("tests/test_a.py", Some(two), Some(one)),
        ("tests/test_b.py", None, Some("def test_b():\n    pass\n")),
    ];
    let titles: Vec<_> = edited(&files).into_iter().map(|test| (test.title, test.is_edited)).collect();
    assert_eq!(titles, [("test_b".to_owned(), false)], "another test of that name");
}

#[test]
fn a_new_name_and_a_removal_are_told_as_such() {
    let two = "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 1\n";
    let renamed = two.replace("test_b", "test_c");
    assert_eq!(told_of("tests/test_a.py", two, &renamed), ["[test_b]: def test_b(): => def test_c():"]);
    let one = two.split("\n\n\n").next().unwrap();
    assert_eq!(told_of("tests/test_a.py", two, one), ["[test_b]: assert f() == 1 => -"]);
    assert_eq!(
        told("test/a.test.js", JAVASCRIPT, "'one'", "'first'"),
        ["[one]: it('one', () => { => it('first', () => {"]
    );
    // The later one of a name is the one that runs.
    let shadowed = format!("{two}\n\ndef test_a():\n    pass\n");
    assert_eq!(told_of("tests/test_a.py", two, &shadowed), ["test_a: assert f() == 1 => pass"]);
}

#[test]
fn a_helper_is_no_test_and_a_program_that_checks_is_one() {
    let assertion = "assert.equal(add(1), 2)\n";
    for (path, text, is_told) in [
        ("test/helpers.js", "exports.check = (n) => assert.equal(n, 1)\n", false),
        ("test/helpers.js", "export function check(n) { assert.equal(n, 1) }\n", false),
        ("test/setup.js", "global.size = 1\n", false),
        ("test/add.js", assertion, true),
        ("test/sizes.json", "{\"a\": 1}\n", false),
        ("tests/conftest.py", "SIZE = 1\n", false),
        ("tests/common.py", "def check(n):\n    assert n == 1\n", false),
        ("tests/run.py", "assert add(1) == 2\n", true),
        ("test/add.c", "int main(void) {\n    assert(add(1) == 2);\n    return 0;\n}\n", true),
        ("test/common.c", "void check(int n) {\n    assert(n == 1);\n}\n", false),
        ("tests/common/mod.rs", "pub fn check(n: u8) {\n    assert_eq!(n, 1);\n}\n", false),
        ("spec/spec_helper.rb", "SIZE = 1\n", false),
        ("tests/run.sh", "test \"$(add 1)\" = 2\n", true),
    ] {
        let edited_text = text.replace('1', "7");
        let told = told_of(path, text, &edited_text);
        assert_eq!(!told.is_empty(), is_told, "{path}: {told:?}");
        let more = format!("{text}{text}");
        assert_eq!(told_of(path, text, &more), [""; 0], "{path}: only more of it");
    }
    let script = edited(&[("test/add.js", Some(assertion), Some("assert.equal(add(1), 3)\n"))]);
    let changed = script[0].as_changed(TestChange::EditedUnseen);
    assert_eq!(
        (changed.test.as_str(), changed.old.as_deref()),
        ("test/add.js", Some("assert.equal(add(1), 2)"))
    );
    // The lines of code beside tests are no lines of tests.
    let code = "fn f() -> u8 {\n    1\n}\n\n#[test]\nfn a() {\n    assert_eq!(f(), 1);\n}\n";
    assert_eq!(edited(&[("src/lib.rs", Some(code), Some(&code.replace("    1\n", "    2\n")))]), []);
}

#[test]
fn the_main_of_a_program_is_edited_only_by_more_than_runs_of_new_and_removed_tests() {
    let test = |name: &str| {
        format!("static void {name}(void)\n{{\n    TEST_ASSERT_EQUAL_INT(1, {name}_of());\n}}\n\n")
    };
    let program = |tests: &[&str], main: &str| {
        let tests: String = tests.iter().map(|name| test(name)).collect();
        format!("{tests}int main(void)\n{{\n    UNITY_BEGIN();\n{main}    return UNITY_END();\n}}\n")
    };
    let runs =
        |names: &[&str]| names.iter().map(|name| format!("    RUN_TEST({name});\n")).collect::<String>();
    let two = program(&["adds", "takes"], &runs(&["adds", "takes"]));
    let told = |after: &str| {
        let titles = edited(&[("tests/misc_tests.c", Some(two.as_str()), Some(after))]).into_iter();
        titles.map(|test| test.title).collect::<Vec<_>>()
    };
    let more = program(&["adds", "takes", "gives"], &runs(&["adds", "takes", "gives"]));
    assert_eq!(told(&more), [""; 0]);
    assert_eq!(told(&program(&["adds"], &runs(&["adds"]))), ["takes"], "which is removed");
    assert_eq!(told(&program(&["adds", "takes"], &runs(&["adds"]))), ["main"], "it is no longer run");
    let ends = format!("    exit(0);\n{}", runs(&["adds", "takes"]));
    assert_eq!(told(&program(&["adds", "takes"], &ends)), ["main"]);
    let ends = format!("    return UNITY_END();\n{}", runs(&["adds", "takes", "gives"]));
    assert_eq!(told(&program(&["adds", "takes", "gives"], &ends)), ["main"]);
}

#[test]
fn an_edited_table_has_the_names_of_its_rows() {
    let edited = edited(&[(
        "test/a.test.js",
        Some(JAVASCRIPT),
        Some(&JAVASCRIPT.replace("toBe(sum)", "toBeDefined()")),
    )]);
    let is_meant = |name: &str| edited.iter().any(|edited| edited.is(name));
    assert!(is_meant("test/a.test.js > outer > adds 1") && is_meant("outer adds 12"));
    assert!(!is_meant("outer > one") && !is_meant("outer > subtracts 1"));
}

#[test]
fn a_file_that_is_too_deep_to_parse_is_compared_by_its_lines() {
    let deep = format!("BIG = {}1{}\n", "(".repeat(3_000), ")".repeat(3_000));
    let before = format!("{deep}def test_a():\n    assert a() == 1\n\ndef test_b():\n    assert b() == 2\n");
    let after =
        before.replace("== 1", "== 3").replace("def test_b", "def test_new():\n    pass\n\ndef test_b");
    assert_eq!(told_of("tests/test_a.py", &before, &after), ["test_a: assert a() == 1 => assert a() == 3"]);
}

#[test]
fn tests_of_the_same_name_are_compared_in_order_and_end_in_time() {
    let test = |at: usize| format!("it('same', () => {{ is({at}); }});\n");
    let many = |of: std::ops::Range<usize>| of.map(test).collect::<String>();
    assert_eq!(told_of("a.test.js", &many(0..3), &(test(9) + &many(0..3))), [""; 0]);
    assert_eq!(
        edited(&[("a.test.js", Some(&many(0..1_100)), Some(&many(2_000..3_100)))]).len(),
        MOST_LOOKED_AT
    );
}

#[test]
fn a_test_of_another_class_that_is_called_alike_is_not_edited() {
    let before = "class Two:\n    def test_negative(self):\n        assert two() == 2\n";
    let after = format!("class One:\n    def test_negative(self):\n        assert one() == 1\n\n{before}");
    assert_eq!(edited(&[("tests/test_x.py", Some(before), Some(&after))]), []);
    let after = after.replace("== 2", "== 3");
    let edited = edited(&[("tests/test_x.py", Some(before), Some(&after))]);
    let is_meant = |name: &str| edited.iter().any(|edited| edited.is(name));
    assert!(is_meant("tests.test_x.Two.test_negative") && !is_meant("tests.test_x.One.test_negative"));
}

#[test]
fn an_edited_test_is_told_with_what_it_expected_and_expects() {
    let before = "def test_a():\n    assert a() == 1\n\ndef test_b():\n    assert b() == 2\n\ndef test_c():\n    assert c() == 3\n";
    let after =
        "def test_a():\n    assert a() == 10\n\ndef test_b():\n    assert b() == 2\n    assert b() == 2.0\n";
    let edited = edited(&[("tests/test_x.py", Some(before), Some(after))]);
    let told: Vec<_> = edited
        .iter()
        .map(|test| (test.title.as_str(), test.old.as_deref(), test.new.as_deref(), test.is_edited))
        .collect();
    assert_eq!(
        told,
        [
            ("test_a", Some("assert a() == 1"), Some("assert a() == 10"), true),
            ("test_b", None, Some("assert b() == 2.0"), true),
            ("test_c", Some("assert c() == 3"), None, false),
        ]
    );
    assert!(edited[2].is_removed() && !edited[0].is_removed());
    assert!(edited[0].is("tests.test_x.test_a") && !edited[0].is("tests.test_y.test_a"));
}

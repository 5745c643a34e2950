//! Stories of falsified expectations.

use super::*;

fn told(path: &str, text: &str) -> Vec<String> {
    let lies = lies_in(path, text.as_bytes());
    lies.iter()
        .map(|lie| format!("{}{} -> {}", if lie.is_sure { "" } else { "? " }, lie.was, lie.now))
        .collect()
}

#[test]
fn of_tests_that_are_called_alike_the_one_of_the_named_class_is_told_a_lie() {
    let text = "class OneTests(TestCase):\n    def test_negative(self):\n        self.assertEqual(one(-1), 11)\n\n\nclass TwoTests(TestCase):\n    def test_negative(self):\n        self.assertEqual(two(-1), 22)\n";
    let files = [("tests/test_more.py".to_owned(), text.as_bytes().to_vec())];
    let lies_of = |name: &str| {
        let told = TestTexts { files: &files }.of_tests(&[name.to_owned()], "");
        told[0].1.iter().map(|lie| lie.was.clone()).collect::<Vec<_>>()
    };
    assert_eq!(lies_of("tests.test_more.OneTests.test_negative"), ["11"]);
    assert_eq!(lies_of("tests.test_more.TwoTests.test_negative"), ["22"]);
    assert_eq!(lies_of("tests.test_more.Inherits.test_negative"), ["11", "22"], "it can be any of them");
}

#[test]
fn a_program_of_c_is_told_lies_in_its_own_file_and_not_in_a_function_that_is_called_like_it() {
    let others = "static void misc_tests(void)\n{\n    TEST_ASSERT_EQUAL_INT(22, two());\n}\n";
    let first = "static void one_should_be_one(void)\n{\n    TEST_ASSERT_EQUAL_INT(11, one());\n}\n";
    let second = "\nstatic void two_should_be_two(void)\n{\n    TEST_ASSERT_EQUAL_INT(33, three());\n}\n";
    let with = |own: &str| {
        let own = ("tests/misc_tests.c".to_owned(), own.as_bytes().to_vec());
        [own, ("tests/old_utils_tests.c".to_owned(), others.as_bytes().to_vec())]
    };
    let (before, after) = (with(first), with(&format!("{first}{second}")));
    let [base, new] = [&before, &after].map(|files| TestTexts { files });
    let names = ["misc_tests".to_owned()];
    assert_eq!(new.of_tests(&names, "")[0].1, [], "no test of it is named");
    assert_eq!(TestTexts { files: &after[1..] }.of_tests(&names, "")[0].1.len(), 1);
    let added = new.added_to_program("misc_tests", &base, "");
    let told: Vec<_> = added.iter().map(|lie| (lie.line, lie.was.as_str(), lie.test.as_deref())).collect();
    assert_eq!(told, [(8, "33", Some("misc_tests"))]);
    assert_eq!(base.added_to_program("misc_tests", &base, ""), []);
}

#[test]
fn an_expected_value_is_made_false_in_every_language() {
    for (path, text, lies) in [
        ("t.py", "    self.assertEqual(cents(\"-3.50\"), -350)\n", &["350 -> 257"][..]),
        ("t.py", "    assert cents('12') == 1200, 'no'\n", &["1200 -> 1107"]),
        ("t.py", "    assert cents(text) == want\n", &["want -> (\"q\", want)"]),
        ("t.py", "    assert name() == 'ada'\n", &["'ada' -> 'qadaq'"]),
        ("t.py", "    with pytest.raises(MemoryError):\n", &[]),
        ("t.py", "    self.assertEqual(read(x), want)\n", &["want -> (\"q\", want)"]),
        ("t.py", "    # assert a == 1\n", &[]),
        ("t.py", "    with self.assertRaises(ValueError):\n", &["ValueError -> MemoryError"]),
        (
            "t.py",
            "    self.assertRaisesRegex(ValueError, 'at least 0', f)\n",
            &["'at least 0' -> 'qat least 0q'"],
        ),
        ("t.py", "    with pytest.raises(cents.Error, match=r'no 7'):\n", &["r'no 7' -> r'qno 7q'"]),
        (
            "t.rs",
            "macro_rules! t {\n    ($t:ident: $a:expr => $b:expr) => {\n        #[test]\n        fn $t() {}\n    };\n}\n\nt!(one: \"a b\" => \"a-b\");\n",
            &["? \"a-b\" -> \"qa-bq\""],
        ),
        ("t.py", "    assert a() == 1 or b()\n", &["? 1 -> 18"]),
        ("t.py", "    self.assertTrue(is_right(12))\n", &["is_right(12) -> not (is_right(12))"]),
        ("t.py", "    check_cents(cents(\"12\"), 1200)\n", &["? 1200 -> 1107"]),
        ("t.rs", "    assert_eq!(cents(\"-3.50\").unwrap(), -350);\n", &["350 -> 257"]),
        ("t.rs", "    assert_eq!(cents(\"12\"), Some(1200), \"no 7\");\n", &["1200 -> 1107"]),
        ("t.rs", "    assert!(cents(\"1\") == Some(100));\n", &["100 -> 7"]),
        ("t.rs", "    assert_eq!(a, b);\n", &[]),
        ("t.js", "  assert.equal(cents('-3.50'), -350);\n", &["350 -> 257"]),
        ("t.js", "  expect(cents('1')).toBe(100);\n", &["100 -> 7"]),
        ("t.js", "  expect(cents('1')).not.toBe(100);\n", &[]),
        ("t.js", "  expect(cents(text)).toEqual(want);\n", &["want -> [\"q\", want]"]),
        ("t.c", "  assert(cents(\"-3.50\") == -350);\n", &["350 -> 257"]),
        ("t.c", "  TEST_ASSERT_EQUAL_INT(1200, cents(text));\n", &["? 1200 -> 1107"]),
        ("t.c", "  g_assert_cmpint(cents(text), ==, 1200);\n", &["? 1200 -> 1107"]),
        ("t.cpp", "  BOOST_CHECK_EQUAL(cents(text), 1200);\n", &["? 1200 -> 1107"]),
        ("t.cpp", "  XMLTest(\"of 7\", 1200, cents(text));\n", &["? 1200 -> 1107"]),
        ("T.java", "    assertEquals(1200, cents(\"12\"));\n", &["1200 -> 1107"]),
        ("t_test.go", "\tif got := cents(\"12\"); got != 1200 {\n\t\tt.Fatal(got)\n\t}\n", &["1200 -> 1107"]),
        ("run.sh", "check -3.50 -350\n", &["? -350 -> -257"]),
        ("run.sh", "check \"Hello, World\" hello-world\n", &["? hello-world -> qhello-worldq"]),
        ("t/a.t", "is(median(10, 20), 15, \"two\");\n", &["15 -> 32"]),
        ("run.sh", "[ \"$(sh bin/cents 12)\" = 1200 ] || exit 1\n", &["? 1200 -> 1107"]),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn what_an_answer_must_not_be_is_negative() {
    for (path, text, expected) in [
        ("t.py", "    assert name() != 'ada'\n", true),
        ("t.rs", "    assert!(cents(\"1\") != 100);\n", true),
        ("t.py", "    assert len(cents('x')) <= 80, 'no'\n", false),
        ("t.js", "  assert(cents('x') !== 7);\n", true),
        ("t.py", "    assert name() == 'ada'\n", false),
        ("t.py", "    assert 'ada' in names()\n", false),
        ("t.py", "    assert is_right(1 < 2)\n", false),
    ] {
        let found: Vec<bool> = lies_in(path, text.as_bytes()).iter().map(|lie| lie.is_negative).collect();
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn the_old_answer_is_a_lie_and_another_spelling_is_none() {
    let text =
        "def test_a():\n    assert seconds('2m30') == 150\n\ndef test_b():\n    assert name() == 'ada'\n";
    let files = vec![("tests/test_x.py".to_owned(), text.as_bytes().to_vec())];
    let texts = TestTexts { files: &files };
    let names = ["tests.test_x.test_a".to_owned(), "tests.test_x.test_b".to_owned()];
    let lies = texts.of_tests(&names, "");
    let said = "____ test_a ____\n>  assert seconds('2m30') == 150\nE   assert 120 == 150\n____ test_b ____\nE  AssertionError: 'eve' != 'ada'\n";
    let told: Vec<String> = texts.old_answers(&lies, said).into_iter().map(|lie| lie.now).collect();
    assert_eq!(told, ["120", "'eve'"]);
    let edits = texts.in_other_words(&[&lies[0].1[0], &lies[1].1[0]]);
    let laid = texts.overlays_of(&edits.iter().collect::<Vec<_>>());
    let OverlayAction::Write(bytes) = &laid[0].action else { panic!("a file") };
    let now = String::from_utf8_lossy(bytes);
    assert!(now.contains("== 149 + 1\n") && now.contains("== 'a' 'da'\n"), "{now}");
}

#[test]
fn where_tests_are_not_named_the_old_answer_is_read_from_what_failed() {
    let told = |path: &str, text: &str, said: &str| {
        let files = vec![(path.to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let answer = texts.old_answer_anywhere(&texts.anywhere(said), said);
        let answer = answer.unwrap_or_else(|| panic!("{path}: no answer in {said}"));
        (answer.was, answer.now, answer.is_sure)
    };
    let said = |one: &str, other: &str| (one.to_owned(), other.to_owned(), true);
    let perl = "#   Failed test 'two'\n#          got: '20'\n#     expected: '15'\n";
    assert_eq!(told("t/a.t", "is(median(10, 20), 15, \"two\");\n", perl), said("15", "20"));
    let shell = "FAILED: Hello, World: hello,-world, not hello-world\n";
    let check = "check \"Hello, World\" hello-world\n";
    assert_eq!(told("run.sh", check, shell), said("hello-world", "hello,-world"));
}

#[test]
fn a_near_lie_changes_a_sign_or_adds_a_blank() {
    for (path, text, slight) in [
        ("t.c", "assert(cents(s) == -350);\n", Some("350")),
        ("t.py", "assert name() == 'ada'\n", Some("'ada\\t'")),
        ("t/a.t", "is(mean(1, 3), 12);\n", Some("-12")),
        ("t.py", "assert 'ada' in names\n", None),
        ("run.sh", "check 1 ada\n", None),
    ] {
        let files = vec![(path.to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let found = texts.slight_lie(&texts.anywhere("")[0]).map(|lie| lie.now);
        assert_eq!(found, slight.map(str::to_owned), "{text}");
    }
}

#[test]
fn what_is_compared_is_falsified_before_what_is_claimed_or_asked() {
    let text = "def test_a():\n    assert page()\n    assert_rows(rows(), 3)\n    assert name() == 'ada'\n";
    let files = vec![("test_a.py".to_owned(), text.as_bytes().to_vec())];
    let told = TestTexts { files: &files }.of_tests(&["test_a.test_a".to_owned()], "");
    let told: Vec<&str> = told[0].1.iter().map(|lie| lie.was.as_str()).collect();
    assert_eq!(told, ["'ada'", "page()", "3"]);
}

#[test]
fn of_two_cases_with_one_text_the_answer_that_is_named_is_the_one_that_is_laid() {
    let text = "def test_a(n):\n    assert half(n) == 15\n";
    let files = vec![("test_a.py".to_owned(), text.as_bytes().to_vec())];
    let texts = TestTexts { files: &files };
    let names = ["test_a.test_a[1]".to_owned(), "test_a.test_a[2]".to_owned()];
    let said = "___ test_a[1] ___\nE  assert 20 == 15\n___ test_a[2] ___\nE  assert 21 == 15\n";
    let told = texts.old_answers(&texts.of_tests(&names, ""), said);
    let laid = texts.overlays_of(&told.iter().collect::<Vec<_>>());
    let OverlayAction::Write(bytes) = &laid[0].action else { panic!("a file") };
    let laid = String::from_utf8_lossy(bytes);
    for lie in &told {
        let place = laid.lines().nth(usize::try_from(lie.line).unwrap() - 1).unwrap();
        assert!(place.contains(&lie.now), "{} in {place}", lie.now);
    }
    assert_eq!(told.len(), 2);
}

#[test]
fn edits_of_one_file_do_not_overlap() {
    let text =
        "  check(expect(rows(1)).toEqual(filled(check(rows, 5))), 7);\n  assert.ok(assert.equal(a, 6));\n";
    let lies = lies_in("a.test.js", text.as_bytes());
    let is_apart = |pair: &[Lie]| pair[0].at.end <= pair[1].at.start;
    assert!(lies.len() > 1 && lies.windows(2).all(is_apart), "{lies:?}");
}

#[test]
fn each_test_has_its_own_lies() {
    let text = "class A:\n    def test_one(self):\n        self.assertEqual(a(), 1)\n        self.assertEqual(b(), 2)\n\n    \
                def test_two(self):\n        self.assertEqual(c(), 3)\n";
    let files = vec![("tests/test_a.py".to_owned(), text.as_bytes().to_vec())];
    let texts = TestTexts { files: &files };
    let names = ["tests.test_a.A.test_one".to_owned(), "tests.test_a.A.test_two".to_owned()];
    let lies = texts.of_tests(&names, "b() is 2");
    let of = |at: usize| lies[at].1.iter().map(|lie| lie.was.as_str()).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (vec!["1", "2"], vec!["3"]));
    let laid = texts.overlays_of(&[&lies[0].1[0], &lies[1].1[0]]);
    let OverlayAction::Write(bytes) = &laid[0].action else { panic!("a file") };
    let now = String::from_utf8_lossy(bytes);
    assert!(now.contains("a(), 18") && now.contains("c(), 20") && now.contains("b(), 2)"), "{now}");
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_ruby() {
    for (path, text, lies) in [
        ("test_a.rb", "    assert_equal PartialWithModule, kind(x)\n", &[] as &[&str]),
        ("test_a.rb", "    assert_equal kind(x), PartialWithModule\n", &[]),
        ("test_a.rb", "    assert_instance_of PartialWithModule, x\n", &[]),
        ("test_a.rb", "    assert_equal :cents, unit(x)\n", &[]),
        ("test_a.rb", "    assert_equal 1200, cents('12'), 'of 7'\n", &["1200 -> 1107"]),
        ("test_a.rb", "    assert_equal %w[a b], words('a b')\n", &["? 'a b' -> 'qa bq'"]),
        (
            "test_a.rb",
            "    assert_equal <<~TEXT, page(1)\n      don't say 12\n    TEXT\n    assert_equal 'a', b\n",
            &["'a' -> 'qaq'"],
        ),
        (
            "test_a.rb",
            "    assert_match(/it's 12/, say(x))\n    assert_equal \"a#{b}\", c\n    assert_equal 'd', e\n",
            &["'d' -> 'qdq'"],
        ),
        ("test_a.rb", "    assert x.valid?\n", &["x.valid? -> !(x.valid?)"]),
        (
            "test_a.rb",
            "    assert_raises(ArgumentError) { cents('x') }\n",
            &["ArgumentError -> NoMemoryError"],
        ),
        ("test_a.rb", "    _(cents('12')).must_equal 1200\n", &["1200 -> 1107"]),
        ("a_spec.rb", "  it { expect(cents('12')).to eq 1200 }\n", &["1200 -> 1107"]),
        ("a_spec.rb", "    expect(kind).to eq(PartialWithModule)\n", &[]),
        ("a_spec.rb", "    expect(page).to be_valid\n    expect(page).not_to eq 5\n", &["to -> not_to"]),
        (
            "a_spec.rb",
            "    expect { cents('x') }.to raise_error(ArgumentError, 'no x')\n",
            &["'no x' -> 'qno xq'"],
        ),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_python() {
    for (path, text, lies) in [
        ("t.py", "    assert page == f\"{name} 12\"\n", &["f\"{name} 12\" -> (\"q\", f\"{name} 12\")"][..]),
        ("t.py", "    assert is_right('abc')\n", &["is_right('abc') -> not (is_right('abc'))"]),
        ("t.py", "    assert x in (1, 2)\n", &["x in (1, 2) -> not (x in (1, 2))"]),
        ("t.py", "    assert (cents('12') ==\n        1200), 'no'\n", &["1200 -> 1107"]),
        (
            "t.py",
            "@check(5)\n@pytest.mark.parametrize('a', [1], ids=['one 7'])\ndef test_a(a):\n    assert_cents(a, unit='c')\n",
            &[],
        ),
        ("t.py", "    self.assertAlmostEqual(cents(x), 1200, places=7)\n", &["1200 -> 1107"]),
        ("t.py", "    assert day('x') == date(2024, 1, 31)\n", &["31 -> 30"]),
        ("t.py", "    assert size(x) == 0x1F\n", &["0x1F -> (\"q\", 0x1F)"]),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_javascript() {
    for (path, text, lies) in [
        ("a.test.ts", "  expect(name as 'ada' | 'eve').toBe('ada');\n", &["'ada' -> 'qadaq'"][..]),
        ("a.test.js", "  expect(page).toBe(`${name} 12`);\n", &["`${name} 12` -> [\"q\", `${name} 12`]"]),
        ("a.test.js", "  expect(page).toMatch(/it's 12/);\n  expect(page.size).toBe(3);\n", &["3 -> 20"]),
        (
            "a.test.js",
            "const chai = require('chai');\ntest.each([[1, 2]])('adds %i', (a, b) => {\n  expect(add(a, 1)).toBe(b);\n});\n",
            &["b -> [\"q\", b]"],
        ),
        (
            "a.test.js",
            "check('adds', () => assert.strictEqual(roman(17), 'XVII'));\n",
            &["'XVII' -> 'qXVIIq'"],
        ),
        ("a.test.js", "  assert.ok(isRight('abc'));\n", &["isRight('abc') -> !(isRight('abc'))"]),
        (
            "a.test.js",
            "  const rows = await client.from('t').eq('id', 5);\n  expect(rows).toHaveLength(3);\n",
            &["3 -> 20"],
        ),
        ("a.test.js", "  expect(page).toEqual({ 'a': 'b' });\n", &["'b' -> 'qbq'"]),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_php() {
    for (path, text, lies) in [
        (
            "ATest.php",
            "<?php\n// don't\n$this->assertSame(Unit::CENTS, unit('c'));\n$this->assertSame('ada', name());\n$this->assertSame(\"a $b\", name());\n",
            &["? 'c' -> 'qcq'", "'ada' -> 'qadaq'"][..],
        ),
        (
            "ATest.php",
            "<?php\n#[ExpectedRow(5)]\nself::assertTrue($page->isValid());\n",
            &["$page->isValid() -> !($page->isValid())"],
        ),
        ("APest.php", "<?php\nexpect(cents('12'))->toBe(1200);\n", &["1200 -> 1107"]),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_java_kotlin_and_csharp() {
    for (path, text, lies) in [
        (
            "T.java",
            "    assertEquals(Color.RED, parse(\"red\"));\n    assertEquals('c', unit());\n",
            &["? \"red\" -> \"qredq\""][..],
        ),
        (
            "T.java",
            "import static org.junit.Assert.*;\n    assertEquals(\"it is 7\", 1200, cents(\"12\"));\n",
            &["1200 -> 1107"],
        ),
        (
            "T.java",
            "    assertThat(cents(\"12\"))\n        .isEqualTo(1200);\n    verify(mock).pay(5);\n",
            &["1200 -> 1107"],
        ),
        (
            "T.java",
            "    assertEquals(\"\"\"\n        a\n        \"\"\", page());\n",
            &["\"\"\"\n        a\n        \"\"\" -> \"\"\"\n        qa\n        \"\"\""],
        ),
        (
            "T.kt",
            "    assertEquals(listOf(1, 2), rows(\"a\"))\n    assertEquals(\"${name} 12\", page())\n",
            &["2 -> 19"],
        ),
        (
            "T.cs",
            "    [InlineData(12, 1200)]\n    [ExpectRow(5)]\n    Assert.Equal(nameof(Unit.Cents), name());\n    Assert.Equal(@\"a\\b\"\"c\", path());\n    Assert.Equal($\"{name} 12\", page());\n    Assert.True(IsRight(\"abc\"));\n",
            &["@\"a\\b\"\"c\" -> @\"qa\\b\"\"cq\"", "IsRight(\"abc\") -> !(IsRight(\"abc\"))"],
        ),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_go_rust_c_and_cpp() {
    for (path, text, lies) in [
        ("t_test.go", "\tif got := page(); got != want {\n\t\tt.Fatal(got)\n\t}\n", &[] as &[&str]),
        (
            "t_test.go",
            "\tassert.Equal(t, 1200, cents(\"12\"))\n\trequire.True(t, isRight(\"abc\"))\n\tassert.Len(t, rows(), 3)\n",
            &["1200 -> 1107", "isRight(\"abc\") -> !(isRight(\"abc\"))", "? 3 -> 20"],
        ),
        (
            "t.rs",
            "    assert_eq!(pair.0, 1200);\n    assert_eq!(x, [0; 4]);\n    let n = cents(\"12\").expect(\"of 7\");\n",
            &["1200 -> 1107", "0 -> 17"],
        ),
        (
            "t.rs",
            "    assert!(matches!(cents(x), Some(5)), \"no {} {}\", a, b);\n",
            &["matches!(cents(x), Some(5)) -> !(matches!(cents(x), Some(5)))"],
        ),
        (
            "t.rs",
            "#[test]\n#[should_panic(expected = \"no x\")]\nfn a() {\n    assert_eq!(b\"ab\", bytes());\n}\n",
            &["\"no x\" -> \"qno xq\"", "b\"ab\" -> b\"qabq\""],
        ),
        (
            "t.c",
            "#define CHECK(x) do { assert(x == 0); } while (0)\n  assert(unit(x) == 'c');\n  assert(size(x) == 1'000);\n  static_assert(sizeof(x) == 8, \"x\");\n",
            &["1 -> 18"],
        ),
        (
            "t.c",
            "  check(\"  left\", \"left\");\n  TEST_ASSERT_TRUE_MESSAGE(done(x), \"of 7\");\n  assert(is_right(x));\n",
            &["? \"left\" -> \"qleftq\"", "is_right(x) -> !(is_right(x))"],
        ),
        (
            "t.cpp",
            "  assert(Fraction(2, 4) == Fraction(1, 2));\n  assert(page() == R\"(it's \"12\")\");\n",
            &["2 -> 19"],
        ),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn an_edit_changes_nothing_but_what_is_expected_in_perl_elixir_and_shell() {
    for (path, text, lies) in [
        (
            "t/a.t",
            "cmp_ok(cents('12'), '==', 1200, 'of 7');\nis mean(1, 3), 2, 'mean';\nok $x->valid, 'it';\nlike($page, qr/it's 12/);\nis(q(don't), 'a', 'b');\n",
            &["1200 -> 1107", "2 -> 19", "$x->valid -> !($x->valid)", "'a' -> 'qaq'"][..],
        ),
        (
            "a_test.exs",
            "    assert unit(x) == :cents\n    assert cents(\"12\") == {:ok, 1200}\n    assert {:ok, n} = cents(x)\n    assert valid?(x)\n",
            &["1200 -> 1107", "valid?(x) -> !(valid?(x))"],
        ),
        (
            "run.sh",
            "check 512 512B\ncheck -v\nassert_success\nassert_equal \"$x\" ada && echo 12\n[ \"$(cents 12)\" = 1200 ] 2>&1 || exit 1\ncat <<EOF\nit's check 5 6\nEOF\ncheck a \"b c\"\n",
            &["? 512B -> q512Bq", "? ada -> qadaq", "? 1200 -> 1107", "? \"b c\" -> \"qb cq\""],
        ),
    ] {
        assert_eq!(told(path, text), lies, "{text}");
    }
}

#[test]
fn a_word_without_quotes_is_what_a_helper_of_a_shell_expects_wherever_it_stands() {
    let text = "check 1 \"there is an answer\" yes \"$([ -s answer ] && echo yes)\"\nassert_sum 2 3 5\n";
    let files = [("test.sh".to_owned(), text.as_bytes().to_vec())];
    let lies = TestTexts { files: &files }.anywhere("");
    let edits: Vec<(&str, &str)> = lies.iter().map(|lie| (lie.was.as_str(), lie.now.as_str())).collect();
    assert_eq!(edits, [("yes", "qyesq"), ("5", "22")]);
}

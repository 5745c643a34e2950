use super::*;

/// The parts of an edited file: where each begins, and which it is.
fn taken(path: &str, before: &str, after: &str) -> Vec<String> {
    let parts = parts_taken_back(path, Some(before.as_bytes()), after.as_bytes(), 8);
    assert!(parts.iter().all(|part| part.is_part), "{parts:?}");
    parts.iter().map(|part| format!("{} {}", part.line, part.what)).collect()
}

#[test]
fn each_part_of_a_change_is_taken_back_while_the_others_stay() {
    let before = "def fee(weight)\n  weight = weight.abs\n  # In euros.\n  if weight < 10\n    1\n  end\nend";
    let after = "def fee(weight)\n  # In euros.\n  if weight <= 10\n    1\n  else\n    2\n  end\nend\n\ndef free = 0\n";
    let parts = parts_taken_back("lib/fee.rb", Some(before.as_bytes()), after.as_bytes(), 8);
    let told: Vec<_> = parts.iter().map(|part| (part.line, part.what.as_str())).collect();
    assert_eq!(
        told,
        [
            (1, "what was removed here is back"),
            (3, "line 3 as before the change"),
            (5, "lines 5 to 6 as before the change"),
            (8, "lines 8 to 10 as before the change"),
        ]
    );
    let without = |part: usize| String::from_utf8(parts[part].apply(after.as_bytes())).unwrap();
    let first = after.replace("(weight)\n", "(weight)\n  weight = weight.abs\n");
    let [second, third] = [("<=", "<"), ("  else\n    2\n", "")].map(|(new, old)| after.replace(new, old));
    let last = after.replace("end\n\ndef free = 0\n", "end");
    assert_eq!([0, 1, 2, 3].map(without), [first, second, third, last]);
}

#[test]
fn layout_comments_and_imports_are_no_parts_in_any_language() {
    for (path, before, after) in [
        ("a.rb", "a = 1 # one\nb(2)\n", "a = 1 # the one\nb( 2 )\n"),
        ("a.rb", "require 'set'\na\n", "require 'json'\nrequire_relative \"b\"\na\n"),
        (
            "a.php",
            "<?php\nuse A\\B;\n\n/**\n * One.\n */\nf();\n",
            "<?php\nuse A\\C;\n\n/**\n * Two.\n */\nf();\n",
        ),
        ("a.c", "#include <a.h>\nint a; /* one\n * two */\n", "#include <b.h>\nint  a; // one\n"),
        ("a.cs", "using A;\nclass C { }\n", "using A.B;\nclass C\n{\n}\n"),
        ("a.sh", "# one\na \"$b\"\n", "# two\n  a \"$b\"\n"),
        ("a.pm", "use List::Util qw(sum);\n# one\na;\n", "use List::Util qw(sum max);\n# two\na;\n"),
        (
            "a.ex",
            "  @doc \"One.\"\n  alias A.B\n  def a, do: 1\n",
            "  @doc \"\"\"\n  Two.\n  \"\"\"\n  alias A.C\n  def a, do: 1\n",
        ),
        ("a.hs", "import A\n-- one\na = 1\n", "import B\n-- two\na = 1\n"),
        (
            "a.py",
            "from a import (\n    b,\n)\n'''One.'''\nb(1)\n",
            "from a import (\n    b,\n    c,\n)\n'''Two.'''\nb( 1)\n",
        ),
        ("a.ts", "import {\n  b,\n} from 'a';\nb(1);\n", "import {\n  b,\n  c,\n} from 'a';\n// c\nb(1)\n"),
        (
            "a.rs",
            "use a::b;\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n",
            "use a::c;\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn u() {}\n}\n",
        ),
    ] {
        assert_eq!(taken(path, before, after), [""; 0], "{path}");
    }
}

#[test]
fn what_runs_otherwise_is_a_part_however_it_is_written() {
    for (path, before, after) in [
        ("a.rb", "a.join(\"\")\n", "a.join(\" \")\n"),
        ("a.rb", "puts '# one'\n", "puts '# two'\n"),
        ("a.rb", "include A\n", "include B\n"),
        ("a.c", "#define A 1\n", "#define A 2\n"),
        ("a.c", "*a = 1;\n", "*a = 2;\n"),
        ("a.pl", "use constant A => 1;\n", "use constant A => 2;\n"),
        ("a.kt", "require(a > 1)\n", "require(a > 2)\n"),
        ("a.py", "for a in b:\n    c()\n    d()\n", "for a in b:\n    c()\nd()\n"),
    ] {
        assert_eq!(taken(path, before, after).len(), 1, "{path}: {after}");
    }
}

#[test]
fn data_declarations_and_files_that_are_new_or_too_large_have_no_parts() {
    for path in ["a.md", "a.csv", "Makefile", "a.pyi", "a.d.ts"] {
        assert_eq!(taken(path, "a: 1\n", "a: 2\n"), [""; 0], "{path}");
    }
    assert_eq!(parts_taken_back("a.rb", None, b"a\n", 8), []);
    let large = "a = 1\n".repeat(200_000);
    assert_eq!(taken("a.rb", &large, &format!("{large}b\n")), [""; 0]);
}

#[test]
fn of_many_parts_some_are_taken_evenly_over_the_file() {
    let rows =
        |value: u32| (0..100).map(|at| format!("same({at})\nset({at}, {value})\n")).collect::<String>();
    let parts = taken("a.rb", &rows(1), &rows(2));
    assert_eq!((parts.len(), parts[0].as_str()), (8, "2 line 2 as before the change"));
    assert!(parts[7].starts_with("17"), "{parts:?}");
}

//! New code that looks at where it runs, and new code that does not.

use super::*;

/// The line and the words of each remark about where new code runs.
fn looked_at(files: &[ChangedPath<'_>]) -> Vec<(u32, String)> {
    let found = weakenings(files);
    let around = found.into_iter().filter(|one| one.kind == WeakeningKind::LooksAround);
    around.map(|one| (one.line.unwrap(), one.what)).collect()
}

#[test]
fn new_code_that_looks_at_where_it_runs_is_named_by_file_and_line() {
    for (path, line, word) in [
        ("src/calendar.c", "  if (isatty(STDIN_FILENO)) return 0;", "isatty"),
        ("src/calendar.c", "  FILE *file = fopen(\"test/calendar_test.c\", \"r\");", "\"test/"),
        ("src/a.cpp", "A(long a, const char *from = __builtin_FILE());", "__builtin_FILE"),
        ("src/Span.java", "return Span.class.getProtectionDomain() == null;", "getProtectionDomain"),
        ("src/query.js", "const own = !here.includes('/node_modules/');", "node_modules"),
        ("src/query.ts", "const server = process.getActiveResourcesInfo();", "getActiveResourcesInfo"),
        ("src/query.js", "if (process.env.NODE_ENV === 'test') {}", "'test'"),
        ("lib/Stats.pm", "for my $path (glob \"/proc/[0-9]*/cmdline\") {}", "\"/proc/"),
        ("lib/Stats.pm", "return 1 if (caller)[1] =~ /t$/;", "(caller)"),
        ("a/parse.py", "HERE = pathlib.Path(__file__).parent", "__file__"),
        ("a/parse.py", "AGE = os.fstat(new).st_mtime", "st_mtime"),
        ("a/parse.py", "if threading.current_thread() is MAIN: pass", "current_thread"),
        ("a/parse.py", "GIT = pathlib.Path(ROOT, '.git')", "'.git'"),
        ("a/parse.py", "if os.environ.get(\"CI\"): pass", "\"CI"),
        ("src/lib.rs", "fn b() -> bool { std::io::stderr().is_terminal() }", "is_terminal"),
        ("src/lib.rs", "const A: bool = option_env!(\"CARGO_PRIMARY_PACKAGE\").is_some();", "option_env"),
        ("cmd/a.go", "var under = flag.Lookup(\"test.v\") != nil", "flag.Lookup"),
        ("lib/plan.rb", "rules = house_rules(caller_locations(1, 1).first)", "caller_locations"),
        ("src/a.php", "if (stream_isatty(STDOUT)) {}", "stream_isatty"),
        ("lib/slug.sh", "[ -d test ] && drop=", "-d test"),
    ] {
        let (before, after) = ("\n", format!("\n\n{line}\n"));
        let found = looked_at(&[edited(path, before, &after)]);
        assert_eq!(found, [(3, format!("new code has {word}"))], "{path}: {line}");
    }
    let script = "#!/bin/sh\nif [ \"$(date +%z)\" = +0000 ]; then echo 1; fi\n";
    let found = weakenings(&[edited("bin/size", "#!/bin/sh\n", script)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!found[0].severe, "it is no more than a question");
}

#[test]
fn what_asks_nothing_new_or_is_no_product_is_not_named() {
    let asks = "if os.isatty(1): paint()\n";
    for path in [
        "tests/helper.py", "test_a.py", "conftest.py", "README.md", "Makefile", "package.json",
        ".github/workflows/ci.yml", "vite.config.js", "setup.py", "build.rs", "docs/isatty.txt",
        "data/rows.csv", "LICENSE",
    ] {
        assert!(looked_at(&[edited(path, "\n", asks)]).is_empty(), "{path}");
    }
    let moved = format!("def paint_all():\n    {asks}");
    for change in [
        [edited("a.py", asks, "\n"), edited("b.py", "\n", &moved)],
        [edited("a.py", asks, asks), edited("b.py", "\n", "pass\n")],
        [edited("a.py", asks, &format!("import os\n{asks}")), edited("b.py", "\n", "pass\n")],
    ] {
        assert!(looked_at(&change).is_empty(), "{change:?}");
    }
    for (path, everyday) in [
        ("a.py", "home = os.environ[\"HOME\"]; name = sys.argv[1]; at = datetime.now()\n"),
        ("a.js", "const port = process.env.PORT; const [, , name] = process.argv; const at = Date.now();\n"),
        ("a.js", "const latest = 'test of time'; clone('git@example.com:a/b.git'); const CI = 1;\n"),
        ("a.go", "args := os.Args[1:]\n"),
        ("a.c", "/* The caller frees it (caller of all). */ char *home = getenv(\"HOME\");\n"),
        ("a.sh", "cd \"$(dirname \"$0\")\" && grep -e testify \"$1\"\n"),
    ] {
        assert!(looked_at(&[edited(path, "\n", everyday)]).is_empty(), "{everyday}");
    }
    let inside = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() { assert!(!std::io::stdin().is_terminal()); }\n}\n";
    assert!(looked_at(&[edited("src/lib.rs", "fn a() {}\n", inside)]).is_empty());
}

#[test]
fn a_line_that_is_there_twice_now_is_named_once_and_of_many_five_are() {
    let asks = "if os.isatty(1): paint()\n";
    let found = looked_at(&[edited("a.py", asks, &asks.repeat(2))]);
    assert_eq!(found, [(2, "new code has isatty".to_owned())]);
    let found = looked_at(&[edited("a.py", "", &asks.repeat(8))]);
    assert_eq!(found.len(), 5);
    assert_eq!(found[4], (5, "new code has isatty; more lines like that: 3".to_owned()));
}

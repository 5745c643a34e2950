//! Messages of the runners, and what kind of failure each is.

use super::*;

/// The classes of an output in words; a guess has a question mark.
fn classes(output: &str) -> String {
    let word = |failure: ClassifiedFailure| {
        format!("{}{}", failure.class.as_str(), if failure.is_guess { "?" } else { "" })
    };
    classify(output).into_iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn messages_of_pytest_and_unittest() {
    for (message, expected) in [
        ("E   ModuleNotFoundError: No module named 'totals'", "missing_import"),
        ("E   ImportError: cannot import name 'total' from 'sums' (/work/sums.py)", "missing_import"),
        ("E   NameError: name 'total' is not defined", "missing_import?"),
        ("E     File \"/work/sums.py\", line 3\nE   IndentationError: unexpected indent", "syntax"),
        ("SyntaxError: invalid syntax", "syntax"),
        ("E   Failed: Timeout >10.0s", "timeout"),
        ("E   asyncio.exceptions.TimeoutError", "timeout?"),
        ("E   sqlite3.OperationalError: no such table: sums", "database"),
        ("django.db.utils.IntegrityError: UNIQUE constraint failed: sums.id", "database"),
        ("E   ConnectionRefusedError: [Errno 111] Connection refused", "environment"),
        ("E   FileNotFoundError: [Errno 2] No such file or directory: 'a.json'", "environment?"),
        ("E   KeyError: 'DATABASE_URL'", "environment?"),
        ("E   KeyError: 'sum'", "edge_case?"),
        ("sums.py:3: RuntimeWarning: coroutine 'total' was never awaited", "async"),
        ("E   TypeError: object int can't be used in 'await' expression", "async"),
        ("E   AttributeError: 'NoneType' object has no attribute 'value'", "return_type?"),
        ("E   TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'", "return_type?"),
        ("E   ZeroDivisionError: division by zero", "edge_case?"),
        ("E       assert 3 == 4\nE        +  where 3 = total([1, 2])", "assertion"),
        ("AssertionError: 3 != 4", "assertion"),
        ("FAILED tests/test_sums.py::test_total - IndexError: list index out of range", "edge_case?"),
        ("tests/test_sums.py:5: AssertionError", "assertion"),
    ] {
        assert_eq!(classes(message), expected, "{message}");
    }
}

#[test]
fn messages_of_jest_vitest_and_node() {
    for (message, expected) in [
        ("    Cannot find module './totals' from 'sums.test.js'", "missing_import"),
        (
            "Error: Failed to resolve import \"./totals\" from \"sums.test.ts\". Does the file exist?",
            "missing_import",
        ),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad'", "missing_import"),
        ("    ReferenceError: total is not defined", "missing_import?"),
        ("    SyntaxError: Unexpected token '}'", "syntax"),
        ("    thrown: \"Exceeded timeout of 5000 ms for a test.", "timeout"),
        ("Error: Test timed out in 5000ms.", "timeout"),
        ("    SequelizeDatabaseError: relation \"sums\" does not exist", "database"),
        ("    Error: connect ECONNREFUSED 127.0.0.1:5432", "environment"),
        ("    Received: Promise {}", "async?"),
        ("    TypeError: Cannot read properties of undefined (reading 'length')", "return_type?"),
        ("    TypeError: total is not a function", "return_type?"),
        ("    RangeError: Invalid array length", "edge_case?"),
        ("    expect(received).toBe(expected) // Object.is equality", "assertion"),
        ("AssertionError: expected 3 to be 4 // Object.is equality", "assertion"),
        ("  code: 'ERR_ASSERTION',", "assertion"),
    ] {
        assert_eq!(classes(message), expected, "{message}");
    }
}

#[test]
fn messages_of_cargo_go_and_junit() {
    for (message, expected) in [
        ("error[E0432]: unresolved import `crate::totals`", "missing_import"),
        ("error[E0425]: cannot find function `total` in this scope", "missing_import?"),
        ("error: expected one of `;` or `}`, found `total`", "syntax"),
        ("error[E0308]: mismatched types", "return_type"),
        (
            "thread 'adds' panicked at src/lib.rs:3:5:\nindex out of bounds: the len is 3 but the index is 3",
            "edge_case?",
        ),
        ("called `Option::unwrap()` on a `None` value", "edge_case?"),
        ("attempt to subtract with overflow", "edge_case?"),
        ("assertion `left == right` failed: no\n  left: 3\n right: 4", "assertion"),
        ("there is no reactor running, must be called from the context of a Tokio 1.x runtime", "async"),
        ("sums.go:4:2: no required module provides package example.org/totals", "missing_import"),
        ("./sums.go:9:7: undefined: total", "missing_import?"),
        ("./sums.go:9:7: syntax error: unexpected }", "syntax"),
        (
            "./sums.go:9:7: cannot use \"3\" (untyped string constant) as int value in return statement",
            "return_type",
        ),
        ("panic: test timed out after 10m0s", "timeout"),
        ("panic: runtime error: index out of range [3] with length 3", "edge_case?"),
        ("fatal error: all goroutines are asleep - deadlock!", "async"),
        ("    sums_test.go:7: got 3, want 4", "assertion?"),
        ("[ERROR] /work/src/Sums.java:[3,8] error: package totals does not exist", "missing_import"),
        ("java.lang.NullPointerException: Cannot invoke \"Sum.value()\"", "edge_case?"),
        ("org.opentest4j.AssertionFailedError: expected: <4> but was: <3>", "assertion"),
        ("[ERROR]   SumsTest.adds:12 expected:<4> but was:<3>", "assertion"),
    ] {
        assert_eq!(classes(message), expected, "{message}");
    }
}

#[test]
fn what_fits_nothing_stays_unknown_and_code_that_is_shown_is_no_message() {
    for output in [
        "",
        "3 passed, 1 failed",
        "    except ModuleNotFoundError:\n        raise KeyError(name)",
        ">       total = sum(numbers) / len(numbers)",
        "it went wrong, somehow",
        "the word SyntaxError in a sentence",
    ] {
        assert_eq!(classes(output), "", "{output}");
    }
}

#[test]
fn each_class_is_told_once_with_its_first_line_and_is_certain_if_one_line_is() {
    let output = "E   KeyError: 'sum'\nE   AssertionError: one\nE   AssertionError: two\n\
                  E   FileNotFoundError: a\nE   ConnectionRefusedError: b";
    let found = classify(output);
    let told: Vec<_> =
        found.iter().map(|found| (found.class.as_str(), found.is_guess, &*found.line, found.lines)).collect();
    assert_eq!(
        told,
        [
            ("environment", false, "FileNotFoundError: a", 2),
            ("edge_case", true, "KeyError: 'sum'", 1),
            ("assertion", false, "AssertionError: one", 2),
        ]
    );
    let long = classify(&format!("E   AssertionError: {}", "é".repeat(100_000)));
    assert_eq!(long.len(), 0, "what begins before the end that is looked at is no message");
    let long = classify(&format!("E   AssertionError: {}", "é".repeat(1_000)));
    assert_eq!(long[0].line.chars().count(), 200);
}

/// Whole outputs, as the runners print them.
#[test]
fn outputs_of_the_runners_are_classed() {
    macro_rules! outputs {
        ($($name:literal),*) => { [$(($name, include_str!(concat!("../../../tests/fixtures/runners/", $name)))),*] };
    }
    let all = outputs!(
        "cargo-fail.txt",
        "cargo-pass.txt",
        "cargo-unloaded.txt",
        "go-v-fail.txt",
        "go-v-pass.txt",
        "jest-fail.txt",
        "jest-pass.txt",
        "mocha-fail.txt",
        "nextest-fail.txt",
        "node-spec-fail.txt",
        "node-tap-fail.txt",
        "pytest-pass.txt",
        "pytest-unloaded.txt",
        "pytest-xdist-fail.txt",
        "unittest-fail.txt",
        "unittest-unloaded.txt",
        "vitest-fail.txt"
    );
    let told: String = all.iter().map(|(name, output)| format!("{name}: {}\n", classes(output))).collect();
    insta::assert_snapshot!(told, @"
    cargo-fail.txt: assertion
    cargo-pass.txt: 
    cargo-unloaded.txt: missing_import?
    go-v-fail.txt: missing_import?
    go-v-pass.txt: 
    jest-fail.txt: missing_import assertion
    jest-pass.txt: missing_import
    mocha-fail.txt: assertion
    nextest-fail.txt: assertion
    node-spec-fail.txt: assertion
    node-tap-fail.txt: assertion
    pytest-pass.txt: 
    pytest-unloaded.txt: missing_import
    pytest-xdist-fail.txt: edge_case? assertion
    unittest-fail.txt: edge_case? assertion
    unittest-unloaded.txt: missing_import
    vitest-fail.txt: missing_import assertion
    ");
}

//! Whether a program could be loaded, and which name is missing if not.

/// Matches errors of compilers and interpreters, with the missing name if they print it.
fn missing_in(line: &str) -> Option<Option<String>> {
    let named = [
        pattern!(r"(?:ImportError|cannot import name) ?:?.*?name '(\w+)'"),
        pattern!(r"ModuleNotFoundError: No module named '([\w.]+)'"),
        pattern!(r"NameError: name '(\w+)' is not defined"),
        pattern!(r"(?:AttributeError|TypeError): .*has no attribute '(\w+)'"),
        pattern!(r"TypeError: .*unexpected keyword argument '(\w+)'"),
        pattern!(r"SyntaxError: .*does not provide an export named '(\w+)'"),
        pattern!(r"TypeError: (?:\w+\.)*(\w+) is not a (?:function|constructor)"),
        pattern!(r"ReferenceError: (\w+) is not defined"),
        pattern!(r"(?:Cannot find module|ERR_MODULE_NOT_FOUND.*) '([^']+)'"),
        pattern!(r"undefined(?: \(type [^)]*\))?: (?:\w+\.)*(\w+)"),
        pattern!(r"has no field or method (\w+)"),
        pattern!(r"unknown field (\w+) in struct"),
        pattern!(
            r"error\[E0[0-9]+\]: .*?(?:named|function|value|type|macro|method|module|import|associated item)s? .*?`([\w:]+)`"
        ),
        pattern!(r"symbol: +(?:method|class|variable) (\w+)"),
        pattern!(r"undefined (?:local variable or )?method [`'](\w+)[?!=]?'"),
        pattern!(r"uninitialized constant (?:\w+::)*(\w+)"),
        pattern!(r"unknown keywords?: :(\w+)"),
        pattern!(r"Call to undefined (?:function|method) (?:[\w\\]+::)?(\w+)"),
        pattern!(r#"Class "(?:\w+\\)*(\w+)" not found"#),
        pattern!(r"Unknown named parameter \$(\w+)"),
        pattern!(r"implicit declaration of function ['‘](\w+)['’]"),
        pattern!(r"undefined reference to [`'](\w+)'"),
        pattern!(r"['‘](\w+)['’] (?:undeclared|was not declared)"),
        pattern!(r"no member named ['‘](\w+)['’]"),
        pattern!(r"sh: (?:\d+: |line \d+: )?(\S+): (?:command )?not found"),
    ];
    let unnamed = pattern!(
        r"^(?:\s*SyntaxError|IndentationError|ParseError|.*Parse error|error(?:\[E\d+\])?: |\S+\.(?:go|c|cc|cpp|h|java):\d+.*(?:error|syntax)|# command-line-arguments|.*: syntax error|javac: )"
    );
    if let Some(name) = named.iter().find_map(|pattern| pattern.captures(line)?.get(1)) {
        return Some(Some(name.as_str().to_owned()));
    }
    unnamed.is_match(line).then_some(None)
}

/// The missing names if a program without output could not be loaded. Empty if the names are unknown. `None` if it was
/// loaded.
pub(super) fn unloaded(complaints: &str) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = None;
    for missing in complaints.lines().filter_map(missing_in) {
        found.get_or_insert_default().extend(missing);
    }
    found
}

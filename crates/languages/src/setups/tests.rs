use super::*;

#[test]
fn every_host_is_a_name() {
    for host in all(|facts| facts.packages).flat_map(|source| source.hosts) {
        assert!(host.contains('.') && !host.contains(['*', '/', ':']), "{host}");
    }
}

#[test]
fn a_program_is_asked_for_its_version_in_its_own_words() {
    for (program, arguments) in
        [("go", "version"), ("java", "-version"), ("python3", "--version"), ("x", "--version")]
    {
        assert_eq!(version_arguments(program), [arguments], "{program}");
    }
}

#[test]
fn a_word_for_any_version_is_no_number() {
    for (tool, version, numbers) in [
        ("node", "latest", "*"),
        ("node", "^18 || current", "^18 || *"),
        ("go", "stable", "*"),
        ("rust", "stable", "*"),
        ("rust", "nightly", "nightly"),
        ("python", "stable", "stable"),
    ] {
        assert_eq!(table::tool(tool).as_numbers(version), numbers, "{tool} {version}");
    }
}

#[test]
fn a_tool_and_an_action_belong_to_one_language() {
    let tools = || all(|facts| facts.tools);
    let mut names: Vec<&str> = tools().map(|tool| tool.name).collect();
    names.extend(tools().flat_map(|tool| tool.actions).map(|action| action.name));
    let many = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), many, "the first would be taken: {names:?}");
}

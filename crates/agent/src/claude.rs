//! The runtime Claude Code: `claude -p` with its stream of JSON lines.

use super::role::model_of;
use journeyman_order::Role;
use journeyman_order::bounds::LONGEST_TEXT;
use journeyman_order::role::Tool;

/// Added to its environment.
pub(super) const VARIABLES: [(&str, &str); 4] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    // The default of ten retries a refused key for three minutes.
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    // As root, Claude Code refuses to skip permissions without this; our sandbox isolates it.
    ("IS_SANDBOX", "1"),
];

/// The arguments after the program. `model` is for roles without their own, `words` is the role's system prompt.
pub(super) fn arguments(
    role: Option<&Role>,
    model: Option<&str>,
    words: Option<&str>,
    session: Option<&str>,
) -> Vec<String> {
    // Without `--setting-sources user` and `--strict-mcp-config`, the repository's hooks and MCP servers would start
    // with the agent's rights. Stream-json needs `--verbose`.
    let mut arguments = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
        "--setting-sources",
        "user",
        "--strict-mcp-config",
    ]
    .map(String::from)
    .to_vec();
    let mut add = |option: &str, value: &str| arguments.extend([option.to_owned(), value.to_owned()]);
    if let Some(model) = model_of(role).or(model) {
        add("--model", model);
    }
    if let Some(tools) = role.and_then(|role| role.tools.as_deref()) {
        let (given, denied) = tools_of(tools);
        add("--tools", &given.join(","));
        if !denied.is_empty() {
            add("--disallowedTools", &denied.join(","));
        }
    }
    if let Some(words) = words {
        add("--append-system-prompt", words);
    }
    if let Some(session) = session {
        add("--resume", session);
    }
    arguments
}

/// Claude Code's names for the tools that a role has and lacks. `--tools` omits the others; denying them as well holds
/// even if a later version adds them back another way.
fn tools_of(tools: &[Tool]) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut given, mut denied) = (Vec::new(), Vec::new());
    for (tool, names) in [
        (Tool::Read, ["Read", "Glob", "Grep"].as_slice()),
        (Tool::Write, &["Edit", "Write", "NotebookEdit"]),
        (Tool::Run, &["Bash"]),
    ] {
        if tools.contains(&tool) { given.extend(names) } else { denied.extend(names) }
    }
    (given, denied)
}

/// Makes Claude Code read the prompt as plain text. It would attach the file that a word `@path` names, even outside
/// the workspace, and would run a prompt that begins with `/` as its own command.
///
/// Only an `@` that could lead outside gets a zero-width space after it. Decorators, package scopes, quoted imports and
/// mail addresses stay as they are, because the agent may copy them into code.
pub(super) fn harmless(prompt: &str) -> String {
    let mut safe = String::with_capacity(prompt.len() + 16);
    if prompt.trim_start().starts_with('/') {
        safe.push_str("The task:\n\n");
    }
    let mut copied = 0;
    for (at, _) in prompt.match_indices('@') {
        let (before, after) = prompt.split_at(at + 1);
        // A mention starts a word; some scripts' full stops count as space before it.
        let begins_word = before
            .chars()
            .rev()
            .nth(1)
            .is_none_or(|c| c.is_whitespace() || (!c.is_ascii() && !c.is_alphanumeric()));
        if begins_word && may_lead_outside(after) {
            safe.push_str(before.get(copied..).unwrap_or_default());
            safe.push('\u{200b}');
            copied = before.len();
        }
    }
    safe.push_str(prompt.get(copied..).unwrap_or_default());
    safe
}

/// Whether the text after an `@` could name a file outside the workspace. Text too long to check counts as one.
fn may_lead_outside(mention: &str) -> bool {
    let near = mention.get(..mention.floor_char_boundary(LONGEST_TEXT)).unwrap_or(mention);
    let (path, is_end): (&str, fn(char) -> bool) = match near.strip_prefix('"') {
        Some(quoted) => (quoted, |c| c == '"'),
        None => (near, char::is_whitespace),
    };
    let end = path.find(is_end);
    let path = path.get(..end.unwrap_or(path.len())).unwrap_or_default();
    path.starts_with(['/', '~', '\\']) || path.contains("..") || (end.is_none() && near.len() < mention.len())
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_prompt_is_text_and_names_no_file_or_command() {
        for (prompt, safe) in [
            ("look at @/etc/passwd", "look at @\u{200b}/etc/passwd"),
            ("@~/.ssh/id_rsa", "@\u{200b}~/.ssh/id_rsa"),
            ("@../other/file", "@\u{200b}../other/file"),
            ("@src/../../other", "@\u{200b}src/../../other"),
            ("@\"my file/../../x\"", "@\u{200b}\"my file/../../x\""),
            ("@\"/etc/my file\"", "@\u{200b}\"/etc/my file\""),
            ("/context", "The task:\n\n/context"),
            ("  \n/compact now", "The task:\n\n  \n/compact now"),
            ("@property, @types/node, me@example.org", "@property, @types/node, me@example.org"),
            ("see\u{3002}@/etc/passwd", "see\u{3002}@\u{200b}/etc/passwd"),
            ("import x from \"@/components\"", "import x from \"@/components\""),
            ("a@/b @@/c", "a@/b @@/c"),
            ("@\"", "@\""),
            ("@", "@"),
            ("", ""),
        ] {
            assert_eq!(harmless(prompt), safe, "{prompt:?}");
        }
        let long = format!("@{}/..", "é/".repeat(5_000));
        assert!(harmless(&long).starts_with("@\u{200b}"));
    }
}

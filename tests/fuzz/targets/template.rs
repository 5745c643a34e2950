//! A template and its values: arguments, and inputs in frames.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::LazyLock;

use journeyman::agent::{command_name, expand, prompt, repository_paths};
use journeyman::order::commit_message::is_hidden;
use journeyman::order::moves::AgentTask;
use regex::Regex;

use super::{parts, text};

pub const WORDS: &[&str] = &[
    "$ARGUMENTS", "$ARGUMENT", "$1", "$2", "$9", "$0", "$10", "${1}", "${10}", "${",
    "${99999999999999999999}", "\\$", "\\\\$", "$$", "{{stage.key}}", "<untrusted", "</untrusted>",
    "< / UNTRUSTED >", "<untrusted name=\"x\">", "---\n", "---\r\n", "\n%%\n", "\n%%\n$ARGUMENTS",
    "\n%%\n$1",
];

static OPENS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)<\s*untrusted").unwrap());
static CLOSES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)<\s*/\s*untrusted").unwrap());

/// The first part is the template, the others are its values.
pub fn templates(bytes: &[u8]) {
    let mut parts = parts(bytes).into_iter().map(text);
    let template = parts.next().unwrap_or_default();
    let arguments: Vec<String> = parts.collect();
    fills_once(&template, &arguments);
    frames_hold(&template, &arguments);
    if let Ok(name) = command_name(&template) {
        assert!(!name.split('/').any(str::is_empty) && !name.contains(['.', '\\', '\0']));
    }
    for name in arguments.iter().chain([&template]) {
        for path in repository_paths(name, true).into_iter().flatten() {
            assert!(Path::new(&path).components().all(|part| matches!(part, Component::Normal(_))), "{path}");
            assert!(path.len() < 120);
        }
    }
}

/// Values are never expanded again: inserting markers and then replacing them by the values gives the same result.
fn fills_once(template: &str, arguments: &[String]) {
    let filled = expand(template, arguments);
    assert!(filled.warnings.iter().all(|warning| warning.len() <= 200), "{:?}", filled.warnings);
    let mark = |at: usize| format!("\u{f8ff}{at}\u{f8fe}");
    if template.contains(['\u{f8ff}', '\u{f8fe}']) || arguments.concat().contains(['\u{f8ff}', '\u{f8fe}']) {
        return;
    }
    let marks: Vec<String> = (0..arguments.len()).map(mark).collect();
    let mut text = expand(template, &marks).text;
    for (at, argument) in arguments.iter().enumerate() {
        text = text.replace(&mark(at), argument);
    }
    assert_eq!(filled.text, text);
}

/// Foreign text is in frames that it cannot close, and it cannot open others.
fn frames_hold(template: &str, arguments: &[String]) {
    let inputs = |texts: Vec<String>| -> BTreeMap<String, String> {
        texts.into_iter().enumerate().map(|(at, text)| (format!("input_{at}"), text)).collect()
    };
    let task = |arguments: Vec<String>, texts: Vec<String>| AgentTask {
        stage: "s".to_owned(),
        arguments,
        inputs: inputs(texts),
        ..AgentTask::default()
    };
    let frames = |text: &str| {
        let visible: String = text.chars().filter(|c| matches!(*c, '\n' | '\t') || !is_hidden(*c)).collect();
        (OPENS.find_iter(&visible).count(), CLOSES.find_iter(&visible).count())
    };
    // Blank values get no frame.
    let is_blank = |argument: &String| argument.trim().is_empty();
    let plain: Vec<String> =
        arguments.iter().map(|one| if is_blank(one) { one.clone() } else { "x".to_owned() }).collect();
    // A person's own template may do anything with values. Ours do not end in `<`.
    let template = template.replace('<', "(");
    let hostile = prompt(&task(arguments.to_vec(), arguments.to_vec()), &template, "");
    let harmless = prompt(&task(plain.clone(), plain), &template, "");
    assert_eq!(frames(&hostile.text), frames(&harmless.text), "{}", hostile.text);
}

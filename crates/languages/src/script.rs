//! A script that a package manager runs by name, such as `npm test`.

use crate::segments::segments_of;
use crate::words::program_at;

/// A call of a script.
pub(crate) struct ScriptCall {
    /// The words of the call, from the package manager on, as they have to be for more words to follow.
    pub(crate) words: Vec<String>,
    /// The script. Words behind the call are appended to its last command.
    pub(crate) line: String,
    /// What stands between the call and an option of the script.
    pub(crate) between: &'static str,
}

impl ScriptCall {
    /// The words of the last command of the script, from its program on. Empty if they are unknown.
    pub(crate) fn call_words(&self) -> Vec<&str> {
        let last = segments_of(&self.line).and_then(|mut all| all.pop());
        let words = last.filter(|last| last.is_plain).map(|last| last.words).unwrap_or_default();
        words.get(program_at(&words)..).unwrap_or_default().to_vec()
    }
}

/// The text of a script in a manifest such as package.json.
pub(crate) fn script_of(manifest: &[u8], name: &str) -> Option<String> {
    let manifest = crate::text::json(manifest)?;
    Some(manifest.get("scripts")?.get(name)?.as_str()?.to_owned())
}

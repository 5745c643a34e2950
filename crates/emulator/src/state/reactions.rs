//! Reactions: what can be said to an issue or a comment without words, once each by everybody.

/// One that somebody gave.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReaction {
    pub by: u64,
    pub content: &'static str,
}

/// All that there are, with the sign that a page shows.
pub(crate) const CONTENTS: [(&str, &str); 8] = [
    ("+1", "👍"),
    ("-1", "👎"),
    ("laugh", "😄"),
    ("hooray", "🎉"),
    ("confused", "😕"),
    ("heart", "❤️"),
    ("rocket", "🚀"),
    ("eyes", "👀"),
];

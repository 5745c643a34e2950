//! What a script answers.

use serde_json::{Value, json};

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The model speaks: texts and tool calls, in this order. With a tool call in it the client goes on.
    Say(Vec<Say>),
    /// The API has no room, 429, and says when to come back.
    Wait { seconds: u64 },
    /// The API refuses, such as 529 `overloaded_error`.
    Refuse {
        status: u16,
        /// The API's name for it.
        kind: &'static str,
        message: String,
    },
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Say {
    Text(String),
    /// A tool is to be used.
    Use {
        /// Its name, as the client offers it.
        tool: String,
        input: Value,
    },
}

impl Reply {
    /// A text, and the turn is over.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Say(vec![Say::Text(text.into())])
    }

    /// One tool call.
    pub fn tool(tool: &str, input: Value) -> Self {
        Self::Say(vec![Say::Use { tool: tool.to_owned(), input }])
    }

    /// A shell command.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({ "command": command, "description": "Run a command" }))
    }

    /// Reads a file; Claude Code refuses to edit what was not read in the session.
    pub fn read(path: &str) -> Self {
        Self::tool("Read", json!({ "file_path": path }))
    }

    /// Writes a whole file.
    pub fn write(path: &str, content: &str) -> Self {
        Self::tool("Write", json!({ "file_path": path, "content": content }))
    }

    /// Replaces text in a file.
    pub fn edit(path: &str, old: &str, new: &str) -> Self {
        Self::tool("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
    }

    /// The API is overloaded.
    pub fn overloaded() -> Self {
        Self::Refuse { status: 529, kind: "overloaded_error", message: "Overloaded".to_owned() }
    }
}

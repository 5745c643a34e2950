//! A script's answer.

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The model speaks: texts and tool calls, in this order. After a tool call the client continues.
    Say(Vec<Say>),
    /// The API is overloaded, 429, and says when to retry.
    Wait { seconds: u64 },
    /// The API fails, for instance with 529 `overloaded_error`.
    Refuse {
        status: u16,
        /// The API's name for the error.
        kind: &'static str,
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Say {
    Text(String),
    /// A tool call.
    Use {
        /// The tool's name, as the client offers it.
        tool: String,
        input: Value,
    },
}

impl Reply {
    /// A text that ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Say(vec![Say::Text(text.into())])
    }

    pub fn tool(tool: &str, input: Value) -> Self {
        Self::Say(vec![Say::Use { tool: tool.to_owned(), input }])
    }

    /// Runs a shell command.
    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({ "command": command, "description": "Run a command" }))
    }

    /// Reads a file. Claude Code refuses to edit a file that the session has not read.
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

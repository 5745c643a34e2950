//! A client's request.

use serde_json::Value;

/// The path for OpenAI's format.
pub const OPENAI_PATH: &str = "/v1/chat/completions";

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// The program's `User-Agent`.
    pub agent: String,
    /// Whether it had a key; the key itself is not stored.
    pub has_key: bool,
    /// Its JSON body; null if it had none.
    pub body: Value,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub text: String,
    /// Whether the client marks it as failed.
    pub is_error: bool,
}

impl Request {
    /// Whether it is a turn of a conversation rather than a side request: it offers tools, or is Journeyman's own.
    pub fn is_conversation(&self) -> bool {
        let has_tools = self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        match self.path.as_str() {
            "/v1/messages" => has_tools || self.agent.starts_with("journeyman/"),
            path => path == OPENAI_PATH,
        }
    }

    /// Whether the client wants server-sent events.
    pub fn is_streaming(&self) -> bool {
        self.body["stream"] == true
    }

    /// The requested model.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The system prompt, its blocks joined.
    pub fn system(&self) -> String {
        text_of(&self.body["system"])
    }

    /// Names of the offered tools.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// The last prompt: the newest user message that is no tool result, without the client's own reminders.
    pub fn prompt(&self) -> String {
        self.prompts().pop().unwrap_or_default()
    }

    /// All prompts in this conversation, oldest first.
    pub fn prompts(&self) -> Vec<String> {
        self.messages().iter().filter(|message| is_prompt(message)).map(prompt_text).collect()
    }

    /// How many answers the model has given since the last prompt; 0 for a new prompt.
    pub fn step(&self) -> usize {
        self.since_prompt().iter().filter(|message| message["role"] == "assistant").count()
    }

    /// The tools' results since the last prompt, oldest first.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        self.since_prompt()
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| ToolResult { text: text_of(&block["content"]), is_error: block["is_error"] == true })
            .collect()
    }

    /// Whether this text occurs anywhere in the messages: prompts, answers, tools' input and output.
    pub fn remembers(&self, text: &str) -> bool {
        fn find(value: &Value, text: &str) -> bool {
            match value {
                Value::String(string) => string.contains(text),
                Value::Array(list) => list.iter().any(|item| find(item, text)),
                Value::Object(map) => map.values().any(|item| find(item, text)),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
        }
        find(&self.body["messages"], text)
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn since_prompt(&self) -> &[Value] {
        let messages = self.messages();
        messages.iter().rposition(is_prompt).map_or(messages, |at| messages.get(at + 1..).unwrap_or_default())
    }
}

fn is_prompt(message: &Value) -> bool {
    let answers_a_tool = message["content"]
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
    message["role"] == "user" && !answers_a_tool && !prompt_text(message).is_empty()
}

fn prompt_text(message: &Value) -> String {
    match &message["content"] {
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.filter(|text| !is_reminder(text)).collect::<Vec<_>>().join("\n")
        }
        Value::String(text) if !is_reminder(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            String::new()
        }
    }
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>")
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

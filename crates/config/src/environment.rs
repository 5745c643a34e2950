//! The server's environment, and the file that adds to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use journeyman_order::byte_order_mark;
use journeyman_order::names::is_variable;

/// All variables. `Debug` output hides their values. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentVariables(Arc<BTreeMap<String, SecretString>>);

impl EnvironmentVariables {
    /// A variable's value. `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&SecretString> {
        self.0.get(name).filter(|value| !value.expose_secret().trim().is_empty())
    }

    /// Same, as plain text for passing it to a program.
    pub fn value(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.expose_secret().to_owned())
    }
}

impl FromIterator<(String, SecretString)> for EnvironmentVariables {
    fn from_iter<T: IntoIterator<Item = (String, SecretString)>>(variables: T) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

/// Parses lines `NAME=VALUE`, as systemd and container runtimes do. A value may be quoted, and `#` starts a comment
/// line. The error is a line's number, never its text.
pub(super) fn variables_of(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    let text = byte_order_mark::strip(text);
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or(number)?;
        if !is_variable(name) {
            return Err(number);
        }
        let quoted = ['"', '\''].into_iter().find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark));
        variables.push((name.to_owned(), quoted.unwrap_or(value).to_owned()));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_is_read_as_systemd_reads_it() {
        let text = "\u{feff}# the agent's\nANTHROPIC_API_KEY=sk-ant-1=2\n\nA=\"b c\"\nB='d'\nC=\n";
        let read = variables_of(text).unwrap();
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(read, [("ANTHROPIC_API_KEY", "sk-ant-1=2"), ("A", "b c"), ("B", "d"), ("C", "")]);
        for (text, line) in [("sk-ant-1", 1), ("A=1\nexport B=2", 2), ("=1", 1), ("1A=2", 1)] {
            assert_eq!(variables_of(text).unwrap_err(), line, "{text}");
        }
    }
}

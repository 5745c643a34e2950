//! Names that others give: of stages, of roles, of variables of the environment. One parser each.

use std::fmt;

use super::effect_name::ReservedWord;

/// What a stage's or a role's name looks like.
pub const NAME_RULE: &str = "1 to 40 characters of a-z, 0-9, - and _, and no digit after a -";
/// Our own settings, secrets among them, come in under this prefix: no variable of that name is handed to an agent.
pub const OWN_VARIABLES: &str = "JOURNEYMAN_";

/// The name of a stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageName(String);

/// The name of a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleName(String);

/// The name of a variable that is somebody's own, and none of Journeyman's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableName(String);

/// Why something is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// It does not look like one.
    #[error("a name has {NAME_RULE}")]
    Form,
    /// Effects of ours begin with it.
    #[error("it is reserved: effects of Journeyman's own begin with it")]
    Reserved(ReservedWord),
    /// It is not the name of a variable.
    #[error("it is not the name of a variable")]
    Variable,
    /// It is one of Journeyman's own settings.
    #[error("it is Journeyman's own and never passed on to an agent")]
    Own,
}

/// A hyphen before a digit would make the files of `a-1`'s first round those of another stage's: names of effects are
/// numbered that way.
pub(crate) fn is_name(name: &str) -> bool {
    let numbered = name.as_bytes().windows(2).any(|pair| pair[0] == b'-' && pair[1].is_ascii_digit());
    (1..=40).contains(&name.len())
        && !numbered
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

/// What a command's name looks like.
pub const COMMAND_RULE: &str =
    "1 to 60 characters of a-z, A-Z, 0-9, - and _, and / before a file in a folder";

/// Whether a name can be a command template's, which becomes a file's: `bug`, `agent-work-orders/bug`.
pub fn is_command_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    name.len() <= 60 && name.split('/').all(is_part)
}

impl StageName {
    pub fn parse(name: &str) -> Result<Self, NamingError> {
        match ReservedWord::of(name) {
            Some(word) => Err(NamingError::Reserved(word)),
            None if is_name(name) => Ok(Self(name.to_owned())),
            None => Err(NamingError::Form),
        }
    }
}

impl RoleName {
    pub fn parse(name: &str) -> Result<Self, NamingError> {
        if is_name(name) { Ok(Self(name.to_owned())) } else { Err(NamingError::Form) }
    }
}

impl VariableName {
    pub fn parse(name: &str) -> Result<Self, NamingError> {
        let is_variable = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match is_variable {
            false => Err(NamingError::Variable),
            true if name.starts_with(OWN_VARIABLES) => Err(NamingError::Own),
            true => Ok(Self(name.to_owned())),
        }
    }

    /// Whether it can be shown where a key is missing: keys have small letters, so that none gets through as a name.
    pub fn is_of_a_key(&self) -> bool {
        self.0.len() <= 100 && !self.0.bytes().any(|b| b.is_ascii_lowercase())
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_says_why() {
        for name in ["a", "code_reviewer", "a-b", "a1"] {
            assert!(StageName::parse(name).is_ok() && RoleName::parse(name).is_ok(), "{name}");
        }
        for name in ["", "A", "a b", "a-1", "a/b", "../a", &"x".repeat(41)] {
            assert_eq!(StageName::parse(name), Err(NamingError::Form), "{name}");
            assert_eq!(RoleName::parse(name), Err(NamingError::Form), "{name}");
        }
        for word in ReservedWord::ALL {
            assert_eq!(StageName::parse(word.word()), Err(NamingError::Reserved(word)));
        }
        assert_eq!(VariableName::parse("1A"), Err(NamingError::Variable));
        assert_eq!(VariableName::parse("JOURNEYMAN_X"), Err(NamingError::Own));
        assert!(VariableName::parse("API_KEY").is_ok_and(|name| name.is_of_a_key()));
        assert!(VariableName::parse("sk_live").is_ok_and(|name| !name.is_of_a_key()));
    }
}

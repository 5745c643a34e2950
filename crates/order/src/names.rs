//! Names that others give: of stages, of roles, of variables of the environment. One rule each.

/// What a stage's or a role's name looks like.
pub const NAME_RULE: &str = "1 to 40 characters of a-z, 0-9, - and _, and no digit after a -";
/// Our own settings, secrets among them, come in under this prefix: no variable of that name is handed to an agent.
pub const OWN_VARIABLES: &str = "JOURNEYMAN_";

/// Whether it can be the name of a stage, of a role or of an input.
///
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

/// Whether it is the name of a variable at all.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a repository can set a variable to this. PATH and HOME are ours.
pub fn can_be_set(name: &str, value: &str) -> bool {
    let is_ours = matches!(name, "PATH" | "HOME");
    is_variable(name) && !is_ours && name.len() <= 100 && value.len() <= 4_096 && !value.contains('\0')
}

/// Whether it is the name of a variable that can be shown where a key is missing, and none of Journeyman's: keys have small
/// letters, so that none gets through as a name.
pub fn is_variable_of_a_key(name: &str) -> bool {
    is_variable(name)
        && !name.starts_with(OWN_VARIABLES)
        && name.len() <= 100
        && !name.bytes().any(|b| b.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_is_none() {
        for name in ["a", "code_reviewer", "a-b", "a1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "A", "a b", "a-1", "a/b", "../a", &"x".repeat(41)] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_variable("JOURNEYMAN_X") && !is_variable("1A"));
        assert!(is_variable_of_a_key("API_KEY"));
        assert!(!is_variable_of_a_key("sk_live") && !is_variable_of_a_key("JOURNEYMAN_KEY"));
    }
}

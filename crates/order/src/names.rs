//! Names given by others: of stages, roles and environment variables. One rule each.

pub const NAME_RULE: &str = "1 to 40 characters of a-z, 0-9, - and _, and no digit after a -";
/// The prefix of our own settings, including secrets: agents get no variable with this prefix.
pub const OWN_VARIABLES: &str = "JOURNEYMAN_";

/// Whether it is a valid name for a stage, a role or an input.
///
/// Numbers after a hyphen are reserved for effects' file names: `a-1` could collide with the first round of `a`.
pub(crate) fn is_name(name: &str) -> bool {
    let numbered = name.as_bytes().windows(2).any(|pair| pair[0] == b'-' && pair[1].is_ascii_digit());
    (1..=40).contains(&name.len())
        && !numbered
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

pub const COMMAND_RULE: &str =
    "1 to 60 characters of a-z, A-Z, 0-9, - and _, and / before a file in a folder";

/// Whether it is a valid name for a command template, which becomes a file name: `bug`, `agent-work-orders/bug`.
pub fn is_command_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    name.len() <= 60 && name.split('/').all(is_part)
}

pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a repository may set this variable to this value. PATH and HOME are ours.
pub fn can_be_set(name: &str, value: &str) -> bool {
    let is_ours = matches!(name, "PATH" | "HOME");
    is_variable(name) && !is_ours && name.len() <= 100 && value.len() <= 4_096 && !value.contains('\0')
}

/// Whether a name may be shown for a missing key, and is not one of Journeyman's. Keys contain lower-case letters, so a
/// key cannot pass as a name.
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

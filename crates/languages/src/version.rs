//! Versions and version requirements, in the notations of the ecosystems.
//!
//! May know: `>=3.9,<4`, `^18 || >=20`, `20.x`, `~> 3.1`. Must never know: which tool it is about.

use semver::{Comparator, Op, Prerelease, Version};

/// The first version in a text, such as `go version go1.22.1 linux/amd64`. A number with several parts is likelier to
/// be one: `Python3 3.12`.
pub(crate) fn first_version(text: &str) -> Option<&str> {
    let found = pattern!(r"\d+(?:\.\d+)+").find(text).or_else(|| pattern!(r"\d+").find(text))?;
    Some(found.as_str())
}

pub(crate) fn major(version: &str) -> Option<u64> {
    first_version(version)?.split('.').next()?.parse().ok()
}

/// Whether a version meets a requirement. `None` if the notation is unknown, such as `lts/*`.
pub(crate) fn fits(version: &str, wanted: &str) -> Option<bool> {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    let version = Version::new(part(), part(), part());
    let known = wanted.split("||").filter_map(|alternative| fits_all(&version, alternative));
    known.reduce(|one, other| one || other)
}

fn fits_all(version: &Version, wanted: &str) -> Option<bool> {
    let wanted = pattern!(r"^\s*(\S+) - (\S+)\s*$").replace(wanted, ">=$1 <=$2");
    let wanted = pattern!(r"([<>=!~^≥])\s+").replace_all(&wanted, "$1");
    let mut all = wanted.split([',', ' ']).filter(|word| !word.is_empty());
    all.try_fold(true, |fits, word| Some(fits && meets(version, word)?))
}

/// Whether a version meets one comparator.
fn meets(version: &Version, word: &str) -> Option<bool> {
    if matches!(word, "*" | "x" | "latest") {
        return Some(true);
    }
    let found = pattern!(r"^([<>=!~^≥]*)v?(\d+)(?:\.(\d+))?(?:\.(\d+))?").captures(word)?;
    let part = |group| found.get(group)?.as_str().parse::<u64>().ok();
    let sign = found.get(1)?.as_str();
    let op = match sign {
        ">=" | "≥" => Op::GreaterEq,
        ">" => Op::Greater,
        "<=" => Op::LessEq,
        "<" => Op::Less,
        // The last named part may rise.
        "~=" | "~>" if found.get(4).is_none() => Op::Caret,
        "~" | "~=" | "~>" => Op::Tilde,
        "^" => Op::Caret,
        "" | "=" | "==" | "===" | "!=" => Op::Exact,
        _ => return None,
    };
    let asked = Comparator { op, major: part(2)?, minor: part(3), patch: part(4), pre: Prerelease::EMPTY };
    Some(asked.matches(version) != (sign == "!="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_held_against_what_is_wanted() {
        for (version, wanted, expected) in [
            ("v20.20.2", "20", Some(true)),
            ("20.20.2", "v20.1.0", Some(false)),
            ("20.20.2", ">=18", Some(true)),
            ("20.20.2", ">= 18 <20", Some(false)),
            ("20.20.2", "^18 || >=20", Some(true)),
            ("20.20.2", "^18.0.0 || ^22", Some(false)),
            ("20.20.2", "20.x", Some(true)),
            ("20.20.2", "18 - 20", Some(true)),
            ("20.20.2", "lts/*", None),
            ("20.20.2", "lts/iron", None),
            ("Python 3.11.7", ">=3.9,<4", Some(true)),
            ("Python 3.11.7", ">=3.9,<3.11", Some(false)),
            ("Python 3.11.7", "~=3.8", Some(true)),
            ("Python 3.11.7", "~=3.8.1", Some(false)),
            ("Python 3.11.7", ">3.11", Some(false)),
            ("Python 3.11.7", "!=3.11.*", Some(false)),
            ("Python 3.11.7", "^3.8", Some(true)),
            ("Python 3.11.7", "*", Some(true)),
            ("ruby 3.1.2p20 (2022-04-12)", "~> 3.1", Some(true)),
            ("ruby 3.1.2p20", "~> 3.0.1", Some(false)),
            ("go version go1.19.8 linux/amd64", ">=1.21", Some(false)),
            ("0.3.4", "^0.3.1", Some(true)),
            ("0.3.4", "^18446744073709551615 || ~18446744073709551615", Some(false)),
            ("0.4.0", "^0.3.1", Some(false)),
            ("rustc 1.95.0", "stable", None),
        ] {
            let number = first_version(version).unwrap();
            assert_eq!(fits(number, wanted), expected, "{version}: {wanted}");
        }
        assert_eq!(first_version("nothing"), None);
        assert_eq!(first_version("openjdk 17.0.9 2023-10-17"), Some("17.0.9"));
        assert_eq!(major("v20.20.2"), Some(20));
    }
}

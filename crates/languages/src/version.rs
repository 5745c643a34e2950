//! Versions and version requirements, in the notations of the ecosystems.
//!
//! May know: `>=3.9,<4`, `^18 || >=20`, `20.x`, `~> 3.1`. Must never know: which tool it is about.

/// The numbers of a version, without any suffix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VersionNumber(Vec<u64>);

impl VersionNumber {
    /// The first version in a text, such as `go version go1.22.1 linux/amd64`.
    pub(crate) fn first_in(text: &str) -> Option<Self> {
        let starts = |at: usize| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            before.is_none_or(|c| !c.is_ascii_digit() && c != '.')
        };
        let mut digits = text.char_indices().filter(|(at, c)| c.is_ascii_digit() && starts(*at));
        // `Python3 3.12`: a number with several parts is the more likely version.
        let candidates: Vec<Self> =
            digits.by_ref().filter_map(|(at, _)| Self::leading(text.get(at..)?)).take(8).collect();
        candidates.iter().find(|version| version.0.len() > 1).or(candidates.first()).cloned()
    }

    /// The version at the start of a text; `3.x` and `3.*` are 3.
    fn leading(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let numbers: Vec<u64> =
            text.get(..end)?.split('.').map_while(|part| part.parse().ok()).take(4).collect();
        (!numbers.is_empty()).then_some(Self(numbers))
    }

    pub(crate) fn major(&self) -> u64 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Compares as many parts as `prefix` has: 3.12 has prefix 3.
    fn has_prefix(&self, prefix: &Self) -> bool {
        prefix.0.iter().enumerate().all(|(at, part)| self.0.get(at).copied().unwrap_or(0) == *part)
    }

    fn padded(&self) -> [u64; 4] {
        std::array::from_fn(|at| self.0.get(at).copied().unwrap_or(0))
    }

    /// The first `keep` parts, the last one raised: the upper end of a `~` or `^` range.
    fn raised(&self, keep: usize) -> Self {
        let mut parts: Vec<u64> = self.0.iter().copied().chain(std::iter::repeat(0)).take(keep).collect();
        if let Some(last) = parts.last_mut() {
            *last = last.saturating_add(1);
        }
        Self(parts)
    }
}

impl std::fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// Whether a version meets a requirement. `None` if the notation is unknown, such as `lts/*`.
pub(crate) fn fits(version: &VersionNumber, wanted: &str) -> Option<bool> {
    let known = wanted.split("||").filter_map(|alternative| fits_all(version, alternative));
    known.reduce(|one, other| one || other)
}

fn fits_all(version: &VersionNumber, wanted: &str) -> Option<bool> {
    let wanted = wanted.trim();
    if matches!(wanted, "" | "*" | "x" | "latest") {
        return Some(true);
    }
    if let Some((from, to)) = wanted.split_once(" - ") {
        let (from, to) = (VersionNumber::leading(from)?, VersionNumber::leading(to)?);
        return Some(version.padded() >= from.padded() && (*version <= to || version.has_prefix(&to)));
    }
    let mut operator = String::new();
    let mut seen = false;
    for word in wanted.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()) {
        let end = word.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (sign, rest) = word.split_at(end);
        operator.push_str(sign.trim());
        if rest.is_empty() {
            continue;
        }
        seen = true;
        if !comparator(version, &std::mem::take(&mut operator), rest)? {
            return Some(false);
        }
    }
    seen.then_some(true)
}

fn comparator(version: &VersionNumber, operator: &str, text: &str) -> Option<bool> {
    let wanted = VersionNumber::leading(text)?;
    let (is, asked) = (version.padded(), wanted.padded());
    let parts = wanted.0.len();
    let below = |end: VersionNumber| is < end.padded();
    Some(match operator {
        ">=" | "≥" => is >= asked,
        ">" if parts < 3 => is > asked && !version.has_prefix(&wanted),
        ">" => is > asked,
        "<=" => is <= asked || version.has_prefix(&wanted),
        "<" => is < asked,
        "!=" => !version.has_prefix(&wanted),
        // The last named part may rise.
        "~=" | "~>" => is >= asked && below(wanted.raised(parts.saturating_sub(1).max(1))),
        "~" => is >= asked && below(wanted.raised(parts.clamp(1, 2))),
        // The first part that is not zero is fixed.
        "^" => {
            let zeros = wanted.0.iter().take_while(|part| **part == 0).count();
            is >= asked && below(wanted.raised((zeros + 1).min(parts.max(1))))
        }
        "" | "=" | "==" | "===" => version.has_prefix(&wanted),
        _ => return None,
    })
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
            let number = VersionNumber::first_in(version).unwrap();
            assert_eq!(fits(&number, wanted), expected, "{version}: {wanted}");
        }
        assert_eq!(VersionNumber::first_in("nothing"), None);
        assert_eq!(VersionNumber::first_in("openjdk 17.0.9 2023-10-17").unwrap().to_string(), "17.0.9");
    }
}

//! The path that a job requests from a registry, checked before it is appended to the registry's address.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use journeyman_order::bounds::{LONGEST_TEXT, MOST_HOPS};

/// A path below a registry's root, as sent: no server can read it as leading up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegistryPath(String);

impl RegistryPath {
    /// Parses the path after the gateway's prefix and slash.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > LONGEST_TEXT {
            return Err("its path is too long");
        }
        let mut read = text.to_owned();
        for _ in 0..MOST_HOPS {
            check(&read)?;
            let decoded = decoded(&read).ok_or("its path is not text")?;
            if decoded == read {
                return Ok(Self(text.to_owned()));
            }
            read = decoded;
        }
        Err("its path is encoded again and again")
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Removes the prefix of the registry's own address: npm appends the paths of its lock files to the address it was
    /// given.
    pub(super) fn without(&self, root: &str) -> Option<Self> {
        let root = root.strip_prefix('/').unwrap_or(root);
        let rest = self.0.strip_prefix(root).filter(|rest| !root.is_empty() && !rest.is_empty())?;
        Some(Self(rest.to_owned()))
    }

    /// npm's scope, if present.
    pub(super) fn scope(&self) -> Option<String> {
        let decoded = decoded(&self.0)?;
        decoded.split('/').find(|part| part.len() > 1 && part.starts_with('@')).map(str::to_owned)
    }
}

fn check(text: &str) -> Result<(), &'static str> {
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return Err("its path has characters that no path has");
    }
    let leads_up = |part: &str| {
        // Java servers read the part after a semicolon as parameters and ignore it.
        let part = part.split(';').next().unwrap_or_default().trim();
        part == "." || part == ".."
    };
    if text.split(['/', '?', '#']).any(leads_up) {
        return Err("its path leads up");
    }
    if text.starts_with('/') || text.contains("//") {
        return Err("its path has a part without a name");
    }
    Ok(())
}

/// Percent-decodes once; `None` if the result is not text.
fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_of_package_managers_are_taken_as_they_are() {
        for path in [
            "",
            "simple/",
            "simple/wheel-name/",
            "packages/ab/cd/wheel_name-1.0-py3-none-any.whl",
            "@corp%2fwidgets",
            "@corp/widgets/-/widgets-1.0.0.tgz",
            "config.json",
            "se/rd/serde",
            "github.com/!burnt!sushi/toml/@v/v1.0.0+incompatible.zip",
            "org/example/lib/1.0-SNAPSHOT/lib-1.0-20260101.010101-1.jar",
            "..hidden/a..b/...",
            "a%20b",
            "100%",
        ] {
            assert_eq!(RegistryPath::parse(path).map(|path| path.0), Ok(path.to_owned()));
        }
    }

    #[test]
    fn nothing_leads_up_however_it_is_spelled() {
        for path in [
            "..", "../api", "a/../../api", "./a", "a/./b", "%2e%2e/api", "%2E%2e%2fapi", "a%2f..%2f..%2fapi",
            "%252e%252e%252fapi", "%25252525252525252e", "..;/api", "..;a=b/api", "%2e%2e%3b/api",
            "a\\..\\api", "a%5c..%5capi", "a/..?x", "/api", "a//b", "a/%00", "a\nb", "%ff",
        ] {
            assert!(RegistryPath::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn npms_scope_is_found_and_the_address_of_a_lock_file_taken_off() {
        let path = |text: &str| RegistryPath::parse(text).unwrap();
        for (text, scope) in [
            ("@corp%2fwidgets", Some("@corp")),
            ("api/npm/@corp/widgets/-/widgets-1.0.0.tgz", Some("@corp")),
            ("left-pad", None),
            ("a/@/b", None),
        ] {
            assert_eq!(path(text).scope().as_deref(), scope, "{text}");
        }
        let tarball = path("api/npm/x/-/x-1.0.0.tgz");
        assert_eq!(tarball.without("/api/npm/"), Some(path("x/-/x-1.0.0.tgz")));
        assert_eq!(tarball.without("/"), None);
        assert_eq!(tarball.without("/other/"), None);
        assert_eq!(path("npm/").without("/npm/"), None);
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_below_its_root(text in "(\\.\\.|\\.|/|%2e|%2f|%25|;|\\\\|a|@b|\\PC){0,12}") {
            if let Ok(path) = RegistryPath::parse(&text) {
                let root = url::Url::parse("https://corp.example/root/").unwrap();
                let joined = url::Url::parse(&format!("{root}{}", path.as_str()));
                prop_assert!(joined.is_ok_and(|joined| joined.path().starts_with("/root/")), "{}", text);
            }
        }
    }
}

//! Host names: those that are allowed, and those that a job requests.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::addresses::{AddressScope, network_of, scope_of};

const HTTPS: u16 = 443;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host name: lower case, no trailing dot, ASCII, and not an IP address in any spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostName(String);

/// The target of a CONNECT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectTarget {
    pub(super) host: HostName,
    pub(super) port: u16,
}

/// An entry in the list of allowed names.
///
/// `registry.example` is that name, `*.registry.example` every name below it but not itself. The port is 443 unless
/// given: `registry.example:8443`. A name may only resolve to public addresses, unless the entry names a private
/// network: `registry.example at 10.0.0.0/8`. A lone star is every public name. So entries come from the server's
/// settings, never from a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    name: HostName,
    below: bool,
    port: u16,
    within: Option<IpNet>,
    /// Matches every name, but only public addresses.
    any: bool,
}

/// Why an entry is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} names no host that may be reached: {problem}")]
pub struct InvalidAllowedHost {
    entry: String,
    problem: &'static str,
}

impl AllowedHost {
    /// Parses an entry of the settings.
    ///
    /// # Errors
    /// Says what is wrong with the entry.
    pub fn parse(entry: &str) -> Result<Self, InvalidAllowedHost> {
        Self::read(entry.trim()).map_err(|problem| InvalidAllowedHost { entry: entry.to_owned(), problem })
    }

    fn read(entry: &str) -> Result<Self, &'static str> {
        let (entry, within) = match entry.split_once(" at ") {
            None => (entry, None),
            Some((entry, network)) => {
                let network = network_of(network.trim()).ok_or(
                    "after `at` comes the network that its addresses lie in, as 10.0.0.0/8 or fd12::/32",
                )?;
                (entry.trim_end(), Some(network))
            }
        };
        if entry == "*" && within.is_none() {
            return Ok(Self {
                name: HostName(entry.to_owned()),
                below: false,
                port: HTTPS,
                within,
                any: true,
            });
        }
        if entry.contains('/') {
            return Err("a name of a host, without https:// and path");
        }
        let (name, port) = match entry.rsplit_once(':') {
            None => (entry, HTTPS),
            Some((name, port)) => (name, port_of(port).ok_or("after the colon comes a port")?),
        };
        let (below, name) = name.strip_prefix("*.").map_or((false, name), |name| (true, name));
        if name.contains('*') {
            return Err("a star stands for whole names in front only, as in *.registry.example");
        }
        let ascii = url::Host::parse(name.trim_end_matches('.')).map_err(|_| "that is no name of a host")?;
        let name = match ascii {
            url::Host::Domain(name) => HostName::parse(&name)?,
            url::Host::Ipv4(_) | url::Host::Ipv6(_) => return Err(AN_ADDRESS),
        };
        if below && !name.0.contains('.') {
            return Err("everything below a name of one word is too much");
        }
        Ok(Self { name, below, port, within, any: false })
    }

    /// This exact name, at public addresses or in this network.
    pub(super) fn to_look_up(name: HostName, within: Option<IpNet>) -> Self {
        Self { name, below: false, port: HTTPS, within, any: false }
    }

    pub(super) fn allows(&self, target: &ConnectTarget) -> bool {
        let host = if self.below {
            let above = target.host.0.strip_suffix(self.name.0.as_str());
            above.is_some_and(|above| above.ends_with('.'))
        } else {
            target.host == self.name
        };
        (host || self.any) && self.port == target.port
    }

    /// Why this entry's names may not resolve to an address.
    pub(super) fn objection(&self, address: IpAddr) -> Option<&'static str> {
        match scope_of(address) {
            AddressScope::Public => None,
            AddressScope::Private(_) if self.within.is_some_and(|network| network.contains(&address)) => None,
            AddressScope::Private(why) | AddressScope::Forbidden(why) => Some(why),
        }
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.below { "*." } else { "" })?;
        out.write_str(&self.name.0)?;
        if self.port != HTTPS {
            write!(out, ":{}", self.port)?;
        }
        self.within.map_or(Ok(()), |network| write!(out, " at {network}"))
    }
}

const AN_ADDRESS: &str =
    "an address and no name: names are allowed, and the addresses that they lead to checked";

impl HostName {
    /// Parses a name as received.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err("a name of a host has 1 to 253 characters");
        }
        if text.starts_with('[')
            || name.contains(':')
            || is_number(name.rsplit('.').next().unwrap_or_default())
        {
            return Err(AN_ADDRESS);
        }
        let is_label = |label: &str| {
            (1..=LONGEST_LABEL).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if !name.split('.').all(is_label) {
            return Err("a name of a host is made of letters, digits and hyphens between dots");
        }
        Ok(Self(name))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name with a numeric last label parses as an IPv4 address: `127.1`, `2130706433`, `0x7f.1`.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || (!label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()))
}

fn port_of(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

impl ConnectTarget {
    /// Parses the `host:port` of a CONNECT.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, port) = text.rsplit_once(':').ok_or("CONNECT needs host:port")?;
        let port = port_of(port).ok_or("CONNECT needs host:port")?;
        Ok(Self { host: HostName::parse(host)?, port })
    }
}

impl fmt::Display for ConnectTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.host.0, self.port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(entry: &str, target: &str) -> bool {
        let entry = AllowedHost::parse(entry).unwrap();
        ConnectTarget::parse(target).is_ok_and(|target| entry.allows(&target))
    }

    #[test]
    fn an_entry_allows_its_name_and_no_other() {
        for (entry, target, allowed) in [
            ("registry.example", "registry.example:443", true),
            ("registry.example", "REGISTRY.Example.:443", true),
            ("Registry.Example.", "registry.example:443", true),
            ("registry.example", "registry.example:80", false),
            ("registry.example", "registry.example:8443", false),
            ("registry.example:8443", "registry.example:8443", true),
            ("registry.example:8443", "registry.example:443", false),
            ("registry.example", "evilregistry.example:443", false),
            ("registry.example", "registry.example.evil.example:443", false),
            ("registry.example", "a.registry.example:443", false),
            ("registry.example", "registry.example..:443", false),
            ("*.registry.example", "a.registry.example:443", true),
            ("*.registry.example", "a.b.registry.example:443", true),
            ("*.registry.example", "registry.example:443", false),
            ("*.registry.example", ".registry.example:443", false),
            ("*.registry.example", "aregistry.example:443", false),
            ("*.registry.example", "*.registry.example:443", false),
            ("bücher.example", "xn--bcher-kva.example:443", true),
            ("xn--bcher-kva.example", "xn--bcher-kva.example:443", true),
            ("bücher.example", "bücher.example:443", false),
            ("registry.example", "user@registry.example:443", false),
            ("registry.example", "registry.example\0.evil.example:443", false),
            ("registry.example", "registry.example:+443", false),
            ("registry.example", "registry.example", false),
        ] {
            assert_eq!(allows(entry, target), allowed, "{entry} {target}");
        }
    }

    #[test]
    fn an_address_is_no_name_however_it_is_spelled() {
        for spelled in [
            "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "127.0.0.1.", "0x",
            "[::1]", "[::ffff:127.0.0.1]", "::1", "[fe80::1%25eth0]", "1.1.1.1", "a.1", "registry.0x1f",
        ] {
            assert!(ConnectTarget::parse(&format!("{spelled}:443")).is_err(), "{spelled}");
            assert!(AllowedHost::parse(spelled).is_err(), "{spelled}");
        }
        assert!(ConnectTarget::parse("1.example:443").is_ok());
        assert!(ConnectTarget::parse("3com:443").is_ok());
    }

    #[test]
    fn a_wrong_entry_says_what_is_wrong_with_it() {
        for (entry, problem) in [
            ("https://registry.example/", "without https://"),
            ("registry.example/path", "without https://"),
            ("* at 10.0.0.0/8", "star"),
            ("*.*.example", "star"),
            ("reg*.example", "star"),
            ("*.example", "too much"),
            ("registry.example:", "port"),
            ("registry.example:0", "port"),
            ("registry.example:99999", "port"),
            ("127.0.0.1", "an address"),
            ("a b.example", "no name"),
            ("", "no name"),
            ("registry.example at home", "after `at`"),
        ] {
            let error = AllowedHost::parse(entry).unwrap_err().to_string();
            assert!(error.contains(problem), "{entry}: {error}");
        }
    }

    #[test]
    fn an_entry_opens_a_network_of_ones_own_and_never_this_machine() {
        let plain = AllowedHost::parse("registry.example").unwrap();
        let near = AllowedHost::parse("registry.example:8443 at 10.0.0.0/8").unwrap();
        let all = AllowedHost::parse("registry.example at 0.0.0.0/0").unwrap();
        for (address, by_plain, by_near, by_all) in [
            ("1.1.1.1", true, true, true),
            ("10.1.2.3", false, true, true),
            ("192.168.0.1", false, false, true),
            ("::ffff:10.1.2.3", false, false, false),
            ("127.0.0.1", false, false, false),
            ("169.254.169.254", false, false, false),
            ("100.100.100.200", false, false, false),
        ] {
            let address = address.parse().unwrap();
            let passes = [&plain, &near, &all].map(|entry| entry.objection(address).is_none());
            assert_eq!(passes, [by_plain, by_near, by_all], "{address}");
        }
        assert_eq!(near.to_string(), "registry.example:8443 at 10.0.0.0/8");
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_a_name_or_none(text in "\\PC{0,40}", host in "[a-z0-9.x:\\[\\]-]{0,30}") {
            let _ = (AllowedHost::parse(&text), ConnectTarget::parse(&text));
            if let Ok(target) = ConnectTarget::parse(&format!("{host}:443")) {
                prop_assert!(url::Host::parse(target.host.as_str())
                    .map_or(true, |host| matches!(host, url::Host::Domain(_))));
                prop_assert_eq!(&ConnectTarget::parse(&target.to_string()).unwrap(), &target);
            }
        }

        #[test]
        fn an_entry_is_read_back_from_what_is_shown(
            name in "(\\*\\.)?[a-z]{1,5}\\.[a-z]{1,5}(:[1-9][0-9]{1,3})?( at 10\\.0\\.0\\.0/8)?"
        ) {
            let entry = AllowedHost::parse(&name).unwrap();
            prop_assert_eq!(AllowedHost::parse(&entry.to_string()).unwrap(), entry);
        }
    }
}

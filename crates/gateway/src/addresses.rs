//! The addresses that a name may resolve to: public ones, and none near this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The scope of an address, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressScope {
    /// Reachable for everybody.
    Public,
    /// In a private network, with its kind. Only for entries that allow it with `at`.
    Private(&'static str),
    /// This machine, its link, or a cloud's metadata service: never allowed.
    Forbidden(&'static str),
}

/// Parses a network such as `10.0.0.0/8`, or a single address.
pub(super) fn network_of(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix))
}

const fn v6(segments: [u16; 8], prefix: u8) -> IpNet {
    let [a, b, c, d, e, f, g, h] = segments;
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix))
}

/// Clouds hand out credentials here. Checked first: some are in networks that an entry may open.
const METADATA: &[IpNet] = &[
    v4(169, 254, 169, 254, 32),
    v4(168, 63, 129, 16, 32),
    v4(100, 100, 100, 200, 32),
    v4(192, 0, 0, 192, 32),
    v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0], 32),
    v6([0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0], 32),
];

const NEVER: &[(IpNet, &str)] = &[
    (v4(0, 0, 0, 0, 8), "is unspecified"),
    (v4(127, 0, 0, 0, 8), "is a loopback address"),
    (v4(169, 254, 0, 0, 16), "is a link-local address"),
    (v4(224, 0, 0, 0, 4), "is a multicast address"),
    (v4(255, 255, 255, 255, 32), "is the broadcast address"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "is unspecified"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "is a loopback address"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "is a link-local address"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "is a multicast address"),
];

/// Excludes the IPv4 documentation addresses (203.0.113.0/24 and others): nobody owns them. If they respond, the
/// network's operator set that up, such as a proxy that answers for every name.
const NEAR: &[(IpNet, &str)] = &[
    (v4(10, 0, 0, 0, 8), "is a private address"),
    (v4(172, 16, 0, 0, 12), "is a private address"),
    (v4(192, 168, 0, 0, 16), "is a private address"),
    (v4(100, 64, 0, 0, 10), "is shared behind a carrier's NAT"),
    (v4(192, 0, 0, 0, 24), "is reserved for protocols"),
    (v4(192, 88, 99, 0, 24), "is reserved for protocols"),
    (v4(198, 18, 0, 0, 15), "is an address of measurements"),
    (v4(240, 0, 0, 0, 4), "is reserved"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "is a private address"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "is a private address"),
    (v6([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32), "is an address of documentation"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "is an address of documentation"),
    // Teredo and others, which can embed any IPv4 address.
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "is reserved for protocols"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "is a tunnel to an IPv4 address"),
];

/// All globally allocated addresses.
const GLOBAL_V6: IpNet = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
/// An IPv4 address mapped into IPv6 or by NAT64. The embedded address decides.
const HOLDING_V4: [IpNet; 2] =
    [v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), v6([0x0064, 0xff9b, 0, 0, 0, 0, 0, 0], 96)];

pub(super) fn scope_of(address: IpAddr) -> AddressScope {
    let address = without_wrapping(address);
    if METADATA.iter().any(|network| network.contains(&address)) {
        return AddressScope::Forbidden("hands out this machine's own credentials");
    }
    let named = |table: &[(IpNet, &'static str)]| {
        table.iter().find(|(network, _)| network.contains(&address)).map(|(_, why)| *why)
    };
    if let Some(why) = named(NEVER) {
        return AddressScope::Forbidden(why);
    }
    if let Some(why) = named(NEAR) {
        return AddressScope::Private(why);
    }
    match address {
        IpAddr::V4(_) => AddressScope::Public,
        IpAddr::V6(_) if GLOBAL_V6.contains(&address) => AddressScope::Public,
        IpAddr::V6(_) => AddressScope::Forbidden("is not an address that everybody can reach"),
    }
}

fn without_wrapping(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(wrapped) if HOLDING_V4.iter().any(|network| network.contains(&address)) => {
            let [.., a, b, c, d] = wrapped.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(address: &str) -> AddressScope {
        scope_of(address.parse().unwrap())
    }

    #[test]
    fn what_is_near_this_machine_is_told_from_what_everybody_can_reach() {
        for public in ["1.1.1.1", "9.255.255.255", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1"] {
            assert_eq!(place(public), AddressScope::Public, "{public}");
        }
        for public in ["2606:4700::1111", "2a00:1450::1", "64:ff9b::1.1.1.1", "::ffff:1.1.1.1", "2001:200::1"]
        {
            assert_eq!(place(public), AddressScope::Public, "{public}");
        }
        for near in [
            "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
            "198.18.0.1", "240.0.0.1", "192.0.0.8", "fd12::1", "fc00::1", "2001:db8::1", "3fff::1",
            "2001::1", "2002:7f00:1::", "2002:0a00:1::", "::ffff:10.0.0.1", "64:ff9b::192.168.0.1",
            "fec0::1",
        ] {
            assert!(matches!(place(near), AddressScope::Private(_)), "{near}");
        }
        for never in [
            "127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "224.0.0.1",
            "239.255.255.255", "255.255.255.255", "168.63.129.16", "100.100.100.200", "192.0.0.192",
            "fd00:ec2::254", "fd20:ce::254", "::", "::1", "fe80::1", "febf::1", "ff02::1",
            "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
            "::127.0.0.1", "::a00:1", "64:ff9b:1::1", "100::1", "5f00::1", "4000::1",
        ] {
            assert!(matches!(place(never), AddressScope::Forbidden(_)), "{never}");
        }
    }

    #[test]
    fn a_network_holds_its_own_family_only() {
        let network = network_of("10.1.0.0/16").unwrap();
        for (address, holds) in
            [("10.1.255.1", true), ("10.2.0.1", false), ("::ffff:10.1.0.1", false), ("a01::", false)]
        {
            assert_eq!(network.contains(&address.parse::<IpAddr>().unwrap()), holds, "{address}");
        }
        for (all, one) in [("0.0.0.0/0", "9.9.9.9"), ("::/0", "9::9"), ("9.9.9.9", "9.9.9.9")] {
            assert!(network_of(all).unwrap().contains(&one.parse::<IpAddr>().unwrap()), "{all}");
        }
        for wrong in ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "host/8", "::/129", "10.0.0.0/8/8"] {
            assert_eq!(network_of(wrong), None, "{wrong}");
        }
    }

    proptest! {
        /// The standard library knows some of these ranges: none that it calls local is public here.
        #[test]
        fn nothing_near_is_public(bits in any::<u32>(), wide in any::<u128>()) {
            let four = Ipv4Addr::from_bits(bits);
            let near = four.is_private() || four.is_loopback() || four.is_link_local() || four.is_multicast()
                || four.is_broadcast() || four.is_unspecified();
            prop_assert!(!near || scope_of(four.into()) != AddressScope::Public);
            prop_assert_eq!(scope_of(four.to_ipv6_mapped().into()), scope_of(four.into()));
            let six = Ipv6Addr::from_bits(wide);
            let near = six.is_loopback() || six.is_multicast() || six.is_unicast_link_local()
                || six.is_unique_local() || six.is_unspecified();
            prop_assert!(!near || scope_of(six.into()) != AddressScope::Public);
        }
    }
}

//! A job in a user's place: what tells it that it is in a sandbox.

use super::*;

fn user(name: &str) -> JobUser {
    JobUser { name: name.to_owned(), host: "komirata".to_owned() }
}

/// Looks at the network as a hostile change would, and tries to leave by it.
const NETWORK: &str = "import errno, fcntl, socket, struct
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def told(request, value=0):
    return fcntl.ioctl(asks, request, struct.pack('16sH238s', b'eth0', value, b''))
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFADDR, UP_AND_RUNNING = 0x8913, 0x8914, 0x8915, 0x41
own = socket.inet_ntoa(told(SIOCGIFADDR)[20:24])
print(own)
print(*sorted(name for _, name in socket.if_nameindex()))
print(struct.unpack('H', told(SIOCGIFFLAGS)[16:18])[0] & UP_AND_RUNNING == UP_AND_RUNNING)
def tried(what, *of):
    try:
        what(*of)
        print('done')
    except OSError as e:
        print(errno.errorcode[e.errno])
tried(told, SIOCSIFFLAGS)
near = own.rsplit('.', 1)[0] + '.1'
for family, address in [(socket.AF_INET, own), (socket.AF_INET, near), (socket.AF_INET, '192.0.2.1'),
                        (socket.AF_INET, '169.254.169.254'), (socket.AF_INET6, 'fd00:ec2::254')]:
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(3)
    tried(s.connect, (address, 80))";

/// The address that a job sees of itself.
async fn address(place: &SandboxFixture, name: &str, joins: Option<SharedNetwork>) -> String {
    let mut job = place.job(&["python3", "-c", NETWORK]);
    (job.user, job.joins) = (user(name), joins);
    let (_, out, err) = place.run(job).await;
    let (address, rest) = out.split_once('\n').unwrap_or_else(|| panic!("{err}"));
    let refused = "EPERM\nECONNREFUSED\nENETUNREACH\nENETUNREACH\nENETUNREACH\nENETUNREACH";
    let rest = rest.replace("EADDRNOTAVAIL", "ENETUNREACH");
    assert_eq!(rest, format!("eth0 lo wlan0\nTrue\n{refused}"), "{err}");
    address.to_owned()
}

#[tokio::test]
async fn in_a_users_place_there_are_interfaces_and_no_network() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let own = address(&place, "bedevo", None).await;
        assert!(own.starts_with("192.168."), "{own}");
        assert_eq!(address(&place, "bedevo", None).await, own, "runs on two commits may be compared");
        assert_ne!(address(&place, "kosami", None).await, own, "and no change can know it");
        let network = place.sandbox.shared_network(Vec::new()).await.unwrap();
        for _ in 0..2 {
            let joined = address(&place, "bedevo", Some(network.clone())).await;
            assert_eq!(joined, own, "the second job finds the interfaces of the first");
        }
    }
    if !is_again() {
        again("users::in_a_users_place_there_are_interfaces_and_no_network", true, &[]);
    }
}

#[tokio::test]
async fn the_hosts_own_network_gets_no_interface() {
    let here = || {
        let entries = fs::read_dir("/sys/class/net").unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let before = here();
        let mut job = place.job(&["true"]);
        (job.user, job.network) = (user("bedevo"), SandboxNetwork::Host);
        assert_eq!(place.run(job).await.0.exit, Exit::Code(0));
        assert_eq!(here(), before);
    }
}

/// Everything that tells names, except for the program of each process.
const NAMES: &str = "
    cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm /proc/[0-9]*/environ /proc/[0-9]*/cgroup /proc/[0-9]*/mounts \
        /proc/[0-9]*/mountinfo /proc/sys/kernel/hostname /etc/passwd /etc/group /etc/hosts 2>/dev/null | tr '\\0' '\\n'
    readlink /proc/[0-9]*/fd/*
    ls -a / /run /tmp /var/tmp . ..
    env";

#[tokio::test]
async fn nothing_in_a_users_place_has_our_name() {
    for mode in walls() {
        for (who, expected) in
            [(JobUser::default(), vec!["journeyman", "bwrap"]), (user("bedevo"), Vec::new())]
        {
            let place = SandboxFixture::new(mode).await;
            let stack = |name: &str| {
                let [lower, upper, work] = ["lower", "upper", "work"].map(|part| {
                    let folder = place.path("journeyman").join(name).join(part);
                    fs::create_dir_all(&folder).unwrap();
                    folder
                });
                LayerStack { at: place.path(name), lower: vec![lower], upper, work }
            };
            let mut job = place.job(&["sh", "-c", NAMES]);
            job.layers = ["work", "home"].map(stack).to_vec();
            job.relocations = [("work", "/home/bedevo/code"), ("home", "/home/bedevo")]
                .map(|(host, inside)| Relocation { host: place.path(host), inside: inside.into() })
                .to_vec();
            job.user = who;
            let (_, out, err) = place.run(job).await;
            assert!(out.contains("/home/bedevo/code") && out.contains("overlay"), "{out} {err}");
            let names = ["journeyman", "bubblewrap", "bwrap"];
            let found: Vec<_> = names.into_iter().filter(|name| out.to_lowercase().contains(name)).collect();
            assert_eq!(found, expected, "{out}");
        }
    }
}

//! Servers that have too much to do: they are waited for, and a commit is never half fetched because of them.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::*;
use crate::GitErrorKind;
use crate::large_files::batch::LargeFileServer;
use journeyman_order::OutgoingNetwork;

fn id(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn house() -> House {
    let house = House::new(&[
        (".gitattributes", ATTRIBUTES),
        ("a.bin", &pointer_to(b"a content")),
        ("b.bin", &pointer_to(b"another one")),
    ]);
    house.host.put(b"a content");
    house.host.put(b"another one");
    house
}

#[test]
fn a_host_that_has_too_much_to_do_is_asked_three_times_and_then_waited_for() {
    for given in [
        Given::Busy(Some(429)),
        Given::Busy(Some(503)),
        Given::Busy(None),
        Given::Refused(429),
        Given::Refused(503),
    ] {
        let house = house();
        house.host.give(&id(b"a content"), given.clone());
        let error = house.fetch().unwrap_err();
        assert_eq!(error.kind, GitErrorKind::Unavailable, "{error}");
        let is_of_batch = matches!(given, Given::Refused(_));
        let asked = house.host.heard();
        let of_it = |line: &&String| match is_of_batch {
            true => line.starts_with("POST "),
            false => line.contains(&id(b"a content")),
        };
        let asked = asked.iter().filter(of_it).count();
        assert!(asked >= 3, "{asked}: {error}");
        // Nothing says that it is not to be had: who needs the commit has to fetch it first.
        assert!(!house.workspaces.has_large_files(&house.repository, &house.commit).unwrap());
        house.host.put(b"a content");
        house.fetch().unwrap();
        assert!(house.workspaces.has_large_files(&house.repository, &house.commit).unwrap());
        assert_eq!(house.missing(), Vec::<String>::new());
    }
}

#[test]
fn what_a_server_has_is_fetched_beside_what_it_has_no_time_for() {
    let house = house();
    house.host.give(&id(b"a content"), Given::Refused(503));
    assert!(house.fetch().unwrap_err().message.contains("answers 503 for some of them"));
    assert_eq!(house.missing(), ["a.bin: it was not fetched"]);
}

#[test]
fn an_answer_that_is_a_refusal_is_named_and_not_waited_for() {
    for status in [403, 404, 410, 422] {
        let house = house();
        house.host.give(&id(b"a content"), Given::Busy(Some(status)));
        house.host.give(&id(b"another one"), Given::Refused(status));
        house.fetch().unwrap();
        let missing = house.missing();
        assert!(missing[0].starts_with(&format!("a.bin: localhost answers {status}")), "{missing:?}");
        assert!(missing[1].starts_with("b.bin: its server "), "{missing:?}");
    }
}

#[test]
fn a_host_that_is_never_reached_is_named() {
    let house = house();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    house.host.give(&id(b"a content"), Given::Link(format!("http://{nobody}/x")));
    house.fetch().unwrap();
    let missing = house.missing();
    assert!(missing[0].starts_with("a.bin: 127.0.0.1 is not reached"), "{missing:?}");
}

#[test]
fn a_host_that_resets_each_handshake_is_named_and_not_waited_for() {
    let house = house();
    let firewall = TcpListener::bind("127.0.0.1:0").unwrap();
    let link = format!("https://{}/x", firewall.local_addr().unwrap());
    std::thread::spawn(move || firewall.incoming().for_each(drop));
    house.host.give(&id(b"a content"), Given::Link(link));
    house.fetch().unwrap();
    let missing = house.missing();
    assert!(missing[0].starts_with("a.bin: 127.0.0.1 is not reached"), "{missing:?}");
}

#[test]
fn where_the_time_is_over_nothing_is_given_up_that_somebody_busy_kept_waiting() {
    for (status, is_given_up) in [(503, false), (410, true)] {
        let house = house();
        house.host.give(&id(b"a content"), Given::Refused(status));
        let server = LargeFileServer {
            url: format!("http://127.0.0.1:{}/octo/sums.git/info/lfs", house.host.port).parse().unwrap(),
            token: None,
            outgoing: &OutgoingNetwork::default(),
            is_given_up: &AtomicBool::new(false),
            until: Instant::now(),
            was_busy: AtomicBool::new(false),
        };
        let mirror = house.workspaces.mirror(&house.repository).unwrap();
        let files = house.workspaces.large_files_of(&house.repository, &mirror, &house.commit).unwrap();
        let wanted: Vec<_> = files.pointers().values().cloned().collect();
        assert_eq!(server.bring(&files.store, &wanted).unwrap().is_ok(), is_given_up);
        let missing = house.missing();
        assert_eq!(missing[1].contains("in 20 minutes"), is_given_up, "{missing:?}");
    }
}

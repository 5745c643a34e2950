//! Overloaded servers: they are retried later, and a commit is never left half fetched.

use super::*;
use crate::GitErrorKind;

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
fn a_host_that_has_too_much_to_do_is_asked_again_later() {
    for given in [
        Given::Busy(Some(429)),
        Given::Busy(Some(503)),
        Given::Busy(None),
        Given::Refused(429),
        Given::Refused(503),
    ] {
        let house = house();
        house.host.give(&id(b"a content"), given);
        let error = house.fetch().unwrap_err();
        assert_eq!(error.kind, GitErrorKind::Unavailable, "{error}");
        // Nothing is recorded as unavailable: the commit must be fetched before it is used.
        assert!(!house.workspaces.has_large_files(&house.repository, &house.commit).unwrap());
        house.host.put(b"a content");
        house.fetch().unwrap();
        assert!(house.workspaces.has_large_files(&house.repository, &house.commit).unwrap());
        assert_eq!(house.missing(), Vec::<String>::new());
    }
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

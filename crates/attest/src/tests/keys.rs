//! A key that others could have read signs nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::super::{Envelope, KeyError, PublicKey, SigningKey, SigningKeyOrigin};
use super::{signed, verified};

/// Made by openssl: a key, and its signature of DSSE's example.
const OPENSSL_PRIVATE: &str = "MC4CAQAwBQYDK2VwBCIEIEeHE70wfOHpKUn2rG4Dm9TG5OIIi+qynHKTt+5FRReZ";
const OPENSSL_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAtX85pA8LrOyIzQJJGnQRDbB6YDFED/y1IPN9izDzhbQ=
-----END PUBLIC KEY-----
";
const OPENSSL_KEYID: &str = "95406db9a427a693062b3b8bc43da4c299cb236a64e1028781f8973f2cccb708";
const EXAMPLE: &[u8] = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
const OPENSSL_SIGNATURE: &str =
    "ybrStWU0CCQ21yw86BIPHOQmVFsVYgD3yWYRiVqxQ7i3t1TF99ZfBgtRbhvL863X7ZYOGHgDXCMQJEEpVAl4Dg==";

fn put(data: &Path, text: &str, mode: u32) {
    let path = data.join("receipt-key.pem");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Assembled here, so that secret scanners do not report this file.
fn private_pem(der: &str) -> String {
    let label = "PRIVATE KEY";
    format!("-----BEGIN {label}-----\n{der}\n-----END {label}-----\n")
}

#[test]
fn a_key_is_made_once_and_for_its_owner_alone() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let (made, origin) = SigningKey::open_or_make(&data).unwrap();
    assert_eq!(origin, SigningKeyOrigin::Made);
    let about = fs::metadata(data.join("receipt-key.pem")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    let (found, origin) = SigningKey::open_or_make(&data).unwrap();
    assert_eq!((origin, found.public()), (SigningKeyOrigin::Found, made.public()));
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(format!("{made:?}"), format!("SigningKey({})", made.public().id()));
}

#[test]
fn of_many_who_make_it_at_the_same_time_one_wins() {
    let place = tempfile::tempdir().unwrap();
    let keys: Vec<PublicKey> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| *SigningKey::open_or_make(place.path()).unwrap().0.public()))
            .collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let place = tempfile::tempdir().unwrap();
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
        put(place.path(), &private_pem(OPENSSL_PRIVATE), mode);
        let error = SigningKey::open_or_make(place.path()).unwrap_err();
        assert!(matches!(error, KeyError::Exposed { .. }), "{mode:o}: {error}");
        assert!(error.to_string().contains(&format!("mode {mode:o}")), "{error}");
        assert!(!format!("{error} {error:?}").contains(OPENSSL_PRIVATE));
    }
    put(place.path(), &private_pem(OPENSSL_PRIVATE), 0o400);
    assert!(SigningKey::open_or_make(place.path()).is_ok());
}

#[test]
fn a_link_or_a_folder_in_a_keys_place_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    put(elsewhere.path(), &private_pem(OPENSSL_PRIVATE), 0o600);
    symlink(elsewhere.path().join("receipt-key.pem"), place.path().join("receipt-key.pem")).unwrap();
    assert!(SigningKey::open_or_make(place.path()).is_err());
    fs::remove_file(place.path().join("receipt-key.pem")).unwrap();
    fs::create_dir(place.path().join("receipt-key.pem")).unwrap();
    assert!(SigningKey::open_or_make(place.path()).is_err());
}

#[test]
fn a_broken_key_is_not_replaced() {
    let place = tempfile::tempdir().unwrap();
    let cut = private_pem(&OPENSSL_PRIVATE[..40]);
    for text in ["", "a note", &cut, OPENSSL_PUBLIC, &private_pem(OPENSSL_PRIVATE).repeat(2)] {
        put(place.path(), text, 0o600);
        let error = SigningKey::open_or_make(place.path()).unwrap_err();
        assert!(matches!(error, KeyError::Malformed { .. }), "{text:?}: {error}");
        assert_eq!(fs::read_to_string(place.path().join("receipt-key.pem")).unwrap(), text);
    }
}

#[test]
fn openssl_and_we_understand_each_other() {
    let place = tempfile::tempdir().unwrap();
    put(place.path(), &private_pem(OPENSSL_PRIVATE), 0o600);
    let (key, _) = SigningKey::open_or_make(place.path()).unwrap();
    assert_eq!(key.public().to_pem(), OPENSSL_PUBLIC);
    assert_eq!(key.public().id().to_string(), OPENSSL_KEYID, "sha256sum of the key's DER");
    let signature = STANDARD.decode(OPENSSL_SIGNATURE).unwrap();
    assert!(key.public().has_signed(EXAMPLE, &signature));
    assert_eq!(key.sign(EXAMPLE).unwrap(), signature);
}

#[test]
fn a_file_can_hold_the_keys_of_before_as_well() {
    let (old, new) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let text = format!("until May:\n{}\nsince:\n{}", old.public().to_pem(), new.public().to_pem());
    let keys = PublicKey::read_pem(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!(keys, [*old.public(), *new.public()]);
    for key in [&old, &new] {
        let envelope = Envelope::parse(signed(&verified(), key).to_json().as_bytes()).unwrap();
        assert_eq!(envelope.verify(&keys).unwrap().1, key.public().id());
    }
}

#[test]
fn a_text_without_a_key_is_no_key() {
    let x25519 = OPENSSL_PUBLIC.replace("MCowBQYDK2Vw", "MCowBQYDK2Vu");
    let unended = OPENSSL_PUBLIC.replace("END", "FIN");
    let long = OPENSSL_PUBLIC.replace("hbQ=", "hbQAAAA=");
    let many = OPENSSL_PUBLIC.repeat(33);
    for text in ["", "ssh-ed25519 AAAA me@example.org", &x25519, &unended, &long, &many] {
        assert!(PublicKey::read_pem(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_chokes_the_reader_of_keys(text in "(-----(BEGIN|END) PUBLIC KEY-----|[A-Za-z0-9=\n -]){0,40}") {
        let _ = PublicKey::read_pem(&text);
        let _ = PublicKey::read_pem(&format!("{OPENSSL_PUBLIC}{text}"));
    }
}

//! Only what was signed is read.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::envelope::pre_authentication_encoding;
use super::super::{
    AttestationResult, Envelope, EnvelopeError, SigningError, SigningKey, StatementError, VerifyError,
};
use super::{COMMIT, TREE, signed, time, verified, verifier};
use journeyman_order::Receipt;

static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::generate().unwrap());

/// An envelope and its payload, both as JSON values.
fn opened(envelope: &Envelope) -> (Value, Value) {
    let outer: Value = serde_json::from_str(&envelope.to_json()).unwrap();
    let payload = STANDARD.decode(outer["payload"].as_str().unwrap()).unwrap();
    (outer, serde_json::from_slice(&payload).unwrap())
}

/// Anybody's statement signed with our key, as a thief of the key or a later version could make it.
fn sealed(statement: &Value) -> Envelope {
    Envelope::seal(statement.to_string().into_bytes(), &KEY).unwrap()
}

fn parse(value: &Value) -> Result<Envelope, EnvelopeError> {
    Envelope::parse(value.to_string().as_bytes())
}

#[test]
fn what_is_signed_is_encoded_as_dsse_says() {
    let encoded =
        |kind: &str, payload: &[u8]| String::from_utf8(pre_authentication_encoding(kind, payload)).unwrap();
    assert_eq!(
        encoded("http://example.com/HelloWorld", b"hello world"),
        "DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
    assert_eq!(encoded("", b""), "DSSEv1 0  0 ");
    // Lengths are in bytes.
    assert_eq!(encoded("a", "ⓐ".as_bytes()), "DSSEv1 1 a 3 ⓐ");
}

#[test]
fn a_receipt_is_an_in_toto_statement_about_a_commit_and_its_tree() {
    let (outer, statement) = opened(&signed(&verified(), &KEY));
    assert_eq!(outer["payloadType"], "application/vnd.in-toto+json");
    assert_eq!(outer["signatures"][0]["keyid"], KEY.public().id().to_string());
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:journeyman:receipt:v1");
    assert_eq!(
        statement["subject"],
        json!([
            {"name": "commit", "digest": {"gitCommit": COMMIT}},
            {"name": "tree", "digest": {"gitTree": TREE}},
        ])
    );
    let predicate = &statement["predicate"];
    assert_eq!(predicate["result"], "PASSED");
    assert_eq!(predicate["time"], "2027-01-15T08:00:00Z");
    assert_eq!(predicate["verifier"]["versions"]["journeyman"], "0.1.0");
    assert_eq!(predicate["receipt"], serde_json::to_value(verified()).unwrap(), "the receipt, whole");
}

#[test]
fn a_signed_receipt_is_read_as_it_was_written() {
    let envelope = Envelope::parse(signed(&verified(), &KEY).to_json().as_bytes()).unwrap();
    let other = SigningKey::generate().unwrap();
    let (statement, by) = envelope.verify(&[*other.public(), *KEY.public()]).unwrap();
    assert_eq!(by, KEY.public().id());
    assert_eq!(
        (statement.result, statement.time, statement.verifier),
        (AttestationResult::Passed, time(), verifier())
    );
    assert_eq!((statement.claims.commit.as_str(), statement.claims.tree.as_str()), (COMMIT, TREE));
    assert_eq!(statement.claims.tests, verified().tests);
    assert_eq!(signed(&verified(), &KEY), envelope, "signing again gives the same bytes");
}

#[test]
fn a_key_that_is_not_trusted_signs_nothing() {
    let envelope = signed(&verified(), &KEY);
    let other = SigningKey::generate().unwrap();
    let refused = VerifyError::NotSigned { named: vec![KEY.public().id()] };
    assert_eq!(envelope.verify(&[*other.public()]), Err(refused.clone()));
    assert_eq!(envelope.verify(&[]), Err(refused));

    // Naming a trusted key does not help.
    let (mut outer, _) = opened(&signed(&verified(), &other));
    outer["signatures"][0]["keyid"] = json!(KEY.public().id().to_string());
    assert!(parse(&outer).unwrap().verify(&[*KEY.public()]).is_err());
}

#[test]
fn names_of_keys_are_hints_and_other_signatures_are_passed_over() {
    let envelope = signed(&verified(), &KEY);
    let (mut outer, _) = opened(&envelope);
    let ours = outer["signatures"][0].clone();
    for (signatures, why) in [
        (json!([{"sig": ours["sig"]}]), "no name"),
        (json!([{"keyid": "", "sig": ours["sig"]}]), "an empty name"),
        (json!([{"keyid": "SHA256:somebody", "sig": ours["sig"]}]), "a name of another form"),
        (json!([{"keyid": "ab".repeat(32), "sig": "AAAA"}, ours]), "another's signature before it"),
    ] {
        outer["signatures"] = signatures;
        assert!(parse(&outer).unwrap().verify(&[*KEY.public()]).is_ok(), "{why}");
    }
}

#[test]
fn an_envelope_of_another_hand_may_look_a_little_different() {
    let (mut outer, _) = opened(&signed(&verified(), &KEY));
    for field in ["payload", "sig"] {
        let text = if field == "sig" { &mut outer["signatures"][0]["sig"] } else { &mut outer["payload"] };
        let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
        *text = json!(URL_SAFE_NO_PAD.encode(bytes));
    }
    outer["comment"] = json!({"fields": ["that", "we", "do", "not", "know"]});
    assert!(parse(&outer).unwrap().verify(&[*KEY.public()]).is_ok());
}

#[test]
fn what_is_no_envelope_is_refused_with_why() {
    for (text, why) in [
        ("", "EOF"),
        ("[]", "invalid"),
        ("{\"payload\": \"\", \"payloadType\": \"x\"}", "signatures"),
        ("{\"payload\": \"\", \"payloadType\": \"x\", \"signatures\": []}", "1 to 30 signatures"),
        ("{\"payload\": \"\", \"signatures\": [{\"sig\": \"\"}]}", "payloadType"),
        (
            "{\"payload\": \"%\", \"payloadType\": \"x\", \"signatures\": [{\"sig\": \"\"}]}",
            "payload is not base64",
        ),
        (
            "{\"payload\": \"\", \"payloadType\": \"x\", \"signatures\": [{\"sig\": \"%\"}]}",
            "signature is not base64",
        ),
        (
            "{\"payload\": \"\", \"payload\": \"\", \"payloadType\": \"x\", \"signatures\": [{\"sig\": \"\"}]}",
            "duplicate",
        ),
    ] {
        let error = Envelope::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let large = format!("{{\"payload\": \"{}\"}}", "A".repeat(9 * 1024 * 1024));
    assert_eq!(Envelope::parse(large.as_bytes()), Err(EnvelopeError::TooLarge));
}

#[test]
fn a_signed_text_that_is_no_receipt_says_nothing() {
    let (_, good) = opened(&signed(&verified(), &KEY));
    assert!(sealed(&good).verify(&[*KEY.public()]).is_ok(), "the one that the others differ from");
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut statement = good.clone();
        change(&mut statement);
        match sealed(&statement).verify(&[*KEY.public()]) {
            Err(VerifyError::Statement(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let forms: [&dyn Fn(&mut Value); 6] = [
        &|statement| statement["_type"] = json!("https://in-toto.io/Statement/v0.1"),
        &|statement| statement["predicateType"] = json!("urn:journeyman:receipt:v2"),
        &|statement| statement["predicate"]["result"] = json!("FINE"),
        &|statement| statement["predicate"]["receipt"]["commit"] = Value::Null,
        &|statement| statement["predicate"]["receipt"]["tree"] = json!("../../etc/passwd"),
        &|statement| statement["predicate"] = json!(null),
    ];
    for form in forms {
        assert!(matches!(wrong(form), StatementError::Form(_)));
    }
    // The commit that a gate matches by digest and the one that we would rerun must be the same.
    let other = "0".repeat(40);
    let contradictions: [&dyn Fn(&mut Value); 5] = [
        &|statement| statement["subject"][0]["digest"]["gitCommit"] = json!(other),
        &|statement| statement["subject"][1]["digest"]["gitTree"] = json!(other),
        &|statement| {
            statement["subject"] =
                json!([statement["subject"][0], statement["subject"][1], {"digest": {"gitCommit": other}}])
        },
        &|statement| statement["subject"] = json!([]),
        &|statement| statement["predicate"]["receipt"]["verified"] = json!(false),
    ];
    for contradiction in contradictions {
        assert!(matches!(wrong(contradiction), StatementError::Contradiction(_)));
    }
}

#[test]
fn a_payload_that_was_signed_as_something_else_is_no_statement() {
    let (mut outer, statement) = opened(&signed(&verified(), &KEY));
    let bytes = statement.to_string().into_bytes();
    let signature = KEY.sign(&pre_authentication_encoding("text/plain", &bytes)).unwrap();
    outer["payload"] = json!(STANDARD.encode(&bytes));
    outer["payloadType"] = json!("text/plain");
    outer["signatures"] = json!([{"sig": STANDARD.encode(signature)}]);
    let envelope = parse(&outer).unwrap();
    assert_eq!(envelope.verify(&[*KEY.public()]), Err(VerifyError::Kind("text/plain".to_owned())));
    // The signed type cannot be changed afterwards.
    outer["payloadType"] = json!("application/vnd.in-toto+json");
    assert!(matches!(parse(&outer).unwrap().verify(&[*KEY.public()]), Err(VerifyError::NotSigned { .. })));
}

#[test]
fn the_statement_says_what_the_receipt_comes_to() {
    for result in [AttestationResult::Warned, AttestationResult::Failed] {
        let mut receipt = verified();
        (receipt.verified, receipt.outcome, receipt.result) = (false, "escalated", result);
        let (statement, _) = signed(&receipt, &KEY).verify(&[*KEY.public()]).unwrap();
        assert_eq!(statement.result, result);
    }
}

#[test]
fn nothing_is_signed_while_there_is_nothing_to_say() {
    let say = |receipt: &Receipt| Envelope::of(receipt, time(), &verifier(), &KEY);
    let mut working = verified();
    (working.outcome, working.verified, working.verdict) = ("working", false, None);
    assert!(matches!(say(&working), Err(SigningError::AtWork)));
    let mut empty = verified();
    (empty.commit, empty.tree, empty.verified) = (None, None, false);
    assert!(matches!(say(&empty), Err(SigningError::NoCommit)));
}

proptest! {
    /// Changing one byte of any envelope never yields a statement that was not signed.
    #[test]
    fn no_changed_byte_changes_what_is_said(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let envelope = signed(&verified(), &KEY);
        let said = envelope.verify(&[*KEY.public()]).unwrap().0;
        let mut text = envelope.to_json().into_bytes();
        let at = at.index(text.len());
        text[at] = to;
        if let Ok(changed) = Envelope::parse(&text)
            && let Ok((statement, _)) = changed.verify(&[*KEY.public()])
        {
            prop_assert_eq!(statement, said);
        }
    }

    /// With any flipped bit of payload, type or signature, verification fails.
    #[test]
    fn no_flipped_bit_fits(what in 0..3_u8, at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (mut outer, _) = opened(&signed(&verified(), &KEY));
        let flip = |bytes: &mut [u8]| bytes[at.index(bytes.len())] ^= 1 << bit;
        let again = |text: &mut Value| {
            let mut bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
            flip(&mut bytes);
            *text = json!(STANDARD.encode(bytes));
        };
        match what {
            0 => again(&mut outer["payload"]),
            1 => again(&mut outer["signatures"][0]["sig"]),
            _ => {
                let mut kind = outer["payloadType"].as_str().unwrap().as_bytes().to_vec();
                flip(&mut kind);
                outer["payloadType"] = json!(String::from_utf8_lossy(&kind));
            }
        }
        let verified = parse(&outer).unwrap().verify(&[*KEY.public()]);
        prop_assert!(matches!(verified, Err(VerifyError::NotSigned { .. })), "{verified:?}");
    }

    #[test]
    fn garbage_is_refused_and_not_choked_on(text in any::<Vec<u8>>(), json in "[{}\\[\\]\",:a-z0-9]{0,200}") {
        prop_assert!(Envelope::parse(&text).is_err());
        prop_assert!(Envelope::parse(json.as_bytes()).is_err());
        // Signed garbage is rejected, too.
        prop_assert!(Envelope::seal(text, &KEY).unwrap().verify(&[*KEY.public()]).is_err());
    }
}

//! A signed receipt from an untrusted source.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use journeyman::attest::{Envelope, PublicKey, SigningKey};
use journeyman::order::commit_message::is_hidden;

use super::text;

pub const WORDS: &[&str] = &[
    "\"payloadType\":\"application/vnd.in-toto+json\"",
    "\"payload\":\"",
    "\"signatures\":[",
    "\"keyid\":\"",
    "\"sig\":\"",
    "e30=",
    "\"_type\":",
    "\"predicateType\":",
    "\"subject\":[",
    "\"predicate\":{",
    "\"digest\":{\"gitCommit\":\"",
    "==",
    "-_",
    "+/",
    "-----BEGIN PUBLIC KEY-----\n",
    "-----END PUBLIC KEY-----\n",
    "\"passed\":true",
    "\"verified\":true",
];

/// The private half is thrown away.
static KEYS: LazyLock<Vec<PublicKey>> = LazyLock::new(|| vec![*SigningKey::generate().unwrap().public()]);

/// Reads it as an envelope, as an envelope's content, and as keys.
pub fn receipts(bytes: &[u8]) {
    envelope(bytes);
    let payload = STANDARD.encode(bytes);
    let (kind, signature) = ("application/vnd.in-toto+json", STANDARD.encode([7; 64]));
    let around = format!(
        r#"{{"payloadType":"{kind}","payload":"{payload}","signatures":[{{"keyid":"a","sig":"{signature}"}}]}}"#
    );
    envelope(around.as_bytes());
    for key in PublicKey::read_pem(&text(bytes)).into_iter().flatten() {
        let again = PublicKey::read_pem(&key.to_pem()).expect("what we write is read");
        assert_eq!(again.first().map(PublicKey::id), Some(key.id()));
    }
}

fn envelope(bytes: &[u8]) {
    match Envelope::parse(bytes) {
        Ok(envelope) => {
            // Writing and reading it again must not change it.
            let json = envelope.to_json();
            let again = Envelope::parse(json.as_bytes()).expect("what we write is read");
            assert_eq!(again.to_json(), json);
            assert!(envelope.verify(&KEYS).is_err(), "nobody signed it");
            assert!(envelope.verify(&[]).is_err(), "no key is no proof");
            let (one, other) = (envelope.statement_unverified(), again.statement_unverified());
            assert_eq!(one.is_ok(), other.is_ok());
            if let Err(why) = one {
                is_told(&why.to_string());
            }
            assert!(envelope.named_keys().len() <= 100);
        }
        Err(why) => is_told(&why.to_string()),
    }
}

/// People read it in a terminal, which interprets invisible characters.
fn is_told(why: &str) {
    assert!(why.chars().count() <= 600 && !why.chars().any(is_hidden), "{why:?}");
}

//! The envelope: DSSE, version 1. The signature covers the payload's bytes and type.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::key::{KeyError, KeyId, PublicKey, SigningKey};
use super::statement::{AttestationVerifier, SigningError, Statement, StatementError, printable_error};
use journeyman_order::Receipt;
use journeyman_order::bounds::MOST_NAMED;

/// The payload type of an in-toto envelope.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// A larger envelope is rejected unread.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Both base64 alphabets are allowed, with or without padding.
const TOLERANT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, TOLERANT);
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, TOLERANT);

/// A payload and its signers. Nothing in it is trusted before [`Envelope::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EnvelopeSignature {
    key: Option<KeyId>,
    bytes: Vec<u8>,
}

/// The envelope's JSON form. Unknown fields are allowed.
#[derive(Serialize, Deserialize)]
struct WireEnvelope {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<WireSignature>,
}

#[derive(Serialize, Deserialize)]
struct WireSignature {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyid: Option<String>,
    sig: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    #[error("it is larger than {MOST_BYTES} bytes")]
    TooLarge,
    #[error("it is no DSSE envelope: {0}")]
    Form(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// No trusted key made any of the signatures.
    #[error("no signature fits{}", names(.named))]
    NotSigned {
        /// The keys that the envelope names. Anybody can write these.
        named: Vec<KeyId>,
    },
    #[error("it was signed as {0:?}, which is no in-toto statement")]
    Kind(String),
    /// It was signed, but is not a receipt.
    #[error(transparent)]
    Statement(#[from] StatementError),
}

fn names(named: &[KeyId]) -> String {
    match named {
        [] => ", and the envelope names no key".to_owned(),
        [one] => format!(": the envelope names the key {one}"),
        [one, others @ ..] => format!(": the envelope names the key {one} and {} more", others.len()),
    }
}

/// The signed bytes: version, type and payload with lengths, so that none can be confused with another.
pub(super) fn pre_authentication_encoding(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut encoding = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    encoding.extend_from_slice(payload);
    encoding
}

impl Envelope {
    /// Makes and signs a receipt's statement. The same receipt, key, verifier and time give the same bytes.
    pub fn of(
        receipt: &Receipt,
        time: DateTime<Utc>,
        verifier: &AttestationVerifier,
        key: &SigningKey,
    ) -> Result<Self, SigningError> {
        Ok(Self::seal(Statement::write(receipt, time, verifier)?, key)?)
    }

    /// Signs a statement's bytes.
    pub(super) fn seal(payload: Vec<u8>, key: &SigningKey) -> Result<Self, KeyError> {
        let bytes = key.sign(&pre_authentication_encoding(PAYLOAD_TYPE, &payload))?;
        let signature = EnvelopeSignature { key: Some(key.public().id()), bytes };
        Ok(Self { payload, payload_type: PAYLOAD_TYPE.to_owned(), signatures: vec![signature] })
    }

    pub fn parse(text: &[u8]) -> Result<Self, EnvelopeError> {
        if text.len() > MOST_BYTES {
            return Err(EnvelopeError::TooLarge);
        }
        let form = |what: &str| EnvelopeError::Form(what.to_owned());
        let wire: WireEnvelope =
            serde_json::from_slice(text).map_err(|error| EnvelopeError::Form(printable_error(&error)))?;
        if wire.signatures.is_empty() || wire.signatures.len() > MOST_NAMED {
            return Err(EnvelopeError::Form(format!("1 to {MOST_NAMED} signatures are expected")));
        }
        let payload = decode(&wire.payload).ok_or_else(|| form("its payload is not base64"))?;
        let signatures = wire.signatures.into_iter().map(|signature| {
            let bytes = decode(&signature.sig).ok_or_else(|| form("a signature is not base64"))?;
            // A key id in another form belongs to somebody else's key.
            Ok(EnvelopeSignature { key: signature.keyid.and_then(|name| name.parse().ok()), bytes })
        });
        Ok(Self {
            payload,
            payload_type: wire.payload_type,
            signatures: signatures.collect::<Result<_, _>>()?,
        })
    }

    /// The statement and its signer, if one of these keys signed it.
    pub fn verify(&self, keys: &[PublicKey]) -> Result<(Statement, KeyId), VerifyError> {
        let message = pre_authentication_encoding(&self.payload_type, &self.payload);
        // All keys are tried, whatever the envelope names: a name proves nothing.
        let signer = self
            .signatures
            .iter()
            .find_map(|signature| keys.iter().find(|key| key.has_signed(&message, &signature.bytes)));
        let Some(signer) = signer else { return Err(VerifyError::NotSigned { named: self.named_keys() }) };
        Ok((self.statement_unverified()?, signer.id()))
    }

    pub fn statement_unverified(&self) -> Result<Statement, VerifyError> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(VerifyError::Kind(self.payload_type.chars().take(100).collect()));
        }
        Ok(Statement::read(&self.payload)?)
    }

    /// The keys that it names; anybody can write these.
    pub fn named_keys(&self) -> Vec<KeyId> {
        self.signatures.iter().filter_map(|signature| signature.key.clone()).collect()
    }

    pub fn to_json(&self) -> String {
        let signatures = self.signatures.iter().map(|signature| WireSignature {
            keyid: signature.key.as_ref().map(ToString::to_string),
            sig: STANDARD.encode(&signature.bytes),
        });
        let wire = WireEnvelope {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.collect(),
        };
        // Only strings, so serialization cannot fail.
        serde_json::json!(wire).to_string()
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    PLAIN.decode(text).or_else(|_| FOR_URLS.decode(text)).ok()
}

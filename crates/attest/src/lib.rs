//! The signed receipt: what was verified, as an in-toto statement in a DSSE envelope, signed with ed25519.
//!
//! May know: [`journeyman_order`]'s receipt, the forms of in-toto and DSSE, one key on disk.
//! Must never know: how work is done or tests are run, GitHub, HTTP. It attests what a receipt says, and who says it.
//!
//! Input is hostile: anybody may have written a receipt to verify. [`Envelope::parse`] trusts nothing,
//! [`Envelope::verify`] returns the statement of exactly the bytes that were signed.

mod envelope;
mod key;
mod reverify;
mod statement;
#[cfg(test)]
mod tests;

pub use envelope::{Envelope, EnvelopeError, VerifyError};
pub use key::{KEY_FILE, KeyError, KeyId, PublicKey, SigningKey, SigningKeyOrigin};
pub use reverify::{ReverificationResult, ReverifiedStatement, RunOfToday, compare};
pub use statement::{
    AttestationResult, AttestationVerifier, PREDICATE_TYPE, ReceiptClaims, SigningError, Statement,
    StatementError,
};

/// The media type of an envelope as a file and over HTTP.
pub const ENVELOPE_TYPE: &str = "application/vnd.dsse.envelope.v1+json";

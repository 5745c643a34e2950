//! The key that signs receipts: created on first use, kept in the data folder, readable by its owner only.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::zeroize::Zeroizing;
use sha2::{Digest, Sha256};

use journeyman_order::bounds::{LARGEST_SETTINGS, MOST_NAMED};

pub const KEY_FILE: &str = "receipt-key.pem";
const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
/// The prefix of an ed25519 key's 32 bytes in a `SubjectPublicKeyInfo` (RFC 8410).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The key that signs receipts. Debug output shows only the public half.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKeyOrigin {
    Found,
    /// The key was missing and was created.
    Made,
}

/// Why there is no key to sign or verify with. No message contains key material.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot {what} {}: {error}", path.display())]
    File { what: &'static str, path: PathBuf, error: io::Error },
    /// Others can read or change it, or it is not a regular file of ours.
    #[error(
        "{} {because}: whoever can read it can sign receipts. If nobody else has, `chmod 600` it; otherwise remove it, \
         and a new one is made",
        path.display()
    )]
    Exposed { path: PathBuf, because: String },
    #[error("{what}: an ed25519 key is expected, as PEM")]
    Malformed { what: String },
    #[error("an ed25519 key could not be made on this machine")]
    Unmakable,
}

impl SigningKey {
    /// Opens a data folder's key, or creates it. If several processes create one at the same time, one wins and
    /// all use the winner's key.
    pub fn open_or_make(data: &Path) -> Result<(Self, SigningKeyOrigin), KeyError> {
        let path = data.join(KEY_FILE);
        if let Some(found) = Self::open(&path)? {
            return Ok((found, SigningKeyOrigin::Found));
        }
        let made = Self::generate()?;
        let said = |what| move |error| KeyError::File { what, path: data.join(KEY_FILE), error };
        std::fs::create_dir_all(data).map_err(said("make the folder of"))?;
        // The final file is always complete: it is written beside, then linked if none exists.
        let mut beside = tempfile::Builder::new()
            .prefix(".receipt-key-")
            .tempfile_in(data)
            .map_err(said("make the file beside"))?;
        // Version 1, which openssl reads.
        let der = made.pair.to_pkcs8v1().map_err(|_| KeyError::Unmakable)?;
        let private = Zeroizing::new(pem_of(PRIVATE, der.as_ref()));
        beside.write_all(private.as_bytes()).map_err(said("write"))?;
        beside.as_file().sync_all().map_err(said("write"))?;
        match beside.persist_noclobber(&path) {
            Ok(_) => {}
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {
                return Self::open_or_make(data);
            }
            Err(failed) => return Err(said("make")(failed.error)),
        }
        File::open(data).and_then(|folder| folder.sync_all()).map_err(said("keep"))?;
        Ok((made, SigningKeyOrigin::Made))
    }

    /// A data folder's key; `None` if it was never created.
    pub fn find(data: &Path) -> Result<Option<Self>, KeyError> {
        Self::open(&data.join(KEY_FILE))
    }

    pub fn generate() -> Result<Self, KeyError> {
        Self::of(Ed25519KeyPair::generate().map_err(|_| KeyError::Unmakable)?)
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.pair
            .try_sign(message)
            .map(|signature| signature.as_ref().to_vec())
            .map_err(|_| KeyError::Unmakable)
    }

    fn of(pair: Ed25519KeyPair) -> Result<Self, KeyError> {
        let bytes = pair.public_key().as_ref();
        let public = PublicKey { bytes: bytes.try_into().map_err(|_| KeyError::Unmakable)? };
        Ok(Self { pair, public })
    }

    /// `None` if there is no file.
    fn open(path: &Path) -> Result<Option<Self>, KeyError> {
        let said = |error| KeyError::File { what: "read", path: path.to_owned(), error };
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(said(error)),
        };
        // Checked on the open file, so that nobody can swap it in between.
        let about = file.metadata().map_err(said)?;
        let exposed = |because: String| KeyError::Exposed { path: path.to_owned(), because };
        if !about.is_file() {
            return Err(exposed("is not a plain file".to_owned()));
        }
        if about.mode() & 0o077 != 0 {
            return Err(exposed(format!("has mode {:03o}", about.mode() & 0o777)));
        }
        let (owner, us) = (about.uid(), rustix::process::geteuid().as_raw());
        if owner != us && owner != 0 {
            return Err(exposed(format!("belongs to the user {owner}, and this is {us}")));
        }
        let text = Zeroizing::new(bounded(file).map_err(said)?);
        let malformed = || KeyError::Malformed { what: format!("{} holds no private key", path.display()) };
        let [der] = <[Vec<u8>; 1]>::try_from(blocks_of(PRIVATE, &text).ok_or_else(malformed)?)
            .map_err(|_| malformed())?;
        let der = Zeroizing::new(der);
        Self::of(Ed25519KeyPair::from_pkcs8(&der).map_err(|_| malformed())?).map(Some)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SigningKey({})", self.public.id())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey {
    bytes: [u8; 32],
}

impl PublicKey {
    /// Parses the keys in PEM blocks, at least one.
    pub fn read_pem(text: &str) -> Result<Vec<Self>, KeyError> {
        let malformed = |what: &str| KeyError::Malformed { what: what.to_owned() };
        let blocks =
            blocks_of(PUBLIC, text).ok_or_else(|| malformed("a block of the public key is broken"))?;
        match blocks.len() {
            0 => return Err(malformed("there is no public key in it")),
            length if length > MOST_NAMED => return Err(malformed("there are too many public keys in it")),
            _ => {}
        }
        blocks
            .iter()
            .map(|der| Self::of_der(der).ok_or_else(|| malformed("it is another kind of key")))
            .collect()
    }

    /// Reads a file's keys, as [`PublicKey::read_pem`] does.
    pub fn read_file(path: &Path) -> Result<Vec<Self>, KeyError> {
        let said = |error| KeyError::File { what: "read", path: path.to_owned(), error };
        Self::read_pem(&bounded(File::open(path).map_err(said)?).map_err(said)?)
    }

    /// As PEM, `PUBLIC KEY` (SubjectPublicKeyInfo), which openssl and others read.
    pub fn to_pem(&self) -> String {
        pem_of(PUBLIC, &self.der())
    }

    /// The key's name on an envelope.
    pub fn id(&self) -> KeyId {
        KeyId(hex::encode(Sha256::digest(self.der())))
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.bytes).verify(message, signature).is_ok()
    }

    fn der(&self) -> Vec<u8> {
        [SPKI.as_slice(), &self.bytes].concat()
    }

    fn of_der(der: &[u8]) -> Option<Self> {
        Some(Self { bytes: der.strip_prefix(SPKI.as_slice())?.try_into().ok()? })
    }
}

/// The SHA-256 of a public key's `SubjectPublicKeyInfo`, in hexadecimal. It is a name and proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for KeyId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        is_sha256(text).then(|| Self(text.to_owned())).ok_or(())
    }
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn bounded(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LARGEST_SETTINGS as u64).read_to_string(&mut text)?;
    Ok(text)
}

fn pem_of(label: &str, der: &[u8]) -> String {
    let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(label, der), lines)
}

/// The contents of the blocks with this label between `BEGIN` and `END` (RFC 7468); `None` if one is damaged. Text
/// between blocks is explanation and is skipped.
fn blocks_of(label: &str, text: &str) -> Option<Vec<Vec<u8>>> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines().map(str::trim) {
        match open.take() {
            None if line == begin => open = Some(String::new()),
            None => {}
            Some(block) if line == end => blocks.push(STANDARD.decode(block).ok()?),
            Some(mut block) => {
                block.push_str(line);
                open = Some(block);
            }
        }
    }
    open.is_none().then_some(blocks)
}

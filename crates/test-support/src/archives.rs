//! Handmade archives and images, with content that no tool would write.

use std::io::Write;
use std::path::Path;

use sha2::{Digest as _, Sha256};

pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An uncompressed layer.
#[derive(Clone, Default)]
pub struct TestArchive(Vec<u8>);

impl TestArchive {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds any entry with any name.
    pub fn entry(mut self, kind: u8, name: &[u8], target: &[u8], mode: u32, data: &[u8]) -> Self {
        for (long, kind) in [(name, b'L'), (target, b'K')] {
            if long.len() > 100 {
                self = self.header(kind, b"././@LongLink", b"", 0, long.len() as u64).data(long);
            }
        }
        self.header(
            kind,
            &name[..name.len().min(100)],
            &target[..target.len().min(100)],
            mode,
            data.len() as u64,
        )
        .data(data)
    }

    fn header(mut self, kind: u8, name: &[u8], target: &[u8], mode: u32, size: u64) -> Self {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target);
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_mode(mode);
        header.set_mtime(1_000_000_000);
        header.set_size(size);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self
    }

    fn data(mut self, data: &[u8]) -> Self {
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub fn file(self, name: &str, content: &str) -> Self {
        self.entry(b'0', name.as_bytes(), b"", 0o644, content.as_bytes())
    }

    pub fn folder(self, name: &str) -> Self {
        self.entry(b'5', name.as_bytes(), b"", 0o755, b"")
    }

    pub fn symlink(self, name: &str, target: &str) -> Self {
        self.entry(b'2', name.as_bytes(), target.as_bytes(), 0o777, b"")
    }

    pub fn hard_link(self, name: &str, target: &str) -> Self {
        self.entry(b'1', name.as_bytes(), target.as_bytes(), 0o644, b"")
    }

    /// The contents of a folder.
    pub fn of_folder(folder: &Path) -> Self {
        let mut all = tar::Builder::new(Vec::new());
        all.follow_symlinks(false);
        all.append_dir_all(".", folder).unwrap();
        Self(all.into_inner().unwrap())
    }

    pub fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut all = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    all.write_all(bytes).unwrap();
    all.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// An image as a registry stores it.
#[derive(Clone)]
pub struct TestImage {
    /// Layers and configuration.
    pub blobs: Vec<Vec<u8>>,
    pub manifest: Vec<u8>,
}

/// A compressed layer, with the digest of its uncompressed form.
pub struct TestLayer {
    pub sent: Vec<u8>,
    pub diff_id: String,
}

impl TestLayer {
    pub fn gzip(archive: TestArchive) -> Self {
        Self::of(archive.bytes(), gzip)
    }

    pub fn of(bytes: Vec<u8>, compress: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        Self { diff_id: digest_of(&bytes), sent: compress(&bytes) }
    }
}

impl TestImage {
    pub fn new(layers: Vec<TestLayer>) -> Self {
        Self::with_config(
            layers,
            r#""Env":["PATH=/bin","X=a=b"],"WorkingDir":"/work","User":"1000:1000","Cmd":["sh"]"#,
        )
    }

    pub fn with_config(layers: Vec<TestLayer>, config: &str) -> Self {
        Self::for_machine(layers, config, architecture())
    }

    pub fn for_machine(layers: Vec<TestLayer>, config: &str, architecture: &str) -> Self {
        let diff_ids: Vec<String> = layers.iter().map(|layer| format!("\"{}\"", layer.diff_id)).collect();
        let config = format!(
            r#"{{"architecture":"{architecture}","os":"linux","config":{{{config}}},"rootfs":{{"type":"layers","diff_ids":[{}]}}}}"#,
            diff_ids.join(",")
        );
        let mut blobs: Vec<Vec<u8>> = layers.into_iter().map(|layer| layer.sent).collect();
        let form = "application/vnd.oci.image.layer.v1.tar+gzip";
        let described: Vec<String> = blobs.iter().map(|blob| described(form, blob)).collect();
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{},"layers":[{}]}}"#,
            self::described("application/vnd.oci.image.config.v1+json", config.as_bytes()),
            described.join(",")
        );
        blobs.push(config.into_bytes());
        Self { blobs, manifest: manifest.into_bytes() }
    }

    pub fn small() -> Self {
        Self::new(vec![TestLayer::gzip(TestArchive::new().folder("etc").file("etc/name", "small"))])
    }

    pub fn digest(&self) -> String {
        digest_of(&self.manifest)
    }
}

pub fn described(form: &str, bytes: &[u8]) -> String {
    format!(r#"{{"mediaType":"{form}","digest":"{}","size":{}}}"#, digest_of(bytes), bytes.len())
}

/// An index of manifests for these platforms.
pub fn index(entries: &[(&TestImage, &str)]) -> Vec<u8> {
    let entries = entries.iter().map(|(image, platform)| {
        let described = described(MANIFEST, &image.manifest);
        format!("{},\"platform\":{platform}}}", &described[..described.len() - 1])
    });
    let entries: Vec<String> = entries.collect();
    format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{}]}}"#, entries.join(",")).into_bytes()
}

pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A digest in registries' form.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

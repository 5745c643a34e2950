//! What a registry says an image consists of: indexes, manifests and configurations, parsed into what we believe.
//!
//! May know: the forms of OCI and of docker. Must never know: where the bytes are from; that they have the digest they
//! were asked by was checked before.

use serde::{Deserialize, Serialize};

use crate::reference::{ImageDigest, shown};

pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// Docker refuses more.
const MOST_LAYERS: usize = 127;

/// How the image wants its programs to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// In the image's order; a later value for a name counts.
    pub env: Vec<(String, String)>,
    pub working_dir: Option<String>,
    /// As the image has it: `user`, `1000`, `1000:1000`.
    pub user: Option<String>,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
}

/// A blob that is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobDescriptor {
    pub(crate) digest: ImageDigest,
    pub(crate) size: u64,
}

/// What an image is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageManifest {
    pub(crate) config: BlobDescriptor,
    /// The lowest first.
    pub(crate) layers: Vec<BlobDescriptor>,
}

impl ImageManifest {
    /// All layers as they are sent.
    pub(crate) fn download_bytes(&self) -> u64 {
        self.layers.iter().fold(0, |all, layer| all.saturating_add(layer.size))
    }
}

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManifestDocument {
    /// The manifest for this machine, of those that an index lists.
    Index(BlobDescriptor),
    Image(ImageManifest),
}

/// A configuration that fits its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedConfig {
    pub(crate) config: ImageConfig,
    /// Of each layer's bytes before they were compressed.
    pub(crate) diff_ids: Vec<ImageDigest>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "schemaVersion")]
    schema_version: u64,
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
struct Descriptor {
    #[serde(rename = "mediaType", default)]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    variant: Option<String>,
}

#[derive(Deserialize)]
struct ConfigDocument {
    #[serde(flatten)]
    platform: Platform,
    config: Option<ConfigSection>,
    rootfs: RootSection,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct ConfigSection {
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    user: Option<String>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RootSection {
    diff_ids: Vec<String>,
}

impl Descriptor {
    fn checked(&self) -> Result<BlobDescriptor, String> {
        let digest =
            self.digest.parse().map_err(|_| format!("`{}` is no sha256 digest", shown(&self.digest)))?;
        Ok(BlobDescriptor { digest, size: self.size })
    }
}

impl Platform {
    /// What this program was built for, as images call it.
    fn of_this_machine() -> (&'static str, Option<&'static str>) {
        match std::env::consts::ARCH {
            "x86_64" => ("amd64", None),
            "aarch64" => ("arm64", Some("v8")),
            "x86" => ("386", None),
            "arm" => ("arm", Some("v7")),
            "powerpc64" => ("ppc64le", None),
            other => (other, None),
        }
    }

    /// How well it fits; less is better.
    fn fits(&self) -> Option<u8> {
        let (architecture, variant) = Self::of_this_machine();
        if self.os != "linux" || self.architecture != architecture {
            return None;
        }
        match self.variant.as_deref().filter(|variant| !variant.is_empty()) {
            None => Some(0),
            own if own == variant => Some(0),
            // What needs more than the least this architecture has: chosen only when there is nothing else.
            Some("v1") => Some(1),
            Some(_) => None,
        }
    }
}

/// Reads what a registry sent for a name.
pub(crate) fn document(bytes: &[u8]) -> Result<ManifestDocument, String> {
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| format!("its manifest cannot be read: {error}"))?;
    if document.schema_version != 2 {
        let advice = "Push it again with a docker of today";
        return Err(format!("its manifest has a form that registries gave up in 2019. {advice}"));
    }
    let kind = document.media_type.as_deref();
    match (kind, document.manifests, document.config, document.layers) {
        (Some(INDEX | DOCKER_INDEX) | None, Some(manifests), None, None) => {
            chosen(&manifests).map(ManifestDocument::Index)
        }
        (Some(MANIFEST | DOCKER_MANIFEST) | None, None, Some(config), Some(layers)) => {
            manifest(&config, &layers).map(ManifestDocument::Image)
        }
        // Something that is an index to one reader and a manifest to another is how an approved image turns into
        // another one.
        (kind, _, _, _) => {
            let kind = shown(kind.unwrap_or("no media type"));
            Err(format!("its manifest is neither an image nor an index of images ({kind})"))
        }
    }
}

fn chosen(manifests: &[Descriptor]) -> Result<BlobDescriptor, String> {
    let fitting = manifests.iter().filter_map(|entry| Some((entry.platform.as_ref()?.fits()?, entry)));
    let best = fitting.min_by_key(|(fit, _)| *fit);
    let Some((_, entry)) = best else {
        let has = |platform: &Platform| match &platform.variant {
            Some(variant) => format!("{}/{}/{variant}", platform.os, platform.architecture),
            None => format!("{}/{}", platform.os, platform.architecture),
        };
        let all = manifests.iter().filter_map(|entry| entry.platform.as_ref());
        // Attestations stand among the images, for no platform.
        let mut all: Vec<String> = all.filter(|platform| platform.os != "unknown").map(has).collect();
        all.sort();
        all.dedup();
        all.truncate(20);
        let (architecture, _) = Platform::of_this_machine();
        return Err(format!(
            "it is not made for linux/{architecture}, which this machine is, but for {}. Choose an image that is",
            if all.is_empty() { "nothing".to_owned() } else { shown(&all.join(", ")) }
        ));
    };
    if !matches!(entry.media_type.as_str(), MANIFEST | DOCKER_MANIFEST | "") {
        return Err(format!(
            "its index leads to something else than an image ({})",
            shown(&entry.media_type)
        ));
    }
    entry.checked()
}

fn manifest(config: &Descriptor, layers: &[Descriptor]) -> Result<ImageManifest, String> {
    if !matches!(config.media_type.as_str(), CONFIG | DOCKER_CONFIG) {
        return Err(format!("it is no image that can be run ({})", shown(&config.media_type)));
    }
    if layers.is_empty() {
        return Err("it has no layers".to_owned());
    }
    if layers.len() > MOST_LAYERS {
        return Err(format!("it has {} layers; at most {MOST_LAYERS} are usual", layers.len()));
    }
    let is_known = |layer: &&Descriptor| {
        let form = layer.media_type.as_str();
        form.starts_with("application/vnd.oci.image.layer.v1.tar")
            || form.starts_with("application/vnd.docker.image.rootfs.diff.tar")
    };
    if let Some(layer) = layers.iter().find(|layer| !is_known(layer)) {
        let hint = if layer.media_type.contains("foreign") || layer.media_type.contains("nondistributable") {
            ": it lies elsewhere, and other places than the registry are not asked"
        } else {
            ""
        };
        return Err(format!("a layer has a form that is not supported ({}){hint}", shown(&layer.media_type)));
    }
    let layers = layers.iter().map(Descriptor::checked).collect::<Result<_, _>>()?;
    Ok(ImageManifest { config: config.checked()?, layers })
}

/// Reads an image's configuration, which has to fit its manifest.
pub(crate) fn config(bytes: &[u8], manifest: &ImageManifest) -> Result<ParsedConfig, String> {
    let document: ConfigDocument = serde_json::from_slice(bytes)
        .map_err(|error| format!("its configuration cannot be read: {error}"))?;
    let (architecture, _) = Platform::of_this_machine();
    if document.platform.os != "linux" || document.platform.architecture != architecture {
        return Err(format!(
            "it is made for {}/{}; this machine is linux/{architecture}. Choose an image that is made for it",
            shown(&document.platform.os),
            shown(&document.platform.architecture)
        ));
    }
    let diff_ids: Vec<ImageDigest> = document
        .rootfs
        .diff_ids
        .iter()
        .map(|text| {
            text.parse().map_err(|_| format!("`{}` in its configuration is no sha256 digest", shown(text)))
        })
        .collect::<Result<_, _>>()?;
    if diff_ids.len() != manifest.layers.len() {
        let (said, there) = (diff_ids.len(), manifest.layers.len());
        return Err(format!("its configuration speaks of {said} layers, its manifest of {there}"));
    }
    let section = document.config.unwrap_or_default();
    let lists = [&section.env, &section.entrypoint, &section.cmd];
    let single = [&section.working_dir, &section.user].into_iter().flatten();
    if lists.into_iter().flatten().flatten().chain(single).any(|text| text.contains('\0')) {
        return Err("its configuration holds a NUL, with which no program can be started".to_owned());
    }
    // What has no name, or no value, sets nothing.
    let pair = |text: &String| {
        let (name, value) = text.split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(ParsedConfig {
        config: ImageConfig {
            env: section.env.unwrap_or_default().iter().filter_map(pair).collect(),
            working_dir: given(section.working_dir),
            user: given(section.user),
            entrypoint: section.entrypoint.unwrap_or_default(),
            cmd: section.cmd.unwrap_or_default(),
        },
        diff_ids,
    })
}

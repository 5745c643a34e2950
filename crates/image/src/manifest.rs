//! What a registry says an image consists of: indexes, manifests and configurations, as far as we need them. skopeo and
//! umoci check the rest.
//!
//! May know: the forms of OCI and of docker. Must never know: where the bytes are from; that they have the digest they
//! were asked by was checked before.

use serde::{Deserialize, Serialize};

use crate::reference::{ImageDigest, shown};

/// How the image wants its programs to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// In the image's order; a later value for a name counts.
    pub env: Vec<(String, String)>,
    pub working_dir: Option<String>,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
}

/// What an image is made of.
pub(crate) struct ImageManifest {
    pub(crate) config: ImageDigest,
    /// All layers as they are sent.
    pub(crate) download_bytes: u64,
}

/// What a name leads to.
pub(crate) enum ManifestDocument {
    /// The manifest for this machine, of those that an index lists.
    Index(ImageDigest),
    Image(ImageManifest),
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "schemaVersion")]
    schema_version: u64,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: ImageDigest,
    size: u64,
    #[serde(default)]
    urls: Vec<String>,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    variant: String,
}

#[derive(Deserialize)]
struct ConfigDocument {
    #[serde(flatten)]
    platform: Platform,
    config: Option<ConfigSection>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct ConfigSection {
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
}

/// What this program was built for, as images call it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

impl Platform {
    fn is_this_machine(&self) -> bool {
        // Other variants need more than the least this architecture has.
        let is_least = matches!(self.variant.as_str(), "" | "v1" | "v8");
        self.os == "linux" && self.architecture == architecture() && is_least
    }

    fn wrong<'p>(all: impl IntoIterator<Item = &'p Self>) -> String {
        // Attestations stand among the images, for no platform.
        let all = all.into_iter().filter(|platform| platform.os != "unknown");
        let all: Vec<String> = all.map(|one| format!("{}/{}", one.os, one.architecture)).collect();
        let (own, all) = (architecture(), shown(&all.join(", "), 120));
        format!("it is made for {all}; this machine is linux/{own}. Choose an image that is made for it")
    }
}

/// Reads what a registry sent for a name.
pub(crate) fn document(bytes: &[u8]) -> Result<ManifestDocument, String> {
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| format!("its manifest cannot be read: {error}"))?;
    if document.schema_version != 2 {
        return Err("its manifest has a form that registries gave up in 2019. Push it again".to_owned());
    }
    match (document.manifests, document.config, document.layers) {
        (Some(manifests), None, None) => chosen(&manifests).map(ManifestDocument::Index),
        (None, Some(config), Some(layers)) => {
            // skopeo would ask any host for them.
            if layers.iter().chain([&config]).any(|part| !part.urls.is_empty()) {
                return Err(
                    "a layer lies elsewhere, and other places than the registry are not asked".to_owned()
                );
            }
            let download_bytes = layers.iter().fold(0_u64, |all, layer| all.saturating_add(layer.size));
            Ok(ManifestDocument::Image(ImageManifest { config: config.digest, download_bytes }))
        }
        // Something that is an index to one reader and a manifest to another is how an approved image turns into
        // another one.
        _ => Err("its manifest is neither an image nor an index of images".to_owned()),
    }
}

fn chosen(manifests: &[Descriptor]) -> Result<ImageDigest, String> {
    let fits = |entry: &Descriptor| entry.platform.as_ref().is_some_and(Platform::is_this_machine);
    let found = manifests.iter().find(|entry| fits(entry)).map(|entry| entry.digest.clone());
    found.ok_or_else(|| Platform::wrong(manifests.iter().filter_map(|entry| entry.platform.as_ref())))
}

/// Reads an image's configuration.
pub(crate) fn config(bytes: &[u8]) -> Result<ImageConfig, String> {
    let document: ConfigDocument = serde_json::from_slice(bytes)
        .map_err(|error| format!("its configuration cannot be read: {error}"))?;
    if !document.platform.is_this_machine() {
        return Err(Platform::wrong([&document.platform]));
    }
    let section = document.config.unwrap_or_default();
    let lists = [&section.env, &section.entrypoint, &section.cmd];
    if lists.into_iter().flatten().flatten().chain(&section.working_dir).any(|text| text.contains('\0')) {
        return Err("its configuration holds a NUL, with which no program can be started".to_owned());
    }
    // What has no name, or no value, sets nothing.
    let pair = |text: &String| {
        let (name, value) = text.split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    Ok(ImageConfig {
        env: section.env.unwrap_or_default().iter().filter_map(pair).collect(),
        working_dir: section.working_dir.filter(|folder| !folder.is_empty()),
        entrypoint: section.entrypoint.unwrap_or_default(),
        cmd: section.cmd.unwrap_or_default(),
    })
}

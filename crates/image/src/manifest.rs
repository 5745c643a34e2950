//! Parses the documents of a registry: indexes, manifests and configurations, as far as needed. skopeo and umoci check
//! the rest.
//!
//! May know: the formats of OCI and docker. Must never know: where the bytes come from. The caller has verified their
//! digest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reference::{ImageDigest, shown};

/// How to start the image's programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// In the image's order. The last value of a name wins.
    pub env: Vec<(String, String)>,
    pub working_dir: Option<String>,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
}

/// What a name resolves to.
pub(crate) enum ManifestDocument {
    /// An index: the digest of the manifest for this machine.
    Index(ImageDigest),
    /// An image: its configuration, and the download size of all its layers in bytes.
    Image { config: ImageDigest, download: u64 },
}

/// Parses a registry's answer for a name.
pub(crate) fn document(bytes: &[u8]) -> Result<ManifestDocument, String> {
    let document = parsed(bytes)?;
    if document["schemaVersion"] != 2 {
        return Err("its manifest has a form that registries gave up in 2019. Push it again".to_owned());
    }
    match (&document["manifests"], &document["config"], &document["layers"]) {
        (Value::Array(manifests), Value::Null, Value::Null) => {
            let platforms: Vec<&Value> = manifests.iter().map(|entry| &entry["platform"]).collect();
            let chosen = manifests.iter().find(|entry| is_for_this_machine(&entry["platform"]));
            chosen.map_or_else(|| Err(for_others(&platforms)), digest).map(ManifestDocument::Index)
        }
        (Value::Null, config, Value::Array(layers)) => {
            // skopeo would fetch such layers from any host, however the key is capitalized.
            let mut keys =
                layers.iter().chain([config]).filter_map(Value::as_object).flat_map(|part| part.keys());
            if keys.any(|key| key.to_uppercase() == "URLS") {
                return Err(
                    "a layer lies elsewhere, and other places than the registry are not asked".to_owned()
                );
            }
            let sizes: Option<Vec<u64>> = layers.iter().map(|layer| layer["size"].as_u64()).collect();
            let sizes = sizes.ok_or("a layer has no size")?;
            let download = sizes.into_iter().fold(0, u64::saturating_add);
            Ok(ManifestDocument::Image { config: digest(config)?, download })
        }
        // A document that is an index to one reader and a manifest to another could swap an approved image.
        _ => Err("its manifest is neither an image nor an index of images".to_owned()),
    }
}

/// Parses an image's configuration.
pub(crate) fn config(bytes: &[u8]) -> Result<ImageConfig, String> {
    let document = parsed(bytes)?;
    if !is_for_this_machine(&document) {
        return Err(for_others(&[&document]));
    }
    let texts = |key: &str| {
        let all = document["config"][key].as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let (env, entrypoint, cmd) = (texts("Env"), texts("Entrypoint"), texts("Cmd"));
    let working_dir = document["config"]["WorkingDir"].as_str().filter(|folder| !folder.is_empty());
    let mut all = env.iter().chain(&entrypoint).chain(&cmd).map(String::as_str).chain(working_dir);
    if all.any(|text| text.contains('\0')) {
        return Err("its configuration holds a NUL, with which no program can be started".to_owned());
    }
    // Entries without a name or without `=` set nothing.
    let pairs = env.iter().filter_map(|text| text.split_once('=')).filter(|(name, _)| !name.is_empty());
    let env = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(ImageConfig { env, working_dir: working_dir.map(str::to_owned), entrypoint, cmd })
}

fn parsed(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| format!("what its registry says of it cannot be read: {error}"))
}

fn digest(of: &Value) -> Result<ImageDigest, String> {
    let text = of["digest"].as_str().unwrap_or_default();
    ImageDigest::parse(text, "sha256:").ok_or_else(|| format!("`{}` is no sha256 digest", shown(text, 120)))
}

/// The architecture of this build, as images call it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn is_for_this_machine(platform: &Value) -> bool {
    // Other variants require more than the baseline of this architecture.
    let is_least = matches!(platform["variant"].as_str().unwrap_or_default(), "" | "v1" | "v8");
    platform["os"] == "linux" && platform["architecture"] == architecture() && is_least
}

fn for_others(platforms: &[&Value]) -> String {
    let text = |platform: &Value, key: &str| platform[key].as_str().unwrap_or("unknown").to_owned();
    let all = platforms.iter().map(|platform| (text(platform, "os"), text(platform, "architecture")));
    // Attestations are listed among the images, with an unknown platform.
    let all: Vec<String> =
        all.filter(|(os, _)| os != "unknown").map(|(os, of)| format!("{os}/{of}")).collect();
    let (own, all) = (architecture(), shown(&all.join(", "), 120));
    format!("it is made for {all}; this machine is linux/{own}. Choose an image that is made for it")
}

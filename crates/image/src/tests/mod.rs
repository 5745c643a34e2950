//! Pulls from a real registry with the real programs, and images that try to escape or are too large.

mod cleaning;
mod hostile;
mod names;
mod pulls;

use std::path::Path;
use std::sync::Arc;

use journeyman_test_support::archives::TestImage;

use crate::{ImageDigest, ImageError, ImageReference, ImageRoot, ImageSettings, ImageStore, PullObserver};

/// Settings without the machine's own configuration.
fn settings() -> ImageSettings {
    let mut settings = ImageSettings::default();
    settings.variables.retain(|name, _| *name == "PATH");
    settings
}

fn store(folder: &Path) -> ImageStore {
    ImageStore::new(folder.join("store"), settings()).unwrap()
}

fn digest(image: &TestImage) -> ImageDigest {
    ImageDigest::of(&image.manifest)
}

fn quiet() -> PullObserver {
    Arc::new(|_| {})
}

async fn resolved(store: &ImageStore, name: &str) -> Result<ImageReference, ImageError> {
    store.resolve(&name.parse::<ImageReference>().unwrap()).await
}

async fn pulled(store: &ImageStore, name: &str) -> Result<ImageRoot, ImageError> {
    let image = resolved(store, name).await?;
    store.root(&image, quiet()).await
}

/// A folder's contents, one line each: kind, mode, name, and content or target.
fn listed(folder: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let mut lines = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let found = std::fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(folder).unwrap().display();
            let mode = found.permissions().mode() & 0o7777;
            lines.push(if found.is_dir() {
                open.push(path.clone());
                format!("{name}/ {mode:o}")
            } else if found.is_symlink() {
                format!("{name} -> {}", std::fs::read_link(&path).unwrap().display())
            } else {
                assert!(found.is_file(), "{name}");
                let content = std::fs::read(&path).unwrap();
                let content = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
                format!("{name} {mode:o} {content:?}")
            });
        }
    }
    lines.sort();
    lines.join("\n")
}

//! Pulls from a real registry, from hostile ones, and layers that want out.

mod cleaning;
mod fake_registry;
mod hostile_layers;
mod hostile_registries;
mod layers;
mod pulls;
mod resumption;

use std::path::Path;
use std::sync::{Arc, Mutex};

use journeyman_test_support::archives::TestImage;

use crate::{
    ImageDigest, ImageError, ImageReference, ImageRoot, ImageSettings, ImageStore, PullObserver,
    PullProgress, ResolvedImage,
};

/// Nothing of the machine's own settings.
fn settings() -> ImageSettings {
    ImageSettings { auth_files: Vec::new(), ..ImageSettings::default() }
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

fn listening() -> (PullObserver, Arc<Mutex<Vec<PullProgress>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    (Arc::new(move |progress| into.lock().unwrap().push(progress)), heard)
}

async fn resolved(store: &ImageStore, name: &str) -> Result<ResolvedImage, ImageError> {
    store.resolve(&name.parse::<ImageReference>().unwrap()).await
}

async fn pulled(store: &ImageStore, name: &str) -> Result<ImageRoot, ImageError> {
    let image = resolved(store, name).await?;
    store.root(&image, quiet()).await
}

/// What lies in a folder, a line each: kind, mode, name, and content or target.
fn listed(folder: &Path) -> String {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let mut lines = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let found = std::fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(folder).unwrap().display();
            let mode = found.permissions().mode() & 0o7777;
            let kind = found.file_type();
            lines.push(if kind.is_dir() {
                open.push(path.clone());
                format!("{name}/ {mode:o}")
            } else if kind.is_symlink() {
                format!("{name} -> {}", std::fs::read_link(&path).unwrap().display())
            } else if kind.is_file() {
                let content = std::fs::read(&path).unwrap();
                let content = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
                format!("{name} {mode:o} {content:?}")
            } else {
                assert!(
                    !kind.is_fifo() && !kind.is_socket() && !kind.is_char_device() && !kind.is_block_device()
                );
                unreachable!("{name}")
            });
        }
    }
    lines.sort();
    lines.join("\n")
}

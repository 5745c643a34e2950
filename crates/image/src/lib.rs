//! OCI images as root folders, without a container daemon: a name is resolved to a digest, what the digest stands for
//! is pulled, verified and unpacked below one folder, and kept there for whoever needs it next.
//!
//! May know: registries, blobs, files below its folder.
//! Must never know: orders, sandboxes, GitHub, settings files. Whoever makes an [`ImageStore`] gives it its settings.
//!
//! Images are hostile: names come from repositories, bytes from registries that others run, and archives from whoever
//! published them. Nothing is believed that was not compared with a digest, everything has a most, and no file is
//! made outside the folder, whatever links an image brings. Root rights are neither needed nor used.
//!
//! The links in an unpacked root are the image's. Follow none of them from outside: `usr` in it can be a link to the
//! host's `/root`. A sandbox that has [`ImageRoot::path`] as its `/` follows them inside.

mod auth;
mod download;
mod error;
mod lock;
mod manifest;
mod pull;
mod reference;
mod registry;
mod settings;
mod store;
mod unpack;

#[cfg(test)]
mod tests;

pub use error::{ImageError, ImageFault};
pub use manifest::ImageConfig;
pub use pull::{PullObserver, PullProgress, PullStep};
pub use reference::{ImageDigest, ImageReference, InvalidImageDigest, InvalidImageReference};
pub use settings::{ImageLimits, ImageSettings};
pub use store::{ImageRoot, ImageStore, RemovedImages, ResolvedImage, StoredImage};

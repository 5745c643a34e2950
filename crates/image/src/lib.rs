//! OCI images as root folders, without a container daemon. `skopeo` resolves and downloads them, `umoci` unpacks them,
//! and this crate keeps them below one folder for the next user.
//!
//! May know: these two programs, files below its folder.
//! Must never know: orders, sandboxes, GitHub, settings files. The caller passes settings to [`ImageStore`].
//!
//! Images are untrusted: names come from repositories, bytes from registries, archives from their publishers.
//! Every document is checked against its digest. `umoci` can write only the image's own folder and has no network.
//! No root rights are needed or used.
//!
//! Never follow the links in an unpacked root from outside: its `usr` can be a link to the host's `/root`. A sandbox
//! with [`ImageRoot::path`] as its `/` follows them inside.

mod error;
mod manifest;
mod programs;
mod pull;
mod reference;
mod store;

#[cfg(test)]
mod tests;

pub use error::{ImageError, ImageFault};
pub use manifest::ImageConfig;
pub use programs::{ImageSettings, ImageSize, missing_image_programs};
pub use pull::{PullObserver, PullProgress, PullStep};
pub use reference::{ImageDigest, ImageReference, InvalidImageReference};
pub use store::{ImageRoot, ImageStore};

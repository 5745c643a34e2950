//! OCI images as root folders, without a container daemon. `skopeo` resolves and downloads them, `umoci` unpacks them,
//! and this crate keeps them below one folder for the next user.
//!
//! May know: these two programs, files below its folder.
//! Must never know: orders, sandboxes, GitHub, settings files. Whoever makes an [`ImageStore`] gives it its settings.
//!
//! Images are hostile: names come from repositories, bytes from registries, archives from whoever published them.
//! Every document is compared with its digest. `umoci` can write only into the image's own folder and has no network.
//! Root rights are neither needed nor used.
//!
//! The links in an unpacked root are the image's. Follow none of them from outside: `usr` in it can be a link to the
//! host's `/root`. A sandbox that has [`ImageRoot::path`] as its `/` follows them inside.

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

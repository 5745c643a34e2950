//! Files to write over a checkout, so that it is neither the base commit nor the change.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// Relative to the root. The path is untrusted: the code that applies it must ensure that it stays inside the
    /// checkout, also through links.
    pub path: String,
    pub action: OverlayAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverlayAction {
    /// Writes these bytes. An existing file keeps its mode. A new file must be executable if it begins with `#!`.
    Write(Vec<u8>),
    Remove,
    /// Restores the base commit's entry, whatever it is: a link, or a file above the limit.
    OfBase,
    /// The same, with the change's entry.
    OfChange,
}

//! Files to lay over a checkout, so that it is neither the base commit nor the change.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// From the root. It was written by others: whoever lays it has to see that it stays within the checkout, links
    /// on the way included.
    pub path: String,
    pub action: OverlayAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverlayAction {
    /// It gets these bytes. One that is there keeps its mode; one that is not has to be executable if it begins with
    /// `#!`.
    Write(Vec<u8>),
    Remove,
    /// It is what it is in the base commit, whatever that is: a link, or more than is read.
    OfBase,
    /// The same of the change.
    OfChange,
}

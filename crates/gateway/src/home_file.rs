//! A file that a job finds in its home.

/// A file in a job's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    /// Below the home, without `..`.
    pub path: &'static str,
    pub text: String,
}

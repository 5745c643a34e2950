//! GitHub's answers, and what follows from them.

mod changes;
mod checks;
mod comments;
mod facts;
mod labels;
mod limits;
mod pulls;
mod redirects;
pub(crate) mod scripted;
mod tokens;

//! Stories about what GitHub answers and what becomes of it.

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

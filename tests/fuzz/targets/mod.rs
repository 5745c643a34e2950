//! One file per parser: how it runs an input, and what must hold for any input.

pub mod change;
pub mod gateway;
pub mod pipeline;
pub mod receipt;
pub mod render;
pub mod runner;
pub mod template;
pub mod transcript;
pub mod tree;
pub mod webhook;

/// The parts of an input, each separated by a line of `%%`.
pub fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    while let Some(at) = rest.windows(4).position(|window| window == b"\n%%\n") {
        parts.push(&rest[..at]);
        rest = &rest[at + 4..];
    }
    parts.push(rest);
    parts
}

/// Converts to text like production does with everything from outside.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

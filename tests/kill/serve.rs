//! The real program.

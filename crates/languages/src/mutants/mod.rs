//! What a mutant has to fit: the names of its file, and the types of its functions.
//!
//! May know: grammars and what compilers refuse. Must never know: which mutants are made, and what becomes of them.

pub mod names;
pub mod returns;

/// How many ancestors of a node are examined.
pub const MOST_CLIMB: usize = 300;

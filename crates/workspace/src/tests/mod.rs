//! Tests that are too large for the files that they test.

mod hostile_trees;

//! What only tests read, and is too large for the file that it is about.

mod hostile_trees;

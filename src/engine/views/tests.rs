//! Journals as people see them.

//! Moments by chance.

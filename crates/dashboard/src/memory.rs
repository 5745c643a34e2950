//! What is kept of browsers in the memory of one server: by hashes of what they show, and never too much of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};

/// What is kept in place of a secret that a browser shows.
pub(crate) type SecretHash = [u8; 32];

pub(crate) fn hashed(secret: &str) -> SecretHash {
    let mut hash = SecretHash::default();
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

/// Whoever panicked with it left it whole: nothing is changed in steps.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for one more where there are to be so many at most: what is over goes, and then what is over first.
pub(crate) fn make_room<K: Clone + Eq + Hash, V, T: Ord>(
    all: &mut HashMap<K, V>,
    most: usize,
    now: T,
    until: impl Fn(&V) -> T,
) {
    all.retain(|_, one| until(one) > now);
    while all.len() >= most {
        let Some(first) = all.iter().min_by_key(|(_, one)| until(one)).map(|(key, _)| key.clone()) else {
            return;
        };
        all.remove(&first);
    }
}

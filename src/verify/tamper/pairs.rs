//! Which test of the base is which test after the change: by name, by body, by likeness.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Test, likeness};

/// How alike two tests have to be to be one that was renamed.
const ALIKE: f64 = 0.55;
/// Comparisons of one test with another that are made for one change.
const MOST_COMPARED: usize = 40_000;

/// The tests of both sides, by their places in the lists.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Of the base, and after the change.
    pub(super) paired: Vec<(usize, usize)>,
    pub(super) removed: Vec<usize>,
    pub(super) added: Vec<usize>,
}

/// Pairs every test at most once.
pub(super) fn pair(base: &[&Test], after: &[&Test]) -> Pairs {
    let mut pairs =
        Pairs { paired: Vec::new(), removed: (0..base.len()).collect(), added: (0..after.len()).collect() };
    by_key(&mut pairs, base, after, &|test| Some((test.path.clone(), test.name.clone())));
    by_key(&mut pairs, base, after, &|test| Some((test.bare.clone(), test.digest.clone())));
    // A body of a few words says nothing about who it is.
    by_key(&mut pairs, base, after, &|test| {
        (!test.assertions.is_empty()).then(|| (String::new(), test.digest.clone()))
    });
    by_key(&mut pairs, base, after, &|test| Some((String::new(), test.bare.clone())));
    by_likeness(&mut pairs, base, after);
    pairs
}

type Key = (String, String);

fn by_key(pairs: &mut Pairs, base: &[&Test], after: &[&Test], key: &dyn Fn(&Test) -> Option<Key>) {
    let mut there: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for at in pairs.added.iter().rev() {
        if let Some(key) = after.get(*at).and_then(|test| key(test)) {
            there.entry(key).or_default().push(*at);
        }
    }
    let mut found = BTreeSet::new();
    pairs.removed.retain(|at| {
        let key = base.get(*at).and_then(|test| key(test));
        let Some(partner) = key.and_then(|key| there.get_mut(&key)).and_then(Vec::pop) else { return true };
        pairs.paired.push((*at, partner));
        found.insert(partner);
        false
    });
    pairs.added.retain(|at| !found.contains(at));
}

fn by_likeness(pairs: &mut Pairs, base: &[&Test], after: &[&Test]) {
    if pairs.removed.len().saturating_mul(pairs.added.len()) > MOST_COMPARED {
        return;
    }
    let mut scores: Vec<(f64, usize, usize)> = Vec::new();
    for one in &pairs.removed {
        for other in &pairs.added {
            let (Some(before), Some(now)) = (base.get(*one), after.get(*other)) else { continue };
            let score = likeness(&before.words, &now.words);
            if score >= ALIKE {
                scores.push((score, *one, *other));
            }
        }
    }
    scores.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    for (_, one, other) in scores {
        if pairs.removed.contains(&one) && pairs.added.contains(&other) {
            pairs.removed.retain(|at| *at != one);
            pairs.added.retain(|at| *at != other);
            pairs.paired.push((one, other));
        }
    }
}

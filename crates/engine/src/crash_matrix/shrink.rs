//! Reduces a failing case to a smaller one.

use super::Case;

/// Removes fates and moves the rest to earlier steps, as long as the case still fails.
pub(super) fn shrunk(case: &Case) -> (Case, String) {
    let wrong = |case: &Case| case.live().err();
    let mut smallest = case.clone();
    let mut violation = wrong(case).unwrap_or_else(|| "it does not go wrong each time".to_owned());
    for at in (0..case.fates.len()).rev() {
        let mut fewer = smallest.clone();
        if at >= fewer.fates.len() {
            continue;
        }
        fewer.fates.remove(at);
        if let Some(still) = wrong(&fewer) {
            (smallest, violation) = (fewer, still);
        }
    }
    for at in 0..smallest.fates.len() {
        for part in [2, 4, 8] {
            let mut earlier = smallest.clone();
            let step = &mut earlier.fates[at].0;
            *step -= *step / part;
            if let Some(still) = wrong(&earlier) {
                (smallest, violation) = (earlier, still);
            }
        }
    }
    (smallest, violation)
}

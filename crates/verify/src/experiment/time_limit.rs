//! After how many seconds a run counts as endless, given what the same tests took elsewhere. That time includes the
//! start of sandbox and runner.

/// Tests notice a wrong expectation at once, or wait for something that never comes.
const TIMES_WITH_AN_EDIT: f64 = 3.0;
/// A busy machine may start a short run late.
const MORE_WITH_AN_EDIT: f64 = 2.0;
const TIMES_ON_OLD_CODE: f64 = 5.0;
const LEAST_ON_OLD_CODE: f64 = 20.0;

/// With an edit of ours, given the time without it.
pub(super) fn with_an_edit(took: f64) -> f64 {
    (took * TIMES_WITH_AN_EDIT).max(took + MORE_WITH_AN_EDIT)
}

/// On the base's code, given the time with the change.
pub(super) fn on_old_code(took: f64) -> f64 {
    (took * TIMES_ON_OLD_CODE).max(LEAST_ON_OLD_CODE)
}

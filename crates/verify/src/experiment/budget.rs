//! How much time edits and repetitions of the tests have together: twice what the tests themselves take. What decides
//! most comes first, and what is left out is said.
//!
//! May know: the runs that are needed now, and what the finished ones took. Must never know: what a run shows.

use super::known::KnownSoFar;
use super::row::{PlannedRun, TimeShare};

const TIMES: f64 = 2.0;
/// Of a short suite the start of each run takes the most, and is soon over.
const LEAST: f64 = 10.0;

/// The runs that are made now, given the seconds that earlier ones took. If there is no time for any of them, they are
/// returned as left out.
pub(super) fn granted(known: &KnownSoFar<'_>, mut spent: f64, planned: Vec<PlannedRun>) -> Vec<PlannedRun> {
    let all = (known.change.seconds * TIMES).max(LEAST);
    let mut asked: Vec<(usize, PlannedRun)> = planned.into_iter().enumerate().collect();
    // A second run of one kind says less than the first of another.
    asked.sort_by_key(|(_, run)| (!run.is_needed(), run.number));
    let (mut now, mut later) = (Vec::new(), Vec::new());
    for (at, run) in asked {
        let takes = if run.row.is_timed() { seconds_of(known, &run) } else { 0.0 };
        let share = if run.row.time == TimeShare::FirstThenHalf { all / 2.0 } else { all };
        match run.is_needed() || spent + takes <= share {
            true => {
                spent += takes;
                now.push((at, run));
            }
            // When the others are finished, it is known better how long it takes.
            false => later.push((at, run)),
        }
    }
    if now.is_empty() {
        now = later;
        now.iter_mut().for_each(|(_, run)| run.is_left_out = true);
    }
    now.sort_by_key(|(at, _)| *at);
    now.into_iter().map(|(_, run)| run).collect()
}

/// How many seconds a run will take: as many as the change's own, unless it runs selected tests alone.
fn seconds_of(known: &KnownSoFar<'_>, run: &PlannedRun) -> f64 {
    let all = known.change.seconds;
    if run.only.is_empty() || !known.can_select(&run.only) {
        return all;
    }
    let selected = known.runs.iter().filter(|run| run.is_selected).map(|run| run.seconds);
    selected.reduce(f64::max).map_or(all, |longest| longest.min(all))
}

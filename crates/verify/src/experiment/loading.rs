//! What is left out of a run whose test files do not load on the other side's code.

use std::collections::BTreeSet;

use super::cell::{ExperimentCell, not_loaded};
use crate::overlay::Overlay;

/// Which overlays the next try of a run leaves out: the files that its output names, else the test configuration, else
/// everything. Empty if the run counts as it is.
pub fn left_out(
    baseline: &ExperimentCell<'_>,
    ran: &ExperimentCell<'_>,
    overlays: &[Overlay],
    configuration: &[String],
    is_on_old_code: bool,
) -> BTreeSet<String> {
    let silent = not_loaded(ran);
    let loaded_before = not_loaded(baseline).is_empty();
    // A run that names tests has loaded the others.
    let named_some = ran.reading.cases.is_some() && is_on_old_code;
    if silent.is_empty() || !loaded_before || named_some {
        return BTreeSet::new();
    }
    let speaks_of = |path: &str| mentions(ran.output, path) || silent.iter().any(|name| mentions(name, path));
    let is_configuration = |path: &str| configuration.iter().any(|known| known == path);
    let those = |is_one: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        let paths = overlays.iter().map(|overlay| overlay.path.clone());
        paths.filter(|path| is_one(path)).collect()
    };
    let mut left_out = those(&|path| speaks_of(path) && !is_configuration(path));
    if left_out.is_empty() {
        left_out = those(&is_configuration);
    }
    if left_out.is_empty() && !is_on_old_code {
        left_out = those(&|_| true);
    }
    left_out
}

fn mentions(text: &str, path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    text.contains(path) || (path.ends_with(".py") && text.contains(&stem.replace('/', ".")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::OverlayAction;
    use journeyman_order::{Exit, TestReport};

    #[test]
    fn what_does_not_load_is_left_out_by_name_then_the_configuration_then_all_of_it() {
        let reading = TestReport::default();
        let cell = |code, output| ExperimentCell { exit: Some(Exit::Code(code)), reading: &reading, output };
        let laid = ["tests/test_a.py", "tests/test_b.py", "pytest.ini"]
            .map(|path| Overlay { path: path.to_owned(), action: OverlayAction::Remove });
        let configuration = ["pytest.ini".to_owned()];
        let out = |ran, laid: &[Overlay], is_on_old_code| -> Vec<String> {
            left_out(&cell(0, ""), &ran, laid, &configuration, is_on_old_code).into_iter().collect()
        };
        let named = cell(1, "ERROR tests/test_a.py\nE   ImportError: no name `a`\n");
        let silent = cell(1, "E   ImportError: no name `a`\n");
        assert_eq!(out(named, &laid, false), ["tests/test_a.py"]);
        assert_eq!(out(silent, &laid, false), ["pytest.ini"]);
        assert_eq!(out(silent, &laid[..2], false), ["tests/test_a.py", "tests/test_b.py"]);
        assert_eq!(out(silent, &laid[..2], true), [""; 0], "the old code is to show that they do not load");
        assert_eq!(out(cell(1, "AssertionError: 1 != 2\n"), &laid, false), [""; 0]);
        let broken = left_out(&silent, &silent, &laid, &configuration, false);
        assert!(broken.is_empty(), "the base does not load either");
    }
}

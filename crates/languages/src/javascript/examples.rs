//! How a call of JavaScript code is evaluated.

use crate::example_runner::{ExampleCall, ExampleRunner};
use journeyman_order::examination::AS_IT_RUNS;

pub(super) const EXAMPLES: ExampleRunner = ExampleRunner {
    language: "JavaScript",
    endings: &["js", "mjs", "cjs"],
    defines: r"(?m)\b(?:function\*?|class|const|let|var)\s+NAME\b|\bexports\.NAME\s*=|^\s*NAME\s*[:=]\s*(?:async\s*)?(?:function|\()",
    script: "evaluate.mjs",
    text: include_str!("evaluate.mjs"),
    call: |words, paths, _| ExampleCall {
        modules: paths.iter().map(|path| (*path).to_owned()).collect(),
        command: format!("{AS_IT_RUNS} node {words}"),
    },
};

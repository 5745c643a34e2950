//! How JavaScript's programs and runners say that code did not load.
//!
//! May know: lines of Node, TypeScript, Jest, Vitest and Bun. Must never know: what follows from them.

use crate::counts::native::bun_unloaded;
use crate::not_loaded::NotLoaded;

pub(super) const NOT_LOADED: &[NotLoaded] = &[
    // Vitest prints the name twice if a file did not load: `a.test.ts [ a.test.ts ]`.
    NotLoaded::part(r"^ FAIL +(?:\|[^|]+\| )?(\S+) \[ \S+ \]$"),
    NotLoaded::part(r"^(\S[^(]*\.[cm]?tsx?)\(\d+,\d+\): error TS\d+: "),
    NotLoaded::part(r"^(\S[^:]*\.[cm]?tsx?):\d+:\d+ - error TS\d+: "),
    NotLoaded::run(r"SyntaxError: "),
    NotLoaded::base(r".*: error TS\d+: "),
    NotLoaded::base(r"SyntaxError: "),
    NotLoaded::base(r"(?:Uncaught )?Error: Cannot find module "),
    NotLoaded::base(r"Error \[ERR_\w+\]: "),
    NotLoaded::program(r"SyntaxError: .*does not provide an export named '(\w+)'"),
    NotLoaded::program(r"TypeError: (?:\w+\.)*(\w+) is not a (?:function|constructor)"),
    NotLoaded::program(r"ReferenceError: (\w+) is not defined"),
    NotLoaded::program(r"(?:Cannot find module|ERR_MODULE_NOT_FOUND.*) '([^']+)'"),
    NotLoaded::program(r"^\s*SyntaxError"),
];

/// Files of Jest and Bun.
pub(super) fn unloaded(lines: &[&str]) -> Vec<(usize, String)> {
    let jest_file = pattern!(r"^FAIL (\S+)");
    let mut jest = None;
    let mut unloaded = bun_unloaded(lines);
    for (at, line) in lines.iter().enumerate() {
        if let Some(file) = jest_file.captures(line).and_then(|found| found.get(1)) {
            jest = Some(file.as_str());
        } else if *line == "  ● Test suite failed to run" {
            unloaded.extend(jest.map(|file| (at, file.to_owned())));
        }
    }
    unloaded
}

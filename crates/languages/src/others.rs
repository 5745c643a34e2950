//! Languages of which only projects and packages are recognized, and what serves any language: shells, programs that start
//! tasks, and the Test Anything Protocol.

use crate::counts::tap;
use crate::language::{Facts, Language, PackageSource};
use crate::not_loaded::NotLoaded;
use crate::runner::{PrintedResult, SummaryForm, TestRunner};

pub(crate) struct Dart;

impl Language for Dart {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["dart"],
                unparsed: &[("Dart", &["dart"])],
                manifests: &["pubspec.yaml"],
                programs: &["dart", "flutter"],
                packages: &[PackageSource {
                    signs: &["pubspec.yaml"],
                    programs: &["dart", "flutter"],
                    hosts: &["pub.dev"],
                }],
                lockfiles: &["pubspec.lock"],
                ..Facts::NONE
            }
        }
    }
}

pub(crate) struct Swift;

impl Language for Swift {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["swift"],
                unparsed: &[("Swift", &["swift"])],
                manifests: &["Package.swift"],
                programs: &["swift", "xcodebuild"],
                lockfiles: &["Package.resolved"],
                not_loaded: &[NotLoaded::COMPILER],
                ..Facts::NONE
            }
        }
    }
}

pub(crate) struct Haskell;

impl Language for Haskell {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                unparsed: &[("Haskell", &["hs"])],
                packages: &[PackageSource {
                    signs: &["*.cabal", "stack.yaml"],
                    programs: &["cabal", "stack"],
                    hosts: &["hackage.haskell.org"],
                }],
                lockfiles: &["cabal.project.freeze", "stack.yaml.lock"],
                ..Facts::NONE
            }
        }
    }
}

/// No language: what starts the tests of any.
pub(crate) struct Shell;

impl Language for Shell {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                scripts: &["sh", "bash", "ps1", "lua"],
                unparsed: &[("shell scripts", &["sh", "bash"])],
                configuration: &[".env", ".env.*", "justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"],
                surroundings: &[r#"\[ -t\b|\btest -t\b|\+%z\b|\bcase "?\$0\b|-[def] "?tests?\b"#],
                missing: &[
                    r"^.*(?:sh|bash|env): (?:\d+: |line \d+: )?\S+: (?:command )?not found$",
                    r"^.*(?:sh|bash): (?:\d+: |line \d+: )?\S+: Permission denied$",
                    r"^.*: \S+: (?:command )?not found$",
                    r"^fatal: ambiguous argument .*: unknown revision or path not in the working tree\.$",
                ],
                no_version: &[
                    r"^(?:py|rb|nod|j|go|php|pl|ex|er|lua|swift|tf)env: version [`'][^'`]+' is not installed\b.*$",
                    r"^(?:mise ERROR )?(?:asdf: )?No (?:preset )?version (?:is )?(?:set|installed) for (?:command|shim)\b.*$",
                    // The prefix alone is not enough: mise also prints it for a failed task.
                    r"^mise ERROR .*(?:[Nn]o version|not installed|not trusted).*$",
                ],
                not_loaded: &[
                    NotLoaded::run(r".*: (?:command )?not found$"),
                    NotLoaded::run(r"make: \*\*\* No rule to make target"),
                    NotLoaded::program(r"sh: (?:\d+: |line \d+: )?(\S+): (?:command )?not found"),
                    NotLoaded::program(r"^.*: syntax error"),
                ],
                ..Facts::NONE
            }
        }
    }
}

/// No language: programs that print the Test Anything Protocol.
pub(crate) struct Tap;

impl Language for Tap {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                // Programs of Perl print it.
                scripts: &["pl"],
                unparsed: &[("Perl", &["pl", "pm"])],
                configuration: &[".proverc"],
                runners: &[TestRunner {
                    name: "tap",
                    printed: Some(PrintedResult { read: tap::tap, form: SummaryForm::Parts }),
                    ..TestRunner::NONE
                }],
                surroundings: &[r"\(caller(?:\)| \d)|\bcaller\(|\bHARNESS_\w+|\$INC\{"],
                not_loaded: &[NotLoaded::base(r"Can't locate \S+ in @INC")],
                ..Facts::NONE
            }
        }
    }
}

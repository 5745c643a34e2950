//! Languages of which only the projects are recognized, and the Test Anything Protocol, which any program may print.

use crate::counts::tap;
use crate::language::{Facts, Language};
use crate::runner::{PrintedResult, SummaryForm, TestRunner};

pub(crate) struct Elixir;

impl Language for Elixir {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "Elixir",
                sources: &["ex", "exs"],
                manifests: &["mix.exs"],
                programs: &["mix"],
                ..Facts::NONE
            }
        }
    }
}

pub(crate) struct Dart;

impl Language for Dart {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "Dart",
                sources: &["dart"],
                manifests: &["pubspec.yaml"],
                programs: &["dart", "flutter"],
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
                name: "Swift",
                sources: &["swift"],
                manifests: &["Package.swift"],
                programs: &["swift", "xcodebuild"],
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
                name: "TAP",
                runners: &[TestRunner {
                    name: "tap",
                    printed: Some(PrintedResult { read: tap::tap, form: SummaryForm::Parts }),
                    ..TestRunner::NONE
                }],
                ..Facts::NONE
            }
        }
    }
}

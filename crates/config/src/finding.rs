//! Results of checking settings and machine, shown by `journeyman doctor`, `journeyman setup` and the dashboard.

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The subject: a settings key, a file or a variable.
    pub about: String,
    /// The state, or the problem and how to fix it. Contains no secrets.
    pub text: String,
    pub level: FindingLevel,
}

/// Whether the server can work with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingLevel {
    Good,
    /// It works, but something is missing.
    Warning,
    /// `serve` refuses it, or orders fail because of it.
    Problem,
}

impl FindingLevel {
    /// The word that people see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warn",
            Self::Problem => "FIX",
        }
    }

    /// The CSS class on the pages.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warn",
            Self::Problem => "bad",
        }
    }
}

impl DoctorFinding {
    pub fn new(about: &str, text: impl Into<String>, level: FindingLevel) -> Self {
        Self { about: about.to_owned(), text: text.into(), level }
    }

    /// Whether the server can work despite it.
    pub fn is_usable(&self) -> bool {
        self.level != FindingLevel::Problem
    }
}

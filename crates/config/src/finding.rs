//! What a check of the settings and of this machine says: `journeyman doctor`, the dashboard and `journeyman setup` show it.

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// What it is about: a key of the settings, a file, a variable.
    pub about: String,
    /// What is there, or what is wrong and how to fix it. Without secrets.
    pub text: String,
    pub level: FindingLevel,
}

/// Whether the server can work with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingLevel {
    Good,
    /// It works, with less than it could have.
    Warning,
    /// `serve` refuses it, or orders fail because of it.
    Problem,
}

impl FindingLevel {
    /// As people read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warn",
            Self::Problem => "FIX",
        }
    }

    /// Its class in the pages' styles.
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

    /// Whether the server can work all the same.
    pub fn is_usable(&self) -> bool {
        self.level != FindingLevel::Problem
    }
}

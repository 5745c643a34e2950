//! Where evidence runs as a user of the change would run it, drawn anew for each verdict.
//!
//! May know: names. Must never know: how a job is made to see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What programs see around them in the user's place. Each program runs again in other surroundings, as far as the
/// environment has what that takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserPlace {
    /// The absolute path of the code, without its tests.
    pub folder: String,
    /// The absolute path of the home.
    pub home: String,
    /// The login name.
    pub user: String,
    /// The name of the machine.
    pub host: String,
    /// Days between today and the date of the second run.
    pub days_ahead: u32,
    /// Columns of the second run's terminal.
    pub columns: u32,
    /// Whether programs ran on a terminal.
    pub on_terminal: bool,
    /// Whether programs ran at that date.
    pub is_later: bool,
    /// The package manager whose package held the code of their last run; empty if they ran in the repository only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub packed_by: String,
}

/// Folders in which people keep code.
const FOLDERS: [&str; 8] = ["code", "projects", "src", "dev", "repos", "Documents", "sources", "checkouts"];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
const CONSONANTS: [&str; 14] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"];
const FEWEST_DAYS: u32 = 60;
const MOST_DAYS_MORE: u32 = 600;
const FEWEST_COLUMNS: u32 = 60;
const MOST_COLUMNS_MORE: u32 = 120;

impl UserPlace {
    /// Draws a place with `number`, which returns an unpredictable number with each call.
    pub fn draw(mut number: impl FnMut() -> u32) -> Self {
        let (user, host) = (word(&mut number, 3), word(&mut number, 4));
        let home = format!("/home/{user}");
        let between = choice(&FOLDERS, number());
        let folder = match number() % 3 {
            0 => format!("{home}/{between}/{}", word(&mut number, 4)),
            1 => format!("{home}/{between}/{}/{}", word(&mut number, 3), word(&mut number, 3)),
            _ => format!("/srv/{}/{}", word(&mut number, 3), word(&mut number, 4)),
        };
        let (days_ahead, columns) =
            (FEWEST_DAYS + number() % MOST_DAYS_MORE, FEWEST_COLUMNS + number() % MOST_COLUMNS_MORE);
        Self { folder, home, user, host, days_ahead, columns, ..Self::default() }
    }

    /// Where programs ran, in one sentence.
    pub fn sentence(&self) -> String {
        let Self { folder, user, host, days_ahead, .. } = self;
        let around = match (self.on_terminal, self.is_later) {
            (false, false) => None,
            (true, false) => Some("on a terminal".to_owned()),
            (false, true) => Some(format!("{days_ahead} days ahead")),
            (true, true) => Some(format!("on a terminal {days_ahead} days ahead")),
        };
        let again: Vec<String> = around.into_iter().chain(as_packed(&self.packed_by)).collect();
        let more = match again.is_empty() {
            true => String::new(),
            false => format!(", and again {}", again.join(" and ")),
        };
        format!("Programs ran as a user starts them, in {folder} as {user} on {host}{more}")
    }
}

/// Words for code from a package. `None` if nobody packed it.
pub fn as_packed(by: &str) -> Option<String> {
    (!by.is_empty()).then(|| format!("with the code as {by} packs it"))
}

/// A word of so many syllables, which every language accepts as a name.
pub fn word(number: &mut impl FnMut() -> u32, syllables: usize) -> String {
    let mut syllable = || [choice(&CONSONANTS, number()), choice(&VOWELS, number())].concat();
    (0..syllables).map(|_| syllable()).collect()
}

fn choice<'a>(all: &[&'a str], number: u32) -> &'a str {
    let many = all.len().max(1);
    usize::try_from(number).ok().and_then(|number| all.get(number % many)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_how_programs_ran_again() {
        let place = UserPlace { days_ahead: 90, is_later: true, ..UserPlace::default() };
        assert!(place.sentence().ends_with(", and again 90 days ahead"));
        let packed = UserPlace { packed_by: "npm".to_owned(), ..place };
        assert!(packed.sentence().ends_with(", and again 90 days ahead and with the code as npm packs it"));
        let old = r#"{"folder": "", "home": "", "user": "", "host": "", "days_ahead": 1, "columns": 80,
            "on_terminal": false, "is_later": false}"#;
        let old: UserPlace = serde_json::from_str(old).unwrap();
        assert!(!old.sentence().contains("again"));
    }

    #[test]
    fn two_places_have_nothing_in_common() {
        let mut last = 7_u32;
        let mut number = || {
            last = last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            last >> 8
        };
        let (one, other) = (UserPlace::draw(&mut number), UserPlace::draw(&mut number));
        assert!(one.folder.starts_with('/') && one.home.ends_with(&one.user), "{one:?}");
        assert!(one.folder != other.folder && one.user != other.user && one.host != other.host);
        assert!(one.user.chars().all(|c| c.is_ascii_lowercase()));
    }
}

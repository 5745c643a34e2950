//! The lie that is closest to the truth: what the old code answers in place of what is expected.

use super::family::LanguageFamily;
use super::lie::Lie;
use super::lies::TestTexts;

impl TestTexts<'_> {
    /// The lie that the old code tells: its answer in place of what each test expects. `said` is the output of the runs
    /// in which these tests failed.
    pub fn old_answers(&self, lies: &[(String, Vec<Lie>)], said: &str) -> Vec<Lie> {
        let answers = |lie: &Lie, test: &str| {
            let own = super::names::title_of(test);
            old_answer(said, own, lie).map(|now| Lie { now, ..lie.clone() })
        };
        let mut told: Vec<Lie> = Vec::new();
        for (test, own) in lies {
            let mut sure = own.iter().filter(|lie| lie.is_sure && !lie.is_opposite);
            let Some(lie) = sure.find_map(|lie| answers(lie, test)) else { continue };
            // Cases of one test share its text, where only one answer can stand.
            let is_there = |known: &&Lie| known.path == lie.path && known.at == lie.at;
            let now = told.iter().find(is_there).map_or_else(|| lie.now.clone(), |known| known.now.clone());
            told.push(Lie { now, ..lie });
        }
        told
    }

    /// The same without test names. A value that a failure reports as expected is a sure one.
    pub fn old_answer_anywhere(&self, lies: &[Lie], said: &str) -> Option<Lie> {
        let mut values = lies.iter().filter(|lie| !lie.is_opposite);
        values.find_map(|lie| Some(Lie { now: old_answer(said, "", lie)?, is_sure: true, ..lie.clone() }))
    }
}

/// What the old code answered instead of this expectation, by a failure's words: another value of the same kind.
fn old_answer(said: &str, test: &str, lie: &Lie) -> Option<String> {
    const AFTER: usize = 40;
    let expected = lie.was.trim_matches(['"', '\'', '`']);
    let mut until = if test.is_empty() { usize::MAX } else { 0 };
    // Rust prints both sides on separate lines.
    let joined = said.replace("\n right: ", ", right: ").replace("\n  right: ", ", right: ");
    // So do Perl and other TAP producers.
    let two_lines =
        pattern!(r"(?m)((?:got|actual|wanted|expected):[ \t]*\S+)[ \t]*\n[# \t]*((?:got|actual|expected):)");
    let joined = two_lines.replace_all(&joined, "$1 $2");
    for (at, line) in joined.lines().enumerate() {
        if !test.is_empty() && super::names::has_word(line, test) || !test.is_empty() && line.contains(test) {
            until = at + AFTER;
        }
        if at >= until || line.len() > 400 {
            continue;
        }
        let Some(answer) = beside(line, expected, lie) else { continue };
        return Some(answer);
    }
    None
}

/// In `120 != 150`, `assert 120 == 150`, `120 !== 150`: the side that is not the expected one.
fn beside(line: &str, expected: &str, lie: &Lie) -> Option<String> {
    let was = lie.was.as_str();
    let bare = |word: &str| {
        word.trim_matches(['"', '\'', '`', ':', '.', ',', '(', ')', ';']).trim_start_matches('-').to_owned()
    };
    let told = pattern!(
        r"(?i)\b(?:expected|want(?:ed)?|got|was|is|answers|actual|left|received)\b:?\s*(\S+)\W+(?:but\s+)?(?:expected|want(?:ed)?|got|was|not|actual|right|instead of|should be)\b:?\s*(\S+)"
    );
    let operator = [" !== ", " != ", " == ", " is not ", ", not ", " instead of ", ", want ", ", expected "];
    let (one, other) = match operator.into_iter().find(|word| line.contains(word)) {
        Some(operator) => {
            let (left, right) = line.split_once(operator)?;
            let ends: &[char] = if operator.starts_with(',') { &[' ', '('] } else { &[' ', '(', ','] };
            let last = left.rsplit(ends).next().unwrap_or_default();
            let first = right.split([' ', ')', ',', ';']).next().unwrap_or_default();
            (bare(last), bare(first))
        }
        None => {
            let found = told.captures(line)?;
            (bare(found.get(1)?.as_str()), bare(found.get(2)?.as_str()))
        }
    };
    let expected = expected.trim_start_matches('-');
    let (_, answer) = [(&one, &other), (&other, &one)].into_iter().find(|(known, _)| *known == expected)?;
    let is_number = was.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match is_number {
        true => !answer.is_empty() && answer.bytes().all(|byte| byte.is_ascii_digit()),
        false => answer.chars().all(|c| c.is_alphanumeric() || " -_.,".contains(c)),
    };
    let quote: String = was.chars().take_while(|c| matches!(c, '"' | '\'')).take(1).collect();
    // Where lines are commands, a word without quotes is a text, and what is sure is none.
    let is_of_words = LanguageFamily::of(&lie.path) == Some(LanguageFamily::Shell) && !lie.is_sure;
    let is_word = is_of_words && super::text::is_bare(was);
    (fits && answer != expected && (is_number || !quote.is_empty() || is_word))
        .then(|| format!("{quote}{answer}{quote}"))
}

//! Judges the answers of both codes to an issue's examples.

use std::collections::BTreeSet;

use super::IssueExample;
use journeyman_order::scrutiny::{ExampleRun, ExampleVerdict};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    /// A literal word such as `None` or `true`.
    Word,
    Text,
}

/// The answers of base and change that count, from those in the usual and in other surroundings. What the base answers
/// otherwise in others, the change may too.
pub fn comparable(
    [before, before_there]: &[Vec<String>; 2],
    [after, after_there]: &[Vec<String>; 2],
) -> (Vec<String>, Vec<String>) {
    if before.len() == 1 && !before_there.is_empty() && before != before_there {
        return (before.clone(), after.clone());
    }
    let all = |usual: &[String], other: &[String]| {
        let more = other.iter().filter(|answer| !usual.contains(answer));
        usual.iter().chain(more).cloned().collect::<Vec<_>>()
    };
    let mut answers = all(after, after_there);
    let is_silent = |base: &[String], own: &[String]| !base.is_empty() && own.is_empty();
    if !answers.is_empty() && (is_silent(before, after) || is_silent(before_there, after_there)) {
        answers.push("! no answer".to_owned());
    }
    (all(before, before_there), answers)
}

/// Judges the distinct answers of base and change, in the order of the examples. An example that fails to run on the
/// change decides nothing. One that neither side can run is skipped.
pub fn judge_examples(
    examples: &[IssueExample],
    before: &[Vec<String>],
    after: &[Vec<String>],
) -> Vec<ExampleRun> {
    // The flag marks a verdict from text about this example alone, which takes precedence.
    let mut runs: Vec<(ExampleRun, bool)> = Vec::new();
    for (example, (before, after)) in examples.iter().zip(before.iter().zip(after)) {
        if before.is_empty() && after.is_empty() {
            continue;
        }
        let of_own = said((&example.own_text, true), before, after);
        let is_own = of_own != ExampleVerdict::Open;
        let said = if is_own { of_own } else { said((&example.text, example.is_in_sentence), before, after) };
        let (code, before, after) = (example.code.clone(), before.clone(), after.clone());
        runs.push((ExampleRun { code, before, after, said }, is_own));
    }
    // If one example changed its answer, another with an unchanged answer may have been right all along.
    let is_other = |(run, _): &(ExampleRun, bool)| {
        matches!(run.said, ExampleVerdict::Mended | ExampleVerdict::Open)
            && !run.before.is_empty()
            && !run.after.is_empty()
            && run.before != run.after
    };
    if runs.iter().any(is_other) {
        for (run, is_own) in &mut runs {
            if !*is_own && run.said == ExampleVerdict::AsBefore {
                run.said = ExampleVerdict::Open;
            }
        }
    }
    runs.into_iter().map(|(run, _)| run).collect()
}

/// What a text says about these answers; the flag says whether it is a sentence.
fn said((text, is_sentence): (&str, bool), before: &[String], after: &[String]) -> ExampleVerdict {
    let wanted = |was: &str| wanted((text, is_sentence), was);
    let ([was], [is]) = (before, after) else {
        return match before {
            _ if after.is_empty() => ExampleVerdict::Open,
            [was] if is_named(was, text) && !wanted(was).is_empty() => ExampleVerdict::Unsteady,
            [] if matches!(after, [is] if is_named(is, text)) => ExampleVerdict::Mended,
            _ => ExampleVerdict::Open,
        };
    };
    // The same number in another notation.
    let number = |value: &String| core(value).parse::<f64>().ok();
    if was != is && number(was).is_some() && number(was) == number(is) {
        return ExampleVerdict::Open;
    }
    let others = wanted(was);
    let is_like = |value: &String| kind(value) == kind(core(was)) && !is_error(was);
    // If only the wanted value is named, it is compared with a single value of the same kind.
    let is_asked = match is_named(was, text) {
        true => !others.is_empty(),
        false => matches!(&others[..], [one] if is_like(one) && asks_for(text)),
    };
    let is_an_error = |value: &String| value.ends_with("Error") || value.ends_with("Exception");
    let fits = |one: &String| kind(one) == kind(core(is)) || is_error(is) || is_an_error(one);
    match is == was {
        true if is_asked => ExampleVerdict::AsBefore,
        true => ExampleVerdict::Open,
        false if is_named(is, text) => ExampleVerdict::Mended,
        false if is_asked && matches!(&others[..], [one] if fits(one)) => ExampleVerdict::OtherThanNamed,
        false => ExampleVerdict::Open,
    }
}

/// The values that a text may want instead of `was`: those in its sentence, or those after such a word. Empty if
/// nothing asks for another value.
fn wanted((text, is_sentence): (&str, bool), was: &str) -> Vec<String> {
    const AFTER: usize = 60;
    let words = pattern!(
        r"(?i)\b(?:should|shall|must|expect(?:ed|s)?|ought|supposed|want(?:ed)?|instead|rather|correct(?:ly)?|wrong(?:ly)?|not|but)\b"
    );
    let mut named = match is_sentence {
        true if words.is_match(text) && !is_conditional(text) => values(text),
        true => BTreeSet::new(),
        false => {
            let after = |found: regex::Match<'_>| {
                text.get(found.end()..).unwrap_or_default().chars().take(AFTER).collect::<String>()
            };
            let near = words.find_iter(text).map(after).flat_map(|near| values(&near));
            near.filter(|value| kind(value) == kind(core(was))).collect()
        }
    };
    named.retain(|value| !is_same(value, was));
    named.into_iter().collect()
}

/// Whether the text depends on a condition that we do not create, or says that the value is right.
fn is_conditional(text: &str) -> bool {
    let before = text.split('…').next().unwrap_or_default();
    let sentence = before.rsplit(['.', ';', ':', '!', '?']).next().unwrap_or_default();
    let after = text.split('…').nth(1).unwrap_or_default();
    let rest = after.split(['.', ';', '!', '?']).next().unwrap_or_default();
    let conditions = pattern!(
        r"(?i)\b(?:with|after|before|when|whenever|if|once|unless|given|having|under|while|during|on|in|since|where|assuming)\b"
    );
    let stays = pattern!(r"(?i)\b(?:stays?|remain|keep|unchanged|not change|correctly|already|fine|right)\b");
    conditions.is_match(sentence) || stays.is_match(rest)
}

/// Whether a text says what should be, rather than only what is.
fn asks_for(text: &str) -> bool {
    pattern!(r"(?i)\b(?:should|shall|must|expect(?:ed|s)?|ought|supposed|wanted|instead)\b").is_match(text)
}

/// The distinct values in a text's code spans, or its plain literals if no span holds a value.
fn values(text: &str) -> BTreeSet<String> {
    let spans = text.split('`').skip(1).step_by(2).map(str::trim).filter(|span| is_value(span));
    let mut named: BTreeSet<String> = spans.map(str::to_owned).collect();
    if named.is_empty() {
        let numbers = pattern!(
            r#"(?:^|[\s:=(])(-?\d+(?:\.\d+)?|"[^"\n]*"|'[^'\n]*'|None|null|True|False|true|false)(?:$|[\s,;.)])"#
        );
        named.extend(numbers.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str().to_owned())));
    }
    named
}

/// Whether a code span holds a value rather than a call or a name.
fn is_value(span: &str) -> bool {
    let is_literal = pattern!(
        r#"(?s)^(?:-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?|"[^"]*"|'[^']*'|\[.*\]|\{.*\}|\(.*,.*\)|None|null|undefined|NaN|nil|True|False|true|false|(?:Some|Ok|Err)\(.*\)|[A-Z]\w*(?:Error|Exception))$"#
    );
    is_literal.is_match(span)
}

fn kind(value: &str) -> ValueKind {
    match value {
        "None" | "null" | "undefined" | "nil" | "True" | "False" | "true" | "false" => ValueKind::Word,
        _ if value.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => ValueKind::Number,
        _ => ValueKind::Text,
    }
}

/// Whether two answers are the same, or errors of the same kind.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    one == other || is_error(one) && is_error(other) && core(one) == core(other)
}

fn is_error(answer: &str) -> bool {
    answer.starts_with("! ")
}

/// A value without its wrapper: quotes, `Some` or `Ok`. Of an error, its name.
fn core(value: &str) -> &str {
    let mut value = value.trim();
    if let Some(error) = value.strip_prefix("! ") {
        return error.split(':').next().unwrap_or(error);
    }
    for wrapper in ["Some(", "Ok("] {
        value = value.strip_prefix(wrapper).and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
    }
    for quote in ['"', '\''] {
        value = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or(value);
    }
    value
}

/// A text with uniform quotes and whitespace, since languages and people write them differently.
fn alike(text: &str) -> String {
    text.replace('\'', "\"").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same within brackets, where spaces and the quotes of keys mean nothing.
fn alike_nested(text: &str) -> String {
    let text = alike(text);
    let tight = pattern!(r"([\[{(,:]) | ([\]}),:])").replace_all(&text, "$1$2");
    pattern!(r#""(\w+)":"#).replace_all(&tight, "$1:").into_owned()
}

/// Whether two values are the same to people, whatever the order of their keys.
fn is_same(one: &str, other: &str) -> bool {
    let parts = |value: &str| {
        let text = if is_nested(value) { alike_nested(value) } else { return vec![core(value).to_owned()] };
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let Some(inner) = inner else { return vec![text] };
        let mut parts: Vec<String> = inner.split(',').map(str::to_owned).collect();
        parts.sort();
        parts
    };
    is_nested(one) == is_nested(other) && parts(one) == parts(other)
}

fn is_nested(value: &str) -> bool {
    value.starts_with(['[', '{', '('])
}

/// Whether a text names a value, as a whole word.
fn is_named(value: &str, text: &str) -> bool {
    // An error is named by its class or one of its base classes.
    if is_error(value) && core(value).contains('/') {
        return core(value).split('/').any(|one| is_named(one, text));
    }
    if is_nested(value) && values(text).iter().any(|named| is_same(named, value)) {
        return true;
    }
    let alike: fn(&str) -> String = if is_nested(value) { alike_nested } else { alike };
    let (value, text) = (&*alike(core(value)), &*alike(text));
    if value.is_empty() {
        return ["``", "\"\""].iter().any(|empty| text.contains(empty));
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(value).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let mut after = text.get(at + value.len()..).unwrap_or_default().chars();
        let (next, second) = (after.next(), after.next());
        let starts =
            !before.is_some_and(|c| is_part(c) || (c == '-' || c == '.') && value.starts_with(is_part));
        let goes_on = next == Some('.') && second.is_some_and(|c| c.is_ascii_digit());
        let ends = !(next.is_some_and(is_part) || goes_on && kind(value) == ValueKind::Number);
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str =
        "`cents(\"-3.50\")` is `-250`. It should be `-350`: the sign belongs to the whole amount.";

    fn judged(issue: &str, before: &[&str], after: &[&str]) -> ExampleVerdict {
        let examples = super::super::examples(issue);
        let own =
            |answers: &[&str]| vec![answers.iter().map(|answer| (*answer).to_owned()).collect::<Vec<_>>()];
        judge_examples(&examples, &own(before), &own(after)).remove(0).said
    }

    #[test]
    fn an_example_is_mended_when_it_gives_what_the_issue_names() {
        assert_eq!(judged(ISSUE, &["-250"], &["-350"]), ExampleVerdict::Mended);
        assert_eq!(judged(ISSUE, &["Some(-250)"], &["Some(-350)"]), ExampleVerdict::Mended);
        assert_eq!(judged(ISSUE, &["-250"], &["-250"]), ExampleVerdict::AsBefore);
        assert_eq!(judged(ISSUE, &["-250"], &["-150"]), ExampleVerdict::OtherThanNamed);
        assert_eq!(judged(ISSUE, &["-250"], &["! ValueError: no"]), ExampleVerdict::OtherThanNamed);
        assert_eq!(judged(ISSUE, &["-250"], &["-350", "-250"]), ExampleVerdict::Unsteady);
    }

    #[test]
    fn an_example_that_only_the_base_can_run_decides_nothing_and_hides_nothing() {
        assert_eq!(judged(ISSUE, &["-250"], &[]), ExampleVerdict::Open);
        let two = format!("{ISSUE} `cents(\"1\")` is `100`.");
        let own =
            |answers: [&[&str]; 2]| answers.map(|some| some.iter().map(|one| (*one).to_owned()).collect());
        let (before, after) = (own([&["-250"], &["100"]]), own([&["-250"], &[]]));
        let runs = judge_examples(&super::super::examples(&two), &before, &after);
        let said: Vec<_> = runs.iter().map(|run| (run.said, run.sentence())).collect();
        assert_eq!(
            said,
            [
                (
                    ExampleVerdict::AsBefore,
                    Some("the issue's example cents(\"-3.50\") still gives -250".to_owned())
                ),
                (
                    ExampleVerdict::Open,
                    Some(
                        "the issue's example cents(\"1\") gave no answer with the change; before it gave 100"
                            .to_owned()
                    )
                ),
            ]
        );
        // An example that runs nowhere is skipped; an empty answer counts as an answer.
        let runs = judge_examples(&super::super::examples(&two), &own([&[], &[""]]), &own([&[], &["1"]]));
        assert_eq!(
            runs.iter().map(|run| run.sentence().unwrap()).collect::<Vec<_>>(),
            [
                "the issue's example cents(\"1\") gave an empty text and gives 1 now; the issue does not say enough to judge it"
            ]
        );
    }

    #[test]
    fn an_answer_counts_in_other_surroundings_unless_the_base_gives_another_one_there() {
        let answers = |usual: &[&str], there: &[&str]| {
            [usual, there].map(|some| some.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        let said = |base: [Vec<String>; 2], change: [Vec<String>; 2]| {
            let (before, after) = comparable(&base, &change);
            judge_examples(&super::super::examples(ISSUE), &[before], &[after]).remove(0).said
        };
        let wrong = || answers(&["-250"], &["-250"]);
        assert_eq!(said(wrong(), answers(&["-350"], &["-350"])), ExampleVerdict::Mended);
        assert_eq!(said(wrong(), answers(&["-350"], &["-250"])), ExampleVerdict::Unsteady);
        assert_eq!(said(wrong(), answers(&["-350"], &[])), ExampleVerdict::Unsteady, "it dies there");
        // Where the environment cannot show the others, the usual ones decide.
        assert_eq!(said(answers(&["-250"], &[]), answers(&["-350"], &[])), ExampleVerdict::Mended);
        // A base that prints the date, or answers now this and now that.
        let dated = || answers(&["-250"], &["-251"]);
        assert_eq!(said(dated(), answers(&["-350"], &["-351"])), ExampleVerdict::Mended);
        assert_eq!(said(dated(), dated()), ExampleVerdict::AsBefore);
        let unsteady = answers(&["-250", "-251"], &["-250"]);
        assert_eq!(said(unsteady, answers(&["-350"], &["-250"])), ExampleVerdict::Open);
    }

    #[test]
    fn a_nested_value_is_named_however_a_person_writes_it() {
        let issue = |wanted: &str| format!("`read(\"a\")` is `[{{'a': 1}}, 2]`. It should be `{wanted}`.");
        for (wanted, after) in [
            ("[{'a': 1}, 3]", "[ { a: 1 }, 3 ]"),
            ("{\"b\": [1, 2], \"a\": null}", "{ a: null, b: [ 1, 2 ] }"),
            ("{b: 1, a: 2}", "{'a': 2, 'b': 1}"),
            ("(1, 'a b')", "(1, 'a b')"),
        ] {
            let judged = |before: &str, after: &str| judged(&issue(wanted), &[before], &[after]);
            assert_eq!(judged("[{'a': 1}, 2]", after), ExampleVerdict::Mended, "{wanted}");
            assert_eq!(judged("[ { a: 1 }, 2 ]", "[ { a: 1 }, 2 ]"), ExampleVerdict::AsBefore, "{wanted}");
        }
        // What is right on the base already is no other value.
        let right = "`read(\"a\")` should be `{'a': [1, 2]}`.";
        assert_eq!(judged(right, &["{ a: [ 1, 2 ] }"], &["{ a: [ 1, 2 ] }"]), ExampleVerdict::Open);
        let lines = "```\nread('a')\n```\n\nIt gives `{'b': 2}`, expected:\n\n```\n{\n  \"a\": [\n    1\n  ]\n}\n```\n";
        assert_eq!(judged(lines, &["{ b: 2 }"], &["{ a: [ 1 ] }"]), ExampleVerdict::Mended);
        assert_eq!(judged(lines, &["{ b: 2 }"], &["{ b: 2 }"]), ExampleVerdict::AsBefore);
    }

    #[test]
    fn an_example_of_which_the_issue_says_something_else_is_left_open() {
        assert_eq!(judged(ISSUE, &["-25"], &["-25"]), ExampleVerdict::Open);
        let asked = "It would be nice if `cents` took them: `cents(\"-3.50\")` should give `-350`.";
        assert_eq!(judged(asked, &["-250"], &["-250"]), ExampleVerdict::AsBefore);
        assert_eq!(judged(asked, &["-250"], &["-150"]), ExampleVerdict::OtherThanNamed);
        assert_eq!(judged(asked, &["-250"], &["-350"]), ExampleVerdict::Mended);
        assert_eq!(judged("It exits with `500` at `cents(\"x\")`.", &["1"], &["1"]), ExampleVerdict::Open);
        assert_eq!(
            judged("`mean([1, 2])` is `1.5`. Please add a median.", &["1.5"], &["1.5"]),
            ExampleVerdict::Open
        );
        assert_eq!(judged(ISSUE, &["-250", "-251"], &["-250"]), ExampleVerdict::Open);
        let stays = "`port(\"70000\")` is `70000`, it should raise `ValueError`. (`port(\"a\")` is `None`, that must stay.)";
        let examples = super::super::examples(stays);
        let own = |answers: [&str; 2]| answers.map(|answer| vec![answer.to_owned()]);
        let (before, after) = (own(["70000", "None"]), own(["! BadPort/ValueError: no", "None"]));
        let runs = judge_examples(&examples, &before, &after);
        assert_eq!(
            runs.iter().map(|run| run.said).collect::<Vec<_>>(),
            [ExampleVerdict::Mended, ExampleVerdict::Open]
        );
        let table = "| call | now | wanted |\n|---|---|---|\n| `human(0)` | `''` | `'0s'` |\n| `human(86400)` | `'24h'` | `'1d'` |\n";
        let runs =
            judge_examples(&super::super::examples(table), &own(["''", "'24h'"]), &own(["'0s'", "'24h'"]));
        assert_eq!(runs[1].said, ExampleVerdict::AsBefore);
        let block = "```js\nparse('a+b');   // { q: 'a+b' }   should be { q: 'a b' }\nparse('c');   // { q: 'c' }\n```\n";
        let before = own(["{ q: 'a+b' }", "{ q: 'c' }"]);
        let runs =
            judge_examples(&super::super::examples(block), &before, &own(["{ q: 'a+b' }", "{ q: 'd' }"]));
        assert_eq!(runs[0].said, ExampleVerdict::AsBefore);
        let raises = "`port(\"70000\")` is `70000`, it should raise `ValueError`.";
        assert_eq!(judged(raises, &["70000"], &["None"]), ExampleVerdict::OtherThanNamed);
        let dict =
            "```\nmerge(a)\n```\n\nI expected\n\n```\n{\"a\": 1}\n```\n\nbut got:\n\n```\n{\"b\": 2}\n```\n";
        assert_eq!(judged(dict, &["{'b': 2}"], &["{'a': 1}"]), ExampleVerdict::Mended);
        let condition =
            "With `NO_COLOR=1` set, `paint(\"ok\")` still returns `'green'`; it should return `'ok'` then.";
        assert_eq!(judged(condition, &["'green'"], &["'green'"]), ExampleVerdict::Open);
        let after_that =
            "After `use(\"de\")`, `decimal(1.5)` still gives `\"1.5\"`. It should give `\"1,5\"` then.";
        let runs = judge_examples(
            &super::super::examples(after_that),
            &[vec![], vec!["'1.5'".to_owned()]],
            &[vec![], vec!["'1.5'".to_owned()]],
        );
        assert_eq!(runs[0].said, ExampleVerdict::Open);
        let of_type =
            "`pages(30)` returns `3.0`, I need an `int`. It rounds up correctly, e.g. `pages(31)` is 4.0.";
        assert_eq!(judged(of_type, &["3.0"], &["3"]), ExampleVerdict::Open);
        let several = "`slug(\"a & b\")` is `\"a--b\"` and not `\"a-b\"` or `\"a-and-b\"`.";
        assert_eq!(judged(several, &["'a--b'"], &["'a_b'"]), ExampleVerdict::Open);
        assert_eq!(judged(several, &["'a--b'"], &["'a-b'"]), ExampleVerdict::Mended);
        let error = "`first([])` is `None`. It should raise `ValueError`.";
        assert_eq!(judged(error, &["None"], &["! ValueError: empty"]), ExampleVerdict::Mended);
        assert_eq!(judged(error, &["None"], &["None"]), ExampleVerdict::AsBefore);
    }
}

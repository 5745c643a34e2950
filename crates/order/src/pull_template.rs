//! The repository's pull request template, and its filled-in form.

/// A filled-in template: all of its headings are there, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledTemplate {
    /// The text before the first heading.
    pub before: String,
    pub sections: Vec<TemplateSection>,
}

/// A heading of the template and the text below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateSection {
    /// From 1 to 6.
    pub level: usize,
    /// The template's heading without its signs.
    pub heading: String,
    pub text: String,
}

/// The folders in which GitHub looks for a template, as path prefixes.
const FOLDERS: [&str; 3] = [".github/", "", "docs/"];

/// Whether a template can be in this folder or below it.
pub fn may_hold_template(folder: &str) -> bool {
    FOLDERS.iter().any(|place| {
        let is = |name: &str| folder.eq_ignore_ascii_case(name);
        is(place.trim_end_matches('/')) || is(&format!("{place}pull_request_template"))
    })
}

/// The repository's template among these paths: a file that GitHub recognizes, in any case, or the only file of a
/// template folder.
pub fn template_path<'p>(paths: &[&'p str]) -> Option<&'p str> {
    let is = |path: &str, name: &str| path.eq_ignore_ascii_case(name);
    let file = FOLDERS.iter().find_map(|folder| {
        paths.iter().copied().find(|path| is(path, &format!("{folder}pull_request_template.md")))
    });
    file.or_else(|| {
        FOLDERS.iter().find_map(|folder| {
            let within = format!("{folder}pull_request_template/");
            let is_in = |path: &&str| {
                path.get(..within.len()).is_some_and(|start| is(start, &within))
                    && path.get(within.len()..).is_some_and(|name| !name.contains('/'))
            };
            let mut files = paths.iter().copied().filter(is_in);
            let only = files.next()?;
            files.next().is_none().then_some(only)
        })
    })
}

/// A text without its HTML comments, which are a template's instructions.
pub fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

/// The filled-in template; `None` if a heading is missing or misplaced, or the template has none.
pub fn filled(template: &str, answer: &str) -> Option<FilledTemplate> {
    let (template, answer) = (without_comments(template), without_comments(answer));
    let mut expected =
        lines(&template).filter_map(|(line, is_text)| heading(line).filter(|_| is_text)).peekable();
    expected.peek()?;
    let mut filled = FilledTemplate { before: String::new(), sections: Vec::new() };
    for (line, is_text) in lines(&answer) {
        let found = heading(line).filter(|_| is_text);
        if let (Some((_, found)), Some((level, wanted))) = (found, expected.peek().copied())
            && found == wanted
        {
            expected.next();
            filled.sections.push(TemplateSection { level, heading: wanted.to_owned(), text: String::new() });
            continue;
        }
        let text = filled.sections.last_mut().map_or(&mut filled.before, |section| &mut section.text);
        text.push_str(line);
        text.push('\n');
    }
    expected.next().is_none().then_some(filled)
}

/// The lines of a text, and whether each is outside fenced code.
fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut is_fenced = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_fenced ^= is_fence;
        (line, !is_fence && !is_fenced)
    })
}

/// Level and text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line.get(level..).filter(|rest| (1..=6).contains(&level) && rest.starts_with([' ', '\t']))?;
    let words = words.trim().trim_end_matches('#').trim_end();
    (!words.is_empty()).then_some((level, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_where_github_looks_for_it() {
        for (paths, found) in [
            (
                &["README.md", ".github/PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md"][..],
                Some(1),
            ),
            (&["Pull_Request_Template.md", "docs/pull_request_template.md"], Some(0)),
            (&["docs/PULL_REQUEST_TEMPLATE.md"], Some(0)),
            (&[".github/PULL_REQUEST_TEMPLATE/fix.md", "x.md"], Some(0)),
            (&["PULL_REQUEST_TEMPLATE/a.md", "PULL_REQUEST_TEMPLATE/b.md"], None),
            (&["src/pull_request_template.md", "docs/pull_request_template/a/b.md"], None),
            (&[], None),
        ] {
            assert_eq!(template_path(paths), found.map(|at: usize| paths[at]), "{paths:?}");
        }
    }

    #[test]
    fn a_template_is_filled_in_when_every_heading_is_there_in_its_order() {
        let template = "<!-- Be short. -->\n## What\n<!-- # Not this -->\n\n```\n# nor this\n```\n## Tests ##\n- [ ] run\n";
        let answer =
            "Hello\n## What\nIt is 42. <!-- a secret\nword -->\n### More\nthings\n## Tests\n- [x] run\n";
        let sections = filled(template, answer).map(|filled| (filled.before, filled.sections));
        let section = |heading: &str, text: &str| TemplateSection {
            level: 2,
            heading: heading.to_owned(),
            text: text.to_owned(),
        };
        let expected =
            vec![section("What", "It is 42. \n### More\nthings\n"), section("Tests", "- [x] run\n")];
        assert_eq!(sections, Some(("Hello\n".to_owned(), expected)));
        for (template, answer) in [
            (template, "## What\nIt is 42.\n"),
            (template, "## Tests\n## What\n"),
            (template, "```\n## What\n## Tests\n```\n"),
            (template, "<!-- ## What\n## Tests -->"),
            ("Just words\n", "Just words\n"),
        ] {
            assert_eq!(filled(template, answer), None, "{answer:?}");
        }
    }
}

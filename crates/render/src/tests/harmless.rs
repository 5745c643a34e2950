//! Renders foreign text as GitHub would, and checks that nothing in it acts.

use std::sync::LazyLock;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use crate::{code_block, code_span, markdown, plain, title};
use journeyman_order::length::fit;

/// The text that GitHub would search for mentions and references, which excludes code.
fn searched_text(rendered: &str) -> Vec<String> {
    let mut runs = vec![String::new()];
    let mut in_code = false;
    for event in Parser::new_ext(rendered, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Text(text) if !in_code => runs.last_mut().unwrap().push_str(&text),
            Event::Text(_) | Event::Code(_) => runs.push(String::new()),
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Html(html) | Event::InlineHtml(html) => panic!("HTML: {html:?} in {rendered:?}"),
            Event::Start(Tag::Image { .. } | Tag::Link { .. } | Tag::HtmlBlock | Tag::Heading { .. }) => {
                panic!("{event:?} in {rendered:?}")
            }
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {
                panic!("{event:?} in {rendered:?}")
            }
            Event::Start(_) | Event::End(_) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                runs.push(String::new());
            }
        }
    }
    runs
}

/// How many folds are open at the end of a body.
fn folds(body: &str) -> i32 {
    let mut open = 0;
    for event in Parser::new(body) {
        if let Event::Html(html) | Event::InlineHtml(html) = event {
            open += i32::from(html.contains("<details>")) - i32::from(html.contains("</details>"));
        }
    }
    open
}

static DANGER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)[@＠]|#\d|＃\d|\bgh-\d|://|www\.|\$").unwrap());

static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(close[sd]?|fix(e[sd])?|resolve[sd]?):?\s+([\w./-]*#\d|gh-\d|https?://\w)").unwrap()
});

/// Patterns of release-please, semantic-release and GitVersion in commit messages and pull requests.
static STEERS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"release-as|\+semver:|(BEGIN|END)_(COMMIT_OVERRIDE|NESTED_COMMIT)";
    let notes = r"^[\s|*>`]*breaking[ -]change[:\s]|^[\s|*>`-]*\w+(\([^()\n]*\))?!:";
    Regex::new(&format!("(?im){words}|{notes}")).unwrap()
});

pub(super) fn assert_harmless(rendered: &str) {
    for run in searched_text(rendered) {
        assert!(!DANGER.is_match(&run), "{run:?} would act in {rendered:?}");
    }
    assert!(!rendered.contains("<!--"), "{rendered:?}");
    // The raw text as well: a body can become a commit message.
    assert!(!STEERS.is_match(rendered), "{rendered:?} steers a release");
    assert!(!CLOSES.is_match(rendered), "{rendered:?}");
    let hidden = |c: char| c != '\n' && journeyman_order::commit_message::is_hidden(c);
    assert!(!rendered.chars().any(hidden), "{rendered:?}");
}

#[test]
fn what_would_act_is_shown_and_does_nothing() {
    let texts = [
        ("cc @octocat and @org/team", "cc `@octocat` and `@org/team`"),
        ("Fixes #1, closes o/r#2", "Fixes `#1,` closes `o/r#2`"),
        ("resolves GH-3", "resolves `GH-3`"),
        ("fixes https://github.com/o/r/issues/1", "fixes `https://github.com/o/r/issues/1`"),
        ("a ![pixel](https://evil/x.png) b", "a `![pixel](https://evil/x.png)` b"),
        ("[here](javascript:alert(1))", "\\[here\\](javascript:alert(1))"),
        ("<img src=x onerror=y>", "\\<img src=x onerror=y\\>"),
        ("<!-- journeyman:status:x -->", "\\<\\!-- journeyman:status:x --\\>"),
        ("&#64;octocat &commat;octocat", "`&#64;octocat` \\&commat;octocat"),
        ("@\u{200b}octocat", "`@octocat`"),
        ("#\u{2060}1", "`#1`"),
        ("\u{202e}txet", "txet"),
        ("costs $5 or $x$", "costs `$5` or `$x$`"),
        ("# ✅ Verified", "**✅ Verified**"),
        ("Verified\n====", "Verified"),
        ("Verified\n---\nmore", "Verified\n\nmore"),
        ("`@octocat` said `a``b`", "`@octocat` said ```a``b```"),
        ("an open ` and @x", "an open \\` and `@x`"),
        ("see @`x`", "see `@` `x`"),
        ("- [x] done\n* two\n1) three", "- \\[x\\] done\n- two\n1. three"),
        ("  - **deep** *word*", "  - **deep** \\*word\\*"),
        ("> quoted @x\n>> twice", "> quoted `@x`\n> twice"),
        ("a | b\n--- | ---", "a \\| b\n--- \\| ---"),
        ("[^1]: note", "\\[^1\\]: note"),
        // A backslash escapes a sign, but is gone when GitHub looks for active text.
        ("2 \\* 3 \\[x\\]", "2 \\* 3 \\[x\\]"),
        ("GH\\-1 https:\\//x www\\.x.org \\@a \\#1", "`GH-1` `https://x` `www.x.org` `@a` `#1`"),
        ("fixes \\o/r\\#1, \\<!-- x --\\>", "fixes `\\o/r#1,` \\<\\!-- x --\\>"),
        ("an \\`@x\\` and `\\@y`", "an `` `@x` `` and `\\@y`"),
        ("a\n\\---", "a\n\\---"),
        ("C:\\dir\\", "C:\\\\dir\\\\"),
        ("<a href='data:text/html,x'>", "\\<a href='data:text/html,x'\\>"),
        ("so é@octocat says", "so `é@octocat` says"),
        // A pull request's text can become a squash commit's message, and release bots read its raw text.
        ("Release-As: 2.0.0", "Release As: 2.0.0"),
        ("# BREAKING CHANGE: all", "**INCOMPATIBLE change: all**"),
        ("a\n\n`breaking-change: all`", "a\n\n`INCOMPATIBLE change: all`"),
        ("feat!: all", "feat: all"),
        ("```\nBEGIN_COMMIT_OVERRIDE\nfeat!: x\n```", "```text\nBEGIN COMMIT_OVERRIDE\nfeat: x\n```"),
        ("+++", ""),
        ("a\r\nb\u{2028}c", "a\nb\nc"),
    ];
    let made: Vec<_> = texts.map(|(text, rendered)| (text, markdown(text, 10_000), rendered)).to_vec();
    let got_through: Vec<_> = made.iter().filter(|(_, made, rendered)| made != rendered).collect();
    journeyman_test_support::tally::tell("texts that would act on GitHub", made.len(), &got_through);
    made.iter().for_each(|(_, made, _)| assert_harmless(made));
}

#[test]
fn code_stays_code_and_ends() {
    assert_eq!(
        markdown("before\n```rust\nlet x = \"@you\";\n```\nafter", 1_000),
        "before\n\n```text\nlet x = \"@you\";\n```\n\nafter"
    );
    // Never closed, with its own fence inside.
    let made = markdown("~~~\n````\n@you\n", 1_000);
    assert_eq!(made, "`````text\n````\n@you\n`````");
    assert_harmless(&made);
    assert_eq!(code_block("a\n```\n@b"), "````text\na\n```\n@b\n````");
    assert_eq!(code_span("Fixes: #1, closed o/r#2"), "`Fixes: # 1, closed o/r# 2`");
    assert_eq!(code_block("resolve\nhttps://x/1\n#include"), "```text\nresolve\nhttps:// x/1\n#include\n```");
    assert_eq!(code_span("a`b``"), "``` a`b`` ```");
    assert_eq!(code_span(" \u{200b}\n"), "");
    assert_eq!(plain("- a\n1. b"), "\\- a 1. b");
    assert_eq!(plain("1. b"), "1\\. b");
}

#[test]
fn a_title_survives_being_squashed_into_a_commit() {
    for (text, made) in [
        ("Fix the sum", "Fix the sum"),
        ("fixes #1 for @octocat", "fixes 1 for octocat"),
        ("closes GH-3 and ggh-h-4\nand more", "closes GH3 and gghh-4 and more"),
        ("closes https://github.com/o/r/issues/1", "closes https:github.com/o/r/issues/1"),
        ("closes https:@//x", "closes https:x"),
        (" \u{200b} ", "Work on an issue"),
        ("feat(api)!: drop v1", "feat(api): drop v1"),
        ("feat!\u{200b}: Release-As: 2.0.0", "feat: Release As: 2.0.0"),
        ("BREAKING\nCHANGE: é@octocat", "INCOMPATIBLE change: éoctocat"),
    ] {
        assert_eq!(title(text), made);
    }
    assert_eq!(title(&"x".repeat(300)).chars().count(), 200);
}

#[test]
fn what_is_too_long_is_cut_with_a_word_about_it() {
    for text in ["word ".repeat(10_000), format!("```\n{}", "x\n".repeat(9_999)), "@ ".repeat(9_999)] {
        let made = markdown(&text, 2_000);
        assert!(made.chars().count() <= 2_000);
        assert!(made.ends_with("*Shortened: what follows does not fit here.*"), "{made:.80}");
        assert!(made.chars().count() > 300, "{}", made.chars().count());
        assert_harmless(&made);
    }
}

/// Text made of all the syntax of Markdown and GitHub's extensions.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "@", "octocat", "org/team", "#", "1", "23", "GH-", "gh-4", "fixes ", "closes ", "https://", "www.",
            "github.com/o/r/issues/1", "`", "``", "```", "````", "~~~", "\n", "\n\n", " ", "    ", "\t", "*", "**",
            "_", "__", "~~", "[", "]", "(", ")", "![", "](", "<", ">", "<!--", "-->", "</details>", "<b>", "&",
            "&#64;", "&commat;", "\\", "|", "---", "===", "- ", "+ ", "1. ", "1) ", "> ", "# ", "###### ", "$",
            "$$", "$`", "`$", "[^1]", "[^1]: ", "[a]: http://x", "\u{200b}", "\u{202e}", "\u{2060}", "\u{e0041}",
            "\r", "\r\n", "\u{2028}", "\u{3000}", "\u{a0}", "＠", "＃", "é", "🎉", "javascript:", "data:", "mailto:a@b.c",
            "<!-- journeyman:status:", ":tada:", "[!NOTE]", "[ ] ", "[x] ", "=", "-", "+++\n", "{", "}", ":::", "::",
            "Release-As: ", "release-", "as", "BREAKING", " CHANGE", "-change", ": ", "feat", "!", "!:", "(x)", "+semver:",
            "BEGIN_", "COMMIT_OVERRIDE", "NESTED_COMMIT",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z ]{0,6}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_foreign_markdown_acts(text in hostile()) {
        assert_harmless(&markdown(&text, 60_000));
    }

    #[test]
    fn what_was_made_harmless_once_stays_as_it_is(text in hostile()) {
        let once = markdown(&text, 60_000);
        let twice = markdown(&once, 60_000);
        prop_assert_eq!(&twice, &once, "{:?}", text);
    }

    #[test]
    fn no_cut_lets_loose_what_was_held(text in prop::collection::vec(hostile(), 0..12), most in 200_usize..600) {
        let body: Vec<String> = text.iter().map(|text| markdown(text, 400)).collect();
        let body = fit(&format!("<details>\n<summary>x</summary>\n\n{}", body.join("\n\n")), most);
        prop_assert!(body.chars().count() <= most);
        prop_assert_eq!(fit(&body, most), body.clone());
        if body.ends_with("fit here.*") {
            prop_assert_eq!(folds(&body), 0, "{}", body);
        }
        // Apart from our own text, nothing acts.
        let foreign = body.strip_prefix("<details>\n<summary>x</summary>").unwrap();
        let note = "\n\n</details>\n\n*Shortened: what follows does not fit here.*";
        assert_harmless(foreign.strip_suffix(note).unwrap_or(foreign).trim_start());
    }

    #[test]
    fn no_foreign_line_acts(text in hostile()) {
        let line = plain(&text);
        prop_assert!(!line.contains('\n'));
        assert_harmless(&line);
        assert_harmless(&format!("- ✅ **x** · {line}"));
    }

    #[test]
    fn no_foreign_code_escapes(text in hostile()) {
        assert_harmless(&code_block(&text));
        let span = code_span(&text);
        prop_assert!(!span.contains('\n'));
        assert_harmless(&format!("before {span} after"));
    }

    #[test]
    fn nothing_is_longer_than_asked(text in hostile(), most in 0_usize..200) {
        let made = markdown(&text, most);
        prop_assert!(made.chars().count() <= most.max(44), "{made:?}");
        assert_harmless(&made);
    }

    #[test]
    fn a_title_has_nothing_left_to_take_out(text in hostile()) {
        let once = title(&text);
        prop_assert_eq!(title(&once), once.clone());
        prop_assert!(!once.contains(['@', '#', '\n']) && !once.contains("://"));
        prop_assert!(!once.to_lowercase().contains("gh-"));
        prop_assert!(once.chars().count() <= 200);
    }
}

#[test]
fn what_is_left_of_a_title_hides_no_comment() {
    let once = title("-->!:é<!:");
    assert_eq!(title(&once), once);
}

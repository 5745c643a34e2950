//! The pages of `docs/` are a book: each is in the summary, and their links work on GitHub and in the book. The README
//! must stay short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

const SUMMARY: &str = "SUMMARY.md";
const LONGEST_README: usize = 1200;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A page's links and images, and its headings' anchors.
#[derive(Debug, PartialEq)]
struct BookPage {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl BookPage {
    fn of(markdown: &str) -> Self {
        let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
        let mut heading: Option<String> = None;
        for event in Parser::new(markdown) {
            match (event, &mut heading) {
                (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
                (Event::End(TagEnd::Heading(_)), Some(text)) => {
                    anchors.insert(anchor(text));
                    heading = None;
                }
                (Event::Text(text) | Event::Code(text), Some(all)) => all.push_str(&text),
                (Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }), _) => {
                    links.push(dest_url.into_string());
                }
                _ => {}
            }
        }
        Self { links, anchors }
    }
}

/// The anchor that GitHub and mdBook generate for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn pages() -> BTreeMap<String, BookPage> {
    let folder = fs::read_dir(root().join("docs")).expect("docs");
    let names = folder.flatten().map(|entry| entry.file_name().display().to_string());
    let names = names.filter(|name| name.ends_with(".md"));
    names.map(|name| (name.clone(), BookPage::of(&file(&format!("docs/{name}"))))).collect()
}

/// Broken links: to a missing page, heading or picture.
fn dead(pages: &BTreeMap<String, BookPage>, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut dead = Vec::new();
    for (name, page) in pages {
        for link in page.links.iter().filter(|link| !link.starts_with("https://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { name } else { path };
            let leads = match pages.get(path) {
                Some(page) => heading.is_empty() || page.anchors.contains(heading),
                None => !path.contains("..") && is_there(path),
            };
            if !leads {
                dead.push(format!("docs/{name}: {link}"));
            }
        }
    }
    dead
}

#[test]
fn each_page_stands_in_the_summary_of_the_book() {
    let pages = pages();
    let named: Vec<&String> = pages[SUMMARY].links.iter().collect();
    let once: BTreeSet<&String> = named.iter().copied().collect();
    assert_eq!(named.len(), once.len(), "docs/{SUMMARY} names a page twice: {named:?}");
    let there: BTreeSet<&String> = pages.keys().filter(|name| *name != SUMMARY).collect();
    assert_eq!(once, there, "docs/{SUMMARY} names each page of docs/, and nothing else");
}

#[test]
fn no_page_of_the_book_links_to_what_is_not_there() {
    let dead = dead(&pages(), |path| root().join("docs").join(path).is_file());
    let how =
        "Link to a page of docs/ by its name, to its headings by #anchor, and to other files by https://.";
    assert!(dead.is_empty(), "{how}\n{}\n", dead.join("\n"));
}

#[test]
fn a_dead_link_is_a_page_a_heading_or_a_picture_that_is_not_there() {
    let a = "# One, `two`: three?\n[b](B.md) [gone](C.md) [up](../README.md) [web](https://example.org) ![p](p.png)\n\n    [x](code)\n";
    let b = "[a](A.md#one-two-three) [wrong](A.md#one) [own](#here) ![q](q.png)\n## Here\n";
    let pages = [("A.md", a), ("B.md", b)].map(|(name, text)| (name.to_owned(), BookPage::of(text)));
    let dead = dead(&BTreeMap::from(pages), |path| path == "p.png");
    assert_eq!(
        dead,
        ["docs/A.md: C.md", "docs/A.md: ../README.md", "docs/B.md: A.md#one", "docs/B.md: q.png"]
    );
}

#[test]
fn the_readme_is_short_and_names_how_all_of_it_is_tested() {
    let readme = file("README.md");
    let words = readme.split_whitespace().count();
    assert!(words <= LONGEST_README, "README.md has {words} words; what is more belongs into docs/");
    assert!(readme.contains("`make test`"));
}

/// Publishing a fork means changing one name everywhere. A forgotten one would make people install another program.
#[test]
fn all_pages_and_scripts_name_the_repository_that_cargo_names() {
    let manifest: toml::Table = file("Cargo.toml").parse().expect("it is TOML");
    let repository = manifest["package"]["repository"].as_str().expect("package.repository");
    let owner =
        repository.strip_prefix("https://github.com/").and_then(|rest| rest.strip_suffix("/journeyman"));
    let owner = owner.expect("https://github.com/OWNER/journeyman");
    assert!(file("install.sh").contains(&format!("\nrepository={owner}/journeyman\n")), "install.sh");
    let docs = pages().into_keys().map(|name| format!("docs/{name}"));
    let others = [
        "README.md",
        "install.sh",
        "docs/book.toml",
        "deploy/helm/journeyman/Chart.yaml",
        "deploy/helm/journeyman/values.yaml",
    ];
    for path in docs.chain(others.map(str::to_owned)) {
        for host in ["github.com/", "ghcr.io/"] {
            for rest in file(&path).split(host).skip(1) {
                let Some((found, after)) = rest.split_once('/') else { continue };
                let is_ours = after.starts_with("journeyman") && !found.contains(char::is_whitespace);
                assert!(
                    !is_ours || found == owner,
                    "{path}: {host}{found}/journeyman, but Cargo.toml says {owner}"
                );
            }
        }
    }
}

#[test]
fn every_file_that_the_architecture_names_is_there() {
    let text = file("docs/ARCHITECTURE.md");
    let names = text.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.ends_with(".rs"));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 40, "the list from label to pull request is gone: {names:?}");
    let is_there = |name: &&&str| {
        [root().join(name), root().join("crates").join(name)].iter().any(|path| path.is_file())
    };
    let gone: Vec<&&str> = names.iter().filter(|name| !is_there(name)).collect();
    assert!(gone.is_empty(), "docs/ARCHITECTURE.md names files that are not there: {gone:?}");
}

//! Test commands that go into folders first: `cd backend && pytest`, or several of that kind in parentheses.
//!
//! May know: the words of a shell command. Must never know: what is run there.

use journeyman_order::settings::plain_folder;

/// A command, and the folder that it goes into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderCommand<'a> {
    /// From the root; empty for the root itself.
    pub(crate) folder: String,
    /// What stands before the command: where it goes, and what it exports.
    pub(crate) before: &'a str,
    pub(crate) command: &'a str,
}

impl FolderCommand<'_> {
    /// A path of the folder, from the root.
    pub(crate) fn path(&self, name: &str) -> String {
        match self.folder.is_empty() {
            true => name.to_owned(),
            false => format!("{}/{name}", self.folder),
        }
    }
}

/// The commands of a command, one after the other: `(cd a && x) && (cd b && y)` has two. Whatever cannot be told apart is one
/// of the root.
pub(crate) fn commands_in_folders(command: &str) -> Vec<FolderCommand<'_>> {
    let whole = command.trim();
    if !whole.starts_with('(') {
        return vec![in_folder(whole)];
    }
    let several = groups(whole).filter(|groups| !groups.is_empty());
    several.map_or_else(
        || vec![FolderCommand { folder: String::new(), before: "", command }],
        |groups| groups.into_iter().map(in_folder).collect(),
    )
}

/// What stands in parentheses, where nothing else does but `&&` between them.
fn groups(text: &str) -> Option<Vec<&str>> {
    let (mut groups, mut rest) = (Vec::new(), text);
    loop {
        let inner = rest.strip_prefix('(')?;
        let end = group_end(inner)?;
        groups.push(inner.get(..end)?.trim());
        rest = inner.get(end + 1..)?.trim_start();
        if rest.is_empty() {
            return Some(groups);
        }
        rest = rest.strip_prefix("&&")?.trim_start();
    }
}

/// Where a group ends, which may have quotes and parentheses in it: those in quotes could be anything.
fn group_end(inner: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (_, '\\' | '`' | '#') => return None,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return Some(at),
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn in_folder(text: &str) -> FolderCommand<'_> {
    let at_root = FolderCommand { folder: String::new(), before: "", command: text };
    let Some((folder, mut rest)) = text.strip_prefix("cd ").and_then(|text| text.split_once("&&")) else {
        return at_root;
    };
    let Some(folder) = plain_folder(folder.trim()) else { return at_root };
    rest = rest.trim_start();
    while let Some((_, after)) = rest
        .strip_prefix("export ")
        .and_then(|text| text.split_once("&&"))
        .filter(|(export, _)| export.matches('"').count() == 2)
    {
        rest = after.trim_start();
    }
    let before = text.len() - rest.len();
    FolderCommand { folder, before: text.get(..before).unwrap_or_default(), command: rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str) -> Vec<(String, String)> {
        commands_in_folders(command).into_iter().map(|one| (one.folder, one.command.to_owned())).collect()
    }

    #[test]
    fn a_command_says_into_which_folders_it_goes() {
        let own = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(folder, command)| ((*folder).to_owned(), (*command).to_owned())).collect()
        };
        for (command, expected) in [
            ("pytest -q", own(&[("", "pytest -q")])),
            ("cd backend && pytest -q", own(&[("backend", "pytest -q")])),
            ("cd ./a/b/ && npm test", own(&[("a/b", "npm test")])),
            ("cd a//./b && npm test", own(&[("a/b", "npm test")])),
            ("cd . && npm test", own(&[("", "npm test")])),
            ("(cd a && make) && (cd b && go test ./...)", own(&[("a", "make"), ("b", "go test ./...")])),
            ("(cd a && make && (true)) && (pytest)", own(&[("a", "make && (true)"), ("", "pytest")])),
            (
                "cd a && export X=\"$PWD/.venv\" && export PATH=\"$PWD/.venv/bin:$PATH\" && pytest",
                own(&[("a", "pytest")]),
            ),
            ("(cd a && pytest -k 'x)y')", own(&[("a", "pytest -k 'x)y'")])),
            // What leads elsewhere, or cannot be told, is a command as any other.
            ("cd .. && pytest", own(&[("", "cd .. && pytest")])),
            ("cd /tmp && pytest", own(&[("", "cd /tmp && pytest")])),
            ("cd \"a b\" && pytest", own(&[("", "cd \"a b\" && pytest")])),
            ("(cd a && x) || (cd b && y)", own(&[("", "(cd a && x) || (cd b && y)")])),
            ("(cd a && x", own(&[("", "(cd a && x")])),
        ] {
            assert_eq!(told(command), expected, "{command}");
        }
    }
}

//! Pipelines, roles and command templates: the built-in ones and a server's overrides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;

use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::names::{COMMAND_RULE, is_command_name};
use journeyman_order::{Pipeline, Role, byte_order_mark};

#[derive(RustEmbed)]
#[folder = "../../templates/pipelines/"]
struct BuiltInPipelines;

#[derive(RustEmbed)]
#[folder = "../../templates/agents/"]
struct BuiltInRoles;

/// The parts of orders, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Templates {
    /// Every role that they name exists in `roles`.
    pub pipelines: BTreeMap<String, Pipeline>,
    pub roles: BTreeMap<String, Role>,
    /// A server's own command templates. The built-in ones are not listed here.
    pub commands: BTreeMap<String, String>,
}

/// A template file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {because}")]
pub struct TemplatesError {
    /// The file's path. For a built-in file, its path in the source.
    pub file: String,
    /// What is wrong, with the line if known.
    pub because: String,
}

impl Templates {
    /// The built-in templates, overridden by name from `dir`: `pipelines/*.yaml`, `agents/*.yaml`, `commands/*.md`.
    ///
    /// # Errors
    /// The first file that cannot be read or used.
    pub fn load(dir: Option<&Path>) -> Result<Self, TemplatesError> {
        let mut pipelines = embedded::<BuiltInPipelines>("templates/pipelines");
        let mut roles = embedded::<BuiltInRoles>("templates/agents");
        let mut commands = Vec::new();
        if let Some(dir) = dir {
            if !dir.is_dir() {
                return Err(error(dir, "is not a folder; create it, or change `templates.dir`"));
            }
            pipelines.extend(folder(&dir.join("pipelines"), "yaml")?);
            roles.extend(folder(&dir.join("agents"), "yaml")?);
            commands = command_files(&dir.join("commands"))?;
        }
        let mut loaded = Self::default();
        for file in &roles {
            loaded.roles.insert(file.name.clone(), file.role()?);
        }
        for file in commands {
            loaded.commands.insert(file.command_name()?.to_owned(), file.text);
        }
        // Merge by name first: a replaced built-in must not be validated against replaced roles.
        let by_name: BTreeMap<&str, &TemplateFile> =
            pipelines.iter().map(|file| (file.name.as_str(), file)).collect();
        for (name, file) in by_name {
            loaded.pipelines.insert(name.to_owned(), file.pipeline(&loaded.roles)?);
        }
        Ok(loaded)
    }

    /// Adds the roles of one more folder, `*.yaml`, which override existing ones. The folder may be missing.
    ///
    /// # Errors
    /// The first file that cannot be read or used.
    pub fn add_roles(&mut self, agents: &Path) -> Result<(), TemplatesError> {
        for file in folder(agents, "yaml")? {
            self.roles.insert(file.name.clone(), file.role()?);
        }
        Ok(())
    }

    /// A pipeline by its name, or from a file. A text with a `/`, or ending in `.yaml` or `.yml`, is a file.
    ///
    /// # Errors
    /// If the name is unknown, or the file cannot be used.
    pub fn pipeline(&self, wanted: &str) -> Result<Pipeline, TemplatesError> {
        if !is_file_name(wanted) {
            let known = || self.pipelines.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return self.pipelines.get(wanted).cloned().ok_or_else(|| TemplatesError {
                file: format!("pipeline {wanted:?}"),
                because: format!("there is none of this name; these are: {}, or name a file", known()),
            });
        }
        let path = Path::new(wanted);
        let yaml = read(path)?;
        Pipeline::parse_with(&yaml, &self.roles).map_err(|invalid| error(path, invalid.to_string()))
    }
}

/// Whether this text names a file rather than a pipeline.
pub fn is_file_name(wanted: &str) -> bool {
    wanted.contains('/') || wanted.ends_with(".yaml") || wanted.ends_with(".yml")
}

/// A template's file. Its name is the template's name.
struct TemplateFile {
    name: String,
    path: PathBuf,
    text: String,
}

impl TemplateFile {
    fn pipeline(&self, roles: &BTreeMap<String, Role>) -> Result<Pipeline, TemplatesError> {
        let pipeline = Pipeline::parse_with(&self.text, roles)
            .map_err(|invalid| error(&self.path, invalid.to_string()))?;
        self.hold_name(&pipeline.name)?;
        Ok(pipeline)
    }

    fn role(&self) -> Result<Role, TemplatesError> {
        let role = Role::parse(&self.text).map_err(|invalid| error(&self.path, invalid.to_string()))?;
        self.hold_name(&role.name)?;
        Ok(role)
    }

    fn hold_name(&self, name: &str) -> Result<(), TemplatesError> {
        if name == self.name {
            return Ok(());
        }
        Err(error(&self.path, format!("it says `name: {name}`; file and name have to be the same")))
    }

    fn command_name(&self) -> Result<&str, TemplatesError> {
        match is_command_name(&self.name) {
            true => Ok(&self.name),
            false => Err(error(&self.path, format!("a command's name has {COMMAND_RULE}"))),
        }
    }
}

fn embedded<Folder: RustEmbed>(place: &str) -> Vec<TemplateFile> {
    let file = |name: std::borrow::Cow<'static, str>| {
        let text = String::from_utf8_lossy(&Folder::get(&name)?.data).into_owned();
        let path = Path::new(place).join(name.as_ref());
        Some(TemplateFile { name: name.strip_suffix(".yaml")?.to_owned(), path, text })
    };
    Folder::iter().filter_map(file).collect()
}

/// The names of the command templates in a folder, which may be missing.
///
/// # Errors
/// If one of them cannot be read.
pub fn command_names(folder: &Path) -> Result<Vec<String>, TemplatesError> {
    Ok(command_files(folder)?.into_iter().map(|file| file.name).collect())
}

/// Every command template in a folder and its subfolders, by path without the extension. The folder may be missing.
fn command_files(within: &Path) -> Result<Vec<TemplateFile>, TemplatesError> {
    let mut files = folder(within, "md")?;
    let entries = std::fs::read_dir(within).into_iter().flatten();
    for below in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()) {
        let name = below.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let inner = command_files(&below)?;
        files.extend(
            inner.into_iter().map(|file| TemplateFile { name: format!("{name}/{}", file.name), ..file }),
        );
    }
    Ok(files)
}

/// Every file with this extension in a folder, which may be missing.
fn folder(folder: &Path, kind: &str) -> Result<Vec<TemplateFile>, TemplatesError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(other) => return Err(error(folder, other.to_string())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|failed| error(folder, failed.to_string()))?.path();
        if path.extension().is_none_or(|extension| extension != kind) {
            continue;
        }
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| error(&path, "its name is not UTF-8"))?.to_owned();
        files.push(TemplateFile { name, text: read(&path)?, path });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read(path: &Path) -> Result<String, TemplatesError> {
    let text = std::fs::read_to_string(path).map_err(|failed| error(path, failed.to_string()))?;
    if text.len() > LARGEST_SETTINGS {
        return Err(error(path, format!("has {} bytes, at most {LARGEST_SETTINGS} are read", text.len())));
    }
    Ok(byte_order_mark::strip(&text).to_owned())
}

fn error(path: &Path, because: impl Into<String>) -> TemplatesError {
    TemplatesError { file: path.display().to_string(), because: because.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn ours_fit_together() {
        let ours = Templates::load(None).unwrap();
        assert!(ours.pipelines.contains_key("issue-to-pr") && ours.roles.contains_key("developer"));
        assert!(ours.commands.is_empty());
    }

    #[test]
    fn a_servers_own_stand_in_place_of_ours_by_name() {
        let dir = dir(&[
            ("pipelines/short.yaml", "name: short\nversion: 1\nstages: [{name: a, agent: poet}]\n"),
            ("agents/poet.yaml", "name: poet\n"),
            ("agents/developer.yaml", "name: developer\nmodel: small\n"),
            ("commands/implement.md", "Do it.\n"),
            ("commands/agent-work-orders/bug.md", "Mend it.\n"),
            ("commands/notes.txt", "\u{0}"),
        ]);
        let ours = Templates::load(None).unwrap();
        let loaded = Templates::load(Some(dir.path())).unwrap();
        assert_eq!(loaded.pipeline("short").unwrap().stages.len(), 1);
        assert_eq!(loaded.pipeline("issue-to-pr"), ours.pipeline("issue-to-pr"));
        assert_eq!(loaded.roles["developer"].model.as_deref(), Some("small"));
        assert_eq!(loaded.roles.len(), ours.roles.len() + 1);
        let commands = [("agent-work-orders/bug", "Mend it.\n"), ("implement", "Do it.\n")];
        assert_eq!(loaded.commands, commands.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
        let file = dir.path().join("pipelines/short.yaml");
        assert_eq!(loaded.pipeline(file.to_str().unwrap()), loaded.pipeline("short"));
        let unknown = loaded.pipeline("waterfall").unwrap_err().to_string();
        assert!(unknown.contains("these are: ") && unknown.contains("short"), "{unknown}");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_its_line() {
        for (file, text, expected) in [
            (
                "pipelines/p.yaml",
                "name: p\nversion: 1\nstages: [{name: a, agent: nobody}]",
                "line 3: stage \"a\": ",
            ),
            ("pipelines/p.yaml", "name: q\nversion: 1\nstages: [{name: a, agent: developer}]", "`name: q`"),
            ("agents/r.yaml", "name: r\nmodle: x\n", "line 2: unknown key"),
            ("agents/r.yaml", "name: s\n", "`name: s`; file and name have to be the same"),
            ("commands/a b.md", "", "a command's name has"),
        ] {
            let dir = dir(&[(file, text)]);
            let said = Templates::load(Some(dir.path())).unwrap_err().to_string();
            assert!(said.contains(file) && said.contains(expected), "{said}");
        }
        let missing = Templates::load(Some(Path::new("/nowhere"))).unwrap_err().to_string();
        assert!(missing.contains("/nowhere") && missing.contains("templates.dir"), "{missing}");
    }
}

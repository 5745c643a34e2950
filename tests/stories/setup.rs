//! From nothing to a ready server in a browser: `journeyman setup` with a GitHub that has no App yet.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use journeyman::emulator::{AppStage, Emulator, EmulatorOptions, RepositoryRole, RepositorySource};
use secrecy::SecretString;

use crate::browser::Browser;
use crate::world::setting::{Story, keys, write_script};
use crate::world::{MAINTAINER, REPOSITORY, WELL};

/// A GitHub with a repository and without an App.
pub(super) async fn github() -> Emulator {
    let secret = SecretString::from("nobody knows it");
    let options = EmulatorOptions::local(1, keys().public_pem.clone(), secret);
    let github = Emulator::start(EmulatorOptions { app_stage: AppStage::None, ..options }).await.unwrap();
    let files = RepositorySource::Files(Story::of(WELL).files());
    github.create_repository(REPOSITORY, files).await.unwrap();
    github.set_permission(REPOSITORY, MAINTAINER, RepositoryRole::Write).unwrap();
    github
}

/// A person's initial settings, without an App.
pub(super) fn settings(place: &Path, folder: &str) -> std::path::PathBuf {
    write_script(place, WELL);
    let (program, script) = (env!("CARGO_BIN_EXE_journeyman"), place.join("script.yaml"));
    let folder = place.join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("journeyman.toml");
    let text = format!(
        "# Ours.\n[server]\nlisten = \"127.0.0.1:0\"\n\n[store]\nurl = \"sqlite://{place}/journeyman.db\"\n\n\
         [data]\ndir = \"{place}/data\"\n\n[defaults]\nagent = \"scripted\"\n\n[agents.scripted]\n\
         runtime = \"command\"\nprogram = [{program:?}, \"scripted-agent\", \"--script\", {script:?}]\n\
         read = [{program:?}, {script:?}]\nenv = [\"ANTHROPIC_API_KEY\"]\n",
        place = place.display(),
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// A running `journeyman setup` and its output.
pub(super) struct Setup {
    program: Child,
    _lines: BufReader<std::process::ChildStdout>,
    pub(super) page: String,
}

impl Setup {
    fn start(file: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.args(["setup", "--config"]).arg(file);
        Self::run(command, &file.with_extension("log"))
    }

    /// Runs this command with this log.
    pub(super) fn run(mut command: Command, log: &Path) -> Self {
        command.env_remove("ANTHROPIC_API_KEY").env("RUST_LOG", "info");
        let log = std::fs::File::create(log).unwrap();
        let mut program = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap());
        let mut page = String::new();
        while !page.trim().starts_with("http://") {
            page.clear();
            assert!(lines.read_line(&mut page).unwrap() > 0, "it names its page");
        }
        Self { program, _lines: lines, page: page.trim().to_owned() }
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn mode(file: &Path) -> u32 {
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_with_a_browser_comes_from_nothing_to_a_server_that_is_ready() {
    let Some(mut browser) = tokio::task::block_in_place(Browser::start) else { return };
    let github = github().await;
    let place = tempfile::Builder::new().prefix("journeyman-story-").tempdir().unwrap();
    let file = settings(place.path(), "settings");
    let _setup = tokio::task::block_in_place(|| {
        let setup = Setup::start(&file);
        browser.size(1100, 900);
        browser.open(&setup.page);
        browser.is_for_everybody("setup-app");
        // Invalid input is reported, and the fields keep their values.
        browser.fill("[name=github]", "ftp://nowhere");
        browser.follow("main form button");
        assert!(browser.text().contains("GitHub: https://github.com, or the address"), "{}", browser.text());
        // 1: the address of GitHub. 2: the App's permissions. 3: GitHub asks to confirm.
        browser.fill("[name=github]", &github.origin());
        browser.fill("[name=name]", "Journeyman of Octo");
        browser.follow("main form button");
        browser.is_for_everybody("setup-create");
        browser.follow("main form button");
        assert!(browser.text().contains("Create GitHub App"), "{}", browser.text());
        browser.follow("form button");
        // 4: installation. The person returns, and the page waits.
        let text = browser.text();
        assert!(text.contains("Install journeyman-of-octo on repositories"), "{text}");
        browser.is_for_everybody("setup-install");
        let install = browser.eval("document.querySelector('main a.button').href");
        let mut other = Browser::start().expect("a second page");
        other.open(install.as_str().unwrap());
        other.follow("form button");
        // 5: the key.
        browser.until("document.querySelector('[name=key]')");
        browser.is_for_everybody("setup-agent");
        browser.fill("[name=key]", "sk-of-the-agent");
        browser.follow("main form button");
        browser.until("document.querySelector('.checks')");
        browser.is_for_everybody("setup-check");
        let text = browser.text();
        assert!(text.contains("Nothing has to be fixed"), "{text}");
        // For a service, the page shows the unit and the commands to install it.
        browser.follow("form[action=service] button[value=system]");
        let text = browser.text();
        let unit = file.with_file_name("journeyman.service");
        assert!(text.contains(&format!("install -m 644 {} /etc/systemd/system/", unit.display())), "{text}");
        assert!(text.contains("systemctl enable --now journeyman.service"), "{text}");
        assert!(std::fs::read_to_string(&unit).unwrap().contains(" serve --config "), "{text}");
        assert!(text.contains("Waiting for the server") && !text.contains("is ready"), "{text}");
        browser.is_for_everybody("setup-service");
        // A server that cannot start is not shown as ready: here another program holds the address.
        browser.open(&setup.page);
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        let listen = format!("listen = \"{}\"", taken.local_addr().unwrap());
        std::fs::write(&file, written.replace("listen = \"127.0.0.1:0\"", &listen)).unwrap();
        browser.follow("form[action=serve] button");
        browser.until("document.querySelector('.problem')");
        assert!(browser.text().contains("The server did not start: cannot listen on"), "{}", browser.text());
        std::fs::write(&file, written).unwrap();
        // 6: the server starts, and the page links to it.
        browser.follow("form[action=serve] button");
        browser.until("document.querySelector('main pre')");
        let text = browser.text();
        assert!(text.contains("Journeyman is ready"), "{text}");
        browser.is_for_everybody("setup-ready");
        let issue = browser.eval("document.querySelector('main p a[target=_blank]:not(.button)').href");
        assert_eq!(issue, format!("{}/{REPOSITORY}/issues/new?labels=journeyman", github.origin()));
        let token = browser.eval("document.querySelector('main pre').innerText");
        let dashboard = browser.eval("document.querySelector('main a.button').href");
        assert_eq!(browser.complaints, Vec::<String>::new());
        browser.open(dashboard.as_str().unwrap());
        browser.fill("[name=token]", token.as_str().unwrap().trim());
        browser.follow("main form button");
        assert!(browser.text().contains("There is no order yet"), "{}", browser.text());

        let labels = github.repository_labels(REPOSITORY);
        for label in ["journeyman", "journeyman:working", "journeyman:done", "journeyman:needs-human"] {
            assert!(labels.iter().any(|known| known == label), "{label}: {labels:?}");
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(kept.starts_with("# Ours.\n[server]\nlisten = \"127.0.0.1:0\"\napi_token = \""), "{kept}");
        for line in ["deliveries = \"pull\"", "environment_file = \"journeyman.env\"", "agent = \"scripted\""]
        {
            assert!(kept.lines().any(|own| own == line), "{line}: {kept}");
        }
        let folder = file.parent().unwrap();
        let variables = std::fs::read_to_string(folder.join("journeyman.env")).unwrap();
        assert_eq!(variables, "ANTHROPIC_API_KEY=sk-of-the-agent\n");
        for name in ["journeyman.toml", "journeyman.env", "journeyman-of-octo.private-key.pem"] {
            assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        }
        setup
    });
    github.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_page_it_says_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("journeyman.toml");
    let said = tokio::task::block_in_place(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.args(["setup", "--non-interactive", "--config"]).arg(&file).output().unwrap()
    });
    assert_eq!(said.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(said.stdout).unwrap(),
        format!(
            "FIX   there is no App in {}: run `journeyman setup` without --non-interactive, or create it by hand \
             (docs/INSTALL.md, \"Create the GitHub App\")\n",
            file.display()
        )
    );
    assert!(!file.exists());
}

/// The program's output in a folder with someone's `journeyman.toml`, for a user with this home.
fn at_home(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    std::fs::write(home.join("journeyman.toml"), "[limits]\norder_usd = 1.0\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(arguments).current_dir(home).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let done = command.output().unwrap();
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

#[test]
fn settings_are_made_where_every_other_command_reads_them() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().canonicalize().unwrap();
    let file = home.join(".config/journeyman/journeyman.toml");
    let (code, said) = at_home(&home, &["setup", "--non-interactive"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("there is no App in {}: ", file.display())), "{said}");
    let (_, said) = at_home(&home, &["doctor"]);
    let words = format!(
        "ok    settings: no file, the environment alone: `journeyman setup` makes {}",
        file.display()
    );
    assert!(said.contains(&words), "{said}");

    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[sandbox]\nmode = \"none\"\n").unwrap();
    let (_, said) = at_home(&home, &["doctor"]);
    assert!(said.contains(&format!("ok    settings: {}, and over it", file.display())), "{said}");
    let (_, said) = at_home(&home, &["setup", "--non-interactive"]);
    assert!(said.contains(&format!("there is no App in {}: ", file.display())), "{said}");
    // A server started in someone's work tree reads the user's own settings, too.
    std::fs::create_dir(home.join(".git")).unwrap();
    let (code, said) = at_home(&home, &["serve"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("missing settings: github.app_id"), "{said}");
    let (code, said) = at_home(&home, &["doctor", "--config", "none.toml"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("none.toml: No such file or directory (os error 2); `journeyman setup --config`"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reaches_the_pages_by_another_name_or_without_their_whole_address() {
    let place = tempfile::tempdir().unwrap();
    let setup = tokio::task::block_in_place(|| Setup::start(&place.path().join("journeyman.toml")));
    let client = reqwest::Client::new();
    let ask = |url: String, host: Option<&str>| {
        let request = client.get(url).timeout(Duration::from_secs(20));
        host.map_or_else(|| request.try_clone(), |host| Some(request.try_clone()?.header("host", host)))
            .unwrap()
            .send()
    };
    let page = setup.page.clone();
    let shown = ask(page.clone(), None).await.unwrap();
    assert_eq!(shown.status(), 200);
    let policy = shown.headers()["content-security-policy"].to_str().unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    assert_eq!(ask(page.clone(), Some("attacker.example")).await.unwrap().status(), 404);
    let other = page.trim_end_matches('/').rsplit_once('/').unwrap().0;
    for path in ["/", "/0123456789abcdef0123456789abcdef/", "/made?code=a&state=b"] {
        assert_eq!(ask(format!("{other}{path}"), None).await.unwrap().status(), 404, "{path}");
    }
    // An unrequested code creates nothing.
    let made = ask(format!("{page}made?code=abc&state=x"), None).await.unwrap();
    assert!(made.text().await.unwrap().contains("GitHub&#39;s answer is of another attempt"));
    assert!(!place.path().join("journeyman.toml").exists());
}

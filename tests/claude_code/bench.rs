//! A repository with a bug, its origin, and Claude Code in bubblewrap.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Where `make fetch` puts the program.
const FETCHED: &str = ".cache/claude/claude";

/// The program; `None` and a message if it is skipped by name.
///
/// `JOURNEYMAN_CLAUDE` names another binary than the fetched one.
pub fn claude_or_skip() -> Option<PathBuf> {
    let skipped = std::env::var("JOURNEYMAN_SKIP").unwrap_or_default();
    if skipped.split([',', ' ']).any(|name| name == "claude") {
        // Not `eprintln!`: the test harness hides its output if a test passes.
        let _ = std::io::stderr()
            .write_all(b"SKIPPED: the real Claude Code, because of JOURNEYMAN_SKIP=claude\n");
        return None;
    }
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join(FETCHED);
    let program = std::env::var_os("JOURNEYMAN_CLAUDE").map_or(fetched, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not there: run `make fetch`, or skip it with JOURNEYMAN_SKIP=claude",
        program.display()
    );
    Some(program)
}

#[derive(Debug)]
pub struct Run {
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The records of its stream.
    pub records: Vec<Value>,
    /// Its other output, for failing assertions.
    #[expect(dead_code, reason = "read through Debug when an assertion fails")]
    pub stderr: String,
}

impl Run {
    /// The last `result` record.
    pub fn result(&self) -> &Value {
        let last = self.records.iter().rfind(|record| record["type"] == "result");
        last.unwrap_or_else(|| panic!("no result record: {self:#?}"))
    }
}

/// The workbench: `/work/repo` with its `/work/origin.git`, and its own home.
pub struct Bench {
    root: TempDir,
    claude: PathBuf,
    url: String,
}

impl Bench {
    /// A repository with one file in one commit.
    pub fn new(claude: &Path, url: &str, file: &str, content: &str) -> Self {
        let root = TempDir::new().expect("a temporary folder");
        let bench = Self { root, claude: claude.to_owned(), url: url.to_owned() };
        fs::create_dir_all(bench.path("home")).expect("a home");
        fs::create_dir_all(bench.path("work/repo")).expect("a work tree");
        bench.write(file, content);
        bench.shell(
            "git init -q --bare origin.git && cd repo && git init -q -b main && git add -A && \
             git commit -q -m Begin && git remote add origin ../origin.git && git push -q origin main",
        );
        bench
    }

    /// Writes a file in the work tree.
    pub fn write(&self, file: &str, content: &str) {
        let path = self.path("work/repo").join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder");
        fs::write(path, content).expect("the file");
    }

    /// Reads a file in the work tree.
    pub fn reads(&self, file: &str) -> String {
        fs::read_to_string(self.path("work/repo").join(file)).expect("the file")
    }

    /// Whether a file exists beside the repository.
    pub fn exists(&self, name: &str) -> bool {
        self.path("work").join(name).exists()
    }

    /// A file in the origin.
    pub fn origin_file(&self, branch: &str, file: &str) -> String {
        self.shell(&format!("git -C origin.git show {branch}:{file}"))
    }

    /// The head commit of a branch in the origin.
    pub fn origin_head(&self, branch: &str) -> String {
        self.shell(&format!("git -C origin.git rev-parse {branch}")).trim().to_owned()
    }

    /// Subjects of the origin's commits, newest first.
    pub fn origin_subjects(&self, branch: &str) -> Vec<String> {
        self.shell(&format!("git -C origin.git log --format=%s {branch}"))
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Runs Claude Code on a prompt, in a new or a resumed session.
    pub fn run(&self, prompt: &str, session: Option<&str>) -> Run {
        self.run_with(prompt, session, &[])
    }

    /// The same with more options.
    pub fn run_with(&self, prompt: &str, session: Option<&str>, options: &[&str]) -> Run {
        let mut command = self.walled_in();
        command.args(["--", "/opt/claude/claude", "-p", "--output-format", "stream-json", "--verbose"]);
        command.args(["--dangerously-skip-permissions", "--setting-sources", "user", "--strict-mcp-config"]);
        command.args(options);
        command.args(session.map(|id| ["--resume", id]).into_iter().flatten());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("bubblewrap starts; `make deps` installs it");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin.write_all(prompt.as_bytes()).expect("a short prompt fits into the pipe");
        drop(stdin);
        let output = child.wait_with_output().expect("bubblewrap ends");
        let lines = output.stdout.split(|byte| *byte == b'\n');
        Run {
            exit_code: output.status.code(),
            records: lines.filter_map(|line| serde_json::from_slice(line).ok()).collect(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn shell(&self, script: &str) -> String {
        let output = Command::new("sh")
            .args(["-ec", script])
            .current_dir(self.path("work"))
            .env_clear()
            .envs(environment())
            .env("HOME", self.path("home"))
            .output()
            .expect("a shell starts");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("git answers in UTF-8")
    }

    /// As a normal user, since Claude Code refuses `--dangerously-skip-permissions` to root. With the host's network
    /// for the model on loopback. Killed with all its children after two minutes.
    fn walled_in(&self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "120", "bwrap", "--unshare-all", "--share-net", "--die-with-parent"]);
        command
            .args(["--uid", "1000", "--gid", "1000", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        command.args([
            "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
        ]);
        command.args(["--symlink", "usr/lib64", "/lib64", "--ro-bind-try", "/etc/ssl", "/etc/ssl"]);
        let claude = self.claude.canonicalize().expect("the program is there");
        command.arg("--ro-bind").arg(claude).arg("/opt/claude/claude");
        command.arg("--bind").arg(self.path("home")).arg("/home/agent");
        command.arg("--bind").arg(self.path("work")).arg("/work");
        command.args(["--chdir", "/work/repo"]);
        command.env_clear().envs(environment()).envs([
            ("HOME", "/home/agent"),
            ("ANTHROPIC_BASE_URL", &self.url),
            ("ANTHROPIC_API_KEY", "sk-ant-no-key-of-anybody"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "0"),
            ("DISABLE_AUTOUPDATER", "1"),
        ]);
        command
    }
}

fn environment() -> [(&'static str, &'static str); 7] {
    [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Agent"),
        ("GIT_AUTHOR_EMAIL", "agent@example.org"),
        ("GIT_COMMITTER_NAME", "Agent"),
        ("GIT_COMMITTER_EMAIL", "agent@example.org"),
    ]
}

//! The deployed program: time from start to ready, and memory per waiting order. Compared with the same program that
//! only prints its version, and with an empty store.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use journeyman::emulator::{Emulator, EmulatorOptions, keys};
use secrecy::{ExposeSecret, SecretString};

use super::resume::{all_looked_through, prepare};
use super::{heading, line, middle_and_tail, ratio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_journeyman");
pub const SECRET: &str = "a secret for this measurement";
const TIMES: usize = 9;
const WAITING: u32 = 500;
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure() {
    heading(&format!("server: from its start to ready, and {WAITING} orders that wait"));
    let folder = tempfile::tempdir().expect("a folder");
    let keys = keys::generate().expect("keys");
    let options = EmulatorOptions::local(1, keys.public_pem.clone(), SecretString::from(SECRET));
    let github = Emulator::start(options).await.expect("GitHub, emulated");
    let settings = |name: &str| Settings::write(&folder.path().join(name), &github, &keys.private_pem, "");

    let versions = (0..TIMES).map(|_| {
        let begun = Instant::now();
        let said = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).status().expect("it runs");
        assert!(said.success());
        begun.elapsed()
    });
    let (version, _) = middle_and_tail(versions.collect());
    line("the program says its version", version, "");
    let empty = settings("empty");
    let mut starts = Vec::new();
    let mut least = 0;
    for _ in 0..TIMES {
        let server = empty.start();
        starts.push(server.took);
        least = server.memory();
        server.end();
    }
    let (start, slowest) = middle_and_tail(starts);
    line("from its start to ready", start, &format!("{} its version", ratio(start, version)));
    line("  the slowest", slowest, "");

    let waiting = settings("waiting");
    prepare(&waiting.url(), &waiting.database(), WAITING, 0).await;
    let server = waiting.start();
    all_looked_through(&waiting.database()).await;
    let with = server.memory();
    server.end();
    println!(
        "  memory: {} KiB with an empty store, {} KiB more with {WAITING} orders that wait",
        least,
        with.saturating_sub(least)
    );
}

pub struct Settings {
    folder: PathBuf,
    pub address: SocketAddr,
}

pub struct Server {
    process: Child,
    took: Duration,
}

impl Settings {
    /// Writes the settings, with `more` appended.
    pub fn write(folder: &Path, github: &Emulator, key: &SecretString, more: &str) -> Self {
        std::fs::create_dir(folder).expect("a folder");
        let address = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        std::fs::write(folder.join("app.pem"), key.expose_secret()).expect("a file");
        std::fs::set_permissions(folder.join("app.pem"), Permissions::from_mode(0o600)).expect("a file");
        let settings = Self { folder: folder.to_owned(), address };
        let text = format!(
            "server.listen = \"{address}\"\n\
             github.api_url = \"{}\"\n\
             github.app_id = 1\n\
             github.private_key_path = \"{}\"\n\
             github.webhook_secret = \"{SECRET}\"\n\
             store.url = \"{}\"\n\
             data.dir = \"{}\"\n{more}",
            github.api_url(),
            folder.join("app.pem").display(),
            settings.url(),
            folder.join("data").display(),
        );
        std::fs::write(folder.join("journeyman.toml"), text).expect("a file");
        settings
    }

    pub fn database(&self) -> PathBuf {
        self.folder.join("bench.db")
    }

    pub fn url(&self) -> String {
        format!("sqlite://{}", self.database().display())
    }

    /// Time from the start of the process to the first 200 of `GET /ready`.
    pub fn start(&self) -> Server {
        let begun = Instant::now();
        let mut serve = Command::new(PROGRAM);
        serve.arg("serve").arg("--config").arg(self.folder.join("journeyman.toml"));
        let log = std::fs::File::create(self.folder.join("log")).expect("a file");
        let mut process = serve.stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        while !self.is_ready() {
            let has_ended = process.try_wait().expect("a process").is_some();
            if has_ended || begun.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(self.folder.join("log")).expect("a log");
                panic!("it is not ready after {:?}: {log}", begun.elapsed());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Server { process, took: begun.elapsed() }
    }

    fn is_ready(&self) -> bool {
        let Ok(mut connection) = TcpStream::connect(self.address) else { return false };
        let asked = connection.write_all(b"GET /ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let mut answer = [0; 12];
        asked.is_ok() && connection.read_exact(&mut answer).is_ok() && answer.ends_with(b" 200")
    }
}

impl Server {
    /// Resident memory in KiB.
    fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    pub fn end(mut self) {
        self.process.kill().expect("it ends");
        self.process.wait().expect("it ended");
    }
}

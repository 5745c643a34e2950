//! A real headless browser, controlled through its own pipe (the Chrome DevTools Protocol): no driver, no port.
//!
//! Every command has a timeout. `make fetch` installs Chromium. Without it these stories fail, unless `JOURNEYMAN_SKIP`
//! names `browser`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(30);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const AXE: &str = include_str!("../fixtures/axe/axe.min.js");

/// A browser with one page.
pub struct Browser {
    program: Child,
    requests: File,
    answers: Receiver<Value>,
    session: String,
    last: u64,
    /// Console messages and load failures of the pages.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.exists())
}

impl Browser {
    /// Starts a browser; `None` if skipped by name.
    pub fn start() -> Option<Self> {
        let skipped = std::env::var("JOURNEYMAN_SKIP").unwrap_or_default();
        if skipped.split([',', ' ']).any(|name| name == "browser") {
            // Not `eprintln!`: the test harness hides its output if a test passes.
            let _ = std::io::stderr().write_all(b"SKIPPED: a browser, because of JOURNEYMAN_SKIP=browser\n");
            return None;
        }
        let chromium = find().expect(
            "Chromium: run `make fetch`, name one that is elsewhere with CHROMIUM, or skip it with JOURNEYMAN_SKIP=browser",
        );
        let profile = tempfile::Builder::new().prefix("journeyman-browser-").tempdir().expect("a folder");
        let pipe = |name: &str| {
            let path = profile.path().join(name);
            assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
            path
        };
        let (requests, answers) = (pipe("requests"), pipe("answers"));
        // Opened for reading and writing, so that opening does not block.
        let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path).expect("a pipe");
        let (to, from) = (open(&requests), open(&answers));
        let program = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$REQUESTS\" 4>\"$ANSWERS\""])
            .arg(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-sync", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .env("REQUESTS", &requests)
            .env("ANSWERS", &answers)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let (tell, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(from).split(0) {
                let Ok(message) = message else { return };
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            program,
            requests: to,
            answers,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for part in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{part}.enable"), json!({}));
        }
        Some(browser)
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.requests.write_all(&bytes).expect("the browser listens");
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"]["text"].to_string()),
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(parameters["exceptionDetails"].to_string())
            }
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            _ => {}
        }
    }

    /// Evaluates an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page, or in the pages that follow.
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        loop {
            let asked = json!({"expression": format!("Boolean({expression})"), "returnByValue": true});
            if self.ask("Runtime.evaluate", asked)["result"]["value"] == true {
                return;
            }
            if begun.elapsed() > DEADLINE {
                let page = self.eval("location.href + '\\n' + document.body.innerText");
                panic!("waited in vain for {expression}: {page}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn open(&mut self, url: &str) {
        self.ask("Page.navigate", json!({"url": url}));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Clicks the element that matches, and waits for the next page.
    pub fn follow(&mut self, selector: &str) {
        self.eval("window.is_old_page = true");
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
        self.until("window.is_old_page === undefined && document.readyState === 'complete'");
    }

    /// Fills in a field.
    pub fn fill(&mut self, selector: &str, text: &str) {
        self.eval(&format!("document.querySelector({}).value = {}", json!(selector), json!(text)));
    }

    /// The page's visible text.
    pub fn text(&mut self) -> String {
        self.eval("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    #[allow(dead_code)]
    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let code = if key == "Tab" { 9 } else { 13 };
            let pressed =
                json!({"type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", pressed);
        }
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub fn dark(&mut self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Takes a screenshot for people to look at.
    pub fn picture(&mut self, name: &str) {
        self.picture_in(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard"), name);
    }

    /// The same, into this folder.
    pub fn picture_in(&mut self, folder: &Path, name: &str) {
        std::fs::create_dir_all(folder).expect("a folder");
        let shot = self.ask("Page.captureScreenshot", json!({"format": "png"}));
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().expect("a picture"));
        std::fs::write(folder.join(format!("{name}.png")), bytes.expect("base64"))
            .expect("it can be written");
    }

    /// Checks accessibility with axe-core, in light and in dark, and that the page does not scroll sideways on a phone.
    pub fn is_for_everybody(&mut self, name: &str) {
        for is_dark in [false, true] {
            self.dark(is_dark);
            self.eval(&format!("{AXE}\n;0"));
            let found = self.eval(
                "axe.run().then(({violations}) => violations.map((one) => `${one.id}: ${one.help}: ` + \
                 one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))",
            );
            assert_eq!(found, json!([]), "{name}, dark: {is_dark}");
        }
        self.size(390, 844);
        let wide = self.eval("document.documentElement.scrollWidth > innerWidth");
        assert_eq!(wide, false, "{name} scrolls sideways on a phone");
        self.picture(&format!("{name}-phone-dark"));
        self.dark(false);
        self.size(1200, 900);
        self.picture(name);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

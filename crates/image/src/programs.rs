//! Runs `skopeo` and `umoci`: their arguments, their restrictions and their error messages.
//!
//! May know: processes, the variables that name other tools' files. Must never know: how their output is used.
//!
//! umoci reads untrusted archives, so it runs in a sandbox without network that can write only the image's own folder.
//! Version 0.4.7 would follow a whiteout named `.wh...` out of the root.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use journeyman_order::OutgoingNetwork;
use journeyman_order::bounds::{LARGEST_DOCUMENT, LONGEST_TAIL};
use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::error::{ImageError, ImageFault};
use crate::reference::{ImageReference, shown};

const PROGRAMS: [&str; 2] = ["skopeo", "umoci"];
/// The only variables passed to the programs: locations of programs, credentials and certificates.
const PASSED_ON: &str =
    "PATH HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR REGISTRY_AUTH_FILE DOCKER_CONFIG SSL_CERT_FILE SSL_CERT_DIR";
const LONGEST_QUESTION: Duration = Duration::from_secs(120);
const LONGEST_WORK: Duration = Duration::from_secs(3_600);
/// How often to check a running program.
const PAUSE: Duration = Duration::from_millis(300);

/// Space used on a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageSize {
    pub bytes: u64,
    /// Files, folders and links.
    pub entries: u64,
}

/// How to fetch images, and how large they may be.
#[derive(Debug, Clone)]
pub struct ImageSettings {
    /// The programs' environment. skopeo finds credentials through it.
    pub variables: BTreeMap<&'static str, OsString>,
    /// How to reach registries.
    pub outgoing: OutgoingNetwork,
    /// Limit for all layers as downloaded, in bytes.
    pub most_download: u64,
    /// Limit for the unpacked root.
    pub most: ImageSize,
}

impl Default for ImageSettings {
    fn default() -> Self {
        let given = |name: &'static str| Some((name, std::env::var_os(name)?));
        Self {
            variables: PASSED_ON.split(' ').filter_map(given).collect(),
            outgoing: OutgoingNetwork::default(),
            most_download: 10 << 30,
            most: ImageSize { bytes: 30 << 30, entries: 2_000_000 },
        }
    }
}

/// Runs periodically while a program works. An error kills the program.
type ProgramWatch<'a> = &'a (dyn Fn() -> Result<(), ImageError> + Sync);

/// The programs that images need and this machine lacks.
#[must_use]
pub fn missing_image_programs() -> Vec<&'static str> {
    ImageSettings::default().missing()
}

impl ImageSettings {
    fn missing(&self) -> Vec<&'static str> {
        let folders: Vec<_> =
            self.variables.get("PATH").into_iter().flat_map(std::env::split_paths).collect();
        let is_missing = |program: &&str| !folders.iter().any(|folder| folder.join(program).is_file());
        PROGRAMS.into_iter().filter(is_missing).collect()
    }

    /// The error says what to install.
    pub(crate) fn check(&self) -> Result<(), ImageError> {
        let missing = self.missing().join(" and ");
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!("not installed on this machine: {missing}. Install the packages skopeo and umoci");
        Err(ImageError::new(ImageFault::Settings, text))
    }

    /// Fetches one document from a registry: `--raw` for a manifest, `--config --raw` for a configuration.
    pub(crate) async fn inspect(&self, image: &ImageReference, what: &[&str]) -> Result<Vec<u8>, ImageError> {
        let mut command = self.command("skopeo");
        let over_http = is_loopback(image).then_some("--tls-verify=false");
        command.arg("inspect").args(what).args(over_http).arg(format!("docker://{image}"));
        run(command, LONGEST_QUESTION, &|| Ok(()), &|said| ImageError::said(image, said)).await
    }

    /// Downloads an image into `FOLDER/layout`. Skips existing layers.
    pub(crate) async fn copy(
        &self,
        image: &ImageReference,
        folder: &Path,
        watch: ProgramWatch<'_>,
    ) -> Result<(), ImageError> {
        let mut command = self.command("skopeo");
        // Digests establish trust, not signatures. umoci can read only gzip compression.
        command.args(["--insecure-policy", "copy", "--quiet", "--remove-signatures", "--retry-times=2"]);
        command
            .arg("--dest-compress-format=gzip")
            .args(is_loopback(image).then_some("--src-tls-verify=false"));
        command.arg(format!("docker://{image}")).arg("oci:layout:image").current_dir(folder);
        run(command, LONGEST_WORK, watch, &|said| ImageError::said(image, said)).await.map(drop)
    }

    /// Unpacks `FOLDER/layout` to `FOLDER/image/root`, which must not exist yet.
    pub(crate) async fn unpack(
        &self,
        image: &ImageReference,
        folder: &Path,
        watch: ProgramWatch<'_>,
    ) -> Result<(), ImageError> {
        let mut command = self.walled(folder);
        command.args([
            "umoci", "--log=error", "raw", "unpack", "--rootless", "--image=layout:image", "image/root",
        ]);
        run(command, LONGEST_WORK, watch, &|said| ImageError::said(image, said)).await.map(drop)
    }

    /// A command that can write only this folder, has no network, and ends with this process.
    fn walled(&self, folder: &Path) -> Command {
        let mut command = self.command("bwrap");
        for secret in ["HTTPS_PROXY", "NO_PROXY", "REGISTRY_AUTH_FILE", "DOCKER_CONFIG"] {
            command.env_remove(secret);
        }
        command.args(["--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]);
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        command.arg("--bind").args([folder, folder]).arg("--chdir").arg(folder).arg("--");
        command
    }

    /// Passes secrets in the environment, which other users cannot read.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables);
        if let Some(trusted) = &self.outgoing.trusted {
            // Go also reads the system's certificate folder.
            command.env("SSL_CERT_FILE", &trusted.file);
        }
        if let Some(proxy) = &self.outgoing.proxy {
            command.env("HTTPS_PROXY", proxy.with_credential().expose_secret());
            command.env("NO_PROXY", proxy.bypass.join(","));
        }
        command
    }
}

/// Whether a registry is on this machine. skopeo may then fall back to plain HTTP.
fn is_loopback(image: &ImageReference) -> bool {
    let url = Url::parse(&format!("https://{}/", image.registry()));
    url.is_ok_and(|url| url.host().is_some_and(|host| journeyman_order::is_loopback(&host)))
}

/// Runs a program and returns its output. `failed` turns its error message into an error.
async fn run(
    mut command: Command,
    longest: Duration,
    watch: ProgramWatch<'_>,
    failed: &(dyn Fn(&str) -> ImageError + Sync),
) -> Result<Vec<u8>, ImageError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let trouble = |error: std::io::Error| ImageError::new(ImageFault::Machine, format!("{program}: {error}"));
    let mut child = command.spawn().map_err(trouble)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ends = async {
        let (printed, said) =
            tokio::join!(read(stdout, LARGEST_DOCUMENT as u64), read(stderr, LONGEST_TAIL as u64));
        Ok::<_, std::io::Error>((child.wait().await?, printed?, said?))
    };
    tokio::pin!(ends);
    let began = Instant::now();
    let ended = loop {
        match timeout(PAUSE, &mut ends).await {
            Ok(ended) => break ended,
            Err(_) if began.elapsed() > longest => {
                return Err(failed(&format!("{program} has not ended after {} s", longest.as_secs())));
            }
            Err(_) => watch()?,
        }
    };
    let (status, printed, said) = ended.map_err(trouble)?;
    if status.success() { Ok(printed) } else { Err(failed(&last_line(&said))) }
}

/// Reads at most this much. A program that prints more gets a broken pipe.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// The last message of a program, without log decoration. Removes queries from addresses, which may contain a
/// credential.
fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason was given");
    let line = line.split_once("msg=\"").map_or(line, |(_, message)| message.trim_end_matches('"'));
    let line = line.replace("\\\"", "\"");
    let words = line.trim_start_matches([' ', '⨯']).split(' ');
    let words: Vec<&str> = words.map(|word| word.split_once('?').map_or(word, |(start, _)| start)).collect();
    shown(&words.join(" "), 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_one_line_without_an_addresss_query() {
        let skopeo = br#"time="x" level=warning msg="Failed, retrying"
time="x" level=fatal msg="reading blob: Get \"https://cdn.example/b?Signature=secret\": EOF"
"#;
        assert_eq!(last_line(skopeo), r#"reading blob: Get "https://cdn.example/b EOF"#);
        let umoci = "   ⨯ create rootfs: diffid mismatch\n";
        assert_eq!(last_line(umoci.as_bytes()), "create rootfs: diffid mismatch");
        assert_eq!(last_line(b""), "no reason was given");
    }

    #[test]
    fn missing_programs_are_named_with_what_to_install() {
        let mut settings = ImageSettings::default();
        settings.variables.insert("PATH", "/nowhere".into());
        let error = settings.check().unwrap_err();
        assert_eq!(error.fault(), ImageFault::Settings);
        let text = "not installed on this machine: skopeo and umoci. Install the packages skopeo and umoci";
        assert_eq!(error.to_string(), text);
    }

    #[tokio::test]
    async fn what_unpacks_can_write_only_its_folder_and_has_no_network() {
        // Not in /dev/shm, which a fresh /dev would hide.
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = place.path().join("own");
        std::fs::create_dir(&folder).unwrap();
        let mut command = ImageSettings::default().walled(&folder);
        command.args(["sh", "-c", "echo x >inside; echo x >../outside; wc -l </proc/net/route"]);
        let failed = |said: &str| ImageError::new(ImageFault::Image, said);
        let routes = run(command, Duration::from_secs(10), &|| Ok(()), &failed).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&routes).trim(), "1", "a head and no route");
        assert!(folder.join("inside").exists() && !place.path().join("outside").exists());
    }

    #[tokio::test]
    async fn a_program_ends_with_its_time_and_with_its_watch() {
        let sleep = || {
            let mut command = Command::new("sleep");
            command.arg("60");
            command
        };
        let failed = |said: &str| ImageError::new(ImageFault::Temporary, said);
        let error = run(sleep(), Duration::ZERO, &|| Ok(()), &failed).await.unwrap_err();
        assert_eq!(error.to_string(), "sleep has not ended after 0 s");
        let refuse = || -> Result<(), ImageError> { Err(ImageError::new(ImageFault::Image, "too large")) };
        let error = run(sleep(), Duration::from_secs(60), &refuse, &failed).await.unwrap_err();
        assert_eq!(error.to_string(), "too large");
    }
}

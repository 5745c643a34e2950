//! What is mounted in a container: one thing at each place.
//!
//! May know: podman's words for mounts. Must never know: jobs.
//!
//! podman mounts parents before what lies in them, in whatever order it is told, and refuses a place that is named twice.
//! So what is mounted later takes away here what was to be seen at that place and below it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Everything that is mounted.
#[derive(Default)]
pub(super) struct ContainerMounts(Vec<(PathBuf, ContainerMount)>);

/// What is mounted somewhere.
enum ContainerMount {
    /// A folder in memory, with podman's options.
    Memory(String),
    Bound {
        from: PathBuf,
        options: &'static str,
    },
}

impl ContainerMounts {
    pub(super) fn memory(&mut self, at: &Path, options: String) {
        self.put(at, ContainerMount::Memory(options));
    }

    pub(super) fn readable(&mut self, from: &Path, at: &Path) {
        self.put(at, ContainerMount::Bound { from: from.to_owned(), options: "ro=true,nodev,nosuid" });
    }

    pub(super) fn writable(&mut self, from: &Path, at: &Path) {
        self.put(at, ContainerMount::Bound { from: from.to_owned(), options: "nodev,nosuid" });
    }

    /// The job's terminals, which are devices.
    pub(super) fn terminals(&mut self, from: &Path, at: &Path) {
        self.put(at, ContainerMount::Bound { from: from.to_owned(), options: "dev,nosuid,noexec" });
    }

    fn put(&mut self, at: &Path, mount: ContainerMount) {
        self.0.retain(|(earlier, _)| !earlier.starts_with(at));
        self.0.push((at.to_owned(), mount));
    }

    pub(super) fn arguments(&self) -> impl Iterator<Item = OsString> {
        self.0.iter().flat_map(|(at, mount)| match mount {
            ContainerMount::Memory(options) => {
                let mut value = OsString::from(at);
                value.push(":");
                value.push(options);
                ["--tmpfs".into(), value]
            }
            ContainerMount::Bound { from, options } => {
                let mut value = b"type=bind,".to_vec();
                value.extend(field("src=", from.as_os_str()));
                value.push(b',');
                value.extend(field("dst=", at.as_os_str()));
                value.push(b',');
                value.extend(options.bytes());
                ["--mount".into(), OsString::from_vec(value)]
            }
        })
    }
}

/// One field of a line of comma-separated values.
fn field(name: &str, value: &OsStr) -> Vec<u8> {
    let whole = [name.as_bytes(), value.as_bytes()].concat();
    if !whole.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return whole;
    }
    let mut quoted = vec![b'"'];
    for byte in whole {
        quoted.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_later_hides_what_was_to_be_seen_there() {
        let mut mounts = ContainerMounts::default();
        mounts.memory(Path::new("/tmp"), "rw".to_owned());
        for at in ["/usr", "/work/tool", "/work/tool/bin"] {
            mounts.readable(Path::new(at), Path::new(at));
        }
        mounts.writable(Path::new("/bound"), Path::new("/work"));
        mounts.writable(Path::new("/a,b \"c\""), Path::new("/work/tool"));
        let all: Vec<_> = mounts.arguments().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(
            all,
            [
                "--tmpfs",
                "/tmp:rw",
                "--mount",
                "type=bind,src=/usr,dst=/usr,ro=true,nodev,nosuid",
                "--mount",
                "type=bind,src=/bound,dst=/work,nodev,nosuid",
                "--mount",
                "type=bind,\"src=/a,b \"\"c\"\"\",dst=/work/tool,nodev,nosuid",
            ]
        );
    }
}

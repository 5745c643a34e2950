//! Names of images.

use crate::ImageReference;

fn read(text: &str) -> Result<String, String> {
    text.parse::<ImageReference>().map(|name| name.to_string()).map_err(|error| error.to_string())
}

#[test]
fn names_are_read_by_dockers_rules() {
    let digest = "a".repeat(64);
    let names = [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12-slim", "docker.io/library/python:3.12-slim"),
        ("owner/name", "docker.io/owner/name:latest"),
        ("docker.io/python", "docker.io/library/python:latest"),
        ("index.docker.io/library/python:3", "docker.io/library/python:3"),
        ("ghcr.io/o/n:tag", "ghcr.io/o/n:tag"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("registry.example:443/x", "registry.example:443/x:latest"),
        ("localhost:5000", "docker.io/library/localhost:5000"),
        ("[::1]:5000/x:y", "[::1]:5000/x:y"),
        ("GHCR.io/o/n", "ghcr.io/o/n:latest"),
        ("a/b/c__d/e--f.g", "docker.io/a/b/c__d/e--f.g:latest"),
    ];
    for (text, whole) in names {
        assert_eq!(read(text).as_deref(), Ok(whole), "{text}");
    }
    let pinned = format!("docker.io/library/python@sha256:{digest}");
    assert_eq!(read(&format!("python@sha256:{digest}")), Ok(pinned));
    let both = format!("docker.io/library/python:3@sha256:{digest}");
    assert_eq!(read(&format!("python:3@sha256:{digest}")), Ok(both));
    let wrong = [
        "", "Python", "owner/Name", "A/0:_", "https://ghcr.io/o/n", "python:", "python:-x",
        "python@sha256:abc", "-python", "a//b", "ghcr.io/", "ghcr.io/../x", "x/..", "a___b", "host:999999/x",
        "host_name.example/x", "ho st.example/x", "user@host.example/x", "python\n", "x?y", "x%2f..",
        "x@md5:1", "a.example:/x", &digest, "ghcr.io/o/N",
    ];
    for text in wrong {
        let error = read(text).unwrap_err();
        assert!(error.contains("is not the name of an image. Write `python:3.12"), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn what_is_a_name_stays_the_same_name(text in "[a-zA-Z0-9./:@_\\[\\]-]{0,40}") {
        if let Ok(name) = text.parse::<ImageReference>() {
            let again: ImageReference = name.to_string().parse().unwrap();
            proptest::prop_assert_eq!(&again, &name);
            let text = name.to_string();
            proptest::prop_assert!(!text.contains("../") && !text.contains("/.."), "{}", text);
        }
    }
}

//! Whole machines: files and variables, and what is taken from them.

use std::fs;

use secrecy::ExposeSecret;

use super::*;

/// A machine with these files, `~` for the user's home, and these variables; what is read of it, as text.
fn told(files: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home/ada");
    for (path, text) in files {
        let path = match path.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => root.path().join(path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let of_home = ("HOME".to_owned(), home.display().to_string());
    let others = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let read = HostRegistries::read(root.path(), others.chain([of_home]));
    let mut text = String::new();
    for HostRegistry { registry, taken_from } in &read.found {
        let PackageRegistry { name, url, credential, mirror, scopes, known_as, .. } = registry;
        let credential = match credential {
            RegistryCredential::None => "nothing".to_owned(),
            RegistryCredential::Token(token) => format!("token {}", token.expose_secret()),
            RegistryCredential::Password { user, password } => {
                format!("{user} / {}", password.expose_secret())
            }
        };
        let mirror = if *mirror { " mirror" } else { "" };
        let scopes = if scopes.is_empty() { String::new() } else { format!(" for {scopes:?}") };
        let known_as = if known_as == name.as_str() { String::new() } else { format!(" as {known_as}") };
        text += &format!("{name}{known_as}: {url}{mirror}{scopes} with {credential} ({taken_from})\n");
    }
    for SkippedRegistry { taken_from, because } in &read.skipped {
        text += &format!("skipped {taken_from}: {because}\n");
    }
    text.replace(&root.path().display().to_string(), "")
}

#[test]
fn a_machine_without_settings_has_no_registries() {
    assert_eq!(told(&[], &[]), "");
    let public = [
        ("etc/pip.conf", "[global]\nindex-url = https://pypi.org/simple\n"),
        ("~/.npmrc", "registry=https://registry.npmjs.org/\n//registry.npmjs.org/x:_authToken=t\n"),
        ("~/.config/go/env", "GOPROXY=https://proxy.golang.org,direct\n"),
    ];
    assert_eq!(told(&public, &[]), "");
}

#[test]
fn pips_settings_are_read_in_its_own_order() {
    let files = [
        (
            "etc/pip.conf",
            "[global]\nindex-url = https://a.example/simple\nextra-index-url = https://b.example/simple\n",
        ),
        (
            "~/.config/pip/pip.conf",
            "# mine\n[global]\ntimeout = 9\nindex-url: https://ada:p%40ss@c.example/simple/\n\n[install]\n\
             extra_index_url =\n    https://d.example/simple\n    ftp://e.example/simple\n",
        ),
        (
            "~/.netrc",
            "machine d.example login ada password of-netrc\nmachine c.example login no password no\n",
        ),
    ];
    insta::assert_snapshot!(told(&files, &[]), @r#"
    host-pip: https://c.example/simple/ mirror with ada / p@ss (/home/ada/.config/pip/pip.conf)
    host-pip-2: https://d.example/simple with ada / of-netrc (/home/ada/.config/pip/pip.conf)
    skipped /home/ada/.config/pip/pip.conf: a registry for pip: its address is neither http nor https
    "#);
    insta::assert_snapshot!(told(&files, &[("PIP_INDEX_URL", "https://f.example/"), ("PIP_EXTRA_INDEX_URL", "https://token@g.example/")]), @r#"
    host-pip: https://f.example/ mirror with nothing (PIP_INDEX_URL)
    skipped PIP_EXTRA_INDEX_URL: a registry for pip: its address has a user without a password
    "#);
    insta::assert_snapshot!(told(&files, &[("PIP_CONFIG_FILE", "/dev/null"), ("UV_DEFAULT_INDEX", "https://h.example/simple")]), @r#"
    host-pip: https://h.example/simple mirror with nothing (UV_DEFAULT_INDEX)
    "#);
}

#[test]
fn npms_settings_are_read_with_the_credential_of_each_address() {
    let files = [
        ("etc/npmrc", "registry=https://a.example/npm/\n"),
        (
            "~/.npmrc",
            "//a.example/:_authToken=${TOKEN}\n@corp:registry=https://b.example/api/npm\n\
             @other:registry = \"https://b.example/api/npm\"\n//b.example/api/:_auth = YWRhOnBhc3M=\n\
             @third:registry=https://c.example\n//c.example/:username=bob\n//c.example/:_password=cGFzczI=\n\
             @fourth:registry=https://${NOT_SET}/\n//d.example/:_authToken=alone\n",
        ),
    ];
    insta::assert_snapshot!(told(&files, &[("TOKEN", "t0ken")]), @r#"
    host-npm: https://a.example/npm/ mirror with token t0ken (/etc/npmrc)
    host-npm-2: https://b.example/api/npm for ["@corp", "@other"] with ada / pass (/home/ada/.npmrc)
    host-npm-3: https://c.example/ for ["@third"] with bob / pass2 (/home/ada/.npmrc)
    skipped /home/ada/.npmrc: a registry for npm: it names a variable that is not set
    "#);
    insta::assert_snapshot!(told(&files[..1], &[("NPM_CONFIG_REGISTRY", "https://e.example/")]), @r#"
    host-npm: https://e.example/ mirror with nothing (NPM_CONFIG_REGISTRY)
    "#);
}

#[test]
fn cargos_mirror_and_registries_are_read_with_their_tokens() {
    let files = [
        (
            "~/.cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nreplace-with = \"b\"\n\
             [source.b]\nregistry = \"sparse+https://b.example/index/\"\n\
             [registries.corp]\nindex = \"sparse+https://b.example/index/\"\n\
             [registries.git]\nindex = \"https://git.example/index\"\n\
             [registries.My_Own]\nindex = \"sparse+https://c.example/\"\n",
        ),
        ("~/.cargo/credentials.toml", "[registries.corp]\ntoken = \"Bearer abc\"\n"),
    ];
    insta::assert_snapshot!(told(&files, &[("CARGO_REGISTRIES_MY_OWN_TOKEN", "xyz")]), @r#"
    host-cargo: https://b.example/index/ mirror with token Bearer abc (/home/ada/.cargo/config.toml)
    host-cargo-2 as My_Own: https://c.example/ with token xyz (/home/ada/.cargo/config.toml)
    host-cargo-3 as corp: https://b.example/index/ with token Bearer abc (/home/ada/.cargo/config.toml)
    skipped /home/ada/.cargo/config.toml: a registry for cargo: only sparse indexes (`sparse+https://…`) can be taken
    "#);
    insta::assert_snapshot!(told(&[("~/.cargo/config", "[source\ntoken = \"secret")], &[]), @r#"
    skipped /home/ada/.cargo/config: settings of cargo: they are not TOML
    "#);
    let circle = "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nreplace-with = \"crates-io\"\n";
    assert_eq!(told(&[("~/.cargo/config.toml", circle)], &[]), "");
    let vendored = "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n";
    assert_eq!(told(&[("~/.cargo/config.toml", vendored)], &[]), "");
}

#[test]
fn gos_proxies_are_read_with_what_no_public_database_knows() {
    let files = [
        (
            "~/.config/go/env",
            "GOPROXY=https://a.example/go|https://proxy.golang.org,direct\nGOPRIVATE=corp.example/*\n",
        ),
        ("~/.netrc", "machine a.example login ada password pass\n"),
    ];
    insta::assert_snapshot!(told(&files, &[]), @r#"
    host-go: https://a.example/go for ["corp.example/*"] with ada / pass (/home/ada/.config/go/env)
    "#);
    insta::assert_snapshot!(told(&files, &[("GOPROXY", "https://bob:pw@b.example,off"), ("GOSUMDB", "off")]), @r#"
    host-go: https://b.example/ mirror for ["*"] with bob / pw (GOPROXY)
    "#);
    insta::assert_snapshot!(told(&files, &[("GOPROXY", "file:///srv/modules")]), @r#"
    skipped GOPROXY: a registry for go: its address is neither http nor https
    "#);
}

#[test]
fn mavens_mirrors_are_read_with_their_servers() {
    let settings = "<?xml version=\"1.0\"?><settings xmlns=\"http://maven.apache.org/SETTINGS/1.2.0\">\
        <!-- <mirrors><mirror><id>no</id></mirror></mirrors> -->\
        <servers><server><id>all</id><username>ada</username><password>p&amp;s&#x73;</password></server>\
        <server><id>some</id><username>${env.WHO}</username><password>${env.PASS}</password></server>\
        <server><id>hidden</id><username>x</username><password>{abc=}</password></server></servers>\
        <mirrors><mirror><id>all</id><mirrorOf>*</mirrorOf><url>https://a.example/maven</url></mirror>\
        <mirror><id>some</id><mirrorOf>central, other</mirrorOf><url> https://b.example/maven </url></mirror>\
        <mirror><id>hidden</id><mirrorOf>x</mirrorOf><url>https://c.example/</url></mirror>\
        <mirror><id>stop</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror>\
        </mirrors></settings>";
    let files = [("~/.m2/settings.xml", settings)];
    insta::assert_snapshot!(told(&files, &[("WHO", "bob"), ("PASS", "pw")]), @r#"
    host-maven: https://a.example/maven mirror with ada / p&ss (/home/ada/.m2/settings.xml)
    host-maven-2: https://b.example/maven for ["central", "other"] with bob / pw (/home/ada/.m2/settings.xml)
    skipped /home/ada/.m2/settings.xml: a mirror for maven: its server's password is encrypted
    "#);
    insta::assert_snapshot!(told(&files, &[]), @r#"
    host-maven: https://a.example/maven mirror with ada / p&ss (/home/ada/.m2/settings.xml)
    skipped /home/ada/.m2/settings.xml: a mirror for maven: its server's password is encrypted
    skipped /home/ada/.m2/settings.xml: a mirror for maven: its server names a variable that is not set
    "#);
    insta::assert_snapshot!(told(&[("etc/maven/settings.xml", "<settings><mirrors>")], &[]), @r#"
    skipped /etc/maven/settings.xml: settings of Maven: they are not XML
    "#);
}

#[test]
fn whatever_stands_there_is_read_without_harm_and_no_secret_is_told() {
    for junk in ["", "\0", "[[[", "registry", "registry=", "=x", "<a", "machine", "[global]\nindex-url", "${"]
    {
        for file in [
            "etc/pip.conf",
            "~/.npmrc",
            "~/.cargo/config.toml",
            "~/.config/go/env",
            "~/.m2/settings.xml",
            "~/.netrc",
        ] {
            told(&[(file, junk)], &[]);
        }
    }
    let deep = "<a>".repeat(100_000);
    assert!(told(&[("~/.m2/settings.xml", &deep)], &[]).starts_with("skipped"));
    let read = HostRegistries::read(
        Path::new("/nowhere"),
        [("PIP_INDEX_URL".to_owned(), "https://ada:hunter2@a.example/".to_owned())].into_iter(),
    );
    assert!(!format!("{read:?}").contains("hunter2"));
}

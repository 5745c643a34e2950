//! Submodules on the same server are fetched at the recorded commits; no other server is contacted.

use std::fs;
use std::path::Path;

use super::server::{Server, TOKEN};
use super::{House, git, remote};
use journeyman::order::{CommitSha, Exit, OrderId, RepositoryName};
use journeyman::workspace::{ImportOutcome, Workspaces};

/// Creates a repository on the server with these files and submodules: path, address in `.gitmodules`, commit.
fn put(server: &Server, name: &str, files: &[(&str, &str)], submodules: &[(&str, &str, &str)]) -> String {
    let (bare, seed) = (server.path(name), tempfile::tempdir().unwrap());
    if !bare.exists() {
        fs::create_dir_all(&bare).unwrap();
        git(&bare, &["init", "-q", "--bare", "."]);
    }
    git(seed.path(), &["init", "-q", "."]);
    for (path, text) in files {
        let path = seed.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut gitmodules = String::new();
    for (at, (path, url, commit)) in submodules.iter().enumerate() {
        gitmodules += &format!("[submodule \"s{at}\"]\n\tpath = {path}\n\turl = {url}\n");
        if !path.starts_with("..") && !path.starts_with(".git/") {
            git(seed.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
        }
    }
    if !submodules.is_empty() {
        fs::write(seed.path().join(".gitmodules"), gitmodules).unwrap();
    }
    let paths: Vec<&str> = files
        .iter()
        .map(|(path, _)| *path)
        .chain((!submodules.is_empty()).then_some(".gitmodules"))
        .collect();
    git(seed.path(), &[&["add", "-f", "--"], paths.as_slice()].concat());
    git(seed.path(), &["commit", "-qm", "It"]);
    git(seed.path(), &["push", "-qf", bare.to_str().unwrap(), "main"]);
    git(seed.path(), &["rev-parse", "HEAD"])
}

fn checked_out(
    data: &Workspaces,
    repository: &RepositoryName,
    commit: &CommitSha,
    into: &Path,
) -> Vec<String> {
    data.checkout(repository, commit, into).unwrap();
    let mut found: Vec<String> =
        walk(into).iter().map(|path| path.strip_prefix(into).unwrap().display().to_string()).collect();
    found.sort();
    found
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn submodules_of_the_same_server_are_checked_out_at_the_commits_that_are_recorded() {
    let server = Server::start();
    let inner = put(&server, "octo/inner", &[("inner.txt", "deep")], &[]);
    let before = put(&server, "octo/lib", &[("lib.py", "old")], &[("vendor/inner", "../inner", &inner)]);
    // The library has moved on to another commit.
    put(&server, "octo/lib", &[("lib.py", "new")], &[]);
    git(&server.path("octo/lib"), &["branch", "kept", &before]);
    let absolute = server.url("octo/inner").to_string();
    let base = put(
        &server,
        "octo/sums",
        &[("sum.py", "import lib")],
        &[("third/lib", "../../octo/lib.git", &before), ("also", &absolute, &inner)],
    );
    let data = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::new(data.path()).unwrap();
    let repository: RepositoryName = "octo/sums".parse().unwrap();
    let commit = workspaces.fetch(&remote(&server, &repository), "main").unwrap();
    assert_eq!(commit.as_str(), base);
    let into = data.path().join("checkout");
    assert_eq!(
        checked_out(&workspaces, &repository, &commit, &into),
        [
            ".gitmodules",
            "also/inner.txt",
            "sum.py",
            "third/lib/.gitmodules",
            "third/lib/lib.py",
            "third/lib/vendor/inner/inner.txt"
        ]
    );
    assert_eq!(fs::read_to_string(into.join("third/lib/lib.py")).unwrap(), "old");
    let source = workspaces.source_tree(&repository, &commit).unwrap();
    assert_eq!(source.read("third/lib/lib.py").unwrap(), b"old");
    assert_eq!(source.missing_submodules(), Vec::<String>::new());
    // The second time, none of them is requested.
    let asked = || server.requests().iter().filter(|request| !request.contains("octo/sums")).count();
    let before = asked();
    workspaces.fetch(&remote(&server, &repository), "main").unwrap();
    assert_eq!(asked(), before);
    // A repository without submodules has none of their files.
    put(&server, "octo/plain", &[("a", "a")], &[]);
    let plain: RepositoryName = "octo/plain".parse().unwrap();
    let commit = workspaces.fetch(&remote(&server, &plain), "main").unwrap();
    assert_eq!(checked_out(&workspaces, &plain, &commit, &into), ["a"]);
    let shown = format!("Basic x-access-token:{TOKEN}");
    assert!(server.logins().iter().all(|login| login.contains(TOKEN) || *login == shown));
}

#[test]
fn whatever_else_gitmodules_names_is_refused_by_name_and_nobody_is_asked_for_it() {
    let (server, other) = (Server::start(), Server::start());
    let bad = put(&server, "octo/lib", &[("lib.py", "old")], &[]);
    let good = put(&server, "octo/lib", &[("lib.py", "lib")], &[]);
    git(&server.path("octo/lib"), &["branch", "kept", &bad]);
    put(&other, "octo/lib", &[("lib.py", "lib")], &[]);
    let elsewhere = other.url("octo/lib").to_string();
    let with_user = server.url("octo/lib").to_string().replace("http://", "http://me:secret@");
    let lost = "1".repeat(40);
    put(
        &server,
        "octo/sums",
        &[("sum.py", "import lib")],
        &[
            ("a-program", "ext::sh -c touch% /tmp/x", &bad),
            ("b-file", "file:///etc", &bad),
            ("c-path", "/etc", &bad),
            ("d-ssh", "git@elsewhere.example:octo/lib.git", &bad),
            ("e-ssh", "ssh://git@elsewhere.example/octo/lib.git", &bad),
            ("f-elsewhere", &elsewhere, &bad),
            ("g-dash", "--upload-pack=touch /tmp/x", &bad),
            ("h-up", "../../../../etc/x", &bad),
            ("i-user", &with_user, &bad),
            ("j-lost", "../lib.git", &lost),
            ("k-nobody", "../nobody.git", &bad),
            ("../l-outside", "../lib.git", &bad),
            (".git/hooks", "../lib.git", &bad),
            ("m-good", "../lib.git", &good),
        ],
    );
    let data = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::new(data.path()).unwrap();
    let repository: RepositoryName = "octo/sums".parse().unwrap();
    let commit = workspaces.fetch(&remote(&server, &repository), "main").unwrap();
    let into = data.path().join("checkout");
    assert_eq!(
        checked_out(&workspaces, &repository, &commit, &into),
        [".gitmodules", "m-good/lib.py", "sum.py"]
    );
    let missing = workspaces.source_tree(&repository, &commit).unwrap().missing_submodules();
    insta::assert_snapshot!(missing.join("\n"), @"
    ../l-outside: its path leads out of the repository
    .git/hooks: its path is none of a folder's
    a-program: its address is none that is fetched
    b-file: its address is neither a relative one nor one of https, and no other is fetched
    c-path: its address is neither a relative one nor one of https, and no other is fetched
    d-ssh: its address is neither a relative one nor one of https, and no other is fetched
    e-ssh: its address is neither a relative one nor one of https, and no other is fetched
    f-elsewhere: it is on another server, 127.0.0.1
    g-dash: its address is none that is fetched
    h-up: its address leads out of the server
    i-user: there is a user in its address
    j-lost: the commit 1111111111111111111111111111111111111111 could not be fetched from octo/lib
    k-nobody: octo/nobody is not there or is not public, and the App's token is for octo/sums alone
    ");
    assert_eq!(other.requests(), Vec::<String>::new());
    assert!(server.logins().iter().all(|login| !login.contains("secret")));
}

#[test]
fn of_many_submodules_and_of_those_in_one_another_some_are_fetched() {
    let server = Server::start();
    let good = put(&server, "octo/lib", &[("lib.py", "lib")], &[]);
    let bare = server.path("octo/lib");
    let commits: Vec<(String, String)> = (0..40)
        .map(|at| {
            let commit = git(&bare, &["commit-tree", "main^{tree}", "-m", &at.to_string()]);
            git(&bare, &["branch", &format!("kept{at}"), &commit]);
            (format!("lib{at:02}"), commit)
        })
        .collect();
    let many: Vec<(&str, &str, &str)> =
        commits.iter().map(|(path, commit)| (path.as_str(), "../lib", commit.as_str())).collect();
    put(&server, "octo/many", &[("a", "a")], &many);
    let mut last = good;
    for at in 0..6 {
        last = put(
            &server,
            &format!("octo/deep{at}"),
            &[("a", "a")],
            &[(
                "in",
                if at == 0 {
                    "../lib"
                } else {
                    ["../deep0", "../deep1", "../deep2", "../deep3", "../deep4"][at - 1]
                },
                &last,
            )],
        );
    }
    let data = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::new(data.path()).unwrap();
    let missing = |name: &str| {
        let repository: RepositoryName = name.parse().unwrap();
        let commit = workspaces.fetch(&remote(&server, &repository), "main").unwrap();
        workspaces.checkout(&repository, &commit, &data.path().join("checkout")).unwrap();
        workspaces.source_tree(&repository, &commit).unwrap().missing_submodules()
    };
    assert_eq!(missing("octo/many").first().map(String::as_str), Some("lib32: there are more than 32"));
    assert_eq!(missing("octo/many").len(), 8);
    assert_eq!(missing("octo/deep5"), ["in/in/in/in/in: it lies in 4 others"]);
}

#[tokio::test]
async fn an_agent_has_the_files_of_submodules_and_publishes_nothing_of_what_it_does_to_them() {
    let mut house = House::new().await;
    let lib = put(&house.server, "octo/lib", &[("lib.py", "lib")], &[]);
    put(&house.server, "octo/sums", &[("sum.py", "import lib")], &[("third/lib", "../lib.git", &lib)]);
    house.base = house.workspaces.fetch(&house.remote(), "main").unwrap();
    house.order = OrderId(uuid::Uuid::now_v7());
    house.workspaces.create_origin(house.order, &house.repository, &house.base, "main", None).unwrap();
    house.workspaces.checkout(&house.repository, &house.base, &house.places().work).unwrap();
    let address = house.server.url("octo/sums").to_string();
    let clone = Workspaces::clone_command(&house.places(), Some(&house.branch), None, Some(&address), &[]);
    let (ended, _, said) = house.run(clone, true).await;
    assert_eq!(ended.exit, Exit::Code(0), "{said}");
    let seen = house
        .agent(
            "cat third/lib/lib.py; echo; git status --porcelain; git config remote.origin.url; git fetch -q origin; \
             echo mine > third/lib/lib.py; echo new > third/lib/new.py; echo 'import lib # mended' > sum.py; git add -A; \
             git commit -qm 'Mend it'; git push -q; git show --stat --format=%s | head -2",
        )
        .await;
    assert_eq!(seen, format!("lib\n{address}\nMend it"));
    let ImportOutcome::Imported { changed, .. } = house.import().await else { panic!("not imported") };
    assert_eq!(changed, ["sum.py"]);
    // Otherwise its content would be missing in every test, without any notice.
    for instead in ["", "mkdir -p third/lib; echo own > third/lib/lib.py;", "echo own > third/lib;"] {
        house
            .agent(&format!(
                "git reset -q --hard origin/main; git rm -rq --cached third/lib; rm -rf third/lib; {instead} \
                 [ -z '{instead}' ] || git add -A; git commit -qm 'Do without it'; git push -qf"
            ))
            .await;
        let ImportOutcome::Refused(feedback) = house.import().await else { panic!("{instead} came through") };
        let told = feedback.issues.iter().find(|finding| finding.location.as_deref() == Some("third/lib"));
        assert!(
            told.is_some_and(|finding| finding.description.contains("it is a submodule")),
            "{feedback:?}"
        );
    }
}

#[test]
fn of_a_clone_on_this_machine_those_that_it_has_are_taken_and_the_others_named() {
    let place = tempfile::tempdir().unwrap();
    let made = |name: &str, file: &str| {
        let folder = place.path().join(name);
        fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "-q", "."]);
        fs::write(folder.join(file), name).unwrap();
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", "It"]);
        folder
    };
    let (inner, lib, sums) = (made("inner", "inner.txt"), made("lib", "lib.py"), made("sums", "sum.py"));
    let add = |to: &Path, from: &Path, at: &str| {
        let local = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        git(to, &[&local[..], &[from.to_str().unwrap(), at]].concat());
        git(to, &["commit", "-qm", "With it"]);
    };
    add(&lib, &inner, "in");
    add(&sums, &lib, "third/lib");
    let taken = |data: &Path| {
        let workspaces = Workspaces::new(data).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        workspaces.import_local(&repository, &sums).unwrap();
        let commit: CommitSha = git(&sums, &["rev-parse", "HEAD"]).parse().unwrap();
        let files = checked_out(&workspaces, &repository, &commit, &data.join("checkout"));
        (files.join(" "), workspaces.source_tree(&repository, &commit).unwrap().missing_submodules())
    };
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (files, missing) = taken(first.path());
    assert_eq!(files, ".gitmodules sum.py third/lib/.gitmodules third/lib/lib.py");
    let gets = "it is not in this clone; `git submodule update --init --recursive` gets it";
    assert_eq!(missing, [format!("third/lib/in: {gets}")]);
    git(
        &sums,
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive"],
    );
    let (files, missing) = taken(second.path());
    assert!(files.ends_with("third/lib/in/inner.txt third/lib/lib.py"), "{files}");
    assert_eq!(missing, Vec::<String>::new());

    let module = sums.join(".git/modules/third/lib");
    let before = git(&lib, &["rev-parse", "HEAD"]);
    git(&lib, &["commit", "-q", "--allow-empty", "-m", "Later"]);
    let later = git(&lib, &["rev-parse", "HEAD"]);
    let record = |commit: &str| {
        git(&sums, &["update-index", "--cacheinfo", &format!("160000,{commit},third/lib")]);
        git(&sums, &["commit", "-qm", "Another one"]);
    };
    record(&later);
    let gets = "the commit that is recorded is not in its repository; `git submodule update --init third/lib` gets it";
    assert_eq!(taken(tempfile::tempdir().unwrap().path()).1, [format!("third/lib: {gets}")]);
    record(&before);
    fs::remove_file(sums.join("third/lib/.git")).unwrap();
    fs::rename(&module, sums.join("third/lib/.git")).unwrap();
    let (_, missing) = taken(tempfile::tempdir().unwrap().path());
    assert!(
        matches!(&missing[..], [one] if one.contains("`git submodule absorbgitdirs` moves it")),
        "{missing:?}"
    );
}

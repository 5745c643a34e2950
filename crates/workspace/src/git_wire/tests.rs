//! Fetches from real git on loopback, which sometimes misbehaves on purpose.

#[path = "../../../../tests/workspace/server.rs"]
#[allow(dead_code)]
mod server;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use git2::Repository;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::{Remote, Workspaces};
use journeyman_order::{CommitSha, RepositoryName};
use server::{Server, TOKEN};

/// A server with a tagged commit on `main` of `octo/sums`, too large for one chunk, and an empty data folder.
struct FetchFixture {
    server: Server,
    data: TempDir,
    workspaces: Workspaces,
    repository: RepositoryName,
    base: CommitSha,
    token: SecretString,
    url: Url,
    mirror: PathBuf,
    outgoing: OutgoingNetwork,
    is_given_up: Arc<AtomicBool>,
}

const MAIN: &str = "+refs/heads/main:refs/mirror/main";

impl FetchFixture {
    fn new() -> Self {
        let server = Server::start();
        let base = Self::seed(&server.path("octo/sums"));
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let mirror = workspaces.mirror(&repository).unwrap().path().to_owned();
        let (url, token) = (server.url("octo/sums"), TOKEN.into());
        let (outgoing, is_given_up) = (OutgoingNetwork::default(), Arc::default());
        Self { server, data, workspaces, repository, base, token, url, mirror, outgoing, is_given_up }
    }

    fn seed(path: &Path) -> CommitSha {
        let there = git2::Repository::init_bare(path).unwrap();
        let mut tree = there.treebuilder(None).unwrap();
        tree.insert("README.md", there.blob(b"sums\n").unwrap(), 0o100_644).unwrap();
        let noise: Vec<u8> =
            (0..20_000_u32).flat_map(|number| Sha256::digest(number.to_le_bytes())).collect();
        tree.insert("noise", there.blob(&noise).unwrap(), 0o100_644).unwrap();
        let tree = there.find_tree(tree.write().unwrap()).unwrap();
        let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(1, 0)).unwrap();
        let commit = there.commit(Some("refs/heads/main"), &who, &who, "Begin", &tree, &[]).unwrap();
        there.reference("refs/tags/v1", commit, true, "").unwrap();
        commit.to_string().parse().unwrap()
    }

    fn remote(&self) -> Remote<'_> {
        Remote { repository: &self.repository, url: self.url.clone(), token: Some(self.token.clone()) }
    }

    /// Only the connection to the server, without earlier requests.
    fn wire(&self) -> GitWire<'_> {
        GitWire {
            ours: &self.mirror,
            url: &self.url,
            token: Some(&self.token),
            outgoing: &self.outgoing,
            limits: WireLimits::USUAL,
            is_given_up: &self.is_given_up,
        }
    }

    /// Waits for a request for objects.
    fn asked_for_objects(&self) {
        self.wait(|lines| lines.iter().any(|line| line.starts_with("POST")));
    }

    /// Waits until the client has hung up this many times.
    fn hung_up(&self, times: usize) {
        self.wait(|lines| lines.iter().filter(|line| *line == "hung up").count() == times);
    }

    fn wait(&self, is_there: impl Fn(&[String]) -> bool) {
        let until = Instant::now() + Duration::from_secs(20);
        while !is_there(&self.server.requests()) {
            assert!(Instant::now() < until, "{:?}", self.server.requests());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn id(commit: &CommitSha) -> Oid {
    commit.as_str().parse().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_fetch_leaves_room_on_the_disk() {
    let house = FetchFixture::new();
    let limits = WireLimits { kept_free: u64::MAX, ..WireLimits::USUAL };
    let refused = GitWire { limits, ..house.wire() }.run(MAIN).unwrap_err();
    assert_eq!(refused.kind, GitErrorKind::Unavailable, "it is waited for");
    assert!(refused.said.contains("would be free on the disk"), "{}", refused.said);
    assert_eq!(house.server.requests(), Vec::<String>::new(), "it was not begun");
}

#[test]
fn a_branch_whose_tree_is_more_than_a_tree_may_be_leaves_neither_a_name_nor_a_pack() {
    let house = FetchFixture::new();
    let there = git2::Repository::open_bare(house.server.path("octo/sums")).unwrap();
    let blob = there.blob(b"x").unwrap();
    let tree = (0..1_000).fold(None, |inner, _| {
        let mut tree = there.treebuilder(None).unwrap();
        let (id, mode) = inner.map_or((blob, 0o100_644), |inner| (inner, 0o040_000));
        tree.insert("d", id, mode).unwrap();
        Some(tree.write().unwrap())
    });
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(1, 0)).unwrap();
    let tree = there.find_tree(tree.unwrap()).unwrap();
    let deep = there.commit(Some("refs/heads/deep"), &who, &who, "Dig", &tree, &[]).unwrap();
    for _ in 0..2 {
        let refused = house.workspaces.fetch(&house.remote(), "deep").unwrap_err();
        assert_eq!(refused.kind, GitErrorKind::NotForUs);
        assert_eq!(refused.message, format!("the commit {deep} has folders more than 256 deep"));
        assert_eq!(names(&house.mirror.join("objects/pack")), [""; 0], "nothing of it stays");
        assert_eq!(Repository::open_bare(&house.mirror).unwrap().references().unwrap().count(), 0);
    }
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    let before = names(&house.mirror.join("objects/pack"));
    // Running orders depend on the earlier state.
    there.reference("refs/heads/main", deep, true, "").unwrap();
    for _ in 0..2 {
        let refused = house.workspaces.fetch(&house.remote(), "main").unwrap_err();
        assert_eq!(refused.kind, GitErrorKind::NotForUs);
        let mirror = Repository::open_bare(&house.mirror).unwrap();
        let kept = mirror.references().unwrap().map(|kept| kept.unwrap().target().unwrap().to_string());
        assert_eq!(kept.collect::<Vec<_>>(), [house.base.as_str()]);
        assert_eq!(names(&house.mirror.join("objects/pack")), before);
    }
}

#[test]
fn a_first_fetch_brings_one_branch_in_a_pack_and_nothing_else() {
    let house = FetchFixture::new();
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap(), house.base);
    let mirror = Repository::open_bare(&house.mirror).unwrap();
    assert_eq!(mirror.references().unwrap().count(), 1, "the branch, and not the tag");
    // An agent's repository consists of these packs.
    assert_eq!(names(&mirror.path().join("objects")), ["info", "pack"]);
    let endings = |ending: &str| {
        let names = names(&mirror.path().join("objects/pack"));
        names.iter().filter(|name| name.ends_with(ending)).count()
    };
    assert_eq!((endings(".pack"), endings(".idx"), endings(".keep")), (1, 1, 0));
    assert!(!mirror.path().join("FETCH_HEAD").exists());
}

#[test]
fn a_next_fetch_brings_what_is_new_alone_also_to_where_the_mirror_is_only_seen() {
    let house = FetchFixture::new();
    let there = git2::Repository::open_bare(house.server.path("octo/sums")).unwrap();
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    let next = |branch: &str| -> CommitSha {
        let base = there.find_commit(house.base.as_str().parse().unwrap()).unwrap();
        let mut tree = there.treebuilder(Some(&base.tree().unwrap())).unwrap();
        tree.insert(branch, there.blob(branch.as_bytes()).unwrap(), 0o100_644).unwrap();
        let tree = there.find_tree(tree.write().unwrap()).unwrap();
        let (who, name) = (base.author(), format!("refs/heads/{branch}"));
        there.commit(Some(&name), &who, &who, "More", &tree, &[&base]).unwrap().to_string().parse().unwrap()
    };
    let (main, other) = (next("next"), next("other"));
    let sizes = |repository: &Path| {
        let packs = fs::read_dir(repository.join("objects/pack")).unwrap().flatten();
        let packs = packs.filter(|file| file.path().extension().is_some_and(|ending| ending == "pack"));
        let mut sizes: Vec<u64> = packs.map(|pack| pack.metadata().unwrap().len()).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(house.workspaces.fetch(&house.remote(), "next").unwrap(), main);
    let commits = house.workspaces.commits(&house.repository).unwrap();
    let fetched =
        house.workspaces.fetch_into(&commits, &house.remote(), "other", &other, "refs/fetched/order");
    assert_eq!(fetched.unwrap(), other);
    assert!(matches!(sizes(&house.mirror)[..], [..2_000, 500_000..=u64::MAX]), "{:?}", sizes(&house.mirror));
    assert!(matches!(sizes(commits.path())[..], [..2_000]), "{:?}", sizes(commits.path()));
    let reference = commits.refname_to_id("refs/fetched/order").unwrap();
    assert_eq!(reference.to_string(), other.as_str());
}

/// The command lines of all processes with these words among their arguments.
fn processes_with(words: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let lines = folders.filter_map(|folder| fs::read(folder.join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(words)).collect()
}

#[test]
fn a_fetch_starts_no_program_and_leaves_the_token_in_no_file() {
    let house = FetchFixture::new();
    house.server.hold_packs(true);
    let seen = thread::scope(|threads| {
        threads.spawn(|| house.wire().run(MAIN));
        house.asked_for_objects();
        let seen = processes_with(house.url.as_str());
        house.is_given_up.store(true, Ordering::Relaxed);
        seen
    });
    assert_eq!(seen, [""; 0]);
    house.server.hold_packs(false);
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    let mut folders = vec![house.data.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                assert!(!bytes.windows(TOKEN.len()).any(|piece| piece == TOKEN.as_bytes()), "{path:?}");
            }
        }
    }
}

#[test]
#[allow(unsafe_code)]
fn what_is_set_on_the_machine_changes_nothing_of_a_fetch() {
    let home = tempfile::tempdir().unwrap();
    let settings = "[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http://127.0.0.1\n";
    fs::write(home.path().join(".gitconfig"), settings).unwrap();
    // SAFETY: this process has one test and one thread, and nothing was opened yet.
    unsafe { git2::opts::set_search_path(git2::ConfigLevel::Global, home.path()).unwrap() };
    let house = FetchFixture::new();
    house.workspaces.fetch(&house.remote(), "main").unwrap();
}

#[test]
fn no_hook_runs_and_nothing_is_tidied_up() {
    use std::os::unix::fs::PermissionsExt;
    let house = FetchFixture::new();
    let hooks = house.mirror.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let ran = house.data.path().join("ran");
    for hook in ["reference-transaction", "pre-auto-gc", "post-merge"] {
        fs::write(hooks.join(hook), format!("#!/bin/sh\necho {hook} >> {}\n", ran.display())).unwrap();
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
    house.workspaces.fetch(&house.remote(), "main").unwrap();
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap_or_default());
}

#[test]
fn the_token_is_shown_to_no_other_host_that_a_redirect_leads_to() {
    let house = FetchFixture::new();
    let other = Server::start();
    FetchFixture::seed(&other.path("octo/sums"));
    house.server.lead_to(Some(other.url("x").join("/").unwrap()));
    let error = house.wire().run(MAIN).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unauthorized, "{error:?}");
    let error = house.workspaces.remote_head(&house.remote(), "main").unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unauthorized, "{error}");
    assert!(!other.requests().is_empty());
    assert_eq!(other.logins(), [""; 0]);

    // GitHub redirects like this from a renamed repository.
    FetchFixture::seed(&house.server.path("renamed/octo/sums"));
    house.server.lead_to(Some(house.server.url("x").join("/renamed/").unwrap()));
    house.wire().run(MAIN).unwrap();
}

#[test]
fn every_answer_has_the_same_kind_to_whoever_fetches_asks_and_pushes() {
    let house = FetchFixture::new();
    for status in [401, 403, 404, 418, 429, 500, 503] {
        house.server.answer_with(Some(status));
        let error = house.wire().run(MAIN).unwrap_err();
        let asked = house.wire().list().unwrap_err();
        let pushed = house.wire().push(id(&house.base), "refs/heads/x", None).unwrap_err();
        for error in [error, asked, pushed] {
            assert_eq!(error.kind, GitErrorKind::of_status(status), "{error:?}");
            assert!(!error.said.is_empty() && !error.said.contains(TOKEN), "{error:?}");
        }
    }
    house.server.answer_with(None);
    let expired = SecretString::from("ghs_expired");
    for token in [None, Some(&expired)] {
        let error = GitWire { token, ..house.wire() }.run(MAIN).unwrap_err();
        assert_eq!(error.kind, GitErrorKind::Unauthorized, "{error:?}");
    }
    let nobody = "http://127.0.0.1:1/octo/sums.git".parse().unwrap();
    let error = GitWire { url: &nobody, ..house.wire() }.run(MAIN).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unavailable, "{error:?}");
    house.wire().run(MAIN).unwrap();
}

#[test]
fn a_push_takes_nothing_away_that_its_lease_has_not_seen() {
    let house = FetchFixture::new();
    house.wire().run(MAIN).unwrap();
    let mirror = Repository::open_bare(&house.mirror).unwrap();
    let base = mirror.find_commit(house.base.as_str().parse().unwrap()).unwrap();
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(2, 0)).unwrap();
    let commit = |message: &str| {
        let tree = base.tree().unwrap();
        mirror.commit(None, &who, &who, message, &tree, &[&base]).unwrap()
    };
    let (ours, theirs) = (commit("Ours"), commit("Theirs"));
    let push = |commit: Oid, lease: Option<Oid>| house.wire().push(commit, "refs/heads/fix", lease).unwrap();
    let there = || {
        let heads = house.wire().list().unwrap();
        heads.into_iter().find(|(name, _)| name == "refs/heads/fix").map(|(_, id)| id)
    };

    assert_eq!(push(ours, Some(theirs)), PushAnswer::Stale, "it is not there at all");
    assert_eq!(there(), None);
    assert_eq!(push(ours, None), PushAnswer::Taken);
    assert_eq!(push(ours, Some(ours)), PushAnswer::Taken, "it is there already");
    // Neither contains the other.
    assert_eq!(push(theirs, None), PushAnswer::Stale);
    assert_eq!(push(theirs, Some(id(&house.base))), PushAnswer::Stale);
    assert_eq!(there(), Some(ours));
    assert_eq!(push(theirs, Some(ours)), PushAnswer::Taken);
    assert_eq!(there(), Some(theirs));

    // A refusal shows the server's text without its progress lines.
    let hook = house.server.path("octo/sums").join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        "#!/bin/sh\necho 'Counting: 10% (1/10)' >&2\necho 'commits on fix are signed here' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let declined = push(ours, Some(theirs));
    let said = "pre-receive hook declined: commits on fix are signed here";
    assert_eq!(declined, PushAnswer::Declined(said.to_owned()));
}

#[test]
fn a_push_of_what_cannot_be_read_here_is_no_refusal_of_the_server() {
    let house = FetchFixture::new();
    house.wire().run(MAIN).unwrap();
    let mirror = Repository::open_bare(&house.mirror).unwrap();
    let base = mirror.find_commit(house.base.as_str().parse().unwrap()).unwrap();
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(2, 0)).unwrap();
    let file = mirror.blob(b"lost").unwrap();
    let mut folder = mirror.treebuilder(None).unwrap();
    folder.insert("lost", file, 0o100_644).unwrap();
    let tree = mirror.find_tree(folder.write().unwrap()).unwrap();
    let commit = mirror.commit(None, &who, &who, "Lost", &tree, &[&base]).unwrap();
    let (file, object) = (file.to_string(), house.mirror.join("objects"));
    let object = object.join(&file[..2]).join(&file[2..]);
    let whole = fs::read(&object).unwrap();
    for left in [None, Some(&whole[..whole.len() / 2])] {
        fs::remove_file(&object).unwrap();
        if let Some(left) = left {
            fs::write(&object, left).unwrap();
        }
        let failure = house.wire().push(commit, "refs/heads/fix", None).unwrap_err();
        assert_eq!(failure.kind, GitErrorKind::Broken, "{failure:?}");
        fs::write(&object, &whole).unwrap();
    }
    assert_eq!(house.wire().push(commit, "refs/heads/fix", None).unwrap(), PushAnswer::Taken);
}

#[test]
fn a_commit_that_the_server_does_not_have_is_refused_and_not_waited_for() {
    let house = FetchFixture::new();
    for known in [house.base.as_str(), &"1".repeat(40)] {
        let fetched = house.wire().fetch(1, &format!("+{known}:refs/fetched/{known}"));
        match known == house.base.as_str() {
            true => fetched.unwrap(),
            false => {
                let failure = fetched.unwrap_err();
                assert_eq!(failure.kind, GitErrorKind::Refused, "{failure:?}");
            }
        }
    }
    let failure = house.wire().run("+refs/heads/nowhere:refs/fetched/nowhere").unwrap_err();
    assert_eq!(failure.kind, GitErrorKind::NotFound, "{failure:?}");
}

#[test]
fn what_is_wrong_here_is_told_from_what_passes() {
    use git2::ErrorCode::GenericError;
    for (class, said, expected) in [
        (ErrorClass::Odb, "object not found - no match for id (9812045fd898)", GitErrorKind::Broken),
        (ErrorClass::Zlib, "inflate error", GitErrorKind::Broken),
        (ErrorClass::Indexer, "packfile trailer mismatch", GitErrorKind::Broken),
        (ErrorClass::Os, "cannot extend packfile: No space left on device", GitErrorKind::Unavailable),
        (ErrorClass::Os, "failed to create file 'x': Permission denied", GitErrorKind::Broken),
        (ErrorClass::NoMemory, "out of memory", GitErrorKind::Unavailable),
        (ErrorClass::Net, "could not read from remote repository", GitErrorKind::Unavailable),
    ] {
        assert_eq!(failure(&git2::Error::new(GenericError, class, said)).kind, expected, "{said}");
    }
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let house = FetchFixture::new();
    house.server.hold_packs(true);
    let begun = Instant::now();
    let limits = WireLimits { silence: Duration::from_secs(1), ..WireLimits::USUAL };
    let error = GitWire { limits, ..house.wire() }.run(MAIN).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unavailable, "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_server_without_end_is_ended() {
    let house = FetchFixture::new();
    house.server.hold_packs(true);
    let limits = WireLimits { whole: Duration::from_secs(1), ..WireLimits::USUAL };
    let error = GitWire { limits, ..house.wire() }.run(MAIN).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::Unavailable, "{error:?}");
    house.hung_up(1);
}

#[test]
fn a_fetch_that_is_killed_halfway_leaves_nothing_and_the_next_one_brings_everything() {
    let house = FetchFixture::new();
    house.server.hold_packs(true);
    let (ours, guard) = house.workspaces.until_dropped();
    let coming = house.mirror.join("incoming");
    let lock = coming.join("refs/incoming.lock");
    thread::scope(|threads| {
        let fetch = threads.spawn(|| ours.fetch(&house.remote(), "main"));
        let packs = coming.join("objects/pack");
        house.wait(|_| packs.exists() && names(&packs).iter().any(|name| name.starts_with("pack_git2_")));
        // As if it was about to move the branch.
        fs::write(&lock, "").unwrap();
        drop(guard);
        assert_eq!(fetch.join().unwrap().unwrap_err().kind, GitErrorKind::Unavailable);
    });
    house.hung_up(1);
    assert_eq!(names(&house.mirror.join("objects/pack")), [""; 0]);
    assert!(!coming.exists());
    house.server.hold_packs(false);
    assert_eq!(house.workspaces.fetch(&house.remote(), "main").unwrap(), house.base);
}

#[test]
fn what_a_killed_process_fetched_by_half_is_cleared_away_by_the_next_one() {
    let house = FetchFixture::new();
    let packs = house.mirror.join("objects/pack");
    let left = ["tmp_pack_x1y2z3", "tmp_idx_x1y2z3", "pack_git2_a1b2c3"];
    for name in left {
        fs::write(packs.join(name), b"PACK and no more").unwrap();
    }
    let coming = house.mirror.join("incoming");
    fs::create_dir_all(coming.join("objects/pack")).unwrap();
    // Another process, after the killed one.
    let again = Workspaces::new(house.data.path()).unwrap();
    again.mirror(&house.repository).unwrap();
    assert!(!coming.exists());
    assert_eq!(again.fetch(&house.remote(), "main").unwrap(), house.base);
    assert!(names(&packs).iter().all(|name| !left.contains(&name.as_str())), "{:?}", names(&packs));
}

#[test]
fn a_name_that_is_no_text_is_listed_as_far_as_it_is_one() {
    let line = |line: &[u8]| [format!("{:04x}", line.len() + 4).as_bytes(), line].concat();
    let (main, odd) = ("1".repeat(40), "2".repeat(40));
    let listing = [
        line(b"# service=git-upload-pack\n"),
        b"0000".to_vec(),
        line(format!("{main} refs/heads/main\0side-band-64k agent=x\n").as_bytes()),
        line(&[odd.as_bytes(), b" refs/heads/\xff\n"].concat()),
        b"0000".to_vec(),
    ];
    let names = |listing: &[u8]| smart_http::references(listing).map_err(|failure| failure.kind);
    let expected = [("refs/heads/main".to_owned(), main), ("refs/heads/\u{fffd}".to_owned(), odd)];
    let listed = names(&listing.concat()).unwrap();
    assert_eq!(listed, expected.map(|(name, id)| (name, id.parse().unwrap())));
    for bad in [&b"00ff1"[..], b"zzzz", b"0010ERR too busy"] {
        assert_eq!(names(bad), Err(GitErrorKind::Unavailable), "{bad:?}");
    }
}

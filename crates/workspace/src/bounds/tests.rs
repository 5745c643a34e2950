//! Handmade trees that exceed the limits.

use git2::{Repository, Signature, Time};
use tempfile::TempDir;

use super::*;
use journeyman_order::{CommitSha, OrderId, RepositoryName};

/// A data folder, and a repository that accepts raw objects.
struct TreeFixture {
    _data: TempDir,
    workspaces: Workspaces,
    repository: RepositoryName,
    mirror: Repository,
    to: std::path::PathBuf,
}

impl TreeFixture {
    fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let mirror = workspaces.mirror(&repository).unwrap();
        Self { to: data.path().join("to"), _data: data, workspaces, repository, mirror }
    }

    fn blob(&self, bytes: &[u8]) -> Oid {
        self.mirror.blob(bytes).unwrap()
    }

    fn folder(&self, entries: &[(&str, String, Oid)]) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        self.mirror.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
    }

    /// A file inside this many nested folders.
    fn nested(&self, deep: usize) -> Oid {
        let file = self.folder(&[("100644", "f".to_owned(), self.blob(b"x"))]);
        (0..deep).fold(file, |inner, _| self.folder(&[("40000", "d".to_owned(), inner)]))
    }

    fn commit(&self, tree: Oid) -> CommitSha {
        self.commit_on(tree, &[]).to_string().parse().unwrap()
    }

    fn commit_on(&self, tree: Oid, parents: &[Oid]) -> Oid {
        let who = Signature::new("A", "a@example.org", &Time::new(1, 0)).unwrap();
        let tree = self.mirror.find_tree(tree).unwrap();
        let parents: Vec<_> = parents.iter().map(|id| self.mirror.find_commit(*id).unwrap()).collect();
        let parents: Vec<_> = parents.iter().collect();
        self.mirror.commit(None, &who, &who, "Change", &tree, &parents).unwrap()
    }

    /// The errors of everything that walks a commit's tree; empty if all succeed.
    fn said(&self, tree: Oid) -> String {
        let (commit, empty) = (self.commit(tree), self.commit(self.folder(&[])));
        let (all, of) = (&self.workspaces, &self.repository);
        let tries: [Result<(), GitError>; 7] = [
            all.checkout(of, &commit, &self.to),
            all.source_tree(of, &commit).map(drop),
            all.outline(of, &commit, "", 1_000).map(drop),
            all.patch(of, &empty, &commit).map(drop),
            all.changes(of, &commit, &empty).map(drop),
            all.some_files(of, &commit, 1_000, &|_| true).map(drop),
            all.paths_within(of, &commit, |_| true).map(drop),
        ];
        let said = tries.map(|tried| match tried {
            Ok(()) => String::new(),
            Err(error) => {
                assert_eq!((error.kind, error.is_ours), (GitErrorKind::NotForUs, false), "{error}");
                error.message
            }
        });
        assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
        said[0].replace(commit.as_str(), "COMMIT")
    }
}

#[test]
fn folders_are_checked_out_down_to_a_depth_and_deeper_ones_are_refused_and_named() {
    let house = TreeFixture::new();
    assert_eq!(house.said(house.nested(256)), "");
    let deepest = (0..256).fold(house.to.clone(), |path, _| path.join("d")).join("f");
    assert_eq!(std::fs::read(deepest).unwrap(), b"x");
    for deep in [257, 1_000, 20_000] {
        let tree = house.nested(deep);
        assert_eq!(house.said(tree), "the commit COMMIT has folders more than 256 deep");
        let order = OrderId(uuid::Uuid::now_v7());
        let made =
            house.workspaces.create_origin(order, &house.repository, &house.commit(tree), "main", None);
        assert_eq!(made.unwrap_err().kind, GitErrorKind::NotForUs);
    }
}

#[test]
fn one_file_under_many_names_counts_under_each_of_them() {
    let house = TreeFixture::new();
    let megabyte = house.blob(&vec![0; 1 << 20]);
    let many = |names: u32| {
        let files: Vec<_> = (0..names).map(|name| ("100644", format!("f{name:05}"), megabyte)).collect();
        house.folder(&files)
    };
    let said = house.said(many(16_385));
    assert_eq!(said, "the commit COMMIT holds more than 16 GiB, each file counted by every name");
    let folder = many(64);
    let folders = |names: u32| {
        let folders: Vec<_> = (0..names).map(|name| ("40000", format!("d{name:05}"), folder)).collect();
        excess(&house.mirror.odb().unwrap(), house.folder(&folders)).unwrap()
    };
    assert_eq!(folders(256), None);
    assert!(folders(257).is_some());
}

#[test]
fn a_folder_that_holds_itself_many_times_over_is_counted_at_once() {
    let house = TreeFixture::new();
    for file in [Some(house.blob(b"x")), None] {
        let files: Vec<_> = file.map(|file| ("100644", "f".to_owned(), file)).into_iter().collect();
        let bomb = (0..40).fold(house.folder(&files), |inner, _| {
            let names: Vec<_> = (0..10).map(|name| ("40000", format!("d{name}"), inner)).collect();
            house.folder(&names)
        });
        assert_eq!(house.said(bomb), "the commit COMMIT has more than 1000000 files and folders");
    }
    let name = "n".repeat(250);
    let long = (0..250).fold(house.folder(&[]), |inner, _| house.folder(&[("40000", name.clone(), inner)]));
    let many: Vec<_> = (0..100).map(|number| ("40000", format!("d{number:03}"), long)).collect();
    assert_eq!(house.said(house.folder(&many)), "the commit COMMIT has paths of more than 512 MiB");
}

#[test]
fn what_lies_behind_a_commit_is_no_larger_either_where_it_is_packed_or_merged() {
    let house = TreeFixture::new();
    let deep = house.commit_on(house.nested(1_000), &[]);
    let plain = |count: usize| house.nested(count);
    let [ours, theirs] = [1, 2].map(|count| house.commit_on(plain(count), &[deep]));
    let all = &house.workspaces;
    for refused in [
        all.require_walk_within(&house.mirror, ours, &[]),
        all.require_merge_within(&house.mirror, ours, theirs),
    ] {
        assert_eq!(refused.unwrap_err().message, format!("the commit {deep} has folders more than 256 deep"));
    }
    // Two histories with two merge bases: those are merged first, and one begins with the deep tree.
    let [left, right] = [[ours, theirs], [theirs, ours]].map(|both| house.commit_on(plain(3), &both));
    assert!(all.require_merge_within(&house.mirror, left, right).is_err());
    all.require_walk_within(&house.mirror, left, &[deep]).unwrap();

    // A branch fetched before limits existed hides nothing.
    for (name, id) in [("one", deep), ("two", ours)] {
        house.mirror.reference(&format!("refs/mirror/{name}"), id, true, "").unwrap();
    }
    assert_eq!(all.known(&house.repository).unwrap(), [ours]);
}

#[test]
fn an_outline_says_that_there_are_more_files_than_were_looked_at() {
    let house = TreeFixture::new();
    let empty = house.blob(b"");
    let many = |count: u32| {
        let files: Vec<_> = (0..count).map(|name| ("100644", format!("f{name:06}"), empty)).collect();
        let commit = house.commit(house.folder(&[("40000", "d".to_owned(), house.folder(&files))]));
        house.workspaces.outline(&house.repository, &commit, "see f000007", 1_000).unwrap()
    };
    assert_eq!(many(100_000).paths, ["d/ (100000 files)"]);
    let cut = many(100_001);
    let more = "… and more: the first 100000 files were looked at";
    assert_eq!((cut.total, cut.paths), (100_000, vec!["d/ (100000 files)".to_owned(), more.to_owned()]));
}

#[test]
fn what_is_malformed_or_not_here_is_counted_as_far_as_it_can_be_read() {
    let house = TreeFixture::new();
    let deep = house.nested(300);
    let odb = house.mirror.odb().unwrap();
    // libgit2 accepts all of these: an old mode, duplicate names and wrong order.
    for mode in ["040000", "40755"] {
        let twice =
            house.folder(&[("100644", "z".to_owned(), house.blob(b"")), (mode, "a".to_owned(), deep)]);
        assert!(excess(&odb, twice).unwrap().is_some(), "{mode}");
    }
    let missing = Oid::from_bytes(&[7; 20]).unwrap();
    let entries = ["100644", "160000"].map(|mode| (mode, mode.to_owned(), missing));
    assert_eq!(excess(&odb, house.folder(&entries)).unwrap(), None);
    assert_eq!(excess(&odb, missing).unwrap(), None);
}

#[test]
fn a_disk_without_room_for_a_tree_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let size = |content| TreeSize { content, ..TreeSize::default() };
    let none = size(1 << 60).require_room(&place.path().join("not/there/yet")).unwrap_err();
    assert_eq!(none.kind, GitErrorKind::Unavailable);
    assert!(none.message.starts_with("there is no room: "), "{none}");
    assert!(require_room(place.path(), 0, 0).is_ok());
}

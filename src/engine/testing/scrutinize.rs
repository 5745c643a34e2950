//! Whether a run of the tests can be believed: held against the base commit, run with the old configuration, and its new
//! tests run on the old code.

use std::collections::HashSet;

use super::place::Ran;
use super::{Ask, Judging, Output, Testing};
use crate::order::comparison::Exits;
use crate::order::scrutiny::OldConfiguration;
use crate::order::{ComparedBy, Comparison, Exit, Judged, Proof, Scrutiny, Trouble, Weakening};
use crate::verify::{self, Overlay, TestFiles, Told, tamper};
use crate::workspace::{ChangedFile, Content};

impl Testing {
    pub(super) async fn scrutinize(
        &self,
        ask: &Ask,
        judging: &Judging,
        ran: &Ran,
        outputs: &mut Vec<Output>,
    ) -> Result<Scrutiny, Trouble> {
        let change = read_change(self, ask, judging).await?;
        let told = Told { renamed: &change.renamed, retired: &change.retired };
        let baseline = self.baseline(ask, judging, outputs).await?;
        let mut comparison = verify::compare(&baseline.reading, &ran.reading, &[], &told);
        let mut reruns = Vec::new();
        // Once more tells flaky tests from broken ones.
        if verify::needs_rerun(&comparison) {
            let again = self.on(ask, "-again", &ask.commit, Vec::new(), &judging.plan).await?;
            outputs.extend(again.outputs());
            comparison = verify::compare(&baseline.reading, &ran.reading, &[again.reading], &told);
            reruns.extend(again.test.map(|ended| ended.run));
        }
        let exits = Exits {
            base: baseline.exit(),
            after: ran.exit().unwrap_or(Exit::Code(-1)),
            reruns: reruns.iter().map(|run| run.exit).collect(),
        };
        let mut scrutiny = Scrutiny {
            baseline: baseline.shown(ask),
            judged: verify::judged(&exits, &comparison),
            comparison,
            reruns,
            old_configuration: None,
            proof: None,
            old_code: None,
            weakenings: change.weakenings,
        };
        // What failed anyhow is not worth the time.
        if scrutiny.judged != Judged::Passed {
            return Ok(scrutiny);
        }
        if !change.old_configuration.is_empty() {
            let overlays = change.old_configuration;
            let old = self.on(ask, "-old-configuration", &ask.commit, overlays, &judging.plan).await?;
            outputs.extend(old.outputs());
            let comparison = verify::compare(&baseline.reading, &old.reading, &[], &told);
            let exits = Exits {
                base: baseline.exit(),
                after: old.exit().unwrap_or(Exit::Code(-1)),
                reruns: Vec::new(),
            };
            scrutiny.old_configuration = Some(OldConfiguration {
                touched: change.touched,
                counts: old.reading.counts,
                judged: match old.reading.unloaded.is_empty() {
                    true => of_the_base(verify::judged(&exits, &comparison), &comparison),
                    // What needs the new configuration to be built cannot be judged by the old one.
                    false => Judged::NoTests,
                },
                test: old.test.map(|ended| ended.run),
            });
        }
        scrutiny.proof = Some(Proof::NoTestsChanged);
        if !change.new_tests.is_empty() {
            let old = self.on(ask, "-old-code", &ask.base, change.new_tests, &judging.plan).await?;
            outputs.extend(old.outputs());
            scrutiny.proof = Some(match old.exit() {
                Some(exit) => verify::proof(
                    (&exit, &old.reading),
                    &ran.reading,
                    &change.tests,
                    &scrutiny.comparison.flaky.names,
                ),
                None => Proof::CannotTell {
                    because: "what the tests need could not be installed for the old code".to_owned(),
                },
            });
            scrutiny.old_code = old.test.map(|ended| ended.run);
        }
        Ok(scrutiny)
    }
}

/// Bytes of files that did not change and are read beside those that did.
const MOST_UNCHANGED: usize = 8 << 20;

/// With the old configuration the new tests may lack what they need: only those of the base count.
fn of_the_base(judged: Judged, comparison: &Comparison) -> Judged {
    let only_new_ones_fail = comparison.by == ComparedBy::Test
        && comparison.still_green > 0
        && [&comparison.newly_broken, &comparison.gone, &comparison.skipped]
            .iter()
            .all(|tests| tests.is_empty());
    match judged {
        Judged::Failed if only_new_ones_fail => Judged::Passed,
        Judged::Passed
        | Judged::PassedBesideRed
        | Judged::Failed
        | Judged::TestsMissing
        | Judged::NoTests => judged,
    }
}

/// What reading a change tells.
#[derive(Default)]
struct Change {
    weakenings: Vec<Weakening>,
    /// Tests under another name: before, after.
    renamed: Vec<(String, String)>,
    /// Tests that went with what they tested.
    retired: Vec<String>,
    /// Tests that were added or edited, as they are called in the source.
    tests: Vec<String>,
    /// Lays the change's tests over the base commit.
    new_tests: Vec<Overlay>,
    /// Paths that the change touches and that say how the tests are run.
    touched: Vec<String>,
    /// Lays the base's configuration over the change.
    old_configuration: Vec<Overlay>,
}

/// Reads both sides of a change. It may be large, and is hostile, so that it is done beside the runtime.
async fn read_change(testing: &Testing, ask: &Ask, judging: &Judging) -> Result<Change, Trouble> {
    let command = judging.before.test.clone().unwrap_or_default();
    let Ask { repository, base, commit, .. } = ask.clone();
    testing
        .git(move |workspaces| {
            let read_base = |path: &str| workspaces.file(&repository, &base, path).ok().flatten();
            let read_after = |path: &str| workspaces.file(&repository, &commit, path).ok().flatten();
            let changes = workspaces.changes(&repository, &base, &commit)?;
            let changed: HashSet<&str> = changes.iter().map(|file| file.path.as_str()).collect();
            let is_same = |path: &str| !changed.contains(path);
            let is_test = |path: &str| is_same(path) && tamper::is_test_path(path);
            let mut same = workspaces.some_files(&repository, &commit, MOST_UNCHANGED, &is_test)?;
            let left = MOST_UNCHANGED.saturating_sub(same.iter().map(|(_, bytes)| bytes.len()).sum());
            let is_other =
                |path: &str| is_same(path) && !tamper::is_test_path(path) && tamper::is_source_path(path);
            same.extend(workspaces.some_files(&repository, &commit, left, &is_other)?);
            Ok(of(&changes, &same, &command, &read_base, &read_after))
        })
        .await
}

fn of(
    changes: &[ChangedFile],
    same: &[(String, Vec<u8>)],
    command: &str,
    read_base: &dyn Fn(&str) -> Option<Vec<u8>>,
    read_after: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Change {
    let files: Vec<tamper::ChangedFile<'_>> = changes
        .iter()
        .map(|file| tamper::ChangedFile {
            before: side(&file.path, &file.before),
            after: side(&file.path, &file.after),
        })
        // What did not change is what helpers and expected values are recognised by.
        .chain(same.iter().map(|(path, bytes)| {
            let file = Some((path.as_str(), bytes.as_slice()));
            tamper::ChangedFile { before: file, after: file }
        }))
        .collect();
    let weakenings = tamper::weakenings(&files);
    let tests = tamper::changed_tests(&files);
    let read = |path: &str, side: fn(&ChangedFile) -> &Option<Content>| {
        let file = changes.iter().find(|file| file.path == path)?;
        side(file).as_ref().and_then(Content::bytes).map(<[u8]>::to_vec)
    };
    let paths: Vec<String> = changes.iter().map(|file| file.path.clone()).collect();
    let changed: Vec<String> = tests.added.iter().chain(&tests.edited).cloned().collect();
    let new_tests = verify::new_tests_on_old_code(&TestFiles {
        changed: &paths,
        is_test: &tamper::is_test_path,
        read_base: &|path| read(path, |file| &file.before),
        read_after: &|path| read(path, |file| &file.after),
        graft: &tamper::graft,
    });
    // What a script runs that did not change says which of the changed files are configuration.
    let old_configuration = verify::old_configuration(&paths, command, read_base, read_after);
    // Tests that are gone from the source, with nothing grave said of it: merged, made a table, or gone with what they
    // tested.
    let is_grave = |name: &String| {
        weakenings.iter().any(|weakening| weakening.grave && weakening.test.as_ref() == Some(name))
    };
    let retired = tests.removed.iter().filter(|name| !is_grave(name)).cloned().collect();
    Change {
        retired,
        weakenings,
        renamed: tests.renamed,
        new_tests: if changed.is_empty() { Vec::new() } else { new_tests },
        tests: changed,
        touched: old_configuration.iter().map(|overlay| overlay.path.clone()).collect(),
        old_configuration,
    }
}

fn side<'a>(path: &'a str, content: &'a Option<Content>) -> Option<(&'a str, &'a [u8])> {
    content.as_ref().and_then(Content::bytes).map(|bytes| (path, bytes))
}

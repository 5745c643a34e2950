//! Signed receipts as a merge gate sees them: true ones, changed ones, and signed lies.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use journeyman::attest::{AttestationResult, AttestationVerifier, Envelope, PublicKey, SigningKey};
use journeyman::order::examination::{FailedAnswer, StatementVerdict};
use journeyman::order::{Receipt, TestCounts, TestVerdict};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::world::{Ended, REPOSITORY, Story, WELL, World};

/// Checks receipts: files, and the program.
struct Gate {
    place: TempDir,
    repository: PathBuf,
}

impl Gate {
    fn of(world: &World) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        Self { place, repository: world.github.git_dir(REPOSITORY).expect("the repository is there") }
    }

    fn put(&self, name: &str, text: &str) -> String {
        let path = self.place.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Exit code, standard output and standard error.
    async fn receipt(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.arg("receipt").args(arguments).current_dir(self.place.path()).stdin(Stdio::null());
        let output = command.output().await.expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    async fn verify(&self, file: &str, more: &[&str]) -> (Option<i32>, Value, String) {
        let repository = self.repository.to_str().expect("UTF-8");
        let arguments = [&["verify", file, "--repo", repository, "--json"], more].concat();
        let (code, said, errors) = self.receipt(&arguments).await;
        (code, serde_json::from_str(&said).unwrap_or(Value::Null), errors)
    }
}

/// Falsifies a receipt.
type Lie = Box<dyn FnOnce(&mut Receipt)>;

/// Statements that differ.
fn differing(said: &Value) -> Vec<&str> {
    let rows = said["statements"].as_array().expect("statements").iter();
    rows.filter(|row| row["found"] == "differs").filter_map(|row| row["statement"].as_str()).collect()
}

/// A falsified receipt, signed by someone with a key.
fn signed(ended: &Ended, key: &SigningKey, lie: impl FnOnce(&mut Receipt)) -> String {
    let mut receipt = Receipt::of(&ended.journal, &ended.projection);
    lie(&mut receipt);
    let verifier =
        AttestationVerifier { name: "somebody".to_owned(), url: None, versions: Default::default() };
    Envelope::of(&receipt, chrono::Utc::now(), &verifier, key).expect("it can be signed").to_json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_demands_the_signed_receipt_and_tries_it_again() {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled_as("verified").await;
    let path = format!("/api/v1/work-orders/{}/attestation", ended.order);
    let (status, envelope) = world.api("GET", &path, None).await;
    assert_eq!(status, 200, "{envelope}");
    let (_, key) = world.api("GET", "/api/v1/receipt-key", None).await;
    let key = key.as_str().expect("PEM");
    let head = world.pull().head_sha;

    let parsed = Envelope::parse(envelope.to_string().as_bytes()).expect("an envelope");
    let (statement, _) =
        parsed.verify(&PublicKey::read_pem(key).expect("a key")).expect("signed by the server");
    assert_eq!(statement.claims.commit.as_str(), head, "the receipt is about the head of the pull request");
    assert!(statement.verifier.versions["git"].starts_with("2."), "{:?}", statement.verifier);
    let (_, again) = world.api("GET", &path, None).await;
    assert_eq!(again, envelope, "the same order has the same receipt");

    let gate = Gate::of(&world);
    let (file, key) = (gate.put("receipt.json", &envelope.to_string()), gate.put("key.pem", key));
    // The current folder has the change under test, which tries to disable the sandbox.
    gate.put("journeyman.toml", "[sandbox]\nmode = \"none\"\n");
    let demanded = ["--key", &key, "--commit", &head, "--passed"];
    let (code, said, errors) = gate.verify(&file, &demanded).await;
    assert_eq!((code, differing(&said)), (Some(0), vec![]), "{said:#} {errors}");
    assert_eq!((&said["signature"]["is"], &said["same"]), (&"good".into(), &true.into()));
    let rows = said["statements"].as_array().expect("statements");
    let walls = rows.iter().find(|row| row["statement"] == "sandbox").expect("a line of its own");
    assert_eq!((&walls["here"], &walls["found"]), (&"bubblewrap".into(), &"same".into()), "{walls}");
    let statements = said["statements"].to_string();
    for told in ["test: exit", "counts", "failing", "scrutiny: comparison: still green", "tree"] {
        assert!(statements.contains(&format!("\"{told}\"")), "{told}: {said:#}");
    }

    let (code, said, _) = gate.verify(&file, &[]).await;
    assert_eq!((code, &said["signature"]["is"]), (Some(4), &"not checked".into()), "nobody vouches for it");
    let main = world.git(&["rev-parse", "main"]);
    let (code, said, _) = gate.verify(&file, &["--key", &key, "--commit", &main]).await;
    assert_eq!(
        (code, differing(&said)),
        (Some(1), vec!["the commit of --commit"]),
        "it is about another commit"
    );

    let (code, words, _) = gate.receipt(&["show", &file]).await;
    assert_eq!(code, Some(0));
    for told in [
        "verified (PASSED)",
        &head,
        "2 passed, 0 failed",
        "Sandbox: bubblewrap",
        "1 test of the base failed before and passes now",
    ] {
        assert!(words.contains(told), "{told}: {words}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receipt_that_lies_is_found_out_and_what_it_says_is_never_run() {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    let gate = Gate::of(&world);
    let key = SigningKey::generate().expect("a key");
    let pem = gate.put("key.pem", &key.public().to_pem());

    let truth = signed(&ended, &key, |_| {});
    let changed = truth.replacen("\"payload\":\"eyJ", "\"payload\":\"eyK", 1);
    assert_ne!(changed, truth);
    let other = SigningKey::generate().expect("a key");
    for forged in [changed, signed(&ended, &other, |_| {}), "{}".to_owned(), String::new()] {
        let file = gate.put("forged.json", &forged);
        let (code, _, errors) = gate.verify(&file, &["--key", &pem]).await;
        assert_eq!(code, Some(3), "{errors}");
        assert!(!errors.contains("running the tests"), "nothing is run for it: {errors}");
    }

    // Now the holder of the key lies.
    let canary = gate.place.path().join("canary");
    let command = format!("touch {}; true", canary.display());
    let lies: [(&str, Lie, &[&str]); 4] = [
        (
            "more tests than there are",
            Box::new(|receipt| {
                let tests = receipt.tests.as_mut().expect("tests");
                tests.counts = Some(TestCounts { passed: 200, failed: 0, skipped: 0 });
            }),
            &["counts"],
        ),
        (
            "the tests of the base commit passed, so that nothing was fixed",
            Box::new(|receipt| (receipt.commit, receipt.tree) = (receipt.base.clone(), receipt.tree.clone())),
            &["tree"],
        ),
        (
            "another command",
            Box::new(move |receipt| {
                let tests = receipt.tests.as_mut().expect("tests");
                tests.test.as_mut().expect("a command").command = command;
            }),
            &["test: command"],
        ),
        (
            "it failed",
            Box::new(|receipt| {
                (receipt.verified, receipt.result) = (false, AttestationResult::Failed);
                receipt.tests.as_mut().expect("tests").verdict = TestVerdict::Failed;
                receipt.tests.as_mut().expect("tests").failing = vec!["\u{1b}[2Jit all".to_owned()];
            }),
            &["verdict", "failing"],
        ),
    ];
    for (what, lie, found) in lies {
        let file = gate.put("lie.json", &signed(&ended, &key, lie));
        let (code, said, errors) = gate.verify(&file, &["--key", &pem]).await;
        assert_eq!((code, differing(&said)), (Some(1), found.to_vec()), "{what}: {errors}");
    }
    assert!(!Path::exists(&canary), "a command of a receipt was run");
    let lie = gate.place.path().join("lie.json");
    let (_, words, _) = gate.receipt(&["show", lie.to_str().expect("UTF-8")]).await;
    assert!(
        words.contains("Failing: [2Jit all") && !words.contains('\u{1b}'),
        "nothing steers the terminal: {words:?}"
    );
    world.end().await;
}

/// The code of a repository that reads negative amounts wrongly, and a test of it.
const PARSE: &str = "def cents(text):\n    sign = SIGN\n    text = text.lstrip('-') if sign < 0 else text\n    whole, _, part = \
                     text.partition('.')\n    return sign * (int(whole) * 100 + int((part + '00')[:2]))\n";
const HOW_IT_IS_READ: &str = "import unittest\nfrom amounts import cents\n\n\nclass Whole(unittest.TestCase):\n    def test_whole(self):\n        \
                              self.assertEqual(cents('12'), 1200)\n";

/// Plans a test of the issue, fixes it, and adds a test.
const MENDS_A_BUG: &str = r#"
- stage: classify
  say: /bug
- stage: plan
  run: |
    mkdir -p .journeyman/plans
    cat > .journeyman/plans/issue-1-sign.md <<'PLAN'
    # The sign belongs to the whole amount
    PLAN
  say: .journeyman/plans/issue-1-sign.md
- stage: examine
  run: |
    cat > /dev/null
    cat <<'ANSWER'
    {"statements": [{"kind": "changes", "quote": "the sign belongs to the whole amount", "source": "issue",
      "programs": [{"file": "check.py", "source": "from amounts import cents\nprint(cents('-7.25'))\n",
                    "answers": [{"input": "cents('-7.25')", "expected": "-725"}]}]}]}
    ANSWER
- stage: implement
  run: |
    sed -i "s/sign = 1/sign = -1 if text.startswith('-') else 1/" amounts/parse.py
    printf '\n    def test_sign(self):\n        self.assertEqual(cents("-3.50"), -350)\n' >> test_amounts.py
    git add -A && git commit -q -m 'Read negative amounts' && git push -q origin HEAD
  say: The sign is of the whole amount now.
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_true_receipt_of_a_bug_is_the_same_here_but_for_what_nobody_can_repeat() {
    let world = Story::of(MENDS_A_BUG)
        .issue(
            "Negative amounts are read wrongly",
            "`cents(\"-3.50\")` is `-250`. It should be `-350`: the sign belongs to the whole amount.",
        )
        .file("amounts/__init__.py", "from .parse import cents\n")
        .file("amounts/parse.py", &PARSE.replace("SIGN", "1"))
        .file("test_amounts.py", HOW_IT_IS_READ)
        .file(".github/journeyman.yml", "test: python3 -m unittest -v\nexamine: bugs\n")
        .settings(|settings| settings.testing.mutant_time = std::time::Duration::from_secs(60))
        .labeled()
        .await;
    let ended = world.settled_as("verified").await;
    let gate = Gate::of(&world);
    let key = SigningKey::generate().expect("a key");
    let pem = gate.put("key.pem", &key.public().to_pem());
    let file = gate.put("receipt.json", &signed(&ended, &key, |_| {}));
    let (code, said, errors) = gate.verify(&file, &["--key", &pem, "--passed"]).await;
    assert_eq!((code, differing(&said)), (Some(0), vec![]), "{said:#} {errors}");
    let rows = said["statements"].as_array().expect("statements");
    let found = |statement: &str| {
        let row = rows.iter().find(|row| row["statement"] == statement);
        row.map(|row| row["found"].as_str().unwrap_or_default().to_owned())
    };
    for statement in ["examination", "mutants"] {
        let statement = format!("scrutiny: {statement}");
        assert_eq!(found(&statement).as_deref(), Some("cannot_be_repeated"), "{statement}: {said:#}");
    }
    assert_eq!(found("the tests of --passed").as_deref(), Some("same"), "{said:#}");
    let repository = gate.repository.to_str().expect("UTF-8");
    let (_, words, _) = gate.receipt(&["verify", &file, "--repo", repository, "--key", &pem]).await;
    assert!(words.contains("cannot be repeated here: the programs come from the examiner"), "{words}");
    for line in ["What ran: ", "Red before, green now: ", "Existing tests: ", "Strength of the tests: "] {
        assert!(words.lines().any(|told| told.starts_with(line)), "{line}: {words}");
    }

    // Fields that are not repeated must not hide anything false.
    let forged = gate.put(
        "forged.json",
        &signed(&ended, &key, |receipt| {
            let scrutiny =
                receipt.tests.as_mut().and_then(|tests| tests.scrutiny.as_mut()).expect("scrutiny");
            scrutiny.comparison.fixed.names = vec!["test_all".to_owned()];
        }),
    );
    let (code, said, _) = gate.verify(&forged, &["--key", &pem, "--passed"]).await;
    assert_eq!((code, differing(&said)), (Some(1), vec!["scrutiny: comparison: fixed"]));
    let unmended = gate.put(
        "unmended.json",
        &signed(&ended, &key, |receipt| {
            let scrutiny =
                receipt.tests.as_mut().and_then(|tests| tests.scrutiny.as_mut()).expect("scrutiny");
            let examination = scrutiny.examination.as_mut().expect("an examination");
            let [input, expected, got] = ["cat answer", "42", "41"].map(str::to_owned);
            examination.statements[0].said = StatementVerdict::Fails(FailedAnswer { input, expected, got });
        }),
    );
    let (code, said, _) = gate.verify(&unmended, &["--key", &pem, "--passed"]).await;
    assert_eq!((code, differing(&said)), (Some(1), vec!["verified"]));
    let unsaid = gate.put("unsaid.json", &signed(&ended, &key, |receipt| receipt.tests = None));
    let (code, _, errors) = gate.verify(&unsaid, &["--key", &pem, "--passed"]).await;
    assert_eq!(code, Some(3), "nothing was tested, and it says verified: {errors}");
    world.end().await;
}

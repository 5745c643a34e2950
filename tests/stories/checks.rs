//! Checks as our side reads and writes them, without an order: every request is one that GitHub describes.

use std::collections::BTreeMap;

use journeyman::emulator::{EmulatedAnnotation as Said, Emulator, EmulatorOptions, RepositorySource, keys};
use journeyman::github::{
    AppCredentials, BranchDeletion, CheckButton, ExternalCheckState, GitHub, InstalledRepository,
    OrderCheckRun, WriteLimits,
};
use journeyman::order::conversation::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState};
use journeyman::order::{BranchName, CommitSha, InstallationId, OrderId};
use secrecy::SecretString;
use serde_json::Value;
use uuid::Uuid;

use crate::conformance::assert_conforming;

const REPOSITORY: &str = "acme/answers";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_about_checks_is_one_that_github_describes() {
    let keys = keys::generate().expect("a key pair");
    let options = EmulatorOptions::local(7, keys.public_pem.clone(), SecretString::from("a secret of tests"));
    let emulator = Emulator::start(options).await.expect("the emulator starts");
    let files = BTreeMap::from([("answer".to_owned(), b"41\n".to_vec())]);
    emulator.create_repository(REPOSITORY, RepositorySource::Files(files)).await.expect("a repository");
    let credentials = AppCredentials {
        api_url: emulator.api_url().parse().expect("an address"),
        app_id: 7,
        private_key_pem: keys.private_pem.clone(),
        outgoing: Default::default(),
    };
    let limits = WriteLimits::NONE;
    let github = GitHub::new(credentials, limits).expect("our side");
    let repository = REPOSITORY.parse().expect("a name");
    let at = InstalledRepository { repository, installation: InstallationId(emulator.installation_id()) };
    let branch: BranchName = "journeyman/issue-7-answer".parse().expect("a name");
    let files = BTreeMap::from([("answer".to_owned(), Some(b"42\n".to_vec()))]);
    let head =
        emulator.push_commit(REPOSITORY, branch.as_str(), "ada", "Answer", files).await.expect("a commit");
    let head: CommitSha = head.parse().expect("a SHA");

    let annotation = |line: u64| CheckAnnotation {
        path: "answer".to_owned(),
        line,
        level: AnnotationLevel::Failure,
        title: "critical".to_owned(),
        message: format!("line {line} is wrong"),
    };
    let text = CheckRunOutput {
        title: "Not verified".to_owned(),
        summary: "It is wrong.".to_owned(),
        annotations: (1..=60).map(annotation).collect(),
    };
    let details = "https://bot.example.org/".parse().expect("a URL");
    for state in
        [CheckRunState::InProgress, CheckRunState::Neutral, CheckRunState::InProgress, CheckRunState::Failure]
    {
        let buttons = [CheckButton::Retry, CheckButton::Approve];
        let order = OrderId(Uuid::nil());
        let (details, buttons) = (Some(&details), &buttons[..]);
        let run = OrderCheckRun { head: &head, order, state, text: &text, details, buttons };
        github.show_check(&at, run).await.expect("shown");
    }

    let ci = emulator.ci(REPOSITORY);
    let one =
        ci.fail_job(head.as_str(), "one", "no", vec![Said::failure("answer", 1, "no")]).expect("failed");
    let two = ci.fail_job(head.as_str(), "two", "no", Vec::new()).expect("failed");
    ci.status(head.as_str(), "elsewhere", "success").expect("set");
    let others = github.checks_of_others(&at, head.as_str()).await.expect("read");
    let failed = others.iter().filter(|check| check.state == ExternalCheckState::Failed);
    assert_eq!((others.len(), failed.count()), (3, 2));
    assert_eq!(github.annotations(&at, one, 20).await.expect("read"), ["answer:1: no"]);
    assert!(github.job_log(&at, one).await.expect("read").is_some_and(|log| log.contains("Z no\r\n")));
    assert_eq!(github.rerun_jobs(&at, &[one, two]).await.expect("asked"), 1);
    let again = ci.fail_job(head.as_str(), "one", "no", Vec::new()).expect("failed");
    ci.pass_job(head.as_str(), "two").expect("passed");
    assert_eq!(github.rerun_jobs(&at, &[again]).await.expect("asked"), 1);

    emulator.add_rule(REPOSITORY, ("**", "creation"), Value::Null, false).expect("a rule");
    assert_eq!(github.branch_restrictions(&at, branch.as_str(), true).await.expect("read").len(), 1);
    assert!(github.grants(&at.repository).await.expect("read").may_write("checks"));
    assert_eq!(github.read_only(&at).await.expect("read"), None);
    assert!(!github.is_protected(&at, &branch).await.expect("read"));
    assert_eq!(github.delete_branch(&at, &branch, &head).await.expect("deleted"), BranchDeletion::Gone);
    assert_conforming(&emulator);
}

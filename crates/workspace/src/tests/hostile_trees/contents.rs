//! Well-formed trees with contents that must not change or must not leave.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{CANARY, HostileCase, HostilePush, case, file};

/// Looks like an access key; assembled here, so that secret scanners do not report this file.
pub(super) fn access_key() -> String {
    ["AKIA", "Q3ZX7RTV5BNM2KLW"].concat()
}

pub(super) fn cases() -> Vec<HostileCase> {
    protected().into_iter().chain(secrets()).collect()
}

fn protected() -> Vec<HostileCase> {
    let mut all = Vec::new();
    for path in [
        ".github/workflows/ci.yml",
        ".github/workflows/new.yml",
        ".github/CODEOWNERS",
        ".github/journeyman.yml",
        ".github/copilot-instructions.md",
        ".GitHub/workflows/x.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "azure-pipelines.yml",
        "Jenkinsfile",
        ".travis.yml",
        "bitbucket-pipelines.yml",
        ".woodpecker/a.yml",
        ".buildkite/pipeline.yml",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        "codeowners",
        "web/AGENTS.md",
        "CLAUDE.md",
        "claude.local.md",
        "GEMINI.md",
        ".claude/settings.json",
        "sub/.claude/commands/x.md",
        ".codex/config.toml",
        ".cursor/rules/x.mdc",
        ".cursorrules",
        ".mcp.json",
        "opencode.json",
        ".aider.conf.yml",
        ".husky/pre-commit",
        ".githooks/post-merge",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".vscode/tasks.json",
        ".npmrc",
        "web/.npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        "pip.conf",
        ".cargo/config.toml",
        ".cargo/config",
        "mvnw",
        "gradle/wrapper/gradle-wrapper.jar",
        "renovate.json",
        "GEM\u{131}NI.md",
    ] {
        all.push(file("path is protected", path, "mine\n"));
    }
    all.push(case("the folder of CI taken away", "path is protected", |agent| {
        let base = agent.base_tree();
        let kept: Vec<(String, Vec<u8>, git2::Oid)> = base
            .iter()
            .filter(|entry| entry.name_bytes() != b".github")
            .map(|entry| (format!("{:o}", entry.filemode()), entry.name_bytes().to_vec(), entry.id()))
            .collect();
        let kept: Vec<_> =
            kept.iter().map(|(mode, name, id)| (mode.as_str(), name.as_slice(), *id)).collect();
        HostilePush::Tree(agent.sorted(&kept))
    }));
    all.push(case("a file where the folder of CI was", "path is protected", |agent| {
        let blob = agent.blob(b"x");
        HostilePush::Tree(agent.beside_base(&[(super::FILE, b".github", blob)]))
    }));
    all
}

fn secrets() -> Vec<HostileCase> {
    let (front, back) = CANARY.split_at(19);
    let ours = "holds the installation's token";
    let listed: String = CANARY.bytes().map(|byte| format!("0x{byte:02x}, ")).collect();
    let utf16: String = CANARY.chars().map(|c| format!("{c}\0")).collect();
    let wrapped = STANDARD.encode(format!("x-access-token:{CANARY}"));
    let mut all = vec![
        file(ours, "raw.txt", CANARY),
        file(ours, "base64.txt", &STANDARD.encode(format!("to{CANARY}ken"))),
        file(ours, "wrapped.txt", &format!("{}\n{}\n", &wrapped[..30], &wrapped[30..])),
        file(ours, "hex.txt", &hex::encode(CANARY)),
        file(ours, "list.py", &format!("key = [{listed}]\n")),
        file(ours, "split.py", &format!("key = \"{front}\" + \\\n    \"{back}\"\n")),
        file(ours, "piece.py", &format!("first = '{front}'\n")),
        file(ours, "url.txt", &CANARY.replace('_', "%5F").replace('9', "%39")),
        file(ours, "binary.bin", &format!("\0\u{1}{utf16}\0")),
        file("the name of a file holds the installation's token", &format!("src/{CANARY}.py"), "x"),
        file("the name of a file holds the installation's token", &format!("{front}/{back}"), "x"),
        file("holds the installation's token", "link", &format!("-> {CANARY}")),
        file("`aws-access-key`", "config.ini", &format!("the id is {}\n", access_key())),
        file("`private-key`", "id_rsa", &private_key()),
    ];
    for message in
        [format!("Fix the sum\n\n{CANARY}\n"), format!("Fix {}\n", hex::encode(CANARY)), access_key()]
    {
        all.push(case("a message with a secret", "the message holds", move |agent| {
            HostilePush::Messaged(agent.with_files(&[("src/sum.py", "fixed\n")]), message.clone())
        }));
    }
    all
}

fn private_key() -> String {
    let line = STANDARD.encode((0..48_u8).map(|n| n.wrapping_mul(151).wrapping_add(7)).collect::<Vec<_>>());
    [
        "-----BEGIN RSA PRIVATE ",
        "KEY-----\n",
        &line,
        "\n",
        &line[7..],
        "\n-----END RSA PRIVATE ",
        "KEY-----\n",
    ]
    .concat()
}

#[test]
fn a_secret_in_a_branchs_name_is_not_told_and_not_pushed() {
    use super::{ImportFixture, ImportOutcome, gits, told};
    let house = ImportFixture::new(&gits()[0]);
    let tree = house.agent.with_files(&[("src/sum.py", "fixed\n")]);
    let commit = house.agent.commit(tree, "Fix the sum\n");
    // Pushed to another branch, whose name would be reported as what was found instead.
    house.agent.origin.reference(&format!("refs/heads/{CANARY}"), commit, true, "").unwrap();
    let outcome = house.import(&house.export(), &house.branch);
    assert!(matches!(outcome, ImportOutcome::NothingPushed { .. }), "{outcome:?}");
    assert!(!told(&outcome).contains(CANARY) && told(&outcome).contains("the installation's token"));
    // Also a branch whose own name contains the secret: the push would publish it.
    house.push(commit);
    let export = house.export();
    let branch = format!("journeyman/issue-7-{}", CANARY.to_lowercase().replace('_', "-")).parse().unwrap();
    let outcome = house.import(&export, &branch);
    assert!(told(&outcome).contains("the branch's name holds the installation's token"), "{outcome:?}");
    assert!(matches!(house.import(&export, &house.branch), ImportOutcome::Imported { .. }));
}

#[test]
fn what_others_have_committed_cannot_be_taken_by_its_name() {
    use super::{FILE, HostilePush, ImportFixture, ImportOutcome, gits, told};
    let house = ImportFixture::new(&gits()[0]);
    // Another order's file in the repository of our commits; the agent knows its id.
    let commits = house.workspaces.commits(&house.repository).unwrap();
    let theirs = commits.blob(b"another order's work\n").unwrap();
    let outcome =
        house.try_to_get_out(&HostilePush::Tree(house.agent.beside_base(&[(FILE, b"leak", theirs)])));
    assert!(!matches!(outcome, ImportOutcome::Imported { .. }), "{outcome:?}");
    assert!(told(&outcome).contains("pushed"), "{outcome:?}");
}

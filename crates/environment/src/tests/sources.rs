//! Whole plans from devcontainers and setup steps.

use super::*;

const DEVCONTAINER: &str = r#"// For Codespaces
{
    "name": "a",
    "image": "mcr.microsoft.com/devcontainers/python:3.12", /* by tag */
    "features": { "ghcr.io/devcontainers/features/node:1": { "version": "20" }, "ghcr.io/devcontainers/features/github-cli:1": {} },
    "containerEnv": { "DEBUG": "1", "DATA": "${containerWorkspaceFolder}/data", "TOKEN": "${localEnv:TOKEN}" },
    "remoteEnv": { "PATH": "${containerWorkspaceFolder}/bin:${containerEnv:PATH}" },
    "onCreateCommand": ["pip", "install", "a b"],
    "updateContentCommand": { "deps": "pip install -e .", "more": ["make", "deps"] },
    "postCreateCommand": "sudo apt-get install -y jq",
    "postStartCommand": "./serve",
    "runArgs": ["--privileged"],
    "forwardPorts": [8000],
}"#;

const STEPS: &str = r#"
name: Copilot Setup Steps
on: workflow_dispatch
env: { A: "1", SECRET: "${{ secrets.X }}" }
jobs:
  copilot-setup-steps:
    runs-on: ubuntu-latest
    services:
      db: { image: "postgres:16", env: { POSTGRES_PASSWORD: x }, options: "--health-cmd pg_isready --health-retries 5" }
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: { python-version: "3.9", cache: pip }
      - name: uv
        uses: astral-sh/setup-uv@v6
      - uses: someone/else@v1
      - name: Install
        working-directory: api
        env: { FLAG: a b }
        run: |
          python -m pip install -e '.[dev]'
          echo "$HOME/.cargo/bin" >> $GITHUB_PATH
      - name: Cached
        if: steps.cache.outputs.hit != 'true'
        run: make
      - run: echo ${{ github.sha }}
      - shell: pwsh
        run: Get-ChildItem
      - run: npm ci
"#;

#[test]
fn a_development_container_says_image_variables_and_commands() {
    let python = [
        ("setup.py", "setup(name='a')"),
        ("tests/test_a.py", ""),
        (".devcontainer/devcontainer.json", DEVCONTAINER),
    ];
    let plan = planned(&python);
    insta::assert_snapshot!(shown(&plan), @"
        from the development container `.devcontainer/devcontainer.json`, since `.github/journeyman.yml` has neither image nor setup
        image mcr.microsoft.com/devcontainers/python:3.12
        setup pip install 'a b'   (onCreateCommand in .devcontainer/devcontainer.json)
        setup pip install -e .   (updateContentCommand.deps in .devcontainer/devcontainer.json)
        setup make deps   (updateContentCommand.more in .devcontainer/devcontainer.json)
        setup sudo apt-get install -y jq   (postCreateCommand in .devcontainer/devcontainer.json)
        test python3 -m unittest discover -s tests   (tests/)
        path TREE/bin:HOME/.local/bin
        note .devcontainer/devcontainer.json: the feature ghcr.io/devcontainers/features/github-cli:1 is not installed: use an image that has it
        note .devcontainer/devcontainer.json: the feature ghcr.io/devcontainers/features/node:1 20 is not installed: use an image that has it
        note .devcontainer/devcontainer.json: `postStartCommand` is left out: it is not run; what the tests need belongs to postCreateCommand
        note .devcontainer/devcontainer.json: `runArgs` is left out: there is no container engine to give them to
        note .devcontainer/devcontainer.json: `containerEnv.TOKEN` is left out: its value is not known here, or cannot be set
        note .devcontainer/devcontainer.json: `postCreateCommand` asks for sudo, which nothing of a repository gets here
        ");
    assert_eq!(plan.environment("/t", "/h")["DATA"], "/t/data");
    assert!(
        plan.decisive_files.iter().any(|path| path.ends_with("devcontainer.json")),
        "{:?}",
        plan.decisive_files
    );
}

#[test]
fn setup_steps_may_be_an_action_of_the_repository() {
    let steps = "jobs:\n  copilot-setup-steps:\n    steps:\n      - uses: ./.github/actions/setup\n      - uses: ./.github/actions/gone\n";
    let action = "runs:\n  using: composite\n  steps:\n    - { shell: bash, run: make deps }\n    \
                  - { shell: bash, run: 'echo ${{ inputs.x }}' }\n    - uses: ./.github/actions/setup\n";
    let plan = planned(&[
        (".github/workflows/copilot-setup-steps.yml", steps),
        (".github/actions/setup/action.yml", action),
    ]);
    insta::assert_snapshot!(shown(&plan), @"
        from the setup steps of `.github/workflows/copilot-setup-steps.yml`, since there is no `image` or `setup` in `.github/journeyman.yml` and no development container that says them
        setup make deps   (step 1 in .github/actions/setup/action.yml)
        path HOME/.local/bin
        note .github/actions/setup/action.yml: step 2 is left out: it has an expression, and those are not evaluated
        note .github/actions/setup/action.yml: step 3 is left out: the action ./.github/actions/setup is not run
        note .github/workflows/copilot-setup-steps.yml: step 2 is left out: the action ./.github/actions/gone is not run
        ");
}

#[test]
fn settings_that_lie_where_nobody_reads_them_are_named() {
    for name in [".github/journeyman.yaml", "journeyman.yml"] {
        let plan = planned(&[(name, "test: make\n"), ("src/a.c", "")]);
        assert_eq!(plan.notes, [format!("{name} is not read: rename it to .github/journeyman.yml")]);
    }
    assert_eq!(planned(&[("src/journeyman.yml", "")]).notes, [""; 0]);
}

#[test]
fn a_token_that_package_managers_ask_for_has_a_stand_in() {
    let manifest = ("package.json", r#"{"scripts":{"test":"node --test"},"dependencies":{"a":"1"}}"#);
    for (file, line) in [
        (".npmrc", "//npm.example/:_authToken=${READ_TOKEN}\n"),
        (".yarnrc.yml", "npmScopes:\n  corp:\n    npmAuthToken: \"${READ_TOKEN}\"\n"),
    ] {
        let plan = planned(&[manifest, (file, line), ("yarn.lock", "")]);
        assert_eq!(plan.variables["READ_TOKEN"], "held-outside-of-the-sandbox");
        let note = format!(
            "{file} names the token READ_TOKEN, which a setup does not get: name a registry that needs it as [registries.NAME] in journeyman.toml"
        );
        assert!(plan.notes.contains(&note), "{:?}", plan.notes);
    }
    let plain = planned(&[manifest, (".npmrc", "registry=${REGISTRY}\n")]);
    assert!(!plain.variables.contains_key("REGISTRY"), "an address has no stand-in");
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    for (name, text, command) in [
        ("package.json", r#"{"scripts":{"test":"node --test"}}"#, "npm test"),
        ("Cargo.toml", "[package]\nname='a'\n[features]\nb=[]\n", "cargo test --all-features"),
        ("go.mod", "module a\n", "go test ./..."),
        ("tox.ini", "[testenv]\ncommands = pytest\n", "python3 -m pytest"),
    ] {
        let with =
            planned(&[(name, &format!("\u{feff}{text}")), ("tests/test_a.py", "def test_a():\n    pass\n")]);
        let without = planned(&[(name, text), ("tests/test_a.py", "def test_a():\n    pass\n")]);
        assert_eq!(with.test_command(), Some(command), "{name}");
        assert_eq!(with, without, "{name}");
    }
}

#[test]
fn a_container_that_has_to_be_built_leaves_setup_to_what_is_found() {
    let text = r#"{ "build": { "dockerfile": "Dockerfile" }, "customizations": {} }"#;
    let files = [
        ("go.mod", "module a\nrequire b v1"),
        (".devcontainer/go/devcontainer.json", text),
        (".devcontainer/x/devcontainer.json", "{}"),
    ];
    insta::assert_snapshot!(shown(&planned(&files)), @"
        from Go, found by `go.mod`
        setup go mod download   (go.mod)
        test go test ./...   (go.mod)
        path HOME/.local/bin
        note .devcontainer/go/devcontainer.json: it is taken and .devcontainer/x/devcontainer.json is not
        note .devcontainer/go/devcontainer.json: `build` is left out: no image is built; name one as `image` in .github/journeyman.yml
        ");
    let image = [("go.mod", "module a\nrequire b v1"), (".devcontainer.json", r#"{"image":"golang:1.25"}"#)];
    insta::assert_snapshot!(shown(&planned(&image)), @"
        from the development container `.devcontainer.json`, since `.github/journeyman.yml` has neither image nor setup
        image golang:1.25
        setup go mod download   (go.mod)
        test go test ./...   (go.mod)
        path HOME/.local/bin
        ");
}

#[test]
fn setup_steps_are_run_where_they_can_be() {
    let files = [
        ("pyproject.toml", "[project]\nname='a'\n[build-system]\nrequires=['x']"),
        ("tests/test_a.py", "import pytest"),
        (".github/workflows/copilot-setup-steps.yml", STEPS),
    ];
    let plan =
        planned_with(&RepositorySettings::default(), &files, &[("python3", "Python 3.11.2"), ("npm", "10")]);
    insta::assert_snapshot!(shown(&plan), @r#"
        from the setup steps of `.github/workflows/copilot-setup-steps.yml`, since there is no `image` or `setup` in `.github/journeyman.yml` and no development container that says them
        setup python3 -m venv ~/.local/share/tools/uv && ~/.local/share/tools/uv/bin/python -m pip install --quiet uv && mkdir -p ~/.local/bin && ln -sf ~/.local/share/tools/uv/bin/uv ~/.local/bin/   (.github/workflows/copilot-setup-steps.yml)
        setup python3 -m venv .venv   (step "Install" in .github/workflows/copilot-setup-steps.yml)
        setup export FLAG='a b'; export GITHUB_WORKSPACE="$PWD" GITHUB_ENV=/dev/null GITHUB_PATH=/dev/null GITHUB_OUTPUT=/dev/null GITHUB_STEP_SUMMARY=/dev/null; cd api && bash -eo pipefail -c 'python -m pip install -e '\''.[dev]'\''
        echo "$HOME/.cargo/bin" >> $GITHUB_PATH'   (step "Install" in .github/workflows/copilot-setup-steps.yml)
        setup npm ci   (step 9 in .github/workflows/copilot-setup-steps.yml)
        test python3 -m pytest   (tests/test_a.py, which imports pytest)
        path TREE/.venv/bin:HOME/.local/bin
        note .github/workflows/copilot-setup-steps.yml: `env.SECRET` is left out: expressions are not evaluated, and PATH and HOME are ours
        note .github/workflows/copilot-setup-steps.yml: `services` are left out: name them in .github/journeyman.yml
        note .github/workflows/copilot-setup-steps.yml: step 4 is left out: the action someone/else@v1 is not run
        note .github/workflows/copilot-setup-steps.yml: step "Cached" is left out: its condition "steps.cache.outputs.hit != 'true'" is not evaluated
        note .github/workflows/copilot-setup-steps.yml: step 7 is left out: it has an expression, and those are not evaluated
        note .github/workflows/copilot-setup-steps.yml: step 8 is left out: the shell pwsh is not run
        "#);
    insta::assert_snapshot!(format!("{:?}", plan.variables), @r#"{"A": "1", "PDM_CHECK_UPDATE": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "POETRY_NO_INTERACTION": "1", "UV_PYTHON_DOWNLOADS": "never", "VIRTUAL_ENV": "{tree}/.venv"}"#);
    let tools: Vec<String> = plan.required_tools.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(tools.join("\n"), @"
        python 3.9 (.github/workflows/copilot-setup-steps.yml): 3.11.2 is there, which is another version
        uv (.github/workflows/copilot-setup-steps.yml): the setup installs it
        ");
}

#[test]
fn the_settings_come_before_a_container_and_that_before_steps() {
    let all = [
        (".devcontainer.json", r#"{"postCreateCommand":"make b"}"#),
        (".github/workflows/copilot-setup-steps.yml", STEPS),
    ];
    let mut settings = RepositorySettings::default();
    assert_eq!(planned_with(&settings, &all, &[]).setup_command().as_deref(), Some("make b"));
    settings.setup = Some("make a".into());
    assert_eq!(planned_with(&settings, &all, &[]).setup_command().as_deref(), Some("make a"));
    assert!(planned_with(&settings, &all, &[]).notes.is_empty(), "what is not read has no notes");
    // A test command alone does not determine the setup.
    let settings = RepositorySettings { test: Some("./t".into()), ..RepositorySettings::default() };
    let plan = planned_with(&settings, &all, &[]);
    assert_eq!((plan.setup_command().as_deref(), plan.test_command()), (Some("make b"), Some("./t")));
}

#[test]
fn a_setup_of_its_own_has_the_tools_that_it_calls() {
    let files = [
        ("package.json", r#"{"engines":{"node":">=20"},"scripts":{"test":"x"},"dependencies":{"a":"1"}}"#),
        ("yarn.lock", "# yarn lockfile v1"),
    ];
    let there = [("node", "v18.2.0"), ("npm", "9"), ("python3", "3.11")];
    for (setup, installed) in [
        ("make deps", vec!["node"]),
        ("yarn install", vec!["node", "yarn"]),
        ("npm install -g yarn && yarn install", vec!["node"]),
        ("tox -e py --notest", vec!["node", "tox"]),
        ("pip install tox; tox -e py", vec!["node"]),
    ] {
        let settings = RepositorySettings { setup: Some(setup.into()), ..RepositorySettings::default() };
        let plan = planned_with(&settings, &files, &there);
        let tools =
            plan.required_tools.iter().filter(|tool| tool.fit == ToolFit::Installed).map(|tool| tool.tool);
        assert_eq!(tools.collect::<Vec<_>>(), installed, "{setup}");
        let commands = plan.setup.iter().filter(|setup| setup.command.contains(".local/share/tools")).count();
        assert_eq!(commands, installed.len(), "{setup}: {:?}", plan.setup);
    }
}

#[test]
fn pip_on_this_machine_installs_into_an_environment_of_the_tree() {
    for (setup, image, own) in [
        ("pip install -e .", None, true),
        ("python -m pip install x && make", None, true),
        ("cd a; pip3 install x", None, true),
        ("pip install x", Some("python:3.12"), false),
        ("python -m venv .venv && .venv/bin/pip install x", None, false),
        ("pip install --target deps x", None, false),
        ("uv sync", None, false),
        ("pipx install x", None, false),
        ("make", None, false),
    ] {
        let settings = RepositorySettings {
            setup: Some(setup.into()),
            image: image.map(str::to_owned),
            ..RepositorySettings::default()
        };
        let plan = planned_with(&settings, &[("setup.py", "setup(name='a')"), ("tests/test_a.py", "")], &[]);
        assert_eq!(plan.setup[0].command == "python3 -m venv .venv", own, "{setup}");
        let has_folder = plan.search_folders("", "").contains(&"/.venv/bin".to_owned());
        assert_eq!(has_folder, own || setup.contains(".venv") || setup.starts_with("uv sync"), "{setup}");
    }
}

#[test]
fn programs_that_a_setup_of_its_own_installs_come_before_the_machines() {
    let php = [("composer.json", r#"{"require-dev":{"phpunit/phpunit":"^11"}}"#)];
    let node = [("package.json", r#"{"scripts":{"test":"ava"},"devDependencies":{"ava":"6"}}"#)];
    for (files, setup, folder, is_there) in [
        (&php, "composer install --no-dev", "/vendor/bin", true),
        (&php, "make deps", "/vendor/bin", false),
        (&node, "make deps", "/node_modules/.bin", true),
    ] {
        let settings = RepositorySettings { setup: Some(setup.into()), ..RepositorySettings::default() };
        let folders = planned_with(&settings, files, &[]).search_folders("", "");
        assert_eq!(folders.contains(&folder.to_owned()), is_there, "{setup}: {folders:?}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_ends_nothing() {
    let deep = "[".repeat(200_000);
    for text in [
        "",
        "[]",
        "{",
        "{\"image\": 3, \"features\": [], \"postCreateCommand\": {\"a\": null}}",
        "{\"image\":\"a b\"}",
        deep.as_str(),
    ] {
        let devcontainer = planned(&[(".devcontainer.json", text), ("go.mod", "module a")]);
        assert_eq!(devcontainer.test_command(), Some("go test ./..."));
        let steps = planned(&[(".github/workflows/copilot-setup-steps.yml", text), ("go.mod", "module a")]);
        assert_eq!(steps.test_command(), Some("go test ./..."));
        assert!(!steps.notes.is_empty(), "{}", &text[..text.len().min(40)]);
    }
}

#[test]
fn a_test_command_that_names_a_program_of_the_machine_brings_what_it_needs() {
    let files = [
        ("pyproject.toml", "[tool.pytest.ini_options]\n[project]\nname = \"a\"\nversion = \"1\"\n"),
        ("tests/test_a.py", ""),
    ];
    let own = |test: &str| RepositorySettings { test: Some(test.into()), ..RepositorySettings::default() };
    assert!(planned_with(&own("pytest -q"), &files, &[("python3", "")]).setup_command().is_some());
    let plan = planned_with(&own("/opt/venv/bin/python -m pytest -q"), &files, &[("python3", "")]);
    assert_eq!((plan.setup_command(), plan.search_path.len()), (None, 0));
}

#[test]
fn the_commands_of_a_development_container_run_in_its_workspace_folder() {
    let config = r#"{"workspaceFolder": "/workspaces/shop/web", "postCreateCommand": "npm ci"}"#;
    let plan = planned(&[("web/package.json", "{}"), (".devcontainer.json", config)]);
    assert!(shown(&plan).contains("setup cd web && npm ci"), "{}", shown(&plan));
}

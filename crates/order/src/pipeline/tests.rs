use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::role::Role;

/// A valid stage, to extend as `- {…}`.
const STAGE: &str = "name: a, agent: developer";

fn problems_of(yaml: &str) -> Vec<String> {
    Pipeline::parse(yaml).map_or_else(|invalid| told(&invalid), |_| Vec::new())
}

fn told(invalid: &InvalidPipeline) -> Vec<String> {
    invalid.problems.iter().map(ToString::to_string).collect()
}

/// Line 1 is the name, line 3 `stages:`, line 4 the first stage.
pub(super) fn of_stages(stages: &[&str]) -> String {
    let stages: String = stages.iter().map(|stage| format!("  - {{{stage}}}\n")).collect();
    format!("name: p\nversion: 1\nstages:\n{stages}")
}

fn block(stage: &str) -> String {
    format!("name: p\nversion: 1\nstages:\n  - name: a\n    agent: developer\n    {stage}\n")
}

fn roles(roles: &[(&str, &str)]) -> BTreeMap<String, Role> {
    let role = |(name, rest): &(&str, &str)| {
        ((*name).to_owned(), Role::parse(&format!("name: {name}\n{rest}")).unwrap())
    };
    roles.iter().map(role).collect()
}

#[test]
fn an_examiner_is_told_nothing_of_another_stage() {
    let plan = "name: plan, agent: developer";
    let examine =
        |rest: &str| of_stages(&[plan, &format!("name: examine, uses: examine, agent: examiner, {rest}")]);
    assert_eq!(problems_of(&examine("arguments: ['{{issue.title}}', '{{repository.name}}']")), [""; 0]);
    for rest in [
        "depends_on: [plan], arguments: ['{{plan.result}}']",
        "depends_on: [plan], inputs: {plan: '{{plan.result}}'}",
    ] {
        let found = problems_of(&examine(rest));
        assert!(
            found[0].contains("names another stage: an examiner sees the issue and the base"),
            "{found:?}"
        );
    }
    // Other agents learn nothing of its programs.
    let told = of_stages(&[
        "name: examine, uses: examine, agent: examiner",
        "name: a, agent: developer, depends_on: [examine], arguments: ['{{examine.contradictions}} {{examine.result}}']",
    ]);
    let found = problems_of(&told);
    assert!(found.len() == 1 && found[0].contains("examine.result"), "{found:?}");
    let two = of_stages(&[
        "name: one, uses: examine, agent: examiner",
        "name: two, uses: examine, agent: examiner",
    ]);
    assert!(problems_of(&two)[0].contains("one examiner is enough"), "{:?}", problems_of(&two));
}

#[test]
fn a_stage_is_not_called_as_effects_of_ours_are() {
    for word in ["answer", "prepare", "preflight", "authorize", "status", "check", "commit_message"] {
        let yaml = of_stages(&[&STAGE.replace("name: a", &format!("name: {word}"))]);
        let expected = format!(
            "line 4: stage {word:?}: {word:?} is reserved: effects of Journeyman's own are called `{word}/…`"
        );
        assert!(problems_of(&yaml)[0].starts_with(&expected), "{:?}", problems_of(&yaml));
    }
    let yaml = of_stages(&[&STAGE.replace("name: a", "name: publish")]);
    assert!(problems_of(&yaml)[0].contains("is reserved: it is for the stage with `uses: publish`"));
}

#[test]
fn what_yaml_says_is_told_with_line_stage_and_what_is_expected() {
    for (yaml, expected) in [
        (block("agnet: x"), "line 6: stage \"a\": unknown key `agnet`; did you mean `agent`?"),
        (block("colour: x"), "line 6: stage \"a\": unknown key `colour`; known here are name, depends_on"),
        (
            block("timeout: 3 days"),
            "line 6: stage \"a\": \"3 days\" is no length of time; write 90s, 10m or 2h",
        ),
        (block("timeout: []"), "line 6: stage \"a\": "),
        (
            block("checks: [pushed]"),
            "line 6: stage \"a\": \"pushed\" is not known, one of pushed_commit, policy, tests, verifier is expected",
        ),
        (
            block("output:\n      one_off: [x]"),
            "line 7: stage \"a\": \"one_off\" is not known, one of text, one_of,",
        ),
        (block("when: 'true'"), "line 6: stage \"a\": \"true\" looks at nothing"),
        (block("agent: y"), "line 6: `agent` is there twice"),
        (block("retry_count: many"), "line 6: stage \"a\": a whole number, 0 or more, is expected"),
        (
            "name: p\nversion: 1\nstages:\n  - agent: x\n".to_owned(),
            "line 4: stage \"\": the key `name` is missing",
        ),
        (
            "name: p\nversion: one\nstages: []".to_owned(),
            "line 2: `version` is a number or a text such as \"1.0\", not \"one\"",
        ),
        ("name: p\nversion: 1\nstages: [*a]\n".to_owned(), "line 3: anchors, aliases and merge keys"),
        ("name: p\nversion: 1\nstages: &x []\n".to_owned(), "line 3: anchors, aliases and merge keys"),
        (of_stages(&["<<: {name: a}"]), "line 4: anchors, aliases and merge keys"),
        (of_stages(&["name: a, timeout: [[["]), "line"),
        (String::new(), "line 1: the file is empty"),
        ("[]".to_owned(), "line 1: a map of keys and values is expected"),
    ] {
        let told = problems_of(&yaml);
        assert_eq!(told.len(), 1, "{yaml}\n{told:#?}");
        assert!(told[0].starts_with(expected), "{yaml}\n{told:#?}\nexpected: {expected}");
    }
}

#[test]
fn every_rule_of_a_stage_has_its_sentence() {
    for (stage, expected) in [
        ("name: A, agent: x", "a name has 1 to 40 characters"),
        ("name: issue, agent: x", "variables begin with it"),
        ("name: inputs, agent: x", "variables begin with it"),
        ("name: a", "a role is needed; add `agent: ROLE`"),
        ("name: a, agent: 'the best'", "`agent` is a role"),
        ("name: a, agent: x, escalate_on_exhaust: Somebody", "`escalate_on_exhaust` is a role"),
        ("name: a, agent: x, command: ../../etc/passwd", "`command` is a template's name"),
        ("name: a, agent: x, command: ''", "`command` is a template's name"),
        ("name: a, agent: x, command: a/../b", "`command` is a template's name"),
        ("name: a, agent: x, timeout: 25h", "`timeout` is at most 24h"),
        ("name: a, agent: x, budget: 0", "`budget` is dollars, over 0"),
        ("name: a, agent: x, budget: -.inf", "`budget` is dollars, over 0"),
        ("name: a, agent: x, budget: .nan", "`budget` is dollars, over 0"),
        ("name: a, agent: x, retry_count: 11", "`retry_count` is at most 10, this is 11"),
        ("name: a, agent: x, max_adversarial_rounds: 11", "`max_adversarial_rounds` is at most 10"),
        ("name: a, agent: x, inputs: {'a b': c}", "an input's name has 1 to 40 characters"),
        ("name: a, agent: x, output: {one_of: []}", "`one_of` has at least one choice"),
        ("name: a, agent: x, output: {one_of: [b, c, b]}", "`one_of` names \"b\" twice"),
        ("name: a, agent: x, output: {file: ../*.md}", "`file` is a glob inside the work tree"),
        ("name: a, agent: x, output: {file: /etc/passwd}", "`file` is a glob inside the work tree"),
        ("name: a, agent: x, output: {file: '[a'}", "`file` is a glob inside the work tree"),
        ("name: a, agent: x, output: {json_schema: 3}", "`json_schema` is a mapping"),
        ("name: a, agent: x, output: {json_schema: {type: 3}}", "`json_schema` is no JSON schema"),
        ("name: a, agent: x, output: {json_schema: {$ref: 'http://example.org/s'}}", "has `$ref`"),
        ("name: a, agent: x, output: {json_schema: {$ref: 'file:///etc/passwd'}}", "has `$ref`"),
        (
            "name: a, agent: x, output: {json_schema: {pattern: '(a+)+(?=b)'}}",
            "`json_schema` is no JSON schema",
        ),
        ("name: a, agent: x, output: code_artifact", "needs the check `pushed_commit`: its files"),
        ("name: a, agent: x, checks: [tests]", "the check `tests` needs `pushed_commit` before it"),
        ("name: a, agent: x, checks: [policy]", "the check `policy` needs `pushed_commit` before it"),
        (
            "name: a, agent: x, checks: [tests, pushed_commit]",
            "the check `pushed_commit` comes before `tests`",
        ),
        ("name: a, agent: x, checks: [pushed_commit, pushed_commit]", "`pushed_commit` is there twice"),
        ("name: a, agent: x, checks: [verifier]", "needs a role that judges; add `verifier: ROLE`"),
        ("name: a, agent: x, checks: [verifier], verifier: []", "needs a role that judges"),
        ("name: a, agent: x, checks: [verifier], verifier: [v, v]", "`verifier` names \"v\" twice"),
        (
            "name: a, agent: x, checks: [verifier], verifier: y",
            "`true` are words of YAML: put the role's name in quotes",
        ),
        ("name: a, agent: x, checks: [verifier], verifier: [b, c, d, e, f]", "`verifier` is at most 4 roles"),
        ("name: a, agent: x, checks: [verifier], verifier: [b, The C]", "`verifier` is a role"),
        ("name: a, agent: x, begins_with: checks", "needs checks to begin with"),
        ("name: a, uses: tests, command: x", "`command` does nothing with `uses: tests`; take it out"),
        ("name: a, uses: ready, agent: x", "`agent` does nothing with `uses: ready`; take it out"),
        ("name: a, uses: branch, agent: x, output: text", "`output` does nothing with `uses: branch`"),
        ("name: a, uses: archive, checks: []", "`checks` does nothing with `uses: archive`"),
        ("name: a, uses: archive, command: x", "a command needs a role"),
        ("name: a, uses: publish, agent: x", "there is no commit to work on"),
        ("name: a, uses: tests", "there is no commit to work on"),
        ("name: a, uses: ready", "there is no pull request"),
        ("name: a, agent: x, begins_with: checks, checks: [pushed_commit]", "there is nothing to judge"),
    ] {
        let told = problems_of(&of_stages(&[stage]));
        let known =
            told.iter().any(|problem| problem.contains(expected) && problem.starts_with("line 4: stage "));
        assert!(known, "{stage:.200}\n{told:#?}\nexpected: {expected}");
    }
}

#[test]
fn the_file_itself_is_held_to_limits() {
    let many = vec![STAGE; 51];
    for (yaml, expected) in [
        (of_stages(&many), "line 4: a pipeline has 1 to 50 stages, this has 51"),
        (
            of_stages(&[]).replace("stages:\n", "stages: []\n"),
            "line 3: a pipeline has 1 to 50 stages, this has 0",
        ),
        (of_stages(&[STAGE]).replace("name: p", "name: ../p"), "line 1: a pipeline's name has 1 to 40"),
        (format!("{}# {}", of_stages(&[STAGE]), "x".repeat(70_000)), "the file has 70"),
    ] {
        let told = problems_of(&yaml);
        assert!(told[0].starts_with(expected), "{told:#?}");
    }
    for deep in [
        of_stages(&[&format!("name: a, agent: x, output: {{json_schema: {}", "{a: ".repeat(5_000))]),
        of_stages(&[&format!("name: a, agent: x, output: {{json_schema: {}", "[".repeat(5_000))]),
        format!("name: {}", "[".repeat(60_000)),
        (0..300).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
    ] {
        assert_eq!(problems_of(&deep).len(), 1);
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() {
    let yaml = "\
name: p
version: 1
stages:
  - name: b
    agent: x
    depends_on: [a]
    arguments:
      - fine
      - '{{a.content}}'
    budget: -1
  - name: a
    agent: x
    output: text
    checks: [tests]
";
    let invalid = Pipeline::parse(yaml).unwrap_err();
    let expected = [
        (9, 9, "arguments", "\"a.content\": stage \"a\" gives no such field; there is result, test_results"),
        (10, 13, "budget", "`budget` is dollars, over 0 and at most 10000"),
        (14, 13, "checks", "the check `tests` needs `pushed_commit` before it"),
    ];
    let found: Vec<_> = invalid
        .problems
        .iter()
        .map(|problem| {
            (
                problem.line.unwrap(),
                problem.column.unwrap(),
                problem.field.as_deref().unwrap(),
                problem.problem.as_str(),
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert!(invalid.to_string().starts_with("line 9: stage \"b\": \"a.content\""), "{invalid}");
}

#[test]
fn dependencies_are_known_have_no_circle_and_give_the_order() {
    let a = |depends_on: &str| format!("name: a, agent: x, depends_on: [{depends_on}]");
    let (b, c) = ("name: b, agent: x, depends_on: [a]", "name: c, agent: x, depends_on: [b]");
    let d = "name: d, agent: x, depends_on: [b]";
    for (stages, expected) in [
        ([&a("c"), b, c, d], "line 4: stage \"a\": depends on itself: a → c → b → a"),
        ([d, c, b, &a("b")], "line 6: stage \"b\": depends on itself: b → a → b"),
        ([&a("a"), b, c, d], "line 4: stage \"a\": depends on itself: a → a"),
        (
            [&a("e"), b, c, d],
            "line 4: stage \"a\": depends on \"e\", which is not a stage; these are: a, b, c, d",
        ),
        ([&a(""), c, c, d], "line 6: stage \"c\": there are two stages of this name"),
        (
            [&a(""), "name: b, agent: x, depends_on: [a, a]", c, d],
            "line 5: stage \"b\": depends on \"a\" twice",
        ),
    ] {
        assert_eq!(problems_of(&of_stages(&stages)), [expected]);
    }
    let pipeline = Pipeline::parse(&of_stages(&[d, c, b, &a("")])).unwrap();
    let names: Vec<&str> = pipeline.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "d", "c"], "each after those it depends on, otherwise as in the file");
}

/// A first stage, and a second one that refers to it.
#[test]
fn a_name_stands_for_something_or_the_file_is_refused() {
    for (first, second, expected) in [
        (
            "output: text",
            "arguments: ['{{a.result}} {{issue.title}} {{order.id}} {{repository.name}}']",
            None,
        ),
        ("output: text", "command: '{{a.result}}'", None),
        ("output: text", "inputs: {it: '{{a.result}}'}, arguments: ['{{inputs.it}}']", None),
        ("output: text", "when: '{{a.result}} == yes'", None),
        ("output: text", "arguments: ['{{a.file}}']", Some("gives no such field; there is result")),
        ("output: {one_of: [b]}", "arguments: ['{{a.b}}']", Some("gives no such field; there is result")),
        ("output: {file: '*.md'}", "arguments: ['{{a.result}}{{a.file}}{{a.content}}']", None),
        ("output: {file: '*.md'}", "command: '{{a.name}}'", Some("there is content, file, result")),
        ("output: {json_schema: {properties: {x: {}}}}", "arguments: ['{{a.x}}{{a.result}}']", None),
        ("output: {json_schema: {properties: {x: {}}}}", "when: '{{a.y}}'", Some("there is result, x")),
        ("checks: [pushed_commit]", "arguments: ['{{a.commit}}{{a.changed}}{{a.code}}']", None),
        ("output: text, checks: [pushed_commit]", "when: '{{a.test_results}}'", Some("no such field")),
        ("checks: [pushed_commit, tests]", "arguments: ['{{a.test_results}}']", None),
        ("verifier: v, checks: [verifier]", "arguments: ['{{a.verdict}}{{a.final_code}}']", None),
        (
            "output: code_artifact, checks: [pushed_commit]",
            "arguments: ['{{a.artifact_id}}{{a.implementation_files}}{{a.test_files}}{{a.stories_covered}}']",
            None,
        ),
        ("uses: branch", "arguments: ['{{a.name}}']", None),
        ("uses: branch", "arguments: ['{{a.content}}']", Some("there is name, result")),
        ("uses: archive", "arguments: ['{{a.result}}']", None),
        // The role may define it, which is unknown without roles.
        ("command: work", "arguments: ['{{a.anything}}']", None),
        ("output: text", "arguments: ['{{c.result}}']", Some("there is no stage \"c\"")),
        ("output: text", "arguments: ['{{b.result}}']", Some("\"b\" does not depend on \"b\"")),
        (
            "output: text",
            "depends_on: [], arguments: ['{{a.result}}']",
            Some("\"b\" does not depend on \"a\""),
        ),
        ("output: text", "arguments: ['{{issue.author}}']", Some("there is number, title, body, url")),
        ("output: text", "arguments: ['{{title}}']", Some("\"title\" is no variable")),
        ("output: text", "arguments: ['{{a.result']", Some("`{{` is not closed by `}}`")),
        ("output: text", "arguments: ['{{inputs.it}}']", Some("the stage has no such input; there is none")),
        ("output: text", "inputs: {it: x, me: '{{inputs.it}}'}", Some("of the same stage only")),
    ] {
        let depends = if second.starts_with("depends_on") { "" } else { "depends_on: [a], " };
        let told = problems_of(&of_stages(&[
            &format!("{STAGE}, {first}"),
            &format!("name: b, agent: x, {depends}{second}"),
        ]));
        match expected {
            None => assert!(told.is_empty(), "{first}; {second}: {told:#?}"),
            Some(expected) => {
                assert_eq!(told.len(), 1, "{first}; {second}: {told:#?}");
                assert!(
                    told[0].starts_with("line 5: stage \"b\": ") && told[0].contains(expected),
                    "{told:#?}"
                );
            }
        }
    }
    // An indirect dependency is enough.
    let through = of_stages(&[
        STAGE,
        "name: b, agent: x, depends_on: [a]",
        "name: c, agent: x, depends_on: [b], arguments: ['{{a.result}}']",
    ]);
    assert_eq!(problems_of(&through), [""; 0]);
}

#[test]
fn roles_have_to_be_known_and_their_schemas_give_fields() {
    let yaml = of_stages(&[
        "name: a, agent: analyst",
        "name: b, agent: developer, depends_on: [a], arguments: ['{{a.stories}}'], escalate_on_exhaust: tech_lead",
    ]);
    let pipeline = Pipeline::parse(&yaml).unwrap();
    let schema = "output_schema: {type: object, properties: {stories: {}, summary: {}}}";
    let known = [("analyst", schema), ("developer", ""), ("tech_lead", "")];
    assert_eq!(pipeline.check_variables(&roles(&known)), Ok(()));
    assert_eq!(Pipeline::parse_with(&yaml, &roles(&known)), Ok(pipeline.clone()));

    let other = roles(&[("analyst", ""), ("developer", "")]);
    let expected = [
        "stage \"b\": \"a.stories\": stage \"a\" gives no such field; there is result",
        "stage \"b\": `escalate_on_exhaust`: there is no role \"tech_lead\"; these are: analyst, developer",
    ];
    assert_eq!(
        told(&pipeline.check_variables(&other).unwrap_err()),
        expected,
        "without a file, without lines"
    );
    let with_lines = told(&Pipeline::parse_with(&yaml, &other).unwrap_err());
    assert_eq!(with_lines, expected.map(|problem| format!("line 5: {problem}")));

    // The stage's own output overrides the role's schema.
    let own = yaml.replace("agent: analyst", "agent: analyst, output: text");
    let refused = Pipeline::parse_with(&own, &roles(&known)).unwrap_err();
    assert!(refused.to_string().contains("there is result"), "{refused}");
}

#[test]
fn what_is_quoted_in_a_message_is_short_and_can_be_seen() {
    let name = format!("\\e[31m\\n{}", "x".repeat(500));
    let told = problems_of(&of_stages(&[&format!("{STAGE}, depends_on: [\"{name}\"]")]));
    assert!(told[0].len() < 300 && !told[0].chars().any(char::is_control), "{told:?}");
    let unknown = problems_of(&block(&format!("\"{name}\": 1")));
    assert!(unknown[0].len() < 1_000 && !unknown[0].chars().any(char::is_control), "{unknown:?}");
}

/// Words of the format, so that random text gets past the first error.
fn yaml_like() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("name: p\nversion: 1\nstages:\n"),
        Just("  - {name: a, agent: x, "),
        Just("  - name: b\n    agent: x\n"),
        Just("    depends_on: [a]\n"),
        Just("depends_on: [b], "),
        Just("    arguments: ['{{a.result}}']\n"),
        Just("output: {json_schema: {type: object, "),
        Just("    checks: [pushed_commit, tests]\n"),
        Just("    when: \"{{a.result}} == b\"\n"),
        Just("}"),
        Just("]"),
        Just("["),
        Just("{"),
        Just("&a "),
        Just("*a "),
        Just("<<: "),
        Just("\n"),
        Just("!!binary "),
        Just("? "),
        Just("- "),
        Just(": "),
        Just("| "),
        Just("'"),
        Just("\""),
        Just("\t"),
        Just(".nan"),
        Just("18446744073709551616"),
        Just("---\n"),
        Just("...\n"),
        Just("%YAML 1.2\n"),
        Just("\u{feff}"),
        Just("\u{0}"),
        Just("é𝕏"),
    ];
    prop_oneof![
        proptest::collection::vec(word, 0..40).prop_map(|words| words.concat()),
        proptest::collection::vec(any::<char>(), 0..200).prop_map(String::from_iter),
    ]
}

proptest! {
    #[test]
    fn whatever_is_in_a_file_reading_it_ends_with_a_pipeline_or_a_reason(yaml in yaml_like()) {
        match Pipeline::parse(&yaml) {
            Ok(pipeline) => prop_assert!(pipeline.check_variables(&BTreeMap::new()).is_err(), "roles are unknown"),
            Err(invalid) => {
                prop_assert!(!invalid.problems.is_empty());
                prop_assert!(!invalid.to_string().chars().any(char::is_control));
            }
        }
    }

    /// A random graph is rejected exactly if it has a cycle; otherwise each stage comes after its dependencies.
    #[test]
    fn a_graph_is_put_in_order_or_its_circle_is_named(edges in proptest::collection::vec((0..8_usize, 0..8_usize), 0..14)) {
        let stages: Vec<String> = (0..8).map(|number| {
            let mut on: Vec<String> = edges.iter().filter(|(to, _)| *to == number).map(|(_, from)| format!("s{from}")).collect();
            on.sort();
            on.dedup();
            format!("name: s{number}, agent: x, depends_on: [{}]", on.join(", "))
        }).collect();
        let stages: Vec<&str> = stages.iter().map(String::as_str).collect();
        let mut reach = [[false; 8]; 8];
        for (to, from) in &edges { reach[*to][*from] = true; }
        for k in 0..8 { for i in 0..8 { for j in 0..8 { reach[i][j] |= reach[i][k] && reach[k][j]; } } }
        let has_circle = (0..8).any(|number| reach[number][number]);
        match Pipeline::parse(&of_stages(&stages)) {
            Ok(pipeline) => {
                prop_assert!(!has_circle);
                for (place, stage) in pipeline.stages.iter().enumerate() {
                    let before = &pipeline.stages[..place];
                    prop_assert!(stage.depends_on.iter().all(|name| before.iter().any(|known| known.name == *name)));
                }
            }
            Err(invalid) => {
                prop_assert!(has_circle);
                let said = invalid.to_string();
                let circle: Vec<usize> = said.split_once("itself: ").unwrap().1.split(" → ").map(|name| name[1..].parse().unwrap()).collect();
                prop_assert!(circle.windows(2).all(|pair| edges.contains(&(pair[0], pair[1]))), "{said}");
                prop_assert_eq!(circle.first(), circle.last());
            }
        }
    }
}

#[test]
fn a_commit_that_would_be_in_no_pull_request_is_refused_and_so_is_a_judge_that_comes_too_late() {
    const WRITER: &str = "name: a, agent: x, checks: [pushed_commit]";
    const PUBLISH: &str = "name: p, agent: x, uses: publish, depends_on: [a]";
    const READY: &str = "name: r, uses: ready, depends_on: [p]";
    for (stage, expected) in [
        ("agent: x, checks: [pushed_commit]", Some("in no pull request")),
        ("agent: x, checks: [pushed_commit], depends_on: [p]", Some("before this has judged it")),
        ("uses: tests, depends_on: [a]", Some("before this has judged it")),
        (
            "agent: x, verifier: v, checks: [verifier], begins_with: checks, depends_on: [a]",
            Some("judged it"),
        ),
        ("agent: x, verifier: v, checks: [verifier]", Some("judged it")),
        ("agent: x", None),
        ("uses: archive, depends_on: [r]", None),
    ] {
        let stage = format!("name: s, {stage}");
        let told = problems_of(&of_stages(&[WRITER, PUBLISH, READY, &stage]));
        match expected {
            None => assert!(told.is_empty(), "{stage}: {told:#?}"),
            Some(expected) => assert!(told.iter().any(|told| told.contains(expected)), "{stage}: {told:#?}"),
        }
    }
    let before_ready = "name: s, uses: tests, depends_on: [p]";
    let ready = "name: r, uses: ready, depends_on: [s]";
    assert_eq!(problems_of(&of_stages(&[WRITER, PUBLISH, before_ready, ready])), [""; 0]);
}

#[test]
fn a_pipeline_that_was_written_for_another_system_is_read() {
    let yaml = "\
name: coding_harness
version: \"1.0\"
stages:
  - name: develop_code
    agent: developer
    checks: [pushed_commit]
  - name: run_tests
    depends_on: [develop_code]
    agent: developer
    begins_with: checks
    checks: [pushed_commit, tests]
    inputs: { code: '{{develop_code.code}}', test_files: '{{develop_code.test_files}}' }
  - name: write_up
    depends_on: [run_tests]
    agent: developer
    arguments: [a, b, c, d, e, f, g, h, i, '{{run_tests.test_results}}', '{{run_tests.final_code}}']
";
    let pipeline = Pipeline::parse(yaml).unwrap();
    assert_eq!(pipeline.version.to_string(), "1.0");
    assert_eq!(pipeline.stages[2].arguments.len(), 11);
    let json = serde_json::to_string(&pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&json).unwrap(), pipeline, "as the journal keeps it");
    for version in ["1", "'1'", "1.0"] {
        assert_eq!(problems_of(&yaml.replace("\"1.0\"", version)), [""; 0], "{version}");
    }
}

#[test]
fn a_command_template_that_is_not_there_is_told_with_those_that_are() {
    let yaml = of_stages(&[
        "name: a, agent: x, command: classify, output: {one_of: [/bug, chore]}",
        "name: b, agent: x, depends_on: [a], command: '{{a.result}}'",
        "name: c, agent: x, command: /implment, checks: [verifier], verifier: v",
        "name: d, agent: x",
    ]);
    let roles = roles(&[("x", ""), ("v", "review_command: look")]);
    let known = ["bug", "classify", "work"].map(str::to_owned).into();
    let invalid = Pipeline::parse_knowing(&yaml, &roles, &known).unwrap_err();
    assert_eq!(
        told(&invalid),
        [
            "line 5: stage \"b\": `command`: there is no template \"chore\"; these are: bug, classify, work",
            "line 6: stage \"c\": `command`: there is no template \"implment\"; these are: bug, classify, work",
            "line 6: stage \"c\": `verifier`: the role v reviews with the template \"look\", which is not there; \
             these are: bug, classify, work",
        ]
    );
    assert_eq!(Pipeline::parse_with(&yaml, &roles).map(|_| ()), Ok(()), "where templates are not known");
}

#[test]
fn every_problem_can_name_its_key() {
    for (stage, expected) in [
        ("name: a, agent: x, retry_count: many", "stage \"a\": `retry_count`: a whole number, 0 or more,"),
        ("name: A, agent: x", "stage \"A\": `name`: a name has 1 to 40"),
        (
            "name: a, agent: x, depends_on: [b]",
            "stage \"a\": `depends_on`: depends on \"b\", which is not a stage",
        ),
        ("name: a, agent: x, budget: 0", "stage \"a\": `budget` is dollars"),
        ("name: a, agent: x, agnet: y", "stage \"a\": unknown key `agnet`; did you mean `agent`?"),
    ] {
        let invalid = Pipeline::parse(&of_stages(&[stage])).unwrap_err();
        let said = invalid.problems[0].said_with_key();
        assert!(said.starts_with(expected), "{said}");
    }
}

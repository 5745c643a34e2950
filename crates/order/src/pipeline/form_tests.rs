//! What a file's form is against: told at once, and `null` is no fault.

use super::*;

fn of_stages(stages: &[&str]) -> String {
    let stages: String = stages.iter().map(|stage| format!("  - {{{stage}}}\n")).collect();
    format!("name: p\nversion: 1\nstages:\n{stages}")
}

fn problems_of(yaml: &str) -> Vec<String> {
    let problems = Pipeline::parse(yaml).map_or_else(|invalid| invalid.problems, |_| Vec::new());
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_yaml_says_of_every_stage_is_told_at_once_with_the_rules_that_are_broken_elsewhere() {
    let yaml = "\
name: p
version: one
stages:
  - name: a
    agnet: x
    checks: [pushed]
    retry_count: many
  - name: b
    agent: x
    budget: -1
  - name: c
    agent: [x]
    timeout: soon
    agent: y
";
    let told = problems_of(yaml);
    let expected = [
        "line 2: `version` is a number or a text such as \"1.0\", not \"one\"",
        "line 5: stage \"a\": unknown key `agnet`; did you mean `agent`?",
        "line 6: stage \"a\": \"pushed\" is not known, one of pushed_commit, policy, tests, verifier is expected",
        "line 7: stage \"a\": a whole number, 0 or more, is expected",
        "line 10: stage \"b\": `budget` is dollars, over 0 and at most 10000",
        "line 12: stage \"c\": a text is expected",
        "line 13: stage \"c\": \"soon\" is no length of time; write 90s, 10m or 2h",
        "line 14: stage \"c\": `agent` is there twice",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_key_without_a_value_is_as_good_as_left_out() {
    let nothing = "name: p\nversion: 1\ndescription:\nstages:\n  - name: a\n    agent: x\n    depends_on: null\n    uses: ~\n    \
                   command:\n    arguments: null\n    inputs:\n    output: null\n    checks:\n    begins_with: null\n    \
                   verifier:\n    max_adversarial_rounds: null\n    feedback_mode:\n    escalate_on_exhaust: null\n    \
                   retry_count:\n    retry_policy: null\n    timeout:\n    budget: null\n    when:\n";
    let short = "name: p\nversion: 1\nstages: [{name: a, agent: x}]\n";
    assert_eq!(Pipeline::parse(nothing), Pipeline::parse(short));
    let schema = of_stages(&["name: a, agent: x, output: {json_schema: {enum: [null, 1], default: null}}"]);
    let Some(StageOutput::JsonSchema(schema)) = Pipeline::parse(&schema).unwrap().stages[0].output.clone()
    else {
        panic!("a schema")
    };
    assert_eq!(schema, serde_json::json!({"enum": [null, 1], "default": null}), "in a schema it is a value");
}

#[test]
fn a_verifier_alone_implies_its_check() {
    let both = of_stages(&["name: a, agent: x, checks: [pushed_commit, verifier], verifier: v"]);
    let alone = of_stages(&["name: a, agent: x, checks: [pushed_commit], verifier: v"]);
    assert_eq!(Pipeline::parse(&alone), Pipeline::parse(&both));
    let nothing_else = Pipeline::parse(&of_stages(&["name: a, agent: x, verifier: v"])).unwrap();
    assert_eq!(nothing_else.stages[0].checks, [Check::Verifier]);
}

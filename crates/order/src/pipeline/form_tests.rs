//! Optional parts of a pipeline file.

use super::tests::of_stages;
use super::*;

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

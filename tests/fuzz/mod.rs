//! Mutates input from outside and passes it to the real parsers through production's entry points. They must not panic,
//! must end in time, and must only let harmless input through.
//!
//! `make test` runs the corpus in `tests/fixtures/fuzz`, and mutations of it for a few seconds; `make fuzz` runs for
//! minutes. Failing inputs are minimized and stored there, so they are always tried again.

mod engine;
mod targets;

use engine::{Target, fuzz};

#[test]
fn deliveries_of_webhooks() {
    fuzz(&Target {
        name: "webhook",
        seeds: &["tests/fixtures/payloads"],
        words: targets::webhook::WORDS,
        cases: 700,
        run: targets::webhook::deliveries,
    });
}

#[test]
fn what_agents_print() {
    fuzz(&Target {
        name: "transcript",
        seeds: &["tests/fixtures/agents"],
        words: targets::transcript::WORDS,
        cases: 700,
        run: targets::transcript::transcripts,
    });
}

#[test]
fn templates_and_what_is_filled_in() {
    fuzz(&Target {
        name: "template",
        seeds: &["templates/commands"],
        words: targets::template::WORDS,
        cases: 400,
        run: targets::template::templates,
    });
}

#[test]
fn pipelines_roles_and_settings_of_repositories() {
    fuzz(&Target {
        name: "pipeline",
        seeds: &["templates/pipelines", "templates/agents"],
        words: targets::pipeline::WORDS,
        cases: 500,
        run: targets::pipeline::pipelines,
    });
}

#[test]
fn what_test_runners_print() {
    fuzz(&Target {
        name: "runner",
        seeds: &["tests/fixtures/runners"],
        words: targets::runner::WORDS,
        cases: 200,
        run: targets::runner::runs,
    });
}

#[test]
fn what_is_said_on_github() {
    fuzz(&Target {
        name: "render",
        seeds: &[],
        words: targets::render::WORDS,
        cases: 120,
        run: targets::render::bodies,
    });
}

#[test]
fn what_agents_push() {
    fuzz(&Target {
        name: "tree",
        seeds: &[],
        words: targets::tree::WORDS,
        cases: 80,
        run: targets::tree::trees,
    });
}

#[test]
fn changes_that_are_read_for_cheats() {
    fuzz(&Target {
        name: "change",
        seeds: &[],
        words: targets::change::WORDS,
        cases: 40,
        run: targets::change::changes,
    });
}

#[test]
fn receipts_that_anybody_hands_over() {
    fuzz(&Target {
        name: "receipt",
        seeds: &[],
        words: targets::receipt::WORDS,
        cases: 500,
        run: targets::receipt::receipts,
    });
}

#[test]
fn what_a_sandbox_says_to_its_door() {
    fuzz(&Target {
        name: "gateway",
        seeds: &[],
        words: targets::gateway::WORDS,
        cases: 250,
        run: targets::gateway::requests,
    });
}

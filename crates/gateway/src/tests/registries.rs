//! Real programs at the door, and what they come for. Not part of an ordinary run: they need a network.

use std::process::Stdio;

use super::*;

/// `GATEWAY_NAMES` holds entries, with commas between; `GATEWAY_COMMAND` a command for a shell, which is run with the
/// environment of a job and has to succeed.
#[tokio::test]
#[ignore = "needs a network, and names that this machine may reach"]
async fn real_programs_come_to_the_door_and_through_it() {
    let entries = std::env::var("GATEWAY_NAMES").unwrap();
    let command = std::env::var("GATEWAY_COMMAND").unwrap();
    let entries: Vec<&str> = entries.split(',').collect();
    let gateway = super::super::open(names(&entries));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let variables = gateway.environment(listener.local_addr().unwrap().port());
    let guard = gateway.serve(listener).unwrap();
    let mut shell = tokio::process::Command::new("bash");
    shell.args(["-c", &command]).envs(variables).stdin(Stdio::null());
    let status = shell.status().await.unwrap();
    let record = guard.end().await;
    println!("{record:#?}");
    assert!(status.success());
    assert!(!record.reached.is_empty(), "it went another way");
}

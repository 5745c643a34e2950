//! The program itself, `journeyman serve`: asked to stop, killed, started twice, started wrongly.

use std::net::SocketAddr;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use journeyman::order::JournalEvent;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::hold::{Death, paid_once, result};
use super::world::{Agent, PATIENCE, REPOSITORY, World};

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_journeyman");
const NO_CHANGES: [(&str, &str); 0] = [];

/// A running `journeyman serve`.
pub(super) struct Serving {
    child: Child,
    pub(super) address: SocketAddr,
}

fn serve(world: &World, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--config"]).arg(world.config()).env_remove("NO_COLOR").env_remove("RUST_LOG");
    command.envs(variables.iter().copied()).stdin(Stdio::null()).kill_on_drop(true);
    command
}

pub(super) async fn start(world: &World) -> Serving {
    start_with(world, &NO_CHANGES).await
}

pub(super) async fn start_with(world: &World, variables: &[(&str, &str)]) -> Serving {
    let mut child = serve(world, variables).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
    let listens = async {
        let mut said = Vec::new();
        while let Some(line) = lines.next_line().await.expect("it speaks UTF-8") {
            assert!(!line.contains('\x1b'), "no colours where no terminal is: {line:?}");
            if let Some((_, rest)) = line.split_once("listening on http://") {
                let address = rest.split(',').next().unwrap_or_default();
                return address.parse().expect("an address");
            }
            said.push(line);
        }
        panic!("it does not listen: {}", said.join("\n"));
    };
    let address = tokio::time::timeout(PATIENCE, listens).await.expect("it listens in time");
    let log = world.log();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = std::io::Write::write_all(&mut &log, format!("{line}\n").as_bytes());
        }
    });
    world.emulator.set_webhook_url(&format!("http://{address}/webhook"));
    Serving { child, address }
}

impl Serving {
    pub(super) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.expect("it runs"), signal).expect("it hears signals");
    }

    /// Stops the process with a signal that it cannot notice.
    pub(super) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(super) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to stop; returns the time it took and the exit code.
    pub(super) async fn terminate(&mut self) -> (Duration, Option<i32>) {
        let begun = Instant::now();
        self.signal(Signal::TERM);
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends");
        (begun.elapsed(), ended.expect("it can be waited for").code())
    }

    pub(super) async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }
}

pub(super) async fn run_to_the_end(world: &World) {
    let done = world.emulator.wait_for("the order is done", PATIENCE, |emulator| {
        let issue = emulator.issue(REPOSITORY, world.issue)?;
        let mut ours = issue.labels.iter().filter(|label| label.starts_with("journeyman:"));
        (ours.next().is_some_and(|label| label == "journeyman:done") && ours.next().is_none()).then_some(())
    });
    done.await.unwrap_or_else(|error| panic!("{error:#}\n{}", world.said()));
}

/// Waits until the agent is working in its sandbox.
pub(super) async fn agent_at_work(world: &World) {
    let begun = Instant::now();
    while !world.sandboxed().iter().any(|process| process.contains("scripted-agent")) {
        assert!(begun.elapsed() < PATIENCE, "no agent begins: {}", world.said());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asked_to_end_while_an_agent_works_it_ends_in_time_and_the_order_goes_on() {
    let world = World::new(Agent::SlowAtItsFirstFix(4_000)).await;
    let mut first = start(&world).await;
    world.label().await;
    world.until_begun("plan/1").await;
    while world.runs().ended.contains_key("plan/1") != world.remembered().contains("plan-1-agent.1") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    agent_at_work(&world).await;

    let (took, code) = first.terminate().await;

    assert_eq!(code, Some(0), "{}", world.said());
    assert!(took < Duration::from_secs(10), "it took {took:?}");
    let left = world.sandboxes_end(Duration::from_secs(1)).await;
    assert!(left.is_empty(), "{left:?}");
    let death = Death::of(&world);
    let journals = world.journals().await;
    assert!(journals[0].1.next.settled.is_none(), "the order stays as it was");

    let mut second = start(&world).await;
    run_to_the_end(&world).await;
    let (_, code) = second.terminate().await;
    assert_eq!(code, Some(0));
    let result = result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
    assert_eq!(result.effects.iter().filter(|effect| effect.ends_with("tests")).count(), 3);
    paid_once(&[death], &Death::of(&world)).expect("nothing is paid twice");
    println!("SIGTERM in the middle of an agent's run: ended after {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn given_time_to_end_it_lets_the_agent_finish_and_begins_nothing_new() {
    let world = World::new(Agent::SlowAtItsFirstFix(4_000)).await;
    let mut first = start_with(&world, &[("JOURNEYMAN_SERVER__DRAIN_SECONDS", "60")]).await;
    world.label().await;
    world.until_begun("implement/1").await;

    first.signal(Signal::TERM);
    let ready = format!("http://{}/ready", first.address);
    while reqwest::get(&ready).await.expect("it answers while it waits").status().as_u16() != 503 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let ended = tokio::time::timeout(PATIENCE, first.child.wait()).await.expect("it ends");

    assert_eq!(ended.expect("it can be waited for").code(), Some(0), "{}", world.said());
    assert!(world.runs().ended.contains_key("implement/1"), "the agent came to its end: {:?}", world.runs());
    let (journal, projection) = world.journals().await.remove(0);
    assert!(projection.next.settled.is_none(), "the rest of the order is left");
    let last = journal.entries().last().map(|entry| &entry.event);
    assert!(matches!(last, Some(JournalEvent::Observed { .. })), "nothing was begun after it: {last:?}");

    let mut second = start(&world).await;
    run_to_the_end(&world).await;
    assert_eq!(second.terminate().await.1, Some(0));
    result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
    let again: Vec<_> = world.runs().begun.into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(again.is_empty(), "no agent ran twice: {again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_one_on_the_same_port_says_so() {
    let world = World::new(Agent::Quick).await;
    let first = start(&world).await;
    let address = first.address.to_string();

    let second = serve(&world, &[("JOURNEYMAN_SERVER__LISTEN", &address)]).output().await.expect("it starts");

    let said = said(&second);
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("server.listen") && said.contains(&address), "{said}");
    assert!(said.contains("another Journeyman"), "{said}");
    let health = reqwest::get(format!("http://{address}/health")).await.expect("the first one still answers");
    assert_eq!(health.status().as_u16(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_one_on_the_same_data_or_the_same_database_says_who_has_it_and_does_no_work() {
    let world = World::new(Agent::Quick).await;
    let first = start(&world).await;
    let id = first.child.id().expect("it runs");

    let data = serve(&world, &NO_CHANGES).output().await.expect("it starts");
    assert_eq!(data.status.code(), Some(1), "{}", said(&data));
    assert!(
        said(&data).contains("data.dir") && said(&data).contains(&format!("process {id} on")),
        "{}",
        said(&data)
    );

    let elsewhere = world.path("elsewhere");
    let elsewhere = [("JOURNEYMAN_DATA__DIR", elsewhere.to_str().expect("a path in UTF-8"))];
    let database = serve(&world, &elsewhere).output().await.expect("it starts");
    let said = said(&database);
    assert_eq!(database.status.code(), Some(1), "{said}");
    assert!(
        said.contains("another Journeyman has the database") && said.contains(&format!("process {id} on")),
        "{said}"
    );

    world.label().await;
    run_to_the_end(&world).await;
    result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

//! `journeyman orders`, `show`, `logs`, `retry`, `approve`, `cancel`: queries and controls a running server.
//!
//! May know: the REST API's answers. Must never know: a store, or how work is done.

mod server;

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use indicatif::HumanDuration;
use serde_json::{Value, json};

use super::live::{LineTarget, LiveOutput, one_line, whole};
use crate::order::{JournalEntry, OrderWait, RepositoryName};
use server::{OrderName, RunningServer, ServerArguments};

/// The largest page of the API.
const PAGE: u32 = 200;
/// How often `logs --follow` polls.
const LOOK: Duration = Duration::from_secs(1);

/// What `orders` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "An order is named by its issue (acme/app#12, its latest order) or by its id.\n\nExample:\n  \
                        journeyman orders --server https://journeyman.example.org\n  journeyman show acme/app#12\n  \
                        journeyman logs -f acme/app#12\n  journeyman retry acme/app#12 --advice 'Keep the old name.'"
)]
pub(super) struct OrdersArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Also those that have ended, the latest 200.
    #[arg(long)]
    all: bool,
    /// Only those that a person has to look at, with why and what can be said; those that have ended, too.
    #[arg(long, conflicts_with = "all")]
    needs_person: bool,
    /// Only those of this repository.
    #[arg(long, value_name = "OWNER/NAME")]
    repository: Option<RepositoryName>,
    /// Print one JSON document instead of words.
    #[arg(long)]
    json: bool,
}

/// What `show` is told.
#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// OWNER/NAME#ISSUE, or an order's id.
    order: OrderName,
    #[command(flatten)]
    server: ServerArguments,
    /// Print one JSON document instead of words.
    #[arg(long)]
    json: bool,
}

/// What `logs` is told.
#[derive(Debug, Args)]
pub(super) struct LogsArguments {
    /// OWNER/NAME#ISSUE, or an order's id.
    order: OrderName,
    #[command(flatten)]
    server: ServerArguments,
    /// Go on until the order has ended.
    #[arg(long, short)]
    follow: bool,
}

/// What `approve` and `cancel` are told.
#[derive(Debug, Args)]
pub(super) struct CommandArguments {
    /// OWNER/NAME#ISSUE, or an order's id.
    order: OrderName,
    #[command(flatten)]
    server: ServerArguments,
}

/// What `retry` is told.
#[derive(Debug, Args)]
pub(super) struct RetryArguments {
    #[command(flatten)]
    command: CommandArguments,
    /// What the agent is to do differently.
    #[arg(long, value_name = "TEXT")]
    advice: Option<String>,
}

pub(super) async fn list(arguments: OrdersArguments) -> anyhow::Result<u8> {
    let server = RunningServer::find(arguments.server)?;
    let mut query = format!("/api/v1/work-orders?limit={PAGE}");
    match (arguments.needs_person, arguments.all) {
        (true, _) => query += "&needs_person=true",
        (false, false) => query += "&active=true",
        (false, true) => {}
    }
    if let Some(repository) = &arguments.repository {
        query += &format!("&repository={repository}");
    }
    let list = server.get(&query).await?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(0);
    }
    let now = Utc::now();
    let orders: &[Value] = list["work_orders"].as_array().map_or(&[], Vec::as_slice);
    if orders.is_empty() && arguments.needs_person {
        println!("nothing waits for a person");
    } else if orders.is_empty() && !arguments.all {
        println!(
            "nothing is at work; `--all` lists what has ended, `--needs-person` what a person has to look at"
        );
    }
    let rows: Vec<[String; 4]> = orders.iter().map(|order| row(order, now)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (issues, states, ages) = (width(0), width(1), width(2));
    for [issue, state, age, waits] in &rows {
        println!("{}", format!("{issue:issues$}  {state:states$}  {age:ages$}  {waits}").trim_end());
    }
    if !list["before"].is_null() {
        println!("… and older ones: `--json` and GET /api/v1/work-orders?before= have them");
    }
    Ok(0)
}

/// An order as a table row: its issue, state, age, and what it waits for.
fn row(order: &Value, now: DateTime<Utc>) -> [String; 4] {
    let age = time(&order["updated_at"]).map(|at| format!("{} ago", since(at, now))).unwrap_or_default();
    let mut told = waits(order, now);
    // For an active order, `waits` already gives the reason.
    if order["active"] != true {
        told.extend(Some(word(&order["because"])).filter(|because| !because.is_empty()));
    }
    told.extend(next(order));
    [issue(order), state(order), age, told.join("; ")]
}

/// The order's state. One that a person cancelled is shown as stopped.
fn state(order: &Value) -> String {
    match word(&order["state"]) {
        cancelled if cancelled == "cancelled" => "stopped".to_owned(),
        state => state,
    }
}

/// The commands that a person can use, if the order needs one or was cancelled.
fn next(order: &Value) -> Option<String> {
    let commands: Vec<String> = order["next_commands"].as_array()?.iter().map(word).collect();
    let is_asked = order["needs_person"] == true || order["state"] == "cancelled";
    (is_asked && !commands.is_empty()).then(|| format!("next: {}", commands.join(" or ")))
}

fn issue(order: &Value) -> String {
    format!("{}#{}", word(&order["repository"]), order["issue"])
}

/// Foreign text in one line.
fn word(text: &Value) -> String {
    one_line(text.as_str().unwrap_or_default())
}

fn time(at: &Value) -> Option<DateTime<Utc>> {
    at.as_str()?.parse().ok()
}

fn since(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    HumanDuration((now - at).to_std().unwrap_or_default()).to_string()
}

fn waits(order: &Value, now: DateTime<Utc>) -> Vec<String> {
    let waits: Vec<OrderWait> = serde_json::from_value(order["waits_for"].clone()).unwrap_or_default();
    let said = waits.into_iter().map(|wait| match wait {
        OrderWait::Effect { key, since: begun } => format!("{key}, for {}", since(begun, now)),
        OrderWait::Attempt { because, until } => {
            format!("the next attempt in {}: {}", since(now, until), word(&json!(because)))
        }
        OrderWait::Person { to } => format!("a person, to {to}"),
    });
    said.collect()
}

pub(super) async fn show(arguments: ShowArguments) -> anyhow::Result<u8> {
    let server = RunningServer::find(arguments.server)?;
    let path = server.path_of(&arguments.order).await?;
    let mut order = server.get(&path).await?;
    let steps = server.get(&format!("{path}/steps")).await.unwrap_or_default();
    if arguments.json {
        order["steps"] = steps["steps"].clone();
        println!("{}", serde_json::to_string_pretty(&order)?);
        return Ok(0);
    }
    let now = Utc::now();
    println!("{}: {}", issue(&order), state(&order));
    let line = |name: &str, text: &str| println!("  {name:13}{text}");
    line("order", &word(&order["id"]));
    if let Some(at) = time(&order["opened_at"]) {
        line("opened", &format!("{} ago", since(at, now)));
    }
    if order["branch"].is_string() {
        line("branch", &word(&order["branch"]));
    }
    if order["pull_request"].is_u64() {
        let url = Some(word(&order["pull_request_url"])).filter(|url| !url.is_empty());
        let url = url.map(|url| format!(", {url}")).unwrap_or_default();
        line("pull request", &format!("#{}{url}", order["pull_request"]));
    }
    if let Some(because) = order["because"].as_str().filter(|_| order["active"] != true) {
        line("because", &whole(because));
    }
    for wait in waits(&order, now) {
        line("waits for", &wait);
    }
    let budget = &order["budget"];
    if let (Some(spent), Some(limit)) = (budget["usd_spent"].as_f64(), budget["usd_limit"].as_f64()) {
        line(
            "spent",
            &format!("${spent:.2} of ${limit:.2}, {} of {} runs", budget["runs_spent"], budget["runs_limit"]),
        );
    }
    if let Some(next) = next(&order) {
        let next = next.trim_start_matches("next: ");
        line("next", &format!("{next}, as a comment or as a command here, such as `journeyman retry`"));
    }
    for step in steps["steps"].as_array().into_iter().flatten() {
        println!("  {}", step_line(step, order["active"] == true));
    }
    println!("  journeyman logs {} shows all that was done", arguments.order);
    Ok(0)
}

fn step_line(step: &Value, is_active: bool) -> String {
    let mark = match step["success"].as_bool() {
        Some(true) => "✔",
        Some(false) => "✘",
        None if is_active => "…",
        None => "■",
    };
    let round = step["round"].as_u64().map(|round| format!(", round {round}")).unwrap_or_default();
    let agent = step["agent"].as_str().map(|agent| format!(", {agent}")).unwrap_or_default();
    let took = step["duration_seconds"].as_f64().and_then(|took| Duration::try_from_secs_f64(took).ok());
    let took = took.map(|took| format!(", {}", HumanDuration(took))).unwrap_or_default();
    let said = [&step["error"], &step["result"]].map(word).into_iter().find(|text| !text.is_empty());
    let is_stopped = !is_active && step["success"].is_null();
    let said = said.or_else(|| is_stopped.then(|| "stopped".to_owned()));
    let said = said.map(|text| format!(": {text}")).unwrap_or_default();
    format!("{mark} {}{round}{agent}{took}{said}", word(&step["stage"]))
}

pub(super) async fn logs(arguments: LogsArguments) -> anyhow::Result<u8> {
    let server = RunningServer::find(arguments.server)?;
    let path = server.path_of(&arguments.order).await?;
    let (mut live, mut last) = (LiveOutput::new(LineTarget::Output), 0);
    loop {
        // Ask before reading the entries: if the order has ended, they are then complete.
        let is_active = server.get(&path).await?["active"] == true;
        let answer = server.get(&format!("{path}/journal?after={last}")).await?;
        for entry in answer["entries"].as_array().into_iter().flatten() {
            last = entry["seq"].as_u64().unwrap_or(last);
            // Skip an entry that only a newer version understands.
            if let Ok(entry) = serde_json::from_value::<JournalEntry>(entry.clone()) {
                live.show(&entry);
            }
        }
        if !arguments.follow || !is_active {
            return Ok(0);
        }
        tokio::time::sleep(LOOK).await;
    }
}

pub(super) async fn retry(arguments: RetryArguments) -> anyhow::Result<u8> {
    let body = arguments.advice.map_or_else(|| json!({}), |advice| json!({"guidance": advice}));
    tell(arguments.command, "retry", body).await
}

pub(super) async fn approve(arguments: CommandArguments) -> anyhow::Result<u8> {
    tell(arguments, "approve", json!({})).await
}

pub(super) async fn cancel(arguments: CommandArguments) -> anyhow::Result<u8> {
    tell(arguments, "cancel", json!({})).await
}

async fn tell(arguments: CommandArguments, command: &str, body: Value) -> anyhow::Result<u8> {
    let server = RunningServer::find(arguments.server)?;
    let path = server.path_of(&arguments.order).await?;
    let answer = server.post(&format!("{path}/{command}"), body).await?;
    let signal = &answer["signal"];
    match signal["answer"].as_str() {
        Some("ignored") => {
            println!("{}: not done: {}", issue(&answer), word(&signal["because"]));
            Ok(1)
        }
        Some("asking") => {
            println!("{}: told; it answers as soon as it can", issue(&answer));
            Ok(0)
        }
        _ => {
            println!("{}: told to {command}", issue(&answer));
            Ok(0)
        }
    }
}

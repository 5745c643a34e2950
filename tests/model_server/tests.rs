//! The server on the wire, without a client that forgives.

use serde_json::{Value, json};

use super::{ModelServer, Reply, Say};

fn ask(stream: bool) -> Value {
    json!({
        "model": "claude-test", "max_tokens": 100, "stream": stream, "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": "Say it." }],
    })
}

async fn post(server: &ModelServer, path: &str, body: &Value) -> (u16, String) {
    let request = reqwest::Client::new()
        .post(format!("{}{path}", server.url()))
        .header("x-api-key", "nobody's")
        .header("content-type", "application/json")
        .body(body.to_string());
    let response = request.send().await.expect("the server answers");
    (response.status().as_u16(), response.text().await.expect("a body"))
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn a_stream_adds_up_to_the_same_message_as_the_answer_given_whole() {
    let said = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.";
    let input = json!({ "command": "echo \"ä\" \\ \n" });
    let blocks = vec![Say::Text(said.to_owned()), Say::Use { tool: "Bash".to_owned(), input: input.clone() }];
    let server = ModelServer::start(move |_| Reply::Say(blocks.clone()));

    let whole = parse(&post(&server, "/v1/messages?beta=true", &ask(false)).await.1);
    assert_eq!(whole["content"][0]["text"], said);
    assert_eq!(whole["content"][1]["input"], input);
    assert_eq!(whole["stop_reason"], "tool_use");

    let (mut text, mut partial_json, mut order) = (String::new(), String::new(), Vec::new());
    for event in post(&server, "/v1/messages", &ask(true)).await.1.split_terminator("\n\n") {
        let (name, data) = event.split_once("\ndata: ").expect("an event has a name and data");
        let data = parse(data);
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        text += data["delta"]["text"].as_str().unwrap_or_default();
        partial_json += data["delta"]["partial_json"].as_str().unwrap_or_default();
        order.push(data["type"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(text, said);
    assert_eq!(parse(&partial_json), input);
    order.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start", "ping"], &block[..], &block[..], &["message_delta", "message_stop"]].concat();
    assert_eq!(order, expected);
}

#[tokio::test]
async fn what_is_not_a_conversation_is_answered_without_the_script() {
    let server = ModelServer::start(|_| panic!("only conversations are for the script"));
    let title = json!({ "model": "m", "messages": [{ "role": "user", "content": "A title, please" }] });

    let (status, answer) = post(&server, "/v1/messages", &title).await;
    assert_eq!((status, &parse(&answer)["content"][0]["text"]), (200, &json!("ok")));
    let (status, answer) = post(&server, "/v1/messages/count_tokens", &ask(false)).await;
    assert!(status == 200 && parse(&answer)["input_tokens"].as_u64() > Some(0), "{answer}");
    assert_eq!(post(&server, "/v1/other", &ask(false)).await.0, 404);

    assert_eq!(server.requests().len(), 3);
    assert!(server.conversation().is_empty());
}

#[tokio::test]
async fn a_refusal_has_the_shape_of_the_api() {
    let server = ModelServer::start(|_| Reply::overloaded());
    let (status, answer) = post(&server, "/v1/messages", &ask(true)).await;
    assert_eq!((status, &parse(&answer)["error"]["type"]), (529, &json!("overloaded_error")));

    let (status, answer) = post(&server, "/v1/messages", &json!({ "model": "m" })).await;
    assert_eq!((status, &parse(&answer)["error"]["type"]), (400, &json!("invalid_request_error")));
}

#[test]
fn steps_and_results_count_from_the_last_prompt() {
    let request = super::Request {
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        agent: "journeyman-stories".to_owned(),
        has_key: true,
        body: json!({ "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "<system-reminder>today</system-reminder>" },
                { "type": "text", "text": "First" },
            ] },
            { "role": "system", "content": "# Environment" },
            { "role": "assistant", "content": [{ "type": "tool_use", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "content": "old" }] },
            { "role": "assistant", "content": "Done." },
            { "role": "user", "content": "Second" },
            { "role": "assistant", "content": [{ "type": "tool_use", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [
                { "type": "tool_result", "is_error": true, "content": [{ "type": "text", "text": "new" }] },
                { "type": "text", "text": "<system-reminder>be brief</system-reminder>" },
            ] },
        ] }),
    };
    assert_eq!(request.prompts(), ["First", "Second"]);
    assert_eq!(request.step(), 1);
    let results: Vec<_> = request.tool_results().into_iter().map(|r| (r.text, r.is_error)).collect();
    assert_eq!(results, [("new".to_owned(), true)]);
    assert!(request.remembers("old") && !request.remembers("older"));
}

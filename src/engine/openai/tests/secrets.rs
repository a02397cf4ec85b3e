//! What servers echo, on every path to a message.

use std::time::Duration;

use super::server::{Act, STREAM, chunk, json, repeat, send, serve};
use super::{OpenAiEngine, answer_to, ask, engine, target};
use crate::engine::target::{Secret, Target};
use crate::record::EngineKind;

const KEY: &str = "hunter2hunter2";

#[tokio::test]
async fn a_key_is_hidden_wherever_a_message_is_cut() {
    for before in [140, 150, 155, 290, 295, 299] {
        let said = "x".repeat(before) + KEY;
        let typed = format!("\"error {said}\"");
        for acts in [
            vec![Act::Send(json(400, &format!("{{\"error\":\"{said}\"}}")))],
            vec![Act::Send(json(502, &said))],
            vec![send(STREAM), chunk(&format!("data: {said}\n\n"))],
            vec![send(STREAM), chunk(&format!("data: {{\"error\":\"{said}\"}}\n\n"))],
            // The parser's own error repeats what it cannot read.
            vec![send(STREAM), chunk(&format!("data: {typed}\n\n"))],
            vec![Act::Send(json(200, &format!("{{\"a\":\"{said}\"}}")))],
        ] {
            let message = answer_to(acts).await.1.result.unwrap_err().message;
            assert!(!message.contains("xh"), "{before}: {message}");
        }
    }
}

#[tokio::test]
async fn a_key_is_hidden_as_it_is_sent() {
    let server = serve(vec![vec![Act::Send(json(401, &format!("{{\"error\":\"bad key {KEY}\"}}")))]]).await;
    let mut target = target(&server);
    target.api_key = Some(Secret::new(format!(" {KEY}\n")));
    let failure = ask(&engine(target).await).await.1.result.unwrap_err();
    assert_eq!(failure.message, "bad key ***");
}

#[tokio::test]
async fn control_messages_are_hidden_and_short() {
    let long = format!("{KEY} {}", "words ".repeat(1000));
    for answer in [
        json(200, &format!("not JSON: {long}")),
        json(500, &long),
        json(500, &format!("{{\"error\":\"{long}\"}}")),
        json(500, &format!("{{\"error\":\"{}{KEY}\"}}", "x".repeat(255))),
    ] {
        let mut target = Target::new(repeat(answer).await.parse().unwrap(), EngineKind::Openai);
        target.api_key = Some(Secret::new(KEY));
        let error = OpenAiEngine::connect(target, Duration::ZERO, |_| ()).await.err().unwrap().to_string();
        assert!(error.contains("***") && !error.contains("hu") && error.len() < 600, "{error}");
    }
}

#[tokio::test]
async fn a_refusal_without_end_is_not_read_to_it() {
    // Announced as a terabyte, and never sent: only a limit ends the reading.
    let head = "HTTP/1.1 500 X\r\ncontent-length: 1000000000000\r\n\r\n";
    let answer = [head.as_bytes(), &b"words ".repeat(20_000)].concat();
    let target = Target::new(repeat(answer).await.parse().unwrap(), EngineKind::Openai);
    let error = OpenAiEngine::connect(target, Duration::from_secs(1), |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("answers 500: words words"), "{error}");
}

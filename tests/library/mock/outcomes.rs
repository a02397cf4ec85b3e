//! Skyline's own client reads every fault as what it is.

use std::time::Duration;

use skyline::clock::RunClock;
use skyline::engine::{Answer, AnswerEnd, AnswerEvent, Engine, Header, OpenAiEngine, PreparedRequest, Target};
use skyline::mock::{Fault, MockOptions, MockServer};
use skyline::record::{EngineKind, FailureKind};

use super::support::{chat, quick};

/// What the client makes of a chat of eight tokens: chunks, tokens told, the end; `None` when three seconds of silence
/// ended the wait.
async fn fly(server: &MockServer, fault: Option<Fault>) -> (usize, Option<AnswerEnd>) {
    let mut target = Target::new(format!("http://{}", server.address()).parse().unwrap(), EngineKind::Vllm);
    if let Some(fault) = fault {
        target.headers = vec![format!("x-skyline-fault: {fault}").parse::<Header>().unwrap()];
    }
    let engine = OpenAiEngine::connect(target, Duration::from_secs(5), |_| ()).await.unwrap();
    let request = PreparedRequest::new(0, chat(8).to_string().into());
    let mut answer = engine.generate(request, RunClock::starting_in(Duration::ZERO));
    let mut chunks = 0;
    loop {
        match tokio::time::timeout(Duration::from_secs(3), answer.next()).await {
            Ok(AnswerEvent::Ended(end)) => return (chunks, Some(*end)),
            Ok(AnswerEvent::Chunk { .. }) => chunks += 1,
            Ok(_) => {}
            Err(_) => return (chunks, None),
        }
    }
}

#[tokio::test]
async fn every_fault_has_its_outcome() {
    let server = quick(MockOptions::default());
    for fault in Fault::all() {
        let broken = match fault {
            // Not by header; seen in the test of connections that break.
            Fault::Refuse => continue,
            Fault::Hang => {
                assert_eq!(fly(&server, Some(fault)).await, (4, None));
                continue;
            }
            Fault::Http400 => Some(FailureKind::HttpStatus(400)),
            Fault::Http401 => Some(FailureKind::HttpStatus(401)),
            Fault::Http404 => Some(FailureKind::HttpStatus(404)),
            Fault::Http429 => Some(FailureKind::HttpStatus(429)),
            Fault::Http500 => Some(FailureKind::HttpStatus(500)),
            Fault::Http503 => Some(FailureKind::HttpStatus(503)),
            Fault::ResetBeforeHeaders | Fault::ResetMidStream => Some(FailureKind::Reset),
            Fault::Truncated => Some(FailureKind::Truncated),
            Fault::ErrorMidStream => Some(FailureKind::StreamError),
            Fault::MalformedJson => Some(FailureKind::Malformed),
            Fault::NoUsage
            | Fault::NoDone
            | Fault::Stall(_)
            | Fault::SlowStart(_)
            | Fault::Crlf
            | Fault::BrokenAnswer
            | Fault::OffSchema
            | Fault::Comments
            | Fault::SplitUtf8
            | Fault::Coalesced
            | Fault::Gathered
            | Fault::RoleEarly
            | Fault::MultiToken
            | Fault::Reasoning
            | Fault::ToolCalls => None,
        };
        let fault = match fault {
            Fault::SlowStart(_) => Fault::SlowStart(Duration::from_millis(100)),
            fault => fault,
        };
        let (chunks, end) = fly(&server, Some(fault)).await;
        let end = end.unwrap_or_else(|| panic!("{fault}: silence"));
        let kind = end.result.as_ref().err().map(|failure| failure.reason);
        assert_eq!(kind, broken, "{fault}: {end:?}");
        if broken.is_none() {
            let expected = if fault == Fault::MultiToken { 2 } else { 8 };
            assert_eq!(chunks, expected, "{fault}");
            let tokens = end.usage.map(|usage| usage.completion_tokens);
            assert_eq!(tokens, (fault != Fault::NoUsage).then_some(8), "{fault}");
        }
    }
    let (chunks, end) = fly(&server, None).await;
    assert_eq!((chunks, end.unwrap().result), (8, Ok(())));
}

//! Hints for what fails before the load, and lengths that are kept or not.

use super::*;
use crate::engine::target::{PriorityField, Target};

#[test]
fn hints_name_the_options_of_the_server_in_use_and_of_no_other() {
    let foreign = |hint: &str, own: &[&str]| {
        let all = ["--scheduling-policy", "--enable-priority", "--enable-auto", "--jinja", "guided_decoding_backend"];
        all.into_iter().find(|option| hint.contains(option) && !own.contains(option)).map(str::to_owned)
    };
    for (dialect, priority, form) in [
        (EngineKind::Vllm, "--scheduling-policy", "--enable-auto"),
        (EngineKind::Sglang, "--enable-priority", "--tool-call-parser NAME"),
        (EngineKind::Llamacpp, "", "--jinja"),
        (EngineKind::Trtllm, "", "guided_decoding_backend"),
        (EngineKind::Openai, "", "tools need a parser, JSON"),
    ] {
        let mut target = Target::new("http://h".parse().unwrap(), dialect);
        target.priority = PriorityField::Sent;
        let failure = Failure::new(FailureKind::HttpStatus(400), "no priority here");
        let fault = DiagnosedFailure { failure: failure.clone(), cause: Cause::Unknown };
        let hint = diagnose(&target, "m", &[], &fault);
        assert!(hint.contains(priority) && hint.contains("--send-priority"), "{dialect}: {hint}");
        assert_eq!(foreign(&hint, &[priority]), None, "{dialect}: {hint}");
        let fault = |status| DiagnosedFailure {
            failure: Failure::new(FailureKind::HttpStatus(status), "no"),
            cause: Cause::Unknown,
        };
        assert!(diagnose(&target, "m", &[], &fault(502)).starts_with("a gateway or proxy answers"));
        assert!(diagnose(&target, "m", &[], &fault(500)).starts_with("the server failed"));
        let refused = AnswerFormRefused { dialect, kind: "tool_call", failure }.to_string();
        assert!(refused.contains(form), "{dialect}: {refused}");
        assert_eq!(foreign(&refused, &[form]), None, "{dialect}: {refused}");
    }
}

#[test]
fn a_length_is_judged_by_the_servers_count() {
    let length = |tokens, finish| LengthTest::new(tokens, 16, false, Some(&finish));
    assert_eq!(length(Some(4), FinishReason::Length), LengthTest::Kept);
    assert_eq!(length(Some(37), FinishReason::Length), LengthTest::Ignored);
    assert_eq!(length(Some(2), FinishReason::Stop), LengthTest::EndsEarly);
    assert_eq!(length(None, FinishReason::Stop), LengthTest::Kept);
    assert_eq!(LengthTest::new(None, 17, false, Some(&FinishReason::Stop)), LengthTest::Ignored);
    assert_eq!(LengthTest::new(None, 33, true, None), LengthTest::Ignored);
}

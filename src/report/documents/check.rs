//! A check of an endpoint as a document: the server, its test request, and the golden prompts of a workload.

use serde_json::json;

use crate::engine::{LengthTest, SmokeReport};
use crate::record::{EngineFacts, Usage};
use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Note, NoteKind, Section, Tone, VerdictLine};
use crate::units::count;

/// A golden prompt by its name, with why its answer is wrong if it is.
pub type CheckedPrompt = (String, Option<String>);

/// The check as JSON.
pub fn json(
    facts: &EngineFacts,
    smoke: &SmokeReport,
    checks: &[CheckedPrompt],
) -> serde_json::Result<String> {
    let check = |(name, problem): &CheckedPrompt| json!({ "name": name, "passed": problem.is_none(), "problem": problem });
    indented(&json!({
        "schema": 1,
        "server": facts,
        "test_request": {
            "chunks": smoke.chunks,
            "prompt_tokens": smoke.usage.map(|usage| usage.prompt_tokens),
            "completion_tokens": smoke.usage.map(|usage| usage.completion_tokens),
            "length_kept": (smoke.length != LengthTest::NotTested).then_some(smoke.length == LengthTest::Kept),
        },
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
    }))
}

/// The check as a document.
pub fn document(facts: &EngineFacts, smoke: &SmokeReport, checks: &[CheckedPrompt]) -> Document {
    let failed = checks.iter().filter(|(_, unmet)| unmet.is_some()).count();
    let wrong = failed > 0 || smoke.length == LengthTest::Ignored;
    let (tone, word) = if wrong { (Tone::Bad, "FAILED") } else { (Tone::Good, "READY") };
    let server = format!("{} at {}", facts.engine, facts.url);
    let sentence = match checks.len() {
        0 => server,
        all => format!("{server}; {} of {all} checks passed", all - failed),
    };
    let mut document =
        Document::new(format!("Check of {}", facts.url)).verdict(VerdictLine::new(tone, word, sentence));
    let mut section = Section::continued(Level::Summary);
    let not_reported = || "not reported".to_owned();
    section.fact("version", facts.server_version.clone().unwrap_or_else(not_reported));
    section.fact("model", facts.model.clone());
    let context = facts.max_model_len.map(|tokens| format!("{} tokens", count(tokens)));
    section.fact("longest context", context.unwrap_or_else(not_reported));
    let how = if facts.streamed { "streamed" } else { "in one piece" };
    section.fact("endpoint", format!("{}, {how}", facts.endpoint));
    let counts = |usage: Usage| {
        let [prompt, answer] = [usage.prompt_tokens, usage.completion_tokens].map(count);
        format!("{prompt} prompt and {answer} answer tokens by its own count")
    };
    let usage = match (smoke.usage, smoke.impossible_usage) {
        (Some(usage), _) => counts(usage),
        (None, Some(usage)) => format!("{}, which is impossible and ignored", counts(usage)),
        (None, None) => "no token counts from the server".to_owned(),
    };
    let request = if smoke.cut_off {
        format!("cut off after {} chunks", smoke.chunks)
    } else {
        format!("completed in {} chunks; {usage}", smoke.chunks)
    };
    section.fact("test request", request);
    let changed = smoke.changed.as_ref().map_or_else(String::new, |changed| format!("; {changed}"));
    let length = smoke.length_in_words() + &changed;
    match smoke.length {
        LengthTest::Ignored => section.notes([Note::new(NoteKind::Missed, length)]),
        LengthTest::EndsEarly => section.notes([Note::new(NoteKind::Warning, length)]),
        LengthTest::Kept | LengthTest::NotTested => section.fact("requested length", length),
    }
    section.notes(checks.iter().map(|(name, unmet)| match unmet {
        None => Note::new(NoteKind::Met, format!("`{name}` passed")),
        Some(why) => Note::new(NoteKind::Missed, why.clone()),
    }));
    document.add([section]);
    document
}

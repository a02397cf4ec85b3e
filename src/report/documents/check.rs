//! A check of an endpoint as a document: the server, its test request, and the golden prompts of a workload.

use serde_json::json;

use crate::analysis::{OddAnswers, Reproduction, Status};
use crate::engine::{LengthTest, Protocol, ServerAbilities, SmokeReport};
use crate::record::{EngineFacts, Usage};
use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Note, Section, Table, Tone, VerdictLine};
use crate::report::documents::parts::reproduction;
use crate::units::{count, counted, joined, listed};
use crate::workload::InputBatch;

/// All that a check found.
#[derive(Clone, Copy, Debug)]
pub struct CheckedServer<'a> {
    /// The server, as a run stores it.
    pub facts: &'a EngineFacts,
    /// Answer of the server to the test request.
    pub smoke: &'a SmokeReport,
    /// Abilities of the server: what it lets itself be asked.
    pub abilities: &'a ServerAbilities,
    /// The golden prompts; none where no workload was named.
    pub checks: &'a [(String, Option<String>)],
}

/// The check as JSON.
pub fn json(found: CheckedServer<'_>) -> serde_json::Result<String> {
    let CheckedServer { facts, smoke, abilities, checks } = found;
    let check = |(name, problem): &(String, Option<String>)| json!({ "name": name, "passed": problem.is_none(), "problem": problem });
    indented(&json!({
        "schema": 1,
        "server": facts,
        "test_request": {
            "chunks": smoke.chunks,
            "prompt_tokens": smoke.usage.and_then(|usage| usage.prompt()),
            "completion_tokens": smoke.usage.and_then(|usage| usage.completion()),
            "length_kept": (smoke.length != LengthTest::NotTested).then_some(smoke.length == LengthTest::Kept),
        },
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
        "endpoints": abilities.endpoints,
        "series": abilities.series,
        "length_fields": abilities.length_fields,
        "reproduction": Reproduction::of_engine(facts),
    }))
}

/// The check as a document.
pub fn document(found: CheckedServer<'_>) -> Document {
    let CheckedServer { facts, smoke, abilities, checks } = found;
    let failed = checks.iter().filter(|(_, unmet)| unmet.is_some()).count();
    let wrong = failed > 0 || smoke.length == LengthTest::Ignored;
    let (tone, word) = if wrong { (Tone::Bad, "FAILED") } else { (Tone::Good, "READY") };
    let server = format!("{} at {}", facts.engine, facts.url);
    let sentence = match checks.len() {
        0 => server,
        all => format!("{server}; {} of {all} checks passed", all - failed),
    };
    let not_reported = || "not reported".to_owned();
    let context = facts.max_model_len.map(|tokens| format!("{} tokens", count(tokens)));
    let inputs = Protocol::named(&facts.endpoint).and_then(|protocol| protocol.inputs);
    let how = if facts.streamed { "streamed" } else { "in one piece" };
    let changed = smoke.changed.as_ref().map_or_else(String::new, |changed| format!("; {changed}"));
    let length = smoke.length_in_words() + &changed;
    let (length_note, length) = match smoke.length {
        LengthTest::Ignored => (Some(Note::new(Status::Missed, length)), None),
        LengthTest::EndsEarly => (Some(Note::warning(length)), None),
        LengthTest::Kept | LengthTest::NotTested => (None, Some(length)),
    };
    let mut odd = Vec::new();
    OddAnswers::add(&mut odd, &smoke.oddities, smoke.finish_reason.as_ref());
    let facts_known = Reproduction::of_engine(facts);
    let section = Section::continued(Level::Summary)
        .fact("version", facts.server_version.clone().unwrap_or_else(not_reported))
        .fact("model", facts.model.clone())
        .fact("longest context", context.unwrap_or_else(not_reported))
        .fact("endpoint", format!("{}, {how}", facts.endpoint))
        .fact("test request", test_request(smoke, inputs))
        .facts("requested length", length.filter(|_| inputs.is_none()))
        .notes(length_note)
        .notes(odd.iter().map(|odd| Note::warning(odd.sentence())))
        .facts("length fields", Some(abilities.length_fields.as_str()).filter(|fields| !fields.is_empty()))
        .fact("endpoints", in_brief(&endpoints(abilities), "answer", "not there"))
        .fact("metrics", in_brief(&series(abilities), "series are read", "not on its page"))
        .facts("facts", listed(facts_known.reported.iter().map(|fact| fact.name.name()), ", "))
        .facts("not reported", reproduction::not_reported(&facts_known))
        .notes(checks.iter().map(|(name, unmet)| match unmet {
            None => Note::new(Status::Met, format!("`{name}` passed")),
            Some(why) => Note::new(Status::Missed, why.clone()),
        }));
    let facts = Section::detail("Facts about the server").table(reproduction::table(&facts_known, facts));
    Document::new(format!("Check of {}", found.facts.url))
        .verdict(VerdictLine::new(tone, word, sentence))
        .with([section])
        .with(abilities_in_full(abilities))
        .with([facts])
}

/// Says how the test request ended, and what the server counted of it. It may have had inputs.
fn test_request(smoke: &SmokeReport, inputs: Option<InputBatch>) -> String {
    if smoke.cut_off {
        return format!("cut off after {} chunks", smoke.chunks);
    }
    let counts = |usage: Usage| {
        let known = |tokens: Option<u64>| tokens.map_or("unknown".to_owned(), count);
        let [prompt, answer] = [usage.prompt(), usage.completion()].map(known);
        match inputs {
            Some(_) => format!("{prompt} prompt tokens by its own count"),
            None => format!("{prompt} prompt and {answer} answer tokens by its own count"),
        }
    };
    let usage = match (smoke.usage, smoke.impossible_usage) {
        (Some(usage), _) => counts(usage),
        (None, Some(usage)) => format!("{}, which is impossible and ignored", counts(usage)),
        (None, None) => "no token counts from the server".to_owned(),
    };
    let pieces = if smoke.chunks == 0 { "one piece".to_owned() } else { counted(smoke.chunks, "chunk") };
    format!("completed in {pieces}; {usage}")
}

/// Names of what is there, and of what is not.
type There<'a> = (Vec<&'a str>, Vec<&'a str>);

fn endpoints(abilities: &ServerAbilities) -> There<'_> {
    let of = |there| abilities.endpoints.iter().filter(move |known| known.answer.is_there() == there);
    let paths = |there| of(there).map(|known| known.path.as_str()).collect();
    (paths(true), paths(false))
}

fn series(abilities: &ServerAbilities) -> There<'_> {
    let of = |found| abilities.series.iter().filter(move |known| known.found == found);
    let names = |found| of(found).map(|known| known.name.as_str()).collect();
    (names(true), names(false))
}

/// `6 of 8 answer; not there: /server_info, /tokenize`.
fn in_brief((there, not): &There<'_>, verb: &str, missing: &str) -> String {
    let all = there.len() + not.len();
    let names = match not.as_slice() {
        _ if all == 0 => return "none are known of this server".to_owned(),
        [] => String::new(),
        names if names.len() <= NAMED => format!("; {missing}: {}", names.join(", ")),
        names => format!("; {missing}: {} and {} more", joined(&names[..NAMED], ", "), names.len() - NAMED),
    };
    format!("{} of {all} {verb}{names}", there.len())
}

/// Names of what is missing that a screen has room for.
const NAMED: usize = 3;

/// Every endpoint, and every series.
fn abilities_in_full(abilities: &ServerAbilities) -> [Section; 2] {
    let endpoints = Table::over("Endpoints of the server", &abilities.endpoints)
        .column("endpoint", |known| known.path.as_str())
        .left("for", |known| known.purpose.name())
        .left("", |known| known.answer.in_words());
    let there = |found| if found { "is read" } else { "is not there" };
    let series = Table::over("Series of its page of metrics", &abilities.series)
        .column("series", |known| known.name.as_str())
        .left("", |known| there(known.found));
    [Section::detail("Endpoints").table(endpoints), Section::detail("Series of its page of metrics").table(series)]
}

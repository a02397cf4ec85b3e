//! A trace as a document and in words: what it is, what was changed, what a reader should know of it.

use serde_json::{Value, json};

use crate::report::data::json as indented;
use crate::report::document::{Document, Level, Section, Table};
use crate::units::{count, counted, percent, seconds, three_digits};
use crate::workload::{
    BadLines, Dataset, DatasetFindings, LengthSpread, SessionFindings, SessionLengths, Trace, TraceFindings,
    TraceFormat, TraceLengths, TraceZero,
};

/// Kinds of requests that a screen has room for.
const KINDS: usize = 10;

/// A trace as a document: the slice, its contents, and its kinds of requests.
pub fn document(trace: &Trace, found: &TraceFindings, lengths: Option<&TraceLengths>) -> Document {
    let called = |name: &Option<String>| name.as_ref().map_or(String::new(), |name| format!("{name:?}"));
    let kinds = Table::over("Kinds of requests", &found.kinds)
        .column("kind", |kind| kind.name.as_str())
        .column("requests", |kind| kind.requests)
        .left("name in the trace", |kind| called(&kind.called))
        .in_brief(&(0..KINDS), "kind");
    let about = Section::continued(Level::Summary)
        .facts("slice", slice(trace, found))
        .facts("contents", findings(found))
        .facts("prompts", lengths.map(|lengths| spread(&lengths.prompt)))
        .facts("answers", lengths.map(|lengths| spread(&lengths.answer)));
    Document::new(format!("Trace {}", trace.path)).with([about, Section::summary("Kinds of requests").table(kinds)])
}

/// The trace as JSON: what was read of it, and its contents.
pub fn json(trace: &Trace, found: &TraceFindings, lengths: Option<&TraceLengths>) -> serde_json::Result<String> {
    indented(&json!({ "schema": 1, "trace": trace, "found": found, "lengths": lengths }))
}

/// A file of sessions as a document: what it is, and what it holds. Where its sessions have moments, a slice of them is
/// replayed.
pub fn of_sessions(
    dataset: &Dataset,
    lengths: Option<&SessionLengths>,
    replayed: Option<&(Trace, TraceFindings)>,
) -> Document {
    let found = dataset.found.as_ref();
    let about = found.and_then(|found| Some((found, found.sessions.as_ref()?)));
    let facts = about.map(|(found, sessions)| session_facts(found, sessions));
    let lengths = lengths.map(|lengths| {
        let of = |spread: &LengthSpread| [in_numbers(spread)];
        let SessionLengths { requests, prompts, new, answers } = lengths;
        let rows = [("requests", requests), ("prompts", prompts), ("new tokens", new), ("answers", answers)];
        rows.map(|(name, spread)| (name, of(spread)))
    });
    let moments = replayed.map(|(trace, found)| [slice(trace, found), findings(found)].concat());
    let mut section = Section::continued(Level::Summary).facts("moments", moments.into_iter().flatten());
    for (name, lines) in facts.into_iter().flatten() {
        section = section.facts(name, lines);
    }
    for (name, lines) in lengths.into_iter().flatten() {
        section = section.facts(name, lines);
    }
    Document::new(format!("Sessions of {}", dataset.path)).with([section])
}

/// A file of sessions as JSON: what was found in it, and its sessions.
pub fn json_of_sessions(
    dataset: &Dataset,
    lengths: Option<&SessionLengths>,
    replayed: Option<&(Trace, TraceFindings)>,
    sessions: &[Value],
) -> serde_json::Result<String> {
    let (trace, found) = replayed.map(|(trace, found)| (trace, found)).unzip();
    let about = json!({ "schema": 1, "dataset": dataset, "trace": trace, "found": found, "lengths": lengths });
    let mut about = about.as_object().cloned().unwrap_or_default();
    about.insert("sessions".to_owned(), json!(sessions));
    indented(&Value::Object(about))
}

/// Facts about a file of sessions, in words.
fn session_facts(found: &DatasetFindings, sessions: &SessionFindings) -> Vec<(&'static str, Vec<String>)> {
    let SessionFindings { layout, requests, most_requests, most_agents, joins, .. } = sessions;
    let counts = format!(
        "{} of {} in the layout {}, at most {} in one",
        counted(found.rows, "session"),
        counted(*requests, "request"),
        layout.name(),
        count(u64::from(*most_requests))
    );
    let mut holds = vec![counts];
    if *most_agents > 1 {
        holds.push(format!(
            "up to {} agents in a session, {} that wait for several others",
            count(u64::from(*most_agents)),
            counted(*joins, "request")
        ));
    }
    let share = sessions.shared_tokens as f64 / sessions.input_tokens.max(1) as f64;
    let shared = format!(
        "{} of the prompt tokens came before in the session: the planned hit rate of a cold prefix cache",
        percent(share)
    );
    let live = found.rows - sessions.recorded.min(found.rows);
    let history = match (sessions.recorded, live) {
        (_, 0) => "whole prompts of the file, so every server gets the same ones".to_owned(),
        (0, _) => "live answers are repeated where prompts carry on".to_owned(),
        (recorded, live) => {
            format!("{} of whole prompts, {} that repeats live answers", counted(recorded, "session"), count(live))
        }
    };
    let mut notes = Vec::new();
    if sessions.dated > 0 {
        notes.push("with --rate, --users or --agents the moments of sessions in the file are not used".to_owned());
    }
    if sessions.clamped > 0 {
        notes.push(format!(
            "{} began in the recording before an end that is waited for here",
            counted(sessions.clamped, "request")
        ));
    }
    notes.extend(
        sessions.ignored.iter().map(|(field, times)| format!("`{field}` is not read ({})", counted(*times, "time"))),
    );
    notes.extend(
        sessions.left_out.iter().map(|(reason, number)| format!("{} left out: {reason}", counted(*number, "request"))),
    );
    if found.bad_rows > 0 {
        notes.push(format!("{} that cannot be used skipped", counted(found.bad_rows, "row")));
    }
    let facts = [("sessions", holds), ("shared", vec![shared]), ("history", vec![history]), ("notes", notes)];
    facts.into_iter().filter(|(_, lines)| !lines.is_empty()).collect()
}

/// `p50 6,345, p90 17,300, p95 25,100, p99 61,000, max 123,192 tokens`.
fn spread(lengths: &LengthSpread) -> String {
    format!("{} tokens", in_numbers(lengths))
}

fn in_numbers(lengths: &LengthSpread) -> String {
    let LengthSpread { p50, p90, p95, p99, max, .. } = *lengths;
    let shown = [p50, p90, p95, p99].map(three_digits);
    let [p50, p90, p95, p99] = shown;
    format!("p50 {p50}, p90 {p90}, p95 {p95}, p99 {p99}, max {}", count(max))
}

/// Describes what was replayed, and all that was done to it.
pub(super) fn what(trace: &Trace, found: &TraceFindings) -> String {
    format!("{}, {}", trace.path, slice(trace, found).join("; "))
}

fn slice(trace: &Trace, found: &TraceFindings) -> Vec<String> {
    let zero = match found.format.zero() {
        TraceZero::OwnClock => "on its own clock",
        TraceZero::FirstRequest if found.format == TraceFormat::Sessions => "after its first session",
        TraceZero::FirstRequest => "after its first request",
    };
    let until = match (trace.for_s, found.warmup_s) {
        (Some(for_s), _) => format!("for {}", seconds(for_s)),
        (None, Some(_)) => "to the end of its run".to_owned(),
        (None, None) => "to its end".to_owned(),
    };
    let (name, from) = (found.format.name(), seconds(trace.from_s));
    let slice = format!("{name}, {until} from {from} {zero}: {}", changes(trace, found.format));
    let skips = found.skipped_lines > 0 || trace.bad_lines == BadLines::Skip;
    let rest = [
        (skips, found.skipped_lines, "line", "left out unread"),
        (found.nearest_drawn > 0, found.nearest_drawn, "line", NEAREST),
        (found.reordered > 0, found.reordered, "request", "put in order"),
    ];
    let rest = rest.into_iter().filter(|(is_so, ..)| *is_so);
    [slice].into_iter().chain(rest.map(|(_, n, thing, what)| format!("{} {what}", counted(n, thing)))).collect()
}

const NEAREST: &str = "of shapes or lengths that cannot be drawn taken as the nearest";

/// Describes in one sentence what is in the slice.
pub(super) fn contents(found: &TraceFindings) -> String {
    findings(found).join("; ")
}

/// Describes what is in the slice. It gives counts, lengths, and what its clock and its blocks are like.
fn findings(found: &TraceFindings) -> Vec<String> {
    let mut parts = vec![format!(
        "{} in {}, at most {} in a second",
        counted(found.requests, thing(found.format)),
        seconds(found.ends_s),
        count(found.peak_per_s)
    )];
    if found.format != TraceFormat::Sessions {
        parts.push(format!(
            "{} prompt and {} answer tokens on average",
            three_digits(found.input_tokens),
            three_digits(found.output_tokens)
        ));
    }
    if found.same_moment > 0 {
        let share = found.same_moment as f64 / found.requests as f64;
        parts.push(format!("{} of them have the timestamp of the one before", percent(share)));
    }
    if let Some(share) = found.reusable_share {
        parts.push(format!(
            "{} of the prompt tokens are in leading blocks that came before: the highest possible prefix-cache hit \
             rate",
            percent(share)
        ));
    }
    if found.too_many_blocks {
        parts.push("the share of repeated prompt tokens is unknown: too many blocks are named".to_owned());
    }
    if let Some(gathered) = found.kinds.iter().find(|kind| kind.rarer_kinds > 0) {
        parts.push(format!(
            "{} that are rare, with {} in total, share the class `{}`",
            counted(gathered.rarer_kinds, "kind"),
            counted(gathered.requests, "request"),
            gathered.name
        ));
    }
    parts
}

/// Name of what arrives.
fn thing(format: TraceFormat) -> &'static str {
    if format == TraceFormat::Sessions { "session" } else { "request" }
}

fn changes(trace: &Trace, format: TraceFormat) -> String {
    let time = match trace.time_scale {
        1.0 => None,
        scale if scale < 1.0 => Some(format!("{} times as fast", three_digits(1.0 / scale))),
        scale => Some(format!("{} times as slow", three_digits(scale))),
    };
    let rate = match trace.rate_scale {
        1.0 => None,
        scale if format == TraceFormat::ServeGen => Some(format!("every client's rate times {}", three_digits(scale))),
        scale if scale < 1.0 => {
            Some(format!("thinned, each {} kept with a chance of {}", thing(format), percent(scale)))
        }
        scale => Some(format!("overlaid {} times, each further copy shifted by its own offset", three_digits(scale))),
    };
    let changes: Vec<_> = time.into_iter().chain(rate).collect();
    match (changes.is_empty(), format) {
        (true, TraceFormat::ServeGen) => "clients at their own rates".to_owned(),
        (true, _) => "as recorded".to_owned(),
        (false, _) => changes.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::render::text;
    use crate::report::{Extent, Style};
    use crate::workload::{TraceFormat, TraceKind};

    fn found() -> TraceFindings {
        TraceFindings {
            format: TraceFormat::Mooncake,
            requests: 1_200,
            ends_s: 60.0,
            warmup_s: None,
            bin_s: 0.5,
            arrivals: vec![10; 120],
            peak_per_s: 40,
            same_moment: 300,
            input_tokens: 7_000.0,
            output_tokens: 180.0,
            reusable_share: Some(0.4),
            too_many_blocks: false,
            kinds: Vec::new(),
            skipped_lines: 0,
            nearest_drawn: 0,
            reordered: 0,
        }
    }

    /// Lengths with this median, and percentiles of twice, three and five times it.
    fn lengths(p50: f64, max: u64) -> LengthSpread {
        let [p90, p95, p99] = [2.0, 3.0, 5.0].map(|times| times * p50);
        LengthSpread { count: 1_200, mean: p50, min: 1, p50, p90, p95, p99, max }
    }

    #[test]
    fn nothing_that_was_done_is_silent() {
        let trace = Trace::whole("a.jsonl");
        assert_eq!(what(&trace, &found()), "a.jsonl, mooncake, to its end from 0 ms on its own clock: as recorded");
        let changed = Trace {
            from_s: 90.0,
            for_s: Some(30.0),
            time_scale: 0.5,
            rate_scale: 2.5,
            bad_lines: BadLines::Skip,
            ..trace.clone()
        };
        let dated = TraceFindings { format: TraceFormat::Azure, skipped_lines: 2, reordered: 1, ..found() };
        assert_eq!(
            what(&changed, &dated),
            "a.jsonl, azure, for 30 s from 1 min 30 s after its first request: 2.00 times as fast, overlaid 2.50 \
             times, each further copy shifted by its own offset; 2 lines left out unread; 1 request put in order"
        );
        let of_run = TraceFindings { warmup_s: Some(5.0), ..found() };
        assert!(what(&trace, &of_run).contains("to the end of its run from 0 ms on its own clock"));
        let thinned = Trace { rate_scale: 0.25, time_scale: 4.0, ..trace };
        assert!(
            what(&thinned, &found()).ends_with("4.00 times as slow, thinned, each request kept with a chance of 25 %")
        );
    }

    #[test]
    fn a_trace_of_many_kinds_fits_a_screen() {
        let kind = |number| TraceKind { name: format!("kind-{number}"), requests: 40, called: None, rarer_kinds: 0 };
        let found = TraceFindings { kinds: (0..30).map(kind).collect(), ..found() };
        let shown = |extent| {
            let lengths = TraceLengths { prompt: lengths(6_345.0, 123_192), answer: lengths(12.5, 2_000) };
            let document = document(&Trace::whole("a.jsonl"), &found, Some(&lengths));
            text(&document, Style { width: 80, ..Style::PLAIN }, extent)
        };
        let screen = shown(Extent::Summary);
        assert!(screen.lines().count() <= 24 && screen.contains("  … and 20 more kinds (--full)\n"), "{screen}");
        assert!(screen.contains("7,000 prompt and 180 answer tokens"), "{screen}");
        let prompts = "prompts  p50 6,345, p90 12,690, p95 19,035, p99 31,725, max 123,192 tokens";
        let answers = "answers  p50 12.5, p90 25.0, p95 37.5, p99 62.5, max 2,000 tokens";
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in [prompts, answers] {
            assert!(words.contains(&line.replace("  ", " ")), "{screen}");
        }
        assert!(shown(Extent::Full).contains("kind-29"));
    }

    #[test]
    fn the_contents_are_said_with_their_oddities() {
        assert_eq!(
            findings(&found()).join("; "),
            "1,200 requests in 1 min, at most 40 in a second; 7,000 prompt and 180 answer tokens on average; 25 % of \
             them have the timestamp of the one before; 40 % of the prompt tokens are in leading blocks that came \
             before: the highest possible prefix-cache hit rate"
        );
        let rest = TraceKind { name: "other".to_owned(), requests: 30, called: None, rarer_kinds: 7 };
        let many =
            TraceFindings { same_moment: 0, reusable_share: None, too_many_blocks: true, kinds: vec![rest], ..found() };
        assert_eq!(
            findings(&many).join("; "),
            "1,200 requests in 1 min, at most 40 in a second; 7,000 prompt and 180 answer tokens on average; the share \
             of repeated prompt tokens is unknown: too many blocks are named; 7 kinds that are rare, with 30 requests \
             in total, share the class `other`"
        );
    }
}

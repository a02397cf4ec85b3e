//! Some requests phase by phase: waiting to be sent, waiting for the first token, receiving.

use super::clock::moment;
use crate::analysis::SampledRequests;
use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord, RunLog, TokenChunk};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Row, RowSpan, Series, SeriesForm};
use crate::report::document::{Chart, Section, Table, known};
use crate::units::{count, fitted, millis};

/// A bar that is shorter than this share of the axis cannot be read.
const READABLE: f64 = 0.02;

/// Characters of a row's name.
const NAME: usize = 20;

/// Chunks of an answer that a page lists.
const MOST_CHUNKS: usize = 200;

/// Names of the phases of a request, in their order.
const PHASES: [(Palette, &str); 4] = [
    (Palette::Faint, "waits to be sent"),
    (Palette::Second, "sent, no token yet"),
    (Palette::First, "first to last token"),
    (Palette::Fourth, "last token to end"),
];

/// Origin of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The run's zero: which requests shared the server is seen.
    Run,
    /// Scheduled moment of each request. It is for a long run, in which bars would be too short to see.
    Scheduled,
}

pub(super) fn section(log: &RunLog) -> Option<Section> {
    let sampled = SampledRequests::from_log(log);
    let (first, last) = (sampled.records.first()?, sampled.records.iter().map(|record| record.ended).max()?);
    let span = last.since(first.scheduled);
    let mut lengths: Vec<_> = sampled.records.iter().map(|record| record.ended.since(record.scheduled)).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let origin = if median.as_secs_f64() < READABLE * span.as_secs_f64() { Origin::Scheduled } else { Origin::Run };
    let spans: Vec<(Palette, RowSpan)> =
        sampled.records.iter().enumerate().flat_map(|(row, record)| spans(record, row, origin)).collect();
    let (title, from) = match origin {
        Origin::Run => ("time since the run's zero, s", first.scheduled.as_secs_f64()),
        Origin::Scheduled => ("time since each request's scheduled moment, s", 0.0),
    };
    let axis = Axis::between(title, from, spans.iter().map(|(_, span)| span.to).fold(from, f64::max));
    let mut series: Vec<Series> = PHASES
        .into_iter()
        .filter_map(|(palette, name)| {
            let of: Vec<RowSpan> = spans.iter().filter(|(other, _)| *other == palette).map(|(_, span)| *span).collect();
            (!of.is_empty()).then(|| Series::new(name, palette, SeriesForm::Spans(of)))
        })
        .collect();
    let end = |row: usize| {
        let ends = spans.iter().filter(|(_, span)| span.row == row).map(|(_, span)| span.to);
        ends.reduce(f64::max).unwrap_or(from)
    };
    let (mut failed, mut cut_off) = (Vec::new(), Vec::new());
    for (row, record) in sampled.records.iter().enumerate() {
        let at_end = Point::at(end(row), row as f64, String::new());
        match record.outcome {
            Outcome::Completed => {}
            Outcome::Failed(_) => failed.push(at_end),
            Outcome::Cancelled | Outcome::Censored => cut_off.push(Point { at_least: true, ..at_end }),
        }
    }
    series.push(Series::points("", Palette::Failure, LineStyle::None, failed));
    series.push(Series::points("", Palette::Faint, LineStyle::None, cut_off));
    let rows: Vec<Row> = sampled.records.iter().map(|record| row(log, record, origin)).collect();
    let picture = Plot::rows(format!("{} requests phase by phase", rows.len()), axis, rows, series).wide();
    let chart = Chart::new("", picture).hint(hint(&sampled)).behind(table(log, &sampled));
    Some(Section::summary("Phase by phase").charts([chart]))
}

fn hint(sampled: &SampledRequests<'_>) -> String {
    let (shown, of) = (sampled.records.len(), sampled.of);
    let which = if shown < of {
        format!(
            "{shown} of the window's {} requests: the ten slowest, ten of those that did not complete if there are so \
             many, the others evenly",
            count(of as u64)
        )
    } else {
        "all requests of the window".to_owned()
    };
    format!("{which}; a cross: it failed; an arrow: it was cut off")
}

/// The moments at which phases of a request end, from its scheduled one. One that never came further spent
/// the rest in the phase that it was in.
fn phases(record: &RequestRecord) -> Vec<(Timestamp, Palette)> {
    let first = record.chunks.first_at().or(record.whole_answer);
    let last = record.chunks.last_at().or(record.whole_answer);
    let [waits, sent, receives, closes] = PHASES.map(|(palette, _)| palette);
    let rest = match (record.sent, first) {
        (None, _) => waits,
        (Some(_), None) => sent,
        (Some(_), Some(_)) => closes,
    };
    let moments = [(record.sent, waits), (first, sent), (last, receives), (Some(record.ended), rest)];
    moments.into_iter().filter_map(|(at, palette)| Some((at?, palette))).collect()
}

/// The phases of a request as stretches of its row.
fn spans(record: &RequestRecord, row: usize, origin: Origin) -> Vec<(Palette, RowSpan)> {
    let zero = match origin {
        Origin::Run => Timestamp::ZERO,
        Origin::Scheduled => record.scheduled,
    };
    let at = |moment: Timestamp| moment.since(zero).as_secs_f64();
    let mut from = record.scheduled;
    let mut spans = Vec::new();
    for (until, palette) in phases(record) {
        if until > from {
            spans.push((palette, RowSpan { row, from: at(from), to: at(until) }));
        }
        from = from.max(until);
    }
    spans
}

fn row(log: &RunLog, record: &RequestRecord, origin: Origin) -> Row {
    let name = format!("#{} {}", record.index, class(log, record));
    let after = |chunk: TokenChunk| chunk.at.since(record.scheduled).as_secs_f64() * 1e3;
    let moments_ms = record.chunks.iter().take(MOST_CHUNKS).map(after).collect();
    let zero = if origin == Origin::Run { record.scheduled.as_secs_f64() } else { 0.0 };
    Row { moments_ms, zero, ..Row::new(fitted(&name, NAME), words(log, record)) }
}

fn class<'a>(log: &'a RunLog, record: &RequestRecord) -> &'a str {
    log.header.workload.classes.get(usize::from(record.class)).map_or("", |class| class.name.as_str())
}

fn words(log: &RunLog, record: &RequestRecord) -> String {
    let ([scheduled, sent, first, whole, outcome], index) = (figures(record), record.index);
    let class = class(log, record);
    format!(
        "#{index} {class}, scheduled at {scheduled} s, sent after {sent} ms, first token after {first} ms, ended after \
         {whole} ms, {outcome}"
    )
}

fn figures(record: &RequestRecord) -> [String; 5] {
    let after = |at: Option<Timestamp>| known(at.map(|at| millis(at.since(record.scheduled))));
    let outcome = match &record.outcome {
        Outcome::Completed => "completed".to_owned(),
        Outcome::Failed(failure) => format!("failed: {}", failure.reason),
        Outcome::Cancelled => "cancelled".to_owned(),
        Outcome::Censored => "cut off".to_owned(),
    };
    [
        moment(record.scheduled.as_secs_f64(), 3),
        after(record.sent),
        after(record.chunks.first_at()),
        after(Some(record.ended)),
        outcome,
    ]
}

fn table(log: &RunLog, sampled: &SampledRequests<'_>) -> Table {
    let rows: Vec<_> = sampled.records.iter().map(|record| (record, figures(record))).collect();
    Table::over("Requests phase by phase", &rows)
        .column("request", |(record, _)| format!("#{}", record.index))
        .column("class", |(record, _)| class(log, record))
        .column("scheduled, s", |(_, [scheduled, ..])| scheduled.as_str())
        .column("sent, ms", |(_, [_, sent, ..])| sent.as_str())
        .column("first token, ms", |(_, [_, _, first, ..])| first.as_str())
        .column("end, ms", |(_, [.., end, _])| end.as_str())
        .column("outcome", |(_, [.., outcome])| outcome.as_str())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{Failure, FailureKind};

    /// The phases of a request, each with the end of its stretch in milliseconds.
    fn drawn(record: RequestRecord) -> Vec<(Palette, f64)> {
        let log = run(1_000, vec![record]);
        let spans = spans(&log.records[0], 0, Origin::Run);
        spans.iter().map(|(palette, span)| (*palette, (span.to * 1e3).round())).collect()
    }

    #[test]
    fn what_never_came_further_stays_in_its_phase() {
        let reset = || Failure::new(FailureKind::HttpStatus(500), "no");
        let unanswered = record(0).sent_at(10, 10, 12).failed(40, reset()).build();
        assert_eq!(drawn(unanswered), [(Palette::Faint, 12.0), (Palette::Second, 40.0)]);
        let at_once = record(0).sent_at(10, 10, 10).failed(40, reset()).build();
        assert_eq!(drawn(at_once), [(Palette::Second, 40.0)]);
        let broken = record(0).sent_at(10, 10, 12).chunks(&[(20, 1), (30, 1)]).failed(40, reset()).build();
        let phases = [(Palette::Faint, 12.0), (Palette::Second, 20.0), (Palette::First, 30.0), (Palette::Fourth, 40.0)];
        assert_eq!(drawn(broken), phases);
    }
}

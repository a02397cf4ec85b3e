//! Runs of other tools as a document.

use crate::analysis::{Quantile, SampleWarning, Statistic};
use crate::foreign::{ConcurrencyCap, ForeignLatency, ForeignRun};
use crate::report::document::{
    Document, Level, NOTHING, Note, Section, Table, Tone, VerdictLine, figure, known, mark, range,
};
use crate::report::documents::parts::cells::{grouped, versioned};
use crate::units::{count, counted, joined, listed, percent, seconds, three_digits};

/// The runs as a document.
pub fn document(runs: &[ForeignRun]) -> Document {
    let of_all = match runs {
        [only] => title(only),
        runs => counted(runs.len() as u64, "run"),
    };
    let verdict = |first: &ForeignRun| VerdictLine::new(Tone::Neutral, "NO VERDICT", no_verdict(first));
    let document = Document { verdict: runs.first().map(verdict), ..Document::new(of_all) };
    if let [only] = runs {
        return document.with(one(only, Section::continued(Level::Summary), Level::Summary));
    }
    let each = runs.iter().enumerate().flat_map(|(place, run)| {
        let heading = format!("Run {} of {}: {}", place + 1, runs.len(), title(run));
        // Beyond the first ones a screen has no room.
        one(run, Section::summary(heading), Level::Page).into_iter().map(move |section| match section.level {
            Level::Summary if place >= RUNS => section.at(Level::Page),
            _ => section,
        })
    });
    document.with(each).with([besides(runs)])
}

/// Runs of a file that a screen has room for.
const RUNS: usize = 2;

/// Returns what a run says below its heading. Its details have a level of their own.
fn one(run: &ForeignRun, head: Section, details: Level) -> Vec<Section> {
    let whole_run = whole_run(run);
    let (in_head, below) = if details == Level::Summary { (Some(whole_run), None) } else { (None, Some(whole_run)) };
    let head = head.fact("requests", requests(run)).facts("whole run", in_head);
    let more = Section::continued(Level::Page).facts("whole run", below).fact("tokens", tokens(run));
    let [latencies, intervals] = latency(run);
    let reservations = run.reservations.iter().map(Note::warning);
    let reservations = Section::continued(details).notes(reservations).more(["other-tools"]);
    vec![head, more, latencies, intervals, reservations, refused(run)]
}

/// Returns what a screen says below several runs. What is reserved about the tool is so of each of them.
fn besides(runs: &[ForeignRun]) -> Section {
    let more = |more: usize, what: &str| (more > 0).then(|| format!("… and {} (--full)", counted(more as u64, what)));
    let reservations = runs.first().map_or(&[][..], |run| &run.reservations);
    Section::continued(Level::Brief)
        .text(more(runs.len().saturating_sub(RUNS), "more run"))
        .notes(reservations.first().map(Note::warning))
        .text(more(reservations.len().saturating_sub(1), "more reservation"))
}

fn refused(run: &ForeignRun) -> Section {
    let by_reason = grouped(run.refused.iter().map(|refused| (refused.name, refused.reason)));
    let note = |(reason, names)| Note::info(format!("{}: {reason}", joined(names, ", ")));
    Section::detail(format!("Figures of {} that have no Skyline equivalent", run.tool))
        .notes(by_reason.into_iter().map(note))
}

/// The tool, and the load that it ran.
fn title(run: &ForeignRun) -> String {
    let conditions = &run.conditions;
    let rate = conditions.rate_per_s.map(|rate| format!("{} requests/s", three_digits(rate)));
    let cap = conditions.max_concurrency.map(|cap| match cap {
        ConcurrencyCap::Uncapped => "no cap".to_owned(),
        ConcurrencyCap::At(most) => format!("at most {} in flight", count(most)),
    });
    let under = [conditions.model.clone(), conditions.endpoint.clone(), conditions.arrival.clone(), rate, cap];
    let under = listed(under.into_iter().flatten(), ", ").unwrap_or_else(|| "no load figures reported".to_owned());
    format!("{}: {under}", versioned(&run.tool.to_string(), run.tool_version.as_deref()))
}

/// Says why nothing is said about whether the figures can be trusted.
fn no_verdict(run: &ForeignRun) -> String {
    format!("{} stores nothing that would check the load against a plan", run.tool)
}

fn requests(run: &ForeignRun) -> String {
    let requests = &run.requests;
    let completed = format!("{} completed", count(requests.completed));
    let failed = match (requests.failed, requests.error_rate()) {
        (Some(failed), Some(rate)) => format!(", {} failed ({})", count(failed), percent(rate)),
        (Some(failed), None) => format!(", {} failed", count(failed)),
        (None, _) => ", failures not reported".to_owned(),
    };
    let cut_off = requests.cut_off.filter(|&cut_off| cut_off > 0);
    let cut_off = cut_off.map_or(String::new(), |cut_off| format!(", {} cut off at its end", count(cut_off)));
    format!("{completed}{failed}{cut_off}; latencies are of the completed ones only")
}

fn tokens(run: &ForeignRun) -> String {
    let tokens = &run.tokens;
    let known = |tokens: Option<u64>| tokens.map_or(NOTHING.to_owned(), count);
    format!("{} of prompts, {} of answers, counted by {}", known(tokens.input), known(tokens.output), tokens.counted_by)
}

fn whole_run(run: &ForeignRun) -> String {
    let whole = &run.whole_run;
    let length = whole.duration_s.map_or(NOTHING.to_owned(), seconds);
    format!(
        "{} requests/s, {} answer tokens/s; totals ÷ {length}, its end included, and not our rates over a window",
        known(whole.completed_requests_per_s),
        known(whole.output_tokens_per_s),
    )
}

fn latency(run: &ForeignRun) -> [Section; 2] {
    let statistic = |of| move |latency: &ForeignLatency| latency.figures.statistic(of);
    let percentile = |of| {
        move |latency: &ForeignLatency| {
            let shown = latency.figures.statistic(Statistic::Percentile(of)).map_or(NOTHING.to_owned(), figure);
            format!("{shown}{}", mark(marked(latency, of)))
        }
    };
    let marks = run.latency.iter().flat_map(|latency| Quantile::ALL.map(|of| marked(latency, of)));
    let indicative = "indicative: fewer than ten samples lie above it";
    let table = Table::over(format!("Latencies of {}", run.tool), &run.latency)
        .column("", |latency| latency.metric.to_string())
        .column(("its name", 4), |latency| latency.theirs)
        .column(("n", 6), |latency| latency.figures.n().map_or("?".to_owned(), count))
        .column(("mean", 5), statistic(Statistic::Mean))
        .column(("min", 2), statistic(Statistic::Min))
        .column("p50", percentile(Quantile::P50))
        .column(("p90", 3), percentile(Quantile::P90))
        .column("p95", percentile(Quantile::P95))
        .column("p99", percentile(Quantile::P99))
        .column(("p99.9", 1), percentile(Quantile::P999))
        .column(("max", 3), statistic(Statistic::Max))
        .explain_marks(marks, ["too few samples for this percentile", indicative]);
    let heading = "Latency, ms; all from sending: that tool has no schedule to count from, as our TTFT and e2e do";
    let ranges = listed(run.latency.iter().filter_map(intervals), "; ");
    let computed = run.latency.iter().any(|latency| latency.figures.computed().is_some());
    let ranges = computed.then(|| ranges.unwrap_or_else(|| NO_INTERVALS.to_owned()));
    let more = Section::continued(Level::Page).facts("95 % intervals", ranges);
    [Section::summary(heading).table(table), more]
}

/// Said where a run's own requests tell no interval.
const NO_INTERVALS: &str =
    "unresolvable: too few requests, or too short a run, to tell how much they depend on one another";

/// The reservation about a percentile that is there.
fn marked(latency: &ForeignLatency, quantile: Quantile) -> Option<SampleWarning> {
    latency.figures.statistic(Statistic::Percentile(quantile))?;
    quantile.mark(latency.figures.n()?)
}

/// Says how sure the percentiles of a latency are, where they could be computed.
fn intervals(latency: &ForeignLatency) -> Option<String> {
    let row = latency.figures.computed()?;
    let known = [Quantile::P50, Quantile::P95, Quantile::P99].into_iter().filter_map(|quantile| {
        let shown = row.percentile(quantile);
        shown.figure.exact().and(range(shown)).map(|range| format!("{quantile} {range}"))
    });
    Some(format!("{} {}", latency.metric, listed(known, ", ")?))
}

/// A run in a sentence, for a list of several.
pub fn in_words(run: &ForeignRun) -> String {
    format!("{}, {}", title(run), counted(run.requests.completed, "request"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;
    use crate::foreign::ForeignFile;
    use crate::report::render::{self, Extent};
    use crate::report::{Style, foreign_json};

    fn runs(name: &str) -> Vec<ForeignRun> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign").join(name);
        ForeignFile::read(&path, None).unwrap().unwrap().runs
    }

    #[test]
    fn a_page_says_whose_names_these_are_and_what_is_left_out() {
        insta::assert_snapshot!(render::text(&document(&runs("vllm.json")), Style::PLAIN, Extent::Full));
    }

    #[test]
    fn json_has_our_names_and_says_what_was_computed() {
        let text = foreign_json(&runs("guidellm.json")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["schema"], &value["runs"][1]["number"]), (&Value::from(2), &Value::from(2)));
        let ttft = &value["runs"][0]["latency"][0];
        assert_eq!((&ttft["metric"], &ttft["figures"]["kind"]), (&"ttft_from_send".into(), &"computed".into()));
        assert_eq!(ttft["figures"]["n"], 11);
        assert!(ttft["figures"]["p50"]["value_ms"].is_f64());
        assert_eq!(value["runs"][0]["conditions"]["max_concurrency"], "none");
    }

    #[test]
    fn what_a_file_says_steers_no_terminal() {
        let mut run = runs("vllm.json").remove(0);
        run.conditions.model = Some("\x1b[2J<script>\u{202e}".to_owned());
        run.reservations.push("\x1b[31mred".to_owned());
        let text = render::text(&document(&[run]), Style::PLAIN, Extent::Full);
        assert!(text.contains(r"\u{1b}[2J<script>\u{202e}") && !text.contains('\x1b'), "{text}");
    }
}

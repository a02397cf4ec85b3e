//! The top of a run: the verdict, what was run in one line, key figures, objectives, failures, findings.

use std::fmt::Write as _;

use super::{answers, attempts, flow, leaving};
use crate::analysis::{
    FailureCount, Finding, Judgement, Metric, Percentile, Quantile, Rule, SampleWarning, Status, Summary,
    VerdictOutcome, Window, failure_cure,
};
use crate::record::Failure;
use crate::report::document::{
    KeyFigure, Level, NOTHING, Note, Section, Table, TableOf, Tone, VerdictLine, known, percentile, range,
};
use crate::report::documents::parts::cells::{engine, on};
use crate::report::documents::parts::{arrivals, checklist};
use crate::units::{count, counted, joined, listed, numbers, percent, seconds, three_digits};
use crate::workload::Purpose;

pub(super) fn verdict(summary: &Summary) -> VerdictLine {
    let counts = &summary.requests;
    let form = arrivals::form(summary.run.load).filter(|_| !summary.is_all_at_once());
    let form = form.map(|form| format!("{form}, ")).unwrap_or_default();
    let of = counted(counts.planned, "request");
    let mut sentence = format!("{form}{} of {of} completed", count(counts.completed));
    let (all, met) = (summary.objectives.len(), summary.objectives.iter().filter(|one| one.passed()).count());
    if all > 0 {
        let _ = write!(sentence, "; {met} of {} met", counted(all as u64, "objective"));
        let open = summary.objectives.iter().filter(|one| one.status == Status::Undecided).count();
        if open > 0 {
            let _ = write!(sentence, ", {} undecided", count(open as u64));
        }
    }
    if summary.run.purpose == Purpose::Smoke {
        sentence.push_str("; smoke: latencies are not judged");
    }
    let outcome = summary.verdict.outcome;
    let tone = match outcome {
        VerdictOutcome::Valid if met == all => Tone::Good,
        VerdictOutcome::Valid => Tone::Neutral,
        VerdictOutcome::Overloaded | VerdictOutcome::Invalid => Tone::Bad,
    };
    VerdictLine::new(tone, outcome.word(), sentence)
}

/// The tail of the first latency that users feel, and at which rate.
pub(super) fn headline(summary: &Summary) -> Option<KeyFigure> {
    let of = |metric| Some(latency(metric, summary.latency.percentile(metric, Quantile::P95)?));
    let figure = of(Metric::Ttft).or_else(|| of(Metric::E2e)).filter(|figure| figure.value != NOTHING)?;
    let rate = known(summary.rates.completed_requests_per_s);
    Some(KeyFigure { name: format!("{} at {rate} completed requests/s", figure.name), ..figure })
}

/// `vllm 0.11.0 on 2 × h200 · poisson, 5 requests/s · window 60 s`.
pub(super) fn about(summary: &Summary) -> String {
    let (run, window) = (&summary.run, &summary.window);
    let at_once = summary.is_all_at_once();
    let arrivals = if at_once { "all at once".to_owned() } else { arrivals::in_words(&run.arrival, run.load) };
    // The words of a closed loop begin with its form.
    let form = arrivals::form(run.load).filter(|form| !at_once && !arrivals.contains(form.trim_end_matches('s')));
    let answers = window.answers_s().map(|counted| format!(", answers counted for {}", seconds(counted)));
    let length = match window.load_end_s {
        Some(_) => {
            format!("{} in {}", counted(summary.requests.executed(), "request"), seconds(window.counted_s()))
        }
        None => format!("window {}{}", seconds(window.length_s()), answers.unwrap_or_default()),
    };
    let engine = engine(&run.engine) + &on(&run.deployment);
    let arrivals = joined([Some(arrivals.as_str()), form].into_iter().flatten(), ", ");
    [engine, arrivals, length + &beside(summary)].join(" · ")
}

/// Says what load was sent beside what counts. An example is
/// `, 547 of 603 requests: 30 warm-up, 26 to keep up the load until the last answer`.
fn beside(summary: &Summary) -> String {
    let Window { warmup_requests: before, cooldown_requests: after, .. } = summary.window;
    let counted = summary.requests.executed();
    let parts = [(before, "warm-up"), (after, "to keep up the load until the last answer")];
    listed(numbers(parts), ", ").map_or(String::new(), |parts| {
        format!(", {} of {} requests: {parts}", count(counted), count(before + counted + after))
    })
}

/// Says when it began.
pub(super) fn dated(summary: &Summary) -> String {
    summary.run.started_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

pub(super) fn sections(summary: &Summary) -> [Section; 7] {
    let reasons = &summary.verdict.reasons;
    let why = reasons.iter().map(|reason| Note::error(&reason.sentence).cure(&reason.cure));
    // Beside a reason of the verdict, what failed is a part of the cause.
    let failed = failures_in_brief(summary).filter(|_| !reasons.is_empty());
    [
        Section::continued(Level::Summary).notes(why),
        Section::continued(Level::Brief).notes(failed),
        Section::continued(Level::Page).more((!reasons.is_empty()).then_some("validity")),
        Section::continued(Level::Summary).figures(key_figures(summary)),
        attempts::in_brief(summary),
        leaving::in_brief(summary),
        Section::summary("Objectives").notes(summary.objectives.iter().map(objective)),
    ]
}

/// An objective with the interval of its figure, where it is decided.
fn objective(judgement: &Judgement) -> Note {
    let interval = judgement.interval_in_words().filter(|_| judgement.status != Status::Undecided);
    let interval = interval.map_or(String::new(), |interval| format!("; 95 % interval {interval}"));
    Note::new(judgement.status, format!("{}{interval}", judgement.line))
}

fn key_figures(summary: &Summary) -> Vec<KeyFigure> {
    let latencies = Metric::MAIN.into_iter().filter_map(|metric| Some((metric, summary.latency.row(metric)?)));
    let latencies = latencies.flat_map(|(metric, row)| {
        [Quantile::P50, Quantile::P99].map(|quantile| latency(metric, row.percentile(quantile)))
    });
    latencies
        .chain(flows(summary))
        .chain([errors(summary)])
        .chain(attempts::key_figure(summary))
        .chain(in_flight(summary))
        .collect()
}

/// A latency's card; elsewhere the table of latencies holds it.
fn latency(metric: Metric, figure: &Percentile) -> KeyFigure {
    let name = format!("{} {}", metric.title(), figure.quantile);
    let interval = range(figure).map(|range| format!("95 %: {range}"));
    let mark = figure.mark.map(|mark| match mark {
        SampleWarning::TooFewSamples => "* too few samples".to_owned(),
        SampleWarning::Indicative => "~ indicative".to_owned(),
    });
    KeyFigure::new(name, percentile(figure), "ms").below(interval.into_iter().chain(mark)).card_only()
}

fn flows(summary: &Summary) -> Vec<KeyFigure> {
    let rates = &summary.rates;
    // What a burst offers a second is as long as a moment is.
    let offered = rates.offered_requests_per_s.filter(|_| summary.window.answers_s().is_none());
    let load = match rates.offered_requests_per_s {
        Some(_) => None,
        None if summary.is_all_at_once() => Some("all sent at once".to_owned()),
        None => Some("closed loop: users decide".to_owned()),
    };
    let below: Vec<_> = match summary.window.answers_s() {
        Some(counted) => vec![format!("until the last answer, {}", seconds(counted))],
        None => ["ended in the window".to_owned()].into_iter().chain(load).collect(),
    };
    let completed = known(rates.completed_requests_per_s);
    // Goodput is of those that were offered, and more or fewer may end in the same time.
    let mut figures: Vec<_> =
        offered.map(|all| KeyFigure::new("requests offered", known(Some(all)), "/s")).into_iter().collect();
    let name = if figures.is_empty() { "requests completed" } else { "completed" };
    figures.push(KeyFigure::new(name, completed, "/s").below(below));
    if let Some(output) = rates.output_tokens_per_s {
        let input = rates.input_tokens_per_s.map(|input| format!("{}/s input", known(Some(input))));
        let each = rates.output_tokens_per_s_per_gpu.map(|each| format!("{}/s per GPU", known(Some(each))));
        let figure = KeyFigure::new("output tokens", known(Some(output)), "/s");
        let arrived = flow::arrived(rates).map(|all| format!("{}/s with failed answers", known(Some(all))));
        figures.push(figure.below(arrived.into_iter().chain(input).chain(each)));
    }
    if let Some(inputs) = rates.inputs_per_s {
        let input = rates.input_tokens_per_s.map(|input| format!("{}/s input tokens", known(Some(input))));
        let size = summary.run.inputs.map(|inputs| format!("{} a request", count(inputs.size.into())));
        let figure = KeyFigure::new("inputs", known(Some(inputs)), "/s");
        figures.push(figure.below(input.into_iter().chain(size)));
    }
    if let Some(audio) = rates.audio_seconds_per_s {
        figures.push(KeyFigure::new("audio", known(Some(audio)), "s/s"));
    }
    if let Some(factor) = summary.real_time_factor {
        let p95 = factor.p95.map(|p95| format!("p95 {}", three_digits(p95)));
        let audio = format!("of {} of audio, mean", seconds(factor.mean_audio_s));
        figures.push(KeyFigure::new("RTF", known(factor.p50), "p50").below(p95.into_iter().chain([audio])));
    }
    if summary.slo.declared {
        let attainment = summary.slo.slo_attainment.map_or_else(|| known(None), percent);
        figures.push(KeyFigure::new("goodput", known(summary.slo.goodput_per_s), "/s"));
        figures.push(KeyFigure::new("SLO attainment", attainment, ""));
    }
    figures.extend(answers::key_figure(summary));
    figures
}

fn in_flight(summary: &Summary) -> Option<KeyFigure> {
    let in_flight = summary.in_flight?;
    let figure = KeyFigure::new("in flight", three_digits(in_flight.mean), "mean");
    Some(figure.below([format!("peak {}", count(in_flight.peak))]).card_only())
}

fn errors(summary: &Summary) -> KeyFigure {
    let counts = &summary.requests;
    let others = [
        (counts.cancelled, "cancelled"),
        (counts.censored, "cut off"),
        (counts.in_flight, "in flight at the end"),
        (counts.unrecorded, "without a record"),
        (counts.resent, "sent again on a new connection"),
    ];
    let failed = [format!("{} failed", count(counts.failed))];
    let share = summary.failures.error_rate.map_or_else(|| known(None), percent);
    KeyFigure::new("errors", share, "").below([joined(failed.into_iter().chain(numbers(others)), ", ")])
}

/// Causes that a screen has room for. First come the reasons of the verdict, then what failed, then findings.
const CAUSES: usize = 3;

pub(super) fn failures(summary: &Summary) -> [Section; 3] {
    let after = Section::detail("Failures after the window, in no figure");
    let alone = failures_in_brief(summary).filter(|_| summary.verdict.reasons.is_empty());
    [
        Section::continued(Level::Brief).notes(alone.map(|failed| failed.cure(cure(summary)))),
        Section::page("Failures").table(table("Failures by kind", &summary.failures.kinds)),
        after.table(table("Failures after the window", &summary.failures.cooldown_kinds)),
    ]
}

/// The failures in one sentence, unless a reason of the verdict has named them.
fn failures_in_brief(summary: &Summary) -> Option<Note> {
    let kinds = &summary.failures.kinds;
    let named = [Rule::SomethingCompleted, Rule::ServerStayed].iter().any(|rule| summary.verdict.breaks(*rule));
    let first = kinds.first().filter(|_| !named)?;
    let failed = counted(kinds.iter().map(|kind| kind.count).sum(), "request");
    let kinds = joined(kinds.iter().map(|kind| format!("{} {}", count(kind.count), kind.kind)), ", ");
    Some(Note::warning(format!("{failed} failed: {kinds}, such as: {}", example(first))))
}

/// Cure of the most frequent failure: its cause is not always with the server.
fn cure(summary: &Summary) -> &'static str {
    failure_cure(summary).unwrap_or("see the server's log")
}

/// Returns what a server said, no longer than messages are kept.
fn example(failure: &FailureCount) -> String {
    failure.example.chars().take(Failure::MESSAGE_LIMIT + 1).collect()
}

fn table<'a>(caption: &str, kinds: &'a [FailureCount]) -> TableOf<&'a FailureCount> {
    Table::over(caption, kinds)
        .column("kind", |failure| failure.kind.to_string())
        .column("requests", |failure| failure.count)
        .column("share", |failure| percent(failure.share))
        .left("such as", example)
}

/// Returns the findings. On a screen they are the first ones that no reason of the verdict has said, as far as there is
/// room.
pub(super) fn findings(summary: &Summary) -> [Section; 3] {
    let said = summary.verdict.reasons.len() + failures_in_brief(summary).iter().len();
    let room = CAUSES.saturating_sub(said);
    let note = |finding: &Finding| Note::warning(&finding.sentence).cure(&finding.cure);
    let news = summary.findings.iter().filter(|finding| !finding.is_said_by(&summary.verdict));
    let hidden = news.clone().count().saturating_sub(room);
    let hidden = (hidden > 0).then(|| format!("… and {} (--full)", counted(hidden as u64, "more finding")));
    let then = if !summary.verdict.reasons.is_empty() {
        Some("More: skyline guide validity".to_owned())
    } else if news.clone().count() < room {
        summary.checklist.as_ref().map(checklist::in_brief)
    } else {
        None
    };
    [
        Section::summary("Findings").at(Level::Brief).notes(news.take(room).map(note)),
        Section::continued(Level::Brief).text(hidden).text(then),
        Section::page("Findings")
            .notes(summary.findings.iter().map(note))
            .more(summary.findings.iter().map(|finding| finding.kind.topic())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{record, run};
    use crate::record::FailureKind;

    #[test]
    fn a_failure_is_looked_for_where_it_was_made() {
        let advice = |kind| {
            let failed = record(0).sent_at(0, 0, 0).failed(5, Failure::new(kind, "no")).build();
            cure(&summarise(&run(1_000, vec![failed]), &[]))
        };
        for (kind, words) in [
            (FailureKind::Internal, "bug in skyline"),
            (FailureKind::ClientLimit, "ulimit"),
            (FailureKind::TimeoutFirstToken, "this client's limit"),
            (FailureKind::HttpStatus(504), "gateway"),
            (FailureKind::HttpStatus(401), "refuses the key"),
            (FailureKind::HttpStatus(500), "the server's log"),
            (FailureKind::StreamError, "the server's log"),
        ] {
            assert!(advice(kind).contains(words), "{kind}");
        }
    }
}

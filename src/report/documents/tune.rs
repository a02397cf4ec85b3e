//! A tuning as a document: the best flags, the runner-up and why, the variants, how good the predictions were.

use std::time::Duration;

use crate::analysis::Status;
use crate::experiment::tune::{
    LOAD_WORDS, Tune, TuneDecision, TuneForecast, TuneRuns, TuneSpec, TuneStanding, TuneStopped, TuneVariant,
};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, Row, Series};
use crate::report::document::{Chart, Document, KeyFigure, Level, Note, Section, Table, Tone, VerdictLine};
use crate::report::documents::parts::campaign::{run_again, unstopped};
use crate::units::{counted, joined, listed, percent, span, spoken, three_digits};

/// Variants that a screen has room for.
const MOST: usize = 8;
/// Variants that a chart has room for.
const MOST_DRAWN: usize = 40;
/// Unit of the figures.
const UNIT: &str = "requests/s per GPU";

/// The tuning as a document; `again` is the command that runs it again.
pub fn document(tune: &Tune, again: Option<&str>) -> Document {
    let (colour, word) = match (&tune.decision, tune.stopped) {
        (_, TuneStopped::Interrupted | TuneStopped::Refused) => (Tone::Neutral, "UNFINISHED"),
        (Some(_), _) if tune.never_run() > 0 => (Tone::Neutral, "BEST SO FAR"),
        (Some(_), _) => (Tone::Good, "FOUND"),
        (None, _) => (Tone::Bad, "NONE"),
    };
    let sentence = match &tune.decision {
        Some(decision) => found(tune, decision),
        None => format!("no variant surely meets {} at any load that ran", tune.objectives.join("; ")),
    };
    let headline = tune.decision.as_ref().and_then(|decision| {
        let said = format!("met {}, the highest load that did", tune.objectives.join("; "));
        let met = three_digits(best(tune)?.met_per_gpu()?);
        Some(KeyFigure::new(said, met, UNIT).below(limit(tune, decision)))
    });
    Document::new(format!("Tuning: {}", tune.name))
        .verdict(VerdictLine::new(colour, word, sentence))
        .headline(headline)
        .with([decision(tune), variants(tune)])
        .with([Section::page("Loads, variant by variant").charts(chart(tune))])
        .with([reasons(tune), runs(tune), end(tune, again)])
}

fn found(tune: &Tune, decision: &TuneDecision) -> String {
    let flags = if decision.flags.is_empty() { &decision.best } else { &decision.flags };
    let met = best(tune)
        .and_then(TuneVariant::met_per_gpu)
        .map_or("no load up to its limit".to_owned(), |met| format!("{} {UNIT}", three_digits(met)));
    let limit = limit(tune, decision).map_or(String::new(), |limit| format!("; {limit}"));
    let never = match tune.never_run() {
        0 => String::new(),
        never => format!("; {never} of {} never ran", counted(tune.variants.len() as u64, "variant")),
    };
    format!("{flags} serves most of those that ran: it met {met}{limit}{never}")
}

/// The best variant.
fn best(tune: &Tune) -> Option<&TuneVariant> {
    tune.variants.iter().find(|variant| variant.standing == TuneStanding::Best)
}

/// Says up to which load it probably meets them: an interval, or loads that ran.
fn limit(tune: &Tune, decision: &TuneDecision) -> Option<String> {
    let best = best(tune)?;
    let estimate = three_digits(decision.per_gpu);
    if let Some(interval) = span((decision.low, decision.high), " to ", three_digits) {
        return Some(format!("its limit is estimated at {estimate}, 95 % interval {interval}"));
    }
    match (best.met_per_gpu(), best.missed_per_gpu) {
        (Some(met), Some(missed)) if met < missed => {
            Some(format!("its limit lies between that and {}, which it missed", three_digits(missed)))
        }
        (Some(_), None) => Some("no run showed its limit".to_owned()),
        _ => Some(format!("its limit is estimated at {estimate}")),
    }
}

fn decision(tune: &Tune) -> Section {
    let section =
        Section::continued(Level::Summary).text(Some(&tune.description).filter(|description| !description.is_empty()));
    let Some(decision) = &tune.decision else { return section };
    let gain = decision.gain.map(|gain| match gain {
        gain if gain >= 1.0 => {
            format!("it met {} more than the first variant of the file met", percent(gain - 1.0))
        }
        gain => format!("it met {} less than the first variant of the file met", percent(1.0 - gain)),
    });
    let cost = decision.cost_per_million_output_tokens;
    let next = decision.runner_up.as_ref().zip(decision.why.as_ref());
    section
        .facts("gain", gain)
        .facts("cost", cost.map(|cost| format!("{} for a million output tokens", three_digits(cost))))
        .facts("no interval", decision.unsure.clone())
        .facts("runner-up", next.map(|(next, why)| format!("{next}: {why}")))
        .facts("as good, maybe", listed(&decision.tied, ", "))
        .text(decision.command.as_ref().map(|_| "start the server with:"))
        .command(&decision.command)
}

/// The variants, the best first.
fn ranked(tune: &Tune) -> Vec<&TuneVariant> {
    let mut order: Vec<&TuneVariant> = tune.variants.iter().collect();
    let met = |variant: &TuneVariant| variant.met_per_gpu().unwrap_or(0.0);
    let missed = |variant: &TuneVariant| variant.missed_per_gpu.unwrap_or(0.0);
    order.sort_by(|a, b| {
        let by_met = a.standing.cmp(&b.standing).then(met(b).total_cmp(&met(a)));
        by_met.then(missed(b).total_cmp(&missed(a)))
    });
    order
}

fn variants(tune: &Tune) -> Section {
    let several = tune.variants.iter().any(|variant| variant.gpus > 1);
    let predicted = tune.variants.iter().any(|variant| variant.forecast.is_some());
    let forecast = |variant: &TuneVariant| {
        let forecast = variant.forecast?;
        let [load, low, high] = [forecast.per_gpu, forecast.low, forecast.high].map(three_digits);
        Some(format!("{load} ({low} to {high})"))
    };
    let table = Table::over("Variants", ranked(tune))
        .column("variant", |variant| variant.name.clone())
        .column("standing", |variant| variant.standing.word())
        .column("met/s", |variant| variant.met_per_gpu().map(three_digits))
        .column("missed/s", |variant| variant.missed_per_gpu.map(three_digits))
        .column(("limit, estimated", 1), |variant| variant.per_gpu.map(three_digits))
        .column_if(predicted, ("predicted", 3), forecast)
        .column_if(several, ("GPUs", 4), |variant| u64::from(variant.gpus))
        .column(("runs", 5), |variant| variant.trials.len() as u64)
        .column(("flags", 2), |variant| variant.flags.clone())
        .in_brief(&(0..MOST), "variant");
    Section::summary("Variants, by the highest load per GPU that a run met").table(table)
}

/// Charts the loads of the variants under one axis, the best first. `None` where none is known.
fn chart(tune: &Tune) -> Option<Chart> {
    let (mut rows, mut predicted, mut met, mut missed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (row, variant) in ranked(tune).into_iter().take(MOST_DRAWN).enumerate() {
        let at = |load: f64, low, high| Point { low, high, ..Point::at(load, row as f64, String::new()) };
        let best = tune.decision.as_ref().filter(|_| variant.standing == TuneStanding::Best);
        predicted.extend(variant.forecast.map(|of| at(of.per_gpu, Some(of.low), Some(of.high))));
        match (variant.per_gpu, variant.missed_per_gpu) {
            (Some(load), _) => {
                met.push(at(load, best.and_then(|best| best.low), best.and_then(|best| best.high)));
            }
            (None, load) => missed.extend(load.map(|load| at(load, None, None))),
        }
        let load = variant.per_gpu.map(|load| format!("limit estimated at {} {UNIT}", three_digits(load)));
        let load = load.unwrap_or_else(|| "no known limit".to_owned());
        let words = format!("{}: {}, {load}", variant.name, variant.standing.word());
        rows.push(Row::new(variant.name.clone(), words));
    }
    let series = [
        ("predicted", Palette::Faint, predicted),
        ("meets the objectives up to, by estimate", Palette::First, met),
        ("missed them at", Palette::Failure, missed),
    ];
    let series = series.into_iter().filter(|(.., points)| !points.is_empty());
    let series = series.map(|(name, palette, points)| Series::points(name, palette, LineStyle::None, points));
    let series: Vec<Series> = series.collect();
    let loads = Series::extent(&series, |point| point.x);
    let description = format!("the load of {}", counted(rows.len() as u64, "variant"));
    let hint = "whiskers: what is expected where predicted, else the 95 % interval of the best";
    (!loads.is_empty()).then(|| {
        let plot = Plot::rows(description, Axis::from_zero(UNIT, loads), rows, series);
        Chart::new("Load of each variant", plot).hint(hint)
    })
}

/// Says where the decision comes from.
fn reasons(tune: &Tune) -> Section {
    let dropped = tune.variants.iter().filter(|variant| variant.standing == TuneStanding::Dropped).count();
    let ran = tune.variants.iter().filter(|variant| !variant.trials.is_empty()).count();
    let ran = counted(ran as u64, "variant");
    let [runs, starts] = [(tune.runs, "run"), (tune.starts, "start")].map(|(n, what)| counted(n, what));
    let load = spoken(Duration::from_secs_f64(tune.load_s));
    let named = tune.named.iter().map(|named| {
        let helped = match named.helped {
            Some(true) => "it helped",
            Some(false) => "it did not help",
            None => "whether it helped is not known",
        };
        format!("{} from {} to {}, since {}: {helped}", named.axis, named.from, named.to, named.because)
    });
    let failed = tune.variants.iter().filter_map(|variant| Some((variant, variant.failed.as_ref()?)));
    Section::continued(Level::Summary)
        .fact(
            "dropped",
            format!("{dropped} of {ran} that ran, each surely worse than another at a load that the other meets"),
        )
        .fact("error rate", format!("at most {} that chance drops one as good", percent(tune.error_rate)))
        .fact("took", format!("{runs} and {starts} of the server, {load} of load"))
        .facts("predicted", tune.score.map(|score| score.in_words()))
        .facts("named", named)
        .notes(tune.note.iter().map(Note::info))
        .notes(failed.map(|(variant, why)| Note::error(format!("{} could not go on: {why}", variant.name))))
        .notes(tune.unstopped.iter().map(|of| unstopped(&of.variant, &of.why)))
}

/// Every run, in its order.
fn runs(tune: &Tune) -> Section {
    let mut all: Vec<_> = tune.variants.iter().flat_map(|variant| &variant.trials).collect();
    all.sort_by_key(|trial| trial.number);
    let table = Table::over("Runs", all)
        .column("run", |trial| trial.run.clone())
        .column("round", |trial| trial.round as u64)
        .column("per GPU/s", |trial| three_digits(trial.per_gpu))
        .column("load", |trial| trial.side.choose(LOAD_WORDS))
        .column("requests", |trial| trial.requests)
        .column("lasts, s", |trial| trial.window_s)
        .column("over the bound", |trial| trial.over_share.map(percent))
        .column("tightest", |trial| trial.tightest.clone());
    let invalid = tune.variants.iter().flat_map(|variant| &variant.trials);
    let invalid = invalid.filter(|trial| trial.side == Status::Undecided || trial.replaced);
    Section::detail("Runs").table(table).notes(invalid.map(|trial| {
        let why = trial.invalid.first().map_or("a figure is missing", String::as_str);
        Note::new(Status::Undecided, format!("{} does not count: {why}", trial.run))
    }))
}

fn end(tune: &Tune, again: Option<&str>) -> Section {
    let why = match tune.stopped {
        TuneStopped::Finished => "Ended: the best variant and its load are known as well as the runs allow.",
        TuneStopped::OutOfRuns => "Ended: it had as many runs as it may have; the answer is the best so far.",
        TuneStopped::Refused => "Ended: this machine cannot be trusted with more runs; the answer is the best so far.",
        TuneStopped::Interrupted => "Interrupted: the answer is the best so far.",
    };
    run_again(Section::detail("End").text([why]), again, &tune.skyline_version).more(["matrix"])
}

/// Describes what a tuning would run. It gives its variants, its first runs, and about how long they take. `first_s` is
/// the length of the first run, and `most` the most runs.
pub fn plan(
    spec: &TuneSpec,
    runs: &TuneRuns,
    (first_s, pause): (f64, Duration),
    (takes, most): (&TuneForecast, u64),
) -> Document {
    let candidates = spec.candidates();
    let sentence = format!(
        "{}: {}, each started once and run under the load that the best meets, those that are left again for twice as \
         long, three times; nothing is sent",
        spec.name,
        counted(candidates.len() as u64, "variant"),
    );
    let first = spoken(Duration::from_secs_f64(first_s));
    let takes = format!(
        "about {} and {} of a server, {} if the best meets just that load, less in proportion if it meets more; at \
         most {most} runs",
        counted(takes.runs, "run"),
        counted(takes.starts, "start"),
        spoken(takes.lasting(pause)),
    );
    let axes = spec.axes.iter();
    let axes = axes.map(|axis| (&axis.name, [joined(axis.values.iter().map(|value| &value.name), ", ")]));
    let about = Section::continued(Level::Summary)
        .facts("objectives", spec.objectives.iter().map(ToString::to_string))
        .fact("first run", format!("{} {UNIT} for {first}", three_digits(runs.first_per_gpu)))
        .fact("takes", takes)
        .named(axes);
    let table = Table::over("Variants", &candidates)
        .column("variant", |candidate| candidate.name.clone())
        .column("GPUs", |candidate| u64::from(candidate.gpus))
        .column("flags", |candidate| candidate.flags.clone())
        .in_brief(&(0..MOST), "variant");
    Document::new(format!("Plan of {}", spec.name))
        .verdict(VerdictLine::new(Tone::Neutral, "DRY RUN", sentence))
        .with([about, Section::summary("Variants").table(table)])
}

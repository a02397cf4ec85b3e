//! A sweep as a person reads it: the answer, the loads from low to high, where the curve bends, and why it ended.

mod bars;
mod loads;
mod pairs;
#[cfg(test)]
mod tests;

pub(super) use self::loads::{columns, word};
use super::diagnosis;
use super::page::{Page, Style, Tone};
use crate::analysis::wording::{counted, percent, seconds};
use crate::experiment::{ArrivalUnit, Diagnosis, Frontier, LoadAxis, Sweep};
use crate::report::data::json::indented;
use crate::units::{count, three_digits};

/// A limit from which on it is none, seconds.
const AS_LONG_AS_IT_TAKES_S: f64 = 86_400.0;
/// Most reasons that are written out.
const REASONS: usize = 4;

/// The sweep as indented JSON with a line break at its end: `sweep.json`, and what `--json` prints.
pub fn sweep_json(sweep: &Sweep) -> serde_json::Result<String> {
    indented(sweep)
}

/// The sweep as text.
#[must_use]
pub fn sweep_text(sweep: &Sweep, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, sweep);
    answer(&mut page, sweep);
    what_was_run(&mut page, sweep);
    loads::table(&mut page, sweep);
    loads::intervals(&mut page, sweep);
    loads::objectives(&mut page, sweep);
    bars::bars(&mut page, sweep);
    shape(&mut page, sweep);
    pairs::table(&mut page, &sweep.paired);
    diagnosis::section(&mut page, &Diagnosis::of_sweep(sweep));
    end(&mut page, sweep);
    page.finish()
}

/// What was asked for, or what was found where nothing was, and how it is to be taken: nothing that an INVALID sweep says is
/// good.
pub(super) fn headline(sweep: &Sweep) -> (Tone, String) {
    match (&sweep.answer, &sweep.knee) {
        (Some(answer), _) => {
            let tone = match (sweep.valid, answer.passed) {
                (true, Some(_)) => Tone::Good,
                (false, Some(_)) => Tone::Strong,
                (_, None) => Tone::Bad,
            };
            (tone, answer.sentence.clone())
        }
        (None, Some(knee)) => (Tone::Strong, knee.sentence.clone()),
        (None, None) => {
            let loads = counted(sweep.points.len() as u64, "load");
            (Tone::Strong, format!("{loads} measured; the curve has no knee"))
        }
    }
}

fn answer(page: &mut Page, sweep: &Sweep) {
    let (tone, sentence) = headline(sweep);
    page.entry(tone, "", &sentence);
    if let Some(sustained) = &sweep.sustained {
        let (tone, sign) = match (sustained.held, &sustained.unknown) {
            (true, _) => (Tone::Good, "✓ "),
            (false, None) => (Tone::Bad, "✗ "),
            (false, Some(_)) => (Tone::Bad, "? "),
        };
        page.entry(tone, sign, &sustained.sentence);
    }
}

fn verdict(page: &mut Page, sweep: &Sweep) {
    if sweep.valid {
        return;
    }
    page.line(Tone::Bad, &format!("INVALID: {}", untrusted(sweep)));
    reasons(page, sweep);
}

/// How many runs do not count.
fn untrusted(sweep: &Sweep) -> String {
    let trials = || sweep.points.iter().flat_map(|point| &point.trials);
    let (bad, all) = (trials().filter(|trial| !trial.is_valid()).count(), trials().count());
    format!("{} of {} cannot be trusted and do not count", count(bad as u64), counted(all as u64, "run"))
}

/// Why runs do not count: the first of them.
fn reasons(page: &mut Page, sweep: &Sweep) {
    for reason in sweep.reasons.iter().take(REASONS) {
        page.entry(Tone::Bad, "  ✗ ", reason);
    }
    let more = sweep.reasons.len().saturating_sub(REASONS);
    if more > 0 {
        let text = format!("and {}, in {}", counted(more as u64, "more reason"), Sweep::FILE_NAME);
        page.entry(Tone::Faint, "    ", &text);
    }
}

fn what_was_run(page: &mut Page, sweep: &Sweep) {
    let (plan, engine) = (&sweep.plan, &sweep.engine);
    page.blank();
    let workload = format!("{}, first seed {}", sweep.workload.name, plan.first_seed);
    page.entry(Tone::Normal, "  workload    ", &workload);
    page.entry(Tone::Normal, "  model       ", &engine.model);
    page.entry(Tone::Normal, "  server      ", &served(sweep));
    let deployment = deployment(sweep);
    if !deployment.is_empty() {
        page.entry(Tone::Normal, "  deployment  ", &deployment);
    }
    if !plan.objectives.is_empty() {
        page.entry(Tone::Normal, "  objectives  ", &plan.objectives.join("; "));
    }
    page.entry(Tone::Normal, "  loads       ", &axis(sweep));
    let runs: usize = sweep.points.iter().map(|point| point.trials.len()).sum();
    let longest = if plan.longest_s < AS_LONG_AS_IT_TAKES_S {
        format!(", at most {} long", seconds(plan.longest_s))
    } else {
        String::new()
    };
    let runs = format!(
        "{}, begun {}; each of {}{longest}",
        counted(runs as u64, "run"),
        sweep.started_at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        counted(plan.samples, "request"),
    );
    page.entry(Tone::Normal, "  runs        ", &runs);
}

/// Who answered.
pub(super) fn served(sweep: &Sweep) -> String {
    let engine = &sweep.engine;
    let version = engine.server_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    if engine.modelled.is_empty() {
        format!("{}{version} at {}", engine.engine, engine.url)
    } else {
        format!("{}, in virtual time", engine.engine)
    }
}

/// What serves, as the person said; empty where nothing was said.
pub(super) fn deployment(sweep: &Sweep) -> String {
    let facts = &sweep.deployment;
    let hardware = match (facts.gpus, &facts.hardware) {
        (Some(gpus), Some(hardware)) => Some(format!("{} × {hardware}", count(gpus.into()))),
        (Some(gpus), None) => Some(counted(gpus.into(), "GPU")),
        (None, hardware) => hardware.clone(),
    };
    let said = [hardware, facts.serving_model.clone(), facts.precision.clone()];
    said.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What its rates count: sessions where those have several requests.
pub(super) fn arrivals(sweep: &Sweep) -> &'static str {
    ArrivalUnit::of(&sweep.workload).name()
}

/// Which loads were asked for.
pub(super) fn axis(sweep: &Sweep) -> String {
    let arrivals = arrivals(sweep);
    match &sweep.plan.axis {
        LoadAxis::List { rates_per_s } => {
            let rates: Vec<_> = rates_per_s.iter().copied().map(three_digits).collect();
            format!("{} {arrivals}/s", rates.join(", "))
        }
        LoadAxis::Geometric { from_per_s, to_per_s, ratio } => format!(
            "{} to {} {arrivals}/s, each {} times the one before",
            three_digits(*from_per_s),
            three_digits(*to_per_s),
            three_digits(*ratio)
        ),
        LoadAxis::Automatic { from_per_s, .. } => format!(
            "doubled from {} {arrivals}/s, then refined to within {}",
            three_digits(*from_per_s),
            percent(sweep.plan.precision)
        ),
        LoadAxis::Users { users } => {
            let users: Vec<_> = users.iter().copied().map(count).collect();
            format!("{} users in closed loops", users.join(", "))
        }
    }
}

/// Where the curve bends, and which loads no other beats.
fn shape(page: &mut Page, sweep: &Sweep) {
    let frontiers: Vec<_> = sweep.frontiers.iter().filter(|frontier| frontier.points.len() > 1).collect();
    if sweep.knee.is_none() && frontiers.is_empty() {
        return;
    }
    page.heading("Shape of the curve");
    if let Some(knee) = &sweep.knee {
        page.entry(Tone::Normal, "  knee      ", &knee.sentence);
    }
    for frontier in frontiers {
        page.entry(Tone::Normal, "  frontier  ", &in_words(frontier));
    }
}

fn in_words(frontier: &Frontier) -> String {
    let loads: Vec<_> = frontier.points.iter().map(|point| point.load.to_string()).collect();
    let [gain, price] = [&frontier.gain, &frontier.price].map(|key| name(key));
    format!("{gain} against {price}: no load beats {}", loads.join(", "))
}

/// A key of the figures as a person says it: `ttft_p99_ms` is `TTFT p99`.
pub(super) fn name(key: &str) -> String {
    let known = [
        ("ttft_p99_ms", "p99 TTFT"),
        ("tpot_p50_ms", "p50 TPOT"),
        ("tpot_p99_ms", "p99 TPOT"),
        ("e2e_p99_ms", "p99 e2e"),
        ("output_tokens_per_s", "output tokens/s"),
        ("output_tokens_per_s_per_gpu", "output tokens/s per GPU"),
        ("tokens_per_s_per_user", "tokens/s of a user"),
    ];
    known.into_iter().find(|(known, _)| *known == key).map_or(key, |(_, name)| name).to_owned()
}

/// Why there are no more loads, and what a reader should know besides.
fn end(page: &mut Page, sweep: &Sweep) {
    page.heading("End");
    page.entry(Tone::Normal, "  ", &sweep.stopped_sentence);
    if sweep.valid && !sweep.reasons.is_empty() {
        page.entry(Tone::Normal, "  ", &untrusted(sweep));
        reasons(page, sweep);
    }
    for note in &sweep.notes {
        page.entry(Tone::Faint, "  note: ", note);
    }
}

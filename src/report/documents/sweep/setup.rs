//! What a sweep measured, on which server, under which loads.

use std::time::Duration;

use crate::experiment::{ArrivalUnit, Load, LoadAxis, Sweep, either_way};
use crate::report::document::{Level, Section};
use crate::report::documents::parts::cells::{deployment, engine, server};
use crate::units::{count, counted, joined, seconds, spoken, three_digits};

/// Length from which on a run has no limit, seconds.
const NO_LIMIT_S: f64 = 86_400.0;

pub(super) fn section(sweep: &Sweep) -> Section {
    let plan = &sweep.plan;
    let longest =
        if plan.longest_s < NO_LIMIT_S { format!(", at most {} long", seconds(plan.longest_s)) } else { String::new() };
    let samples = counted(plan.samples, "request");
    let started = sweep.started_at.strftime("%Y-%m-%d %H:%M:%S UTC");
    Section::continued(Level::Page)
        .fact("workload", format!("{}, first seed {}", sweep.workload.name, plan.first_seed))
        .fact("model", sweep.engine.model.clone())
        .fact("server", server(&sweep.engine))
        .facts("deployment", deployment(&sweep.deployment))
        .facts("objectives", objectives(sweep))
        .fact("loads", axis(sweep))
        .fact("runs", format!("{}, started {started}; each of {samples}{longest}", runs(sweep)))
}

/// Names in a line what was measured. This is the server, its model, the runs and the objectives.
pub(super) fn about(sweep: &Sweep) -> String {
    let parts = [engine(&sweep.engine), sweep.engine.model.clone(), runs(sweep)];
    joined(parts.into_iter().chain(objectives(sweep)), " · ")
}

fn runs(sweep: &Sweep) -> String {
    counted(sweep.points.iter().map(|point| point.trials.len() as u64).sum(), "run")
}

fn objectives(sweep: &Sweep) -> Option<String> {
    Some(sweep.plan.objectives_in_words()).filter(|words| !words.is_empty())
}

/// Names what the rates count: sessions where those have several requests.
pub(super) fn arrivals(sweep: &Sweep) -> &'static str {
    ArrivalUnit::from_workload(&sweep.workload).name()
}

/// Describes the loads that the sweep goes through.
fn axis(sweep: &Sweep) -> String {
    let arrivals = arrivals(sweep);
    match &sweep.plan.axis {
        LoadAxis::List { rates_per_s } => {
            format!("{} {arrivals}/s", joined(rates_per_s.iter().copied().map(three_digits), ", "))
        }
        LoadAxis::Geometric { from_per_s, to_per_s, ratio } => format!(
            "{} to {} {arrivals}/s, each {} times the one before",
            three_digits(*from_per_s),
            three_digits(*to_per_s),
            three_digits(*ratio)
        ),
        LoadAxis::Automatic { .. } | LoadAxis::Agents { .. } => {
            let until = match sweep.plan.within_s {
                Some(within_s) => format!("for {}", spoken(Duration::from_secs_f64(within_s.round()))),
                None => format!("to {}", either_way(sweep.plan.precision)),
            };
            let from = match sweep.plan.axis.searched() {
                Some((Load::Rate(from_per_s), _)) => format!("{} {arrivals}/s", three_digits(from_per_s)),
                first => first.map_or(String::new(), |(first, _)| first.to_string()),
            };
            format!("from {from} on, then refined {until}")
        }
        LoadAxis::Users { users } => {
            format!("{} closed-loop users", joined(users.iter().copied().map(count), ", "))
        }
    }
}

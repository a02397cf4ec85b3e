//! The page of a sweep.

mod charts;
mod doubts;
mod frontiers;
pub(super) mod latencies;

use maud::{Markup, html};

use super::parts::{Table, facts, figure, notes, symptoms};
use super::shell;
use crate::analysis::wording::counted;
use crate::experiment::{Diagnosis, LoadAxis, Sweep};
use crate::report::chart::Plot;
use crate::report::html::told::class;
use crate::report::sweep::{arrivals, axis, columns, deployment, headline, served, word};

/// The sweep as a page.
#[must_use]
pub fn sweep_page(sweep: &Sweep) -> String {
    let table = loads(sweep);
    let title = format!("Sweep of {}", sweep.workload.name);
    let body = html! {
        h1 { (title) }
        @if !sweep.valid { (doubts::told(sweep)) }
        (answer(sweep))
        (asked(sweep))
        h2 { "Over the load" }
        div.charts {
            @for chart in latencies::all(sweep).into_iter().chain(charts::throughput(sweep)) { (figure(&chart.title, &chart.hint, &chart.plot.draw(), None)) }
        }
        @let frontiers = frontiers::all(sweep);
        @if !frontiers.is_empty() {
            h2 { "What no other load beats" }
            div.charts {
                @for chart in frontiers { (figure(&chart.title, &chart.hint, &chart.plot.draw(), None)) }
            }
        }
        @let pairs = charts::closed_and_open(sweep);
        @if !pairs.is_empty() {
            h2 { "What closed loops hide" }
            div.charts {
                @for chart in pairs { (figure(&chart.title, &chart.hint, &chart.plot.draw(), None)) }
            }
            (notes(&sweep.paired.iter().map(|paired| paired.pair.sentence.as_str()).collect::<Vec<_>>()))
        }
        @let diagnosis = Diagnosis::of_sweep(sweep);
        @if !diagnosis.is_silent() {
            h2 { "Diagnosis" }
            (symptoms(&diagnosis))
        }
        h2 { "The loads" }
        (table.draw())
        p.muted { "Means over the runs; latencies in milliseconds." }
        h2 { "Why it ended" }
        p.sentence { (crate::report::printable(&sweep.stopped_sentence)) }
        (notes(&sweep.notes))
    };
    shell::page(&title, &body)
}

/// A picture with its title and what to look for in it.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) hint: String,
    pub(super) plot: Plot,
}

fn answer(sweep: &Sweep) -> Markup {
    html! {
        @let (tone, sentence) = headline(sweep);
        p.lead.sentence { span class=(class(tone)) { (crate::report::printable(&sentence)) } }
        @if let Some(sustained) = &sweep.sustained {
            @let (class, sign) = match (sustained.held, &sustained.unknown) {
                (true, _) => ("good", "✓ "),
                (false, None) => ("bad", "✗ "),
                (false, Some(_)) => ("bad", "? "),
            };
            p { span class=(class) { (sign) (crate::report::printable(&sustained.sentence)) } }
        }
        @if let Some(knee) = sweep.knee.as_ref().filter(|_| sweep.answer.is_some()) { p.sentence { (crate::report::printable(&knee.sentence)) "." } }
    }
}

fn asked(sweep: &Sweep) -> Markup {
    let runs: usize = sweep.points.iter().map(|point| point.trials.len()).sum();
    let mut said = vec![
        ("workload", format!("{}, first seed {}", sweep.workload.name, sweep.plan.first_seed)),
        ("model", sweep.engine.model.clone()),
        ("server", served(sweep)),
    ];
    let deployment = deployment(sweep);
    if !deployment.is_empty() {
        said.push(("deployment", deployment));
    }
    if !sweep.plan.objectives.is_empty() {
        said.push(("objectives", sweep.plan.objectives.join("; ")));
    }
    said.push(("loads", axis(sweep)));
    let begun = sweep.started_at.strftime("%Y-%m-%d %H:%M:%S UTC");
    said.push(("runs", format!("{}, begun {begun}", counted(runs as u64, "run"))));
    facts(&said)
}

pub(super) fn loads(sweep: &Sweep) -> Table {
    let columns = columns(sweep);
    let titles: Vec<&str> =
        ["load"].into_iter().chain(columns.iter().map(|(title, ..)| *title)).chain(["verdict"]).collect();
    let mut table = Table::new("Loads, low to high", titles);
    for point in &sweep.points {
        let knee = sweep.knee.as_ref().is_some_and(|knee| knee.load == point.load);
        let name = format!("{}{}", point.load, if knee { " ◆ knee" } else { "" });
        let cells = columns.iter().map(|(_, _, cell)| cell(point));
        table.row([name].into_iter().chain(cells).chain([word(point.class).to_owned()]));
    }
    table
}

/// What the loads of a sweep are counted in.
fn load_unit(sweep: &Sweep) -> String {
    match sweep.plan.axis {
        LoadAxis::Users { .. } => "users".to_owned(),
        _ => format!("{}/s asked", arrivals(sweep)),
    }
}

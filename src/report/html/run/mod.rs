//! The page of a run.

mod cards;
mod gantt;
mod gaps;
mod latency;
mod meters;
mod over_time;
mod pair;
mod reproduction;
mod scatter;
#[cfg(test)]
mod tests;
mod told;
mod trouble;

use maud::{Markup, html};

use self::over_time::Clock;
use self::told::told;
use super::shell;
use crate::analysis::{GapHistogram, Metric, Objective, Subject, Summary, Timeline};
use crate::record::RunLog;
use crate::report::{Beside, flow_lines, printable, promises, quality, server, sessions};

/// Bounds that have room in one picture.
const MOST_BOUNDS: usize = 5;

/// A run as a page: its figures, the pictures that its log has in it, and all that it takes to fly it again.
#[must_use]
pub fn run_page(log: &RunLog, summary: &Summary, beside: Beside<'_>) -> String {
    let title = format!("{} on {}", summary.run.workload, summary.run.model_names());
    let timeline = Timeline::of(log);
    let clock = Clock::of(log, summary, &timeline);
    let gaps = GapHistogram::of(log);
    let body = html! {
        h1 { (printable(&title)) }
        (cards::top(summary))
        (latency::section(log, summary, gaps.as_ref()))
        (over_time::section(log, summary, &timeline, &clock))
        (scatter::section(log, summary, &clock))
        (gaps::section(gaps.as_ref(), summary))
        (gantt::section(log))
        (told(|page| promises::slo(page, summary)))
        (told(|page| promises::breakdown(page, summary)))
        (conversations(summary, beside))
        (told(|page| flow_lines::rates(page, summary)))
        (told(|page| flow_lines::tokens(page, summary)))
        (told(|page| flow_lines::prefix_cache(page, summary)))
        (told(|page| quality::forms(page, summary)))
        (told(|page| quality::checks(page, summary)))
        (trouble::section(summary, beside.diagnosis))
        (told(|page| server::section(page, summary)))
        (reproduction::section(log, summary))
        (reproduction::glossary(summary))
    };
    shell::page(&title, &body)
}

fn conversations(summary: &Summary, beside: Beside<'_>) -> Markup {
    html! {
        (told(|page| sessions::sessions(page, summary)))
        @match beside.paired_open {
            Some(open) => {
                (told(|page| sessions::closed_loop(page, summary)))
                (pair::section(open))
            }
            None => (told(|page| {
                sessions::closed_loop(page, summary);
                sessions::hidden(page, summary);
            })),
        }
    }
}

/// What classes promise of a latency and what objectives demand of it, milliseconds, each with its label.
fn bounds(summary: &Summary, metric: Metric) -> Vec<(f64, String)> {
    let mut bounds: Vec<(f64, String)> = Vec::new();
    for promise in summary.by_class.iter().flat_map(|group| &group.promises) {
        let bound = match metric {
            Metric::Ttft => promise.slo.ttft_ms,
            Metric::Tpot => promise.slo.tpot_ms,
            Metric::E2e => promise.slo.e2e_ms,
            _ => None,
        };
        let Some(bound) = bound else { continue };
        match bounds.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, label)) if label.contains(&promise.class) => {}
            Some((_, label)) => label.extend([", ", promise.class.as_str()]),
            None => bounds.push((bound, format!("SLO {bound} ms: {}", promise.class))),
        }
    }
    let objectives =
        summary.objectives.iter().filter_map(|judged| judged.objective.parse::<Objective>().ok());
    for objective in objectives {
        if objective.scope.is_none() && matches!(objective.subject, Subject::Latency(_, of) if of == metric) {
            bounds.push((objective.bound, objective.text));
        }
    }
    bounds.truncate(MOST_BOUNDS);
    bounds
}

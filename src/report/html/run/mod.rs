//! The page of a run.

mod bounds;
mod cards;
mod gantt;
mod gaps;
mod latency;
mod meters;
mod over_time;
mod pair;
mod reproduction;
mod scatter;
mod server;
#[cfg(test)]
mod tests;
mod trouble;

use maud::{Markup, html};

use self::over_time::Clock;
use super::shell;
use super::told::told;
use crate::analysis::{GapHistogram, Summary, Timeline};
use crate::record::RunLog;
use crate::report::{Beside, flow_lines, printable, promises, quality, sessions};

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
        (server::section(summary))
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

/// A moment of a run, seconds: figures of three digits would make 100.5 and 101.4 the same.
fn moment(seconds: f64, decimals: usize) -> String {
    format!("{seconds:.decimals$}")
}

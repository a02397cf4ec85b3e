//! The charts of a run, which only pages show.

mod bounds;
mod clock;
mod distributions;
mod gantt;
mod gaps;
mod over_time;
mod scatter;
mod timeline_rows;

use crate::analysis::{Summary, Timeline, TokenGaps};
use crate::record::RunLog;
use crate::report::document::Section;

use clock::Clock;

pub(super) fn sections(log: &RunLog, summary: &Summary) -> impl Iterator<Item = Section> {
    let timeline = Timeline::from_log(log);
    let clock = Clock::new(log, summary, &timeline);
    let gaps = TokenGaps::from_log(log).filter(|_| !summary.delivery.itl_withheld);
    let sections = [
        Some(distributions::section(log, summary, gaps.as_ref())),
        over_time::section(log, summary, &timeline, &clock),
        scatter::section(log, summary, &clock),
        gaps::section(gaps.as_ref(), summary),
        gantt::section(log),
    ];
    sections.into_iter().flatten()
}

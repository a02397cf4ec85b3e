//! Where everything stands: more rows for timelines and lists on a larger terminal, headings only where there is room.

use ratatui::layout::{Constraint, Layout, Rect};

use super::seen::{Seen, is_roomy};
use super::{latency, server, timelines};

/// Most rows of one timeline.
const TALLEST: u16 = 10;
/// Columns of the load, and those where there is room for what is planned too.
const NARROW: u16 = 22;
const WIDE: u16 = 40;
/// From so many columns on there is.
const WIDE_FROM: u16 = 78;
/// Rows that what can be said of the run's validity has at least.
const VALIDITY: u16 = 2;
/// Rows that the objectives have at most before timelines are made lower for them.
const OBJECTIVES: u16 = 6;

/// The parts of the screen.
pub(super) struct Areas {
    pub(super) head: Rect,
    pub(super) load: Rect,
    pub(super) latency: Rect,
    /// Absent where the server tells nothing.
    pub(super) server: Option<Rect>,
    pub(super) timelines: Rect,
    /// Rows of each of them.
    pub(super) rows_each: u16,
    pub(super) so_far: Rect,
    /// Absent where nothing failed.
    pub(super) failures: Option<Rect>,
    pub(super) said: Rect,
}

impl Areas {
    /// Divides `whole` for what there is to see, with so many lines of words.
    pub(super) fn of(whole: Rect, seen: &Seen<'_>, said: u16) -> Self {
        let heading = u16::from(is_roomy(whole.height));
        // On the smallest terminals words stand where the server's own figures would.
        let told = server::rows(seen, whole.width);
        let server = if is_roomy(whole.height) || said == 0 { told.min(1) } else { 0 };
        let figures = latency::rows(whole.height);
        let fixed = 2 + heading + figures + server + said;
        let objectives = (seen.watched.objectives.len() as u16).min(OBJECTIVES);
        let least = if is_roomy(whole.height) { heading + VALIDITY + objectives } else { 1 };
        let timelines = timelines::NUMBER;
        let mut left = whole.height.saturating_sub(fixed + least + heading);
        // The devices have a line of their own as long as every timeline keeps one.
        let own = u16::from(server == 1 && told > 1 && left > timelines);
        let server = server + own;
        left -= own;
        let rows_each = (left / timelines).clamp(1, TALLEST);
        let [head, figures, server, timelines, bottom, said] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Length(heading + figures),
            Constraint::Length(server),
            Constraint::Length(heading + rows_each * timelines),
            Constraint::Fill(1),
            Constraint::Length(said),
        ])
        .areas(whole);
        let load = if whole.width >= WIDE_FROM { WIDE } else { NARROW };
        let [load, latency] =
            Layout::horizontal([Constraint::Length(load), Constraint::Fill(1)]).areas(figures);
        let failed = !seen.snapshot.failures.is_empty();
        let share = if failed { Constraint::Percentage(36) } else { Constraint::Length(0) };
        let [so_far, failures] = Layout::horizontal([Constraint::Fill(1), share]).areas(bottom);
        Self {
            head,
            load,
            latency,
            server: (told > 0).then_some(server),
            timelines,
            rows_each,
            so_far,
            failures: failed.then_some(failures),
            said,
        }
    }
}

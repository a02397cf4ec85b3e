//! Divides the screen: a larger terminal gets more rows for charts and lists, and headings.

use ratatui::layout::{Constraint, Layout, Rect};

use super::view_state::{ViewState, is_roomy};
use super::{charts, head, latency, load, server};

/// Columns of the load on a narrow and on a wide terminal. On the wide one the planned rate fits too.
const NARROW: u16 = 22;
const WIDE: u16 = 40;
/// A terminal is wide from this number of columns on.
const WIDE_FROM: u16 = 78;
/// Least rows for two charts.
const CHARTS: u16 = 4;
/// Least rows for the findings on validity.
const VALIDITY: u16 = 2;
/// Most rows of objectives for which charts are made lower.
const OBJECTIVES: u16 = 6;

pub(super) struct Areas {
    pub(super) head: Rect,
    pub(super) load: Rect,
    pub(super) latency: Rect,
    /// `None` where the server reports nothing.
    pub(super) server: Option<Rect>,
    pub(super) charts: Rect,
    pub(super) so_far: Rect,
    /// `None` where nothing failed.
    pub(super) failures: Option<Rect>,
    pub(super) said: Rect,
}

impl Areas {
    /// Divides `whole` for this view with `said` lines of messages.
    pub(super) fn new(whole: Rect, state: &ViewState<'_>, said: u16) -> Self {
        let heading = u16::from(is_roomy(whole.height));
        // On the smallest terminals messages replace the server's figures.
        let wanted = server::rows(state, whole.width);
        let server = if is_roomy(whole.height) || said == 0 { wanted.min(1) } else { 0 };
        let latency = latency::rows(whole.height);
        let figures = if is_roomy(whole.height) { load::rows(state).min(latency) } else { latency };
        let head = head::rows(state, whole);
        let fixed = head + heading + figures + server + said;
        let objectives = (state.watched.objectives.len() as u16).min(OBJECTIVES);
        let least = if is_roomy(whole.height) { heading + VALIDITY + objectives } else { 1 };
        let mut left = whole.height.saturating_sub(fixed + least + heading);
        // The devices get their own line where two charts keep their rows.
        let own = u16::from(server == 1 && wanted > 1 && left > CHARTS);
        let server = server + own;
        left -= own;
        let [head, figures, server, charts, bottom, said] = Layout::vertical([
            Constraint::Length(head),
            Constraint::Length(heading + figures),
            Constraint::Length(server),
            Constraint::Length(heading + charts::rows(left)),
            Constraint::Fill(1),
            Constraint::Length(said),
        ])
        .areas(whole);
        let load = if whole.width >= WIDE_FROM { WIDE } else { NARROW };
        let [load, latency] = Layout::horizontal([Constraint::Length(load), Constraint::Fill(1)]).areas(figures);
        let failed = !state.snapshot.failures.is_empty();
        let share = if failed { Constraint::Percentage(36) } else { Constraint::Length(0) };
        let [so_far, failures] = Layout::horizontal([Constraint::Fill(1), share]).areas(bottom);
        Self {
            head,
            load,
            latency,
            server: (wanted > 0).then_some(server),
            charts,
            so_far,
            failures: failed.then_some(failures),
            said,
        }
    }
}

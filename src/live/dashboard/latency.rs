//! Latencies in the last seconds and in the window so far.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::view_state::{ViewState, is_roomy};
use crate::analysis::Metric;
use crate::runner::{LiveSpread, RECENT_S};
use crate::units::{millis, three_digits};

/// A statistic and its name.
type Column = (&'static str, fn(&LiveSpread) -> Duration);

const P50: Column = ("p50", |spread| spread.p50);
const P90: Column = ("p90", |spread| spread.p90);
const P95: Column = ("p95", |spread| spread.p95);
const P99: Column = ("p99", |spread| spread.p99);
const MAX: Column = ("max", |spread| spread.max);

/// Statistics, the most that have room.
const STATISTICS: [&[Column]; 3] = [&[P50, P90, P95, P99, MAX], &[P50, P90, P99, MAX], &[P50, P99]];

/// Columns of names and of each figure, at least and at most.
const NAME: usize = 5;
const FIGURE: usize = 8;
const WIDEST: usize = 14;
/// Columns between the last seconds and the window.
const GAP: usize = 1;

/// Rows of figures on a terminal of this height.
pub(super) const fn rows(height: u16) -> u16 {
    if is_roomy(height) { 6 } else { 4 }
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let (theme, snapshot) = (state.theme, &state.snapshot);
    let room = usize::from(area.width);
    let width = |columns: &[Column]| room.saturating_sub(NAME + GAP) / (2 * columns.len());
    let columns = STATISTICS.into_iter().find(|columns| width(columns) >= FIGURE).unwrap_or(STATISTICS[2]);
    let each = width(columns).clamp(FIGURE, WIDEST);
    let heads = columns.iter().map(|(name, _)| format!("{name:>each$}")).collect::<Vec<_>>().concat();
    let figures = |spread: Option<LiveSpread>| -> String {
        let figure = |of: fn(&LiveSpread) -> Duration| {
            spread.as_ref().map_or("–".to_owned(), |spread| three_digits(millis(of(spread))))
        };
        columns.iter().map(|(_, of)| format!("{:>each$}", figure(*of))).collect::<Vec<_>>().concat()
    };
    let line = |name: &str, recent: Span<'static>, window: Span<'static>| {
        let name = Span::styled(format!(" {name:<4}"), theme.quiet());
        Line::from_iter([name, recent, Span::raw(" ".repeat(GAP)), window])
    };
    // Red where more than one request in a hundred is over every bound.
    let spread = |metric: Metric, spread: Option<LiveSpread>| {
        let largest = state.watched.bounds_of(metric).pop();
        let is_over = largest.zip(spread).is_some_and(|(bound, spread)| millis(spread.p99) > bound);
        let style = if is_over { theme.coloured(Color::Red) } else { Style::new() };
        Span::styled(figures(spread), style)
    };
    let rows = [
        ("TTFT", Metric::Ttft, snapshot.ttft),
        ("ITL", Metric::Itl, snapshot.itl),
        ("TPOT", Metric::Tpot, snapshot.tpot),
        ("e2e", Metric::E2e, snapshot.e2e),
        ("lag", Metric::ScheduleLag, snapshot.schedule_lag),
    ];
    let mut text = vec![line("ms", Span::raw(heads.clone()), Span::raw(heads)).style(theme.quiet())];
    text.extend(
        rows.map(|(name, metric, latency)| line(name, spread(metric, latency.recent), spread(metric, latency.window))),
    );
    // Each heading ends where its figures end.
    let group = each * columns.len();
    let recent = format!(" last {RECENT_S} s");
    let title = format!("{recent:─>0$} {1:─>2$} ", NAME + group, " window so far", GAP + group - 1);
    state.draw_part(frame, area, title, text);
}

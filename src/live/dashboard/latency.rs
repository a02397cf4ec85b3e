//! Latencies in the last seconds and in the window so far.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::view_state::{ViewState, is_roomy};
use crate::runner::{LiveSpread, RECENT_S};
use crate::units::{millis, three_digits};

/// A statistic and its name.
type Column = (&'static str, fn(&LiveSpread) -> Duration);

const P50: Column = ("p50", |spread| spread.p50);
const P90: Column = ("p90", |spread| spread.p90);
const P99: Column = ("p99", |spread| spread.p99);
const MAX: Column = ("max", |spread| spread.max);

/// Statistics on a narrow and on a wide terminal.
const FEW: [Column; 2] = [P50, P99];
const MANY: [Column; 4] = [P50, P90, P99, MAX];

/// Columns of names and of each figure.
const NAME: usize = 5;
const FIGURE: usize = 8;
/// Columns between the last seconds and the window.
const GAP: usize = 1;

/// Rows of figures on a terminal of this height.
pub(super) const fn rows(height: u16) -> u16 {
    if is_roomy(height) { 5 } else { 4 }
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let (theme, snapshot) = (state.theme, &state.snapshot);
    let room = usize::from(area.width);
    let columns: &[Column] = if room > NAME + 2 * FIGURE * MANY.len() + GAP { &MANY } else { &FEW };
    let heads: Vec<_> = columns.iter().map(|(name, _)| format!("{name:>FIGURE$}")).collect();
    let heads = heads.concat();
    let figures = |spread: Option<LiveSpread>| -> String {
        let figure = |of: fn(&LiveSpread) -> Duration| {
            spread.as_ref().map_or("–".to_owned(), |spread| three_digits(millis(of(spread))))
        };
        let figures: Vec<_> = columns.iter().map(|(_, of)| format!("{:>FIGURE$}", figure(*of))).collect();
        figures.concat()
    };
    let line = |name: &str, recent: &str, window: &str| {
        Line::from_iter([
            Span::styled(format!(" {name:<4}"), theme.quiet()),
            Span::raw(format!("{recent}{:GAP$}{window}", "")),
        ])
    };
    let names =
        [("TTFT", snapshot.ttft), ("ITL", snapshot.itl), ("TPOT", snapshot.tpot), ("e2e", snapshot.e2e)];
    let mut text = vec![line("ms", &heads, &heads).style(theme.quiet())];
    text.extend(names.map(|(name, latency)| line(name, &figures(latency.recent), &figures(latency.window))));
    // Each heading ends where its figures end.
    let group = FIGURE * columns.len();
    let recent = format!(" last {RECENT_S} s");
    let title = format!("{recent:─>0$} {1:─>2$} ", NAME + group, " window so far", GAP + group - 1);
    state.draw_part(frame, area, title, text);
}

//! Provisional findings and failures.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::view_state::{ViewState, plain};
use crate::analysis::Status;
use crate::live::provisional::remarks;
use crate::live::watched::WatchedRun;
use crate::live::wrap::wrapped;
use crate::units::count;

/// Indents the further lines of a finding.
const MARK: &str = "   ";

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, so_far: Rect, failures: Option<Rect>) {
    let WatchedRun { objectives, lateness, .. } = state.watched;
    let remarks = remarks(&state.snapshot, state.window_s(), objectives, *lateness);
    let room = usize::from(so_far.width).saturating_sub(MARK.len() + 1);
    let lines = remarks.into_iter().flat_map(|(standing, text)| {
        let style = state.theme.standing(standing);
        let mark = match standing {
            Status::Met => " ✓ ",
            Status::Missed => " ✗ ",
            Status::Undecided => " ? ",
        };
        let marks = std::iter::once(mark).chain(std::iter::repeat(MARK));
        let lines = wrapped(&plain(&text), room);
        let line = |(mark, text)| Line::from_iter([Span::styled(mark, style), Span::raw(text)]);
        marks.zip(lines).map(line).collect::<Vec<_>>()
    });
    state.draw_part(frame, so_far, " so far (the report decides) ", lines.collect());
    if let Some(area) = failures {
        let lines = state.snapshot.failures.iter().map(|(kind, number)| {
            let number = Span::styled(format!("{:>8} ", count(*number)), state.theme.trouble());
            Line::from_iter([number, Span::raw(kind.to_string())])
        });
        state.draw_part(frame, area, " failures ", lines.collect());
    }
}

//! Everything that one frame of the dashboard shows.

use console::strip_ansi_codes;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use crate::clock::Timestamp;
use crate::live::watched::WatchedRun;
use crate::runner::Snapshot;
use crate::units::steers;

/// From this many rows on, parts have headings and all latencies are shown.
const ROOMY: u16 = 18;

/// Everything that one frame of the dashboard shows.
pub(super) struct ViewState<'a> {
    pub(super) watched: &'a WatchedRun,
    pub(super) now: Timestamp,
    pub(super) snapshot: Snapshot,
    /// The last messages, oldest first.
    pub(super) said: Vec<String>,
    pub(super) theme: Theme,
}

impl ViewState<'_> {
    /// Draws lines, under a heading where there is room for it.
    pub(super) fn draw_part<'t>(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        title: impl Into<Line<'t>>,
        lines: Vec<Line<'_>>,
    ) {
        let paragraph = Paragraph::new(lines);
        if is_roomy(frame.area().height) {
            frame.render_widget(paragraph.block(self.theme.headed(title)), area);
        } else {
            frame.render_widget(paragraph, area);
        }
    }
}

pub(super) const fn is_roomy(height: u16) -> bool {
    height >= ROOMY
}

/// Removes what could steer the terminal or reverse the text beside it: diagnostics are coloured and may
/// repeat what a server sent.
pub(super) fn plain(text: &str) -> String {
    strip_ansi_codes(text).chars().filter(|&c| !steers(c)).collect()
}

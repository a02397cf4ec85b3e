//! The last seconds, a column each: offered load, requests in flight, completions and TTFT.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, SparklineBar};

use super::view_state::{ViewState, is_roomy};
use crate::clock::Timestamp;
use crate::runner::SecondCounts;
use crate::units::{count, three_digits};

/// Number of timelines.
pub(super) const NUMBER: u16 = 4;
/// Columns of names and figures.
const MARGIN: u16 = 22;

struct Timeline {
    name: &'static str,
    of: fn(&SecondCounts) -> Option<u64>,
    show: fn(u64) -> String,
    colour: Color,
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect, rows_each: u16) {
    let theme = state.theme;
    let mut within = area;
    if is_roomy(frame.area().height) {
        let shown = state.snapshot.seconds.len().min(usize::from(area.width.saturating_sub(MARGIN)));
        let warm_up = if state.warm_up_seconds() > 0 { "; faint: warm-up" } else { "" };
        let title = format!(" the last {shown} s, a column each{warm_up} ");
        let block = theme.headed(title);
        within = block.inner(area);
        frame.render_widget(block, area);
    }
    let (load, work, wait) = (Color::Cyan, Color::Green, Color::Magenta);
    let timelines = [
        Timeline { name: "offered/s", of: |second| Some(second.released), show: count, colour: load },
        Timeline { name: "in flight", of: |second| Some(second.in_flight), show: count, colour: load },
        Timeline { name: "tokens/s", of: |second| Some(second.tokens), show: count, colour: work },
        Timeline {
            name: "TTFT p99",
            of: |second| second.ttft_p99.map(|ttft| ttft.as_micros() as u64),
            show: |micros| format!("{} ms", three_digits(micros as f64 / 1e3)),
            colour: wait,
        },
    ];
    let rows = Layout::vertical([Constraint::Length(rows_each); NUMBER as usize]).split(within);
    for (timeline, row) in timelines.iter().zip(rows.iter()) {
        timeline.draw(state, frame, *row);
    }
}

impl Timeline {
    fn draw(&self, state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
        let [margin, columns] =
            Layout::horizontal([Constraint::Length(MARGIN), Constraint::Fill(1)]).areas(area);
        let seconds = &state.snapshot.seconds;
        let faint = state.warm_up_seconds();
        let first = seconds.len().saturating_sub(usize::from(columns.width));
        let bars: Vec<_> = seconds
            .iter()
            .enumerate()
            .skip(first)
            .map(|(place, second)| {
                let style = if place < faint { state.theme.quiet() } else { Style::new() };
                ((self.of)(second), style)
            })
            .collect();
        let most = bars.iter().filter_map(|(value, _)| *value).max();
        let last = seconds.last().and_then(self.of).map_or("–".to_owned(), self.show);
        let mut text = vec![Line::from_iter([
            Span::styled(format!(" {:<10}", self.name), state.theme.quiet()),
            Span::raw(format!("{last:>10}")),
        ])];
        if area.height > 1 {
            let most = most.map_or(String::new(), self.show);
            text.push(Line::styled(format!(" {:<10}{most:>10}", "highest"), state.theme.quiet()));
        }
        frame.render_widget(Paragraph::new(text), margin);
        let bars = bars.into_iter().map(|(value, style)| SparklineBar::from(value).style(style));
        let sparkline = Sparkline::default()
            .data(bars.collect::<Vec<_>>())
            .max(most.unwrap_or_default().max(1))
            .style(state.theme.coloured(self.colour))
            .absent_value_symbol(" ");
        frame.render_widget(sparkline, columns);
    }
}

impl ViewState<'_> {
    /// How many of the kept seconds lie before the window.
    fn warm_up_seconds(&self) -> usize {
        let kept = self.snapshot.seconds.len() as u64;
        // The current second is not among them.
        let first = (self.now.as_nanos() / 1_000_000_000).saturating_sub(kept);
        let begun = |second| Timestamp::from_nanos(second * 1_000_000_000) >= self.watched.plan.window_start;
        (first..first + kept).take_while(|&second| !begun(second)).count()
    }
}

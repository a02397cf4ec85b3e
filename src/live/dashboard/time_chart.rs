//! One chart: columns of two heights from the run's beginning to its end, with a scale, bounds and a legend.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::view_state::Theme;
use crate::units::{count, three_digits};

/// Columns left of the columns of a chart: legend, scale, axis.
pub(super) const MARGIN: u16 = LEGEND + SCALE + 2;
const LEGEND: u16 = 15;
const SCALE: u16 = 9;

/// Signs of the lower part of a column, in eighths of a row.
const LOWER: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Signs of the upper part of a column, in quarters of a row.
const UPPER: [&str; 5] = [" ", "⣀", "⣤", "⣶", "⣿"];
const BOUND: &str = "╌";

/// A bound is drawn where it is at most so many times the largest figure.
const NEAR: f64 = 5.0;

/// A chart. Its columns begin with the run; each has a lower part and, up to its second height, an upper one.
/// They are absent where nothing is known.
pub(super) struct TimeChart {
    pub(super) name: &'static str,
    /// Legend of the lower part of a column, as it is now.
    pub(super) lower: Option<String>,
    /// Legend of the upper part of a column, as it is now.
    pub(super) upper: Option<String>,
    pub(super) columns: Vec<Option<[f64; 2]>>,
    /// Bounds that the figures should not exceed, smallest first.
    pub(super) bounds: Vec<f64>,
    /// The top of the scale, where it is always the same.
    pub(super) top: Option<f64>,
    pub(super) colour: Color,
    /// The colour of what is above.
    pub(super) above: Color,
}

impl TimeChart {
    /// A chart of nothing yet.
    pub(super) fn new(name: &'static str, colour: Color) -> Self {
        Self {
            name,
            lower: None,
            upper: None,
            columns: Vec::new(),
            bounds: Vec::new(),
            top: None,
            colour,
            above: colour,
        }
    }

    /// Whether there is anything to draw.
    pub(super) fn has_figures(&self) -> bool {
        self.columns.iter().any(Option::is_some)
    }

    /// Draws it. The first `faint` columns are before the window.
    pub(super) fn draw(&self, theme: Theme, faint: usize, frame: &mut Frame<'_>, area: Rect) {
        let [margin, columns] = Layout::horizontal([Constraint::Length(MARGIN), Constraint::Fill(1)]).areas(area);
        let scale = Scale::new(self, area.height);
        frame.render_widget(Paragraph::new(self.margin(&scale, theme)), margin);
        let rows = (0..area.height).rev().map(|row| {
            let cells = (0..usize::from(columns.width)).map(|column| {
                let heights = self.columns.get(column).copied().flatten();
                let (sign, style) = self.cell(&scale, row, heights, theme);
                let style = if column < faint { style.add_modifier(Modifier::DIM) } else { style };
                Span::styled(sign, style)
            });
            Line::from(cells.collect::<Vec<_>>())
        });
        frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), columns);
    }

    /// The name, the legend and the scale, from the top row on.
    fn margin(&self, scale: &Scale, theme: Theme) -> Vec<Line<'static>> {
        let mut legend = vec![Span::styled(self.name, theme.heading())];
        let parts = [(&self.lower, LOWER[8], self.colour), (&self.upper, UPPER[4], self.above)];
        for (text, sign, colour) in parts {
            let Some(text) = text else { continue };
            legend.push(Span::styled(format!("{sign} {text}"), theme.coloured(colour)));
        }
        // In two rows the end of the distribution matters more than its middle.
        if scale.rows == 2 && legend.len() > 2 {
            legend.remove(1);
        }
        if !self.bounds.is_empty() {
            let far = if scale.lines.is_empty() { " (above)" } else { "" };
            legend.push(Span::styled(format!("{BOUND} SLO{far}"), theme.coloured(Color::Yellow)));
        }
        let mut legend = legend.into_iter();
        (0..scale.rows)
            .rev()
            .map(|row| {
                let named = legend.next().unwrap_or_default();
                let named = Span::styled(format!(" {:<1$}", named.content, usize::from(LEGEND)), named.style);
                let (label, axis) = scale.label(row);
                let label = format!("{label:>0$}{axis}", usize::from(SCALE));
                Line::from_iter([named, Span::styled(label, theme.quiet())])
            })
            .collect()
    }

    /// Returns the sign and style of a cell of a column. The lowest row is 0.
    fn cell(&self, scale: &Scale, row: u16, heights: Option<[f64; 2]>, theme: Theme) -> (&'static str, Style) {
        let [lower, upper] = heights.unwrap_or_default();
        let lower_part = LOWER[scale.filled(lower, row, 8)];
        if lower_part != " " {
            return (lower_part, self.style(lower, self.colour, theme));
        }
        let upper_part = UPPER[scale.filled(upper, row, 4)];
        if upper_part != " " {
            return (upper_part, self.style(upper, self.above, theme));
        }
        if scale.lines.iter().any(|&(line, _)| line == row) {
            return (BOUND, theme.coloured(Color::Yellow).add_modifier(Modifier::DIM));
        }
        (" ", Style::new())
    }

    /// Returns the style of a value: red over the largest bound, yellow over the smallest.
    fn style(&self, value: f64, colour: Color, theme: Theme) -> Style {
        match (self.bounds.first(), self.bounds.last()) {
            (_, Some(&largest)) if value > largest => theme.coloured(Color::Red),
            (Some(&smallest), _) if value > smallest => theme.coloured(Color::Yellow),
            _ => theme.coloured(colour),
        }
    }
}

/// The vertical scale of a chart.
struct Scale {
    rows: u16,
    top: f64,
    /// Whether there is nothing to draw.
    is_empty: bool,
    /// The bounds that are drawn, each with its row.
    lines: Vec<(u16, f64)>,
}

impl Scale {
    fn new(chart: &TimeChart, rows: u16) -> Self {
        let most = chart.columns.iter().flatten().flatten().copied().fold(0.0, f64::max);
        let near = |&&bound: &&f64| most == 0.0 || bound <= most * NEAR;
        let near: Vec<f64> = chart.bounds.iter().filter(near).copied().collect();
        let top = chart.top.unwrap_or_else(|| round_up(near.iter().copied().fold(most, f64::max)));
        let row = |bound: f64| ((bound / top * f64::from(rows)) as u16).min(rows.saturating_sub(1));
        Self {
            rows,
            top,
            is_empty: most == 0.0 && chart.top.is_none(),
            lines: near.into_iter().map(|bound| (row(bound), bound)).collect(),
        }
    }

    /// Returns how many of the `parts` of a cell a column of this height fills. A figure that is not zero is seen.
    fn filled(&self, value: f64, row: u16, parts: usize) -> usize {
        if value <= 0.0 {
            return 0;
        }
        let height = (value / self.top * f64::from(self.rows) * parts as f64).round().max(1.0) as usize;
        height.saturating_sub(usize::from(row) * parts).min(parts)
    }

    /// Returns what is written beside a row, and the sign of the axis there.
    fn label(&self, row: u16) -> (String, &'static str) {
        let line = self.lines.iter().rev().find(|(line, _)| *line == row);
        match line {
            Some((_, bound)) => {
                let named = format!("SLO {}", short(*bound));
                (if named.len() > usize::from(SCALE) { short(*bound) } else { named }, "┼")
            }
            None if row == 0 => ("0".to_owned(), "┤"),
            None if row + 1 == self.rows && !self.is_empty => (short(self.top), "┤"),
            None => (String::new(), "│"),
        }
    }
}

/// A round number without decimals that say nothing.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { three_digits(value) }
}

/// The next round number, for the end of a scale.
pub(super) fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    // Figures such as 0.3 / 0.1 are a little more than they are.
    let step = steps.into_iter().find(|step| value / power <= step + 1e-9);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_chart(columns: &[(f64, f64)], bounds: &[f64]) -> TimeChart {
        let heights = columns.iter().map(|&(lower, upper)| Some([lower, upper]));
        let chart = TimeChart::new("TTFT ms", Color::Magenta);
        TimeChart { columns: heights.collect(), bounds: bounds.to_vec(), ..chart }
    }

    /// The signs of a column and their colours, from the top row on.
    fn column(chart: &TimeChart, column: usize, rows: u16) -> (String, Vec<Option<Color>>) {
        let scale = Scale::new(chart, rows);
        let cells = (0..rows).rev().map(|row| chart.cell(&scale, row, chart.columns[column], Theme::Colours));
        let (signs, styles): (Vec<_>, Vec<_>) = cells.unzip();
        (signs.concat(), styles.into_iter().map(|style| style.fg).collect())
    }

    #[test]
    fn a_column_has_its_heights() {
        let chart = a_chart(&[(50.0, 100.0), (25.0, 75.0), (1e-3, 0.0)], &[]);
        assert_eq!(column(&chart, 0, 4).0, "⣿⣿██");
        assert_eq!(column(&chart, 1, 4).0, " ⣿⣿█");
        assert_eq!(column(&chart, 1, 3).0, "⣀⣿▆");
        assert_eq!(column(&chart, 2, 3).0, "  ▁", "what is not zero is seen");
    }

    #[test]
    fn what_exceeds_a_bound_is_yellow_and_then_red() {
        let chart = a_chart(&[(50.0, 90.0), (150.0, 190.0), (150.0, 400.0)], &[100.0, 200.0]);
        // 400 rows to the top; the bounds are in the second and the third of four rows.
        let (signs, colours) = column(&chart, 0, 4);
        assert_eq!(signs, " ╌╌▄");
        assert_eq!(colours[3], Some(Color::Magenta));
        assert_eq!(column(&chart, 1, 4).1, [None, Some(Color::Yellow), Some(Color::Yellow), Some(Color::Yellow)]);
        let (signs, colours) = column(&chart, 2, 4);
        assert_eq!(signs, "⣿⣿▄█");
        assert_eq!(colours, [Color::Red, Color::Red, Color::Yellow, Color::Yellow].map(Some));
    }

    #[test]
    fn a_bound_far_above_the_figures_does_not_flatten_them() {
        let near = Scale::new(&a_chart(&[(10.0, 20.0)], &[90.0, 500.0]), 4);
        assert_eq!((near.top, near.lines), (100.0, vec![(3, 90.0)]));
        let far = Scale::new(&a_chart(&[(10.0, 20.0)], &[500.0]), 4);
        assert_eq!((far.top, far.lines), (20.0, vec![]));
        let before = Scale::new(&a_chart(&[], &[500.0]), 4);
        assert_eq!((before.top, before.lines), (500.0, vec![(3, 500.0)]));
    }

    #[test]
    fn scales_end_at_round_numbers() {
        let rounded = [0.0, 0.003, 0.31, 1.0, 1.1, 7.0, 9.9, 130.0, 2_100.0].map(round_up);
        let expected = [1.0, 0.003, 0.4, 1.0, 1.2, 8.0, 10.0, 150.0, 2_500.0];
        assert!(rounded.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{rounded:?}");
    }
}

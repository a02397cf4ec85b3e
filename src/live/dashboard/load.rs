//! Offered load and what the server has done with it.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::view_state::{ViewState, is_roomy};
use crate::live::watched::Paced;
use crate::runner::{LiveRates, RECENT_S};
use crate::units::{count, percent, three_digits};

/// Columns from which on details fit beside a figure.
const WIDE: u16 = 36;

/// A figure and its details.
struct Figure {
    name: &'static str,
    value: String,
    beside: String,
    troubles: bool,
    /// Whether it is shown on the smallest terminals.
    is_vital: bool,
}

/// Rows of figures on a terminal of any but the smallest height.
pub(super) fn rows(state: &ViewState<'_>) -> u16 {
    figures(state).len() as u16
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= WIDE;
    let theme = state.theme;
    let line = |figure: Figure| {
        let value = Span::raw(format!("{:>10}", figure.value));
        let beside = if wide { format!("  {}", figure.beside) } else { String::new() };
        Line::from_iter([
            Span::styled(format!(" {:<10}", figure.name), theme.quiet()),
            if figure.troubles { value.style(theme.trouble()) } else { value },
            Span::styled(beside, theme.quiet()),
        ])
    };
    let roomy = is_roomy(frame.area().height);
    let figures = figures(state).into_iter().filter(|figure| roomy || figure.is_vital);
    let text: Vec<_> = figures.map(line).collect();
    state.draw_part(frame, area, format!(" load, last {RECENT_S} s "), text);
}

fn figures(state: &ViewState<'_>) -> Vec<Figure> {
    let snapshot = &state.snapshot;
    let rate = |of: fn(&LiveRates) -> f64| {
        snapshot.rates.as_ref().map_or("–".to_owned(), |rates| format!("{}/s", three_digits(of(rates))))
    };
    let plan = &state.watched.plan;
    let window_s = plan.window_end.since(plan.window_start).as_secs_f64();
    let rate_planned = three_digits(plan.measured_requests as f64 / window_s);
    let planned = match state.watched.paced {
        Paced::Requests => format!("planned {rate_planned}/s"),
        Paced::Sessions => format!("{rate_planned} sessions/s"),
        Paced::Nothing => String::new(),
    };
    let figure = |name, value, beside| Figure { name, value, beside, troubles: false, is_vital: true };
    let measured = snapshot.measured;
    let met = match measured.with_slo {
        0 => String::new(),
        with_slo => format!("{} meet SLO", percent(measured.met as f64 / with_slo as f64)),
    };
    let goodput = figure("goodput", rate(|rates| rates.met), met);
    let mut figures = vec![
        figure("offered", rate(|rates| rates.released), planned),
        figure("completed", rate(|rates| rates.completed), format!("{} total", count(snapshot.completed))),
        Figure {
            troubles: snapshot.failed > 0,
            is_vital: false,
            ..figure("failed", rate(|rates| rates.failed), format!("{} total", count(snapshot.failed)))
        },
        figure(
            "in flight",
            count(snapshot.in_flight),
            if snapshot.queued > 0 { format!("{} queued", count(snapshot.queued)) } else { String::new() },
        ),
        Figure {
            is_vital: !state.watched.has_slo,
            ..figure("tokens", rate(|rates| rates.tokens), format!("{} total", count(snapshot.tokens)))
        },
    ];
    // Answers such as vectors have no tokens.
    figures.retain(|figure| figure.name != "tokens" || snapshot.tokens > 0 || snapshot.completed == 0);
    if state.watched.has_slo {
        figures.insert(2, goodput);
    }
    figures
}

//! What the server and its devices report, in a line or two.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::view_state::ViewState;
use crate::record::{Gauge, ServerState};
use crate::units::{count, three_digits};

const SERVER: &str = " server ";
const GPU: &str = " GPU    ";
const GIB: f64 = 1_073_741_824.0;

/// Rows needed in this many columns: devices share the server's line where both fit.
pub(super) fn rows(view: &ViewState<'_>, columns: u16) -> u16 {
    let state = &view.snapshot.server;
    match (of_engine(state).is_empty(), of_devices(state).is_empty()) {
        (true, true) => 0,
        (false, false) if width(state) > usize::from(columns) => 2,
        _ => 1,
    }
}

/// Columns of both in one line.
fn width(state: &ServerState) -> usize {
    let of = |heading: &str, words: &[String]| heading.len() + joined(words).chars().count();
    of(SERVER, &of_engine(state)) + 1 + of(GPU, &of_devices(state))
}

pub(super) fn draw(view: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let state = &view.snapshot.server;
    let parts = [(SERVER, of_engine(state)), (GPU, of_devices(state))];
    let parts: Vec<_> = parts.into_iter().filter(|(_, words)| !words.is_empty()).collect();
    let columns = usize::from(area.width);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut left = 0;
    for (heading, words) in parts {
        if lines.len() < usize::from(area.height) {
            lines.push(Line::default());
            left = columns;
        }
        let text = fitting(&words, left.saturating_sub(heading.len()));
        if let (Some(line), false) = (lines.last_mut(), text.is_empty()) {
            left = left.saturating_sub(heading.len() + text.chars().count() + 1);
            line.push_span(Span::styled(heading, view.theme.heading()));
            line.push_span(Span::raw(text + " "));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn joined(words: &[String]) -> String {
    words.join(" · ")
}

/// Joins as many of the words as fit, from the first on.
fn fitting(words: &[String], columns: usize) -> String {
    let fits = |&most: &usize| joined(&words[..most]).chars().count() <= columns;
    let most = (0..=words.len()).rev().find(fits).unwrap_or_default();
    joined(&words[..most])
}

fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

fn of_engine(state: &ServerState) -> Vec<String> {
    let value = |gauge: Gauge| state.gauges.get(&gauge).copied();
    let whole = |value: f64| count(value.max(0.0).round() as u64);
    let words = [
        value(Gauge::Running).map(|running| format!("{} running", whole(running))),
        value(Gauge::Waiting).map(|waiting| format!("{} waiting", whole(waiting))),
        value(Gauge::KvUsage).map(|usage| format!("KV cache {}", percent(usage))),
        value(Gauge::CacheHitRate).map(|hits| format!("prefix-cache hits {}", percent(hits))),
    ];
    let silent = (state.silent > 0).then(|| match state.silent {
        1 => "a metrics page does not answer".to_owned(),
        pages => format!("{} metrics pages do not answer", count(pages)),
    });
    silent.into_iter().chain(words.into_iter().flatten()).collect()
}

/// The mean utilisation of the devices and the sums of their memory and power.
fn of_devices(state: &ServerState) -> Vec<String> {
    let value = |gauge: Gauge| state.gauges.get(&gauge).copied();
    let memory = value(Gauge::MemoryUsedBytes).map(|used| match value(Gauge::MemoryFreeBytes) {
        Some(free) => {
            format!("memory {} of {} GiB", three_digits(used / GIB), three_digits((used + free) / GIB))
        }
        None => format!("memory {} GiB", three_digits(used / GIB)),
    });
    let words = [
        value(Gauge::Utilisation).map(|busy| format!("{} busy", percent(busy))),
        memory,
        value(Gauge::PowerW).map(|power| format!("{} W", three_digits(power))),
    ];
    let mut words: Vec<_> = words.into_iter().flatten().collect();
    if let (Some(first), 2..) = (words.first_mut(), state.devices) {
        *first = format!("all {}: {first}", count(state.devices));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> ServerState {
        let gauges = [
            (Gauge::Running, 31.0),
            (Gauge::Waiting, 4.0),
            (Gauge::KvUsage, 0.713),
            (Gauge::Utilisation, 0.465),
            (Gauge::MemoryUsedBytes, 74_278.0 * 1_048_576.0),
            (Gauge::MemoryFreeBytes, 88_687.0 * 1_048_576.0),
            (Gauge::PowerW, 483.75),
        ];
        ServerState { gauges: gauges.into(), devices: 2, ..ServerState::default() }
    }

    #[test]
    fn gauges_are_shown_in_words() {
        let mut state = state();
        assert_eq!(joined(&of_engine(&state)), "31 running · 4 waiting · KV cache 71.3 %");
        // 74,278 MiB are 72.5 GiB, and with what is free 159.1.
        let all = "all 2: 46.5 % busy · memory 72.5 of 159 GiB · 484 W";
        assert_eq!(joined(&of_devices(&state)), all);
        let silent = ServerState { silent: 1, ..ServerState::default() };
        assert_eq!(of_engine(&silent), ["a metrics page does not answer"]);
        state.devices = 1;
        state.gauges.remove(&Gauge::MemoryFreeBytes);
        assert_eq!(joined(&of_devices(&state)), "46.5 % busy · memory 72.5 GiB · 484 W");
        assert!(of_engine(&ServerState::default()).is_empty() && of_devices(&ServerState::default()).is_empty());
    }

    #[test]
    fn words_stay_whole() {
        let words = of_engine(&state());
        assert_eq!(fitting(&words, 40), "31 running · 4 waiting · KV cache 71.3 %");
        assert_eq!(fitting(&words, 39), "31 running · 4 waiting");
        assert_eq!(fitting(&words, 3), "");
    }
}

//! What the server tells of itself, in a line.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Seen;
use crate::record::Gauge;
use crate::units::{count, three_digits};

pub(super) fn draw(seen: &Seen<'_>, frame: &mut Frame<'_>, area: Rect) {
    let ink = seen.ink;
    let told = Span::raw(in_words(&seen.snapshot.server));
    frame.render_widget(Line::from_iter([Span::styled(" server ", ink.heading()), told]), area);
}

fn in_words(server: &BTreeMap<Gauge, f64>) -> String {
    let whole = |value: f64| count(value.max(0.0).round() as u64);
    let percent = |share: f64| format!("{} %", three_digits(share * 100.0));
    let words = server.iter().filter_map(|(gauge, &value)| {
        Some(match gauge {
            Gauge::Running => format!("{} running", whole(value)),
            Gauge::Waiting => format!("{} waiting", whole(value)),
            Gauge::KvUsage => format!("KV cache {}", percent(value)),
            Gauge::CacheHitRate => format!("prefix hits {}", percent(value)),
            Gauge::Utilisation => format!("GPU {}", percent(value)),
            Gauge::PowerW => format!("{} W", three_digits(value)),
            Gauge::GenerationTokensPerS | Gauge::MemoryUsedBytes | Gauge::MemoryFreeBytes => return None,
        })
    });
    words.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_are_told_in_words() {
        let server = BTreeMap::from([
            (Gauge::Running, 31.0),
            (Gauge::Waiting, 4.0),
            (Gauge::KvUsage, 0.713),
            (Gauge::MemoryUsedBytes, 7e10),
            (Gauge::PowerW, 640.0),
        ]);
        assert_eq!(in_words(&server), "31 running · 4 waiting · KV cache 71.3 % · 640 W");
    }
}

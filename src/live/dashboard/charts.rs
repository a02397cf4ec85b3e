//! The whole run in charts above one another: latencies, requests, what waits, tokens, the server's cache.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::Line;

use super::time_chart::{MARGIN, TimeChart, round_up};
use super::view_state::{ViewState, is_roomy};
use crate::analysis::Metric;
use crate::clock::Timestamp;
use crate::record::Gauge;
use crate::runner::{LiveLatency, LiveRates, SecondCounts};
use crate::units::{count, millis, percent, three_digits};

/// Least rows of a chart that shows two figures well.
const WELL: u16 = 3;
/// Most rows of one chart.
const TALLEST: u16 = 12;
/// Least columns from one tick of the time axis to the next.
const TICKS: f64 = 9.0;
/// The rank of a chart that is left out.
const UNSHOWN: u8 = u8::MAX;
/// Seconds between ticks.
const STEPS: [u64; 16] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200];

/// Seconds of the time axis and its columns.
#[derive(Clone, Copy, Debug)]
struct TimeAxis {
    seconds: f64,
    columns: usize,
}

/// Rows of all charts, of so many that are free.
pub(super) fn rows(free: u16) -> u16 {
    free.min(TALLEST * 6)
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let axis = TimeAxis::new(state, area.width.saturating_sub(MARGIN));
    let mut within = area;
    if is_roomy(frame.area().height) {
        frame.render_widget(Line::styled(axis.heading(state, area.width), state.theme.quiet()), area);
        within = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    }
    let mut charts = all(state, axis);
    let heights = heights(within.height, charts.len() as u16);
    // Those that matter most are kept, in the order in which they are read.
    let mut ranks: Vec<u8> = charts.iter().map(|(rank, _)| *rank).collect();
    ranks.sort_unstable();
    ranks.truncate(heights.len());
    charts.retain(|(rank, _)| ranks.contains(rank));
    let areas = Layout::vertical(heights.into_iter().map(Constraint::Length)).split(within);
    let faint = axis.columns_until(state.watched.plan.window_start);
    for ((_, chart), area) in charts.iter().zip(areas.iter()) {
        chart.draw(state.theme, faint, frame, *area);
    }
}

/// The rows of each chart: as many charts as have enough of them.
fn heights(rows: u16, charts: u16) -> Vec<u16> {
    let least = if rows >= 4 { 2 } else { u16::from(rows > 0) };
    let number = (rows / WELL).max(least).min(charts);
    let rows = rows.min(number * TALLEST);
    (0..number).map(|place| rows / number + u16::from(place < rows % number)).collect()
}

/// Returns all charts from the top on, each with its rank: the lowest matters most.
fn all(state: &ViewState<'_>, axis: TimeAxis) -> Vec<(u8, TimeChart)> {
    let (charts, snapshot) = (Charts { state, axis }, &state.snapshot);
    let ttft = charts.latency("TTFT ms", Metric::Ttft, |second| second.ttft, &snapshot.ttft);
    let tpot = charts.latency("TPOT ms", Metric::Tpot, |second| second.tpot, &snapshot.tpot);
    let e2e = charts.latency("e2e ms", Metric::E2e, |second| second.e2e, &snapshot.e2e);
    // Answers that come whole have no first token.
    let come_whole = e2e.has_figures() && !ttft.has_figures();
    let e2e_rank = match (come_whole, e2e.bounds.is_empty()) {
        (true, _) => 0,
        (false, false) => 3,
        (false, true) => UNSHOWN,
    };
    let mut all = vec![
        (if come_whole { UNSHOWN } else { 0 }, ttft),
        (if tpot.bounds.is_empty() { 6 } else { 1 }, tpot),
        (e2e_rank, e2e),
        (2, charts.requests()),
        (4, charts.in_flight()),
        (if snapshot.tokens == 0 && snapshot.completed > 0 { UNSHOWN } else { 5 }, charts.tokens()),
        (7, charts.cache()),
    ];
    // What not every run has is shown where there is something to show.
    all.retain(|(rank, chart)| *rank < 6 || (*rank < UNSHOWN && chart.has_figures()));
    all
}

/// Makes the charts of one frame.
#[derive(Clone, Copy)]
struct Charts<'a> {
    state: &'a ViewState<'a>,
    axis: TimeAxis,
}

impl Charts<'_> {
    fn columns(self, of: impl Fn(&SecondCounts, f64) -> Option<[f64; 2]>) -> Vec<Option<[f64; 2]>> {
        self.axis.columns_of(self.state, of)
    }

    fn per_s(self, of: impl Fn(&LiveRates) -> f64) -> Option<String> {
        self.state.snapshot.rates.as_ref().map(|rates| three_digits(of(rates)))
    }

    fn gauge(self, gauge: Gauge) -> Option<f64> {
        self.state.snapshot.server.gauges.get(&gauge).copied()
    }

    /// Returns a chart of a latency from the median to the 99th percentile.
    fn latency(
        self,
        name: &'static str,
        metric: Metric,
        of: fn(&SecondCounts) -> Option<(Duration, Duration)>,
        now: &LiveLatency,
    ) -> TimeChart {
        let figure = |name: &str, time: Duration| format!("{name} {}", three_digits(millis(time)));
        let heights = |(p50, p99)| [millis(p50), millis(p99)];
        TimeChart {
            lower: now.recent.map(|spread| figure("p50", spread.p50)),
            upper: now.recent.map(|spread| figure("p99", spread.p99)),
            columns: self.columns(|second, _| of(second).map(heights)),
            bounds: self.state.watched.bounds_of(metric),
            ..TimeChart::new(name, Color::Magenta)
        }
    }

    /// Requests that met their SLO, or completed where there is none, of those offered.
    fn requests(self) -> TimeChart {
        let has_slo = self.state.watched.has_slo;
        let (name, rate) = if has_slo {
            ("goodput", self.per_s(|rates| rates.met))
        } else {
            ("done", self.per_s(|rates| rates.completed))
        };
        TimeChart {
            lower: rate.map(|rate| format!("{name} {rate}")),
            upper: self.per_s(|rates| rates.released).map(|rate| format!("offered {rate}")),
            columns: self.columns(|counts, seconds| {
                let lower = if has_slo { counts.met } else { counts.completed };
                Some([lower as f64 / seconds, counts.released as f64 / seconds])
            }),
            above: Color::Cyan,
            ..TimeChart::new("requests/s", Color::Green)
        }
    }

    /// Returns the chart of the requests that are served, and of those that wait. They wait in the server, as it
    /// reports, and under the concurrency cap.
    fn in_flight(self) -> TimeChart {
        let snapshot = &self.state.snapshot;
        let reported = self.gauge(Gauge::Waiting).map(|waiting| waiting.max(0.0).round() as u64);
        let waiting = snapshot.queued + reported.unwrap_or_default();
        let all = snapshot.in_flight + snapshot.queued;
        let (lower, upper) = if reported.is_some() || waiting > 0 {
            let served = format!("served {}", count(all.saturating_sub(waiting)));
            (served, Some(format!("waiting {}", count(waiting))))
        } else {
            (count(all), None)
        };
        TimeChart {
            lower: Some(lower),
            upper,
            columns: self.columns(|counts, _| {
                let upper = counts.in_flight + counts.queued;
                let waiting = counts.queued + counts.waiting.unwrap_or_default();
                Some([upper.saturating_sub(waiting) as f64, upper as f64])
            }),
            above: Color::Yellow,
            ..TimeChart::new("in flight", Color::Cyan)
        }
    }

    fn tokens(self) -> TimeChart {
        TimeChart {
            lower: self.per_s(|rates| rates.tokens),
            columns: self.columns(|counts, seconds| Some([counts.tokens as f64 / seconds; 2])),
            ..TimeChart::new("tokens/s", Color::Green)
        }
    }

    /// The key-value cache of the server.
    fn cache(self) -> TimeChart {
        TimeChart {
            lower: self.gauge(Gauge::KvUsage).map(percent),
            columns: self.columns(|counts, _| Some([counts.kv_permille? as f64 / 10.0; 2])),
            top: Some(100.0),
            ..TimeChart::new("KV cache %", Color::Cyan)
        }
    }
}

impl TimeAxis {
    /// Returns the axis to the end of the load, and on while answers are awaited.
    fn new(state: &ViewState<'_>, columns: u16) -> Self {
        let end = state.watched.load_end(state.now, &state.snapshot).max(state.now).as_secs_f64();
        // An estimate moves: the axis follows it in round steps.
        let end = if state.watched.requests.is_some() { round_up(end) } else { end };
        Self { seconds: end.max(1.0), columns: usize::from(columns) }
    }

    fn column_of(self, seconds: f64) -> usize {
        (seconds / self.seconds * self.columns as f64).round() as usize
    }

    fn columns_until(self, moment: Timestamp) -> usize {
        self.column_of(moment.as_secs_f64())
    }

    /// A column for each part of the run so far. It is what `of` makes of the counts of that part and of its seconds.
    fn columns_of(
        self,
        state: &ViewState<'_>,
        of: impl Fn(&SecondCounts, f64) -> Option<[f64; 2]>,
    ) -> Vec<Option<[f64; 2]>> {
        let (entries, each) = (&state.snapshot.seconds, state.snapshot.each_s.max(1) as f64);
        let per_column = self.seconds / self.columns as f64 / each;
        let entry_at = |column: f64| (column * per_column) as usize;
        (0..self.columns)
            .map_while(|column| {
                // An entry wider than a column is in several, by their middles; of narrower ones each is in one.
                let column = column as f64;
                let (first, end) = if per_column < 1.0 {
                    (entry_at(column + 0.5), entry_at(column + 0.5) + 1)
                } else {
                    (entry_at(column), entry_at(column + 1.0))
                };
                let entries = entries.get(first..end.min(entries.len()).max(first + 1))?;
                Some(of(&SecondCounts::joined(entries), entries.len() as f64 * each))
            })
            .collect()
    }

    /// A rule with ticks above the columns.
    fn heading(self, state: &ViewState<'_>, width: u16) -> String {
        let warm_up = !state.snapshot.seconds.is_empty() && state.watched.plan.window_start > Timestamp::ZERO;
        let title = if warm_up { " the run; faint: warm-up " } else { " the run " };
        let mut rule: Vec<char> = vec!['─'; usize::from(width)];
        let mut write = |at: usize, text: &str| {
            if at + text.chars().count() <= rule.len() {
                rule.splice(at..at + text.chars().count(), text.chars());
            }
        };
        let step = STEPS.into_iter().find(|step| *step as f64 / self.seconds * self.columns as f64 >= TICKS);
        let step = step.unwrap_or(STEPS[STEPS.len() - 1]);
        for tick in (0..).map(|tick| tick * step).take_while(|tick| (*tick as f64) < self.seconds) {
            write(usize::from(MARGIN) + self.column_of(tick as f64), &format!("┬{}", time(tick, step)));
        }
        write(0, title);
        rule.into_iter().collect()
    }
}

/// A moment on an axis with ticks so far apart.
fn time(seconds: u64, step: u64) -> String {
    match (seconds, step) {
        (0, _) => "0".to_owned(),
        (_, 3_600..) => format!("{} h", seconds / 3_600),
        (_, 60..) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_charts_are_shown_as_have_rows() {
        assert_eq!(heights(10, 6), [4, 3, 3]);
        assert_eq!(heights(24, 6), [4; 6]);
        assert_eq!(heights(4, 6), [2, 2]);
        assert_eq!(heights(3, 6), [3]);
        assert_eq!(heights(1, 6), [1]);
        assert!(heights(0, 6).is_empty());
        assert_eq!(heights(90, 4), [TALLEST; 4]);
    }

    #[test]
    fn ticks_are_in_round_times() {
        assert_eq!([time(0, 15), time(45, 15), time(120, 60), time(7_200, 3_600)], ["0", "45 s", "2 min", "2 h"]);
    }
}

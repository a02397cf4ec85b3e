//! Pictures of runs, character by character.

use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::show::draw;
use super::view_state::{Theme, ViewState};
use crate::analysis::Metric;
use crate::clock::{RunClock, Timestamp};
use crate::live::provisional::Lateness;
use crate::live::watched::{Paced, WatchedRun, bounds};
use crate::record::{FailureKind, Gauge, PlanFacts, ServerState};
use crate::runner::{LiveLatency, LiveRates, LiveSpread, Progress, SecondCounts, Snapshot, WindowCounts};
use crate::units::steers;
use crate::workload::WorkloadSpec;

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_secs_f64(seconds)
}

/// A minute of 20 requests/s after ten seconds of warm-up.
pub(in crate::live) fn watched() -> WatchedRun {
    WatchedRun {
        workload: "short_chat".to_owned(),
        server: "vllm, Qwen/Qwen3-8B".to_owned(),
        part: None,
        progress: Arc::new(Progress::default()),
        clock: RunClock::starting_in(Duration::ZERO),
        plan: PlanFacts {
            hash: String::new(),
            warmup_requests: 200,
            measured_requests: 1_200,
            window_start: at(10.0),
            window_end: at(70.0),
        },
        requests: None,
        paced: Paced::Requests,
        lateness: Lateness::Judged,
        drained: at(130.0),
        objectives: Vec::new(),
        has_slo: false,
        bounds: Vec::new(),
        load_ends: "14:03:25".to_owned(),
    }
}

fn latency(p50_us: u64, p99_us: u64) -> LiveLatency {
    let spread = |factor: u64| {
        let at = |from_p50: u64| {
            let micros = p50_us + (p99_us - p50_us) * from_p50 / 10;
            Duration::from_micros(micros * factor / 10)
        };
        let (p50, p90, p95, p99, max) = (at(0), at(6), at(8), at(10), at(12));
        Some(LiveSpread { n: 1_000, p50, p90, p95, p99, max, ..LiveSpread::default() })
    };
    LiveLatency { recent: spread(11), window: spread(10) }
}

fn band(p50_us: u64, p99_us: u64) -> (Duration, Duration) {
    (Duration::from_micros(p50_us), Duration::from_micros(p99_us))
}

/// 41 seconds of it, in which all goes well.
fn in_the_window() -> Snapshot {
    let seconds = (0..41_u64).map(|second| SecondCounts {
        released: 14 + second * 7 % 13,
        completed: 18,
        tokens: 2_000 + second * 37 % 900,
        in_flight: 20 + second / 3,
        ttft: (second > 0).then(|| band(60_000 + second * 700, 90_000 + second * 2_711)),
        tpot: (second > 0).then(|| band(8_000, 9_900)),
        e2e: (second > 0).then(|| band(1_040_000 + second * 9_000, 2_310_000 + second * 23_000)),
        ..SecondCounts::default()
    });
    Snapshot {
        released: 831,
        in_flight: 34,
        completed: 797,
        tokens: 95_412,
        measured: WindowCounts { released: 631, completed: 601, ..WindowCounts::default() },
        rates: Some(LiveRates { released: 20.3, completed: 19.6, failed: 0.0, met: 0.0, tokens: 2_391.0 }),
        ttft: latency(80_400, 190_000),
        itl: latency(7_310, 21_900),
        tpot: latency(8_020, 9_940),
        e2e: latency(1_040_000, 3_310_000),
        schedule_lag: latency(40, 310),
        seconds: seconds.collect(),
        each_s: 1,
        ..Snapshot::default()
    }
}

fn picture(columns: u16, rows: u16, watched: &WatchedRun, now: f64, snapshot: Snapshot, said: &[&str]) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let said = said.iter().map(|&line| line.to_owned()).collect();
    let state = ViewState { watched, now: at(now), snapshot, said, theme: Theme::Colours };
    terminal.draw(|frame| draw(&state, frame)).unwrap();
    terminal.backend().to_string()
}

/// The library's `short_chat` against a server that reports its queue and its cache. It keeps up for 25 seconds, and
/// then no more.
fn falling_behind() -> (WatchedRun, Snapshot) {
    let workload = WorkloadSpec::load("short_chat").unwrap();
    let watched = WatchedRun { has_slo: true, bounds: bounds(&workload, &[]), ..watched() };
    let mut snapshot = in_the_window();
    for (number, second) in (0..).zip(&mut snapshot.seconds) {
        let behind = u64::saturating_sub(number, 25);
        second.completed = 20 - behind / 4;
        second.met = second.completed - behind * behind / 16;
        second.waiting = Some(behind * 4);
        second.in_flight = 22 + behind * 4;
        second.kv_permille = Some((300 + number * 20).min(970));
        second.ttft = Some(band(60_000 + behind * 16_000, 130_000 + behind * behind * 2_000 + behind * 15_000));
    }
    snapshot.in_flight = 82;
    snapshot.rates = Some(LiveRates { released: 20.3, completed: 17.1, failed: 0.0, met: 11.4, tokens: 2_391.0 });
    snapshot.ttft = latency(220_000, 602_000);
    snapshot.measured = WindowCounts { with_slo: 580, met: 538, ..snapshot.measured };
    let gauges = [(Gauge::Running, 22.0), (Gauge::Waiting, 60.0), (Gauge::KvUsage, 0.97)];
    snapshot.server = ServerState { gauges: gauges.into(), ..ServerState::default() };
    (watched, snapshot)
}

/// A run with every kind of problem, and a server that reports metrics.
fn in_trouble() -> (WatchedRun, Snapshot) {
    let mut watched = watched();
    let part = "run 7: 50/s for 1 min, its run 2; so far 25/s passed; at most 5 runs left, up to 7 min";
    watched.part = Some(part.to_owned());
    watched.objectives =
        ["p99 ttft < 150ms", "p95 e2e < 60s", "goodput > 15/s"].map(|text| text.parse().unwrap()).to_vec();
    watched.bounds = bounds(&WorkloadSpec::load("short_chat").unwrap(), &watched.objectives);
    let mut snapshot = in_the_window();
    snapshot.queued = 12;
    snapshot.failed = 42;
    snapshot.measured.failed = 42;
    snapshot.failures = vec![(FailureKind::HttpStatus(503), 40), (FailureKind::Reset, 2)];
    let gauges = [(Gauge::Running, 32.0), (Gauge::Waiting, 9.0), (Gauge::KvUsage, 0.983), (Gauge::CacheHitRate, 0.12)];
    snapshot.server = ServerState { gauges: gauges.into(), ..ServerState::default() };
    (watched, snapshot)
}

/// Eight GPUs report too.
fn with_devices(mut snapshot: Snapshot) -> Snapshot {
    let gib = 1_073_741_824.0;
    let gauges = [
        (Gauge::Utilisation, 0.874),
        (Gauge::MemoryUsedBytes, 588.2 * gib),
        (Gauge::MemoryFreeBytes, 47.8 * gib),
        (Gauge::PowerW, 4_512.0),
    ];
    snapshot.server.gauges.extend(gauges);
    snapshot.server.devices = 8;
    snapshot
}

#[test]
fn a_run_in_its_window_at_80_by_24() {
    insta::assert_snapshot!(picture(80, 24, &watched(), 41.2, in_the_window(), &[]));
}

#[test]
fn the_planned_load_is_shown() {
    let planned = |paced| {
        let watched = WatchedRun { paced, ..watched() };
        let picture = picture(80, 24, &watched, 41.2, in_the_window(), &[]);
        picture.lines().find(|line| line.contains("offered")).unwrap().to_owned()
    };
    assert!(planned(Paced::Requests).contains("planned 20.0/s"));
    assert!(planned(Paced::Sessions).contains("  20.0 sessions/s"));
    assert!(!planned(Paced::Nothing).contains("planned"));
}

#[test]
fn a_run_in_its_window_at_200_by_50() {
    insta::assert_snapshot!(picture(200, 50, &watched(), 41.2, in_the_window(), &[]));
}

#[test]
fn a_server_that_falls_behind_at_80_by_24() {
    let (watched, snapshot) = falling_behind();
    insta::assert_snapshot!(picture(80, 24, &watched, 41.2, snapshot, &[]));
}

#[test]
fn a_server_that_falls_behind_at_120_by_40() {
    let (watched, snapshot) = falling_behind();
    insta::assert_snapshot!(picture(120, 40, &watched, 41.2, snapshot, &[]));
}

/// A figure that exceeds its SLO is red. Nothing is where there are no colours.
#[test]
fn a_breach_is_red() {
    let (watched, snapshot) = falling_behind();
    let red = |theme| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        let snapshot = snapshot.clone();
        let state = ViewState { watched: &watched, now: at(41.2), snapshot, said: Vec::new(), theme };
        terminal.draw(|frame| draw(&state, frame)).unwrap();
        let cells = terminal.backend().buffer().content().to_vec();
        cells.iter().filter(|cell| cell.fg == Color::Red).count()
    };
    assert!(red(Theme::Colours) > 30 && red(Theme::Plain) == 0, "{}", red(Theme::Colours));
}

/// The axis ends at the expected end of a run that the server ends.
#[test]
fn a_run_of_so_many_requests_has_an_estimate() {
    let mut watched = WatchedRun { requests: Some(1_200), paced: Paced::Nothing, ..watched() };
    watched.plan.window_end = PlanFacts::OPEN_END;
    watched.plan.window_start = Timestamp::ZERO;
    let picture = picture(80, 24, &watched, 41.2, in_the_window(), &[]);
    assert!(picture.contains("797 of 1,200 requests in 41 s · about 21 s left"), "{picture}");
    // 62 s are expected, and the charts reach beyond.
    assert!(picture.contains("┬0") && picture.contains("┬60 s"), "{picture}");
}

/// Answers that come whole have no first token. What is shown of them is how long they take.
#[test]
fn whole_answers_have_a_chart_of_their_own() {
    let (watched, mut snapshot) = falling_behind();
    for second in &mut snapshot.seconds {
        (second.ttft, second.tpot, second.e2e) = (None, None, Some(band(1_200_000, 2_400_000)));
    }
    let whole = picture(80, 24, &watched, 41.2, snapshot.clone(), &[]);
    assert!(whole.contains(" e2e ms             2,500┤") && !whole.contains("TTFT ms"), "{whole}");
    // Beside a first token it is shown where it has a bound.
    for second in &mut snapshot.seconds {
        second.ttft = Some(band(60_000, 90_000));
    }
    assert!(!picture(120, 40, &watched, 41.2, snapshot.clone(), &[]).contains("e2e ms"));
    let watched = WatchedRun { bounds: vec![(Metric::E2e, 2_000.0)], ..watched };
    let bounded = picture(120, 40, &watched, 41.2, snapshot, &[]);
    assert!(bounded.contains("TTFT ms") && bounded.contains("SLO 2,000┼"), "{bounded}");
}

/// However long a run is, its charts reach from its beginning to its end.
#[test]
fn an_hour_fills_the_same_columns() {
    let (mut watched, mut snapshot) = falling_behind();
    watched.plan.window_end = at(3_600.0);
    snapshot.each_s = 60;
    insta::assert_snapshot!(picture(80, 24, &watched, 2_465.0, snapshot, &[]));
}

#[test]
fn a_run_in_trouble_at_80_by_24() {
    let (watched, snapshot) = in_trouble();
    let said =
        ["WARN a request was \u{1b}[31mlost", "stopping: no more requests are sent, and answers in flight are awaited"];
    insta::assert_snapshot!(picture(80, 24, &watched, 71.0, snapshot, &said));
}

#[test]
fn a_run_in_trouble_at_200_by_50() {
    let (watched, snapshot) = in_trouble();
    insta::assert_snapshot!(picture(200, 50, &watched, 41.2, snapshot, &[]));
}

#[test]
fn devices_have_a_line_where_there_is_room_for_it() {
    let (watched, snapshot) = in_trouble();
    insta::assert_snapshot!(picture(80, 24, &watched, 41.2, with_devices(snapshot), &[]));
}

#[test]
fn devices_share_the_server_s_line_where_it_is_long_enough() {
    let (watched, snapshot) = in_trouble();
    let picture = picture(200, 50, &watched, 41.2, with_devices(snapshot), &[]);
    let line = " server 32 running · 9 waiting · KV cache 98.3 % · prefix-cache hits 12.0 %  GPU    all 8: 87.4 % \
                busy · memory 588 of 636 GiB · 4,512 W ";
    assert!(picture.contains(line), "{picture}");
}

#[test]
fn devices_push_nothing_out_that_matters_more() {
    let (mut watched, snapshot) = in_trouble();
    watched.objectives = vec!["p99 ttft < 150ms".parse().unwrap(); 6];
    let said = ["one", "two", "three"];
    let without = picture(80, 24, &watched, 41.2, snapshot.clone(), &said);
    assert_eq!(picture(80, 24, &watched, 41.2, with_devices(snapshot), &said), without);
    // Alone, they take the server's line.
    let alone = with_devices(in_the_window());
    let picture = picture(60, 12, &watched, 41.2, alone, &[]);
    assert!(picture.contains(" GPU    all 8: 87.4 % busy · memory 588 of 636 GiB "), "{picture}");
}

#[test]
fn the_smallest_terminal_has_room_for_what_matters() {
    let (watched, snapshot) = in_trouble();
    insta::assert_snapshot!(picture(60, 12, &watched, 41.2, snapshot, &[]));
}

#[test]
fn before_anything_is_known_nothing_is_made_up() {
    insta::assert_snapshot!(picture(80, 24, &watched(), 0.3, Snapshot::default(), &[]));
}

#[test]
fn a_terminal_made_too_small_shows_a_line() {
    let picture = picture(50, 5, &watched(), 41.2, in_the_window(), &[]);
    assert!(picture.contains("41/70 s · 831 released · 34 in flight"), "{picture}");
}

#[test]
fn no_text_from_outside_steers_the_terminal() {
    let mut watched = watched();
    watched.server = "\u{1b}[2J\u{7}evil\u{9b}31m\u{202e}\u{2066}\u{ad}".to_owned();
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let state = ViewState {
        watched: &watched,
        now: at(1.0),
        snapshot: Snapshot::default(),
        said: vec!["\u{1b}]0;title\u{7}words\u{8}".to_owned()],
        theme: Theme::Plain,
    };
    terminal.draw(|frame| draw(&state, frame)).unwrap();
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| !cell.symbol().contains(steers)));
    // Without colours there are none.
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset));
}

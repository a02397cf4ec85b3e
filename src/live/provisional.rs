//! What is known of a run before it is over: problems of validity, and how it stands against its objectives.
//!
//! All of it is cheap and provisional. The report's verdict comes from the records, when all of them are
//! there.

use std::time::Duration;

use crate::analysis::{
    ERROR_RATE_BAR, FigureKey, LEAST_MS, Metric, Objective, Quantile, SPOILED, Statistic, Status, of_failures,
};
use crate::runner::{LiveLatency, LiveSpread, SecondCounts, Snapshot, WindowCounts};
use crate::units::{count, counted, millis, percent, three_digits};

/// A provisional finding: whether it is within its limit so far, and its words.
type Remark = (Status, String);

/// Whether the verdict of a run asks how late requests leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lateness {
    /// Lateness judged by what it does to latencies.
    Judged,
    /// Lateness that no verdict asks for. Latencies count from sending, as in a closed loop, or nobody judges them, as
    /// in a smoke run.
    NotJudged,
}

/// Returns all provisional findings after so many seconds of the window. Validity comes first, then each objective.
pub(super) fn remarks(snapshot: &Snapshot, window_s: f64, objectives: &[Objective], lateness: Lateness) -> Vec<Remark> {
    let mut remarks = validity(snapshot, window_s, objectives, lateness);
    remarks.extend(objectives.iter().map(|objective| judged(objective, snapshot, window_s)));
    remarks
}

fn validity(snapshot: &Snapshot, window_s: f64, objectives: &[Objective], lateness: Lateness) -> Vec<Remark> {
    if snapshot.measured.released == 0 {
        return vec![(Status::Undecided, "nothing is measured before the warm-up is over".to_owned())];
    }
    let expected = objectives.iter().any(Objective::is_about_error_rate);
    let failures = (!expected).then(|| failures(snapshot)).flatten();
    let lag = lag(snapshot).filter(|_| lateness == Lateness::Judged);
    let speaks: Vec<_> =
        lag.into_iter().chain(failures).chain(cap(snapshot)).chain(backlog(snapshot, window_s)).collect();
    if speaks.iter().any(|(standing, _)| *standing != Status::Met) {
        return speaks.into_iter().filter(|(standing, _)| *standing != Status::Met).collect();
    }
    let seen: Vec<_> = speaks.into_iter().map(|(_, text)| text).collect();
    let seen = if seen.is_empty() { String::new() } else { format!(": {}", seen.join(", ")) };
    vec![(Status::Met, format!("no problems so far{seen}"))]
}

/// p95 of the schedule lag against the most that it may add to the latency's. A run is judged by what it does add. With
/// few requests one outlier decides p95.
fn lag(snapshot: &Snapshot) -> Option<Remark> {
    let lag = snapshot.schedule_lag.window?;
    let latency = snapshot.ttft.window.or(snapshot.e2e.window).map_or(0.0, |spread| millis(spread.p95));
    let (p95, bound) = (millis(lag.p95), LEAST_MS.max(SPOILED * latency));
    let (said, limit) = (format!("p95 schedule lag {} ms", three_digits(p95)), three_digits(bound));
    Some(if p95 <= bound {
        (Status::Met, said)
    } else if lag.n < Quantile::P95.floor() {
        (Status::Undecided, format!("{said} of {} requests, limit: {limit} ms", count(lag.n)))
    } else {
        (Status::Missed, format!("INVALID so far: {said}, limit: {limit} ms"))
    })
}

fn failures(snapshot: &Snapshot) -> Option<Remark> {
    let share = share(snapshot, snapshot.measured.failed)?;
    Some(if share <= ERROR_RATE_BAR {
        (Status::Met, format!("{} failed", percent(share)))
    } else {
        let WindowCounts { failed, rejected, timed_out, .. } = snapshot.measured;
        let others = self::share(snapshot, failed.saturating_sub(rejected + timed_out))?;
        let (word, bar) = (of_failures(others).word(), percent(ERROR_RATE_BAR));
        (Status::Missed, format!("{word} so far: {} failed, limit: {bar}", percent(share)))
    })
}

/// Says how many requests the concurrency cap holds back now.
fn cap(snapshot: &Snapshot) -> Option<Remark> {
    let queued = snapshot.queued;
    let held = || format!("{} queued under the cap; their wait counts", count(queued));
    (queued > 0).then(|| (Status::Undecided, held()))
}

/// Says whether more requests are in flight than when the window began. Only more than the load and chance explain
/// count.
fn backlog(snapshot: &Snapshot, window_s: f64) -> Option<Remark> {
    /// A shorter window shows nothing.
    const LEAST_S: f64 = 10.0;
    /// Standard deviations of the difference of two such numbers, where the server keeps up.
    const BEYOND: f64 = 3.0;
    let (entries, each_s) = (&snapshot.seconds, snapshot.each_s.max(1) as f64);
    let of_window = &entries[entries.len().saturating_sub((window_s / each_s) as usize)..];
    if window_s < LEAST_S || of_window.len() < 2 {
        return None;
    }
    let part = (of_window.len() / 4).clamp(1, (LEAST_S / each_s).ceil() as usize);
    let [first, last] = [&of_window[..part], &of_window[of_window.len() - part..]].map(SecondCounts::joined);
    let [before, now] = [first, last].map(|counts| counts.in_flight + counts.queued);
    let load = (first.released > 0 && last.released > 0).then(|| last.released as f64 / first.released as f64)?;
    let grown = now as f64 - before as f64 * load;
    let said = || {
        let [before, now] = [before, now].map(count);
        format!("{now} requests in flight, {before} when the window began: does the server keep up?")
    };
    (grown > BEYOND * (2.0 * now as f64).sqrt()).then(|| (Status::Undecided, said()))
}

/// `part` as a share of the window's dispatched requests.
fn share(snapshot: &Snapshot, part: u64) -> Option<f64> {
    let released = snapshot.measured.released;
    (released > 0).then(|| part as f64 / released as f64)
}

fn judged(objective: &Objective, snapshot: &Snapshot, window_s: f64) -> Remark {
    let WindowCounts { with_slo, met, .. } = snapshot.measured;
    let FigureKey { statistic, metric, part } = &objective.key;
    let value = match (part, statistic, metric) {
        (None, Some(statistic), metric) => {
            let spread = live(*metric, snapshot).and_then(|latency| latency.window);
            spread.and_then(|spread| of(*statistic, &spread)).map(millis)
        }
        (None, _, Metric::ErrorRate) => share(snapshot, snapshot.measured.failed),
        (None, _, Metric::RejectRate) => share(snapshot, snapshot.measured.rejected),
        (None, _, Metric::TimeoutRate) => share(snapshot, snapshot.measured.timed_out),
        (None, _, Metric::SloAttainment) => (with_slo > 0).then(|| met as f64 / with_slo as f64),
        (None, _, Metric::Goodput) if with_slo > 0 => Some(met as f64 / window_s.max(1.0)),
        _ => None,
    };
    match value {
        Some(value) => {
            let kept = objective.comparison.holds(value, objective.bound);
            let said = format!("{objective}: {}", objective.key.show(value));
            match too_few(objective, snapshot) {
                Some(n) => (Status::Undecided, format!("{said} of {} so far", counted(n, "sample"))),
                None => (if kept { Status::Met } else { Status::Missed }, said),
            }
        }
        None => (Status::Undecided, format!("{objective}: not known yet")),
    }
}

/// The number of samples of a percentile that needs more of them.
fn too_few(objective: &Objective, snapshot: &Snapshot) -> Option<u64> {
    let quantile = objective.key.quantile()?;
    let n = live(objective.key.metric, snapshot)?.window?.n;
    (n < quantile.floor()).then_some(n)
}

/// The latencies that are counted live.
fn live(metric: Metric, snapshot: &Snapshot) -> Option<LiveLatency> {
    match metric {
        Metric::Ttft => Some(snapshot.ttft),
        Metric::Itl => Some(snapshot.itl),
        Metric::Tpot => Some(snapshot.tpot),
        Metric::E2e => Some(snapshot.e2e),
        Metric::ScheduleLag => Some(snapshot.schedule_lag),
        _ => None,
    }
}

const fn of(statistic: Statistic, spread: &LiveSpread) -> Option<Duration> {
    Some(match statistic {
        Statistic::Mean => spread.mean,
        Statistic::Min => spread.min,
        Statistic::Max => spread.max,
        Statistic::Percentile(Quantile::P50) => spread.p50,
        Statistic::Percentile(Quantile::P90) => spread.p90,
        Statistic::Percentile(Quantile::P95) => spread.p95,
        Statistic::Percentile(Quantile::P99) => spread.p99,
        Statistic::Percentile(Quantile::P999) => spread.p999,
        Statistic::Percentile(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail is both the p95 and the p99.
    fn spread(n: u64, p50_ms: u64, tail_ms: u64) -> LiveLatency {
        let (p50, p95) = (Duration::from_millis(p50_ms), Duration::from_millis(tail_ms));
        LiveLatency { recent: None, window: Some(LiveSpread { n, p50, p95, p99: p95, ..LiveSpread::default() }) }
    }

    /// A thousand requests of the window, on time and answered after 80 ms.
    fn sound() -> Snapshot {
        let mut snapshot = Snapshot {
            measured: WindowCounts { released: 1_000, completed: 990, ..WindowCounts::default() },
            ttft: spread(1_000, 80, 190),
            ..Snapshot::default()
        };
        snapshot.schedule_lag = spread(1_000, 0, 1);
        snapshot
    }

    fn said(snapshot: &Snapshot, objectives: &[&str]) -> Vec<(Status, String)> {
        let objectives: Vec<Objective> = objectives.iter().map(|text| text.parse().unwrap()).collect();
        remarks(snapshot, 10.0, &objectives, Lateness::Judged)
    }

    #[test]
    fn a_sound_run_has_nothing_against_it_so_far() {
        let text = "no problems so far: p95 schedule lag 1.00 ms, 0 % failed";
        assert_eq!(said(&sound(), &[]), [(Status::Met, text.to_owned())]);
        let before = "nothing is measured before the warm-up is over";
        assert_eq!(said(&Snapshot::default(), &[]), [(Status::Undecided, before.to_owned())]);
    }

    #[test]
    fn goodput_and_attainment_are_known_as_far_as_the_run_is() {
        let mut snapshot = sound();
        (snapshot.measured.with_slo, snapshot.measured.met) = (200, 180);
        let found = said(&snapshot, &["goodput > 15/s", "slo_attainment > 95%"]);
        let texts = [(Status::Met, "goodput > 15/s: 18.0/s"), (Status::Missed, "slo_attainment > 95%: 90 %")];
        assert_eq!(found[1..], texts.map(|(standing, text)| (standing, text.to_owned())));
    }

    #[test]
    fn a_backlog_that_grows_is_a_question() {
        let after = |seconds: u64, in_flight: fn(u64) -> u64, released: fn(u64) -> u64| {
            let second = |at| SecondCounts { in_flight: in_flight(at), released: released(at), ..Default::default() };
            let snapshot = Snapshot { seconds: (0..seconds).map(second).collect(), each_s: 1, ..sound() };
            backlog(&snapshot, seconds as f64).map(|(_, text)| text)
        };
        let text = "173 requests in flight, 68 when the window began: does the server keep up?";
        assert_eq!(after(20, |at| 54 + at * 7, |_| 10).as_deref(), Some(text));
        assert_eq!(after(9, |at| 54 + at * 7, |_| 10), None, "too early");
        assert_eq!(after(60, |at| 30 + at % 17, |_| 10), None, "chance");
        assert_eq!(after(60, |at| 10 + at * 5, |at| 2 + at), None, "the load grows as much");
    }

    #[test]
    fn what_would_make_a_run_invalid_is_said() {
        let mut snapshot = sound();
        snapshot.schedule_lag = spread(1_000, 0, 12);
        snapshot.measured.failed = 20;
        snapshot.queued = 1_200;
        let texts = [
            (Status::Missed, "INVALID so far: p95 schedule lag 12.0 ms, limit: 9.50 ms"),
            (Status::Missed, "INVALID so far: 2 % failed, limit: 1 %"),
            (Status::Undecided, "1,200 queued under the cap; their wait counts"),
        ];
        assert_eq!(said(&snapshot, &[]), texts.map(|(standing, text)| (standing, text.to_owned())));
        // 5 % of a long TTFT is a wider limit; with few requests, some of them are the p95.
        snapshot.ttft = spread(1_000, 300, 400);
        assert!(said(&snapshot, &[]).iter().all(|(_, text)| !text.contains("lag")));
        snapshot.schedule_lag = spread(100, 0, 25);
        let (standing, text) = &said(&snapshot, &[])[0];
        assert_eq!(
            (*standing, text.as_str()),
            (Status::Undecided, "p95 schedule lag 25.0 ms of 100 requests, limit: 20.0 ms")
        );
    }

    #[test]
    fn lateness_is_nothing_where_it_is_not_judged() {
        let mut snapshot = sound();
        snapshot.schedule_lag = spread(1_000, 0, 12);
        let found = remarks(&snapshot, 10.0, &[], Lateness::NotJudged);
        assert_eq!(found, [(Status::Met, "no problems so far: 0 % failed".to_owned())]);
    }

    #[test]
    fn refusals_and_timeouts_are_an_overload() {
        let mut snapshot = sound();
        let mut says = |failed, rejected, timed_out| {
            let measured = &mut snapshot.measured;
            (measured.failed, measured.rejected, measured.timed_out) = (failed, rejected, timed_out);
            said(&snapshot, &[]).remove(0).1
        };
        assert_eq!(says(100, 60, 30), "OVERLOADED so far: 10 % failed, limit: 1 %");
        assert_eq!(says(100, 60, 20), "INVALID so far: 10 % failed, limit: 1 %");
    }

    #[test]
    fn objectives_are_judged_by_what_is_known() {
        let mut snapshot = sound();
        snapshot.measured.failed = 20;
        snapshot.tpot = spread(100, 9, 12);
        let found = said(
            &snapshot,
            &[
                "p99 ttft < 200ms",
                "p50 ttft < 80ms",
                "error_rate < 5%",
                "p95 e2e < 1s",
                "p99 tpot < 20ms",
                "goodput > 5/s",
                "p95 ttft of chat < 1s",
            ],
        );
        let texts = [
            (Status::Met, "no problems so far: p95 schedule lag 1.00 ms"),
            (Status::Met, "p99 ttft < 200ms: 190 ms"),
            (Status::Missed, "p50 ttft < 80ms: 80.0 ms"),
            (Status::Met, "error_rate < 5%: 2 %"),
            (Status::Undecided, "p95 e2e < 1s: not known yet"),
            (Status::Undecided, "p99 tpot < 20ms: 12.0 ms of 100 samples so far"),
            (Status::Undecided, "goodput > 5/s: not known yet"),
            (Status::Undecided, "p95 ttft of chat < 1s: not known yet"),
        ];
        assert_eq!(found, texts.map(|(standing, text)| (standing, text.to_owned())));
    }
}

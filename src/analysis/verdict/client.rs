//! The rules on the measuring machine: it had time to spare, sent on time, and did not stand still.

use super::check::{Check, Measure, Rule};
use crate::analysis::client::pauses::{SHARE, TouchedPercentile, named};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::latency::row::Percentile;
use crate::analysis::summary::run::Summary;
use crate::analysis::wording::{counted, percent};
use crate::record::{FailureKind, StampSource};
use crate::units::{count, three_digits};

/// Busiest that the thread of the run loop may be. With all of its core it does no more, however much there is to
/// do; with 90 % whatever comes finds it busy nine times in ten and waits.
const BUSIEST: f64 = 0.9;

const LOOP_BUSY: Measure = Measure {
    rule: Rule::ClientStarved,
    statistic: "share of the run in which the client's read loop was busy",
};
const LOOP_DELAY: Measure =
    Measure { rule: Rule::ClientStarved, statistic: "p99 client read-loop delay, ms" };
const FILES_AND_PORTS: Measure = Measure {
    rule: Rule::ClientStarved,
    statistic: "requests that found no free file or port on this machine",
};

pub(super) fn checks(summary: &Summary) -> Vec<Check> {
    vec![loop_busy(summary), loop_delay(summary), files_and_ports(summary)]
}

fn loop_busy(summary: &Summary) -> Check {
    let Some(client) = summary.client else {
        return LOOP_BUSY.not_tested("the client process was not measured");
    };
    let sentence = format!(
        "the client's read loop was busy {} of the run; limit: {}",
        percent(client.loop_busy),
        percent(BUSIEST)
    );
    let cure = "split the load (--shard), or use a faster core";
    LOOP_BUSY.at_most(client.loop_busy, BUSIEST, sentence, cure)
}

fn loop_delay(summary: &Summary) -> Check {
    let Some((client, delay)) = summary.client.and_then(|client| Some((client, client.loop_delay?))) else {
        return LOOP_DELAY.not_tested("the read-loop delay was not measured");
    };
    let bar = delay_bar_ms(client.stamps, summary);
    let sentence = format!(
        "p99 client read-loop delay {} ms; limit: {} ms",
        three_digits(delay.p99_ms),
        three_digits(bar)
    );
    let cure = "free up a core for this process: stop other programs, or send from another machine";
    LOOP_DELAY.at_most(delay.p99_ms, bar, sentence, cure)
}

/// The event-loop delay that no run is invalid for whose stamps are the kernel's, milliseconds.
pub(crate) const KERNEL_FLOOR_MS: f64 = 20.0;

/// The most that the event-loop delay's p99 may be, milliseconds: a part of the median TTFT, above a floor.
///
/// - Stamps read when a read returns have the delay in them, and an answer has hundreds of stamps: nearly each meets
///   the delay of one time in a hundred. 1 % of the median TTFT is what no figure should be off by; the floor of 5 ms
///   leaves room for the timer's own 2 ms and a slice of a core that is shared.
/// - Stamps of the kernel are free of it. What is left is that requests are handed to the socket late, once for each:
///   one in a hundred by as much as the delay's p99, most by far less, so that the limit is 5 %, at least 20 ms. Measured
///   on a two-core cloud VM, 100 and 400 requests/s of 100 tokens with up to eight other threads on the same core:
///   where the delay's p99 was 1.3 to 11 ms, `sent − dispatched` had a p99 of 0.1 to 1.1 times that, a p90 of 0.02 to
///   0.5 times and a median under 0.5 ms; where one stall of half a second made the delay's p99 433 ms, 422 ms,
///   0.2 ms and 0.01 ms.
fn delay_bar_ms(stamps: StampSource, summary: &Summary) -> f64 {
    let (share, floor) = match stamps {
        StampSource::ReadReturned => (0.01, 5.0),
        StampSource::KernelReceived => (0.05, KERNEL_FLOOR_MS),
    };
    let row = summary.latency.row(Metric::Ttft);
    let median = row.map_or(0.0, |row| row.percentile(Quantile::P50).figure.at_least());
    (share * median).max(floor)
}

fn files_and_ports(summary: &Summary) -> Check {
    let found = summary.failures.kinds.iter().find(|line| line.kind == FailureKind::ClientLimit);
    let (failed, example) =
        found.map_or((0, String::new()), |line| (line.count, format!(": {}", line.example)));
    let sentence = format!(
        "{} found no free file descriptor or port on this machine{example}; limit: none",
        counted(failed, "request")
    );
    let cure =
        "raise the limit with `ulimit -n`, widen net.ipv4.ip_local_port_range, or send from more machines";
    FILES_AND_PORTS.at_most(failed as f64, 0.0, sentence, cure)
}

/// A shorter lag never fails a run, milliseconds.
pub(crate) const LEAST_BAR_MS: f64 = 1.0;
/// Of the median latency, the lag may be this share.
const SHARE_OF_LATENCY: f64 = 0.01;
/// One request in a thousand may be later than one in a hundred by this factor.
const FAR_TAIL: f64 = 5.0;
const CURE: &str = "free up CPU on this machine, or split the load (--shard)";

/// p99 against 1 ms or 1 % of the median TTFT (of answers that are not streamed: e2e), whichever is more, and p99.9
/// against five times that.
///
/// Of fewer samples than a percentile needs it is an accident which request comes out on top: the lower end of its
/// interval is compared with the limit there, so that one hiccup among few requests does not decide, and several do.
pub(super) fn lag_checks(summary: &Summary) -> Vec<Check> {
    let [near, far] = ["p99 of the schedule lag, ms", "p99.9 of the schedule lag, ms"]
        .map(|statistic| Measure { rule: Rule::ScheduleLag, statistic });
    let latency = summary.latency.row(Metric::Ttft).or_else(|| summary.latency.row(Metric::E2e));
    let (Some(lag), Some(latency)) = (summary.latency.row(Metric::ScheduleLag), latency) else {
        return vec![near.not_tested("no request has a latency to compare its lag with")];
    };
    let median = latency.percentile(Quantile::P50).figure.at_least();
    let bar = lag_bar_ms(median);
    let check = |measure, quantile, bar, why| hold(measure, lag.percentile(quantile), lag.n, bar, why);
    vec![
        check(near, Quantile::P99, bar, "1 ms, or 1 % of the median latency"),
        check(far, Quantile::P999, bar * FAR_TAIL, "five times the limit of p99"),
    ]
}

/// The limit of p99 of the schedule lag, milliseconds, where the median latency is `median_ms`: 1 ms, or 1 % of it.
pub(crate) fn lag_bar_ms(median_ms: f64) -> f64 {
    (median_ms * SHARE_OF_LATENCY).max(LEAST_BAR_MS)
}

fn hold(measure: Measure, lag: &Percentile, n: u64, bar: f64, why: &str) -> Check {
    let quantile = lag.quantile;
    let bar_said = format!("limit: {} ms ({why})", three_digits(bar));
    if n >= quantile.floor() {
        let value = lag.figure.at_least();
        let lag = three_digits(value);
        let sentence =
            format!("requests were dispatched late: {quantile} schedule lag is {lag} ms; {bar_said}");
        return judged(measure, value, bar, sentence, quantile);
    }
    let Some(value) = lag.interval.0 else {
        return measure.not_tested(format!("{} requests are too few for {quantile}", count(n)));
    };
    let sentence = format!(
        "requests were dispatched late: {quantile} schedule lag is at least {} ms, the lower end of its 95 % interval over \
         {} requests; {bar_said}",
        three_digits(value),
        count(n)
    );
    judged(measure, value, bar, sentence, quantile)
}

fn judged(measure: Measure, value: f64, bar: f64, late: String, quantile: Quantile) -> Check {
    let in_time = format!(
        "requests were dispatched on time: {quantile} schedule lag is {} ms; limit: {} ms",
        three_digits(value),
        three_digits(bar)
    );
    measure.at_most(value, bar, if value <= bar { in_time } else { late }, CURE)
}

/// The percentiles that must not be touched. Those further out rest on so few requests that the one pause which a
/// long run may well have moves them: they are named, and the run stays valid.
const JUDGED: [Quantile; 3] = [Quantile::P50, Quantile::P90, Quantile::P95];

const UNTOUCHED: Measure = Measure {
    rule: Rule::HostStalls,
    statistic: "p50, p90 and p95 of ttft, tpot and e2e that host stalls could have moved",
};

/// The check of [`Rule::HostStalls`].
pub(crate) fn stall_check(summary: &Summary) -> Check {
    let Some(impact) = &summary.host_stalls else {
        return UNTOUCHED.not_tested("host stalls were not measured");
    };
    let (judged, others): (Vec<_>, Vec<_>) =
        impact.touched.iter().partition(|figure| is_judged(figure, summary));
    let moved = named(if judged.is_empty() { &others } else { &judged });
    let so = match (impact.requests_touched, moved) {
        (0, _) => String::new(),
        (_, None) => format!("; no percentile moves by over {} %", three_digits(SHARE * 100.0)),
        (_, Some(named)) => format!("; they could have moved {named}"),
    };
    let sentence = impact.in_words() + &so;
    let cure = "run again on a machine with spare cores, without a CPU quota and without suspension";
    UNTOUCHED.at_most(judged.len() as f64, 0.0, sentence, cure)
}

/// Whether a run with this figure touched is invalid. A percentile of too few samples nobody is to rely on anyway.
fn is_judged(figure: &TouchedPercentile, summary: &Summary) -> bool {
    let relied_on = || {
        let row = summary.latency.row(figure.metric);
        row.is_some_and(|row| row.percentile(figure.quantile).mark.is_none())
    };
    Metric::MAIN.contains(&figure.metric) && JUDGED.contains(&figure.quantile) && relied_on()
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckOutcome;
    use super::*;
    use crate::analysis::summary::summarise::summarise;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::{ClientFacts, Delays, Failure, RunLog};
    use CheckOutcome::{Failed, NotTested, Passed};
    use StampSource::{KernelReceived, ReadReturned};

    /// A run of 10 s with one answer, after a first token of `ttft` ms, and what the client's loop did meanwhile.
    fn log(ttft: u64, loop_cpu_ms: u64, p99_us: u64, stamps: StampSource) -> RunLog {
        let mut log = run(10_000, vec![record(0).sent_at(0, 0, 0).paced(ttft, 10, 5).build()]);
        log.header.stamps = stamps;
        let footer = log.footer.as_mut().unwrap();
        footer.ended = ms(10_000);
        let delays = Delays { n: 1_000, p50_ns: 1_000_000, p99_ns: p99_us * 1_000, max_ns: 90_000_000 };
        footer.client = Some(ClientFacts {
            cpu_ns: 12_000_000_000,
            loop_cpu_ns: loop_cpu_ms * 1_000_000,
            loop_delay: Some(delays),
            ..ClientFacts::default()
        });
        log
    }

    fn outcomes(log: &RunLog) -> [CheckOutcome; 3] {
        let checks = checks(&summarise(log, &[]));
        assert!(checks.iter().all(|check| check.rule == Rule::ClientStarved));
        assert!(checks.iter().all(|check| check.cure.is_empty() != (check.outcome == Failed)));
        checks.iter().map(|check| check.outcome).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn a_client_with_time_to_spare_passes() {
        let log = log(100, 3_000, 2_100, ReadReturned);
        assert_eq!(outcomes(&log), [Passed; 3]);
        let client = summarise(&log, &[]).client.unwrap();
        assert_eq!((client.cpu_cores, client.loop_busy), (1.2, 0.3));
        assert_eq!(client.loop_delay.unwrap().p99_ms, 2.1);
    }

    #[test]
    fn a_busy_loop_fails() {
        assert_eq!(outcomes(&log(100, 9_000, 2_000, ReadReturned)), [Passed; 3]);
        let log = log(100, 9_100, 2_000, ReadReturned);
        assert_eq!(outcomes(&log), [Failed, Passed, Passed]);
        let said = &checks(&summarise(&log, &[]))[0].sentence;
        assert_eq!(said, "the client's read loop was busy 91 % of the run; limit: 90 %");
    }

    #[test]
    fn a_late_loop_fails_by_what_it_spoils() {
        for (ttft, p99_us, stamps, outcome) in [
            (100, 5_000, ReadReturned, Passed),
            (100, 5_100, ReadReturned, Failed),
            // 1 % of a median of 1 s.
            (1_000, 9_900, ReadReturned, Passed),
            (1_000, 10_100, ReadReturned, Failed),
            (100, 19_900, KernelReceived, Passed),
            (100, 20_100, KernelReceived, Failed),
            (1_000, 49_900, KernelReceived, Passed),
            (1_000, 50_100, KernelReceived, Failed),
        ] {
            let log = log(ttft, 1_000, p99_us, stamps);
            assert_eq!(outcomes(&log), [Passed, outcome, Passed], "{ttft} ms, {p99_us} µs, {stamps:?}");
        }
    }

    #[test]
    fn requests_without_a_file_or_a_port_are_the_clients_fault() {
        let mut log = log(100, 1_000, 2_000, ReadReturned);
        let failure = Failure::new(FailureKind::ClientLimit, "this process may open no more files");
        log.records.push(record(1).scheduled(50).failed(60, failure).build());
        log.header.plan.measured_requests = 2;
        assert_eq!(outcomes(&log), [Passed, Passed, Failed]);
        let said = &checks(&summarise(&log, &[]))[2].sentence;
        assert!(said.starts_with("1 request found no free file") && said.contains("no more files"), "{said}");
    }

    #[test]
    fn a_run_that_nobody_watched_is_not_tested() {
        let mut log = log(100, 1_000, 2_000, ReadReturned);
        log.footer.as_mut().unwrap().client = None;
        assert_eq!(summarise(&log, &[]).client, None);
        assert_eq!(outcomes(&log), [NotTested, NotTested, Passed]);
    }
}

//! The rules on the measuring machine: it had time to spare, and its lateness moved no percentile that matters.

use super::table::{CheckedRun, NOT_ASKED, RAN, RuleResult, ValidityRow, at_most, not_tested, row};
use crate::analysis::client::effects::{ClientEffect, LEAST_MS, NOTED, SPOILED, did};
use crate::analysis::figures::{Figure, Metric, Quantile};
use crate::analysis::judgements::{Check, Rule, Status};
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::requests::LoadForm;
use crate::analysis::rules::facts;
use crate::analysis::summary::run::Summary;
use crate::record::{FailureKind, StampSource};
use crate::units::{percent, three_digits};

/// Busiest that the thread of the run loop may be. With all of its core it does no more, however much there is to
/// do; with 90 % whatever comes finds it busy nine times in ten and waits.
const BUSIEST: f64 = 0.9;
/// Longest stall that is no stop of the whole process. A busy machine gives a thread that only watches a core sooner.
const LONGEST_STALL_S: f64 = 2.0;

const LOOP_BUSY: &str = "share of the run in which the client's read loop was busy";
const READ_LATE: &str =
    "largest share of a p50, p90 or p95 that the client's read-loop delay or late stamps could have added";
const SENT_LATE: &str = "largest share of a p50, p90 or p95 that late sending added";
const HELD_BACK: &str = "share of the users' time in which the client held back requests that were due";
const STOOD_STILL: &str = "largest share of a p50, p90 or p95 that host stalls could have added";
const STOPPED: &str = "longest time for which the process was stopped, seconds";
const SLEPT: &str = "time for which this machine slept, seconds";

/// Cure of a client that is late.
pub(crate) const CURE: &str = "free up CPU on this machine, or split the load (--shard)";

/// The rules on late sending.
pub(super) const SENDING: &[ValidityRow] = &[
    row(Rule::ScheduleLag, SENT_LATE, NOT_ASKED, |of| {
        let Some(lag) = of.run.latency.row(Metric::ScheduleLag) else {
            return not_tested("no request was dispatched");
        };
        let effects = of.run.client_effects.iter().filter(|effect| effect.rule == Rule::ScheduleLag);
        let most_ms = effects.map(ClientEffect::ms).fold(0.0, f64::max);
        let open = of.run.run.load != LoadForm::Closed;
        by_effect(Rule::ScheduleLag, of.run, &lag_in_words(lag, most_ms)).filter(|_| open)
    })
    .cure(CURE),
    // A closed loop has no schedule: a request that the client holds back is a longer pause of its user.
    row(Rule::ScheduleLag, HELD_BACK, NOT_ASKED, by_held_back)
        .says("{}; the client held each request back for {s} on average, which {} by {%}; limit: {%}{}")
        .cure(CURE),
];

/// The rules on late reading, on want of files or ports, and on stalls. A stop or a sleep is the cause of the rest.
pub(super) const READING: &[ValidityRow] = &[
    row(Rule::ClientStarved, LOOP_BUSY, NOT_ASKED, |of| match of.run.client {
        Some(client) => at_most(client.loop_busy, BUSIEST, facts![client.loop_busy, BUSIEST]),
        None => not_tested("the client process was not measured"),
    })
    .says("the client's read loop was busy {%} of the run; limit: {%}")
    .cure("split the load (--shard), or use a faster core"),
    row(Rule::ClientStarved, READ_LATE, NOT_ASKED, read_delay).cure(CURE),
    row(Rule::ClientStarved, "requests that found no free file or port on this machine", RAN, |of| {
        let found = of.run.failures.kinds.iter().find(|line| line.kind == FailureKind::ClientLimit);
        let (failed, example) = found.map_or((0, String::new()), |line| (line.count, format!(": {}", line.example)));
        at_most(failed as f64, 0.0, facts![failed, example])
    })
    .says("{request} found no free file descriptor, port or memory on this machine{}; limit: none")
    .cure(
        "raise what is short (`ulimit -n`, net.ipv4.ip_local_port_range, --answer-memory), or send from more machines",
    ),
    row(Rule::HostStalls, SLEPT, NOT_ASKED, |of| {
        let slept_s = of.run.host_stalls.as_ref()?.slept_s?;
        at_most(slept_s, 0.0, facts![slept_s])
    })
    .says("this machine slept for {s} during the run, and no latency counts that; limit: none")
    .cure("run again, and keep this machine from sleeping"),
    row(Rule::HostStalls, STOPPED, NOT_ASKED, |of| {
        let stopped_s = stopped_s(of.run)?;
        at_most(stopped_s, LONGEST_STALL_S, facts![stopped_s, LONGEST_STALL_S])
    })
    .says(
        "the process was stopped for {s} (SIGSTOP, or a paused machine): what was due meanwhile was sent and read \
         late; limit: {s}",
    )
    .cure("run again, and suspend neither the process nor its machine"),
    row(Rule::HostStalls, STOOD_STILL, NOT_ASKED, |of| {
        let Some(impact) = &of.run.host_stalls else { return not_tested("host stalls were not measured") };
        let is_short = impact.slept_s.is_none() && stopped_s(of.run).is_none();
        by_effect(Rule::HostStalls, of.run, &impact.in_words()).filter(|_| is_short)
    })
    .cure("run again on a machine with spare cores, without a CPU quota and without suspension"),
];

/// Returns how long the process was stopped. `None` where it was not, or the machine slept besides.
fn stopped_s(run: &Summary) -> Option<f64> {
    let impact = run.host_stalls.as_ref().filter(|impact| impact.slept_s.is_none())?;
    impact.unbroken_ms.map(|ms| ms / 1e3).filter(|s| *s > LONGEST_STALL_S)
}

fn read_delay(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let Some((client, delay)) = of.run.client.and_then(|client| Some((client, client.loop_delay?))) else {
        return not_tested("the read-loop delay was not measured");
    };
    let stamps = match (client.stamps, client.late_stamps) {
        (StampSource::ReadReturned, _) => String::new(),
        (StampSource::KernelReceived, Some(late)) => {
            format!(", the kernel stamped what arrived, but {}", late.in_words())
        }
        (StampSource::KernelReceived, None) => ", of which the kernel's stamps are free".to_owned(),
    };
    let found = format!("p99 client read-loop delay {} ms{stamps}", three_digits(delay.p99_ms));
    by_effect(Rule::ClientStarved, of.run, &found)
}

/// Sums of times differ by less where they are equal.
const ROUNDING_MS: f64 = 1e-6;

/// Says which figure of the schedule lag can be the cause of an effect. The effect lasts for `effect_ms`. Where no
/// figure can be the cause, it says so.
fn lag_in_words(lag: &LatencyRow, effect_ms: f64) -> String {
    let [p99, longest] = [lag.percentile(Quantile::P99).figure, lag.max].map(Figure::at_least);
    let least = effect_ms - ROUNDING_MS;
    match (p99 >= least, longest >= least) {
        (true, _) => format!("p99 schedule lag {} ms", three_digits(p99)),
        (_, true) => format!("longest schedule lag {} ms", three_digits(longest)),
        _ => "requests lay in this program after their dispatch".to_owned(),
    }
}

fn by_held_back(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let run = of.run;
    let lag = run.latency.row(Metric::ScheduleLag).filter(|_| run.run.load == LoadForm::Closed)?;
    let closed = run.closed_loop.as_ref();
    let Some((held_s, share)) = closed.and_then(|closed| Some((closed.held_s?, closed.held_share()?))) else {
        return not_tested("no request ended in the window, or a shard has only some of the users");
    };
    let matters = held_s * 1e3 > LEAST_MS && share > NOTED;
    // Of requests that leave all at once none waits for another.
    let did = if run.is_all_at_once() { "raised its time" } else { "lowered the load" };
    let (lag, but) = (lag_in_words(lag, held_s * 1e3), if matters { "" } else { ", of holds over 1 ms" });
    at_most(if matters { share } else { 0.0 }, SPOILED, facts![lag, held_s, did, share, SPOILED, but])
}

/// Returns the checks that the run passed although the client's lateness had an effect. The effect is on the figures
/// that the run is judged by.
pub(crate) fn late_but_passed(summary: &Summary) -> impl Iterator<Item = &Check> {
    summary.verdict.checks.iter().filter(|check| {
        let passed = check.outcome == Status::Met && check.value.is_some_and(|share| share > NOTED);
        passed && [READ_LATE, SENT_LATE, HELD_BACK, STOOD_STILL].contains(&check.statistic)
    })
}

/// Whether the stop of the whole process fails a check. It is then the cause of whatever else was late.
pub(super) fn is_stop(check: &Check) -> bool {
    [STOPPED, SLEPT].contains(&check.statistic)
}

/// Judges the lateness that a rule is about by its effect on percentiles. They are those by which a run is judged, or
/// else those further out; `found` says how late the client was.
fn by_effect(rule: Rule, run: &Summary, found: &str) -> Option<RuleResult> {
    let effects = run.client_effects.iter().filter(|effect| effect.rule == rule);
    let (judged, others): (Vec<&ClientEffect>, Vec<_>) = effects.partition(|effect| effect.judged);
    let worst = judged.iter().map(|effect| effect.share()).fold(0.0, f64::max);
    let sentence = match ClientEffect::named(if judged.is_empty() { &others } else { &judged }) {
        None => format!("{found}; no percentile moves by over {}", percent(NOTED)),
        Some(named) => {
            let limit = percent(SPOILED);
            format!("{found}; {} {named}; limit: {limit} of a p50, p90 or p95", did(rule))
        }
    };
    at_most(worst, SPOILED, facts![sentence])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::Measure;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::clock::Timestamp;
    use crate::record::{ClientFacts, Delays, Failure, HostStall, RunLog};
    use StampSource::{KernelReceived, ReadReturned};
    use Status::{Met, Missed, Undecided};

    /// A run of 10 s with one answer, after a first token of `ttft` ms. It has what the client's loop did meanwhile.
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

    fn all(log: &RunLog) -> Vec<Check> {
        let checks = summarise(log, &[]).verdict.checks.into_iter();
        checks.filter(|check| check.rule == Rule::ClientStarved).collect()
    }

    fn outcomes(log: &RunLog) -> [Status; 3] {
        let checks = all(log);
        assert!(checks.iter().all(|check| check.cure.is_empty() != (check.outcome == Missed)));
        checks.iter().map(|check| check.outcome).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn a_client_with_time_to_spare_passes() {
        let log = log(100, 3_000, 2_100, ReadReturned);
        assert_eq!(outcomes(&log), [Met; 3]);
        let client = summarise(&log, &[]).client.unwrap();
        assert_eq!((client.cpu_cores, client.loop_busy), (1.2, 0.3));
        assert_eq!(client.loop_delay.unwrap().p99_ms, 2.1);
    }

    #[test]
    fn a_busy_loop_fails() {
        assert_eq!(outcomes(&log(100, 9_000, 2_000, ReadReturned)), [Met; 3]);
        let log = log(100, 9_100, 2_000, ReadReturned);
        assert_eq!(outcomes(&log), [Missed, Met, Met]);
        let said = &all(&log)[0].sentence;
        assert_eq!(said, "the client's read loop was busy 91 % of the run; limit: 90 %");
    }

    #[test]
    fn a_late_loop_fails_by_what_it_spoils() {
        // Less the timer's own 2 ms: 5 ms, and a little more, of 100 ms; 50 ms of a second.
        for (ttft, p50_us, stamps, outcome) in [
            (100, 7_000, ReadReturned, Met),
            (100, 7_200, ReadReturned, Missed),
            (1_000, 51_900, ReadReturned, Met),
            (1_000, 52_200, ReadReturned, Missed),
            (100, 90_000, KernelReceived, Met),
        ] {
            let mut log = log(ttft, 1_000, p50_us, stamps);
            log.footer.as_mut().unwrap().client.as_mut().unwrap().loop_delay.as_mut().unwrap().p50_ns = p50_us * 1_000;
            assert_eq!(outcomes(&log), [Met, outcome, Met], "{ttft} ms, {p50_us} µs, {stamps:?}");
        }
        // One time in a hundred alone moves no median, and one answer has no other percentile.
        assert_eq!(outcomes(&log(100, 1_000, 90_000, ReadReturned)), [Met; 3]);
    }

    #[test]
    fn requests_without_a_file_or_a_port_are_the_clients_fault() {
        let mut log = log(100, 1_000, 2_000, ReadReturned);
        let failure = Failure::new(FailureKind::ClientLimit, "this process may open no more files");
        log.records.push(record(1).scheduled(50).failed(60, failure).build());
        log.header.plan.measured_requests = 2;
        assert_eq!(outcomes(&log), [Met, Met, Missed]);
        let said = &all(&log)[2].sentence;
        assert!(said.starts_with("1 request found no free file") && said.contains("no more files"), "{said}");
    }

    #[test]
    fn a_stop_of_the_process_is_the_first_reason() {
        // The read loop was busy too.
        let stalled = |ms: u64, step: Option<u64>| {
            let mut log = log(100, 9_500, 2_000, ReadReturned);
            let length_ns = ms * 1_000_000;
            let stall = HostStall { from: Timestamp::ZERO, length_ns, longest_step_ns: step, shard: None };
            log.footer.as_mut().unwrap().client.as_mut().unwrap().host_stalls = vec![stall];
            summarise(&log, &[]).verdict.reasons
        };
        let first = stalled(3_500, None).swap_remove(0);
        assert!(first.sentence.starts_with("the process was stopped for 3.5 s (SIGSTOP"), "{first:?}");
        // Steps that were late one after another are a machine without a free core.
        for starved in [stalled(1_900, None), stalled(3_500, Some(40_000_000))] {
            assert!(starved.iter().all(|reason| !reason.sentence.contains("was stopped")), "{starved:?}");
        }
    }

    #[test]
    fn a_sleep_of_the_machine_is_the_first_reason() {
        let mut log = log(100, 9_500, 2_000, ReadReturned);
        log.footer.as_mut().unwrap().client.as_mut().unwrap().slept_ns = Some(12_000_000_000);
        let first = summarise(&log, &[]).verdict.reasons.swap_remove(0);
        assert!(first.sentence.starts_with("this machine slept for 12"), "{first:?}");
    }

    #[test]
    fn lateness_is_worth_a_word_where_it_may_have_moved_a_figure_by_more_than_is_noted() {
        let mut summary = summarise(&log(100, 1_000, 2_000, ReadReturned), &[]);
        let effect = |statistic, share: f64| {
            Measure::new(Rule::HostStalls, statistic).judged(share > SPOILED, [share, SPOILED], share.to_string(), CURE)
        };
        summary.verdict.checks = vec![
            effect(READ_LATE, NOTED),
            effect(SENT_LATE, 0.011),
            effect(STOOD_STILL, SPOILED),
            effect(HELD_BACK, 0.06),
            effect(LOOP_BUSY, 0.04),
        ];
        let late: Vec<_> = late_but_passed(&summary).map(|check| check.sentence.as_str()).collect();
        assert_eq!(late, ["0.011", "0.05"]);
    }

    #[test]
    fn a_run_that_nobody_watched_is_not_tested() {
        let mut log = log(100, 1_000, 2_000, ReadReturned);
        log.footer.as_mut().unwrap().client = None;
        assert_eq!(summarise(&log, &[]).client, None);
        assert_eq!(outcomes(&log), [Undecided, Undecided, Met]);
    }
}

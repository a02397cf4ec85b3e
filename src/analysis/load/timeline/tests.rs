//! Holds bins against counts that look at every request and moment again.

use proptest::prelude::*;

use super::*;
use crate::analysis::test_runs::{ms, record, run};
use crate::record::{Failure, FailureKind};

#[test]
fn bins_are_round_and_neither_few_nor_many() {
    for (end_s, width_s) in
        [(0.5, 0.005), (1.0, 0.01), (60.0, 1.0), (100.0, 1.0), (125.0, 2.0), (7_200.0, 100.0)]
    {
        let width = bin_width_ns((end_s * 1e9) as u64);
        assert_eq!(width as f64 / 1e9, width_s, "{end_s} s");
    }
    for end_ns in (0..400).map(|step| (1e9 * 1.07_f64.powi(step)) as u64) {
        let width = bin_width_ns(end_ns);
        let bins = bins_of(end_ns, width) as u64;
        assert!((60..=MOST_BINS).contains(&bins), "{end_ns} ns: {bins}");
        let last = end_ns - (bins - 1) * width;
        assert!(2 * last >= width && 2 * last <= 3 * width, "{end_ns} ns: the last is {last} of {width}");
    }
    assert_eq!((bin_width_ns(0), bin_width_ns(u64::MAX) > u64::MAX / MOST_BINS), (SHORTEST_NS, true));
}

#[test]
fn a_run_by_hand() {
    // Bins of 10 ms: the run ends at 1 s.
    let log = run(
        1_000,
        vec![
            record(0).sent_at(0, 1, 1).paced(25, 10, 2).build(),
            record(1).sent_at(15, 15, 16).failed(18, Failure::new(FailureKind::Reset, "peer")).build(),
            record(2).sent_at(15, 15, 16).censored(1_000).build(),
        ],
    );
    let timeline = Timeline::from_log(&log);
    assert_eq!((timeline.bin_s, timeline.bins.len(), timeline.end_s()), (0.01, 100, 1.0));
    let [first, second, third, fourth, ..] = timeline.bins.as_slice() else { panic!("too few") };
    assert_eq!((first.scheduled, first.sent, first.completed, first.failed), (1, 1, 0, 0));
    assert_eq!((second.scheduled, second.failed, second.in_flight_peak), (2, 1, 3));
    // From 1 to 10 ms one; then 5 ms of one, 3 ms of three, 2 ms of two.
    assert!((first.in_flight_mean - 0.9).abs() < 1e-9 && (second.in_flight_mean - 1.8).abs() < 1e-9);
    assert_eq!((third.output_tokens, fourth.output_tokens, fourth.completed), (1.0, 1.0, 1));
    assert_eq!(first.wait.unwrap().p50, Figure::Exact(25.0));
    // Of the two of the second bin one failed and one was cut off after 985 ms.
    assert_eq!(second.wait.unwrap().p50, Figure::AtLeast(985.0));
    assert_eq!((third.wait, timeline.metric), (None, Metric::Ttft));
}

/// 10.04 s in bins of 0.1 s: the last is 0.14 s long, and one request goes on to the end.
#[test]
fn the_last_bin_is_as_long_as_the_run_goes_on() {
    let log = run(10_000, vec![record(0).sent_at(0, 0, 0).paced(10_040, 1, 1).build()]);
    let timeline = Timeline::from_log(&log);
    let [.., before, last] = timeline.bins.as_slice() else { panic!("too few") };
    assert_eq!((timeline.bins.len(), timeline.bin_s), (100, 0.1));
    assert!((timeline.end_s() - 10.04).abs() < 1e-9);
    assert!((before.length_s - 0.1).abs() < 1e-12 && (last.length_s - 0.14).abs() < 1e-12);
    assert!((last.in_flight_mean - 1.0).abs() < 1e-12 && last.completed == 1);
}

/// Who waits under a cap has not been sent; who never is, never was.
#[test]
fn what_is_let_go_is_not_sent_yet() {
    let log = run(
        1_000,
        vec![
            record(0).sent_at(0, 0, 500).paced(900, 1, 1).build(),
            record(1).scheduled(0).censored(1_000).build(),
        ],
    );
    let bins = Timeline::from_log(&log).bins;
    assert_eq!((bins[0].sent, bins[0].scheduled, bins[50].sent), (0, 2, 1));
    assert_eq!(bins.iter().map(|bin| bin.sent).sum::<u64>(), 1);
}

#[test]
fn what_was_not_streamed_has_its_whole_answer() {
    let mut log = run(1_000, vec![record(0).sent_at(0, 0, 1).whole_answer(500, 40).build()]);
    log.header.engines[0].streamed = false;
    let timeline = Timeline::from_log(&log);
    assert_eq!(timeline.metric, Metric::E2e);
    assert_eq!(timeline.bins[0].wait.unwrap().p50, Figure::Exact(500.0));
    assert_eq!(timeline.bins.iter().find(|bin| bin.output_tokens > 0.0).unwrap().output_tokens, 40.0);
    assert!(Timeline::from_log(&run(1_000, Vec::new())).bins.is_empty());
}

/// Requests between two moments in flight at once, by asking each of them at the moments at which something changes.
fn brute_peak(stretches: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let moments =
        stretches.iter().map(|(began, _)| *began).chain([from]).filter(|at| (from..to).contains(at));
    moments
        .map(|at| stretches.iter().filter(|(began, ended)| *began <= at && at < *ended).count() as u64)
        .max()
        .unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bins_say_what_a_count_of_everything_says(
        requests in prop::collection::vec((0_u64..3_000, 0_u64..40, 1_u64..2_000, 1_u64..30, 1_u64..8), 1..60)
    ) {
        let records: Vec<_> = requests
            .iter()
            .enumerate()
            .map(|(index, &(scheduled, late, first, gap, tokens))| {
                let sent = scheduled + late;
                record(index as u64).sent_at(scheduled, sent, sent).paced(sent + first, gap, tokens).build()
            })
            .collect();
        let log = run(3_000, records);
        let timeline = Timeline::from_log(&log);
        let width = (timeline.bin_s * 1e3).round() as u64;
        // The shortest runs have bins of 2.5 ms, which a count by milliseconds cannot follow.
        prop_assume!(timeline.bin_s * 1e3 == width as f64);
        let stretches: Vec<_> = log
            .records
            .iter()
            .map(|record| (record.dispatched.as_nanos() / 1_000_000, record.ended.as_nanos() / 1_000_000))
            .collect();
        for (place, bin) in timeline.bins.iter().enumerate() {
            let from = place as u64 * width;
            let is_last = place + 1 == timeline.bins.len();
            // The run's last moment belongs to the last bin.
            let to = if is_last { (timeline.end_s() * 1e3).round() as u64 } else { from + width };
            let within = |at: Timestamp| ms(from) <= at && (at < ms(to) || is_last);
            let count = |at: fn(&RequestRecord) -> Timestamp| {
                log.records.iter().filter(|record| within(at(record))).count() as u64
            };
            prop_assert_eq!(bin.scheduled, count(|record| record.scheduled));
            prop_assert_eq!(bin.sent, count(|record| record.sent.unwrap()));
            prop_assert_eq!(bin.completed, count(|record| record.ended));
            let tokens = log.records.as_slice().iter().flat_map(|record| record.chunks.iter()).filter(|chunk| within(chunk.at));
            prop_assert_eq!(bin.output_tokens, tokens.count() as f64);
            let spent: u64 =
                stretches.iter().map(|&(began, ended)| ended.min(to).saturating_sub(began.max(from))).sum();
            prop_assert!((bin.in_flight_mean - spent as f64 / (to - from) as f64).abs() < 1e-9);
            prop_assert_eq!(bin.in_flight_peak, brute_peak(&stretches, from, to));
            let mut waits: Vec<u64> = requests
                .iter()
                .filter(|(scheduled, ..)| within(ms(*scheduled)))
                .map(|(_, late, first, ..)| late + first)
                .collect();
            waits.sort_unstable();
            if let (Some(wait), true) = (bin.wait, waits.len() % 2 == 1) {
                prop_assert_eq!(wait.p50, Figure::Exact(waits[waits.len() / 2] as f64));
            }
            prop_assert_eq!(bin.wait.is_some(), !waits.is_empty());
        }
    }
}

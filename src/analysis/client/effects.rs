//! By how much this machine's own lateness could have made the reported percentiles longer.

use std::time::Duration;

use serde::Serialize;

use super::load::{ClientLoad, TIMER_MS};
use crate::analysis::figures::{Figure, Metric, Quantile, Sample, SampleWarning};
use crate::analysis::judgements::Rule;
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::{LoadForm, Observed};
use crate::record::{RequestRecord, StampSource};
use crate::units::{millis, percent, three_digits};

/// Share of a figure above which an effect of the client is worth a word. The effect must be over `LEAST_MS` too.
pub(crate) const NOTED: f64 = 0.01;
/// Least effect of the client that is worth a word, milliseconds. Timers and schedulers of a healthy machine are as
/// coarse as that.
pub(crate) const LEAST_MS: f64 = 1.0;
/// An effect of more than this share of a figure spoils it.
pub(crate) const SPOILED: f64 = 0.05;

/// A reported percentile that this machine could have made longer. The effect is over 1 % of it and over 1 ms.
///
/// What counts of a client's lateness is what it does to a figure: a late request among ten thousand moves no median,
/// and 5 ms of delay are nothing beside a TTFT of 2 s. So each kind of lateness is turned into
/// `effect = q(M) − q(M without it)` for every percentile q of a latency M:
///
/// - Sending late: M counts from the scheduled moment, so for each request it is known how much of its TTFT or e2e
///   passed in this program: `dispatched − scheduled`, and on a connection that stood already `sent − dispatched` (from
///   the slot on, where it waited for one), of which no more than the event loop's longest delay is laid to this
///   program. The percentile is taken anew without that time: the effect is exact. In a closed loop latencies
///   count from sending, and there is none; what late sending does there is to the load, see
///   [`ClosedLoop::held_share`](crate::analysis::ClosedLoop::held_share).
/// - Reading late: stamps that are taken when a read returns have the event loop's delay in them, and nobody knows how
///   much of it each has. The effect on a percentile of TTFT or e2e is bounded by that of the delay: its
///   median for p50, its p99 for p90 to p99, its longest for p99.9, each less what the timer that measures it
///   may be late itself. TPOT divides the delay of two stamps by the tokens between them, and is not judged.
///   Stamps of the kernel are free of all this, but for those of first tokens that came in one read with
///   later ones after the client did not look for a while: the percentile of TTFT is taken anew with the
///   earliest moments at which they can have come ([`LateStamps`](crate::record::LateStamps)).
/// - Standing still: the least that a latency can have been is its length without the stalls in it, so the effect is
///   no more than the percentile less that of the latencies without stalls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ClientEffect {
    /// Rule that judges the effect. It is that of the schedule lag for late sending, of a starved client for late
    /// reading, or of host stalls.
    pub(crate) rule: Rule,
    /// The latency.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) metric: Metric,
    /// The percentile of it.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) quantile: Quantile,
    /// Percentile as reported, milliseconds. Where requests were cut off, it is the least that it can be.
    pub(crate) reported_ms: f64,
    /// Percentile without the client's lateness, milliseconds. The true figure lies between the two.
    pub(crate) without_ms: f64,
    /// Whether the run is judged by it: a p50, p90 or p95 of enough samples.
    pub(crate) judged: bool,
}

/// Says what the client did where a rule is broken. An effect follows the words.
pub(crate) const fn did(rule: Rule) -> &'static str {
    match rule {
        Rule::ScheduleLag => "the client sent requests late, which raised",
        Rule::ClientStarved => "the client read answers late, which may have raised",
        _ => "the client stalled, which may have raised",
    }
}

/// The percentiles by which a run is judged. Those further out rest on so few requests that the one hiccup which a
/// long run may well have moves them: they are marked, and the run stays what it is.
const JUDGED: [Quantile; 3] = [Quantile::P50, Quantile::P90, Quantile::P95];

impl ClientEffect {
    /// Returns all effects that are large enough, by their rule. `without_stalls` are the latencies with every stall
    /// cut out.
    pub(crate) fn all(
        observed: &Observed<'_>,
        latency: &LatencyTable,
        client: Option<&ClientLoad>,
        without_stalls: Option<&LatencyTable>,
    ) -> Vec<Self> {
        let stood_still = without_stalls.map(stood_still).unwrap_or_default();
        let late_reads = read_late(latency, client).into_iter().chain(stamped_late(observed, client));
        let all = sent_late(observed, client).into_iter().chain(late_reads).chain(stood_still);
        all.filter_map(|(rule, metric, quantile, without_ms)| {
            let percentile = latency.percentile(metric, quantile)?;
            let judged = Metric::MAIN.contains(&metric)
                && JUDGED.contains(&quantile)
                && percentile.mark != Some(SampleWarning::TooFewSamples);
            let reported_ms = percentile.figure.at_least();
            Some(Self { rule, metric, quantile, reported_ms, without_ms, judged })
        })
        .filter(|effect| effect.ms() > LEAST_MS && effect.share() > NOTED)
        .collect()
    }

    /// How long it is, milliseconds.
    pub(crate) fn ms(&self) -> f64 {
        self.reported_ms - self.without_ms
    }

    /// How much of what is reported it is.
    pub(crate) fn share(&self) -> f64 {
        self.ms() / self.reported_ms
    }

    /// `p95 ttft from 100 ms to 105 ms (4.76 %)`.
    fn in_words(&self) -> String {
        let [reported, without] = [self.reported_ms, self.without_ms].map(three_digits);
        let share = percent(self.share());
        format!("{} {} from {without} ms to {reported} ms ({share})", self.quantile, self.metric)
    }

    /// The first few of these by name; `None` without one.
    pub(crate) fn named(effects: &[&Self]) -> Option<String> {
        const NAMED: usize = 4;
        let named: Vec<_> = effects.iter().take(NAMED).map(|effect| effect.in_words()).collect();
        let more = effects.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
    }
}

/// A percentile without what the lateness that a rule is about added to it.
type Without = (Rule, Metric, Quantile, f64);

fn sent_late(observed: &Observed<'_>, client: Option<&ClientLoad>) -> Vec<Without> {
    if LoadForm::from_workload(&observed.log.header.workload) == LoadForm::Closed {
        return Vec::new();
    }
    let longest_ms = client.and_then(|client| client.loop_delay).map_or(0.0, |delay| delay.max_ms);
    let late_ms = |record: &RequestRecord| lateness_ms(record, longest_ms);
    without(observed, Rule::ScheduleLag, &[Metric::Ttft, Metric::E2e], late_ms)
}

fn stamped_late(observed: &Observed<'_>, client: Option<&ClientLoad>) -> Vec<Without> {
    let late_ms = |record: &RequestRecord| millis(Duration::from_nanos(record.late_stamps().first_ns));
    // Without stamps of the kernel the delay of the read loop holds these already.
    let by_kernel = client.is_none_or(|client| client.stamps == StampSource::KernelReceived);
    if !by_kernel || observed.requests.iter().all(|request| late_ms(&request.record()) == 0.0) {
        return Vec::new();
    }
    without(observed, Rule::ClientStarved, &[Metric::Ttft], late_ms)
}

/// Every percentile of the metrics, taken anew without what each request has too much.
fn without(
    observed: &Observed<'_>,
    rule: Rule,
    metrics: &[Metric],
    late_ms: impl Fn(&RequestRecord) -> f64,
) -> Vec<Without> {
    let on_time = |metric: Metric| -> Sample {
        let requests = observed.requests.iter();
        requests
            .filter_map(|request| {
                let late = late_ms(&request.record());
                Some(match request.latency().get(metric)? {
                    Figure::Exact(ms) => Figure::Exact((ms - late).max(0.0)),
                    open => Figure::AtLeast((open.at_least() - late).max(0.0)),
                })
            })
            .collect()
    };
    let of = |&metric: &Metric| {
        let sample = on_time(metric);
        Quantile::ALL.map(|quantile| {
            let without = sample.quantile(quantile.fraction())?;
            Some((rule, metric, quantile, without.at_least()))
        })
    };
    metrics.iter().flat_map(of).flatten().collect()
}

/// How long a request that was due surely lay in this program, milliseconds.
fn lateness_ms(record: &RequestRecord, longest_loop_delay_ms: f64) -> f64 {
    let handed_over = millis(record.handed_over_in()).min(longest_loop_delay_ms);
    millis(record.dispatched.since(record.scheduled)) + handed_over
}

fn read_late(latency: &LatencyTable, client: Option<&ClientLoad>) -> Vec<Without> {
    let stamped_late = client.filter(|client| client.stamps == StampSource::ReadReturned);
    let Some(delay) = stamped_late.and_then(|client| client.loop_delay) else { return Vec::new() };
    let of = |(metric, quantile): (Metric, Quantile)| {
        let late_ms = match quantile {
            Quantile::P50 => delay.p50_ms,
            Quantile::P999 => delay.max_ms,
            _ => delay.p99_ms,
        };
        let reported = latency.percentile(metric, quantile)?.figure.at_least();
        let without = (reported - (late_ms - TIMER_MS).max(0.0)).max(0.0);
        Some((Rule::ClientStarved, metric, quantile, without))
    };
    let metrics = [Metric::Ttft, Metric::E2e].into_iter();
    metrics.flat_map(|metric| Quantile::ALL.map(|quantile| (metric, quantile))).filter_map(of).collect()
}

fn stood_still(without: &LatencyTable) -> Vec<Without> {
    let of = |(metric, row): (Metric, &LatencyRow)| {
        Quantile::ALL.map(|quantile| (Rule::HostStalls, metric, quantile, row.percentile(quantile).figure.at_least()))
    };
    without.iter().flat_map(of).collect()
}

fn by_name<T: ToString, S: serde::Serializer>(name: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name.to_string())
}

#[cfg(test)]
mod tests {
    //! Runs whose client was late by what is known.

    use super::*;
    use crate::analysis::judgements::{Check, FindingKind, Rule, Status, VerdictOutcome};
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{record, run};
    use crate::record::{ClientFacts, Delays, LateStamps, StampSource};

    /// Summarises `n` requests, one a millisecond. Each has its first token 100 ms after it left. Request `i` leaves
    /// `lag(i)` ms late.
    fn held_up(n: u64, lag: impl Fn(u64) -> u64) -> Summary {
        let records = (0..n).map(|i| {
            let dispatched = i + lag(i);
            record(i).sent_at(i, dispatched, dispatched).paced(dispatched + 100, 10, 3).usage(100, 3).build()
        });
        summarise(&run(n, records.collect()), &[])
    }

    fn check(summary: &Summary) -> Check {
        let mut checks = summary.verdict.checks.iter().filter(|check| check.rule == Rule::ScheduleLag);
        checks.next().unwrap().clone()
    }

    fn outcome(summary: &Summary) -> Status {
        check(summary).outcome
    }

    /// Returns the percentiles of TTFT that late sending raised. Each comes with whether the run is judged by it.
    fn raised(summary: &Summary) -> Vec<(Quantile, bool)> {
        let effects = summary.client_effects.iter();
        let ttft = effects.filter(|effect| effect.metric == Metric::Ttft && effect.rule == Rule::ScheduleLag);
        ttft.map(|effect| (effect.quantile, effect.judged)).collect()
    }

    #[test]
    fn late_sending_counts_by_what_it_does_to_the_percentiles() {
        use Status::{Met, Missed};
        const P50: Quantile = Quantile::P50;
        const P90: Quantile = Quantile::P90;
        const P95: Quantile = Quantile::P95;
        const P99: Quantile = Quantile::P99;
        const P999: Quantile = Quantile::P999;
        let warns = |summary: &Summary| {
            let mut findings = summary.findings.iter();
            findings.find(|finding| finding.kind == FindingKind::ClientLate).map(|found| found.sentence.clone())
        };
        // One in fifteen leaves 4 ms late: p95 is 104 ms instead of 100 ms. That is a warning.
        let some = held_up(1_000, |i| if i % 15 == 0 { 4 } else { 0 });
        assert_eq!(outcome(&some), Met);
        assert_eq!(raised(&some), [(P95, true), (P99, false), (P999, false)]);
        let said = warns(&some).unwrap();
        assert!(
            said.contains("the client sent requests late, which raised p95 ttft from 100 ms to 104 ms (3.85 %)")
                && said.ends_with("limit: 5 % of a p50, p90 or p95"),
            "{said}"
        );
        // 6 ms late it spoils p95.
        let more = held_up(1_000, |i| if i % 15 == 0 { 6 } else { 0 });
        assert_eq!((outcome(&more), more.verdict.outcome), (Missed, VerdictOutcome::Invalid));
        let said = check(&more).sentence;
        assert!(said.contains("p95 ttft from 100 ms to 106 ms (5.66 %)") && said.contains("limit: 5 %"), "{said}");
        assert_eq!(warns(&more), None, "a reason has said it");
        // One in fifty by half a second: that moves p99 alone, which is marked.
        let tail = held_up(1_000, |i| if i % 50 == 0 { 500 } else { 0 });
        assert_eq!(outcome(&tail), Met);
        assert_eq!((raised(&tail), warns(&tail)), (vec![(P99, false), (P999, false)], None));
        // All of them by 4 ms.
        assert_eq!(raised(&held_up(1_000, |_| 4))[..3], [(P50, true), (P90, true), (P95, true)]);
        // Less than a millisecond is none.
        assert_eq!(raised(&held_up(1_000, |_| 1)), []);
    }

    #[test]
    fn one_hiccup_among_few_requests_does_not_decide() {
        let hiccup = held_up(150, |i| if i == 70 { 400 } else { 0 });
        assert_eq!(outcome(&hiccup), Status::Met);
    }

    #[test]
    fn a_request_that_lay_in_the_client_after_its_dispatch_left_late_too() {
        let log = |opened_connection| {
            let records = (0..1_000).map(|i| {
                let mut record = record(i).sent_at(i, i, i + 50).paced(i + 150, 10, 3).usage(100, 3).build();
                record.opened_connection = opened_connection;
                record
            });
            let mut log = run(1_000, records.collect());
            let delays = Delays { n: 1_000, p50_ns: 0, p99_ns: 0, max_ns: 30_000_000 };
            let client = ClientFacts { loop_delay: Some(delays), ..ClientFacts::default() };
            log.footer.as_mut().unwrap().client = Some(client);
            summarise(&log, &[])
        };
        // Of the 50 ms no more than the longest delay of the loop was this program's.
        let found = log(false).client_effects[0];
        assert_eq!((found.reported_ms, found.without_ms), (150.0, 120.0));
        assert_eq!(raised(&log(true)), [], "opening a connection takes the server too");
    }

    #[test]
    fn first_tokens_that_may_have_come_earlier_count_by_what_that_does_to_ttft() {
        use Status::{Met, Missed};
        // One in fifteen has a first token that may have come `late` ms earlier, in one read with the second.
        let starved = |late: u64| {
            let records = (0..1_000).map(|i| {
                let late = if i % 15 == 0 { late } else { 0 };
                let mut record = record(i).sent_at(i, i, i).paced(i + 100 + late, 10, 3).usage(100, 3).build();
                if late > 0 {
                    record.late_stamps.get_or_insert_default().add(1, Duration::from_millis(late));
                }
                record
            });
            let mut log = run(1_000, records.collect());
            log.header.stamps = StampSource::KernelReceived;
            let delays = Delays { n: 1_000, p50_ns: 0, p99_ns: 40_000_000, max_ns: 90_000_000 };
            let client = ClientFacts { loop_delay: Some(delays), ..ClientFacts::default() };
            log.footer.as_mut().unwrap().client = Some(client);
            summarise(&log, &[])
        };
        let judged = |summary: &Summary| {
            let mut checks = summary.verdict.checks.iter();
            checks.find(|check| check.statistic.contains("read-loop delay")).unwrap().clone()
        };
        let spoiled = starved(30);
        let late = spoiled.client.unwrap().late_stamps.unwrap();
        assert_eq!((late.count, late.of, late.longest_ms), (67, 3_000, 30.0));
        let found = spoiled.client_effects.iter().find(|effect| effect.quantile == Quantile::P95).unwrap();
        assert_eq!((found.metric, found.rule, found.judged), (Metric::Ttft, Rule::ClientStarved, true));
        assert_eq!((found.reported_ms, found.without_ms), (130.0, 100.0));
        assert_eq!((judged(&spoiled).outcome, spoiled.verdict.outcome), (Missed, VerdictOutcome::Invalid));
        let said = judged(&spoiled).sentence;
        assert!(
            said.contains("67 of 3,000 token stamps may be late, by up to 30.0 ms")
                && said.contains("the client read answers late, which may have raised p95 ttft from 100 ms to 130 ms"),
            "{said}"
        );
        let waiting = starved(0);
        assert_eq!((waiting.client.unwrap().late_stamps, judged(&waiting).outcome), (None, Met));
        assert_eq!(waiting.client_effects, []);
    }

    #[test]
    fn a_record_tells_which_of_its_stamps_may_be_late() {
        let mut late = LateStamps::default();
        for (chunks, by) in [(2, 40), (3, 90), (4, 60)] {
            late.add(chunks, Duration::from_millis(by));
        }
        assert_eq!(late, LateStamps { count: 3, longest_ns: 90_000_000, first_ns: 0 });
        let stored = |late_stamps: Option<LateStamps>| {
            let late_stamps = late_stamps.map(Box::new);
            let record = RequestRecord { late_stamps, ..RequestRecord::default() };
            serde_json::to_value(record).unwrap().get("late_stamps").map(ToString::to_string)
        };
        assert_eq!(stored(None), None);
        assert_eq!(stored(Some(late)).unwrap(), r#"{"count":3,"longest_ns":90000000,"first_ns":0}"#);
    }
}

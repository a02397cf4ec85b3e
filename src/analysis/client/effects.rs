//! By how much this machine's own lateness could have made the reported percentiles longer.

use std::time::Duration;

use serde::Serialize;

use super::load::{ClientLoad, TIMER_MS};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::{Figure, Sample};
use crate::analysis::figures::quantile::{Quantile, SampleWarning};
use crate::analysis::judgements::check::Rule;
use crate::analysis::latency::row::LatencyRow;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::requests::form::LoadForm;
use crate::analysis::requests::observed::Observed;
use crate::record::{RequestRecord, StampSource};
use crate::units::{millis, percent, three_digits};

/// An effect of the client is worth a word when it is over this share of a figure …
pub(crate) const NOTED: f64 = 0.01;
/// … and over this, milliseconds: timers and schedulers of a healthy machine are as coarse as that.
pub(crate) const LEAST_MS: f64 = 1.0;
/// An effect of more than this share of a figure spoils it.
pub(crate) const SPOILED: f64 = 0.05;

/// A reported percentile that this machine could have made longer by over 1 % of it and over 1 ms.
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
    /// The rule that judges it: of the schedule lag for late sending, of a starved client for late reading, of host
    /// stalls.
    pub(crate) rule: Rule,
    /// The latency.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) metric: Metric,
    /// The percentile of it.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub(crate) quantile: Quantile,
    /// What is reported (where requests were cut off: the least that it can be), milliseconds.
    pub(crate) reported_ms: f64,
    /// The same without the client's lateness, milliseconds: the true figure lies between the two.
    pub(crate) without_ms: f64,
    /// Whether the run is judged by it: a p50, p90 or p95 of enough samples.
    pub(crate) judged: bool,
}

/// What a broken rule says that the client did, in words that an effect follows.
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
    /// All that are large enough, by their rule; `without_stalls` are the latencies with every stall cut out.
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
        Quantile::ALL
            .map(|quantile| (Rule::HostStalls, metric, quantile, row.percentile(quantile).figure.at_least()))
    };
    without.iter().flat_map(of).collect()
}

fn by_name<T: ToString, S: serde::Serializer>(name: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name.to_string())
}

#[cfg(test)]
mod tests;

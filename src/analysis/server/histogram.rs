//! The server's histograms of times, beside what the client measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::figures::{Quantile, SampleWarning};
use crate::clock::Timestamp;
use crate::record::{
    CheckResult, Counter, Outcome, PageKind, RecordRef, RequestRecord, RunLog, ServerTime, TimeHistogram, TokenCounting,
};

/// Times that a server's histogram shows between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// Number of times.
    pub count: f64,
    /// Mean of the values, milliseconds: exact, for the server adds them up.
    pub mean_ms: f64,
    /// Median; absent if the buckets do not show it.
    pub p50: Option<BucketQuantile>,
    /// 99th percentile; absent if the buckets do not show it.
    pub p99: Option<BucketQuantile>,
    /// Warning on what so many times are worth for a 99th percentile. Absent where they are plenty.
    pub p99_mark: Option<SampleWarning>,
}

/// A quantile from buckets. It lies between the ends of its bucket, and where in between is an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BucketQuantile {
    /// The guess, milliseconds. Times are taken to lie evenly in the bucket, as Prometheus' `histogram_quantile` does.
    /// Of the last bucket, which has no end, where it begins.
    pub ms: f64,
    /// Lower end of the bucket, milliseconds.
    pub from_ms: f64,
    /// Upper end of the bucket. Absent of the last one.
    pub to_ms: Option<f64>,
}

impl TimeSummary {
    /// `None` of no times at all.
    pub(super) fn from_histogram(histogram: &TimeHistogram) -> Option<Self> {
        (histogram.count > 0.0).then(|| Self {
            count: histogram.count,
            mean_ms: histogram.sum_s / histogram.count * 1e3,
            p50: quantile(histogram, 0.5),
            p99: quantile(histogram, 0.99),
            p99_mark: Quantile::P99.mark(histogram.count as u64),
        })
    }
}

/// Returns the rise of a histogram between two readings. `None` where it went back, or has other buckets than before.
pub(super) fn difference(before: &TimeHistogram, after: &TimeHistogram) -> Option<TimeHistogram> {
    let rise = |(then, now): (&(f64, f64), &(f64, f64))| {
        (then.0 == now.0 && now.1 >= then.1).then_some((now.0, now.1 - then.1))
    };
    let same = before.buckets.len() == after.buckets.len() && after.count >= before.count;
    let buckets = before.buckets.iter().zip(&after.buckets).map(rise).collect::<Option<Vec<_>>>();
    Some(TimeHistogram {
        count: after.count - before.count,
        sum_s: (after.sum_s - before.sum_s).max(0.0),
        buckets: buckets.filter(|_| same)?,
    })
}

/// The times of several engines; `None` of none, or where they have different buckets.
pub(super) fn sum(histograms: Vec<TimeHistogram>) -> Option<TimeHistogram> {
    histograms.into_iter().map(Some).reduce(|sum, one| {
        let (mut sum, one) = (sum?, one?);
        let same = sum.buckets.iter().map(|bucket| bucket.0).eq(one.buckets.iter().map(|bucket| bucket.0));
        for (all, more) in sum.buckets.iter_mut().zip(&one.buckets) {
            all.1 += more.1;
        }
        sum.count += one.count;
        sum.sum_s += one.sum_s;
        same.then_some(sum)
    })?
}

/// Returns `histogram_quantile` of Prometheus for classic histograms. It takes the bucket in which the rank q · n
/// falls, and a straight line between its ends. The first bucket begins at 0, unless its end is no more than that.
///
/// A wide bucket says little, and the sum of the times says more: what the other buckets leave of it lies in
/// this one. Its mean m is at least that of the share s of its times at its beginning, and of the others at
/// the quantile, which so is at most (m − s · beginning) ÷ (1 − s); and at least (m − (1 − s) · end) ÷ s.
fn quantile(histogram: &TimeHistogram, q: f64) -> Option<BucketQuantile> {
    let rank = q * histogram.count;
    let place = histogram.buckets.partition_point(|bucket| bucket.1 < rank);
    let below = place.checked_sub(1).map(|before| histogram.buckets[before]);
    let Some(&(end, upto)) = histogram.buckets.get(place) else {
        let (last, _) = *histogram.buckets.last()?;
        return Some(BucketQuantile { ms: last * 1e3, from_ms: last * 1e3, to_ms: None });
    };
    let (begin, before) = below.unwrap_or((end.min(0.0), 0.0));
    let inside = upto - before;
    let share = if inside > 0.0 { (rank - before) / inside } else { 1.0 };
    let (mut least, mut most, mut from, mut so_many) = (histogram.sum_s, histogram.sum_s, 0.0, 0.0);
    for (number, &(to, upto)) in histogram.buckets.iter().chain([&(f64::MAX, histogram.count)]).enumerate() {
        let others = if number == place { 0.0 } else { upto - so_many };
        (least, most) = (least - others * to, most - others * f64::min(from, to));
        (from, so_many) = (to, upto);
    }
    let high = (most / inside - share * begin) / (1.0 - share);
    let low = (least / inside - (1.0 - share) * end) / share;
    let begin = begin.max(low).min(end);
    let end = end.min(high).max(begin);
    let guess = begin + (end - begin) * share;
    Some(BucketQuantile { ms: guess * 1e3, from_ms: begin * 1e3, to_ms: Some(end * 1e3) })
}

/// Counts and mean times between two readings, by server and client. They are of each request, and of each token where
/// it happened in it, of warm-up and cool-down too.
///
/// What happens at the very ends may count on one side alone, and requests of other clients count on the server's
/// side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BothAccounts {
    /// Time to the first token: the client's from sending, the server's from the request's arrival.
    pub ttft: Option<TimeBeside>,
    /// Time to the last token, as above.
    pub e2e: Option<TimeBeside>,
    /// Requests that completed.
    pub requests: Option<CountBeside>,
    /// Answer tokens. Those of a request are all at its end, where the server counts them then (SGLang, TGI,
    /// llama.cpp).
    pub output_tokens: Option<CountBeside>,
}

/// A mean time by both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeBeside {
    /// The client's mean, milliseconds.
    pub client_ms: f64,
    /// Number of requests in it.
    pub client_n: u64,
    /// The server's mean, milliseconds.
    pub server_ms: f64,
    /// Number of requests in it.
    pub server_n: f64,
    /// Time outside of the server, milliseconds: in the network, proxies, both kernels, and this program. The
    /// difference of the means; below 0 where the two are about different requests.
    pub outside_ms: f64,
    /// Time outside of the server as a share of the client's mean.
    pub outside_share: f64,
    /// Whether both may be about the same requests. Their numbers differ by no more than one, 2 %, or the requests in
    /// flight at the ends of the stretch. At its beginning the server may have counted those before, at its end those
    /// alone, and no more than the client's number. If not, for example because other clients used the server too, the
    /// difference of the means says nothing.
    pub same_requests: bool,
}

/// A count by both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountBeside {
    /// The client's.
    pub client: u64,
    /// The server's.
    pub server: f64,
}

/// Share of the client's requests by which both sides may differ. It is for what happens at the ends of the stretch.
const SAME: f64 = 0.02;

impl BothAccounts {
    pub(super) fn new(
        log: &RunLog,
        counters: &BTreeMap<Counter, f64>,
        times: &BTreeMap<ServerTime, TimeSummary>,
        (from, until): (f64, f64),
    ) -> Self {
        let inside = |at: Timestamp| (from..until).contains(&at.as_secs_f64());
        let time = |time: ServerTime, end: fn(&RequestRecord) -> Option<Timestamp>| {
            let server = times.get(&time)?;
            let of_record = |record: RecordRef<'_>| {
                let end = end(&record).filter(|&end| inside(end))?;
                Some(end.since(record.own_sent()?).as_secs_f64() * 1e3)
            };
            let client: Vec<f64> = log.records.iter().filter_map(of_record).collect();
            // Of a request in flight at an end of the stretch, the moment may lie inside on one side alone.
            let open_at = |edge: f64| {
                let open = |record: &RecordRef<'_>| {
                    let sent = record.own_sent().is_some_and(|sent| sent.as_secs_f64() <= edge);
                    sent && end(record).unwrap_or(record.ended).as_secs_f64() >= edge
                };
                log.records.iter().filter(open).count() as f64
            };
            TimeBeside::new(&client, server, (open_at(from), open_at(until)))
        };
        let first = |record: &RequestRecord| record.chunks.first_at();
        let last = |record: &RequestRecord| {
            let completed = record.outcome == Outcome::Completed;
            record.chunks.last_at().or(record.whole_answer).filter(|_| completed)
        };
        let count =
            |counter: Counter, client: u64| counters.get(&counter).map(|&server| CountBeside { client, server });
        let ended = log.records.iter().filter(|record| record.outcome == Outcome::Completed);
        let ended = ended.filter(|record| inside(record.ended)).count() as u64;
        // Answers of which several chunks share a count are spread over them alike on both sides.
        let counting = counting(log);
        let tokens = log.records.iter().map(|record| match counting {
            TokenCounting::AsTheyCome => tokens_inside(&record, inside),
            TokenCounting::AtTheEnd if inside(record.ended) => record.output_tokens as f64,
            TokenCounting::AtTheEnd => 0.0,
        });
        let tokens = tokens.sum::<f64>();
        let golden = log.checks.iter().filter(|check| {
            let answered = matches!(check.result, CheckResult::Passed | CheckResult::Unmet { .. });
            answered && check.released.is_some_and(inside)
        });
        let golden_tokens: u64 = golden.clone().filter_map(|check| check.usage?.completion()).sum();
        Self {
            ttft: time(ServerTime::Ttft, first),
            e2e: time(ServerTime::E2e, last),
            requests: count(Counter::RequestsSucceeded, ended + golden.count() as u64),
            output_tokens: count(Counter::GenerationTokens, tokens.round() as u64 + golden_tokens),
        }
    }
}

/// When the servers whose pages were read count tokens.
fn counting(log: &RunLog) -> TokenCounting {
    let mut kinds = log.header.telemetry.iter().filter_map(|page| page.kind);
    kinds
        .find_map(|kind: PageKind| kind.is_of_engine().then(|| kind.counts_tokens()))
        .unwrap_or(TokenCounting::AsTheyCome)
}

/// Counts the tokens of an answer that came while `inside`. Where its chunks do not tell theirs, each has the same part
/// of all. An answer that was not streamed came whole.
fn tokens_inside(record: &RequestRecord, inside: impl Fn(Timestamp) -> bool) -> f64 {
    if record.chunks.is_empty() {
        return if record.whole_answer.is_some_and(inside) { record.output_tokens as f64 } else { 0.0 };
    }
    let seen: u64 = record.chunks.iter().map(|chunk| u64::from(chunk.tokens)).sum();
    let came = record.chunks.iter().filter(|chunk| inside(chunk.at));
    let tokens: u64 = came.map(|chunk| u64::from(chunk.tokens)).sum();
    if seen == 0 { 0.0 } else { tokens as f64 * record.output_tokens as f64 / seen as f64 }
}

impl TimeBeside {
    /// `None` where the client has seen none. So many requests were `open` at the two ends: the server's
    /// moment of a request is the earlier one.
    fn new(client: &[f64], server: &TimeSummary, open: (f64, f64)) -> Option<Self> {
        let number = client.len() as f64;
        let client_ms = client.iter().sum::<f64>() / number;
        let outside_ms = client_ms - server.mean_ms;
        let same = (SAME * number).max(1.0);
        let apart = -open.0.max(same)..=open.1.min(number).max(same);
        (client_ms > 0.0).then_some(Self {
            client_ms,
            client_n: client.len() as u64,
            server_ms: server.mean_ms,
            server_n: server.count,
            outside_ms,
            outside_share: outside_ms / client_ms,
            same_requests: apart.contains(&(server.count - number)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(count: f64, sum_s: f64, buckets: &[(f64, f64)]) -> TimeHistogram {
        TimeHistogram { count, sum_s, buckets: buckets.to_vec() }
    }

    /// The example of `ClickHouse`'s `quantilePrometheusHistogram`, which follows `histogram_quantile`: 0.35.
    #[test]
    fn quantiles_are_those_of_prometheus() {
        let times = histogram(19.0, 10.0, &[(0.0, 6.0), (0.5, 11.0), (1.0, 14.0)]);
        let median = quantile(&times, 0.5).unwrap();
        assert!((median.ms - 350.0).abs() < 1e-9, "{median:?}");
        assert_eq!((median.from_ms, median.to_ms), (0.0, Some(500.0)));
        // In the last bucket it is where that begins.
        let p99 = quantile(&times, 0.99).unwrap();
        assert_eq!(p99, BucketQuantile { ms: 1_000.0, from_ms: 1_000.0, to_ms: None });
        // A first bucket whose end is above 0 begins at 0.
        let first = quantile(&histogram(4.0, 0.4, &[(0.2, 4.0)]), 0.5).unwrap();
        assert_eq!(first, BucketQuantile { ms: 100.0, from_ms: 0.0, to_ms: Some(200.0) });
        assert_eq!(quantile(&histogram(4.0, 0.4, &[]), 0.5), None);
    }

    #[test]
    fn a_wide_bucket_ends_where_the_mean_lets_it() {
        // 100 times of 14 µs in a first bucket of 300 ms: half of them are no more than twice the mean.
        let queue = TimeSummary::from_histogram(&histogram(100.0, 0.0014, &[(0.3, 100.0)])).unwrap();
        let (p50, p99) = (queue.p50.unwrap(), queue.p99.unwrap());
        assert!((p50.ms - 0.014).abs() < 1e-9 && (p50.to_ms.unwrap() - 0.028).abs() < 1e-9, "{p50:?}");
        assert!(p99.to_ms.unwrap() < 1.4 + 1e-9, "{p99:?}");
        // Where the sum is nothing, so is each.
        let none = TimeSummary::from_histogram(&histogram(100.0, 0.0, &[(0.3, 100.0), (0.5, 100.0)])).unwrap();
        let zero = Some(BucketQuantile { ms: 0.0, from_ms: 0.0, to_ms: Some(0.0) });
        assert_eq!((none.p50, none.p99), (zero, zero));
    }

    /// By hand. 100 times of at most 10 ms whose mean is 9.99: half of them are 9.98 or more. With 10 more of
    /// 10 to 20 ms the 100 have 0.799 to 0.899 s, so that their middle one of 55 is 10 · 55 ÷ 45 below a mean
    /// of 7.99 or more.
    #[test]
    fn a_bucket_begins_where_the_sum_lets_it() {
        let quantiles = |buckets: &[(f64, f64)]| {
            let times = TimeSummary::from_histogram(&histogram(buckets.last().unwrap().1, 0.999, buckets)).unwrap();
            [times.p50, times.p99].map(Option::unwrap)
        };
        let [p50, p99] = quantiles(&[(0.01, 100.0), (0.02, 100.0)]);
        assert!((p50.from_ms - 9.98).abs() < 1e-9 && p50.to_ms == Some(10.0), "{p50:?}");
        assert!(p99.from_ms > p50.from_ms && p99.ms <= 10.0, "{p99:?}");
        let [p50, _] = quantiles(&[(0.01, 100.0), (0.02, 110.0)]);
        let low = (7.99 - 0.45 * 10.0) / 0.55;
        assert!((p50.from_ms - low).abs() < 1e-9 && p50.to_ms == Some(10.0), "{p50:?} {low}");
        // Of times that are all as long as their bucket reaches each is so long.
        let [p50, p99] = [0.1 * 3.0, 0.3].map(|end| {
            let times = TimeSummary::from_histogram(&histogram(3.0, 3.0 * (0.1 * 3.0), &[(end, 3.0)])).unwrap();
            times.p50.unwrap()
        });
        assert!((p50.from_ms - 300.0).abs() < 1e-9 && (p99.from_ms - 300.0).abs() < 1e-9, "{p50:?} {p99:?}");
        // Times beyond the last bucket may be as long as they like.
        let open = TimeSummary::from_histogram(&histogram(110.0, 5.0, &[(0.01, 100.0)])).unwrap().p50.unwrap();
        assert_eq!((open.from_ms, open.to_ms), (0.0, Some(10.0)));
    }

    #[test]
    fn what_came_in_between_is_told_and_nothing_after_a_new_start() {
        let before = histogram(10.0, 5.0, &[(0.5, 4.0), (1.0, 9.0)]);
        let after = histogram(14.0, 8.0, &[(0.5, 5.0), (1.0, 11.0)]);
        let between = difference(&before, &after).unwrap();
        assert_eq!(between, histogram(4.0, 3.0, &[(0.5, 1.0), (1.0, 2.0)]));
        let times = TimeSummary::from_histogram(&between).unwrap();
        assert_eq!((times.mean_ms, times.p99_mark), (750.0, Some(SampleWarning::TooFewSamples)));
        assert_eq!(difference(&after, &before), None);
        assert_eq!(difference(&before, &histogram(14.0, 8.0, &[(0.5, 5.0)])), None);
        assert_eq!(TimeSummary::from_histogram(&histogram(0.0, 0.0, &[])), None);
    }

    #[test]
    fn requests_in_flight_at_an_end_explain_a_difference_in_its_direction_alone() {
        let same = |server: f64, open: (f64, f64)| {
            let server = TimeSummary::from_histogram(&histogram(server, server, &[])).unwrap();
            TimeBeside::new(&[1_000.0; 100], &server, open).unwrap().same_requests
        };
        assert!(same(98.0, (0.0, 0.0)) && same(102.0, (0.0, 0.0)) && !same(103.0, (0.0, 0.0)));
        assert!(same(80.0, (20.0, 0.0)) && !same(79.0, (20.0, 0.0)) && !same(80.0, (0.0, 20.0)));
        assert!(same(120.0, (0.0, 20.0)) && !same(121.0, (0.0, 20.0)) && !same(120.0, (20.0, 0.0)));
        assert!(same(200.0, (0.0, 500.0)) && !same(600.0, (0.0, 500.0)));
    }

    #[test]
    fn engines_with_the_same_buckets_add_up() {
        let one = || histogram(2.0, 1.0, &[(0.5, 1.0)]);
        assert_eq!(sum(vec![one(), one()]), Some(histogram(4.0, 2.0, &[(0.5, 2.0)])));
        assert_eq!(sum(vec![one(), histogram(2.0, 1.0, &[(0.6, 1.0)])]), None);
        assert_eq!(sum(Vec::new()), None);
    }
}

//! The test that says which of several servers is slower by more than chance.

use serde::Serialize;

use super::part::prompt_group;
use crate::analysis::figures::{Figure, Metric};
use crate::analysis::requests::Observed;
use crate::analysis::statistics::{BatchMeans, CONFIDENCE, Estimate, Memory, holm, mean, student_t_quantile};
use crate::record::RequestRecord;

/// A latency of a server beside that of the others.
///
/// Compared are requests of one class whose prompts are alike long, in 32 stretches of the window. Differences of the
/// stretches' means are tested by their t, with an error that grows with their memory, and by that of their growth. Of
/// all servers and latencies together the tests are wrong in at most one of 50 runs (Holm).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlowerBy {
    /// The latency.
    #[serde(serialize_with = "by_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub metric: Metric,
    /// Mean of the latency minus that of the middle one of the others, ms. With its 95 % interval.
    pub by_ms: Estimate,
    /// Mean of the latter, ms.
    pub others_ms: f64,
    /// Whether it is surer that it grows, as behind a queue without an end. The interval may then hold 0.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub grows: bool,
    /// The p-value that it is not longer, of so many comparisons.
    pub p: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's serialize_with passes a reference
fn by_name<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

/// Stretches of the window whose means are compared.
const STRETCHES: usize = 32;
/// Largest p-value of a difference that is not chance.
const SURE: f64 = 0.02;
/// Least difference that matters, as a share of the others' mean.
pub(in crate::analysis) const SLOWER_BAR: f64 = 0.05;

impl SlowerBy {
    /// Whether the difference is no chance, and matters.
    fn is_sure(&self) -> bool {
        self.p <= SURE && self.by_ms.value > SLOWER_BAR * self.others_ms
    }
}

/// Moment of a request, as a share of the window, and its latency. What its kind adds to that is taken off.
type Timed = (f64, f64);

/// Returns the latencies of each server that are surely longer than the others'.
pub(super) fn slower(
    observed: &Observed<'_>,
    servers: usize,
    place_of: impl Fn(&RequestRecord) -> Option<usize>,
) -> Vec<Vec<SlowerBy>> {
    let streamed = observed.log.header.engine().streamed;
    let metrics: &[Metric] = if streamed { &[Metric::Ttft, Metric::Tpot] } else { &[Metric::E2e] };
    let length = observed.length().as_secs_f64();
    let compared = metrics.iter().map(|metric| {
        let mut timed = vec![Vec::new(); servers];
        // Each kind with the sum and the number of its values.
        let mut kinds: Vec<((u16, Option<usize>), f64, f64)> = Vec::new();
        for request in &observed.requests {
            let record = request.record();
            let value = request.latency().get(*metric).and_then(Figure::exact);
            let Some((value, place)) = value.zip(place_of(&record)) else { continue };
            let at = request.begin().since(observed.start).as_secs_f64() / length;
            let alike = (record.class, prompt_group(&record));
            let number = kinds.iter().position(|(other, ..)| *other == alike).unwrap_or_else(|| {
                kinds.push((alike, 0.0, 0.0));
                kinds.len() - 1
            });
            kinds[number].1 += value;
            kinds[number].2 += 1.0;
            if let Some(timed) = timed.get_mut(place) {
                timed.push((at, value, number));
            }
        }
        let (sum, count) = kinds.iter().fold((0.0, 0.0), |(sum, count), kind| (sum + kind.1, count + kind.2));
        let all = if count > 0.0 { sum / count } else { 0.0 };
        // The mean of all stays in, so that means are what users know.
        let beyond = |(at, value, number): &(f64, f64, usize)| {
            let (_, sum, count) = kinds[*number];
            (*at, value - sum / count + all)
        };
        let timed: Vec<Vec<Timed>> = timed.iter().map(|timed| timed.iter().map(beyond).collect()).collect();
        compare(*metric, &timed)
    });
    let compared: Vec<Vec<Option<SlowerBy>>> = compared.collect();
    let p_values: Vec<f64> = compared.iter().flatten().flatten().map(|found| found.p).collect();
    let mut adjusted = holm(&p_values).into_iter();
    let mut slower = vec![Vec::new(); servers];
    for compared in compared {
        for (slower, found) in slower.iter_mut().zip(compared) {
            let found = found.map(|found| SlowerBy { p: adjusted.next().unwrap_or(1.0), ..found });
            slower.extend(found.filter(SlowerBy::is_sure));
        }
    }
    for found in &mut slower {
        found.sort_by(|a, b| a.p.total_cmp(&b.p));
    }
    slower
}

/// Compares each server with the middle one of the others. Of an even number that is the slower one of the two in the
/// middle. A server of which too few stretches have a request is not compared.
fn compare(metric: Metric, servers: &[Vec<Timed>]) -> Vec<Option<SlowerBy>> {
    let stretches: Vec<Vec<Option<f64>>> = servers.iter().map(|timed| means(timed)).collect();
    let overall: Vec<Option<f64>> =
        servers.iter().map(|timed| mean(&timed.iter().map(|(_, value)| *value).collect::<Vec<_>>())).collect();
    let of_server = |place: usize| {
        let mut others: Vec<usize> =
            (0..servers.len()).filter(|other| *other != place && overall[*other].is_some()).collect();
        others.sort_by(|a, b| overall[*a].unwrap_or_default().total_cmp(&overall[*b].unwrap_or_default()));
        let middle = *others.get(others.len() / 2)?;
        let pairs = stretches[place].iter().zip(&stretches[middle]);
        let differences: Vec<f64> = pairs.filter_map(|(own, other)| Some((*own)? - (*other)?)).collect();
        let Longer { by_ms, p, grows } = Longer::new(&differences)?;
        Some(SlowerBy { metric, by_ms, others_ms: overall[middle]?, grows, p })
    };
    (0..servers.len()).map(of_server).collect()
}

/// Means of the stretches of the window.
fn means(timed: &[Timed]) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); STRETCHES];
    for (at, value) in timed {
        let stretch = ((at * STRETCHES as f64).max(0.0) as usize).min(STRETCHES - 1);
        sums[stretch].0 += value;
        sums[stretch].1 += 1.0;
    }
    sums.into_iter().map(|(sum, count)| (count > 0.0).then(|| sum / count)).collect()
}

/// The mean difference of two servers, and how sure it is.
struct Longer {
    by_ms: Estimate,
    /// One-sided p-value that it is not above 0, and does not grow.
    p: f64,
    /// Whether its growth is what is surer.
    grows: bool,
}

impl Longer {
    /// Returns the mean of differences in their order; `None` for fewer than 16.
    ///
    /// Two tests share the chance of an error. That of the mean counts as few differences as the memory of a queue
    /// leaves. A queue without an end leaves none; but then its steps are independent, and their mean is tested.
    fn new(differences: &[f64]) -> Option<Self> {
        let batches = BatchMeans::from_values(differences)?;
        let memory = Memory::from_values(differences)?.correlation_time;
        let freedom = (batches.freedom / memory).max(1.0);
        let mean = BatchMeans { error: batches.error * libm::sqrt(memory), freedom, ..batches };
        let half = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom) * mean.error;
        let steps: Vec<f64> = differences.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let [of_mean, of_growth] =
            [Some(mean), BatchMeans::from_values(&steps)].map(|means| means.map_or(1.0, above_zero));
        let p = (2.0 * of_mean.min(of_growth)).min(1.0);
        Some(Self { by_ms: Estimate::around(mean.mean, half), p, grows: of_growth < of_mean })
    }
}

/// One-sided p-value that the true mean is not above 0.
fn above_zero(means: BatchMeans) -> f64 {
    let two_sided = means.p();
    if means.mean > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomStream;

    /// Requests of a Poisson process, in turn at servers with a queue. Each is served for an exponential time with this
    /// mean, in seconds. Gives the moments and the waits in milliseconds.
    fn queues(seed: u64, rate: f64, length: f64, service: &[f64]) -> Vec<Vec<Timed>> {
        let mut stream = RandomStream::named(seed, "servers");
        let (mut free, mut at, mut turn) = (vec![0.0_f64; service.len()], 0.0, 0);
        let mut timed = vec![Vec::new(); service.len()];
        loop {
            at += stream.exponential() / rate;
            if at >= length {
                return timed;
            }
            let ends = free[turn].max(at) + stream.exponential() * service[turn];
            free[turn] = ends;
            timed[turn].push((at / length, (ends - at) * 1e3));
            turn = (turn + 1) % service.len();
        }
    }

    /// The servers that are surely slower, by their places.
    fn named(timed: &[Vec<Timed>]) -> Vec<usize> {
        let found: Vec<_> = compare(Metric::Ttft, timed).into_iter().flatten().collect();
        let adjusted = holm(&found.iter().map(|found| found.p).collect::<Vec<_>>());
        let found = found.into_iter().zip(adjusted).map(|(found, p)| SlowerBy { p, ..found });
        found.enumerate().filter(|(_, found)| found.is_sure()).map(|(place, _)| place).collect()
    }

    #[test]
    fn equal_servers_are_hardly_ever_named() {
        for (servers, load) in [(2, 0.3), (2, 0.8), (3, 0.7), (5, 0.5)] {
            let named = |seed| {
                let service = vec![0.2; servers];
                named(&queues(seed, load * servers as f64 / 0.2, 120.0, &service)).len()
            };
            let wrong = (0..400).filter(|seed| named(*seed) > 0).count();
            // Binomial with p = 0.02: three standard deviations above 8.
            assert!(wrong <= 16, "{wrong} of 400 runs of {servers} servers at {load} name one");
        }
    }

    #[test]
    fn a_server_whose_queue_has_no_end_is_named() {
        let runs = |service: [f64; 2]| (0..200).map(move |seed| named(&queues(seed, 9.0, 300.0, &service)));
        let found = runs([0.2, 0.26]).filter(|found| found == &[1]).count();
        assert!(found >= 180, "{found} of 200");
        let wrong = runs([0.26, 0.26]).filter(|found| !found.is_empty()).count();
        assert!(wrong <= 10, "both are as slow: {wrong} of 200");
    }

    #[test]
    fn a_slower_server_is_named_and_no_other() {
        for servers in [2, 3, 4] {
            let mut service = vec![0.1; servers];
            service[1] = 0.16;
            let runs = 100;
            let found: Vec<_> =
                (0..runs).map(|seed| named(&queues(seed, 2.0 * servers as f64, 240.0, &service))).collect();
            assert!(found.iter().all(|found| found.iter().all(|place| *place == 1)), "{servers}: {found:?}");
            assert!(found.iter().filter(|found| !found.is_empty()).count() >= 90, "{servers}: {found:?}");
        }
    }
}

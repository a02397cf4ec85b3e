//! Which of several servers is slower than the others by more than chance.

use serde::Serialize;

use super::part::prompt_group;
use crate::analysis::figures::Metric;
use crate::analysis::requests::Observed;
use crate::analysis::statistics::{BatchMeans, CONFIDENCE, Estimate, Memory, holm, mean, student_t_quantile};
use crate::record::RequestRecord;

/// A latency of a server beside that of the others.
///
/// Compared are requests of one class whose prompts are alike long, in 32 stretches of the window; by the t-test of the
/// differences of the stretches' means, whose error grows with their memory. Of all servers and latencies together it
/// is wrong about one in 50 times (Holm).
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
            let value = request.latency().get(*metric).and_then(|figure| figure.exact());
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
    slower.iter_mut().for_each(|found| found.sort_by(|a, b| a.p.total_cmp(&b.p)));
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
        let (by_ms, p) = longer(&differences)?;
        Some(SlowerBy { metric, by_ms, others_ms: overall[middle]?, p })
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

/// Returns the mean difference with its interval. With it comes the one-sided p-value that it is not above 0. `None`
/// for fewer than 16.
fn longer(differences: &[f64]) -> Option<(Estimate, f64)> {
    let batches = BatchMeans::from_values(differences)?;
    // A queue lasts longer than a stretch: as many independent ones are fewer.
    let memory = Memory::from_values(differences)?.correlation_time;
    let freedom = (batches.freedom / memory).max(1.0);
    let remembered = BatchMeans { error: batches.error * libm::sqrt(memory), freedom, ..batches };
    let half = student_t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom) * remembered.error;
    let two_sided = remembered.p();
    let p = if batches.mean > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 };
    Some((Estimate::around(batches.mean, half), p))
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
            assert!(wrong <= 20, "{wrong} of 400 runs of {servers} servers at {load} name one");
        }
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

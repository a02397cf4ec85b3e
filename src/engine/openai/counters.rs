//! Reads the server's own counters from its metrics page.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::control::Control;
use super::engine::OpenAiEngine;
use crate::engine::dialect_traits::DialectTraits;
use crate::engine::exposition::{MetricSample, metric_samples};
use crate::record::{Counter, Gauge, ServerCounters};

/// Time limit of a reading: a run does not wait longer.
const LIMIT: Duration = Duration::from_secs(2);
/// How long to wait until counters settle.
const UNREST: Duration = Duration::from_secs(1);
/// Time between two readings.
const PAUSE: Duration = Duration::from_millis(100);

/// A server's counters since it started, at one moment. Only the difference of two has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    counters: ServerCounters,
    /// Tokens per block of the server's prefix cache, which shares only whole blocks, where it is reported.
    pub block_tokens: Option<u32>,
}

impl CounterReading {
    /// The difference since `earlier`. `None` when a counter went back: the server was restarted, and its
    /// earlier counts are lost.
    pub fn since(&self, earlier: &Self) -> Option<ServerCounters> {
        let (now, then) = (&self.counters, &earlier.counters);
        // A series missing on the earlier page was 0: Prometheus' clients show a series with labels only
        // once it has counted something.
        let rise = |now: Option<u64>, then: Option<u64>| match now {
            Some(now) => now.checked_sub(then.unwrap_or(0)).map(Some),
            None => Some(None),
        };
        Some(ServerCounters {
            prompt_tokens: rise(now.prompt_tokens, then.prompt_tokens)?,
            generation_tokens: rise(now.generation_tokens, then.generation_tokens)?,
            requests_succeeded: rise(now.requests_succeeded, then.requests_succeeded)?,
            cache_queries: rise(now.cache_queries, then.cache_queries)?,
            cache_hits: rise(now.cache_hits, then.cache_hits)?,
        })
    }

    /// The counters of a page; `None` when it has none of them.
    fn of(page: &str, traits: &DialectTraits) -> Option<Self> {
        let names = traits.metrics?;
        let count = |counter| names.counter(counter).and_then(|name| total(page, name));
        let counters = ServerCounters {
            prompt_tokens: count(Counter::PromptTokens),
            generation_tokens: count(Counter::GenerationTokens),
            requests_succeeded: count(Counter::RequestsSucceeded),
            cache_queries: count(Counter::CacheQueries),
            cache_hits: count(Counter::CacheHits),
        };
        let block_tokens = traits.cache_config.and_then(|name| block_size(page, name));
        (counters != ServerCounters::default()).then_some(Self { counters, block_tokens })
    }
}

impl OpenAiEngine {
    /// The server's counters once two readings agree, or as they are after a second: servers update them in
    /// steps, shortly after the answer is out. `None`, with a debug message, where there are none or they are not
    /// reported within 2 s. The difference of two, before and after a run, is what the server counted of the run.
    pub async fn counters(&self) -> Option<CounterReading> {
        let traits = self.target.dialect.traits();
        traits.metrics?;
        let begin = Instant::now();
        let reading = async {
            let mut last = read(&self.control, &traits).await?;
            while begin.elapsed() < UNREST {
                sleep(PAUSE).await;
                let next = read(&self.control, &traits).await?;
                if next == last {
                    return Ok(next);
                }
                last = next;
            }
            Ok(last)
        };
        let reading = timeout_at(begin + LIMIT, reading).await;
        let reading = reading.unwrap_or_else(|_| Err(format!("no answer within {} s", LIMIT.as_secs())));
        reading.inspect_err(|error| tracing::debug!("the server's counters are not read: {error}")).ok()
    }

    /// Requests in the server now, running or waiting, from any client; `None` where it reports none.
    pub async fn in_flight_requests(&self) -> Option<u64> {
        let traits = self.target.dialect.traits();
        traits.metrics?;
        let page = timeout(LIMIT, self.control.text(traits.metrics_path?)).await.ok()?.ok()?;
        in_flight_on(&page, &traits)
    }
}

fn in_flight_on(page: &str, traits: &DialectTraits) -> Option<u64> {
    let names = traits.metrics?;
    let gauges =
        [Gauge::Running, Gauge::Waiting].into_iter().filter_map(|gauge| names.gauge(gauge)).map(|name| {
            let of_name = |sample: &MetricSample<'_>| sample.name == name && !sample.is_of_one_priority();
            summed(metric_samples(page).filter(of_name))
        });
    gauges.flatten().reduce(u64::saturating_add)
}

/// The label `block_size` of the series `name`.
fn block_size(page: &str, name: &str) -> Option<u32> {
    let mut series = metric_samples(page).filter(|sample| sample.name == name);
    series.find_map(|sample| sample.label("block_size")?.parse().ok().filter(|&tokens| tokens > 0))
}

async fn read(control: &Control, traits: &DialectTraits) -> Result<CounterReading, String> {
    let path = traits.metrics_path.unwrap_or_default();
    let page = control.text(path).await.map_err(|error| error.to_string())?;
    CounterReading::of(&page, traits).ok_or_else(|| format!("{path} has none of the server's counters"))
}

/// The sum over all label sets of the series `name`, without failed requests. `None` where there is no such
/// series, or a value that no counter can have.
fn total(page: &str, name: &str) -> Option<u64> {
    summed(metric_samples(page).filter(|sample| sample.name == name))
}

fn summed<'a>(metric_samples: impl Iterator<Item = MetricSample<'a>>) -> Option<u64> {
    let mut values = metric_samples.peekable();
    values.peek()?;
    let sum: f64 = values.filter(|sample| !sample.is_of_failures()).map(|sample| sample.value).sum();
    (sum.is_finite() && sum >= 0.0).then(|| sum.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::Dialect;

    fn counters(prompt: Option<u64>, generation: Option<u64>, succeeded: Option<u64>) -> ServerCounters {
        ServerCounters {
            prompt_tokens: prompt,
            generation_tokens: generation,
            requests_succeeded: succeeded,
            ..ServerCounters::default()
        }
    }

    #[test]
    fn a_recorded_page_of_vllm_is_read() {
        let page = include_str!("../../../tests/data/transcripts/vllm/metrics_after.txt");
        let names = &Dialect::Vllm.traits();
        let reading = CounterReading::of(page, names).unwrap();
        let counted = counters(Some(1_294), Some(13_017), Some(115));
        assert_eq!(
            reading.counters,
            ServerCounters { cache_queries: Some(1_294), cache_hits: Some(0), ..counted }
        );
        assert_eq!(reading.block_tokens, Some(128), "on a processor");
        assert_eq!(in_flight_on(page, names), Some(0));
        let busy = "vllm:num_requests_running{e=\"0\"} 3.0\nvllm:num_requests_waiting{e=\"0\"} 2.0\n";
        assert_eq!(in_flight_on(busy, names), Some(5));
        // SGLang with priorities: ten in all, six and four of the two priorities.
        let names = &Dialect::Sglang.traits();
        let prioritised = "sglang:num_running_reqs{priority=\"\"} 10\nsglang:num_running_reqs{priority=\"0\"} 6\n\
                           sglang:num_running_reqs{priority=\"1\"} 4\nsglang:num_queue_reqs{priority=\"\"} 3\n\
                           sglang:num_queue_reqs{priority=\"0\"} 3\n";
        assert_eq!(in_flight_on(prioritised, names), Some(13));
        assert_eq!(block_size("a:b{block_size=\"0\"} 1\na:c{block_size=\"32\"} 1\n", "a:b"), None);
        // A page of another server has none of them.
        let other = include_str!("../../../tests/data/transcripts/llamacpp_cpp/metrics_after.txt");
        assert_eq!((CounterReading::of(other, names), in_flight_on(other, names)), (None, None));
    }

    #[test]
    fn label_sets_are_summed_and_other_series_left_out() {
        let page = "# HELP a:b_total Things, as in a:b_total 9.\n# TYPE a:b_total counter\n\
                    a:b_total{model=\"x} 7\",note=\"\\\"}\"} 2\n\
                    a:b_total{model=\"y\"} 1e+03 1700000000000\n\
                    a:b_total_created{model=\"y\"} 1.7e9\n\
                    a:b_total 5\n\
                    za:b_total 100\n";
        assert_eq!(total(page, "a:b_total"), Some(1_007));
        assert_eq!(total(page, "a:b"), None);
        let ended = "r{finished_reason=\"stop\"} 3\nr{finished_reason=\"abort\",m=\"x\"} 4\nr{finished_reason=\"error\"} 5\n";
        assert_eq!(total(ended, "r"), Some(3));
        assert_eq!(total("a:b NaN\n", "a:b"), None);
        assert_eq!(total("a:b -1\n", "a:b"), None);
        assert_eq!(total("a:b{c=\"d\n", "a:b"), None);
        assert_eq!(total("a:b{c=\"d\"} many\n", "a:b"), None);
    }

    #[test]
    fn counters_of_a_server_that_was_started_anew_say_nothing() {
        let reading = |prompt, generation| CounterReading {
            counters: counters(Some(prompt), generation, None),
            block_tokens: None,
        };
        let before = reading(100, Some(50));
        assert_eq!(reading(130, Some(50)).since(&before), Some(counters(Some(30), Some(0), None)));
        assert_eq!(reading(130, Some(40)).since(&before), None);
        assert_eq!(reading(130, None).since(&before), Some(counters(Some(30), None, None)));
        // A series that appears only once it has counted began at 0.
        assert_eq!(
            reading(130, Some(40)).since(&reading(100, None)),
            Some(counters(Some(30), Some(40), None))
        );
    }
}

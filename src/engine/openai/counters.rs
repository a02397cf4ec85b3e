//! Reads the server's own counters from its page of metrics.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::control::Control;
use crate::engine::dialect::CounterNames;
use crate::record::ServerCounters;

/// How long a reading may take in all: a run waits no longer for it.
const LIMIT: Duration = Duration::from_secs(2);
/// How long counters are waited for to come to rest.
const UNREST: Duration = Duration::from_secs(1);
/// Time between two looks at counters that may still move.
const PAUSE: Duration = Duration::from_millis(100);

/// Labels of requests that did not end well, which vLLM counts in the same series as those that did.
const ENDED_BADLY: [&str; 2] = [r#"finished_reason="abort""#, r#"finished_reason="error""#];

/// Totals of a server's counters since it started, at one moment. Only the difference of two says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReading {
    counters: ServerCounters,
    /// Tokens of a block of the prefix cache, where the page tells.
    block_tokens: Option<u32>,
}

impl CounterReading {
    /// What was counted from `earlier` to this reading. `None` when a counter went back: the server was started
    /// anew in between, and what it had counted before is lost.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<ServerCounters> {
        let (now, then) = (&self.counters, &earlier.counters);
        let rise = |now: Option<u64>, then: Option<u64>| match (now, then) {
            (Some(now), Some(then)) => now.checked_sub(then).map(Some),
            _ => Some(None),
        };
        Some(ServerCounters {
            prompt_tokens: rise(now.prompt_tokens, then.prompt_tokens)?,
            generation_tokens: rise(now.generation_tokens, then.generation_tokens)?,
            requests_succeeded: rise(now.requests_succeeded, then.requests_succeeded)?,
            cache_queries: rise(now.cache_queries, then.cache_queries)?,
            cache_hits: rise(now.cache_hits, then.cache_hits)?,
        })
    }

    /// The counters of these names on a page; `None` when it has none of them.
    fn of(page: &str, names: CounterNames) -> Option<Self> {
        let counters = ServerCounters {
            prompt_tokens: total(page, names.prompt_tokens),
            generation_tokens: total(page, names.generation_tokens),
            requests_succeeded: names.requests_succeeded.and_then(|name| total(page, name)),
            cache_queries: total(page, names.cache_queries),
            cache_hits: total(page, names.cache_hits),
        };
        let block_tokens = names.cache_config.and_then(|name| block_size(page, name));
        (counters != ServerCounters::default()).then_some(Self { counters, block_tokens })
    }

    /// Tokens of a block of the server's prefix cache, of which only whole ones are found again, where it tells.
    #[must_use]
    pub fn block_tokens(&self) -> Option<u32> {
        self.block_tokens
    }
}

/// The counters once two readings agree, or as they are after a second: servers bring them up to date at their own
/// steps, shortly after the answer is out. `None`, with a line for those who debug, when they cannot be had.
pub(super) async fn at_rest(control: &Control, names: CounterNames) -> Option<CounterReading> {
    let begin = Instant::now();
    let reading = async {
        let mut last = read(control, names).await?;
        while begin.elapsed() < UNREST {
            sleep(PAUSE).await;
            let next = read(control, names).await?;
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

/// Requests that the server has, in work or waiting, whoever sent them; `None` where it does not tell.
pub(super) async fn present(control: &Control, names: CounterNames) -> Option<u64> {
    let page = timeout(LIMIT, control.text(names.path)).await.ok()?.ok()?;
    present_on(&page, names)
}

fn present_on(page: &str, names: CounterNames) -> Option<u64> {
    let gauges = names.present.map(|name| total(page, name));
    gauges.into_iter().flatten().reduce(u64::saturating_add)
}

/// The label `block_size` of the series `name`.
fn block_size(page: &str, name: &str) -> Option<u32> {
    let mut lines = page.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    lines.find_map(|labels| {
        let value = labels.split(',').find_map(|label| label.strip_prefix("block_size=\""))?;
        value.split_once('"')?.0.parse().ok().filter(|&tokens| tokens > 0)
    })
}

async fn read(control: &Control, names: CounterNames) -> Result<CounterReading, String> {
    let page = control.text(names.path).await.map_err(|error| error.to_string())?;
    CounterReading::of(&page, names)
        .ok_or_else(|| format!("{} has no {} and none of its like", names.path, names.prompt_tokens))
}

/// The sum over all label sets of the series `name`, but for those of requests that ended badly, on a page of
/// Prometheus' text format (version 0.0.4). `None` where there is no such series, or a value that no counter of
/// things can have.
fn total(page: &str, name: &str) -> Option<u64> {
    let mut values = page.lines().filter_map(|line| value_of(line, name)).peekable();
    values.peek()?;
    let sum: f64 = values.sum();
    (sum.is_finite() && sum >= 0.0).then(|| sum.round() as u64)
}

/// The value on a line `name{labels} value [timestamp]`, if it is of this series; not a number if it is unreadable.
fn value_of(line: &str, name: &str) -> Option<f64> {
    let rest = line.trim_start().strip_prefix(name)?;
    let value = match rest.strip_prefix('{') {
        Some(labels) => {
            let (labels, value) = labels.split_at(end_of_labels(labels)?);
            if ENDED_BADLY.iter().any(|badly| labels.contains(badly)) {
                return Some(0.0);
            }
            value
        }
        // A longer name begins alike.
        None => rest.strip_prefix([' ', '\t'])?,
    };
    Some(value.split_whitespace().next().and_then(|value| value.parse().ok()).unwrap_or(f64::NAN))
}

/// Where the text after the closing brace begins: a brace inside a quoted value closes nothing.
fn end_of_labels(labels: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in labels.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Dialect;

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
        let names = Dialect::Vllm.traits().counters.unwrap();
        let reading = CounterReading::of(page, names).unwrap();
        let counted = counters(Some(1_294), Some(13_017), Some(115));
        assert_eq!(
            reading.counters,
            ServerCounters { cache_queries: Some(1_294), cache_hits: Some(0), ..counted }
        );
        assert_eq!(reading.block_tokens(), Some(128), "on a processor");
        assert_eq!(present_on(page, names), Some(0));
        let busy = "vllm:num_requests_running{e=\"0\"} 3.0\nvllm:num_requests_waiting{e=\"0\"} 2.0\n";
        assert_eq!(present_on(busy, names), Some(5));
        assert_eq!(block_size("a:b{block_size=\"0\"} 1\na:c{block_size=\"32\"} 1\n", "a:b"), None);
        // A page of another server has none of them.
        let other = include_str!("../../../tests/data/transcripts/llamacpp_cpp/metrics_after.txt");
        assert_eq!((CounterReading::of(other, names), present_on(other, names)), (None, None));
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
    }
}

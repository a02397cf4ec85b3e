//! Reads the server's own counters from its metrics page.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::control::Control;
use super::engine::OpenAiEngine;
use crate::engine::dialect_traits::DialectTraits;
use crate::engine::metrics::exposition::{PROCESS_START, metric_samples};
use crate::engine::metrics::series::RAY;
use crate::engine::router::{Router, Targets};
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
    /// Tokens per block of the server's prefix cache, where it is reported. The cache shares only whole blocks.
    pub block_tokens: Option<u32>,
}

impl CounterReading {
    /// The difference since `earlier`. `None` when a counter went back: the server was restarted, and its
    /// earlier counts are lost.
    pub fn since(&self, earlier: &Self) -> Option<ServerCounters> {
        let mut went_back = false;
        let risen = self.counters.zip(earlier.counters, |now, then| {
            // A series missing on the earlier page was 0: Prometheus' clients show a series with labels only
            // once it has counted something.
            let rise = now?.checked_sub(then.unwrap_or(0));
            went_back |= rise.is_none();
            rise
        });
        (!went_back).then_some(risen)
    }

    /// The counters of a page; `None` when it has none of them.
    fn new(page: &str, traits: &DialectTraits) -> Option<Self> {
        let counted = traits.metrics?.counters_of(&traits.metrics?.series(page));
        // Ray exports every few seconds: its totals are not those of the moment, and only shares of them tell
        // something.
        let is_late = metric_samples(page).any(|sample| sample.name.starts_with(RAY));
        let tells = |counter| !is_late || matches!(counter, Counter::CacheQueries | Counter::CacheHits);
        let count = |counter| counted.get(&counter).filter(|_| tells(counter)).copied().and_then(whole);
        let counters = ServerCounters {
            prompt_tokens: count(Counter::PromptTokens),
            generation_tokens: count(Counter::GenerationTokens),
            requests_succeeded: count(Counter::RequestsSucceeded),
            cache_queries: count(Counter::CacheQueries),
            cache_hits: count(Counter::CacheHits),
        };
        let block_tokens = block_size(page, traits);
        (counters != ServerCounters::default()).then_some(Self { counters, block_tokens })
    }
}

impl OpenAiEngine {
    /// Returns the server's counters once two readings agree. After a second it returns them as they are: servers
    /// update them in steps, shortly after the answer is out. `None`, with a debug message, where there are none or
    /// they are not reported within 2 s. The difference of two, before and after a run, is what the server counted of
    /// the run.
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

    /// Returns the requests at all addresses of the server now, running or waiting. They are of any client. It is
    /// `None` where the server reports none.
    pub async fn in_flight_requests(&self) -> Option<u64> {
        let traits = self.target.dialect.traits();
        let read = self.metrics_pages().into_iter().map(|page| async move { page.open().ok()?.read().await.ok() });
        let pages: Vec<_> = futures::future::join_all(read).await.into_iter().flatten().collect();
        in_flight_in(&pages, &traits)
    }
}

/// The counters of a run's servers, each by itself or together.
impl Router<OpenAiEngine> {
    /// The counters of each server, as [`OpenAiEngine::counters`] reads them.
    pub async fn counters(&self) -> Targets<Option<CounterReading>> {
        let mut readings =
            futures::future::join_all(self.targets().iter().map(OpenAiEngine::counters)).await.into_iter();
        self.targets().map(|_| readings.next().flatten())
    }

    /// Returns the sum of what each server counted since `before`. `None` where one does not report it.
    pub async fn counted_since(&self, before: &Targets<Option<CounterReading>>) -> Option<ServerCounters> {
        let mut sum: Option<ServerCounters> = None;
        let counts = self.count_once();
        for ((engine, before), _) in self.targets().iter().zip(before.iter()).zip(counts).filter(|(_, counts)| *counts)
        {
            let before = before.as_ref()?;
            // A page is that of one address, whichever it was.
            if engine.addresses().len() > 1 {
                return None;
            }
            let counted = engine.counters().await?.since(before)?;
            sum = Some(sum.map_or(counted, |sum| sum.zip(counted, |one, other| Some(one? + other?))));
        }
        sum
    }

    /// Whether the page of each server counts. Of servers behind one address, which have one page, that of the first
    /// does.
    fn count_once(&self) -> Vec<bool> {
        let urls: Vec<_> = self.targets().iter().map(|engine| &engine.target.url).collect();
        (0..urls.len()).map(|place| !urls[..place].contains(&urls[place])).collect()
    }

    /// Requests in all servers that report them, as [`OpenAiEngine::in_flight_requests`] says of one.
    pub async fn in_flight_requests(&self) -> Option<u64> {
        let counted = self.targets().iter().zip(self.count_once()).filter(|(_, counts)| *counts);
        let all = futures::future::join_all(counted.map(|(engine, _)| engine.in_flight_requests())).await;
        all.into_iter().flatten().reduce(u64::saturating_add)
    }
}

/// Requests at the servers of these pages. One server may have several, by IPv4 and IPv6 say: those of processes that
/// began in the same moment count once.
fn in_flight_in(pages: &[String], traits: &DialectTraits) -> Option<u64> {
    let began = |page| metric_samples(page).find(|sample| sample.name == PROCESS_START);
    let counted = pages.iter().enumerate().filter_map(|(number, page)| {
        Some((began(page).map(|began| began.value.to_bits()).ok_or(number), in_flight_on(page, traits)?))
    });
    counted.collect::<BTreeMap<_, _>>().into_values().reduce(u64::saturating_add)
}

fn in_flight_on(page: &str, traits: &DialectTraits) -> Option<u64> {
    let gauges = traits.metrics?.gauges_of(&traits.metrics?.series(page));
    let present = [Gauge::Running, Gauge::Waiting].into_iter().filter_map(|gauge| whole(*gauges.get(&gauge)?));
    present.reduce(u64::saturating_add)
}

/// The label `block_size` of the series that has it.
fn block_size(page: &str, traits: &DialectTraits) -> Option<u32> {
    let (names, known) = (traits.metrics?, traits.cache_config?);
    let mut series = metric_samples(page).filter(|sample| names.own(sample.name) == names.own(known));
    series.find_map(|sample| sample.label("block_size")?.parse().ok().filter(|&tokens| tokens > 0))
}

async fn read(control: &Control, traits: &DialectTraits) -> Result<CounterReading, String> {
    let path = traits.metrics_path.unwrap_or_default();
    let page = control.text(path).await.map_err(|error| error.to_string())?;
    CounterReading::new(&page, traits).ok_or_else(|| format!("{path} has none of the server's counters"))
}

/// A total in whole numbers; `None` for a value that none can have.
fn whole(sum: f64) -> Option<u64> {
    (sum.is_finite() && sum >= 0.0).then(|| sum.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EngineKind;

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
        let names = &EngineKind::Vllm.traits();
        let reading = CounterReading::new(page, names).unwrap();
        let counted = counters(Some(1_294), Some(13_017), Some(115));
        assert_eq!(reading.counters, ServerCounters { cache_queries: Some(1_294), cache_hits: Some(0), ..counted });
        assert_eq!(reading.block_tokens, Some(128), "on a processor");
        assert_eq!(in_flight_on(page, names), Some(0));
        let busy = "vllm:num_requests_running{e=\"0\"} 3.0\nvllm:num_requests_waiting{e=\"0\"} 2.0\n";
        assert_eq!(in_flight_on(busy, names), Some(5));
        let page = |began: &str| format!("process_start_time_seconds {began}\n{busy}");
        let twice = [page("1.7e9"), page("1.7e9"), page("1.8e9"), busy.to_owned(), busy.to_owned()];
        assert_eq!((in_flight_in(&twice, names), in_flight_in(&[], names)), (Some(20), None), "one has two addresses");
        // SGLang with priorities: ten in all, six and four of the two priorities.
        let names = &EngineKind::Sglang.traits();
        let prioritised = "sglang:num_running_reqs{priority=\"\"} 10\nsglang:num_running_reqs{priority=\"0\"} 6\n\
                           sglang:num_running_reqs{priority=\"1\"} 4\nsglang:num_queue_reqs{priority=\"\"} 3\n\
                           sglang:num_queue_reqs{priority=\"0\"} 3\n";
        assert_eq!(in_flight_on(prioritised, names), Some(13));
        let none = "vllm:cache_config_info{block_size=\"0\"} 1\nvllm:other{block_size=\"32\"} 1\n";
        assert_eq!(block_size(none, &EngineKind::Vllm.traits()), None);
        // A page of another server has none of them.
        let other = include_str!("../../../tests/data/transcripts/llamacpp_cpp/metrics_after.txt");
        assert_eq!((CounterReading::new(other, names), in_flight_on(other, names)), (None, None));
    }

    #[test]
    fn label_sets_are_summed_and_other_series_left_out() {
        let of = |page: &str| CounterReading::new(page, &EngineKind::Vllm.traits()).map(|reading| reading.counters);
        let page = "# HELP vllm:prompt_tokens_total Things, as in vllm:prompt_tokens_total 9.\n\
                    # TYPE vllm:prompt_tokens_total counter\n\
                    vllm:prompt_tokens_total{model=\"x} 7\",note=\"\\\"}\"} 2\n\
                    vllm:prompt_tokens_total{model=\"y\"} 1e+03 1700000000000\n\
                    vllm:prompt_tokens_total_created{model=\"y\"} 1.7e9\n\
                    vllm:prompt_tokens_total 5\n\
                    za:prompt_tokens_total 100\n";
        assert_eq!(of(page), Some(counters(Some(1_007), None, None)));
        let success = "vllm:request_success_total";
        let ended = format!(
            "{success}{{finished_reason=\"stop\"}} 3\n{success}{{finished_reason=\"abort\",m=\"x\"}} 4\n\
             {success}{{finished_reason=\"error\"}} 5\n"
        );
        assert_eq!(of(&ended), Some(counters(None, None, Some(3))));
        for bad in [" NaN", " -1", "{c=\"d", "{c=\"d\"} many"] {
            assert_eq!(of(&format!("vllm:prompt_tokens_total{bad}\n")), None, "{bad}");
        }
    }

    #[test]
    fn every_name_of_a_counter_is_known_to_the_run() {
        let of = |page: &str, dialect: EngineKind| {
            CounterReading::new(page, &dialect.traits()).map(|reading| reading.counters)
        };
        let hits = |queries, hits| ServerCounters {
            cache_queries: Some(queries),
            cache_hits: Some(hits),
            ..ServerCounters::default()
        };
        for prefix in ["vllm:", "vllm_", "ray_vllm_", "ray_vllm:"] {
            for name in ["prefix_cache", "gpu_prefix_cache"] {
                for end in ["_total", ""] {
                    let page = format!("{prefix}{name}_queries{end} 500\n{prefix}{name}_hits{end}{{m=\"x\"}} 480\n");
                    assert_eq!(of(&page, EngineKind::Vllm), Some(hits(500, 480)), "{page}");
                }
            }
        }
        let late = "ray_vllm_prompt_tokens_total 100\nray_vllm_prefix_cache_queries_total 9\n\
                    ray_vllm_prefix_cache_hits_total 3\nray_vllm_num_requests_running 2\n";
        assert_eq!(of(late, EngineKind::Vllm), Some(hits(9, 3)), "what Ray exports late is compared with nothing");
        assert_eq!(in_flight_on(late, &EngineKind::Vllm.traits()), Some(2));
        let sglang = "sglang_prompt_tokens_total 10\nsglang_cached_tokens_total 4\n";
        let expected = ServerCounters { prompt_tokens: Some(10), ..hits(10, 4) };
        assert_eq!(of(sglang, EngineKind::Sglang), Some(expected));
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
        assert_eq!(reading(130, Some(40)).since(&reading(100, None)), Some(counters(Some(30), Some(40), None)));
    }
}

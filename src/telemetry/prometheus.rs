//! Asks a Prometheus for the samples that it has taken of metrics pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use super::taken::kind_of;
use crate::engine::{MetricNames, MetricsClient, MetricsPage, listing, metric_samples};
use crate::units::cut;

/// Time limit of an answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Labels that say which page a series is from. Jobs are not among them: two of them may sample one page.
const PLACE: [&str; 4] = ["cluster", "namespace", "pod", "instance"];
/// Labels that say who sampled it: two jobs may, or both of a pair that stand in for each other.
const SCRAPER: [&str; 4] = ["job", "prometheus", "prometheus_replica", "replica"];
/// Label of the model in the series of engines.
const MODEL: &str = "model_name";
/// Stretch whose samples say how long it is from one to the next, seconds.
const COUNTED: f64 = 60.0;

/// A Prometheus, and which of its series are those of the server.
#[derive(Debug)]
pub(crate) struct Prometheus {
    client: MetricsClient,
    selectors: Vec<String>,
    /// Pages that it had before the runs, those too that are not read.
    pub(super) known: BTreeSet<String>,
}

/// A series of a page, with its samples.
pub(super) struct SampledSeries {
    /// The page, by the labels of its place.
    pub(super) page: String,
    /// Labels of who sampled it.
    pub(super) scraper: String,
    /// Its name and labels, as on the page.
    pub(super) line: String,
    /// Moments, in seconds of Prometheus' own clock, and values.
    pub(super) samples: Vec<(f64, f64)>,
}

/// An answer, good or bad.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default)]
    error: String,
    #[serde(default, borrow)]
    data: Option<Found<'a>>,
}

#[derive(Deserialize)]
struct Found<'a> {
    #[serde(borrow)]
    result: Vec<FoundSeries<'a>>,
}

#[derive(Deserialize)]
struct FoundSeries<'a> {
    metric: BTreeMap<String, String>,
    #[serde(default, borrow)]
    value: Option<(f64, &'a str)>,
    #[serde(default, borrow)]
    values: Vec<(f64, &'a str)>,
}

impl Prometheus {
    /// Reaches the one at `page`. Its series of the server are those that `matches` select, or else those of the
    /// engine `own` whose model is `model`.
    ///
    /// # Errors
    ///
    /// Why it does not answer as a Prometheus does.
    pub(crate) async fn reach(
        page: &MetricsPage,
        own: Option<&MetricNames>,
        model: &str,
        matches: &[String],
    ) -> Result<Self, String> {
        let client = page.open_within(LIMIT)?;
        let prometheus = Self { client, selectors: selectors(own, model, matches), known: BTreeSet::new() };
        prometheus.now().await.map(|_| prometheus)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.client.page().url().trim_end_matches('/').to_owned()
    }

    /// The time by its clock, seconds. Some answer about a moment before, whose value is its time and not now.
    pub(super) async fn now(&self) -> Result<f64, String> {
        let found = self.ask("vector(time())", None).await?;
        let sample = found.first().and_then(|series| series.samples.first());
        sample.map(|(now, _)| *now).ok_or("it does not tell its time".to_owned())
    }

    /// The pages whose series it has now, as texts.
    pub(super) async fn pages(&mut self) -> Result<BTreeMap<String, String>, String> {
        let mut all = Vec::new();
        for selector in &self.selectors {
            let found = self.ask(selector, None).await?;
            if found.is_empty() {
                return Err(format!("no series matches {selector}\n{}", self.places().await));
            }
            all.extend(found);
        }
        let mut pages: BTreeMap<String, String> = BTreeMap::new();
        for (line, series) in by_line(all) {
            let text = pages.entry(series.page).or_default();
            for (_, value) in series.samples {
                let _ = writeln!(text, "{line} {value}");
            }
        }
        self.known = pages.keys().cloned().collect();
        leave_out_routers(&mut pages);
        Ok(pages)
    }

    /// Returns the time from one sample of this page to the next. It is a minute at most, and where it is unknown.
    pub(super) async fn interval(&self, page: &str) -> Duration {
        let series = page.lines().next().and_then(|line| line.rsplit_once(' ')).map_or("", |(series, _)| series);
        let found = self.ask(&format!("{series}[{COUNTED}s]"), None).await.unwrap_or_default();
        let every = found.first().and_then(|found| {
            let (first, last) = (found.samples.first()?.0, found.samples.last()?.0);
            Some((last - first) / (found.samples.len() - 1) as f64).filter(|every| *every > 0.0)
        });
        Duration::from_secs_f64(every.unwrap_or(COUNTED).min(COUNTED))
    }

    /// Its samples of the stretch after `from` until `until`, both by its own clock.
    pub(super) async fn samples(&self, from: f64, until: f64) -> Result<BTreeMap<String, SampledSeries>, String> {
        let mut all = Vec::new();
        let length_ms = ((until - from) * 1e3).ceil();
        for selector in &self.selectors {
            all.extend(self.ask(&format!("{selector}[{length_ms}ms]"), Some(until)).await?);
        }
        // Whether the stretch has its beginning depends on the release.
        for series in &mut all {
            series.samples.retain(|(at, _)| from < *at && *at <= until);
        }
        Ok(by_line(all))
    }

    /// The cure where nothing is found, with the places of what there is.
    async fn places(&self) -> String {
        let (labels, all) = (PLACE.join(","), MetricNames::pattern(&MetricNames::ALL));
        let query = format!("count by ({MODEL},{labels}) ({{__name__=~\"{all}\"}})");
        let places: Vec<_> = match self.ask(&query, None).await {
            Ok(found) => found.into_iter().map(|found| found.line).collect(),
            Err(why) => return format!("hint: what it has instead it does not say: {why}"),
        };
        if places.is_empty() {
            return "hint: it has no series of a known server or exporter: does it scrape the server?".to_owned();
        }
        format!("hint: it has series of {}; choose with --prometheus-match", listing(&places))
    }

    /// Asks a query in `PromQL` about a moment, or about now.
    async fn ask(&self, query: &str, at: Option<f64>) -> Result<Vec<SampledSeries>, String> {
        let at = at.map(|at| format!("{at:.3}"));
        let question: Vec<_> = [("query", query)].into_iter().chain(at.as_deref().map(|at| ("time", at))).collect();
        let (status, body) = self.client.ask("/api/v1/query", &question).await?;
        let found = read(status, &body, |text| self.client.page().without_secrets(text))?;
        let of_it = |one: SampledSeries| SampledSeries { page: format!("{} {}", self.url(), one.page), ..one };
        Ok(found.into_iter().map(of_it).collect())
    }
}

/// The series by their names and labels. Of a page that several sample they are those of one.
fn by_line(mut found: Vec<SampledSeries>) -> BTreeMap<String, SampledSeries> {
    found.sort_by(|one, other| other.scraper.cmp(&one.scraper));
    // The last of a page counts.
    let scrapers: BTreeMap<_, _> = found.iter().map(|one| (one.page.clone(), one.scraper.clone())).collect();
    found.retain(|series| scrapers.get(&series.page) == Some(&series.scraper));
    found.into_iter().map(|series| (series.line.clone(), series)).collect()
}

/// Leaves out pages that name no model, where others of their kind do. A router repeats gauges of its replicas.
fn leave_out_routers(pages: &mut BTreeMap<String, String>) {
    let names_model = |text: &str| metric_samples(text).any(|sample| sample.label(MODEL).is_some());
    let kinds: Vec<_> = pages.values().filter(|text| names_model(text)).filter_map(|text| kind_of(text)).collect();
    pages.retain(|_, text| names_model(text) || kind_of(text).is_none_or(|kind| !kinds.contains(&kind)));
}

/// The series of an answer, whose labels `hide` makes fit to be shown. Their pages are without the address.
fn read(status: u16, body: &[u8], hide: impl Fn(String) -> String) -> Result<Vec<SampledSeries>, String> {
    let found = match serde_json::from_slice(body) {
        Ok(Answer { error, .. }) if !error.is_empty() => return Err(hide(cut(error, LONGEST))),
        Ok(Answer { data: Some(found), .. }) => found,
        _ => return Err(format!("it does not answer as a Prometheus does, but with HTTP {status}")),
    };
    let series = |FoundSeries { mut metric, value, values }: FoundSeries<'_>| {
        let name = metric.remove("__name__").unwrap_or_default();
        let label = |(name, value): (&str, &String)| format!("{name}={:?}", hide(value.clone()));
        let labels: Vec<_> = metric.iter().map(|(name, value)| label((name, value))).collect();
        let some = |names: [&str; 4]| names.iter().filter_map(|name| Some(label((name, metric.get(*name)?)))).collect();
        let all = [some(PLACE), some(SCRAPER), labels];
        let [page, scraper, labels] = all.map(|labels: Vec<_>| format!("{{{}}}", labels.join(", ")));
        let samples = values.into_iter().chain(value).map(|(at, value)| (at, value.parse().unwrap_or(f64::NAN)));
        SampledSeries { page, scraper, line: name + &labels, samples: samples.collect() }
    };
    Ok(found.result.into_iter().map(series).collect())
}

/// Longest complaint that is shown.
const LONGEST: usize = 300;

/// The selectors of the series that are asked for.
fn selectors(own: Option<&MetricNames>, model: &str, matches: &[String]) -> Vec<String> {
    // What could have a meaning in an expression stands for any letter.
    let letter = |letter: char| if letter.is_alphanumeric() || "-_/".contains(letter) { letter } else { '.' };
    let selector = |pattern: String, matchers: &str| format!("{{__name__=~\"{pattern}\",{matchers}}}");
    if matches.is_empty() {
        let engines = MetricNames::ALL.iter().filter(|names| names.kind.is_of_engine());
        let pattern = own.map_or_else(|| MetricNames::pattern(engines), |own| MetricNames::pattern([own]));
        let model: String = model.chars().map(letter).collect();
        return vec![selector(pattern, &format!("{MODEL}=~\"|{model}\""))];
    }
    let of_all = |text: &String| selector(MetricNames::pattern(&MetricNames::ALL), text.trim_matches(['{', '}', ' ']));
    matches.iter().map(of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PageKind;

    /// Three seconds of a mock, as Prometheus 2.42 answers about some of its series.
    const RECORDED: &str = include_str!("../../tests/data/telemetry/prometheus.json");

    #[test]
    fn a_recorded_answer_is_read() {
        let found = read(200, RECORDED.as_bytes(), |text| text).unwrap();
        assert_eq!(found.len(), 6);
        let place = r#"{namespace="bench", pod="mock-a", instance="127.0.0.1:18200"}"#;
        assert!(found.iter().all(|series| series.page == place && series.samples.len() == 3));
        let labels = r#"instance="127.0.0.1:18200", job="servers", le="5.0", model_name="llama-3.1-8b""#;
        let line = format!(r#"vllm:e2e_request_latency_seconds_bucket{{engine="0", {labels}, "#);
        assert!(found[1].line.starts_with(&line), "{}", found[1].line);
        assert_eq!(found[1].samples, [(1_795_967_672.384, 8.0), (1_795_967_673.384, 11.0), (1_795_967_674.384, 12.0)]);
        let now =
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[7.5,"7.25"]}]}}"#;
        assert_eq!(read(200, now.as_bytes(), |text| text).unwrap()[0].samples, [(7.5, 7.25)]);
        // A key may be a word of the names too.
        let hidden = read(200, RECORDED.as_bytes(), |text| text.replace("vllm", "***").replace("mock", "***")).unwrap();
        assert!(hidden[1].line.starts_with(&line) && hidden[1].page.contains(r#"pod="***-a""#), "{}", hidden[1].line);
    }

    #[test]
    fn a_page_that_several_sample_is_that_of_one() {
        let answer = |job, replica| {
            let metric = |name, pod, more| {
                format!(r#"{{"metric":{{"__name__":"vllm:{name}","pod":"{pod}"{more}}},"value":[7.5,"1"]}}"#)
            };
            let both = format!(r#","job":"{job}","prometheus_replica":"{replica}""#);
            [metric("a", "x", both.as_str()), metric("b", "x", &both), metric("a", "y", r#","job":"z""#)].join(",")
        };
        let all = [answer("s", "1"), answer("s", "0"), answer("t", "0")].join(",");
        let answer = format!(r#"{{"status":"success","data":{{"result":[{all}]}}}}"#);
        let found = read(200, answer.as_bytes(), |text| text).unwrap();
        let kept: Vec<_> = by_line(found).into_keys().collect();
        let one = r#"{job="s", pod="x", prometheus_replica="0"}"#;
        let other = r#"vllm:a{job="z", pod="y"}"#.to_owned();
        assert_eq!(kept, [format!("vllm:a{one}"), other, format!("vllm:b{one}")]);
    }

    #[test]
    fn a_router_is_no_replica() {
        let left = |pages: &[(&str, &str)]| {
            let mut pages = pages.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            leave_out_routers(&mut pages);
            pages.into_keys().collect::<Vec<_>>()
        };
        let replica = ("a", "vllm:num_requests_running{model_name=\"m\"} 3\nvllm:generation_tokens_total{} 7\n");
        let router = ("router", "vllm:num_requests_running{server=\"http://10.0.0.7:8000\"} 3\n");
        let other = ("tgi", "tgi_queue_size 1\n");
        let gpus = ("gpus", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"u\"} 1\n");
        assert_eq!(left(&[replica, router, other, gpus]), ["a", "gpus", "tgi"]);
        assert_eq!(left(&[router, gpus]), ["gpus", "router"], "where none names its model, all may count");
    }

    #[test]
    fn its_own_words_say_what_is_wrong() {
        let why = |status, body: &str| read(status, body.as_bytes(), |text| text).err().unwrap();
        let complaint =
            r#"{"status":"error","errorType":"bad_data","error":"1:5: parse error: unexpected identifier"}"#;
        assert_eq!(why(400, complaint), "1:5: parse error: unexpected identifier");
        let none = r#"{"status":"success","data":{"result":[1,2]}}"#;
        for (status, body) in [(404, r#"{"detail":"Not Found"}"#), (200, "<html>"), (200, ""), (200, none)] {
            assert_eq!(why(status, body), format!("it does not answer as a Prometheus does, but with HTTP {status}"));
        }
    }

    #[test]
    fn series_are_selected_by_engine_and_model_or_by_matchers() {
        let vllm = MetricNames::from_kind(PageKind::Vllm);
        let own = r#"{__name__=~"(ray_)?(vllm)[:_].+",model_name=~"|Qwen/Qwen3-8B.x."}"#;
        assert_eq!(selectors(Some(vllm), "Qwen/Qwen3-8B\"x\"", &[]), [own]);
        let any = &selectors(None, "m", &[])[0];
        assert!(any.contains("|sglang|tgi|") && !any.contains("DCGM"), "{any}");
        let matches = [r#"{pod=~"vllm-.*"}"#, r#"model_name="m2",namespace="x""#].map(str::to_owned);
        let chosen = selectors(Some(vllm), "m", &matches);
        assert!(chosen[0].ends_with(r#"DCGM_FI|gpu|amd_gpu|nvml)[:_].+",pod=~"vllm-.*"}"#), "{}", chosen[0]);
        assert!(chosen[1].ends_with(r#"[:_].+",model_name="m2",namespace="x"}"#), "{}", chosen[1]);
    }
}

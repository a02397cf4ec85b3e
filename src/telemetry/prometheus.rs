//! Asks a Prometheus for the samples that it has taken of metrics pages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use crate::engine::{MetricNames, MetricsClient, MetricsPage};
use crate::units::cut;

/// Time limit of an answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Labels that say which page a series is from. Jobs are not among them: two of them may sample one page.
const PLACE: [&str; 4] = ["cluster", "namespace", "pod", "instance"];
/// Label of the model in the series of engines.
const MODEL: &str = "model_name";
/// Places that are named where nothing is found.
const NAMED: usize = 5;
/// Stretch whose samples say how long it is from one to the next, seconds.
const COUNTED: f64 = 60.0;

/// A Prometheus, and which of its series are those of the server.
#[derive(Debug)]
pub(crate) struct Prometheus {
    client: MetricsClient,
    selectors: Vec<String>,
}

/// A series of a page, with its samples.
pub(super) struct SampledSeries {
    /// The page, by the labels of its place.
    pub(super) page: String,
    /// Its name and labels, as on the page.
    pub(super) line: String,
    /// Moments, in seconds of Prometheus' own clock, and values.
    pub(super) samples: Vec<(f64, f64)>,
}

/// An answer, good or bad.
#[derive(Deserialize)]
struct Outcome {
    status: String,
    #[serde(default)]
    error: String,
}

/// A good answer.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    data: Found<'a>,
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
        let prometheus = Self { client, selectors: selectors(own, model, matches) };
        prometheus.now().await.map(|_| prometheus)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        self.client.page().url().trim_end_matches('/').to_owned()
    }

    /// The time by its clock, seconds.
    pub(super) async fn now(&self) -> Result<f64, String> {
        let found = self.ask("vector(time())", None).await?;
        let samples = found.first().map(|series| series.samples.as_slice());
        samples.and_then(|samples| samples.first()).map(|(_, time)| *time).ok_or("it does not tell its time".to_owned())
    }

    /// The pages whose series it has now, as texts.
    pub(super) async fn pages(&self) -> Result<BTreeMap<String, String>, String> {
        let mut series = BTreeMap::new();
        for selector in &self.selectors {
            let found = self.ask(selector, None).await?;
            if found.is_empty() {
                return Err(format!("no series matches {selector}\n{}", self.places().await?));
            }
            series.extend(found.into_iter().map(|found| (found.line, (found.page, found.samples))));
        }
        let mut pages: BTreeMap<String, String> = BTreeMap::new();
        for (line, (page, samples)) in series {
            let text = pages.entry(page).or_default();
            for (_, value) in samples {
                let _ = writeln!(text, "{line} {value}");
            }
        }
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
        let mut series = BTreeMap::new();
        let length_ms = ((until - from) * 1e3).ceil();
        for selector in &self.selectors {
            let found = self.ask(&format!("{selector}[{length_ms}ms]"), Some(until)).await?;
            for mut found in found {
                // Whether the stretch has its beginning depends on the release.
                found.samples.retain(|(at, _)| from < *at && *at <= until);
                series.insert(found.line.clone(), found);
            }
        }
        Ok(series)
    }

    /// The cure where nothing is found, with the places of what there is.
    async fn places(&self) -> Result<String, String> {
        let (labels, all) = (PLACE.join(","), MetricNames::pattern(&MetricNames::ALL));
        let query = format!("count by ({MODEL},{labels}) ({{__name__=~\"{all}\"}})");
        let places: Vec<_> = self.ask(&query, None).await?.into_iter().map(|found| found.line).collect();
        if places.is_empty() {
            return Ok("hint: it has no series of a known server or exporter: does it scrape the server?".to_owned());
        }
        let more = places.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = places.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        Ok(format!("hint: it has series of {named}{more}; choose with --prometheus-match"))
    }

    /// Asks a query in PromQL about a moment, or about now.
    async fn ask(&self, query: &str, at: Option<f64>) -> Result<Vec<SampledSeries>, String> {
        let at = at.map(|at| format!("{at:.3}"));
        let question: Vec<_> = [("query", query)].into_iter().chain(at.as_deref().map(|at| ("time", at))).collect();
        let (status, body) = self.client.ask("/api/v1/query", &question).await?;
        let hide = |text| self.client.page().without_secrets(text);
        let of_page = |mut found: SampledSeries| {
            found.page = hide(format!("{} {}", self.url(), found.page));
            found.line = hide(found.line);
            found
        };
        read(status, &body).map(|found| found.into_iter().map(of_page).collect()).map_err(hide)
    }
}

/// The series of an answer. Their pages are without the address.
fn read(status: u16, body: &[u8]) -> Result<Vec<SampledSeries>, String> {
    match serde_json::from_slice(body) {
        Ok(Outcome { status, .. }) if status == "success" => {}
        Ok(Outcome { error, .. }) => return Err(cut(error, LONGEST)),
        Err(_) => return Err(format!("it does not answer as a Prometheus does, but with HTTP {status}")),
    }
    let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| format!("its answer is none: {error}"))?;
    let series = |FoundSeries { mut metric, value, values }: FoundSeries<'_>| {
        let name = metric.remove("__name__").unwrap_or_default();
        let label = |(name, value): (&str, &String)| format!("{name}={value:?}");
        let labels: Vec<_> = metric.iter().map(|(name, value)| label((name, value))).collect();
        let places: Vec<_> = PLACE.iter().filter_map(|name| Some(label((name, metric.get(*name)?)))).collect();
        let [places, labels] = [places, labels].map(|labels| format!("{{{}}}", labels.join(", ")));
        let samples = values.into_iter().chain(value).map(|(at, value)| (at, value.parse().unwrap_or(f64::NAN)));
        SampledSeries { page: places, line: name + &labels, samples: samples.collect() }
    };
    Ok(answer.data.result.into_iter().map(series).collect())
}

/// Longest complaint that is shown.
const LONGEST: usize = 300;

/// The selectors of the series that are asked for.
fn selectors(own: Option<&MetricNames>, model: &str, matches: &[String]) -> Vec<String> {
    // What could have a meaning in an expression stands for any letter.
    let letter = |letter: char| if letter.is_alphanumeric() || "-_/".contains(letter) { letter } else { '.' };
    let model: String = model.chars().map(letter).collect();
    let selector = |pattern: String, matchers: &str| {
        let is_open = !matchers.contains(MODEL);
        let model = if is_open { format!("{MODEL}=~\"|{model}\",") } else { String::new() };
        format!("{{__name__=~\"{pattern}\",{model}{matchers}}}")
    };
    if matches.is_empty() {
        let engines = MetricNames::ALL.iter().filter(|names| names.kind.is_of_engine());
        return vec![selector(
            own.map_or_else(|| MetricNames::pattern(engines), |own| MetricNames::pattern([own])),
            "",
        )];
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
        let found = read(200, RECORDED.as_bytes()).unwrap();
        assert_eq!(found.len(), 6);
        let place = r#"{namespace="bench", pod="mock-a", instance="127.0.0.1:18200"}"#;
        assert!(found.iter().all(|series| series.page == place && series.samples.len() == 3));
        let labels = r#"instance="127.0.0.1:18200", job="servers", le="5.0", model_name="llama-3.1-8b""#;
        let line = format!(r#"vllm:e2e_request_latency_seconds_bucket{{engine="0", {labels}, "#);
        assert!(found[1].line.starts_with(&line), "{}", found[1].line);
        assert_eq!(found[1].samples, [(1_795_967_672.384, 8.0), (1_795_967_673.384, 11.0), (1_795_967_674.384, 12.0)]);
        let now =
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[7.5,"7.25"]}]}}"#;
        assert_eq!(read(200, now.as_bytes()).unwrap()[0].samples, [(7.5, 7.25)]);
    }

    #[test]
    fn its_own_words_say_what_is_wrong() {
        let why = |status, body: &str| read(status, body.as_bytes()).err().unwrap();
        let complaint =
            r#"{"status":"error","errorType":"bad_data","error":"1:5: parse error: unexpected identifier"}"#;
        assert_eq!(why(400, complaint), "1:5: parse error: unexpected identifier");
        for (status, body) in [(404, r#"{"detail":"Not Found"}"#), (200, "<html>"), (200, "")] {
            assert_eq!(why(status, body), format!("it does not answer as a Prometheus does, but with HTTP {status}"));
        }
        assert!(why(200, r#"{"status":"success","data":{"result":[1,2]}}"#).starts_with("its answer is none: "));
    }

    #[test]
    fn series_are_selected_by_engine_and_model_or_by_matchers() {
        let vllm = MetricNames::from_kind(PageKind::Vllm);
        let own = r#"{__name__=~"(ray_)?(vllm)[:_].+",model_name=~"|Qwen/Qwen3-8B.x.",}"#;
        assert_eq!(selectors(Some(vllm), "Qwen/Qwen3-8B\"x\"", &[]), [own]);
        let any = &selectors(None, "m", &[])[0];
        assert!(any.contains("|sglang|tgi|") && !any.contains("DCGM"), "{any}");
        let matches = [r#"{pod=~"vllm-.*"}"#, r#"model_name="m2",namespace="x""#].map(str::to_owned);
        let chosen = selectors(Some(vllm), "m", &matches);
        assert!(
            chosen[0].ends_with(r#"DCGM_FI|gpu|amd_gpu|nvml)[:_].+",model_name=~"|m",pod=~"vllm-.*"}"#),
            "{}",
            chosen[0]
        );
        assert!(chosen[1].ends_with(r#"[:_].+",model_name="m2",namespace="x"}"#), "{}", chosen[1]);
    }
}

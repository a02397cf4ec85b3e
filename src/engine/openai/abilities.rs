//! What a server lets itself be asked: its endpoints, and the series of its page of metrics.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use super::control::Control;
use super::control::control_error::ControlError;
use super::engine::OpenAiEngine;
use crate::engine::dialect_traits::{DialectTraits, MetricNames};
use crate::engine::metrics::exposition::metric_samples;
use crate::engine::metrics::series::bare;
use crate::record::{Counter, Gauge, ServerTime, WorkKind};

/// Time limit of one endpoint.
const LIMIT: Duration = Duration::from_secs(5);

/// Endpoints that answer, series that are read, and how a length is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerAbilities {
    /// Every endpoint that this dialect has beside that of requests.
    pub endpoints: Vec<KnownEndpoint>,
    /// Every series that is read of such a page of metrics. It is empty where there is no page, or one of no known
    /// kind.
    pub series: Vec<KnownSeries>,
    /// The fields by which requests ask for a length, those that work on this server. Empty where answers have no
    /// tokens.
    pub length_fields: String,
}

/// An endpoint that a dialect has, and whether this server has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownEndpoint {
    /// The purpose of the endpoint.
    pub purpose: EndpointPurpose,
    /// Its path: of several the first that answers, else the newest.
    pub path: String,
    /// Whether it is there.
    pub answer: EndpointAnswer,
}

/// The purpose of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointPurpose {
    /// Whether the server is ready.
    Health,
    /// The models that it serves.
    Models,
    /// Its version.
    Version,
    /// How it was started.
    Settings,
    /// Facts that the server states of its model.
    Model,
    /// Counts tokens.
    Tokenize,
    /// Its counters and gauges.
    Metrics,
    /// Empties its prefix cache.
    CacheReset,
}

/// How an endpoint answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum EndpointAnswer {
    /// The endpoint answers.
    Answers,
    /// The endpoint is there, and was not asked, since that would change the server.
    Offered,
    /// The endpoint is not there.
    Absent,
    /// The endpoint answers with this error.
    Refuses {
        /// The status.
        status: u16,
    },
    /// The endpoint does not answer.
    Silent,
    /// The endpoint answers with something else than expected.
    Unreadable,
}

/// A series that is read of a page of metrics. It says whether this page has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownSeries {
    /// Its name: that on the page, else the newest.
    pub name: String,
    /// The figure that the series gives.
    pub gives: SeriesFigure,
    /// Whether the page has it.
    pub found: bool,
}

/// The figure that a series of metrics gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesFigure {
    /// A level.
    Gauge(Gauge),
    /// A count.
    Counter(Counter),
    /// A histogram of times.
    Time(ServerTime),
}

impl OpenAiEngine {
    /// Asks the server for each of its endpoints once, and reads its page of metrics. It leaves out what would change
    /// the server.
    pub async fn abilities(&self) -> ServerAbilities {
        let (control, traits) = (&self.control, self.target.dialect.traits());
        let mut endpoints = Vec::new();
        let models = [self.target.url.models_path()];
        let models = models.each_ref().map(String::as_str);
        for (purpose, paths) in [
            (EndpointPurpose::Health, control.health_path().as_slice()),
            (EndpointPurpose::Models, models.as_slice()),
            (EndpointPurpose::Version, traits.version_path.as_slice()),
            (EndpointPurpose::Settings, traits.flags_paths),
            (EndpointPurpose::Model, traits.model_paths),
        ] {
            endpoints.extend(first_that_answers(control, purpose, paths).await);
        }
        if let Some(call) = traits.tokenize {
            let counted = within(control.count_tokens(call, &self.model, "one two three")).await;
            let answer = counted.map(|count| count.map_or(EndpointAnswer::Absent, |_| EndpointAnswer::Answers));
            let (purpose, path) = (EndpointPurpose::Tokenize, call.path.to_owned());
            endpoints.push(KnownEndpoint { purpose, path, answer: answer.unwrap_or_else(|error| answer_of(&error)) });
        }
        let mut series = Vec::new();
        if let Some(path) = traits.metrics_path {
            let page = within(control.text(path)).await;
            series = page.as_deref().map(|page| known_series(page, &traits)).unwrap_or_default();
            let answer = page.map_or_else(|error| answer_of(&error), |_| EndpointAnswer::Answers);
            endpoints.push(KnownEndpoint { purpose: EndpointPurpose::Metrics, path: path.to_owned(), answer });
        }
        if let Some(reset) = traits.reset_cache {
            let answer = match within(control.offers(reset.path)).await {
                Ok(()) => EndpointAnswer::Offered,
                Err(error) => answer_of(&error),
            };
            let (purpose, path) = (EndpointPurpose::CacheReset, reset.path.to_owned());
            endpoints.push(KnownEndpoint { purpose, path, answer });
        }
        let has_lengths = self.target.endpoint.work == WorkKind::Tokens;
        let words = || self.target.length_words(self.target.length_fields());
        let length_fields = if has_lengths { words() } else { String::new() };
        ServerAbilities { endpoints, series, length_fields }
    }
}

/// Returns what comes in time, else an error.
async fn within<T>(asked: impl Future<Output = Result<T, ControlError>>) -> Result<T, ControlError> {
    let late = || ControlError::Unreachable(format!("no answer within {} s", LIMIT.as_secs()));
    timeout(LIMIT, asked).await.unwrap_or_else(|_| Err(late()))
}

/// Returns the first of these paths that answers, else the first of them. It is `None` where the dialect has none.
async fn first_that_answers(control: &Control, purpose: EndpointPurpose, paths: &[&str]) -> Option<KnownEndpoint> {
    let mut first = None;
    for path in paths {
        let answer = within(control.text(path)).await;
        let answer = answer.map_or_else(|error| answer_of(&error), |_| EndpointAnswer::Answers);
        let shown = path.split('?').next().unwrap_or_default().to_owned();
        let known = KnownEndpoint { purpose, path: shown, answer };
        if answer == EndpointAnswer::Answers {
            return Some(known);
        }
        first.get_or_insert(known);
    }
    first
}

/// Returns what a failure says of an endpoint.
const fn answer_of(error: &ControlError) -> EndpointAnswer {
    match error {
        ControlError::Status { status: 404 | 405 | 501, .. } => EndpointAnswer::Absent,
        ControlError::Status { status, .. } => EndpointAnswer::Refuses { status: *status },
        ControlError::Unreachable(_) => EndpointAnswer::Silent,
        ControlError::Unreadable { .. } => EndpointAnswer::Unreadable,
    }
}

/// Returns the series that are read of a page of this kind. The dialect says which, else those that the page has.
fn known_series<'p>(page: &'p str, traits: &DialectTraits) -> Vec<KnownSeries> {
    let Some(names) = traits.metrics.copied().or_else(|| MetricNames::on(page)) else {
        return Vec::new();
    };
    let of_kind = metric_samples(page).filter_map(|sample| Some((bare(names.own(sample.name)?), sample.name)));
    let on_page: HashMap<&str, &'p str> = of_kind.collect();
    let one = |own: &str| on_page.get(bare(own)).copied();
    let histogram =
        |own: &str| ["_count", "_bucket"].iter().find_map(|end| one(&format!("{own}{end}"))?.strip_suffix(end));
    let known = |all: &[&'static str], gives, there: &dyn Fn(&str) -> Option<&'p str>| {
        let found = all.iter().find_map(|known| there(names.own(known)?));
        let name = found.or(all.first().copied())?.to_owned();
        Some(KnownSeries { name, gives, found: found.is_some() })
    };
    let gauges = names.gauges.iter().map(|row| known(row.2, SeriesFigure::Gauge(row.0), &one));
    let counters = names.counters.iter().map(|row| known(row.2, SeriesFigure::Counter(row.0), &one));
    let times = names.times.iter().map(|row| known(row.1, SeriesFigure::Time(row.0), &histogram));
    gauges.chain(counters).chain(times).flatten().collect()
}

impl EndpointPurpose {
    /// Returns the name of the purpose in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Models => "models",
            Self::Version => "version",
            Self::Settings => "settings",
            Self::Model => "model",
            Self::Tokenize => "counts tokens",
            Self::Metrics => "metrics",
            Self::CacheReset => "empties the cache",
        }
    }
}

impl EndpointAnswer {
    /// Whether the endpoint is there for this client.
    pub const fn is_there(self) -> bool {
        matches!(self, Self::Answers | Self::Offered)
    }

    /// Words for the ability.
    pub fn in_words(self) -> String {
        match self {
            Self::Answers => "answers".to_owned(),
            Self::Offered => "is there (not asked)".to_owned(),
            Self::Absent => "is not there".to_owned(),
            Self::Refuses { status } => format!("answers {status}"),
            Self::Silent => "does not answer".to_owned(),
            Self::Unreadable => "answers with something else".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EngineKind;

    #[test]
    fn the_series_of_a_recorded_page_are_found_by_their_names() {
        let page = include_str!("../../../tests/data/transcripts/vllm/metrics_after.txt");
        let series = known_series(page, &EngineKind::Vllm.traits());
        let found = |name: &str| series.iter().find(|series| series.name == name).map(|series| series.found);
        assert_eq!(found("vllm:num_requests_running"), Some(true));
        assert_eq!(found("vllm:time_to_first_token_seconds"), Some(true), "a histogram, by its count");
        assert_eq!(found("vllm:gpu_prefix_cache_hit_rate"), Some(false), "of the old engine");
        // A dialect whose counters are not compared has a page all the same, known by its prefix.
        let llamacpp = include_str!("../../../tests/data/transcripts/llamacpp_cpp/metrics_after.txt");
        let series = known_series(llamacpp, &EngineKind::Llamacpp.traits());
        assert!(series.iter().any(|series| series.name == "llamacpp:requests_processing" && series.found));
        assert_eq!(known_series("up 1\n", &EngineKind::Tgi.traits()), []);
    }

    #[test]
    fn what_a_failure_says_of_an_endpoint() {
        let status =
            |status| ControlError::Status { path: String::new(), status, words: String::new(), location: None };
        assert_eq!(answer_of(&status(404)), EndpointAnswer::Absent);
        assert_eq!(answer_of(&status(403)), EndpointAnswer::Refuses { status: 403 });
        assert_eq!(answer_of(&ControlError::Unreachable(String::new())), EndpointAnswer::Silent);
    }
}

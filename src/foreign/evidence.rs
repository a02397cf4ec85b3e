//! Evidence in a result of how it was measured, and errors of the tool's method.

use super::figures::{ForeignFigures, ForeignLatency};
use super::run::{ConcurrencyCap, ForeignConditions, ForeignRun};
use super::tool::ForeignTool;
use crate::analysis::{
    ArrivalEvidence, ArrivalShape, Evidence, Figure, FigureKey, LatencyEvidence, LoadForm, Metric, PercentileEvidence,
    Quantile, ResultSource, Statistic,
};
use crate::record::Fact;
use crate::units::{count, percent, three_digits};

/// A tool that sends less than this share of the requested rate is late.
const SENT: f64 = 0.9;

impl ForeignRun {
    /// Evidence of how it was measured. `beside` are the runs of the same file, itself among them.
    pub fn evidence(&self, beside: &[Self]) -> Evidence {
        let conditions = &self.conditions;
        let capped = match conditions.max_concurrency {
            Some(ConcurrencyCap::At(most)) => Some(most),
            Some(ConcurrencyCap::Uncapped) | None => None,
        };
        let load = form(conditions);
        let mut loads: Vec<&ForeignConditions> = Vec::new();
        for run in beside {
            if !loads.iter().any(|load| load.is_same_load(&run.conditions)) {
                loads.push(&run.conditions);
            }
        }
        let alike = beside.iter().filter(|run| run.conditions.is_same_load(conditions));
        Evidence {
            source: ResultSource::Other(self.tool.to_string()),
            prompt_tokens: conditions.prompt_tokens,
            answer_tokens: conditions.answer_tokens,
            arrivals: self.arrivals(capped),
            load,
            uncounted_cap: capped.filter(|_| load != Some(LoadForm::Closed)),
            warm_up: conditions.warm_up,
            window_s: self.whole_run.duration_s,
            sent: self.requests.sent(),
            failed: self.requests.failed,
            traffics: conditions.datasets,
            runs: alike.count() as u64,
            loads: loads.len() as u64,
            latencies: self.latency.iter().map(latency).collect(),
            output_tokens_per_s: self.whole_run.output_tokens_per_s,
            model: conditions.model.clone(),
            hardware: conditions.hardware.clone(),
            gpus: conditions.gpus,
            serving: vec![
                ("model", conditions.model.clone()),
                (Fact::EngineVersion.name(), conditions.engine_version.clone()),
                (Fact::Precision.name(), conditions.precision.clone()),
                (Fact::ServingFlags.name(), conditions.serving_flags.clone()),
            ],
            method: self.method(capped),
            cures: self.tool.cures(),
            ..Evidence::default()
        }
    }

    /// Returns how its requests arrived; `None` where the file does not say.
    fn arrivals(&self, capped: Option<u64>) -> Option<ArrivalEvidence> {
        let conditions = &self.conditions;
        let kind = conditions.arrival.as_deref()?;
        let shape = match (shape(kind)?, conditions.burstiness) {
            (ArrivalShape::LikeTraffic, Some(burstiness)) => ArrivalShape::of_gamma(burstiness),
            (shape, _) => shape,
        };
        let rate = conditions.rate_per_s.map(|rate| format!(", {} requests/s", three_digits(rate)));
        let users = capped.map(|most| format!(" of at most {} in flight", count(most)));
        let more = if shape == ArrivalShape::Closed { users } else { rate };
        let words = kind.replace('_', " ").replace("closed", "closed loop") + &more.unwrap_or_default();
        Some(ArrivalEvidence { shape, words, fault: self.arrival_fault() })
    }

    /// Returns why arrivals are not of the process that was requested.
    fn arrival_fault(&self) -> Option<&'static str> {
        let seeded_alike = self.conditions.workers.is_some_and(|workers| workers > 1)
            && self.conditions.arrival.as_deref() == Some("poisson");
        (self.tool == ForeignTool::GuideLlm && seeded_alike)
            .then_some("GuideLLM seeds every worker alike, so gaps repeat and requests come in clumps")
    }

    /// Effects of the tool's method on the figures, where the file shows that it applies.
    fn method(&self, capped: Option<u64>) -> Vec<String> {
        let conditions = &self.conditions;
        let is = |kind: &str| conditions.arrival.as_deref() == Some(kind);
        let rated = conditions.rate_per_s.filter(|_| !is("closed"));
        let rescaled = self.tool == ForeignTool::Vllm && rated.is_some() && (is("poisson") || is("gamma"));
        let rescaled = rescaled.then(|| {
            "vLLM rescales its arrivals so that the last one lands at N ÷ rate: their number never varies by chance, \
             as it does in production"
                .to_owned()
        });
        let slots = capped.filter(|_| rated.is_some()).map(|most| match self.tool {
            ForeignTool::AiPerf => format!(
                "with {} in flight AIPerf skips the next arrival and does not count it: the load falls where the \
                 server is slow",
                count(most)
            ),
            tool => format!(
                "with {} in flight the next request waits for a slot, and {tool} counts no latency before it: the wait \
                 is in no figure",
                count(most)
            ),
        });
        let late = self.sent_late().map(|share| {
            format!("{} sent {share} of the requests that its rate asks for: it delays its own load", self.tool)
        });
        let from_sending = rated.map(|_| {
            "latencies count from sending: the time that a request waited inside a late client is in none".to_owned()
        });
        let faults = [self.arrival_fault().map(str::to_owned), rescaled, slots, late, from_sending];
        faults.into_iter().flatten().chain(self.reservations.iter().cloned()).collect()
    }

    /// Returns the share of the requested load that was sent, if surely less. The run without its slowest answer is the
    /// least time in which it was sent, and a Poisson process varies by the root of its mean.
    fn sent_late(&self) -> Option<String> {
        let (rate, duration) = (self.conditions.rate_per_s?, self.whole_run.duration_s?);
        let slowest = self.figure(&FigureKey::latency(Statistic::Max, Metric::E2eFromSend))?.exact()?;
        let (sent, expected) = (self.requests.sent()? as f64, rate * (duration - slowest / 1e3));
        let is_late = sent < SENT * expected && sent < expected - 3.0 * expected.sqrt();
        is_late.then(|| percent(sent / expected))
    }
}

impl ForeignConditions {
    /// Whether both are the same load.
    fn is_same_load(&self, other: &Self) -> bool {
        let load = |of: &Self| (of.arrival.clone(), of.rate_per_s, of.max_concurrency, of.burstiness);
        load(self) == load(other)
    }
}

/// Shape of arrivals of a kind, where it is known.
fn shape(kind: &str) -> Option<ArrivalShape> {
    match kind {
        "poisson" | "gamma" | "trace" | "fixed_schedule" | "ramp_up" => Some(ArrivalShape::LikeTraffic),
        "constant" => Some(ArrivalShape::Even),
        "all_at_once" => Some(ArrivalShape::AtOnce),
        "closed" => Some(ArrivalShape::Closed),
        _ => None,
    }
}

/// Form of the load: whether a request waits for an answer before it.
fn form(conditions: &ForeignConditions) -> Option<LoadForm> {
    match shape(conditions.arrival.as_deref()?)? {
        ArrivalShape::Closed => Some(LoadForm::Closed),
        _ => Some(LoadForm::Open),
    }
}

fn latency(latency: &ForeignLatency) -> LatencyEvidence {
    let percentile = |quantile: Quantile| {
        let value_ms = latency.figures.statistic(Statistic::Percentile(quantile)).and_then(Figure::exact)?;
        let interval = match &latency.figures {
            ForeignFigures::Computed(row) => row.percentile(quantile).interval,
            ForeignFigures::Reported(_) => (None, None),
        };
        Some(PercentileEvidence { quantile, value_ms, interval })
    };
    let percentiles = Quantile::ALL.into_iter().filter_map(percentile).collect();
    LatencyEvidence { metric: latency.metric, n: latency.figures.n(), worth: None, percentiles }
}

//! What the log of a run of Skyline and its summary say of how it was measured.

use super::evidence::{
    ArrivalEvidence, ArrivalShape, CountsGpus, Evidence, LatencyEvidence, LengthRange, PercentileEvidence,
    ResultSource, WarmUpEvidence, requests_per_s,
};
use crate::analysis::figures::{FigureKey, Metric, Quantile};
use crate::analysis::judgements::ChecklistRule;
use crate::analysis::requests::LoadForm;
use crate::analysis::server::prefix_cache::MeasuredHits;
use crate::analysis::server::settings::may_be_emptied;
use crate::analysis::summary::reproduction::FactSource;
use crate::analysis::summary::run::Summary;
use crate::analysis::summary::set::FigureSet;
use crate::record::{EngineKind, Fact, PartKind, RequestRecord, RunHeader, RunLog};
use crate::units::{count, counted, percent};
use crate::workload::{ArrivalPattern, PromptSource, Purpose};

/// Shape above which Weibull gaps vary by less than half of their mean.
const NEARLY_EVEN_WEIBULL: f64 = 2.1;
/// Cure where nothing empties the prefix cache.
const BY_METRICS: &str = "--metrics-url reads the server's hit rate from its page of metrics";
/// Words that a written prompt begins with, so many that differ.
const WORDS: f64 = 512.0;
/// Fewest different prompts that do not repeat from run to run. Where more than a share of
/// `MAY_REPEAT` of the prompts have fewer, they are not new.
const DISTINCT: f64 = 1e6;
const MAY_REPEAT: f64 = 0.01;
/// A trace that is over within this time came at once, seconds.
const AT_ONCE_S: f64 = 1.0;

impl Evidence {
    /// Collects what is known of the run of `log`, of which `summary` is.
    pub fn of_run(log: &RunLog, summary: &Summary) -> Self {
        let header = &log.header;
        let run = &summary.run;
        let source = source(header);
        let [prompt_tokens, answer_tokens] = [summary.tokens.prompt_lengths, summary.tokens.answer_lengths]
            .map(|lengths| lengths.received.or(lengths.requested).map(LengthRange::from));
        let facts = &summary.reproduction;
        let exporter = facts.reported.iter().find(|fact| fact.name == Fact::Hardware);
        let counts_gpus = match exporter {
            Some(fact) if matches!(fact.source, FactSource::Exporter | FactSource::Nvml) => CountsGpus::InName,
            _ => CountsGpus::Apart,
        };
        let engine = match source {
            ResultSource::Mock => "Skyline's mock".to_owned(),
            _ => [Some(run.engine.engine.as_str()), facts.value(Fact::EngineVersion)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
        };
        let counts = &summary.requests;
        Self {
            outcome: Some(summary.verdict.outcome),
            reason: summary.verdict.gravest().map(|reason| reason.sentence.clone()),
            prompt_tokens,
            answer_tokens,
            streamed: Some(run.engine.streamed),
            inputs: run.inputs,
            arrivals: Some(arrivals(&run.arrival)),
            load: Some(run.load),
            warm_up: Some(warm_up(header, summary)),
            window_s: Some(summary.window.counted_s()),
            window_for_p99_s: summary.window_for(Quantile::P99),
            sent: Some(counts.executed()),
            failed: Some(counts.failed),
            traffics: [run.classes.len(), summary.parts_of(PartKind::Tenant).len(), run.models.len()]
                .into_iter()
                .max()
                .map(|most| most as u64),
            prefix_cache: prefix_cache(log, summary),
            judged_answers: Some(judged(summary)),
            runs: 1,
            loads: 1,
            latencies: latencies(summary),
            output_tokens_per_s: summary.rates.output_tokens_per_s,
            model: Some(run.model_names()),
            engine: Some(engine),
            hardware: facts.value(Fact::Hardware).map(str::to_owned),
            gpus: run.deployment.gpus.map(u64::from),
            counts_gpus,
            serving: serving(summary),
            source,
            cures: if may_be_emptied(&run.engine) {
                Vec::new()
            } else {
                vec![(ChecklistRule::PrefixCache, BY_METRICS)]
            },
            ..Self::default()
        }
    }

    /// Returns the evidence of several runs of the load, whose figures count together. They are means, with the
    /// intervals across the runs.
    #[must_use]
    pub fn across(self, runs: &[&Summary]) -> Self {
        let key = |quantile, metric| FigureKey::percentile(quantile, metric);
        let keys = Metric::LATENCIES.into_iter().flat_map(|metric| Quantile::ALL.map(|of| key(of, metric)));
        let figures = FigureSet::new(keys.chain([FigureKey::from_metric(Metric::OutputTokens)]), runs);
        let sum = |of: fn(&Summary) -> u64| Some(runs.iter().map(|run| of(run)).sum());
        let latency = |latency: LatencyEvidence| {
            let across = |quantile: Quantile| {
                let figure = figures.percentile(quantile, latency.metric)?;
                let interval = (figure.interval_low, figure.interval_high);
                Some(PercentileEvidence { quantile, value_ms: figure.mean?, interval })
            };
            let percentiles = Quantile::ALL.into_iter().filter_map(across).collect();
            LatencyEvidence { percentiles, ..latency }
        };
        Self {
            runs: runs.len() as u64,
            joined_runs: runs.len() as u64,
            sent: sum(|run| run.requests.executed()),
            failed: sum(|run| run.requests.failed),
            latencies: self.latencies.into_iter().map(latency).collect(),
            output_tokens_per_s: figures.metric(Metric::OutputTokens).and_then(|figure| figure.mean),
            ..self
        }
    }
}

fn source(header: &RunHeader) -> ResultSource {
    if !header.engine().modelled.is_empty() {
        ResultSource::Simulation
    } else if header.workload.purpose == Purpose::Smoke {
        ResultSource::Smoke
    } else if header.engine().kind() == Some(EngineKind::Mock) {
        ResultSource::Mock
    } else {
        ResultSource::Server
    }
}

fn arrivals(pattern: &ArrivalPattern) -> ArrivalEvidence {
    let shape = shape(pattern);
    let words = match (pattern, shape) {
        (ArrivalPattern::Users { users, .. }, _) => format!("closed loop of {}", counted(*users, "user")),
        // The rate of a burst is that of a millisecond.
        (_, ArrivalShape::AtOnce) => format!("{}, all at once", pattern.kind()),
        _ => format!("{}, {}", pattern.kind(), requests_per_s(pattern.mean_rate_per_s())),
    };
    ArrivalEvidence { shape, words: words.replace('_', " "), fault: None }
}

fn shape(pattern: &ArrivalPattern) -> ArrivalShape {
    match pattern {
        ArrivalPattern::Constant { .. } => ArrivalShape::Even,
        ArrivalPattern::Gamma { burstiness, .. } => ArrivalShape::of_gamma(*burstiness),
        ArrivalPattern::Weibull { shape, .. } if *shape > NEARLY_EVEN_WEIBULL => ArrivalShape::Even,
        ArrivalPattern::Users { .. } => ArrivalShape::Closed,
        ArrivalPattern::Trace(trace) if trace.found.as_ref().is_some_and(|found| found.ends_s < AT_ONCE_S) => {
            ArrivalShape::AtOnce
        }
        ArrivalPattern::ByClass { classes } => {
            let mut shapes = classes.iter().map(shape);
            let first = shapes.next().unwrap_or(ArrivalShape::LikeTraffic);
            // Streams of their own that are superposed are even only where all of them are.
            if shapes.all(|other| other == first) { first } else { ArrivalShape::LikeTraffic }
        }
        _ => ArrivalShape::LikeTraffic,
    }
}

/// The warm-up of the run, and the requests that warmed the server before it.
fn warm_up(header: &RunHeader, summary: &Summary) -> WarmUpEvidence {
    let window = &summary.window;
    let before = header.warming_requests.unwrap_or_default();
    WarmUpEvidence { requests: window.warmup_requests + before, seconds: Some(window.start_s) }
}

/// Says what the prefix cache held, where the preparation, the server or the prompts say.
fn prefix_cache(log: &RunLog, summary: &Summary) -> Option<String> {
    let hits = summary.cache_hits.map(|MeasuredHits { rate, source }| {
        let expected = summary.prefix_cache.as_ref().map_or_else(String::new, |cache| {
            let [least, most] = [cache.expected_least, cache.expected_most].map(percent);
            if least == most { format!(", expected {least}") } else { format!(", expected {least} to {most}") }
        });
        let cold = if rate == 0.0 { "cold: " } else { "" };
        format!("{cold}hit rate {} by {}{expected}", percent(rate), source.name())
    });
    let prepared = log.header.cache.map(|cache| match (cache.emptied, cache.warmed_prefixes) {
        (true, 0) => "emptied before the run".to_owned(),
        (emptied, prefixes) => {
            let first = if emptied { "emptied, then " } else { "" };
            format!("{first}{} sent before the run", counted(prefixes, "shared text"))
        }
    });
    // A salt of the run's own leaves nothing to find; the user's may be that of a run before, and the shortest prompts
    // are those of every run.
    let says_again = summary.run.datasets.iter().any(|taken| !taken.salted)
        || summary.run.command.iter().any(|word| word.starts_with("--salt"))
        || may_repeat(log);
    let is_new = summary.prefix_cache.is_none() && hits.is_none() && !says_again;
    let new = is_new.then(|| "planned cold: prompts share nothing and are new in each run".to_owned());
    let known: Vec<_> = [prepared, hits, new].into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// Returns whether over 1 % of the prompts are so short that they repeat. Other requests then have the same.
fn may_repeat(log: &RunLog) -> bool {
    let is_short = |record: &RequestRecord| {
        let class = log.header.workload.classes.get(usize::from(record.class));
        let ids = match class.map(|class| &class.prompt) {
            Some(PromptSource::RandomTokens { vocabulary: Some(size) }) => f64::from(*size),
            Some(PromptSource::Dataset(_)) => return false,
            _ => WORDS,
        };
        let own = record.input_tokens_asked.saturating_sub(record.prefix.map_or(0, |prefix| prefix.tokens));
        ids.powf(own.into()) < DISTINCT
    };
    let records = &log.records;
    records.iter().filter(|record| is_short(record)).count() as f64 > MAY_REPEAT * records.len() as f64
}

/// Answers that golden prompts or a requested form judged, and those that passed.
fn judged(summary: &Summary) -> (u64, u64) {
    let checks = summary.quality.iter().flat_map(|quality| [&quality.before, &quality.under_load]);
    let checks = checks.map(|passes| (passes.judged(), passes.passed));
    let forms = summary.answers.iter().flat_map(|answers| &answers.by_class);
    let forms = forms.map(|class| (class.valid + class.invalid, class.valid));
    checks.chain(forms).fold((0, 0), |(judged, passed), (more, well)| (judged + more, passed + well))
}

fn latencies(summary: &Summary) -> Vec<LatencyEvidence> {
    let closed = summary.run.load == LoadForm::Closed;
    // From the scheduled moment; in a closed loop both count from sending.
    let is_double = |metric| closed && matches!(metric, Metric::TtftFromSend | Metric::E2eFromSend);
    let rows = summary.latency.iter().filter(|(metric, _)| !is_double(*metric));
    rows.map(|(metric, row)| LatencyEvidence {
        metric,
        n: Some(row.n),
        worth: row.percentile(Quantile::P50).effective_samples.map(|worth| worth.round() as u64),
        percentiles: row
            .percentiles
            .iter()
            .filter_map(|percentile| {
                let (quantile, interval) = (percentile.quantile, percentile.interval);
                Some(PercentileEvidence { quantile, value_ms: percentile.figure.exact()?, interval })
            })
            .collect(),
    })
    .collect()
}

/// Lists the facts without which a server's figures cannot be understood, apart from its hardware.
fn serving(summary: &Summary) -> Vec<(&'static str, Option<String>)> {
    let engine = &summary.run.engine;
    let flags = engine.serving_flags.len() as u64;
    let value = |fact: Fact| summary.reproduction.value(fact).map(str::to_owned);
    vec![
        ("model", Some(summary.run.model_names())),
        (Fact::EngineVersion.name(), value(Fact::EngineVersion)),
        (Fact::Precision.name(), value(Fact::Precision)),
        (
            Fact::ServingFlags.name(),
            if flags > 0 { Some(format!("({})", count(flags))) } else { value(Fact::ServingFlags) },
        ),
        (Fact::SamplingSettings.name(), engine.parameters.as_ref().map(|_| "(stored)".to_owned())),
    ]
}

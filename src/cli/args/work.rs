//! The workload that is meant, and what of it to override besides its load.

use std::io::IsTerminal as _;
use std::sync::Arc;

use clap::Args;

use super::trace::TraceArgs;
use super::values::{above_zero, seconds, since, whole};
use crate::engine::Protocol;
use crate::experiment::LoadAxis;
use crate::generator::{Datasets, PromptNeed};
use crate::report::documents;
use crate::session::settings::RunSettings;
use crate::session::{Printer, Stop, datasets, survey};
use crate::workload::{
    ArrivalPattern, ClientChange, DatasetChange, DatasetFormat, Distribution, Overrides, RequestChange, Slo, Trace,
    WorkloadSpec, library,
};

/// The workload and all of its overrides but those of its load, for verbs that choose the load.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkArgs {
    /// Name of an embedded workload (`skyline workloads` lists them), a path to a TOML or JSON file, or `-` for one on
    /// standard input; may be left out where options say what requests are like (--input-tokens,
    /// --output-tokens), or name a trace or a dataset
    workload: Option<String>,

    /// Horizon: requests scheduled in the first SECONDS belong to the run; uncounted load continues until the last of
    /// them are done; each run of a sweep lasts at least as long [default: the workload's]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// How long a closed-loop user waits after an answer before the next request; after a failure a second at least
    /// [default: the workload's, else none]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = since)]
    think_time: Option<f64>,

    /// Seed of the schedule: the same workload and seed give the same schedule everywhere [default: the
    /// workload's]
    #[arg(long, value_name = "N", help_heading = "Workload", value_parser = whole::<u64>(0..=u64::MAX),
          allow_negative_numbers = true)]
    pub(in crate::cli) seed: Option<u64>,

    /// Leave requests scheduled in this first part out of the figures [default: the workload's]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = since, allow_hyphen_values = true)]
    warmup: Option<f64>,

    /// After the window let load go on for at most TIME, uncounted, so that its last requests end under load; without a
    /// TIME until they have ended [default: until they have; with --requests none]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = since, num_args = 0..=1,
          default_missing_value = "744h")]
    cooldown: Option<f64>,

    /// After the horizon wait this long for answers, then censor what is left [default: the workload's]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = since, allow_hyphen_values = true)]
    drain: Option<f64>,

    #[command(flatten)]
    requests: RequestArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    request: RequestChange,
    #[command(flatten)]
    dataset: DatasetChange,
    #[command(flatten)]
    clients: ClientChange,
}

impl WorkArgs {
    /// Whether options stand for a workload. A file of sessions does, where it `is_replayed` at no moments of its own.
    pub(super) fn is_described(&self, is_replayed: bool) -> bool {
        let RequestArgs { input_tokens, output_tokens, .. } = &self.requests;
        let (lengths, prefixes) = (input_tokens.is_some() || output_tokens.is_some(), self.request.shares());
        let is_described = lengths || prefixes || self.dataset.path.is_some() || self.trace.has_sessions();
        is_described && self.named().0.is_none() && !self.trace.is_named() && !is_replayed
    }

    /// The workload and the seconds: a lone length of time is the seconds.
    pub(in crate::cli) fn named(&self) -> (Option<&str>, Option<f64>) {
        let typed = self.workload.as_deref();
        match (typed.and_then(|text| seconds(text).ok()), self.seconds) {
            (Some(lone), None) => (None, Some(lone)),
            (_, seconds) => (typed, seconds),
        }
    }

    /// The fewest users of a sweep, where the workload must have users so that what was typed of them, or against them,
    /// is understood.
    pub(in crate::cli) fn users_of(&self, swept: Option<&LoadAxis>) -> Option<u64> {
        let RequestArgs { arrival, burstiness, .. } = &self.requests;
        let wanted = self.think_time.is_some() || arrival.is_some() || burstiness.is_some();
        swept.filter(|_| wanted)?.fewest()?.users()
    }

    /// Opens the files of a workload, once it is as the endpoint of these settings carries it.
    pub(in crate::cli) fn opened(
        &self,
        spec: WorkloadSpec,
        settings: &RunSettings,
        printer: Printer,
    ) -> Result<(WorkloadSpec, Arc<Datasets>), Stop> {
        self.check_answers(settings.server.common.endpoint)?;
        let is_own = self.named().0.is_none_or(|name| library::source(name).is_none());
        let spec = settings.fitted(spec, is_own, printer)?;
        datasets::open(spec, settings.requests.tokenizer.as_deref(), settings.screen, printer)
    }

    /// Refuses options about answers that those of an endpoint do not have.
    fn check_answers(&self, endpoint: &Protocol) -> Result<(), Stop> {
        if endpoint.only == Some(PromptNeed::Audio) && self.requests.input_tokens.is_some() {
            return Err(Stop::usage(format!(
                "--input-tokens: requests to the endpoint {endpoint} have audio in place of texts\n\
                 hint: leave it out; --audio 30s says how much audio"
            )));
        }
        let bounds = self.requests.slo().unwrap_or_default();
        let (option, cure) = match &self.requests {
            _ if endpoint.inputs.is_none() => return Ok(()),
            RequestArgs { output_tokens: Some(_), .. } => ("--output-tokens", "leave it out"),
            _ if self.request.length.is_some() => ("--length", "leave it out"),
            _ if bounds.ttft_ms.or(bounds.tpot_ms).is_some() => ("--slo on TTFT or TPOT", "bound e2e: --slo e2e=500ms"),
            _ => return Ok(()),
        };
        Err(Stop::usage(format!("{option}: answers of the endpoint {endpoint} have no tokens\nhint: {cure}")))
    }

    /// Whether a file of sessions is replayed at its moments. Nothing else then says what load there is.
    pub(super) fn is_replayed(&self, load: &Overrides) -> bool {
        let Overrides { rate_per_s, users, ramp, spike, .. } = load;
        let has_load = rate_per_s.is_some() || users.is_some() || !ramp.is_empty() || spike.is_some();
        let has_arrivals = self.requests.arrival.is_some() || self.requests.burstiness.is_some();
        self.named().0.is_none() && !has_load && !has_arrivals && self.trace.has_moments()
    }

    /// The workload that was meant, under this load, with the overrides. A file of sessions may be replayed at its
    /// moments.
    pub(in crate::cli) fn spec(
        &self,
        load: &Overrides,
        is_replayed: bool,
        printer: Printer,
    ) -> Result<WorkloadSpec, Stop> {
        let (workload, seconds) = self.named();
        if workload == Some("-") && std::io::stdin().is_terminal() {
            printer.words("reading the workload from standard input; Ctrl-D ends it");
        }
        let dataset = self.trace.dataset(&self.dataset, is_replayed)?;
        let overrides = Overrides {
            horizon_s: seconds,
            seed: self.seed,
            think_time_s: self.think_time,
            warmup_s: self.warmup,
            cooldown_s: self.cooldown,
            drain_s: self.drain,
            arrival: self.requests.arrival.clone(),
            burstiness: self.requests.burstiness,
            input_tokens: self.requests.input_tokens.clone(),
            output_tokens: self.requests.output_tokens.clone(),
            slo: self.requests.slo(),
            request: self.request.clone(),
            dataset,
            clients: self.clients.clone(),
            ..load.clone()
        };
        let spec = match workload {
            None if self.is_described(is_replayed) => {
                let spec = WorkloadSpec::synthetic().map_err(Stop::usage)?;
                self.trace.check_slice(&spec)?;
                let has_sessions = self.trace.has_sessions() || self.dataset.format == Some(DatasetFormat::Sessions);
                let has_file = self.dataset.path.is_some() || has_sessions;
                let name = if has_file { "dataset" } else { "synthetic" };
                let mut spec = WorkloadSpec { name: name.to_owned(), seed: self.seed.unwrap_or(spec.seed), ..spec };
                for class in spec.classes.iter_mut().filter(|_| has_sessions) {
                    "sessions".clone_into(&mut class.name);
                }
                spec
            }
            Some(name) if !self.trace.is_typed() => {
                let survey_of = |trace: &mut Trace, of_spec| survey(trace, self.seed.unwrap_or(of_spec));
                WorkloadSpec::load_with(name, &survey_of).map_err(Stop::usage)?
            }
            _ => self.trace.apply(workload, self.seed, printer)?,
        };
        let spec = spec.with(&overrides).map_err(Stop::usage)?;
        if let Some(clients) = spec.clients.as_ref().filter(|clients| clients.sends_again()) {
            let said = documents::clients::in_words(clients);
            printer.words(&format!("clients: {said}; latencies include every attempt and wait"));
        }
        Ok(spec)
    }
}

/// What requests are like and when they leave, in place of what the workload says.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
struct RequestArgs {
    /// Length of every prompt in tokens: a number, a range such as 100..400, or a distribution such as
    /// normal:256:128 or `{ kind = "normal", mean = 256, std = 128 }` [default: the workload's; without one
    /// 1024]
    #[arg(long, visible_alias = "random-input-len", value_name = "TOKENS", value_parser = Distribution::typed,
          allow_negative_numbers = true)]
    input_tokens: Option<Distribution>,

    /// Length of every answer in tokens, in the same forms [default: the dataset's, else the workload's;
    /// without one 128]
    #[arg(long, visible_alias = "random-output-len", value_name = "TOKENS", value_parser = Distribution::typed,
          allow_negative_numbers = true)]
    output_tokens: Option<Distribution>,

    /// SLO of every request in place of the workload's: bounds on ttft, tpot and e2e, such as ttft=500ms,tpot=50ms
    /// [default: the workload's]
    #[arg(long, value_name = "BOUNDS", value_parser = Slo::typed)]
    slo: Vec<Slo>,

    /// The same as `vllm bench serve` writes it: ttft:500 tpot:50 e2el:10000, in milliseconds [default: none]
    #[arg(long, value_name = "NAME:MS", num_args = 1.., value_parser = goodput, conflicts_with = "slo")]
    goodput: Vec<Slo>,

    /// How arrivals are spaced around their mean rate: poisson (at random), constant (evenly), or gamma with
    /// --burstiness [default: the workload's arrivals]
    #[arg(long, value_name = "FORM", value_parser = ArrivalPattern::typed)]
    arrival: Option<ArrivalPattern>,

    /// Gamma gaps of this shape between requests: 1 is poisson, below 1 comes in bursts, above 1 is more even
    /// [default: the workload's arrivals]
    #[arg(long, value_name = "SHAPE", value_parser = above_zero, allow_negative_numbers = true)]
    burstiness: Option<f64>,
}

/// A bound among those that vLLM takes, which end where the next option begins.
fn goodput(text: &str) -> Result<Slo, String> {
    Slo::typed(text).map_err(|error| format!("{error}; a workload stands before --goodput"))
}

impl RequestArgs {
    /// The SLO that was typed, in whichever form.
    fn slo(&self) -> Option<Slo> {
        self.slo.iter().chain(&self.goodput).copied().reduce(Slo::and)
    }
}

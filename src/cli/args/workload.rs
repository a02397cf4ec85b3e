//! Which workload, and what of it to override.

use clap::Args;
use strum::VariantNames;

use super::trace::TraceArgs;
use super::values::{above_zero, duration, one_of, seconds};
use crate::session::{Printer, Stop, survey};
use crate::workload::{DatasetChange, DatasetFormat, Overrides, RowFilter, RowOrder, Trace, WorkloadSpec};

/// The workload, what load it brings, and its overrides.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkloadArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Run it N times, one run after another, each with a seed of its own drawn from the first, and report every
    /// figure with its 95 % interval across the runs; 5 or more are advised, because fewer give a wide interval
    #[arg(long, value_name = "N", help_heading = "Workload", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=1000), allow_negative_numbers = true)]
    pub(in crate::cli) repeats: u64,

    #[command(flatten)]
    what: WorkArgs,
}

impl WorkloadArgs {
    /// The workload that was meant, overrides applied.
    pub(in crate::cli) fn spec(&self, printer: Printer) -> Result<WorkloadSpec, Stop> {
        self.what.spec(&self.load.overrides(), printer)
    }

    /// The length that was typed, seconds.
    pub(in crate::cli) fn seconds(&self) -> Option<f64> {
        self.what.seconds()
    }
}

/// The load, for verbs that run the workload under one.
#[derive(Debug, Args)]
pub(in crate::cli) struct LoadArgs {
    /// End the run after this many requests instead, warm-up included; uncounted load continues until the last of
    /// them are done [default: no limit]
    #[arg(long, value_name = "N", conflicts_with = "seconds", help_heading = "Workload",
          value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    requests: Option<u64>,

    /// Requests per second: multiplies all rates of the workload so that their mean becomes this one. The mean is
    /// over whole periods, all stages, or in the long run, for spikes the base rate: a window may have another, which
    /// the report shows; for a trace use --rate-scale [default: the workload's]
    #[arg(long, value_name = "PER_S", help_heading = "Workload", value_parser = above_zero, allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Closed loop in place of the workload's arrivals: N users, each of whom sends a request, waits for its answer
    /// and sends the next. The server then decides how many requests there are: a slow one gets fewer [default: the
    /// workload's arrivals]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "requests"], help_heading = "Workload",
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    users: Option<u64>,
}

impl LoadArgs {
    pub(in crate::cli) fn overrides(&self) -> Overrides {
        let Self { requests, rate: rate_per_s, users } = *self;
        Overrides { requests, rate_per_s, users, ..Overrides::default() }
    }
}

/// The workload and all of its overrides but those of its load, for verbs that choose the load.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkArgs {
    /// Name of an embedded workload (`skyline workloads` lists them), or a path to a TOML or JSON file; may be left out
    /// where a trace is named
    #[arg(required_unless_present = "trace")]
    workload: Option<String>,

    /// Horizon: requests scheduled in the first SECONDS belong to the run; uncounted load continues until the last of
    /// them are done; each run of a sweep lasts at least as long [default: the workload's]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    seconds: Option<f64>,

    /// How long a closed-loop user waits after an answer before the next request; after a failure a second at least
    /// [default: the workload's, else none]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = duration)]
    think_time: Option<std::time::Duration>,

    /// Seed of the schedule: the same workload and seed give the same schedule everywhere [default: the
    /// workload's]
    #[arg(long, value_name = "N", help_heading = "Workload", allow_negative_numbers = true)]
    seed: Option<u64>,

    /// Leave requests scheduled in this first part out of the figures [default: the workload's]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = duration, allow_hyphen_values = true)]
    warmup: Option<std::time::Duration>,

    /// After the horizon wait this long for answers, then censor what is left [default: the workload's]
    #[arg(long, value_name = "TIME", help_heading = "Workload", value_parser = duration, allow_hyphen_values = true)]
    drain: Option<std::time::Duration>,

    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    dataset: DatasetArgs,
}

impl WorkArgs {
    /// The workload and the seconds: where a trace stands for the workload, a lone length of time is the seconds.
    fn named(&self) -> (Option<&str>, Option<f64>) {
        let typed = self.workload.as_deref();
        match (typed, self.seconds) {
            (Some(text), None) if self.trace.is_named() => match seconds(text) {
                Ok(seconds) => (None, Some(seconds)),
                Err(_) => (typed, None),
            },
            (_, seconds) => (typed, seconds),
        }
    }

    /// The length that was typed, seconds.
    pub(in crate::cli) fn seconds(&self) -> Option<f64> {
        self.named().1
    }

    /// The workload that was meant, under this load, with the overrides.
    pub(in crate::cli) fn spec(&self, load: &Overrides, printer: Printer) -> Result<WorkloadSpec, Stop> {
        let (workload, seconds) = self.named();
        let overrides = Overrides {
            horizon_s: seconds,
            seed: self.seed,
            think_time_s: self.think_time.map(|pause| pause.as_secs_f64()),
            warmup_s: self.warmup.map(|warmup| warmup.as_secs_f64()),
            drain_s: self.drain.map(|drain| drain.as_secs_f64()),
            output_tokens: self.dataset.output_tokens,
            dataset: self.dataset.change(self.trace.skip_bad()),
            ..load.clone()
        };
        let spec = match workload {
            Some(name) if !self.trace.is_typed() => {
                let survey_of = |trace: &mut Trace, of_spec| survey(trace, self.seed.unwrap_or(of_spec));
                WorkloadSpec::load_with(name, &survey_of).map_err(Stop::usage)?
            }
            _ => self.trace.apply(workload, self.seed, printer)?,
        };
        spec.with(&overrides).map_err(Stop::usage)
    }
}

/// Prompts from a file, in place of the workload's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Dataset")]
struct DatasetArgs {
    /// Send the prompts of this file, with its lengths, in place of those of the workload's only class [default: the
    /// workload's]
    #[arg(long, value_name = "FILE")]
    dataset: Option<String>,

    /// How the file is written: ShareGPT's JSON list, an object a line with `prompt` or `messages`, or CSV with column
    /// names [default: by the ending of its name: .json, .jsonl or .ndjson, .csv]
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<DatasetFormat>(DatasetFormat::VARIANTS))]
    dataset_format: Option<DatasetFormat>,

    /// Order of its rows: `shuffled` by the seed, or as in the file [default: file]
    #[arg(long, value_name = "ORDER", value_parser = one_of::<RowOrder>(RowOrder::VARIANTS))]
    dataset_order: Option<RowOrder>,

    /// Filter of its rows: `vllm` keeps the ShareGPT conversations that `vllm bench serve` keeps, by estimate without
    /// --tokenizer [default: none]
    #[arg(long, value_name = "RULE", value_parser = one_of::<RowFilter>(RowFilter::VARIANTS))]
    dataset_filter: Option<RowFilter>,

    /// Request answers of N tokens in every class [default: the dataset's lengths, else the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    output_tokens: Option<u32>,
}

impl DatasetArgs {
    /// What is changed; `skip_bad` is typed beside traces.
    fn change(&self, skip_bad: bool) -> DatasetChange {
        DatasetChange {
            path: self.dataset.clone(),
            format: self.dataset_format,
            order: self.dataset_order,
            filter: self.dataset_filter,
            skip_bad,
        }
    }
}

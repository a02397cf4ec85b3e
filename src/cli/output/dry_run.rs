//! `--dry-run`: what would be run, for how long and against what, while nothing is sent.

use std::time::Duration;

use super::show::rendered;
use crate::analysis::LoadForm;
use crate::analysis::wording::counted;
use crate::report::{self, Format, documents};
use crate::session::settings::{MachineCheck, RunSettings, ServerAddress};
use crate::session::{PlannedRun, Printer, Stop, command_line};
use crate::units::{count, spoken, three_digits};
use crate::workload::WorkloadSpec;

/// What would be run, fact by fact.
pub(in crate::cli) struct DryRun {
    what: String,
    facts: Vec<(&'static str, String)>,
}

impl DryRun {
    pub(in crate::cli) fn of(what: impl Into<String>) -> Self {
        Self { what: what.into(), facts: Vec::new() }
    }

    /// Adds a fact.
    pub(in crate::cli) fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Adds what requests are like and what is promised to them.
    pub(in crate::cli) fn workload(mut self, spec: &WorkloadSpec) -> Self {
        self = self.fact("workload", format!("{}, seed {}", spec.name, spec.seed));
        for class in &spec.classes {
            let [input, output] = [&class.input_tokens, &class.output_tokens].map(|lengths| {
                let mean = lengths.mean();
                if mean.is_nan() { "as the file says".to_owned() } else { three_digits(mean) }
            });
            let slos: Vec<_> = class.priorities.iter().map(|share| documents::bounds(share.slo)).collect();
            let line = format!(
                "{}: {input} prompt tokens and {output} answer tokens on average, SLO {}",
                class.name,
                slos.join("; ")
            );
            self = self.fact("requests", line);
        }
        self
    }

    /// Adds the load of runs, and how long they take.
    pub(in crate::cli) fn runs(self, runs: &[PlannedRun]) -> Self {
        let Some(first) = runs.first() else { return self };
        let (spec, plan) = (&first.workload, &first.plan);
        let planned = plan.warmup_requests + plan.measured_requests;
        let of_run = match (spec.arrival.users(), spec.requests) {
            (Some(_), Some(requests)) => counted(requests, "request"),
            (Some(users), None) => {
                format!("as many requests as {} get answered", counted(users, "user"))
            }
            (None, _) => format!(
                "{}, {} of them in the warm-up",
                counted(planned, "request"),
                count(plan.warmup_requests)
            ),
        };
        let load: Duration = runs.iter().map(PlannedRun::length).sum();
        let lasts = match plan.is_open_ended() {
            true => "until they are answered".to_owned(),
            false => format!("{} of load", spoken(load)),
        };
        let drain = spoken(Duration::from_secs_f64(spec.drain_s));
        self.fact("arrivals", documents::arrivals::in_words(&spec.arrival, LoadForm::of(spec)))
            .fact("plan", format!("{of_run}; hash {:.12}", plan.hash))
            .fact("runs", runs.len().to_string())
            .fact("lasts", format!("{lasts}, then {drain} at most for answers that are still to come"))
    }

    /// Adds a server.
    pub(in crate::cli) fn server(self, name: &'static str, settings: &RunSettings) -> Self {
        let server = &settings.server;
        let address = match &server.address {
            ServerAddress::EmbeddedMock(_) => "inside this process".to_owned(),
            ServerAddress::At(url) => format!("at {url}"),
        };
        let model = server.model.as_deref().unwrap_or("the first that it lists");
        self.fact(name, format!("{} {address}, {}, model: {model}", server.dialect, server.endpoint))
    }

    /// Adds the limits, and what runs are judged by.
    pub(in crate::cli) fn limits(self, settings: &RunSettings) -> Self {
        let RunSettings { requests, objectives, machine, .. } = settings;
        let limits = requests.limits();
        let cap =
            limits.max_concurrency.map_or("no cap".to_owned(), |cap| format!("at most {cap} in flight"));
        let timeout = limits.total_timeout_s.map(|seconds| spoken(Duration::from_secs_f64(seconds)));
        let judged: Vec<_> = objectives.iter().map(ToString::to_string).collect();
        let judged = if judged.is_empty() { "no objective".to_owned() } else { judged.join("; ") };
        let calibration = match machine {
            MachineCheck::Enforced => "calibrated before",
            MachineCheck::Overridden => "calibrated before; a load that is too much is run (--force)",
            MachineCheck::Skipped => "not calibrated",
        };
        self.fact(
            "limits",
            format!("{cap}, {} for a request", timeout.unwrap_or_else(|| "no limit".to_owned())),
        )
        .fact("judged by", judged)
        .fact("this machine", calibration)
    }

    /// Prints it.
    pub(in crate::cli) fn show(self, printer: Printer, format: Format) -> Result<(), Stop> {
        let command = command_line::masked(std::env::args_os()).join(" ");
        let Self { what, facts } = self.fact("command", command);
        let text = rendered(
            format,
            || documents::dry_run(&what, &facts),
            || {
                let facts = facts.iter().map(|(name, value)| serde_json::json!([name, value]));
                report::json(&serde_json::json!({ "dry_run": what, "facts": facts.collect::<Vec<_>>() }))
            },
        )?;
        printer.data(&text)
    }
}

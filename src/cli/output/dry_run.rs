//! `--dry-run`: what would be run, for how long and against what, while nothing is sent.

use std::path::Path;
use std::time::Duration;

use super::show::rendered;
use crate::analysis::LoadForm;
use crate::report::{self, Extent, Format, documents};
use crate::session::run::PlannedLoad;
use crate::session::settings::{MachineCheck, RunSettings, ServerAddress};
use crate::session::{PlannedRun, Printer, Stop, command_line};
use crate::units::{count, counted, joined, percent, spoken, three_digits};
use crate::workload::{Slo, WorkloadSpec};

/// A fact of what would be run.
type PlanFact = (&'static str, String);

/// Returns facts of the requests: what they are like, and which SLO they have.
fn planned_requests(spec: &WorkloadSpec) -> Vec<PlanFact> {
    let mut facts = vec![("workload", format!("{}, seed {}", spec.name, spec.seed))];
    for class in &spec.classes {
        let [input, output] = [&class.input_tokens, &class.output_tokens].map(|lengths| {
            let mean = lengths.mean();
            if mean.is_nan() { "as the file says".to_owned() } else { three_digits(mean) }
        });
        let slos = class.priorities.iter().map(|share| match class.priorities.len() {
            0 | 1 => slo(share.slo),
            _ => format!("{} of {} priority", slo(share.slo), share.priority),
        });
        let slos: Vec<_> = slos.collect();
        let shared = class.shared_prefix.as_ref().map(|prefixes| {
            let tokens = prefixes.tokens.mean();
            let part = percent(tokens / (tokens + class.input_tokens.mean()));
            let before = match prefixes.count {
                1 => "a shared prefix".to_owned(),
                number => format!("one of {} shared prefixes", count(number.into())),
            };
            format!(" after {before} of {} ({part} of both)", three_digits(tokens))
        });
        let sessions =
            class.prompt.dataset().and_then(|dataset| Some((dataset.found.as_ref()?, dataset.sessions_found()?)));
        let sessions = sessions.map(|(found, sessions)| {
            format!(
                "{} of {}, up to {} in one, each request of ",
                counted(found.rows, "session"),
                counted(sessions.requests, "request"),
                counted(sessions.most_agents.into(), "agent")
            )
        });
        let line = format!(
            "{}: {}{input} prompt tokens{} and {output} answer tokens on average, {}",
            class.name,
            sessions.unwrap_or_default(),
            shared.unwrap_or_default(),
            slos.join("; ")
        );
        facts.push(("requests", line));
    }
    let of_tenants = spec.tenants.iter().filter_map(|tenant| Some((&tenant.name, tenant.slo?)));
    facts.extend(of_tenants.map(|(name, bounds)| ("tenant", format!("{name}: {}", slo(bounds)))));
    facts.extend(spec.clients.as_ref().map(|clients| ("clients", documents::clients::in_words(clients))));
    facts
}

fn slo(slo: Slo) -> String {
    if slo.is_empty() { "no SLO".to_owned() } else { format!("SLO {}", documents::bounds(slo)) }
}

/// The first of the runs that make this load, and the load.
pub(in crate::cli) fn planned_load(runs: &[PlannedRun], load: &PlannedLoad) -> Vec<PlanFact> {
    let Some(PlannedRun { workload: spec, plan, .. }) = runs.first() else { return Vec::new() };
    let planned = plan.warmup_requests + plan.measured_requests;
    let form = LoadForm::from_workload(spec);
    let (thing, things, who) = match form {
        LoadForm::Open | LoadForm::Closed => ("request", "requests", "user"),
        LoadForm::PartlyOpen | LoadForm::Lanes => ("session", "sessions", "agent"),
    };
    let of_run = match (spec.arrival.users(), spec.requests) {
        (Some(_), Some(requests)) => counted(requests, thing),
        (Some(users), None) => format!("as many {things} as {} get answered", counted(users, who)),
        (None, _) if plan.warmup_requests == 0 => counted(planned, thing),
        (None, _) => format!("{}, {} of them in the warm-up", counted(planned, thing), count(plan.warmup_requests)),
    };
    let drain = spoken(Duration::from_secs_f64(spec.drain_s));
    vec![
        ("arrivals", documents::arrivals::in_words(&spec.arrival, form)),
        ("plan", format!("{of_run}; hash {:.12}", plan.hash)),
        (load.label(), load.to_string()),
        ("drain", format!("at most {drain} after a run, for answers that are still to come")),
    ]
}

/// A server, under a name of its own.
pub(in crate::cli) fn planned_server(name: &'static str, settings: &RunSettings) -> PlanFact {
    let server = &settings.server;
    let address = match &server.address {
        ServerAddress::EmbeddedMock(facts) => {
            let modelled = documents::deployment(facts).map(|facts| format!(" (a model of {facts})"));
            format!("inside this process{}", modelled.unwrap_or_default())
        }
        ServerAddress::At(urls) => format!("at {}", joined(urls.iter(), " and ")),
    };
    let model = server.common.model.as_deref().unwrap_or("the first that it lists");
    let shared = server.several().map(|routing| format!(", requests by {routing}")).unwrap_or_default();
    (name, format!("{} {address}, {}, model: {model}{shared}", server.common.dialect, server.common.endpoint))
}

/// Limits of the clients of this workload, and what its runs are judged by.
fn limits(settings: &RunSettings, spec: &WorkloadSpec) -> Vec<PlanFact> {
    let RunSettings { requests, objectives, machine, percentiles, share, .. } = settings;
    let limits = requests.limits(spec.clients.as_ref());
    let most =
        limits.caps_in_words().or_else(|| spec.arrival.users().map(|users| count(spec.most_in_flight_of(users))));
    let cap = most.map_or("no cap".to_owned(), |most| format!("at most {most} in flight"));
    let timeout = limits.total_timeout_s.map(|seconds| spoken(Duration::from_secs_f64(seconds)));
    let timeout = timeout.unwrap_or_else(|| "no limit".to_owned());
    let judged: Vec<_> = objectives.iter().map(ToString::to_string).collect();
    let judged = if judged.is_empty() { "no objective".to_owned() } else { judged.join("; ") };
    let calibration = match machine {
        MachineCheck::Enforced | MachineCheck::EnforcedForSeries => "calibrated before",
        MachineCheck::Overridden => "calibrated before; a load that is too much is run (--force)",
        MachineCheck::Skipped => "not calibrated",
    };
    let percentiles: Vec<_> = percentiles.iter().map(ToString::to_string).collect();
    let breakers: Vec<_> = requests.breakers().iter().map(ToString::to_string).collect();
    let breakers = if breakers.is_empty() { "nothing".to_owned() } else { breakers.join("; ") };
    let facts = [
        Some(("aborts on", breakers)),
        Some(("limits", format!("{cap}, {timeout} for a request"))),
        Some(("judged by", judged)),
        (!percentiles.is_empty()).then(|| ("percentiles", percentiles.join(", "))),
        Some(("this machine", calibration.to_owned())),
        share.shard.map(|shard| ("share", format!("{shard} of the plan"))),
        share.start_at.map(|moment| ("begins", moment.to_string())),
        share.start_together.as_ref().map(|folder| ("begins", format!("with all shards, in {}", folder.display()))),
    ];
    facts.into_iter().flatten().collect()
}

/// The options that were not typed, each with where it comes from.
pub(in crate::cli) fn planned_settings() -> Vec<PlanFact> {
    let settings = command_line::settings().into_iter();
    settings.map(|(option, source)| ("setting", format!("{option} from {source}"))).collect()
}

/// Runs that are planned and not carried out, as every verb shows them.
pub(in crate::cli) struct DryRun<'a> {
    pub(in crate::cli) verb: &'static str,
    pub(in crate::cli) spec: &'a WorkloadSpec,
    /// The servers under their names; all have the limits of the first.
    pub(in crate::cli) servers: &'a [(&'static str, &'a RunSettings)],
    pub(in crate::cli) warmup_requests: u64,
    pub(in crate::cli) out: &'a Path,
}

impl DryRun<'_> {
    /// Prints what would be run, with `own` facts of the verb.
    pub(in crate::cli) fn show(&self, own: Vec<PlanFact>, printer: Printer, format: Format) -> Result<(), Stop> {
        let Self { verb, spec, servers, .. } = self;
        // A person decides by all of it.
        let format = if let Format::Text(_) = format { Format::Text(Extent::Full) } else { format };
        let mut facts = planned_requests(spec);
        facts.extend(own);
        facts.extend(servers.iter().map(|(name, settings)| planned_server(name, settings)));
        facts.extend(servers.first().into_iter().flat_map(|(_, settings)| limits(settings, spec)));
        facts.push(("warm-up requests", self.warmup_requests.to_string()));
        facts.push(("stored in", self.out.display().to_string()));
        facts.extend(planned_settings());
        facts.push(("command", command_line::again(command_line::arguments(), &[], &[])));
        let what = format!("{verb} {}", spec.name);
        let json = || {
            let facts: Vec<_> = facts.iter().map(|(name, value)| serde_json::json!([name, value])).collect();
            report::json(&serde_json::json!({ "dry_run": what, "facts": facts }))
        };
        printer.data(&rendered(format, || documents::dry_run(&what, &facts), json)?)
    }
}

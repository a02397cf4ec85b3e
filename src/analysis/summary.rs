//! What a run was and what it found: the summary that every report reads.

use serde::Serialize;

use super::observed::Observed;
use super::{
    Alias, AnswerForms, ArrivalFigures, Attainment, CalibrationSummary, ClientLoad, ClosedLoop, Failures,
    Fairness, Finding, Group, InFlight, Judgement, LatencyTable, LoadForm, Objective, PauseImpact,
    PrefixCache, Quality, Rates, Reproduction, RequestCounts, ServerSide, Sessions, Stalls, SteadyState,
    TakenImages, TakenPrompts, TokenAccount, Verdict,
};
use crate::record::{
    DeploymentFacts, EngineFacts, HostFacts, Limits, Phase, PromptMethod, Repeat, RunEnding, RunLog, Shard,
};
use crate::workload::ArrivalPattern;

/// Everything that analysis found in a run; `summary.json` is this. What there is nothing to say about is
/// `null`, never 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Version of this format: [`Summary::SCHEMA`].
    pub schema: u32,
    /// Whether the figures can be trusted.
    pub verdict: Verdict,
    /// What was run.
    pub run: RunDescription,
    /// The stretch of time that the figures are about.
    pub window: Window,
    /// What became of the planned requests.
    pub requests: RequestCounts,
    /// When they came, beside when they should have.
    pub arrivals: ArrivalFigures,
    /// Flows per second.
    pub rates: Rates,
    /// Latencies.
    pub latency: LatencyTable,
    /// How many requests kept their promise.
    pub slo: Attainment,
    /// The same by class, in the order of the workload.
    pub by_class: Vec<Group>,
    /// The same by priority, the most urgent first.
    pub by_priority: Vec<Group>,
    /// The same by tenant, in the order of the workload; empty where nobody tells tenants apart.
    pub by_tenant: Vec<Group>,
    /// How evenly the tenants were served; absent with fewer than two.
    pub fairness: Option<Fairness>,
    /// The same by model, in the order of the workload; empty where all requests ask for one.
    pub by_model: Vec<Group>,
    /// Conversations, and how each of their turns fared; absent where there are none.
    pub sessions: Option<Sessions>,
    /// What the users of a closed loop reached; absent where the load is not closed.
    pub closed_loop: Option<ClosedLoop>,
    /// How many answers had the form that they were asked to have; absent where none was asked for one.
    pub answers: Option<AnswerForms>,
    /// How many golden prompts passed; absent where the workload has none.
    pub quality: Option<Quality>,
    /// What went wrong.
    pub failures: Failures,
    /// Tokens asked, told and seen.
    pub tokens: TokenAccount,
    /// What requests share, and how much of it a prefix cache gave back; absent where they share nothing.
    pub prefix_cache: Option<PrefixCache>,
    /// Long silences inside answers.
    pub stalls: Stalls,
    /// Requests in flight; absent for an empty window.
    pub in_flight: Option<InFlight>,
    /// Whether the system had settled; absent where the window is too short to tell, or the declared rate changes in it.
    pub steady_state: Option<SteadyState>,
    /// What the measuring machine had to do; absent where nobody watched.
    pub client: Option<ClientLoad>,
    /// What the server and its devices told of themselves; absent where no page of metrics was asked for.
    pub server: Option<ServerSide>,
    /// What its standstills could have done to the latencies; absent where nobody watched for them.
    pub pauses: Option<PauseImpact>,
    /// The same figures under the names that other tools give them, and figures of theirs that are not ours.
    pub aliases: Vec<Alias>,
    /// What was told of the server, by whom, and what of the description of the run nobody told.
    pub reproduction: Reproduction,
    /// Advice.
    pub findings: Vec<Finding>,
    /// What was demanded of the run, and whether it was met.
    pub objectives: Vec<Judgement>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDescription {
    /// Name of the workload.
    pub workload: String,
    /// Seed of its schedule.
    pub seed: u64,
    /// Its place among runs that repeat one another; absent for a run by itself.
    pub repeat: Option<Repeat>,
    /// When its requests arrived.
    pub arrival: ArrivalPattern,
    /// What makes a request wait for an answer before it.
    pub load: LoadForm,
    /// Names of the classes, in the order of the workload.
    pub classes: Vec<String>,
    /// SHA-256 of the plan.
    pub plan_hash: String,
    /// The share of the plan that was flown, where that was not the whole: all figures are about it alone.
    pub shard: Option<Shard>,
    /// How prompts were made.
    pub prompt_method: PromptMethod,
    /// What varied their texts: `--salt` with it says the same again. Absent where there were none.
    pub salt: Option<u64>,
    /// Datasets that prompts were taken from; left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<TakenPrompts>,
    /// Folders that images were taken from; left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TakenImages>,
    /// Names of the models that requests asked for, where they are several; else the one of `engine`.
    pub models: Vec<String>,
    /// Who answered.
    pub engine: EngineFacts,
    /// What serves, as the person said who ran it.
    pub deployment: DeploymentFacts,
    /// What the client enforced.
    pub limits: Limits,
    /// The machine that sent.
    pub host: HostFacts,
    /// What it was found to do before the run; absent where it was not asked.
    pub calibration: Option<CalibrationSummary>,
    /// Wall-clock time of the run's zero.
    pub started_at: jiff::Timestamp,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// Version of Skyline that flew the run.
    pub skyline_version: String,
}

impl RunDescription {
    /// The models that were asked for, or the one.
    #[must_use]
    pub fn model_names(&self) -> String {
        if self.models.is_empty() { self.engine.model.clone() } else { self.models.join(", ") }
    }
}

/// The stretch of time that the figures are about: seconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Window {
    /// Its first moment.
    pub start_s: f64,
    /// Its end: as planned, or the last release of a run that stopped before.
    pub end_s: f64,
    /// Its planned end.
    pub planned_end_s: f64,
    /// What made the run stop; absent when its log was cut off.
    pub ending: Option<RunEnding>,
    /// Whether the run stopped before every planned request had been let go.
    pub cut_short: bool,
    /// Requests flown before the window and not counted.
    pub warmup_requests: u64,
    /// Requests flown after the horizon, to keep the load up while the window's last ones finished; not counted.
    pub cooldown_requests: u64,
}

impl Window {
    /// Length in seconds.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        (self.end_s - self.start_s).max(0.0)
    }
}

impl Summary {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;
}

/// Turns a run's records into its summary and holds it against `objectives`.
///
/// The verdict's bar on the error rate gives way to an objective on it, where there is one.
#[must_use]
pub fn summarise(log: &RunLog, objectives: &[Objective]) -> Summary {
    let observed = Observed::of(log);
    let outcomes: Vec<_> = observed.requests.iter().map(|request| request.slo).collect();
    let (latency, stalls) = LatencyTable::of_run(&observed);
    let pauses = PauseImpact::of(&observed, &latency);
    let by_tenant = Group::by_tenant(&observed);
    let rates = Rates::of(&observed);
    let mut summary = Summary {
        schema: Summary::SCHEMA,
        verdict: Verdict::default(),
        run: describe(log),
        window: window(&observed),
        requests: RequestCounts::of(&observed),
        arrivals: ArrivalFigures::of(log),
        rates,
        latency,
        slo: Attainment::of(&observed, observed.due(), &outcomes),
        by_class: Group::by_class(&observed),
        by_priority: Group::by_priority(&observed),
        fairness: Fairness::of(&observed, &by_tenant),
        by_tenant,
        by_model: Group::by_model(&observed),
        sessions: Sessions::of(&observed),
        closed_loop: ClosedLoop::of(&observed),
        answers: AnswerForms::of(&observed),
        quality: Quality::of(log),
        failures: Failures::of(&observed),
        tokens: TokenAccount::of(&observed),
        prefix_cache: PrefixCache::of(log),
        stalls,
        in_flight: InFlight::of(&observed),
        steady_state: SteadyState::of(&observed),
        client: ClientLoad::of(log),
        server: ServerSide::of(&observed, &rates),
        pauses,
        aliases: Alias::all(&observed),
        reproduction: Reproduction::of(log),
        findings: Vec::new(),
        objectives: Vec::new(),
    };
    summary.verdict = Verdict::of(&observed, &summary, objectives);
    summary.findings = Finding::all(&summary);
    summary.objectives = objectives
        .iter()
        .map(|objective| Judgement {
            over_share: objective.over_share(&observed),
            ..objective.evaluate(&summary)
        })
        .collect();
    summary
}

fn describe(log: &RunLog) -> RunDescription {
    let header = log.header.clone();
    RunDescription {
        load: LoadForm::of(&header.workload),
        workload: header.workload.name,
        seed: header.workload.seed,
        repeat: header.repeat,
        arrival: header.workload.arrival,
        classes: header.workload.classes.into_iter().map(|class| class.name).collect(),
        plan_hash: header.plan.hash,
        shard: header.shard,
        salt: (header.prompts.method != PromptMethod::LengthsOnly).then_some(header.prompts.salt),
        prompt_method: header.prompts.method,
        datasets: TakenPrompts::all(log),
        images: TakenImages::all(log),
        models: header.workload.models.map(|mix| mix.names).unwrap_or_default(),
        engine: header.engine,
        deployment: header.deployment,
        limits: header.limits,
        host: header.host,
        calibration: header.calibration.map(CalibrationSummary::from),
        started_at: header.started_at,
        command: header.command,
        skyline_version: header.skyline_version,
    }
}

fn window(observed: &Observed<'_>) -> Window {
    let log = observed.log;
    Window {
        start_s: observed.start.as_secs_f64(),
        end_s: observed.end.max(observed.start).as_secs_f64(),
        planned_end_s: log.header.plan.window_end.as_secs_f64(),
        ending: log.footer.as_ref().map(|footer| footer.ending),
        cut_short: observed.cut_short,
        warmup_requests: log.header.plan.warmup_requests,
        cooldown_requests: log.records.iter().filter(|record| record.phase == Phase::Cooldown).count() as u64,
    }
}

#[cfg(test)]
mod tests;

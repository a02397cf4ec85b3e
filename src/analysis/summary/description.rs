//! What was run, and over which stretch of time.

use serde::Serialize;

use crate::analysis::client::load::CalibrationSummary;
use crate::analysis::requests::{LoadForm, Observed, TakenImages, TakenPrompts};
use crate::clock::Timestamp;
use crate::record::{
    ClientLimits, DeploymentFacts, EngineFacts, HostFacts, Phase, PromptMethod, Repeat, RunEnding, RunLog, Shard,
};
use crate::workload::{ArrivalPattern, ClientBehaviour, InputBatch, Purpose};

/// Description of what was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDescription {
    /// Name of the workload.
    pub workload: String,
    /// Purpose of the workload. Left out where that is a measurement.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub purpose: Purpose,
    /// Seed of its schedule.
    pub seed: u64,
    /// Place of the run among those that repeat one another. Absent for a run by itself.
    pub repeat: Option<Repeat>,
    /// When its requests arrived.
    pub arrival: ArrivalPattern,
    /// Form of the load: what makes a request wait for an answer before it.
    pub load: LoadForm,
    /// Names of the classes, in the order of the workload.
    pub classes: Vec<String>,
    /// Inputs of each request, of the first class. Left out where answers are texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputBatch>,
    /// SHA-256 of the plan.
    pub plan_hash: String,
    /// The share of the plan that was run, where that was not the whole. All figures are about it alone.
    pub shard: Option<Shard>,
    /// Upper bound of the distance between the clocks of several generators. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_skew_ms: Option<f64>,
    /// How prompts were made.
    pub prompt_method: PromptMethod,
    /// Salt that varied the texts of the prompts. `--salt` with it says the same again. Absent where there were none.
    pub salt: Option<u64>,
    /// Datasets that prompts were taken from; left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<TakenPrompts>,
    /// Folders that images were taken from; left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TakenImages>,
    /// Names of the requested models, if there are several; else the one of `engine`.
    pub models: Vec<String>,
    /// The server that answered.
    pub engine: EngineFacts,
    /// Deployment that serves, as the user states it.
    pub deployment: DeploymentFacts,
    /// Limits that the client enforced.
    pub limits: ClientLimits,
    /// Behaviour of clients when an answer is late or refused. Left out where the workload does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientBehaviour>,
    /// The machine that sent.
    pub host: HostFacts,
    /// Calibration of the machine before the run. Absent if it was not measured.
    pub calibration: Option<CalibrationSummary>,
    /// Wall-clock time of the run's zero.
    pub started_at: jiff::Timestamp,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// Version of Skyline that ran it.
    pub skyline_version: String,
}

impl RunDescription {
    /// Description of the run of a log.
    pub(super) fn from_log(log: &RunLog) -> Self {
        let header = log.header.clone();
        Self {
            engine: log.header.engine().clone(),
            load: LoadForm::from_workload(&header.workload),
            inputs: header.workload.inputs(),
            workload: header.workload.name,
            purpose: header.workload.purpose,
            seed: header.workload.seed,
            repeat: header.repeat,
            arrival: header.workload.arrival,
            classes: header.workload.classes.into_iter().map(|class| class.name).collect(),
            plan_hash: header.plan.hash,
            shard: header.shard,
            clock_skew_ms: header.shard_skew_ns.map(|skew| skew as f64 / 1e6),
            salt: (header.prompts.method != PromptMethod::LengthsOnly).then_some(header.prompts.salt),
            prompt_method: header.prompts.method,
            datasets: TakenPrompts::all(log),
            images: TakenImages::all(log),
            models: header.workload.models.map(|mix| mix.names).unwrap_or_default(),
            deployment: header.deployment,
            limits: header.limits,
            clients: header.workload.clients,
            host: header.host,
            calibration: header.calibration.map(CalibrationSummary::from),
            started_at: header.started_at,
            command: header.command,
            skyline_version: header.skyline_version,
        }
    }

    /// The models that were asked for, or the one.
    pub fn model_names(&self) -> String {
        if self.models.is_empty() { self.engine.model.clone() } else { self.models.join(", ") }
    }
}

/// The stretch of time that the figures are about: seconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Window {
    /// First moment of the window.
    pub start_s: f64,
    /// End of the window, as planned. Of a run that stopped before it is the last release. Where users send so many
    /// requests together it is the last answer.
    pub end_s: f64,
    /// Planned end of the window.
    pub planned_end_s: f64,
    /// The end of the time over which answers are counted. It is given where that is not the window's: most answers to
    /// the requests of the window came after it and no load followed, or none came in it, or a number of requests ends
    /// the run. Completed requests, tokens and goodput are then per second until the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_end_s: Option<f64>,
    /// Moment at which the last counted request was due, where their number ends the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_end_s: Option<f64>,
    /// Reason for the stop of the run. Absent when its log was cut off.
    pub ending: Option<RunEnding>,
    /// Whether the run stopped before every planned request was dispatched.
    pub cut_short: bool,
    /// Warm-up requests, before the window; not counted.
    pub warmup_requests: u64,
    /// Cool-down requests that were sent after the window, and are not counted. They keep the load up while the
    /// window's last ones finish.
    pub cooldown_requests: u64,
}

impl Window {
    /// The window of a run.
    pub(super) fn from_observed(observed: &Observed<'_>) -> Self {
        let log = observed.log;
        let plan = &log.header.plan;
        // Where the server decides the end, it is planned nowhere.
        let until_answered = plan.is_open_ended() && !observed.cut_short;
        let end = if until_answered { observed.end.max(observed.answers_end) } else { observed.end };
        let planned_end = if plan.is_open_ended() { end } else { plan.window_end };
        let counted = log.header.workload.requests.is_some();
        let due = log.records.iter().filter(|record| record.phase == Phase::Measured).map(|record| record.scheduled);
        let of_phase = |phase| log.records.iter().filter(|record| record.phase == phase).count() as u64;
        Self {
            start_s: observed.start.as_secs_f64(),
            end_s: end.max(observed.start).as_secs_f64(),
            planned_end_s: planned_end.as_secs_f64(),
            answers_end_s: Some(observed.answers_end)
                .filter(|answers_end| *answers_end > end || counted && *answers_end < end)
                .map(Timestamp::as_secs_f64),
            load_end_s: due.max().filter(|_| counted).map(Timestamp::as_secs_f64),
            ending: log.footer.as_ref().map(|footer| footer.ending),
            cut_short: observed.cut_short,
            // Users send more in it than their first requests, which alone are planned.
            warmup_requests: match log.header.workload.arrival.users() {
                None if plan.warmup_requests > 0 => plan.warmup_requests,
                _ => plan.warmup_requests.max(of_phase(Phase::Warmup)),
            },
            cooldown_requests: of_phase(Phase::Cooldown),
        }
    }

    /// Whether the run came to its end. One that was stopped early measured another window than was planned.
    pub fn is_whole(&self) -> bool {
        matches!(self.ending, Some(RunEnding::Finished | RunEnding::DrainLimit)) && !self.cut_short
    }

    /// Length in seconds.
    pub fn length_s(&self) -> f64 {
        (self.end_s - self.start_s).max(0.0)
    }

    /// Seconds in which answers are counted, where that is not the window.
    pub fn answers_s(&self) -> Option<f64> {
        Some(self.answers_end_s? - self.start_s)
    }

    /// Seconds for which answers are counted.
    pub fn counted_s(&self) -> f64 {
        self.answers_s().unwrap_or_else(|| self.length_s())
    }
}

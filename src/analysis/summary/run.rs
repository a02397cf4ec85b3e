//! What a run was and what it found: the summary that every report reads.

use serde::Serialize;

use super::reproduction::Reproduction;
use crate::analysis::arrivals::figures::ArrivalFigures;
use crate::analysis::checklist::item::Checklist;
use crate::analysis::client::effects::ClientEffect;
use crate::analysis::client::load::{CalibrationSummary, ClientLoad};
use crate::analysis::client::pauses::HostStallImpact;
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::{Quantile, Unresolvable};
use crate::analysis::findings::finding::Finding;
use crate::analysis::latency::aliases::Alias;
use crate::analysis::latency::gaps::Stalls;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::load::aftermath::SpikeAftermath;
use crate::analysis::load::attempts::AttemptFigures;
use crate::analysis::load::closed_loop::ClosedLoop;
use crate::analysis::load::rates::{InFlight, Rates};
use crate::analysis::load::served::Served;
use crate::analysis::load::sessions::Sessions;
use crate::analysis::load::steady_state::SteadyState;
use crate::analysis::parts::fairness::Fairness;
use crate::analysis::parts::part::Part;
use crate::analysis::parts::tags::TagValues;
use crate::analysis::requests::delivery::StreamDelivery;
use crate::analysis::requests::form::LoadForm;
use crate::analysis::requests::oddities::OddAnswers;
use crate::analysis::requests::outcomes::{Failures, RequestCounts};
use crate::analysis::requests::quality::{AnswerForms, Quality};
use crate::analysis::requests::speed::RequestSpeed;
use crate::analysis::requests::taken::{TakenImages, TakenPrompts};
use crate::analysis::requests::tokens::TokenAccount;
use crate::analysis::server::costs::Costs;
use crate::analysis::server::prefix_cache::{MeasuredHits, PrefixCache};
use crate::analysis::server::reported::ServerSide;
use crate::analysis::slo::attainment::Attainment;
use crate::analysis::slo::judgement::Judgement;
use crate::analysis::verdict::check::Verdict;
use crate::record::{
    BreakerTrip, ClientLimits, DeploymentFacts, EngineFacts, HostFacts, LogDamage, PartKind, PromptMethod,
    Repeat, RunEnding, Shard,
};
use crate::workload::{ArrivalPattern, ClientBehaviour, Purpose};

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
    /// What the log has lost since it was written; left out where it is whole.
    #[serde(skip_serializing_if = "LogDamage::is_none")]
    pub log_damage: LogDamage,
    /// Outcomes of the planned requests.
    pub requests: RequestCounts,
    /// The indices of those, warm-up included, that left no record although they were due; left out where
    /// there are none. Of later turns only some are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecorded_requests: Vec<u64>,
    /// Actual arrivals against planned ones.
    pub arrivals: ArrivalFigures,
    /// Flows per second.
    pub rates: Rates,
    /// Output tokens per second of each request; absent where no request has one.
    pub request_speed: Option<RequestSpeed>,
    /// Latencies.
    pub latency: LatencyTable,
    /// How many requests met their SLO.
    pub slo: Attainment,
    /// Figures of its parts, kind by kind: each class, priority, tenant, model and tag in the order of the workload,
    /// tags by how frequent they are, each phase of a load that changes, and each turn of conversations.
    pub parts: Vec<Part>,
    /// Tags of its requests, in alphabetical order; left out where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagValues>,
    /// How evenly the tenants were served; absent with fewer than two.
    pub fairness: Option<Fairness>,
    /// Conversations; absent where there are none.
    pub sessions: Option<Sessions>,
    /// What the users of a closed loop reached; absent where the load is not closed.
    pub closed_loop: Option<ClosedLoop>,
    /// What clients that retry or hedge did; left out where each request was sent once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptFigures>,
    /// How many answers had the requested form; absent if no form was requested.
    pub answers: Option<AnswerForms>,
    /// How many golden prompts passed; absent where the workload has none.
    pub quality: Option<Quality>,
    /// What its answers cost, in money and in energy; left out where neither is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// What went wrong.
    pub failures: Failures,
    /// Tokens requested, reported and received.
    pub tokens: TokenAccount,
    /// Oddities of answers, by their kind; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub oddities: Vec<OddAnswers>,
    /// Whether streams came token by token.
    pub delivery: StreamDelivery,
    /// What requests share, and how much of it a prefix cache gave back; absent where they share nothing.
    pub prefix_cache: Option<PrefixCache>,
    /// The share of prompt tokens that a prefix cache gave back, whatever requests share; left out where
    /// nothing reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<MeasuredHits>,
    /// Long silences inside answers.
    pub stalls: Stalls,
    /// Requests in flight; absent for an empty window.
    pub in_flight: Option<InFlight>,
    /// Goodput recovery: how requests fared before the only spike of the load and after it; left out where
    /// there is none to come back from, and where clients have no declared behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<SpikeAftermath>,
    /// Whether the system had settled; absent where the window is too short to tell, or the declared rate
    /// changes in it.
    pub steady_state: Option<SteadyState>,
    /// Requests that ended in the window beside those offered; absent in a closed loop and for a burst.
    pub(crate) served: Option<Served>,
    /// What the measuring machine had to do; absent where it was not watched.
    pub client: Option<ClientLoad>,
    /// What the server and its devices reported; absent if no metrics page was requested.
    pub server: Option<ServerSide>,
    /// What its host stalls could have done to the latencies; absent where they were not watched.
    pub host_stalls: Option<HostStallImpact>,
    /// By how much this machine's lateness could have raised the latencies; empty where it did not matter.
    pub(crate) client_effects: Vec<ClientEffect>,
    /// The same figures under the names that other tools give them, and figures of theirs that are not ours.
    pub aliases: Vec<Alias>,
    /// What is reported of the server, by which source, and what is missing to repeat the run.
    pub reproduction: Reproduction,
    /// Advice.
    pub findings: Vec<Finding>,
    /// Whether it was measured and reported so that it can be trusted; left out of smoke runs and simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checklist: Option<Checklist>,
    /// What was demanded of the run, and whether it was met.
    pub objectives: Vec<Judgement>,
    /// The circuit breaker that ended the run; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerTrip>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDescription {
    /// Name of the workload.
    pub workload: String,
    /// What it was for; left out where that is a measurement.
    #[serde(skip_serializing_if = "crate::workload::reading::is_usual")]
    pub purpose: Purpose,
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
    /// The share of the plan that was run, where that was not the whole: all figures are about it alone.
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
    /// Names of the requested models, if there are several; else the one of `engine`.
    pub models: Vec<String>,
    /// The server that answered.
    pub engine: EngineFacts,
    /// What serves, as the user states it.
    pub deployment: DeploymentFacts,
    /// What the client enforced.
    pub limits: ClientLimits,
    /// How clients behave when an answer is late or refused; left out where the workload does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<ClientBehaviour>,
    /// The machine that sent.
    pub host: HostFacts,
    /// What was measured of it before the run; absent if it was not measured.
    pub calibration: Option<CalibrationSummary>,
    /// Wall-clock time of the run's zero.
    pub started_at: jiff::Timestamp,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// Version of Skyline that ran it.
    pub skyline_version: String,
}

impl RunDescription {
    /// The models that were asked for, or the one.
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
    /// Its end: as planned, or the last release of a run that stopped before; the last answer where users send so many
    /// requests together.
    pub end_s: f64,
    /// Its planned end.
    pub planned_end_s: f64,
    /// The end of the time over which answers are counted, where that is not the window's: most answers to
    /// the requests of the window came after it and no load followed, or none came in it, or a number of
    /// requests ends the run. Completed requests, tokens and goodput are then per second until the last
    /// answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_end_s: Option<f64>,
    /// Moment at which the last counted request was due, where their number ends the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_end_s: Option<f64>,
    /// What made the run stop; absent when its log was cut off.
    pub ending: Option<RunEnding>,
    /// Whether the run stopped before every planned request was dispatched.
    pub cut_short: bool,
    /// Warm-up requests, before the window; not counted.
    pub warmup_requests: u64,
    /// Cool-down requests that were sent after the window, which keep the load up while the window's last
    /// ones finish; not counted.
    pub cooldown_requests: u64,
}

impl Window {
    /// Whether the run came to its end: one that was stopped early measured another window than was planned.
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

impl Summary {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 4;

    /// Its parts of one kind.
    pub fn parts_of(&self, kind: PartKind) -> Vec<&Part> {
        self.parts.iter().filter(|part| part.kind == kind).collect()
    }

    /// Length of a window with as many independent samples as `quantile` needs, at the rate of this run, seconds.
    ///
    /// `None` where the window is too short to tell how requests depend on one another, and for a burst or a number of
    /// requests: more of them is no longer window.
    pub fn window_for(&self, quantile: Quantile) -> Option<f64> {
        let row = self.latency.row(Metric::Ttft).or_else(|| self.latency.row(Metric::E2e))?;
        let rate = self.rates.requests_per_s().filter(|_| self.window.answers_end_s.is_none())?;
        let median = row.percentile(Quantile::P50);
        let worth =
            median.effective_samples.filter(|_| median.unresolvable != Some(Unresolvable::WindowTooShort))?;
        Some(quantile.plenty() as f64 * row.n as f64 / worth / rate)
    }

    /// Whether all of its requests were to leave at once, so that none waited for the answer to another.
    pub fn is_all_at_once(&self) -> bool {
        let Self { window, run, requests, .. } = self;
        let all = requests.planned + window.warmup_requests;
        let at_once = matches!(run.arrival, ArrivalPattern::Users { users, ramp_s, .. } if users == all && ramp_s <= 0.0);
        window.load_end_s.is_some() && at_once
    }

    /// Which circuit breaker ended the run, and why; `None` where none did.
    pub fn aborted(&self) -> Option<String> {
        self.breaker.as_ref().map(|trip| format!("`{}` ended the run ({})", trip.breaker, trip.found))
    }
}

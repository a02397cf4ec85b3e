//! What a run was and what it found: the summary that every report reads.

use serde::Serialize;

use super::description::{RunDescription, Window};
use super::reproduction::Reproduction;
use super::scenario::ScenarioFigures;
use crate::analysis::arrivals::figures::ArrivalFigures;
use crate::analysis::client::effects::ClientEffect;
use crate::analysis::client::load::ClientLoad;
use crate::analysis::client::pauses::HostStallImpact;
use crate::analysis::figures::{Metric, Quantile, Unresolvable};
use crate::analysis::judgements::{Checklist, Finding, Verdict};
use crate::analysis::latency::aliases::Alias;
use crate::analysis::latency::gaps::Stalls;
use crate::analysis::latency::table::LatencyTable;
use crate::analysis::load::acceptable::Acceptable;
use crate::analysis::load::aftermath::SpikeAftermath;
use crate::analysis::load::attempts::AttemptFigures;
use crate::analysis::load::closed_loop::ClosedLoop;
use crate::analysis::load::rates::{InFlight, Rates};
use crate::analysis::load::served::Served;
use crate::analysis::load::sessions::Sessions;
use crate::analysis::load::steady_state::SteadyState;
use crate::analysis::parts::fairness::Fairness;
use crate::analysis::parts::part::Part;
use crate::analysis::parts::servers::ServerGroup;
use crate::analysis::parts::tags::TagValues;
use crate::analysis::requests::{
    Accuracy, AnswerForms, Failures, Observed, OddAnswers, Quality, RealTimeFactor, RequestCounts, RequestSpeed,
    ScoredRows, StreamDelivery, TokenAccount, TokenDeadlines, unrecorded_requests,
};
use crate::analysis::server::costs::Costs;
use crate::analysis::server::leaving::LeavingFigures;
use crate::analysis::server::prefix_cache::{MeasuredHits, PrefixCacheFigures};
use crate::analysis::server::reported::ServerSide;
use crate::analysis::server::speculation::SpeculationFigures;
use crate::analysis::slo::attainment::Attainment;
use crate::analysis::slo::judgement::Judgement;
use crate::analysis::slo::objective::Objective;
use crate::record::{BreakerTrip, ColdStart, LogDamage, PartKind, ProfiledStretch};
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
    /// Description of what was run.
    pub run: RunDescription,
    /// The stretch of time that the figures are about.
    pub window: Window,
    /// Losses of the log since it was written. Left out where it is whole.
    #[serde(skip_serializing_if = "LogDamage::is_none")]
    pub log_damage: LogDamage,
    /// Outcomes of the planned requests.
    pub requests: RequestCounts,
    /// Indices of requests, warm-up included, that left no record although they were due. Left out where there are
    /// none. Of later turns only some are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecorded_requests: Vec<u64>,
    /// Actual arrivals against planned ones.
    pub arrivals: ArrivalFigures,
    /// Flows per second.
    pub rates: Rates,
    /// Output tokens per second of each request; absent where no request has one.
    pub request_speed: Option<RequestSpeed>,
    /// Time of each request over that of its audio. Left out where requests have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time_factor: Option<RealTimeFactor>,
    /// Latencies.
    pub latency: LatencyTable,
    /// How many requests met their SLO.
    pub slo: Attainment,
    /// How many tokens came later than their SLO allows. Left out where no request has bounds on TTFT and TPOT, or
    /// streams do not show when tokens came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<TokenDeadlines>,
    /// Figures of its parts, kind by kind. They are each class, priority, tenant, model and tag in the order of the
    /// workload, tags by how frequent they are, each phase of a load that changes, each turn of conversations, and
    /// each of several servers and addresses.
    pub parts: Vec<Part>,
    /// Tags of its requests, in alphabetical order; left out where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<TagValues>,
    /// How evenly the tenants were served; absent with fewer than two.
    pub fairness: Option<Fairness>,
    /// Shares of several servers, or of the addresses of one name, in the requests. Left out where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServerGroup>,
    /// Conversations; absent where there are none.
    pub sessions: Option<Sessions>,
    /// Figures that the users of a closed loop reached. Absent where the load is not closed.
    pub closed_loop: Option<ClosedLoop>,
    /// Attempts of clients that retry or hedge. Left out where each request was sent once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<AttemptFigures>,
    /// Clients who left before their answer was complete. Left out where all were to stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<LeavingFigures>,
    /// How many answers had the requested form; absent if no form was requested.
    pub answers: Option<AnswerForms>,
    /// Scores of answers by the rows of datasets. Left out where none is scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Scores of each prompt.
    #[serde(skip)]
    pub(crate) scored_rows: ScoredRows,
    /// How many golden prompts passed; absent where the workload has none.
    pub quality: Option<Quality>,
    /// Costs of the run's answers, in money and in energy. Left out where neither is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// Failures of requests.
    pub failures: Failures,
    /// Tokens requested, reported and received.
    pub tokens: TokenAccount,
    /// Oddities of answers, by their kind; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub oddities: Vec<OddAnswers>,
    /// Whether streams came token by token.
    pub delivery: StreamDelivery,
    /// Prefixes that requests share, and how much of them a prefix cache gave back. Absent where they share nothing.
    pub prefix_cache: Option<PrefixCacheFigures>,
    /// The share of prompt tokens that a prefix cache gave back, whatever requests share. Left out where nothing
    /// reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<MeasuredHits>,
    /// Speculative decoding by the server's totals over the window. Left out where it does not tell of drafts, or made
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speculation: Option<SpeculationFigures>,
    /// Long silences inside answers.
    pub stalls: Stalls,
    /// Requests in flight; absent for an empty window.
    pub in_flight: Option<InFlight>,
    /// Goodput recovery, how requests fared before the only spike of the load and after it. Left out where there is
    /// none to come back from, and where clients have no declared behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<SpikeAftermath>,
    /// Whether the system had settled. Absent where the window is too short to tell, or the declared rate changes in
    /// it.
    pub steady_state: Option<SteadyState>,
    /// Requests that ended in the window beside those offered. Absent in a closed loop and for a burst.
    pub(crate) served: Option<Served>,
    /// Load of the measuring machine. Absent where it was not watched.
    pub client: Option<ClientLoad>,
    /// Start of the server, where it was started for this run; left out where not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold_start: Option<ColdStart>,
    /// Figures that the server and its devices reported. Absent if no metrics page was requested.
    pub server: Option<ServerSide>,
    /// Effects that the machine's host stalls could have had on the latencies. Absent where they were not watched.
    pub host_stalls: Option<HostStallImpact>,
    /// Effects that this machine's lateness could have had on the latencies. Empty where it did not matter.
    pub(crate) client_effects: Vec<ClientEffect>,
    /// Figures under the names that other tools give them. Some are figures of theirs that are not ours.
    pub aliases: Vec<Alias>,
    /// Facts of the server with their sources, and what is missing to repeat the run.
    pub reproduction: Reproduction,
    /// Advice.
    pub findings: Vec<Finding>,
    /// Whether it was measured and reported so that it can be trusted. Left out of smoke runs and simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checklist: Option<Checklist>,
    /// Rules of its scenario; left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioFigures>,
    /// Objectives demanded of the run, and whether they were met.
    pub objectives: Vec<Judgement>,
    /// The circuit breaker that ended the run; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerTrip>,
    /// The stretch in which the server profiled itself; left out where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfiledStretch>,
}

impl Summary {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 4;

    /// Summary of what was measured, so far without what rules and `objectives` say of it.
    pub(crate) fn new(observed: &Observed<'_>, objectives: &[Objective]) -> Self {
        let log = observed.log;
        let (latency, stalls) = LatencyTable::of_run(observed);
        let (host_stalls, without_stalls) = HostStallImpact::from_observed(observed).unzip();
        let without_stalls = without_stalls.flatten();
        let client = ClientLoad::from_log(log);
        let client_effects = ClientEffect::all(observed, &latency, client.as_ref(), without_stalls.as_ref());
        let tags = TagValues::all(observed, objectives);
        let parts = Part::all(observed, &tags);
        let rates = Rates::from_observed(observed);
        let every = observed.requests.iter().collect::<Vec<_>>();
        let slo = Attainment::new(observed, observed.due(), &every, |_| true);
        let accuracy = Accuracy::new(&log.header.workload, &every);
        let attempts = AttemptFigures::new(observed, rates.offered_requests_per_s, &slo);
        let in_flight = InFlight::from_observed(observed);
        let quality = Quality::from_log(log);
        let acceptable = Acceptable::new(observed, quality.as_ref(), objectives);
        let server = ServerSide::new(observed, &rates);
        let energy = server.as_ref().and_then(|server| server.energy.as_ref());
        let cache_hits = MeasuredHits::new(log, server.as_ref());
        let costs = Costs::new(observed, &rates, energy, acceptable);
        let prefix_cache = PrefixCacheFigures::new(log, cache_hits);
        let priming = prefix_cache.as_ref().and_then(|cache| cache.priming);
        Self {
            schema: Self::SCHEMA,
            verdict: Verdict::default(),
            run: RunDescription::from_log(log),
            window: Window::from_observed(observed),
            log_damage: log.damage.clone(),
            requests: RequestCounts::from_observed(observed),
            unrecorded_requests: unrecorded_requests(observed),
            arrivals: ArrivalFigures::from_log(log),
            rates,
            latency,
            slo,
            deadlines: TokenDeadlines::from_observed(observed),
            fairness: Fairness::new(observed, &parts),
            servers: ServerGroup::new(observed, &parts, server.as_ref()),
            parts,
            tags,
            sessions: Sessions::from_observed(observed),
            closed_loop: ClosedLoop::from_observed(observed),
            attempts,
            leaving: LeavingFigures::new(observed, in_flight),
            answers: AnswerForms::from_observed(observed),
            scored_rows: accuracy.map(|_| ScoredRows::new(&every)).unwrap_or_default(),
            accuracy,
            quality,
            costs,
            failures: Failures::from_observed(observed),
            tokens: TokenAccount::from_observed(observed),
            oddities: OddAnswers::all(observed),
            request_speed: RequestSpeed::from_observed(observed),
            real_time_factor: RealTimeFactor::from_observed(observed),
            delivery: observed.delivery,
            prefix_cache,
            cache_hits,
            speculation: SpeculationFigures::new(observed, server.as_ref()),
            stalls,
            in_flight,
            aftermath: SpikeAftermath::from_observed(observed),
            steady_state: SteadyState::from_observed(observed),
            served: Served::from_observed(observed),
            client,
            server,
            host_stalls,
            client_effects,
            aliases: Alias::all(observed),
            reproduction: Reproduction::from_log(log),
            findings: Vec::new(),
            checklist: None,
            scenario: ScenarioFigures::from_log(log, priming),
            objectives: Vec::new(),
            breaker: log.footer.as_ref().and_then(|footer| footer.breaker.clone()),
            cold_start: log.header.cold_start,
            profile: log.footer.as_ref().and_then(|footer| footer.profile.clone()),
        }
    }

    /// Returns the parts of one kind.
    pub fn parts_of(&self, kind: PartKind) -> Vec<&Part> {
        self.parts.iter().filter(|part| part.kind == kind).collect()
    }

    /// Returns the length of a window with the independent samples that `quantile` needs, seconds. It is at the rate of
    /// this run.
    ///
    /// `None` where the window is too short to tell how requests depend on one another, and for a burst or a number of
    /// requests: more of them is no longer window.
    pub fn window_for(&self, quantile: Quantile) -> Option<f64> {
        let row = self.latency.row(Metric::Ttft).or_else(|| self.latency.row(Metric::E2e))?;
        let rate = self.rates.requests_per_s().filter(|_| self.window.answers_end_s.is_none())?;
        let median = row.percentile(Quantile::P50);
        let worth = median.effective_samples.filter(|_| median.unresolvable != Some(Unresolvable::WindowTooShort))?;
        Some(quantile.plenty() as f64 * row.n as f64 / worth / rate)
    }

    /// Whether all of its requests were to leave at once. None then waited for the answer to another.
    pub fn is_all_at_once(&self) -> bool {
        let Self { window, run, requests, .. } = self;
        let all = requests.planned + window.warmup_requests;
        let ArrivalPattern::Users { users, ramp_s, .. } = run.arrival else { return false };
        window.load_end_s.is_some() && users == all && ramp_s <= 0.0
    }

    /// Says which circuit breaker ended the run, and why. `None` where none did.
    pub fn aborted(&self) -> Option<String> {
        self.breaker.as_ref().map(|trip| format!("`{}` ended the run ({})", trip.breaker, trip.found))
    }
}

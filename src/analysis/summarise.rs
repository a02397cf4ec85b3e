//! Turns the records of a run into its summary.

use crate::analysis::arrivals::figures::ArrivalFigures;
use crate::analysis::checklist::evidence::Evidence;
use crate::analysis::checklist::item::Checklist;
use crate::analysis::client::effects::ClientEffect;
use crate::analysis::client::load::{CalibrationSummary, ClientLoad};
use crate::analysis::client::pauses::HostStallImpact;
use crate::analysis::findings::finding::Finding;
use crate::analysis::latency::aliases::Alias;
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
use crate::analysis::parts::tags::TagValues;
use crate::analysis::requests::form::LoadForm;
use crate::analysis::requests::observed::{Observed, unrecorded_requests};
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
use crate::analysis::slo::objective::Objective;
use crate::analysis::summary::reproduction::Reproduction;
use crate::analysis::summary::run::{RunDescription, Summary, Window};
use crate::analysis::verdict::check::Verdict;
use crate::analysis::verdict::judge::judge;
use crate::clock::Timestamp;
use crate::record::{Phase, PromptMethod, RunLog};

/// Turns a run's records into its summary and judges it by `objectives`.
///
/// An objective on the error rate takes the place of the verdict's limit on it.
pub fn summarise(log: &RunLog, objectives: &[Objective]) -> Summary {
    let observed = Observed::from_log(log);
    let (latency, stalls) = LatencyTable::of_run(&observed);
    let (host_stalls, without_stalls) = HostStallImpact::from_observed(&observed).unzip();
    let without_stalls = without_stalls.flatten();
    let client = ClientLoad::from_log(log);
    let client_effects = ClientEffect::all(&observed, &latency, client.as_ref(), without_stalls.as_ref());
    let tags = TagValues::all(&observed, objectives);
    let parts = Part::all(&observed, &tags);
    let rates = Rates::from_observed(&observed);
    let every = observed.requests.iter().collect::<Vec<_>>();
    let slo = Attainment::new(&observed, observed.due(), &every, |_| true);
    let attempts = AttemptFigures::new(&observed, rates.offered_requests_per_s, &slo);
    let quality = Quality::from_log(log);
    let acceptable = Acceptable::new(&observed, quality.as_ref(), objectives);
    let server = ServerSide::new(&observed, &rates);
    let energy = server.as_ref().and_then(|server| server.energy.as_ref());
    let cache_hits = MeasuredHits::new(log, server.as_ref());
    let costs = Costs::new(&observed, &rates, energy, acceptable);
    let mut summary = Summary {
        schema: Summary::SCHEMA,
        verdict: Verdict::default(),
        run: describe(log),
        window: window(&observed),
        log_damage: log.damage.clone(),
        requests: RequestCounts::from_observed(&observed),
        unrecorded_requests: unrecorded_requests(&observed),
        arrivals: ArrivalFigures::from_log(log),
        rates,
        latency,
        slo,
        fairness: Fairness::new(&observed, &parts),
        parts,
        tags,
        sessions: Sessions::from_observed(&observed),
        closed_loop: ClosedLoop::from_observed(&observed),
        attempts,
        answers: AnswerForms::from_observed(&observed),
        quality,
        costs,
        failures: Failures::from_observed(&observed),
        tokens: TokenAccount::from_observed(&observed),
        oddities: OddAnswers::all(&observed),
        request_speed: RequestSpeed::from_observed(&observed),
        delivery: observed.delivery,
        prefix_cache: PrefixCache::new(log, cache_hits),
        cache_hits,
        stalls,
        in_flight: InFlight::from_observed(&observed),
        aftermath: SpikeAftermath::from_observed(&observed),
        steady_state: SteadyState::from_observed(&observed),
        served: Served::from_observed(&observed),
        client,
        server,
        host_stalls,
        client_effects,
        aliases: Alias::all(&observed),
        reproduction: Reproduction::from_log(log),
        findings: Vec::new(),
        checklist: None,
        objectives: Vec::new(),
        breaker: log.footer.as_ref().and_then(|footer| footer.breaker.clone()),
    };
    summary.verdict = judge(&observed, &summary, objectives);
    summary.findings = Finding::all(&summary);
    summary.checklist = Checklist::from_evidence(&Evidence::of_run(log, &summary));
    summary.objectives = Objective::evaluate_all(objectives, &observed, &summary);
    summary
}

fn describe(log: &RunLog) -> RunDescription {
    let header = log.header.clone();
    RunDescription {
        engine: log.header.engine().clone(),
        load: LoadForm::from_workload(&header.workload),
        workload: header.workload.name,
        purpose: header.workload.purpose,
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

fn window(observed: &Observed<'_>) -> Window {
    let log = observed.log;
    let plan = &log.header.plan;
    // Where the server decides the end, it is planned nowhere.
    let until_answered = plan.is_open_ended() && !observed.cut_short;
    let end = if until_answered { observed.end.max(observed.answers_end) } else { observed.end };
    let planned_end = if plan.is_open_ended() { end } else { plan.window_end };
    let counted = log.header.workload.requests.is_some();
    let due =
        log.records.iter().filter(|record| record.phase == Phase::Measured).map(|record| record.scheduled);
    let of_phase = |phase| log.records.iter().filter(|record| record.phase == phase).count() as u64;
    Window {
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

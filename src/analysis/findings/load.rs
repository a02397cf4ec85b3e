//! Advice on the load: how the run ended, whether it settled, and how its requests arrived.

use super::row::{FindingRow, GONE, GREW, when};
use super::{kinds, uneven};
use crate::analysis::figures::{Figure, Metric, Quantile};
use crate::analysis::judgements::{FindingKind as Kind, Rule};
use crate::analysis::load::aftermath::SpikeAftermath;
use crate::analysis::requests::LoadForm;
use crate::analysis::rules::Suppressor::{Advice, OnScreen, Smoke};
use crate::analysis::rules::{RuleFact, Suppressor, facts, filled};
use crate::analysis::summary::run::Summary;
use crate::analysis::verdict::client::{CURE, late_but_passed};
use crate::analysis::verdict::steady_state;
use crate::record::RunEnding;
use crate::units::{seconds, three_digits};
use crate::workload::ArrivalPattern;

/// Failures among the requests that keep the load up after the horizon, as a share.
const COOLDOWN_BAR: f64 = 0.01;
/// Growth that is sure to be over this share of the mean is a drift.
const DRIFT_BAR: f64 = 0.1;
/// A warm-up that is a larger share of the run needs a longer run.
const LONGEST_WARM_UP: f64 = 0.5;
/// Waiting for a slot for longer than this is waiting.
const QUEUE_BAR_MS: f64 = 1.0;
/// Largest share of a run that its end without load may take. The run is one of so many requests.
const END_BAR: f64 = 0.1;

/// Advice that says the same, and how long a window would tell.
const UNCLEAR: Suppressor = Advice(Kind::CannotTell);
/// A reason that says that the window was cut short.
const CUT: &[Suppressor] = &[OnScreen(Rule::WholeWindow)];

pub(super) const RULES: &[FindingRow] = &[
    when(Kind::ScenarioRules, "agents", &[], |run| {
        let found = run.scenario.as_ref().filter(|found| !found.broken.is_empty())?;
        let (broken, all) = (found.broken.len() as u64, (found.broken.len() + found.kept.len()) as u64);
        Some(facts![broken, all, found.broken.join(", ")])
    })
    .says("the run breaks {#} of the {#} rules of AgentX: {}; its figures are not comparable with those that keep them")
    .cure("run `skyline bench agentx --trace FILE` with a published file, without options that change its rules"),
    when(Kind::Interrupted, "validity", CUT, |run| {
        let counts = &run.requests;
        let is_left = run.window.cut_short || counts.censored + counts.never_due > 0;
        let interrupted = is_left && run.window.ending == Some(RunEnding::Interrupted);
        interrupted.then(|| facts![counts.censored, counts.never_due])
    })
    .says("the run was interrupted: {request} still running, {#} not due yet")
    .cure("let the run finish before you use its figures"),
    when(Kind::CutOff, "validity", CUT, |run| {
        run.window.ending.is_none().then(|| facts![run.requests.in_flight])
    })
    .says(
        "the log has no last line: the run was cut off (a crash, a kill, a full disk) with {request} in flight; what \
         ended in its last 20 ms may count among them",
    )
    .cure("run again; finished requests are saved and shown"),
    when(Kind::Metastable, "overload", &[], |run| {
        let (aftermath, not_back) = not_back(run).filter(|(aftermath, _)| aftermath.is_amplified())?;
        let retried = run.run.clients.as_ref().is_some_and(|clients| clients.retries > 0);
        let cure = if retried {
            "let clients retry less, for longer waits put off the same load; let the server refuse early, and stop \
             work for clients that have gone"
        } else {
            "let the server refuse early, and stop work for clients that have gone; let clients hedge later or not at \
             all"
        };
        Some(facts![not_back, aftermath.after.amplification()?, cure])
    })
    .says("{}; {} attempts for each that was offered, which is a metastable failure"),
    when(Kind::NotRecovered, "overload", &[Advice(Kind::Metastable)], |run| Some(facts![not_back(run)?.1]))
        .cure("lengthen the run"),
    when(Kind::DrainLimit, "validity", &[GREW, GONE], |run| {
        let cut = run.requests.censored;
        let is_cut = run.window.ending == Some(RunEnding::DrainLimit) && cut > 0;
        is_cut.then(|| facts![cut, run.requests.planned, run.run.load.less_load()])
    })
    .says(
        "the drain limit cut off {#} of {request}; they count as SLO misses, and only a lower bound of their latency \
         is known",
    )
    .cure("raise --drain above the longest answer, or {} if the server does not keep up"),
    when(Kind::CapBound, "first-run", &[], |run| {
        let (cap, wait) = (run.run.limits.caps_in_words()?, run.latency.row(Metric::QueueWait)?);
        let [longest, p50] = [wait.max, wait.percentile(Quantile::P50).figure].map(Figure::at_least);
        (longest > QUEUE_BAR_MS).then(|| facts![cap, longest, p50, QUEUE_BAR_MS])
    })
    .says(
        "requests over the cap of {} in flight waited for up to {ms} (p50 {} ms; limit: {} ms); latencies include the \
         wait",
    )
    .cure("raise --max-concurrency or leave it out"),
    // Waits before a retry that the server asked for are in the latencies, and end some requests.
    when(Kind::AskedWaits, "overload", &[], |run| {
        let waits = run.attempts.as_ref()?.asked_waits?;
        Some(facts![waits.waits, waits.longest_s, run.run.clients.as_ref()?.backoff_max_s])
    })
    .says(
        "{wait} before a retry lasted as long as the server asked (Retry-After), up to {s}; limit: the clients' own \
         wait of up to {s}; latencies include these waits",
    )
    .cure("look at why the server asks for them (a limit on requests or tokens, a quota), or offer less"),
    // The client's lateness had an effect on the figures by which a run is judged, short of making it INVALID.
    when(Kind::ClientLate, "validity", &[Smoke], |run| {
        let late: Vec<_> = late_but_passed(run).map(|check| check.sentence.as_str()).collect();
        (!late.is_empty()).then(|| facts![late.join("; ")])
    })
    .cure(CURE),
    when(Kind::CannotTell, "validity", &[GONE, Smoke], |run| {
        let (why, cure) = steady_state::unclear(run)?;
        Some(facts![run.window.length_s(), why, cure])
    })
    .says("a window of {s} does not show whether the server kept up: {}"),
    when(Kind::ShortWindow, "validity", &[GREW, Smoke], |run| {
        let counted_s = run.window.answers_s().filter(|_| run.window.load_end_s.is_none())?;
        Some(facts![run.window.length_s(), counted_s])
    })
    .says(
        "most answers came after the window of {s}: completed requests, tokens and goodput are per second of the {s} \
         until the last answer",
    )
    .cure("for rates that a server sustains, let requests arrive for several times as long as an answer takes"),
    when(Kind::ShortWindow, "validity", &[GREW, Smoke, Advice(Kind::ShortWindow)], |run| {
        let window_s = run.window.counted_s().max(run.window.length_s());
        let longest = run.latency.row(Metric::E2e)?.max;
        let (slowest_s, over) = (longest.at_least() / 1e3, longest.exact().map_or("over ", |_| ""));
        (slowest_s > window_s).then(|| facts![over, slowest_s, window_s])
    })
    .says("the slowest request took {}{s}, longer than the window of {s}")
    .cure("run for several times as long as the slowest request takes"),
    when(Kind::WarmUp, "validity", &[GREW, Smoke], warm_up)
        .says("the first {s} of the window look like warm-up: {} requests present, {} after (MSER-5){}"),
    when(Kind::NotSettled, "validity", &[GREW, GONE, UNCLEAR, Smoke], |run| {
        let halves = run.steady_state?.unsettled?;
        Some(facts![run.window.length_s(), halves.present, halves.present_after])
    })
    .says(
        "the whole window of {s} looks like warm-up: {} requests present in its first half, {} in its second (MSER-5)",
    )
    .cure(
        "run for several times as long, with a longer --warmup: the run does not show yet when the system settles",
    ),
    when(Kind::Drift, "validity", &[GREW, GONE, UNCLEAR, Smoke], drift)
        .says(
            "over the window of {s} {} grew from {} to {}, surely by over {%} of the mean, and {} did not: no overload \
             yet, but not settled either",
        )
        .cure("run for longer, with a longer --warmup: a slow spell passes, the beginning of an overload does not"),
    when(Kind::UnevenArrivals, "workloads", &[Smoke], uneven::uneven_arrivals),
    when(Kind::SeveralKinds, "report", &[Smoke], kinds::several)
        .says("the {} {} of all, {} ms, is that of {} ({} ms); {}; limit: {} times apart"),
    when(Kind::IdleAgents, "agents", &[OnScreen(Rule::WholeWindow), Smoke], |run| {
        let idle = run.sessions.as_ref()?.idle_agents?;
        let who = if run.run.load == LoadForm::Lanes { "agents" } else { "users" };
        Some(facts![idle, run.run.arrival.users()?, who])
    })
    .says("{#} of the {#} {} had no request in the window: the load was that of fewer")
    .cure("run longer: their next request was due after the window, or the last one before it took all of it"),
    // What all at once asks for, and others may not want.
    when(Kind::EndWithoutLoad, "validity", &[Smoke], |run| {
        let window = &run.window;
        let (counted_s, load_s) = (window.counted_s(), window.load_end_s? - window.start_s);
        let share = (counted_s - load_s) / counted_s;
        let by_design = window.cooldown_requests > 0 || window.cut_short || run.is_all_at_once();
        (!by_design && share > END_BAR).then(|| facts![counted_s - load_s, counted_s, share, END_BAR])
    })
    .says(
        "the last {s} of {s} saw no new request ({%} of the time; limit: {%}): a server that empties completes fewer \
         requests a second than under steady load, and its last answers come faster",
    )
    .cure(
        "for figures of steady load send more --requests, or say how long load lasts: [SECONDS], or --cooldown",
    ),
    when(Kind::CooldownFailures, "validity", &[GONE], |run| {
        let kinds = &run.failures.cooldown_kinds;
        let first = kinds.first()?;
        let (failed, all) = (kinds.iter().map(|kind| kind.count).sum::<u64>(), run.window.cooldown_requests);
        let share = failed as f64 / all as f64;
        let (kind, example) = (first.kind.to_string(), first.example.as_str());
        (share > COOLDOWN_BAR).then(|| facts![failed, all, share, kind, first.count, example, COOLDOWN_BAR])
    })
    .says(
        "{#} of {request} sent as cool-down failed ({%}), mostly {} ({#}), such as: {}; limit: {%}: the last requests \
         of the window ran under less load than planned",
    )
    .cure("fix the cause; it may have begun inside the window"),
];

/// Finds a spike after which requests do not end well as before it. The load is back.
fn not_back(run: &Summary) -> Option<(&SpikeAftermath, String)> {
    let aftermath = run.aftermath.as_ref().filter(|aftermath| aftermath.recovered == Some(false))?;
    let (before, after) = (&aftermath.before, &aftermath.after);
    let facts = facts![
        after.to_s - aftermath.spike.to_s,
        after.ended_well_per_s,
        after.offered_per_s,
        before.ended_well_per_s,
        before.offered_per_s
    ];
    let sentence = filled(
        "goodput is not back {s} after the spike of the load: {} of {} requests/s end well at the end, {} of {} before",
        facts,
    );
    Some((aftermath, sentence))
}

fn warm_up(run: &Summary) -> Option<Vec<RuleFact>> {
    let beginning = run.steady_state?.beginning?;
    let window = &run.window;
    let begins = match run.run.arrival {
        ArrivalPattern::Users { users, ramp_s, .. } if ramp_s > window.start_s => {
            filled("; {user} begin over {s}", facts![users, ramp_s])
        }
        _ => String::new(),
    };
    let warm_up = (window.start_s + beginning.length_s).ceil();
    // Of a run that is hardly longer it would leave nothing.
    let cure = if warm_up <= LONGEST_WARM_UP * window.end_s {
        format!("lengthen the warm-up: --warmup {warm_up}s")
    } else {
        format!("run for several times as long (or more --requests), with --warmup {warm_up}s")
    };
    Some(facts![beginning.length_s, beginning.present, beginning.present_after, begins, cure])
}

/// Finds growth of requests present or latency without the other. The two grow together where a server cannot keep up.
fn drift(run: &Summary) -> Option<Vec<RuleFact>> {
    let state = run.steady_state.filter(|state| state.unsettled.is_none())?;
    let latency = if run.run.engine.streamed { "the time to first token" } else { "the time to the answer" };
    let [present, slow] =
        [&state.present, &state.latency_ms].map(|trend| trend.least_share().is_some_and(|share| share > DRIFT_BAR));
    let (grew, [from, to], other) = match (present, slow) {
        (true, false) => ("the requests waiting or in flight", state.present.ends.map(three_digits), latency),
        (false, true) => (latency, state.latency_ms.ends.map(|ms| seconds(ms / 1e3)), "the number of requests present"),
        (true, true) | (false, false) => return None,
    };
    Some(facts![run.window.length_s(), grew, from, to, DRIFT_BAR, other])
}

//! Sessions and closed loops: their turns, what they reached, and that a closed loop hides waits.

use crate::analysis::{ClosedLoop, LatencyRow, Metric, Part, Quantile, SessionTime, Sessions, Summary};
use crate::record::PartKind;
use crate::report::document::{Note, Section, Table, TableOf, figure_as, mark};
use crate::units::{count, counted, joined, listed, percent, seconds, three_digits};

/// Reservation about the latencies of a closed loop.
const HIDDEN: &str = "slow answers hold back the requests that would have queued behind them (coordinated omission), \
    so these latencies are lower than those of users who arrive independently";

pub(super) fn sections(summary: &Summary) -> [Option<Section>; 2] {
    let closed = summary.closed_loop;
    let hides = summary.run.load.is_closed() && !summary.is_all_at_once();
    let hidden = hides.then(|| {
        let of_agents = || Some(summary.sessions.as_ref()?.begun as f64 / summary.window.length_s());
        let begun = closed.map_or_else(of_agents, |closed| closed.begun_per_s);
        let rate = begun.filter(|rate| *rate > 0.0).map_or("…".to_owned(), three_digits);
        Note::warning(HIDDEN).cure(format!(
            "run the same workload with --arrival poisson --rate {rate} too, and compare: skyline compare CLOSED OPEN \
             --vary rate"
        ))
    });
    let closed = Section::detail("Closed loop").facts("reached", closed.and_then(reached)).notes(hidden);
    let of = |own| {
        let by_turn = by_place("turn", summary.parts_of(PartKind::Turn));
        sessions(own, summary.leaving.is_some())
            .table(by_turn)
            .table(by_place("agent", summary.parts_of(PartKind::Agent)))
    };
    [summary.sessions.as_ref().map(of), Some(closed)]
}

fn sessions(sessions: &Sessions, leave: bool) -> Section {
    let Sessions { begun, completed, broken_off, censored, .. } = *sessions;
    let [all, completed, broken_off, censored] = [begun, completed, broken_off, censored].map(count);
    let or_left = if leave { ", or by a client who left" } else { "" };
    let ended = format!("{completed} completed, {broken_off} broken off by a failure{or_left}");
    let each = |turns: u64| three_digits(turns as f64 / begun as f64);
    let sent = each(sessions.turns_sent);
    let line = match sessions.turns_planned.zip(sessions.turns_not_reached) {
        Some((planned, unreached)) => {
            let needless = sessions.turns_not_needed.map(|turns| format!(", {} not needed", each(turns)));
            let needless = needless.unwrap_or_default();
            format!("{} each as planned, {sent} sent{needless}; {} not reached", each(planned), percent(unreached))
        }
        None => format!("{sent} each"),
    };
    let duration = sessions.duration.as_ref().map(|duration| {
        let shown = [Quantile::P50, Quantile::P90, Quantile::P99].map(|quantile| lasted(duration, quantile));
        format!("{}, from the first turn's scheduled moment to the last token", joined(shown, ", "))
    });
    let rests = sessions.from_middle.map(|rests| {
        let rests = counted(rests, "session");
        format!("{rests} from their middle on, whose requests count, and which no figure here is about")
    });
    Section::detail("Sessions, of those that began in the window")
        .fact("begun", format!("{all}: {ended}, {censored} cut off by the end of the run"))
        .facts("left out", rests)
        .facts("turns", (begun > 0).then_some(line))
        .facts("duration", duration)
        .facts("an hour", rate(sessions))
        .facts("time", sessions.time.map(spent))
        .facts("skipped", sessions.skipped_idle_s.map(skipped))
}

/// Says how many sessions are completed in an hour.
fn rate(sessions: &Sessions) -> Option<String> {
    let per = |rate: Option<f64>, what: &str| rate.map(|rate| format!("{} {what}", three_digits(rate)));
    let rates = [
        per(sessions.completed_per_hour, "completed"),
        per(sessions.completed_per_hour_per_gpu, "per GPU"),
        per(sessions.completed_per_hour_per_user, "per user"),
    ];
    listed(rates.into_iter().flatten(), ", ")
}

/// Says where the time of sessions went.
fn spent(time: SessionTime) -> String {
    format!(
        "{} in the server, {} in tools and pauses, {} waiting in the client",
        percent(time.server_share),
        percent(time.pause_share),
        percent(time.client_share)
    )
}

/// Says by how much requests came sooner.
fn skipped(idle_s: f64) -> String {
    format!("{} of pauses in which nothing was in flight: what followed them came sooner", seconds(idle_s))
}

/// `p50 41.2 s`, with the marks of the latency table.
fn lasted(row: &LatencyRow, quantile: Quantile) -> String {
    let shown = row.percentile(quantile);
    format!("{quantile} {}{}", figure_as(shown.figure, |ms| seconds(ms / 1e3)), mark(shown.mark))
}

/// Requests by their place in a session, a turn or an agent.
fn by_place<'p>(place: &'static str, parts: Vec<&'p Part>) -> TableOf<&'p Part> {
    Table::over(format!("By {place}, ms"), parts)
        .column(place, |part| part.name.as_str())
        .column(("requests", 3), |turn| turn.requests)
        .column("prompt tokens", |turn| turn.mean_prompt_tokens.map(f64::round))
        .column(("said before", 4), |turn| turn.planned_cached_tokens.map(f64::round))
        .column(("cached", 2), |turn| turn.mean_cached_tokens.map(f64::round))
        .column("TTFT p50, ms", |turn| turn.latency.percentile(Metric::Ttft, Quantile::P50))
        .column("p99", |turn| turn.latency.percentile(Metric::Ttft, Quantile::P99))
        .column(("e2e p50", 1), |turn| turn.latency.percentile(Metric::E2e, Quantile::P50))
}

/// Says what a closed loop reached.
fn reached(closed: ClosedLoop) -> Option<String> {
    Some(format!(
        "{}: {} requests/s; on average a request takes {} from when it is due until its stream ends (e2e: from sending \
         to the last token), and {} of think time follow",
        counted(closed.users, "user"),
        three_digits(closed.throughput_per_s?),
        seconds(closed.response_s?),
        seconds(closed.think_time_s?)
    ))
}

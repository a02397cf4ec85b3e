//! The rule that the system had settled: a queue that grows makes every latency a function of how long one ran.

use super::check::{Check, CheckOutcome, Measure, Rule};
use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::quantile::Quantile;
use crate::analysis::load::form::LoadForm;
use crate::analysis::load::steady_state::Trend;
use crate::analysis::statistics::Estimate;
use crate::analysis::summary::run::Summary;
use crate::analysis::wording::{counted, percent, seconds};
use crate::record::RunEnding;
use crate::units::{count, three_digits};
use crate::workload::{Purpose, RateProfile};

/// Over the window the requests present and the latency may both surely grow by this share of their means: nothing, but
/// for what rounding makes of level figures and what matters to nobody in a run of millions.
const GROWTH_BAR: f64 = 0.01;
/// Requests that the drain limit cut off, as a share: fewer are stragglers, not a queue.
const LEFT_BAR: f64 = 0.01;
/// Where growth cannot be judged, the median wait for a first token may be this share of the window.
const WAIT_BAR: f64 = 0.1;
/// Growth of over this share of the mean is what an overload looks like, and chance now and then.
const SEEN: f64 = 0.5;
/// Fewer requests fill fewer sections, and how much their neighbours' memory leaves of them is less sure.
const PLENTY: u64 = 100;
/// How much wider the 99 % interval of a short window is than the 95 % interval: Student's t with 4 degrees of freedom.
const SURER: f64 = 4.604 / 2.776;
/// Fewer requests say nothing of a queue.
const LEAST: u64 = 30;
const GROWTH: Measure = Measure {
    rule: Rule::SteadyState,
    statistic: "growth of requests present or of latency over the window, whichever is less, as a share of its mean \
                (lower end of its 95 % interval, under 100 requests of its 99 % interval)",
};
const CURE: &str = "lower the rate until completions match arrivals; a longer run only grows the queue";

/// The same where turns follow conversations that began before: until as many end as begin, their number grows by itself.
const YOUNG: &str =
    "make --warmup as long as a conversation lasts, and run longer; if the load still grows, lower the rate";

/// What to do about growth.
fn cure(summary: &Summary) -> &'static str {
    if summary.sessions.is_some() { YOUNG } else { CURE }
}

pub(super) fn checks(summary: &Summary) -> Vec<Check> {
    let left = left(summary);
    let growth = match left.outcome {
        CheckOutcome::Failed => GROWTH.not_tested("the durations of cut-off requests are unknown"),
        CheckOutcome::Passed | CheckOutcome::NotTested => growth(summary),
    };
    vec![growth, left, wait(summary)]
}

/// Under a rate that changes growth tells nothing; that half of the requests waited for a good part of the window does.
fn wait(summary: &Summary) -> Check {
    let measure = Measure {
        rule: Rule::SteadyState,
        statistic: "median time to first token as a share of the window, under a rate that changes",
    };
    if summary.steady_state.is_some() || summary.run.arrival.rate_profile() == RateProfile::Level {
        return measure.not_tested("tested only under a rate that changes, where growth proves nothing");
    }
    if summary.requests.executed() < LEAST {
        return measure.not_tested("the window has fewer than 30 requests");
    }
    let window = &summary.window;
    let fastest = summary.latency.row(Metric::E2e).map(|row| row.min.at_least() / 1e3);
    if window.cooldown_requests == 0 && fastest.is_some_and(|fastest| fastest > window.end_s) {
        let load = seconds(window.end_s);
        return measure
            .not_tested(format!("a burst: the load was over after {load}, before any answer was complete"));
    }
    let median = summary.latency.row(Metric::Ttft).map(|row| row.percentile(Quantile::P50).figure);
    let (Some(median), true) = (median, summary.window.length_s() > 0.0) else {
        return measure.not_tested("no request of the window has a time to first token");
    };
    let waited_s = median.at_least() / 1e3;
    let share = waited_s / summary.window.length_s();
    let sentence = format!(
        "half of the requests waited at least {} for their first token, {} of the window of {} (limit: {}): a queue that \
         long depends on the length of the run",
        seconds(waited_s),
        percent(share),
        seconds(summary.window.length_s()),
        percent(WAIT_BAR)
    );
    measure.at_most(share, WAIT_BAR, sentence, CURE)
}

/// Requests present and latency both growing, each with the 95 % interval of its growth over the window above 0.
///
/// Either alone is no overload: answers that grow longer by chance keep more requests there, and a slow spell makes
/// the latency of some grow. Under a rate that the system cannot keep up with both grow for as long as it lasts.
///
/// How often that fires in virtual time, for an A10G under vLLM and a queue before 16 places together, in windows of 55 s
/// of Poisson traffic after 5 s of warm-up (130 to 450 requests): at 50 % of what they can do in 1 of 400 runs, at 80 %
/// in 7 of 400 (1.8 %), at 110 % in 166 of 200 (83 %), at 130 % in all of 100.
///
/// A short window must show it the more surely: see [`least_share`]. What then looks like growth and may be chance is a
/// warning: see [`unclear`].
fn growth(summary: &Summary) -> Check {
    let measure = GROWTH;
    if summary.run.load == LoadForm::Closed {
        return measure.not_tested("in a closed loop only its users wait, so growth is not a queue");
    }
    let Some(state) = &summary.steady_state else {
        return measure.not_tested(
            "not enough data for a test of steady state: the window has fewer than 30 requests, or fewer than 6 whole \
             periods of a rate that changes",
        );
    };
    let sure = |trend: &Trend| least_share(trend, summary.requests.executed());
    let (Some(present), Some(latency)) = (sure(&state.present), sure(&state.latency_ms)) else {
        return measure.not_tested("no request was present in the window");
    };
    let grew = present.min(latency);
    let sentence = if grew <= GROWTH_BAR {
        format!(
            "the system had settled: over the window of {}, requests present grew by {} and the latency by {} of their \
             means, not both surely by over {}",
            seconds(summary.window.length_s()),
            share(&state.present),
            share(&state.latency_ms),
            percent(GROWTH_BAR)
        )
    } else {
        let [from, to] = state.present.ends().map(three_digits);
        let [fast, slow] = state.latency_ms.ends().map(|ms| seconds(ms / 1e3));
        let latency = if summary.run.engine.streamed { "time to first token" } else { "time to the answer" };
        format!(
            "the system did not keep up: over the window of {} the requests waiting or in flight grew from {from} to {to}, \
             the {latency} from {fast} to {slow}, both surely by over {} of their means (limit: {}); these latencies depend \
             on the length of the run",
            seconds(summary.window.length_s()),
            percent(grew.min(1.0)),
            percent(GROWTH_BAR)
        )
    };
    measure.at_most(grew, GROWTH_BAR, sentence, cure(summary))
}

/// The least that a figure grew by, as a share of its mean: the lower end of the 95 % interval of its growth; in a window
/// of fewer requests than fill all its sections that of the 99 % interval, for so few sections do not tell their own
/// memory. Absent where the mean is 0.
fn least_share(trend: &Trend, requests: u64) -> Option<f64> {
    let Estimate { value, low, .. } = trend.growth;
    let low = if requests < PLENTY { value - SURER * (value - low) } else { low };
    (trend.mean > 0.0).then(|| low / trend.mean)
}

/// Why the data do not tell an overload from chance, where they do not: too few requests, or growth as in an overload
/// that is not sure.
pub(crate) fn unclear(summary: &Summary) -> Option<String> {
    let requests = summary.requests.executed();
    if summary.run.load == LoadForm::Closed
        || summary.run.arrival.rate_profile() == RateProfile::Changing
        || summary.window.cut_short
        || summary.verdict.breaks(Rule::SteadyState)
        || summary.run.purpose == Purpose::Smoke
        || requests == 0
    {
        return None;
    }
    let Some(state) = &summary.steady_state else {
        let few = || format!("it holds {}, and {LEAST} would show it", counted(requests, "request"));
        return (requests < LEAST).then(few);
    };
    let looks_overloaded = |trend: &Trend| trend.growth.value > SEEN * trend.mean;
    let [present, latency] = [&state.present, &state.latency_ms];
    (looks_overloaded(present) && looks_overloaded(latency)).then(|| {
        format!(
            "the requests waiting or in flight grew by {} of their mean over the window, and latency by {}, which may be \
             chance",
            share(present),
            share(latency)
        )
    })
}

fn share(trend: &Trend) -> String {
    percent(trend.growth.value / trend.mean)
}

/// The drain limit came before the queue was worked off.
pub(super) fn left(summary: &Summary) -> Check {
    let measure = Measure {
        rule: Rule::SteadyState,
        statistic: "share of the requests that were still running when the run stopped waiting",
    };
    let (left, requests) = (summary.requests.censored, summary.requests.executed());
    let (stopped, so, cure) = match summary.window.ending {
        Some(RunEnding::DrainLimit) => (
            "the drain limit ended",
            "the system did not keep up, and these latencies depend on the length of the run",
            "lower the rate until completions match arrivals; if single answers take longer than the drain limit, raise \
             --drain",
        ),
        // Before the window was over another rule has said so.
        Some(RunEnding::Interrupted) if !summary.window.cut_short => (
            "the run was interrupted",
            "their full duration is unknown",
            "interrupt once only: answers in flight are then awaited",
        ),
        Some(RunEnding::Interrupted | RunEnding::Finished) | None => {
            return measure.not_tested("no request of the window was cut off");
        }
    };
    let share = left as f64 / requests.max(1) as f64;
    let sentence = format!(
        "{} of {} were still running when {stopped} ({}; limit: {}): {so}",
        count(left),
        counted(requests, "request"),
        percent(share),
        percent(LEFT_BAR)
    );
    measure.at_most(share, LEFT_BAR, sentence, cure)
}

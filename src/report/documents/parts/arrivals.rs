//! An arrival pattern, and the form of a load, in words.

use crate::analysis::{ArrivalSequence, LoadForm, Summary, Window};
use crate::report::document::cell;
use crate::units::{counted, joined, listed, percent, seconds, three_digits};
use crate::workload::{ArrivalPattern, GapFamily, RateSpread, RateStage, RateState, Spike, TraceFormat};

/// Says what a workload asked for: `poisson, 10 requests/s`. Where it holds conversations, these are what arrives.
pub(crate) fn in_words(pattern: &ArrivalPattern, form: LoadForm) -> String {
    let rate = |per_s: f64| rate(per_s, form);
    match pattern {
        ArrivalPattern::Gamma { rate_per_s, burstiness } => {
            format!("gamma, {}, burstiness {}", rate(*rate_per_s), short(*burstiness))
        }
        ArrivalPattern::Weibull { rate_per_s, shape } => {
            format!("weibull, {}, shape {}", rate(*rate_per_s), short(*shape))
        }
        ArrivalPattern::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s } => format!(
            "bursts, {} for {}, then {} for {}, and so on: {} on average",
            rate(*base_rate_per_s),
            seconds(*base_s),
            rate(*burst_rate_per_s),
            seconds(*burst_s),
            rate(pattern.mean_rate_per_s())
        ),
        ArrivalPattern::Stages { stages } => {
            let stages = joined(stages.iter().map(|one| stage(one, form)), ", then ");
            format!("stages, {stages}: {} on average", rate(pattern.mean_rate_per_s()))
        }
        ArrivalPattern::Trace(trace) => match &trace.found {
            Some(found) if found.ends_s < 1.0 => {
                let thing = if found.format == TraceFormat::Sessions { "session" } else { "request" };
                format!("as in a trace, {} within {}", counted(found.requests, thing), seconds(found.ends_s))
            }
            _ => format!("as in a trace, {} on average", rate(pattern.mean_rate_per_s())),
        },
        ArrivalPattern::Users { users, think_time_s, ramp_s } => {
            let thinking = match think_time_s.mean_s() {
                0.0 => String::new(),
                mean_s => format!(", who think for {} on average", seconds(mean_s)),
            };
            let at_once = if *ramp_s == 0.0 && *users > 1 { " at once" } else { "" };
            let (loops, who) = if form == LoadForm::Lanes { ("", "agent") } else { ("closed loop, ", "user") };
            format!("{loops}{}{at_once}{thinking}", counted(*users, who))
        }
        ArrivalPattern::Markov { states } => {
            let states = joined(states.iter().map(|one| state(one, form)), ", then ");
            let mean = rate(pattern.mean_rate_per_s());
            format!("markov-modulated, {states}, and so on: {mean} on average")
        }
        ArrivalPattern::Diurnal { rate_per_s, amplitude, period_s, .. } => format!(
            "diurnal, {} on average, up to {} more and less in each period of {}",
            rate(*rate_per_s),
            percent(*amplitude),
            seconds(*period_s)
        ),
        ArrivalPattern::Spikes { base_rate_per_s, spikes } => {
            let spikes = joined(spikes.iter().map(|one| spike(one, form)), ", ");
            format!("{} with spikes: {spikes}", rate(*base_rate_per_s))
        }
        ArrivalPattern::Clients { clients } => {
            format!("{}, {} together", counted(clients.len() as u64, "client"), rate(pattern.mean_rate_per_s()))
        }
        ArrivalPattern::Population { rate_per_s, clients, rates, cv, gaps } => format!(
            "{}, {} together, {}, {} gaps with a CV of {}",
            counted(*clients, "client"),
            rate(*rate_per_s),
            spread(rates),
            match gaps {
                GapFamily::Gamma => "gamma",
                GapFamily::Weibull => "weibull",
            },
            short(*cv)
        ),
        ArrivalPattern::ByClass { .. } => {
            format!("each class has a process of its own: {} on average", rate(pattern.mean_rate_per_s()))
        }
        steady => format!("{}, {}", steady.kind(), rate(steady.mean_rate_per_s())),
    }
}

/// Largest difference of the window's expected rate from the pattern's mean that goes unmentioned.
const UNLIKE_THE_MEAN: f64 = 0.05;

/// Says what the planned window expects, where that is not the mean. An example is
/// `; 49 requests/s expected in this window`.
pub(crate) fn in_window(pattern: &ArrivalPattern, form: LoadForm, window: &Window) -> String {
    let unlike = unlike_the_mean(pattern, window);
    unlike.map_or(String::new(), |here| format!("; {} expected in this window", rate(here, form)))
}

/// The rate per second that the planned window expects, where that is not the mean.
fn unlike_the_mean(pattern: &ArrivalPattern, window: &Window) -> Option<f64> {
    let (from, until) = (window.start_s, window.planned_end_s);
    let (here, mean) = (pattern.expected_between(from, until) / (until - from), pattern.mean_rate_per_s());
    (until > from && (here - mean).abs() > mean * UNLIKE_THE_MEAN).then_some(here)
}

/// Returns the request rate of a run for formats that have one number for it. It is per second: as asked, where
/// requests were asked for at a rate; as offered, where conversations were, or where the window had more or less than
/// the pattern's mean. `None` of a closed loop, which asks for none.
pub(crate) fn request_rate(summary: &Summary) -> Option<f64> {
    let run = &summary.run;
    match run.load {
        LoadForm::Closed | LoadForm::Lanes => None,
        LoadForm::Open if unlike_the_mean(&run.arrival, &summary.window).is_none() => {
            Some(run.arrival.mean_rate_per_s())
        }
        LoadForm::Open | LoadForm::PartlyOpen => summary.rates.offered_requests_per_s,
    }
}

/// Says what was delivered: `; as delivered: …`. A Poisson process has 1, 1 and an A² below 1.96. What was planned
/// stands in brackets where it differs.
pub(crate) fn as_delivered(planned: Option<&ArrivalSequence>, delivered: Option<&ArrivalSequence>) -> String {
    let figures = |sequence: &ArrivalSequence| {
        let anderson_darling = sequence.fit.as_ref().map(|fit| fit.anderson_darling);
        [sequence.gap_cv, sequence.count_dispersion, anderson_darling].map(|figure| figure.map(cell))
    };
    let planned = planned.map(figures).unwrap_or_default();
    let delivered = delivered.map(figures).unwrap_or_default();
    let names = ["CV of gaps", "dispersion", "A²"].into_iter();
    let parts = names.zip(planned.into_iter().zip(delivered)).filter_map(|(name, (planned, figure))| {
        let figure = figure?;
        let planned = planned.filter(|planned| *planned != figure);
        let planned = planned.map(|planned| format!(" (planned {planned})")).unwrap_or_default();
        Some(format!("{name} {figure}{planned}"))
    });
    listed(parts, ", ").map_or(String::new(), |parts| format!("; as delivered: {parts}"))
}

fn state(state: &RateState, form: LoadForm) -> String {
    format!("{} for {} on average", rate(state.rate_per_s, form), seconds(state.mean_s))
}

fn spike(spike: &Spike, form: LoadForm) -> String {
    let all = spike.end_s() - spike.at_s;
    format!("{} at {} for {}", rate(spike.rate_per_s, form), seconds(spike.at_s), seconds(all))
}

fn spread(rates: &RateSpread) -> String {
    match rates {
        RateSpread::Equal => "all alike".to_owned(),
        RateSpread::Zipf { exponent } => format!("rates by Zipf's law with exponent {}", short(*exponent)),
        RateSpread::LogNormal { sigma } => format!("log-normal rates with sigma {}", short(*sigma)),
    }
}

fn stage(stage: &RateStage, form: LoadForm) -> String {
    let (from, to) = (short(stage.from_rate_per_s), rate(stage.to_rate_per_s, form));
    let length = seconds(stage.duration_s);
    if stage.from_rate_per_s.to_bits() == stage.to_rate_per_s.to_bits() {
        format!("{to} for {length}")
    } else {
        format!("{from} to {to} within {length}")
    }
}

fn rate(per_s: f64, form: LoadForm) -> String {
    let what = if form == LoadForm::PartlyOpen { "sessions" } else { "requests" };
    format!("{} {what}/s", short(per_s))
}

/// About three digits, without zeros that say nothing.
fn short(value: f64) -> String {
    let digits = three_digits(value);
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

/// Says from when the latencies of such a load count.
pub(crate) const fn latency_origin(form: LoadForm) -> &'static str {
    match form {
        LoadForm::Open | LoadForm::PartlyOpen | LoadForm::Lanes => "the scheduled moment",
        LoadForm::Closed => "sending",
    }
}

/// The form in a few words; `None` for open arrivals, which need none.
pub(crate) const fn form(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => Some("partly open"),
        LoadForm::Closed => Some("closed loop"),
        LoadForm::Lanes => Some("agents"),
    }
}

/// Explains what the form means, behind its name.
pub(crate) const fn form_explained(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => {
            Some("partly open: sessions begin by the schedule, a later turn waits for the answer before it")
        }
        LoadForm::Closed => {
            Some("closed: each user waits for the answer, thinks and sends again; a slow server gets less load")
        }
        LoadForm::Lanes => Some("agents: each begins its next session when one is over; a slow server gets less load"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_its_words() {
        let stage =
            |duration_s, from_rate_per_s, to_rate_per_s| RateStage { duration_s, from_rate_per_s, to_rate_per_s };
        for (pattern, words) in [
            (ArrivalPattern::Poisson { rate_per_s: 10.0 }, "poisson, 10 requests/s"),
            (ArrivalPattern::Constant { rate_per_s: 1_200.0 }, "constant, 1,200 requests/s"),
            (ArrivalPattern::Gamma { rate_per_s: 2.5, burstiness: 0.5 }, "gamma, 2.5 requests/s, burstiness 0.5"),
            (
                ArrivalPattern::Bursts { base_rate_per_s: 2.0, burst_rate_per_s: 20.0, base_s: 8.0, burst_s: 2.0 },
                "bursts, 2 requests/s for 8 s, then 20 requests/s for 2 s, and so on: 5.6 requests/s on average",
            ),
            (
                ArrivalPattern::Stages { stages: vec![stage(10.0, 0.0, 10.0), stage(30.0, 10.0, 10.0)] },
                "stages, 0 to 10 requests/s within 10 s, then 10 requests/s for 30 s: 8.75 requests/s on average",
            ),
        ] {
            assert_eq!(in_words(&pattern, LoadForm::Open), words);
        }
    }

    #[test]
    fn conversations_begin_at_a_rate_of_sessions() {
        let stages = vec![RateStage { duration_s: 10.0, from_rate_per_s: 0.0, to_rate_per_s: 10.0 }];
        let words = in_words(&ArrivalPattern::Stages { stages }, LoadForm::PartlyOpen);
        assert_eq!(words, "stages, 0 to 10 sessions/s within 10 s: 5 sessions/s on average");
    }

    #[test]
    fn a_window_that_expects_another_rate_is_told() {
        let window = |start_s, end_s| Window {
            start_s,
            end_s,
            planned_end_s: end_s,
            answers_end_s: None,
            load_end_s: None,
            ending: None,
            cut_short: false,
            warmup_requests: 0,
            cooldown_requests: 0,
        };
        let spike = Spike { at_s: 30.0, rate_per_s: 200.0, rise_s: 10.0, hold_s: 20.0, fall_s: 0.0 };
        let nightly = ArrivalPattern::Spikes { base_rate_per_s: 1.0, spikes: vec![spike] };
        let both = ArrivalPattern::ByClass { classes: vec![ArrivalPattern::Poisson { rate_per_s: 9.0 }, nightly] };
        // By hand: 10/s for a minute, and 199/s more for 20 s and half of that for 10 s: 600 + 4,975.
        assert_eq!(in_window(&both, LoadForm::Open, &window(0.0, 60.0)), "; 92.9 requests/s expected in this window");
        assert_eq!(in_window(&both, LoadForm::Open, &window(0.0, 30.0)), "");
        assert_eq!(in_window(&both, LoadForm::Open, &window(30.0, 30.0)), "");
    }
}

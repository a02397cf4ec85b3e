//! An arrival pattern in words.

use super::grid::cell;
use crate::analysis::ArrivalFigures;
use crate::analysis::wording::seconds;
use crate::units::three_digits;
use crate::workload::{ArrivalPattern, Stage};

/// What a workload asked for: `poisson, 10 requests/s`.
pub(crate) fn in_words(pattern: &ArrivalPattern) -> String {
    match pattern {
        ArrivalPattern::Poisson { rate_per_s } => format!("poisson, {}", rate(*rate_per_s)),
        ArrivalPattern::Constant { rate_per_s } => format!("constant, {}", rate(*rate_per_s)),
        ArrivalPattern::Gamma { rate_per_s, burstiness } => {
            format!("gamma, {}, burstiness {}", rate(*rate_per_s), short(*burstiness))
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
            let stages: Vec<_> = stages.iter().map(stage).collect();
            format!("stages, {}: {} on average", stages.join(", then "), rate(pattern.mean_rate_per_s()))
        }
        ArrivalPattern::Trace(_) => format!("as in a trace, {} on average", rate(pattern.mean_rate_per_s())),
    }
}

/// What came of it, beside which a Poisson process has 1, 1 and an A² below 1.96: `; as delivered: …`.
pub(crate) fn as_delivered(arrivals: &ArrivalFigures) -> String {
    let Some(delivered) = &arrivals.delivered else { return String::new() };
    let fit = delivered.fit.as_ref();
    let parts: Vec<_> = [
        ("CV of gaps", delivered.gap_cv),
        ("dispersion", fit.map(|fit| fit.dispersion_index)),
        ("A²", fit.map(|fit| fit.anderson_darling)),
    ]
    .into_iter()
    .filter_map(|(name, figure)| Some(format!("{name} {}", cell(figure?))))
    .collect();
    if parts.is_empty() { String::new() } else { format!("; as delivered: {}", parts.join(", ")) }
}

fn stage(stage: &Stage) -> String {
    let (from, to) = (short(stage.from_rate_per_s), rate(stage.to_rate_per_s));
    let length = seconds(stage.duration_s);
    if stage.from_rate_per_s.to_bits() == stage.to_rate_per_s.to_bits() {
        format!("{to} for {length}")
    } else {
        format!("{from} to {to} within {length}")
    }
}

fn rate(per_s: f64) -> String {
    format!("{} requests/s", short(per_s))
}

/// About three digits, without zeros that say nothing.
fn short(value: f64) -> String {
    let digits = three_digits(value);
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_its_words() {
        let stage =
            |duration_s, from_rate_per_s, to_rate_per_s| Stage { duration_s, from_rate_per_s, to_rate_per_s };
        for (pattern, words) in [
            (ArrivalPattern::Poisson { rate_per_s: 10.0 }, "poisson, 10 requests/s"),
            (ArrivalPattern::Constant { rate_per_s: 1_200.0 }, "constant, 1,200 requests/s"),
            (
                ArrivalPattern::Gamma { rate_per_s: 2.5, burstiness: 0.5 },
                "gamma, 2.5 requests/s, burstiness 0.5",
            ),
            (
                ArrivalPattern::Bursts {
                    base_rate_per_s: 2.0,
                    burst_rate_per_s: 20.0,
                    base_s: 8.0,
                    burst_s: 2.0,
                },
                "bursts, 2 requests/s for 8 s, then 20 requests/s for 2 s, and so on: 5.6 requests/s on average",
            ),
            (
                ArrivalPattern::Stages { stages: vec![stage(10.0, 0.0, 10.0), stage(30.0, 10.0, 10.0)] },
                "stages, 0 to 10 requests/s within 10 s, then 10 requests/s for 30 s: 8.75 requests/s on average",
            ),
        ] {
            assert_eq!(in_words(&pattern), words);
        }
    }
}

//! A fit in words: what was fitted to what, and how far it is off.

use std::fmt::Write as _;

use crate::analysis::fit::{LengthFigures, LengthFit, distance_bar};
use crate::analysis::wording::{counted, percent, seconds};
use crate::experiment::{ClassFit, FitReport, FittedArrivals};
use crate::units::{count, three_digits};
use crate::workload::{ArrivalPattern, Distribution};

/// Values of which no law can be told from others.
const FEW: u64 = 30;

/// The report of a fit, line by line.
#[must_use]
pub fn text(report: &FitReport) -> String {
    let mut text = format!(
        "fitted to {}: {} in {}\n",
        report.source,
        counted(report.requests, "request"),
        seconds(report.seconds)
    );
    let _ = writeln!(text, "arrivals: {}", arrivals(&report.arrivals));
    for class in &report.classes {
        of_class(&mut text, class);
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn arrivals(fit: &FittedArrivals) -> String {
    let rate = three_digits(fit.pattern.mean_rate_per_s());
    if fit.gaps.n < FEW {
        return format!("{rate} requests/s, taken for Poisson; too few requests to tell how they come");
    }
    let what = match &fit.pattern {
        ArrivalPattern::Poisson { .. } => {
            format!("Poisson, {rate} requests/s; no lasting change of rate")
        }
        ArrivalPattern::Constant { .. } => format!("a metronome, {rate} requests/s"),
        ArrivalPattern::Gamma { burstiness, .. } => {
            format!(
                "gamma gaps of burstiness {}, {rate} requests/s; no lasting change of rate",
                three_digits(*burstiness)
            )
        }
        ArrivalPattern::Weibull { shape, .. } => {
            format!(
                "Weibull gaps of shape {}, {rate} requests/s; no lasting change of rate",
                three_digits(*shape)
            )
        }
        ArrivalPattern::Stages { stages } => format!(
            "the rate changes: {} stages from {} to {} requests/s, {rate} on average",
            stages.len(),
            three_digits(stages.iter().map(|stage| stage.from_rate_per_s).fold(f64::INFINITY, f64::min)),
            three_digits(fit.pattern.peak_rate_per_s())
        ),
        _ => format!("{rate} requests/s"),
    };
    let cv = fit.gaps.cv.map_or(String::new(), |cv| format!("; gaps observed have a CV of {}", rounded(cv)));
    let bar = distance_bar(fit.gaps.n as usize);
    let distance = fit.gaps.distance.map_or(String::new(), |distance| {
        let verdict = if distance <= bar { "" } else { ", so the law does not fit them" };
        format!(", {} off at most (bar {}){verdict}", percent(distance), percent(bar))
    });
    format!("{what}{cv}{distance}")
}

fn of_class(text: &mut String, class: &ClassFit) {
    let _ = writeln!(text, "class {}: {}", class.name, counted(class.requests, "request"));
    of_lengths(text, "input_tokens", &class.input_tokens);
    of_lengths(text, "output_tokens", &class.output_tokens);
    if let Some(prefixes) = &class.prefixes {
        let _ = writeln!(
            text,
            "  shared_prefix: {} begin like another; {} groups, Zipf exponent {}",
            percent(prefixes.grouped),
            count(prefixes.count.into()),
            rounded(prefixes.zipf)
        );
        of_lengths(text, "shared_prefix.tokens", &prefixes.tokens);
        let _ = writeln!(
            text,
            "  whole prompts: observed mean {:.1}, fitted {:.1}",
            prefixes.prompt_mean,
            class.input_tokens.fitted.mean + prefixes.tokens.fitted.mean
        );
    }
}

fn of_lengths(text: &mut String, name: &str, fit: &LengthFit) {
    let _ = writeln!(text, "  {name}: {}, {} off at most", law(&fit.distribution), percent(fit.distance));
    if fit.n < FEW {
        let _ = writeln!(text, "    only {}: the next may lie anywhere", counted(fit.n, "value"));
    }
    if let Some(refused) = &fit.refused {
        let _ = writeln!(
            text,
            "    no law fits: the best, {}, is {} off (bar {}), so a table of the values stands in its place",
            law(&refused.distribution),
            percent(refused.distance),
            percent(distance_bar(fit.n as usize))
        );
    }
    for (what, LengthFigures { mean, p50, p90, p99 }) in [("observed", fit.observed), ("fitted", fit.fitted)]
    {
        let [p50, p90, p99] = [p50, p90, p99].map(|tokens| count(tokens.into()));
        let _ = writeln!(text, "    {what:8}  mean {mean:.1}  p50 {p50}  p90 {p90}  p99 {p99}");
    }
}

/// Three digits, and as nothing what is so little that none would show.
fn rounded(value: f64) -> String {
    if value.abs() < 0.0005 { "0".to_owned() } else { three_digits(value) }
}

fn law(distribution: &Distribution) -> String {
    let between = |min: &u32, max: &u32| format!("{} to {}", count((*min).into()), count((*max).into()));
    match distribution {
        Distribution::Constant { value } => format!("constant {}", count((*value).into())),
        Distribution::Uniform { min, max } => format!("uniform from {}", between(min, max)),
        Distribution::Normal { mean, std, min, max } => {
            format!("normal, mean {}, std {}, {}", three_digits(*mean), three_digits(*std), between(min, max))
        }
        Distribution::LogNormal { median, sigma, min, max } => format!(
            "log-normal, median {}, sigma {}, {}",
            three_digits(*median),
            three_digits(*sigma),
            between(min, max)
        ),
        Distribution::Exponential { mean, min, max } => {
            format!("exponential, mean {}, {}", three_digits(*mean), between(min, max))
        }
        Distribution::Empirical { values, .. } => {
            format!("a table of {}", counted(values.len() as u64, "value"))
        }
        Distribution::Dataset { .. } | Distribution::Trace { .. } => "said elsewhere".to_owned(),
    }
}

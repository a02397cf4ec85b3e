//! A fitted workload as a document: what was fitted to what, and how far it is off.

use crate::analysis::fit::{LengthFigures, LengthFit, distance_bar};
use crate::experiment::{ClassFit, FitReport, FittedArrivals};
use crate::report::document::{Document, Level, Note, Section, Table};
use crate::units::{count, counted, percent, seconds, three_digits};
use crate::workload::{ArrivalPattern, Distribution};

/// Too few values to distinguish one law from another.
const FEW: u64 = 30;

/// The fit as a document.
pub fn document(report: &FitReport) -> Document {
    let title =
        format!("fitted to {}: {} in {}", report.source, counted(report.requests, "request"), seconds(report.seconds));
    Document::new(title)
        .with([Section::continued(Level::Summary).fact("arrivals", arrivals(&report.arrivals))])
        .with(report.classes.iter().map(class))
        .with([Section::continued(Level::Summary).notes(report.notes.iter().map(Note::info))])
}

fn arrivals(fit: &FittedArrivals) -> String {
    let rate = three_digits(fit.pattern.mean_rate_per_s());
    if fit.gaps.n < FEW {
        return format!("{rate} requests/s, taken as Poisson; too few requests to determine the process");
    }
    let what = match &fit.pattern {
        ArrivalPattern::Poisson { .. } => format!("Poisson, {rate} requests/s; no lasting change of rate"),
        ArrivalPattern::Constant { .. } => format!("constant intervals, {rate} requests/s"),
        ArrivalPattern::Gamma { burstiness, .. } => format!(
            "gamma gaps of burstiness {}, {rate} requests/s; no lasting change of rate",
            three_digits(*burstiness)
        ),
        ArrivalPattern::Stages { stages } => format!(
            "the rate changes: {} stages from {} to {} requests/s, {rate} on average",
            stages.len(),
            three_digits(stages.iter().map(|stage| stage.from_rate_per_s).fold(f64::INFINITY, f64::min)),
            three_digits(fit.pattern.peak_rate_per_s())
        ),
        _ => format!("{rate} requests/s"),
    };
    let cv = fit.gaps.cv.map_or(String::new(), |cv| format!("; observed gaps have a CV of {}", rounded(cv)));
    let limit = distance_bar(fit.gaps.n as usize);
    let distance = fit.gaps.distance.map_or(String::new(), |distance| {
        let verdict = if distance <= limit { "" } else { ", so the law does not fit them" };
        format!(", off by at most {} (limit {}){verdict}", percent(distance), percent(limit))
    });
    format!("{what}{cv}{distance}")
}

fn class(class: &ClassFit) -> Section {
    let both = [("input_tokens", &class.input_tokens), ("output_tokens", &class.output_tokens)];
    let rows = both.into_iter().flat_map(|(name, fit)| {
        [("observed", fit.observed), ("fitted", fit.fitted)].map(|(what, figures)| (name, what, figures))
    });
    let table = Table::over(format!("Lengths of class {}", class.name), rows)
        .column("", |(name, ..)| name)
        .column("", |(_, what, _)| what)
        .column("mean", |(.., LengthFigures { mean, .. })| format!("{mean:.1}"))
        .column("p50", |(.., figures)| u64::from(figures.p50))
        .column("p90", |(.., figures)| u64::from(figures.p90))
        .column("p99", |(.., figures)| u64::from(figures.p99));
    Section::summary(format!("Class {}: {}", class.name, counted(class.requests, "request")))
        .named(both.map(|(name, fit)| (name, lengths(fit))))
        .table(table)
}

fn lengths(fit: &LengthFit) -> impl Iterator<Item = String> {
    let law_fits = format!("{}, off by at most {}", law(&fit.distribution), percent(fit.distance));
    let few = (fit.n < FEW).then(|| format!("only {}: the next may lie anywhere", counted(fit.n, "value")));
    let refused = fit.refused.as_ref().map(|refused| {
        format!(
            "no law fits: the best, {}, is off by {} (limit {}), so a table of the values replaces it",
            law(&refused.distribution),
            percent(refused.distance),
            percent(distance_bar(fit.n as usize))
        )
    });
    [law_fits].into_iter().chain(few).chain(refused)
}

/// Three digits; 0 for a value too small to show any.
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
        Distribution::Dataset { .. } | Distribution::Trace { .. } => "given elsewhere".to_owned(),
    }
}

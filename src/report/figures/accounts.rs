//! The counts of a run that are no figures of the catalogue, under their names in `summary.json`.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::figure::RunFigure;
use super::run::has_rows;
use crate::analysis::{Attainment, Figure, Metric, Part, Summary, Unit};
use crate::units::json_value;

/// Numbers of a summary that no row of the catalogue has. The figure of each objective comes last.
pub(in crate::report) fn accounts(summary: &Summary) -> io::Result<Vec<RunFigure<'_>>> {
    let uncached = summary.rates.uncached_input_tokens_per_s.map(Figure::Exact);
    let uncached = RunFigure::new("uncached_input_tokens", "", Unit::TOKENS_PER_SECOND, uncached);
    let mut rows: Vec<_> = Some(uncached).filter(|row| row.value.is_some()).into_iter().collect();
    section(&mut rows, "requests", &summary.requests)?;
    slo(&mut rows, None, &summary.slo)?;
    if let Some(attempts) = &summary.attempts {
        section(&mut rows, "attempts", attempts)?;
    }
    section(&mut rows, "leaving", &summary.leaving)?;
    section(&mut rows, "tokens", &summary.tokens)?;
    section(&mut rows, "request_speed", &summary.request_speed)?;
    section(&mut rows, "real_time_factor", &summary.real_time_factor)?;
    section(&mut rows, "stalls", &summary.stalls)?;
    section(&mut rows, "in_flight", &summary.in_flight)?;
    for part in summary.parts.iter().filter(|part| has_rows(part)) {
        slo(&mut rows, Some(part), &part.slo)?;
    }
    rows.extend(summary.objectives.iter().map(|judged| {
        let key = &judged.objective.key;
        let percentile = key.percentile_in(summary);
        let bounds = || Some(Figure::from_parts(None, judged.at_least?, judged.at_most));
        RunFigure {
            interval: judged.interval.unwrap_or_default(),
            effective_samples: percentile.and_then(|percentile| percentile.effective_samples),
            unresolvable: percentile.and_then(|percentile| percentile.unresolvable),
            mark: judged.mark,
            ..RunFigure::new("objective", "", key.metric.info().unit, judged.value.map(Figure::Exact).or_else(bounds))
                .statistic(judged.objective.text.as_str())
        }
    }));
    Ok(rows)
}

/// Adds how SLOs were met. It adds nothing where no request has one, for all that completed would then count as good.
fn slo<'a>(rows: &mut Vec<RunFigure<'a>>, part: Option<&'a Part>, slo: &Attainment) -> io::Result<()> {
    let from = rows.len();
    if slo.declared {
        section(rows, "slo", slo)?;
    }
    rows[from..].iter_mut().for_each(|row| row.part = part);
    Ok(())
}

/// Adds every number of a section of the summary that has no row yet.
fn section(rows: &mut Vec<RunFigure<'_>>, name: &'static str, section: &impl Serialize) -> io::Result<()> {
    numbers(rows, name, "", &json_value(section)?);
    Ok(())
}

fn numbers(rows: &mut Vec<RunFigure<'_>>, name: &'static str, before: &str, section: &Value) {
    let Value::Object(fields) = section else { return };
    for (key, value) in fields {
        let statistic = format!("{before}{key}");
        match value {
            Value::Object(_) => numbers(rows, name, &format!("{statistic}."), value),
            Value::Number(number) if !is_elsewhere(name, &statistic) => {
                let value = number.as_f64().map(Figure::Exact);
                rows.push(RunFigure::new(name, "", unit(name, &statistic), value).statistic(statistic));
            }
            _ => {}
        }
    }
}

/// Whether [`run_figures`](super::run_figures) has a row of it.
fn is_elsewhere(section: &str, key: &str) -> bool {
    match section {
        "requests" => {
            ["planned", "completed", "failed", "cancelled", "censored", "in_flight", "never_due", "unrecorded"]
                .contains(&key)
        }
        "in_flight" if key == "mean" => true,
        _ => Metric::ALL.iter().any(|metric| [metric.name(), metric.field()].contains(&key)),
    }
}

/// The unit of a number by its section and the end of its name.
fn unit(section: &str, key: &str) -> Unit {
    let of_end = [
        ("_ms", Unit::MILLISECONDS),
        ("tokens_per_s", Unit::TOKENS_PER_SECOND),
        ("attempts_per_s", Unit::ATTEMPTS_PER_SECOND),
        ("inputs_per_s", Unit::INPUTS_PER_SECOND),
        ("mean_audio_s", Unit::SECONDS),
        ("_per_s", Unit::REQUESTS_PER_SECOND),
        ("_rate", Unit::SHARE),
        ("_attainment", Unit::SHARE),
        ("relative_error", Unit::SHARE),
        ("_share", Unit::SHARE),
        ("first_attempt_success", Unit::SHARE),
        ("_tokens", Unit::TOKENS),
        ("most_off", Unit::TOKENS),
        ("merged_reads", Unit::CHUNKS),
    ];
    if let Some((_, unit)) = of_end.into_iter().find(|(end, _)| key.ends_with(end)) {
        return unit;
    }
    match (section, key) {
        ("stalls", "count") => Unit::GAPS,
        ("tokens", "chunks") => Unit::CHUNKS,
        ("attempts", _) => Unit::ATTEMPTS,
        ("request_speed", "p5" | "p50" | "p95") => Unit::TOKENS_PER_SECOND,
        ("real_time_factor", "p50" | "p95") => Unit::FACTOR,
        _ if key.contains("_lengths.") && key.rsplit('.').next() != Some("count") => Unit::TOKENS,
        _ => Unit::REQUESTS,
    }
}

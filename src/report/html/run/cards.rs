//! The head of a run's page: whether it can be trusted, its key figures, its objectives.

use maud::{Markup, html};

use super::super::parts::{Card, cards as drawn};
use super::super::told::told;
use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{Metric, Percentile, Quantile, SampleWarning, Summary};
use crate::report::grid::{NOTHING, cell};
use crate::report::latency::{percentile, range};
use crate::report::{arrivals, printable, promises, sessions};
use crate::units::{count, three_digits};

pub(super) fn top(summary: &Summary) -> Markup {
    html! {
        p.muted { (printable(&what(summary))) }
        (verdict(summary))
        (drawn(&cards(summary)))
        (told(|page| promises::objectives(page, summary)))
    }
}

/// `vllm 0.11.0, streamed; Poisson arrivals, 5/s; window 60 s; 2026-11-21 20:00:00 UTC`.
fn what(summary: &Summary) -> String {
    let run = &summary.run;
    let version = run.engine.server_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let form = sessions::form_in_words(run.load).map(|form| format!(", {form}")).unwrap_or_default();
    [
        format!("{}{version}", run.engine.engine),
        format!("{}{form}", arrivals::in_words(&run.arrival, run.load)),
        format!("window {}", seconds(summary.window.length_s())),
        run.started_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    ]
    .join(" · ")
}

fn verdict(summary: &Summary) -> Markup {
    let counts = &summary.requests;
    let completed =
        format!("{} of {} completed", count(counts.completed), counted(counts.planned, "request"));
    html! {
        p.lead {
            @if summary.verdict.valid { span.good { "✓ VALID" } } @else { span.bad { "✗ INVALID" } }
            ": " (completed)
        }
        @if !summary.verdict.valid {
            ul.notes {
                @for reason in &summary.verdict.reasons {
                    li.sentence { (printable(&reason.sentence)) br; span.muted { "→ " (printable(&reason.cure)) } }
                }
            }
        }
    }
}

fn cards(summary: &Summary) -> Vec<Card> {
    let latencies = [
        (Metric::Ttft, Quantile::P50, "TTFT p50"),
        (Metric::Ttft, Quantile::P99, "TTFT p99"),
        (Metric::Tpot, Quantile::P50, "TPOT p50"),
        (Metric::Tpot, Quantile::P99, "TPOT p99"),
        (Metric::E2e, Quantile::P50, "e2e p50"),
        (Metric::E2e, Quantile::P99, "e2e p99"),
    ];
    let mut cards: Vec<Card> = latencies
        .into_iter()
        .filter_map(|(metric, quantile, name)| {
            Some(latency(name, summary.latency.row(metric)?.percentile(quantile)))
        })
        .collect();
    cards.extend(flows(summary));
    cards.push(errors(summary));
    cards
}

fn latency(name: &'static str, figure: &Percentile) -> Card {
    let interval = range(figure).map(|range| format!("95 %: {range}"));
    let mark = figure.mark.map(|mark| match mark {
        SampleWarning::TooFewSamples => "* too few samples".to_owned(),
        SampleWarning::Indicative => "~ indicative".to_owned(),
    });
    Card { name, value: percentile(figure), unit: "ms", below: interval.into_iter().chain(mark).collect() }
}

fn flows(summary: &Summary) -> Vec<Card> {
    let rates = &summary.rates;
    let known = |rate: Option<f64>| rate.map_or(NOTHING.to_owned(), cell);
    let mut cards = vec![Card {
        name: "Requests completed",
        value: known(rates.completed_requests_per_s),
        unit: "/s",
        below: match rates.offered_requests_per_s {
            Some(offered) => vec![format!("{}/s offered", cell(offered))],
            None => vec!["closed loop: users decide".to_owned()],
        },
    }];
    if let Some(output) = rates.output_tokens_per_s {
        let input = rates.input_tokens_per_s.map(|input| format!("{}/s input", cell(input)));
        let each = rates.output_tokens_per_s_per_gpu.map(|each| format!("{}/s for each GPU", cell(each)));
        let below = input.into_iter().chain(each).collect();
        cards.push(Card { name: "Output tokens", value: cell(output), unit: "/s", below });
    }
    if summary.slo.declared {
        let goodput = summary.slo.goodput_per_s;
        cards.push(Card {
            name: "SLO attainment",
            value: summary.slo.slo_attainment.map_or(NOTHING.to_owned(), percent),
            unit: "",
            below: goodput.map(|good| format!("goodput {}/s", cell(good))).into_iter().collect(),
        });
    }
    if let Some(in_flight) = summary.in_flight {
        cards.push(Card {
            name: "In flight",
            value: three_digits(in_flight.mean),
            unit: "mean",
            below: vec![format!("peak {}", count(in_flight.peak))],
        });
    }
    cards
}

fn errors(summary: &Summary) -> Card {
    let counts = &summary.requests;
    let parts =
        [(counts.failed, "failed"), (counts.censored, "cut off"), (counts.unrecorded, "without a record")];
    let below: Vec<_> = parts
        .into_iter()
        .filter(|(number, what)| *number > 0 || *what == "failed")
        .map(|(number, what)| format!("{} {what}", count(number)))
        .collect();
    let value = summary.failures.error_rate.map_or(NOTHING.to_owned(), percent);
    Card { name: "Errors", value, unit: "", below: vec![below.join(", ")] }
}

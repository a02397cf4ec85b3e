//! Rules about what is reported: answers, failures, figures, repeats, and the system that was measured.

use super::evidence::{CountsGpus, Evidence};
use super::limits::FAILED;
use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::{Found, met, not_met, not_reported};
use crate::units::{count, counted, percent, three_digits};

/// Fewest runs whose spread says something.
const RUNS: u64 = 3;
/// Fewest loads that show a bend.
const LOADS: u64 = 3;

pub(super) fn quality_gate(evidence: &Evidence) -> Found {
    const CURE: &str =
        "[[checks]] with golden prompts, or the form of answers, in the workload (skyline guide prompts)";
    match evidence.judged_answers {
        None => not_reported("whether anything judged the answers is not reported", CURE),
        Some((0, _)) => not_met("no answer was judged: a faster server may answer worse", CURE),
        Some((judged, 0)) => not_met(
            format!("none of {} passed", counted(judged, "judged answer")),
            "read the answers that failed: another model, precision or chat template may be served",
        ),
        Some((judged, passed)) => met(format!("{} of {} passed", count(passed), counted(judged, "judged answer"))),
    }
}

pub(super) fn errors(evidence: &Evidence) -> Found {
    if evidence.sent == Some(0) {
        return not_reported("no request was measured", "let the run finish");
    }
    let (Some(failed), Some(rate)) = (evidence.failed, evidence.error_rate()) else {
        return not_reported("failed and refused requests are not counted", "store the failures with the result");
    };
    let sent = counted(evidence.sent.unwrap_or_default(), "request");
    let sentence = format!("{} of {sent} failed ({})", count(failed), percent(rate));
    if rate > FAILED {
        let cure = "find out why (the errors in the report, the server's log), or measure a lower load";
        return not_met(format!("{sentence}; limit: {}", percent(FAILED)), cure);
    }
    met(sentence)
}

pub(super) fn repeats(evidence: &Evidence) -> Found {
    match evidence.runs {
        0 | 1 => not_met("one run: nothing shows how much the next would differ", "--repeats 5"),
        few if few < RUNS => not_met(format!("{few} runs; limit: {RUNS}"), "--repeats 5"),
        runs => met(format!("{runs} runs of the same load")),
    }
}

pub(super) fn tail_latency(evidence: &Evidence) -> Found {
    const CURE: &str = "report p50, p95 and p99";
    let Some(latency) = evidence.main_latency() else {
        return not_reported("no latency is reported", CURE);
    };
    let known: Vec<_> = latency.percentiles.iter().map(|known| known.quantile.to_string()).collect();
    let has = |quantile| latency.percentile(quantile).is_some();
    let sentence = format!("{} of {}", known.join(", "), latency.metric.title());
    if has(Quantile::P50) && has(Quantile::P99) {
        met(sentence)
    } else if known.is_empty() {
        not_met(format!("no percentile of {}", latency.metric.title()), CURE)
    } else {
        not_met(format!("only {sentence}"), CURE)
    }
}

pub(super) fn both_phases(evidence: &Evidence) -> Found {
    let has = |metrics: &[Metric]| evidence.latency(metrics).is_some();
    let parts = [
        ("TTFT", has(&[Metric::Ttft, Metric::TtftFromSend])),
        ("TPOT or ITL", has(&[Metric::Tpot, Metric::TpotAdjusted, Metric::Itl, Metric::ChunkGap])),
        ("output tokens/s", evidence.output_tokens_per_s.is_some()),
    ];
    let of = |is_known: bool| -> Vec<&str> {
        parts.iter().filter(|(_, known)| *known == is_known).map(|(name, _)| *name).collect()
    };
    let (known, missing) = (of(true), of(false));
    if evidence.inputs.is_some() && has(&[Metric::E2e, Metric::E2eFromSend]) {
        return met("e2e: answers have no tokens, and so one phase");
    }
    if missing.is_empty() {
        return met(known.join(", "));
    }
    let shown = if known.is_empty() { "nothing of it".to_owned() } else { format!("only {}", known.join(", ")) };
    let cure = match evidence.streamed {
        Some(true) if known.is_empty() => "run for longer, at a load that the server answers: no answer was complete",
        Some(true) => {
            "ask for answers of several tokens, and let nothing before the server gather them: they were streamed"
        }
        Some(false) => "stream the answers (leave --no-stream out), so that both phases show",
        None => "stream the answers, so that both phases show",
    };
    not_met(format!("{shown}: {} missing", missing.join(", ")), cure)
}

pub(super) fn hardware(evidence: &Evidence) -> Found {
    let Some(named) = evidence.hardware_in_words() else {
        return not_reported("no GPU is named", "--hardware NAME --gpus N");
    };
    match (evidence.gpus, evidence.counts_gpus) {
        (None, CountsGpus::Apart) => not_reported(format!("{named}; how many is not reported"), "--gpus N"),
        (Some(gpus), CountsGpus::Apart) if gpus > 0 => {
            let each = evidence.output_tokens_per_s.map(|rate| rate / gpus as f64);
            let each = each.map_or(String::new(), |each| format!(": {} output tokens/s each", three_digits(each)));
            met(format!("{named}{each}"))
        }
        _ => met(named),
    }
}

pub(super) fn serving(evidence: &Evidence) -> Found {
    let missing: Vec<_> = evidence.unreported().collect();
    let known = evidence.serving.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    let known = known.collect::<Vec<_>>().join(", ");
    if missing.is_empty() && !known.is_empty() {
        return met(known);
    }
    let known = if known.is_empty() { known } else { format!("{known}; ") };
    let cure = "--precision FORMAT, --label version=…, --label flags=…";
    not_reported(format!("{known}not reported: {}", missing.join(", ")), cure)
}

pub(super) fn several_loads(evidence: &Evidence) -> Found {
    const CURE: &str = "skyline sweep finds the knee and the highest load within the objectives";
    match evidence.loads {
        0 | 1 => not_met("one load: it shows no knee and no capacity", CURE),
        few if few < LOADS => not_met(format!("{few} loads; limit: {LOADS}"), CURE),
        loads => met(format!("{loads} loads")),
    }
}

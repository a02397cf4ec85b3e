//! The top of the report: the verdict and what was run.

use serde_json::Value;

use super::page::{Page, Tone};
use super::{arrivals, calibration, sessions, taken, trace};
use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{Fact, FactSource, LoadForm, Reproduction, RunDescription, Summary, Window};
use crate::record::{DeploymentFacts, EngineFacts, PromptMethod, RunEnding, StampSource};
use crate::units::{count, three_digits};

pub(crate) fn verdict(page: &mut Page, summary: &Summary) {
    let counts = &summary.requests;
    let form = sessions::form_in_words(summary.run.load).map(|form| format!(", {form}")).unwrap_or_default();
    let line =
        format!("{form}: {} of {} completed", count(counts.completed), counted(counts.planned, "request"));
    if summary.verdict.valid {
        page.line(Tone::Good, &format!("VALID{line}"));
    } else {
        page.line(Tone::Bad, &format!("INVALID{line}"));
    }
    for reason in &summary.verdict.reasons {
        page.entry(Tone::Bad, "  ✗ ", &reason.sentence);
        page.entry(Tone::Normal, "    → ", &reason.cure);
    }
}

pub(crate) fn what_was_run(page: &mut Page, summary: &Summary) {
    let run = &summary.run;
    let engine = &run.engine;
    page.blank();
    let version = engine.server_version.as_ref().map(|version| format!(" {version}"));
    let delivery = if engine.streamed { "streamed" } else { "not streamed" };
    page.entry(
        Tone::Normal,
        "  workload   ",
        &format!("{}, seed {}, plan {:.12}", run.workload, run.seed, run.plan_hash),
    );
    let found = &summary.arrivals;
    // In a closed loop only the first request of each user has a moment of its own.
    let delivered = match run.load {
        LoadForm::Closed => String::new(),
        LoadForm::Open | LoadForm::PartlyOpen => {
            arrivals::as_delivered(found.planned.as_ref(), found.delivered.as_ref())
        }
    };
    let declared = |arrival| {
        arrivals::in_words(arrival, run.load) + &arrivals::in_window(arrival, run.load, &summary.window)
    };
    page.entry(Tone::Normal, "  arrivals   ", &format!("{}{delivered}", declared(&run.arrival)));
    if let Some(explained) = sessions::form_explained(run.load) {
        page.entry(Tone::Normal, "  load       ", explained);
    }
    if let (Some(replayed), Some(found)) = (run.arrival.trace(), run.arrival.found()) {
        page.entry(Tone::Normal, "  trace      ", &trace::what(replayed, found));
        page.entry(Tone::Normal, "             ", &trace::contents(found));
    }
    for class in &found.classes {
        let delivered = arrivals::as_delivered(class.planned.as_ref(), class.delivered.as_ref());
        let line = format!("{}: {}{delivered}", class.class, declared(&class.arrival));
        page.entry(Tone::Normal, "             ", &line);
    }
    if let Some(shard) = run.shard {
        let line =
            format!("{shard}: every {} of the plan's requests; the figures are about them", nth(shard.of));
        page.entry(Tone::Normal, "  shard      ", &line);
    }
    let models = run.model_names();
    page.entry(Tone::Normal, "  model      ", &models);
    if engine.modelled.is_empty() {
        page.entry(
            Tone::Normal,
            "  server     ",
            &format!(
                "{}{} at {}, {}, {delivery}",
                engine.engine,
                version.unwrap_or_default(),
                engine.url,
                engine.endpoint
            ),
        );
    } else {
        page.entry(Tone::Normal, "  server     ", &format!("{}, in virtual time", engine.engine));
        page.entry(Tone::Normal, "  modelled   ", &modelled(engine));
    }
    if let Some(parameters) = engine.parameters.as_ref().filter(|parameters| !parameters.are_default()) {
        page.entry(Tone::Normal, "  parameters ", &parameters.to_string());
    }
    if engine.modelled.is_empty() {
        let mut label = "  deployment ";
        for line in deployment(summary) {
            page.entry(Tone::Normal, label, &line);
            label = "             ";
        }
    }
    if let Some(untold) = untold(&summary.reproduction) {
        page.entry(Tone::Normal, "  not told   ", &untold);
    }
    page.entry(Tone::Normal, "  prompts    ", &prompts(run));
    for (label, line) in taken::lines(run) {
        page.entry(Tone::Normal, label, &line);
    }
    if let Some(cap) = run.limits.max_concurrency {
        page.entry(
            Tone::Normal,
            "  cap        ",
            &format!("{} in flight; waiting counts in latency", counted(cap, "request")),
        );
    }
    page.entry(Tone::Normal, "  started    ", &run.started_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    page.entry(Tone::Normal, "  window     ", &window(&summary.window));
    page.entry(Tone::Normal, "  requests   ", &requests(summary));
    if let Some(in_flight) = summary.in_flight {
        let line = format!("mean {}, peak {}", three_digits(in_flight.mean), count(in_flight.peak));
        page.entry(Tone::Normal, "  in flight  ", &line);
        if let Some(waiting) = in_flight.waiting {
            let line = format!(
                "mean {}, peak {}, for a place under the cap",
                three_digits(waiting.mean),
                count(waiting.peak)
            );
            page.entry(Tone::Normal, "  waiting    ", &line);
        }
    }
    client(page, summary);
}

/// What this machine did meanwhile, where somebody watched.
fn client(page: &mut Page, summary: &Summary) {
    if let Some(pauses) = &summary.pauses {
        let line = match pauses.longest_ms {
            None => "none of this machine".to_owned(),
            Some(longest) => format!(
                "{} of this machine, {} in all, the longest {}; {} touched{}",
                count(pauses.pauses),
                seconds(pauses.total_s),
                seconds(longest / 1e3),
                counted(pauses.requests_touched, "request"),
                pauses
                    .touched_in_words()
                    .map(|named| format!("; could have moved {named}"))
                    .unwrap_or_default()
            ),
        };
        page.entry(Tone::Normal, "  pauses     ", &line);
    }
    if let Some(calibration) = &summary.run.calibration {
        page.entry(Tone::Normal, "  calibrated ", &calibration::in_one_line(calibration));
    }
    if let Some(client) = &summary.client {
        let late = client
            .loop_delay
            .map_or(String::new(), |delay| format!(", p99 of its delay {} ms", three_digits(delay.p99_ms)));
        let stamps = match client.stamps {
            StampSource::ReadReturned => "when a read returns",
            StampSource::KernelReceived => "by the kernel",
        };
        let again = match client.retransmits {
            None | Some(0) => String::new(),
            Some(segments) => format!("; this machine sent {} again", counted(segments, "TCP segment")),
        };
        let line = format!("{} of a core{late}; stamps taken {stamps}{again}", percent(client.loop_busy));
        page.entry(Tone::Normal, "  client     ", &line);
    }
}

/// What serves, by who told it, a line each. What the server told of its version stands beside its name.
fn deployment(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    let by = |source: FactSource| {
        let told = summary.reproduction.reported.iter().filter(move |told| told.source == source);
        let words = told.filter_map(|told| match told.name {
            Fact::EngineVersion => None,
            Fact::ServingFlags => Some(counted(run.engine.serving_flags.len() as u64, "serving flag")),
            name => Some(format!("{} {}", name.name(), told.value)),
        });
        let words: Vec<_> = words.collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let all = [
        (FactSource::Person, said(&run.deployment)),
        (FactSource::Server, by(FactSource::Server)),
        (FactSource::Exporter, by(FactSource::Exporter)),
    ];
    let line = |(source, words): (FactSource, Option<String>)| {
        Some(format!("{} (told by {})", words?, source.name()))
    };
    all.into_iter().filter_map(line).collect()
}

/// What the person said who flew the run: `4 × h100, llama-3.1-70b in fp8, commit=4f2a91c`.
fn said(facts: &DeploymentFacts) -> Option<String> {
    let DeploymentFacts { hardware, gpus, serving_model, precision, labels } = facts;
    let mut parts = Vec::new();
    match (gpus, hardware) {
        (Some(gpus), Some(hardware)) => parts.push(format!("{gpus} × {hardware}")),
        (Some(gpus), None) => parts.push(counted(u64::from(*gpus), "GPU")),
        (None, hardware) => parts.extend(hardware.clone()),
    }
    match (serving_model, precision) {
        (Some(model), Some(precision)) => parts.push(format!("{model} in {precision}")),
        (None, Some(precision)) => parts.push(format!("weights in {precision}")),
        (model, None) => parts.extend(model.clone()),
    }
    parts.extend(labels.iter().map(|(name, value)| format!("{name}={value}")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What nobody told of the server, and how to say it: `hardware, precision (say them with --hardware, --precision)`.
fn untold(reproduction: &Reproduction) -> Option<String> {
    let missing = &reproduction.missing;
    let options: Vec<_> = missing.iter().filter_map(|what| what.option()).collect();
    let names: Vec<_> = missing.iter().map(|what| what.name()).collect();
    let names = names.join(", ");
    match options.as_slice() {
        [] => (!missing.is_empty()).then_some(names),
        options => Some(format!("{names} (say what you know with {})", options.join(", "))),
    }
}

/// `2nd`, `3rd`, `11th`.
fn nth(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (1, last) if last != 11 => "st",
        (2, last) if last != 12 => "nd",
        (3, last) if last != 13 => "rd",
        _ => "th",
    };
    format!("{}{ending}", count(number))
}

/// `hardware a10g, tensor_parallel_size 1, …`
fn modelled(engine: &EngineFacts) -> String {
    let setting = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {value}"),
    };
    engine.modelled.iter().map(setting).collect::<Vec<_>>().join(", ")
}

fn prompts(run: &RunDescription) -> String {
    let method = match &run.prompt_method {
        PromptMethod::Tokenizer { source } => format!("exact, by the tokenizer {source}"),
        PromptMethod::Server => "counted by the server's /tokenize".to_owned(),
        PromptMethod::WordList => {
            "estimated, from words that are one token in common vocabularies: 0 to 5 % longer than asked"
                .to_owned()
        }
        PromptMethod::AsGiven => "as given; the tokens of texts are estimated".to_owned(),
        PromptMethod::LengthsOnly => "none: the simulator is told lengths alone".to_owned(),
    };
    run.salt.map_or(method.clone(), |salt| format!("{method}; salt {salt}"))
}

fn window(window: &Window) -> String {
    let ending = match window.ending {
        Some(RunEnding::Finished) => "finished",
        Some(RunEnding::DrainLimit) => "ended by the drain limit",
        Some(RunEnding::Interrupted) => "interrupted",
        None => "cut off",
    };
    let warm_up = match window.warmup_requests {
        0 => "no warm-up".to_owned(),
        requests => {
            format!("after {} of warm-up ({})", seconds(window.start_s), counted(requests, "request"))
        }
    };
    let planned = if window.cut_short {
        format!(" of {} planned", seconds(window.planned_end_s - window.start_s))
    } else {
        String::new()
    };
    let cool_down = match window.cooldown_requests {
        0 => String::new(),
        requests => format!(", {} more to keep the load up", count(requests)),
    };
    format!("{}{planned}, {warm_up}{cool_down}, {ending}", seconds(window.length_s()))
}

fn requests(summary: &Summary) -> String {
    let counts = &summary.requests;
    let mut parts =
        vec![format!("{} planned", count(counts.planned)), format!("{} completed", count(counts.completed))];
    for (number, what) in [
        (counts.failed, "failed"),
        (counts.censored, "censored"),
        (counts.never_due, "never due"),
        (counts.unrecorded, "without a record"),
        (counts.unplanned, "unplanned"),
    ] {
        // Failed and censored are part of the picture even when there are none.
        if number > 0 || matches!(what, "failed" | "censored") {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

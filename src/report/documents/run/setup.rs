//! What was run, on what, and how to run it again.

use serde::Serialize;
use serde_json::Value;

use super::prompts;
use crate::analysis::{
    ClientEffect, ClientLoad, FactSource, HostStallImpact, LoadForm, ScenarioFigures, Summary, Window,
};
use crate::record::{ClientLimits, DeploymentFacts, EngineFacts, PartKind, RunEnding, RunLog, StampSource};
use crate::report::document::{Section, Statement};
use crate::report::documents::parts::{arrivals, cells, reproduction};
use crate::report::documents::{calibration, trace};
use crate::units::{count, counted, joined, listed, numbers, percent, seconds, three_digits};

/// The run's facts: workload, arrivals, server, window, requests, this client.
pub(crate) fn what_was_run(summary: &Summary) -> Section {
    let run = &summary.run;
    let mean_and_peak = |mean, peak| format!("mean {}, peak {}", three_digits(mean), count(peak));
    let waiting = summary.in_flight.and_then(|all| all.waiting);
    let waiting = waiting.map(|waiting| mean_and_peak(waiting.mean, waiting.peak));
    let mut effects: Vec<_> = summary.client_effects.iter().collect();
    effects.sort_by_key(|effect| !effect.judged);
    let lost = summary.client.is_some_and(|client| client.priority_lost);
    let then = if lost {
        " at first; then normal, because a thread ran for half a second without a rest"
    } else {
        ", of the threads that send and read"
    };
    let cap = run.limits.caps_in_words().map(|cap| format!("{cap} in flight; waiting counts in latency"));
    let section = Section::detail("What was run")
        .fact("workload", format!("{}, seed {}, plan {:.12}", run.workload, run.seed, run.plan_hash));
    server(load(section, summary).fact("model", run.model_names()), summary)
        .facts("scenario", summary.scenario.as_ref().map(scenario))
        .fact("prompts", prompts::method(run))
        .named(prompts::files(run).into_iter().map(|(name, line)| (name, [line])))
        .facts("cap", cap)
        .fact("started", run.started_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .fact("window", window(&summary.window))
        .fact("requests", requests(summary))
        .facts("in flight", summary.in_flight.map(|all| mean_and_peak(all.mean, all.peak)))
        .facts("waiting", waiting.map(|figures| format!("{figures}, for a slot under the cap")))
        .facts("host stalls", summary.host_stalls.as_ref().map(host_stalls))
        .facts("client raised", ClientEffect::named(&effects))
        .facts("calibrated", run.calibration.as_ref().map(calibration::in_one_line))
        .facts("client", summary.client.as_ref().map(client))
        .facts("priority", run.host.priority.as_ref().map(|priority| format!("{priority}{then}")))
}

/// Arrivals as declared and as delivered, the trace, and the share of the plan.
fn load(section: Section, summary: &Summary) -> Section {
    let run = &summary.run;
    let found = &summary.arrivals;
    // In a closed loop only the first request of each user has a moment of its own.
    let delivered = match run.load {
        LoadForm::Closed | LoadForm::Lanes => String::new(),
        LoadForm::Open | LoadForm::PartlyOpen => {
            arrivals::as_delivered(found.planned.as_ref(), found.delivered.as_ref())
        }
    };
    let declared =
        |arrival| arrivals::in_words(arrival, run.load) + &arrivals::in_window(arrival, run.load, &summary.window);
    let classes = found.classes.iter().map(|class| {
        let delivered = arrivals::as_delivered(class.planned.as_ref(), class.delivered.as_ref());
        format!("{}: {}{delivered}", class.class, declared(&class.arrival))
    });
    let whole = format!("{}{delivered}", declared(&run.arrival));
    let traces = run.arrival.trace().zip(run.arrival.found());
    let shard = run
        .shard
        .map(|shard| format!("{shard}: every {} of the plan's requests; the figures are about them", nth(shard.of)));
    section
        .facts("arrivals", std::iter::once(whole).chain(classes))
        .facts("load", arrivals::form_explained(run.load))
        .named(traces.map(|(trace, found)| ("trace", [trace::what(trace, found), trace::contents(found)])))
        .facts("shard", shard)
        .facts("shard clocks", run.clock_skew_ms.map(|skew| skew_explained(skew / 1e3, summary)))
}

/// The distance between the clocks of several generators, and its effect on the figures.
///
/// A shard's moments lie by up to `skew_s` beside those of another. A moment then counts requests that began or ended
/// within that time, and each end of the window counts those of so much time too many or too few.
fn skew_explained(skew_s: f64, summary: &Summary) -> String {
    let window_s = summary.window.end_s - summary.window.start_s;
    let in_flight = (summary.requests.planned as f64 / window_s * skew_s).ceil();
    format!(
        "at most {} apart: no latency depends on it, requests in flight are off by about {} (rate × that), rates by {} \
         (twice that ÷ window)",
        seconds(skew_s),
        count(in_flight as u64),
        percent(2.0 * skew_s / window_s)
    )
}

/// The server, what it was asked, and the deployment as far as it is known.
fn server(section: Section, summary: &Summary) -> Section {
    let engine = &summary.run.engine;
    let is_model = !engine.modelled.is_empty();
    let delivery = if engine.streamed { "streamed" } else { "not streamed" };
    let http2 = engine.http2.map_or(String::new(), |http2| {
        format!(", HTTP/2 with up to {} a connection", counted(http2.streams_per_connection.into(), "stream"))
    });
    let asked = if is_model { String::new() } else { format!(", {}, {delivery}{http2}", engine.endpoint) };
    // Nothing is sampled where nothing is generated.
    let says = |words: &String| !words.is_empty();
    let parameters = engine.parameters.as_ref().filter(|parameters| !parameters.are_default());
    let group = summary.servers.iter().filter(|group| group.kind == PartKind::Server);
    let others = group.flat_map(|group| group.each.iter().skip(1));
    let parameters = parameters.map(ToString::to_string).filter(says);
    let deployment = (!is_model).then(|| deployment(&summary.run.deployment)).flatten();
    section
        .fact("server", cells::server(engine) + &asked)
        .facts("server", others.map(|server| server.name.as_str()))
        .facts("modelled", is_model.then(|| modelled(engine)))
        .facts("parameters", parameters)
        .facts("deployment", deployment)
        .facts("not reported", reproduction::not_reported(&summary.reproduction))
        .facts("note", summary.run.deployment.notes.iter().map(String::as_str))
}

/// The times this machine stalled.
fn host_stalls(stalls: &HostStallImpact) -> String {
    let Some(longest) = stalls.longest_ms else { return "none".to_owned() };
    format!(
        "{}, {} in total, longest {}; {} touched",
        count(stalls.count),
        seconds(stalls.total_s),
        seconds(longest / 1e3),
        counted(stalls.requests_touched, "request"),
    )
}

fn client(client: &ClientLoad) -> String {
    let delay = client
        .loop_delay
        .map_or(String::new(), |delay| format!(", p99 read-loop delay {} ms", three_digits(delay.p99_ms)));
    let stamps = match client.stamps {
        StampSource::ReadReturned => "when a read returns",
        StampSource::KernelReceived => "by the kernel",
    };
    let retransmits = match client.retransmits {
        None | Some(0) => String::new(),
        Some(segments) => format!("; {} by this machine", counted(segments, "TCP retransmit")),
    };
    let late = client.late_stamps.map_or(String::new(), |late| format!("; {}", late.in_words()));
    let shared = client.stream_reads.filter(|reads| reads.shared > 0).map_or(String::new(), |reads| {
        let share = percent(reads.shared as f64 / reads.reads as f64);
        format!("; {share} of the reads brought several streams' data, up to {}", count(reads.most_streams))
    });
    let readers = client.readers.filter(|readers| *readers > 1);
    let readers = readers.map_or(String::new(), |readers| format!("busiest of {readers} readers: "));
    let busy = percent(client.loop_busy);
    format!("{readers}{busy} of a core{delay}; stamps taken {stamps}{late}{shared}{retransmits}")
}

/// Returns what the user says of the deployment that is no fact by name. This is the model, how steps are planned, and
/// labels.
fn deployment(facts: &DeploymentFacts) -> Option<Statement> {
    let DeploymentFacts { serving_model, async_scheduling, labels, .. } = facts.clone();
    let others = DeploymentFacts { serving_model, async_scheduling, labels, ..DeploymentFacts::default() };
    cells::deployment(&others).map(|words| Statement::reported_by(words, FactSource::User.name()))
}

/// Shows what is known of the server by name, each fact with its source.
pub(super) fn facts(summary: &Summary) -> Option<Section> {
    let engine = Some(&summary.run.engine).filter(|engine| engine.modelled.is_empty())?;
    Some(Section::detail("Facts about the server").table(reproduction::table(&summary.reproduction, engine)))
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
    joined(engine.modelled.iter().map(setting), ", ")
}

fn scenario(found: &ScenarioFigures) -> String {
    let (kept, all) = (found.kept.len(), found.kept.len() + found.broken.len());
    format!("{}: {kept} of its {all} rules are kept", <&str>::from(found.scenario))
}

fn window(window: &Window) -> String {
    let ending = match window.ending {
        Some(RunEnding::Finished) => "finished",
        Some(RunEnding::DrainLimit) => "ended by the drain limit",
        Some(RunEnding::Interrupted) => "interrupted",
        Some(RunEnding::Aborted) => "ended by a circuit breaker",
        None => "cut off",
    };
    let warm_up = match window.warmup_requests {
        0 => "no warm-up".to_owned(),
        requests => {
            format!("after {} of warm-up ({})", seconds(window.start_s), counted(requests, "request"))
        }
    };
    let planned = || format!(" of {} planned", seconds(window.planned_end_s - window.start_s));
    let planned = window.cut_short.then(planned).unwrap_or_default();
    let cool_down = match window.cooldown_requests {
        0 => String::new(),
        requests => format!(", {} not counted", counted(requests, "cool-down request")),
    };
    let counted = window.load_end_s.map_or("", |_| " until the last answer");
    format!("{}{counted}{planned}, {warm_up}{cool_down}, {ending}", seconds(window.counted_s()))
}

fn requests(summary: &Summary) -> String {
    let counts = &summary.requests;
    // Failed and censored are part of the picture even when there are none.
    let always = [(counts.planned, "planned"), (counts.completed, "completed"), (counts.failed, "failed")];
    let cancelled = [(counts.cancelled, "cancelled")];
    let censored = [format!("{} censored", count(counts.censored))];
    let others = [
        (counts.in_flight, "in flight when the run was cut off"),
        (counts.never_due, "not due"),
        (counts.unrecorded, "without a record"),
        (counts.unplanned, "unplanned"),
    ];
    let always = always.map(|(number, what)| format!("{} {what}", count(number)));
    let unfinished = numbers(cancelled).chain(censored);
    joined(always.into_iter().chain(unfinished).chain(numbers(others)), ", ")
}

/// Says how to run it again. It gives the command, the facts that only the log holds, and copies of the specs.
pub(super) fn reproduce(log: &RunLog, summary: &Summary) -> [Section; 2] {
    let header = &log.header;
    let words = &header.command;
    // What no shell could hold is shown as it is.
    let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    let hides = words.iter().any(|word| word.contains("***")).then_some(SECRETS);
    let host = &header.host;
    let cpu = host.cpu.as_ref().map(|cpu| format!(", {cpu}")).unwrap_or_default();
    let title = if header.workload.lacks_texts() {
        "The workload, with hashes in place of its texts (--save-text keeps them)"
    } else {
        "The workload (save it and give it to skyline bench)"
    };
    let section = Section::detail("Reproduce")
        .command([command])
        .remark(hides)
        .fact("seed", summary.run.seed.to_string())
        .fact("plan hash", header.plan.hash.as_str())
        .fact("this machine", format!("{}{cpu}, {}", host.os, counted(host.cores, "core")))
        .fact("limits", limits(&header.limits))
        .fact("tool", format!("skyline {}, run log of schema {}", header.skyline_version, header.schema))
        .facts(
            "request ids",
            header
                .engines
                .iter()
                .map(|engine| &engine.request_id_prefix)
                .filter(|prefix| !prefix.is_empty())
                .map(|prefix| format!("{prefix}… in the server's log")),
        )
        .facts("profile of the server", summary.profile.as_ref().map(ToString::to_string))
        .facts("objectives", header.objectives.iter().map(String::as_str));
    let copies = Section::reference("The workload and the server as JSON");
    let copies = json(copies, title, &header.workload);
    let server = |copies, engine| json(copies, "The server and the requests made of it", engine);
    [section, header.engines.iter().fold(copies, server)]
}

/// Said beside a command from which secrets were taken.
const SECRETS: &str = "Replace *** by the original values: secrets are kept out of the run's files.";

fn limits(limits: &ClientLimits) -> String {
    let ClientLimits { first_token_timeout_s, between_tokens_timeout_s, total_timeout_s, .. } = limits;
    let seconds = |name: &str, limit: Option<f64>| Some(format!("{name} within {} s", limit?));
    let parts = [
        limits.caps_in_words().map(|cap| format!("{cap} in flight")),
        limits.connections_per_host.map(|kept| format!("{} kept to each address", counted(kept, "connection"))),
        seconds("first token", *first_token_timeout_s),
        seconds("next token", *between_tokens_timeout_s),
        seconds("whole answer", *total_timeout_s),
    ];
    listed(parts.into_iter().flatten(), ", ").unwrap_or_else(|| "none".to_owned())
}

fn json(section: Section, title: &str, value: &impl Serialize) -> Section {
    match serde_json::to_string_pretty(value) {
        Ok(text) => section.attachment(title, text),
        Err(_) => section,
    }
}

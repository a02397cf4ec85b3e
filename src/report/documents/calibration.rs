//! What a machine can measure: how late its stamps and requests are, and what rates it is trusted with.

use std::num::NonZeroUsize;

use serde::Serialize;

use crate::analysis::CalibrationSummary;
use crate::calibration::{ClientCapacity, Fitness};
use crate::record::{Calibration, HostFacts};
use crate::report::data::json;
use crate::report::document::{Document, Level, Note, Section, Table, Tone, VerdictLine};
use crate::units::{count, counted, seconds, three_digits};

/// Lengths of answers for which a trusted rate is shown, tokens.
const LENGTHS: [u32; 3] = [10, 100, 1_000];

/// Calibration as `skyline calibrate --json` prints it.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    /// Version of this format.
    schema: u32,
    host: &'a HostFacts,
    fitness: Fitness,
    calibration: CalibrationSummary,
    /// Empty where the machine is not fit.
    trusted: Vec<Trusted>,
}

/// Highest rate that one client on the machine is trusted with. It is for answers of one length.
#[derive(Clone, Copy, Debug, Serialize)]
struct Trusted {
    output_tokens: u32,
    requests_per_s: f64,
}

fn trusted(found: &Calibration, host: &HostFacts) -> Vec<Trusted> {
    if Fitness::new(found) == Fitness::NotFit {
        return Vec::new();
    }
    let rate = |tokens: u32| capacity(found, host).trusted_requests_per_s(f64::from(tokens));
    LENGTHS.map(|tokens| Trusted { output_tokens: tokens, requests_per_s: rate(tokens) }).to_vec()
}

/// The client with a reader on each core but one.
fn capacity<'a>(found: &'a Calibration, host: &HostFacts) -> ClientCapacity<'a> {
    let readers = NonZeroUsize::new((host.cores as usize).saturating_sub(1)).unwrap_or(NonZeroUsize::MIN);
    ClientCapacity { found, readers }
}

/// The calibration as indented JSON with a line break at its end.
pub fn calibration_json(found: &Calibration, host: &HostFacts) -> serde_json::Result<String> {
    let (fitness, calibration) = (Fitness::new(found), (*found).into());
    let printed = Printed { schema: 1, host, fitness, calibration, trusted: trusted(found, host) };
    json(&printed)
}

/// Returns the document of a calibration.
pub fn document(found: &Calibration, host: &HostFacts) -> Document {
    let summary = CalibrationSummary::from(*found);
    let cpu = host.cpu.as_ref().map_or(String::new(), |cpu| format!("{cpu}, "));
    let machine = format!("{cpu}{}, {}", counted(host.cores, "core"), host.os);
    let fitness = Fitness::new(found);
    let tokens = LENGTHS[1];
    let sentence = fitness.sentence(found, capacity(found, host).trusted_requests_per_s(f64::from(tokens)));
    let (tone, sentence) = match fitness {
        Fitness::Ready => (Tone::Good, format!("{sentence} with answers of {tokens} tokens")),
        Fitness::Noisy => (Tone::Neutral, sentence),
        Fitness::NotFit => (Tone::Bad, sentence),
    };
    let cure = Some(fitness.cure()).filter(|cure| !cure.is_empty()).map(Note::advice);
    let delays = [("stamps late by", summary.stamp_delay), ("requests late by", summary.pacer_delay)];
    let delays = Table::over("Delays, µs", delays)
        .column("", |(name, _)| name)
        .column("n", |(_, delay)| delay.n)
        .column("p50", |(_, delay)| micros(delay.p50_ms))
        .column("p99", |(_, delay)| micros(delay.p99_ms))
        .column("max", |(_, delay)| micros(delay.max_ms));
    let priority = host.priority.as_ref().map(|priority| format!("{priority}, of the threads that measure"));
    let meanings = Section::continued(Level::Page)
        .fact(
            "stamps",
            "from the moment at which a server on this machine began to write a token to its stamp here; latencies \
             that differ by less cannot be distinguished",
        )
        .fact(
            "requests",
            "from the scheduled moment to the moment at which a request was dispatched, at 1,000 requests/s",
        )
        .more(["machine"]);
    let rates = [
        ("requests with an answer of one token", summary.requests_per_s),
        ("tokens one by one, as a server streams them", summary.paced_events_per_s),
        ("tokens many at once, as a proxy gathers them", summary.coalesced_events_per_s),
    ];
    let limits = Table::over("One reader at its limit", rates)
        .column("", |(what, _)| what)
        .column("per second", |(_, rate)| about(rate));
    let limits = Section::summary("One reader at its limit: one core, by the processor time that each piece takes")
        .table(limits);
    let trust = Table::over("Trusted rates", trusted(found, host))
        .column("answer", |rate| format!("{} tokens", count(u64::from(rate.output_tokens))))
        .column("requests/s", |rate| about(rate.requests_per_s));
    let took = format!(
        "Measured in {}, with the other load of this machine. A plan that needs more is refused before it runs; \
         several clients can share it (skyline bench --shard).",
        seconds(summary.took_ms / 1e3)
    );
    let trust = Section::summary(
        "Trusted up to half of that on each core but one, so that bursts do not wait for the client itself",
    )
    .table(trust)
    .remark([took]);
    Document::new("Timing accuracy of this machine")
        .verdict(VerdictLine::new(tone, fitness.word(), sentence))
        .about(machine)
        .with([
            Section::continued(Level::Summary).notes(cure),
            Section::summary("Delays, µs").table(delays).facts("priority", priority),
            meanings,
            limits,
        ])
        .with((fitness != Fitness::NotFit).then_some(trust))
}

/// The calibration in the report of a run.
pub(super) fn in_one_line(found: &CalibrationSummary) -> String {
    let age = found.age_s.map_or(String::new(), |age| format!("; measured {} before", seconds(age as f64)));
    format!(
        "stamps {} µs late (p99 {}), dispatches {} µs (p99 {}); one reader's limit {} tokens/s one by one{age}",
        micros(found.stamp_delay.p50_ms),
        micros(found.stamp_delay.p99_ms),
        micros(found.pacer_delay.p50_ms),
        micros(found.pacer_delay.p99_ms),
        about(found.paced_events_per_s)
    )
}

/// Milliseconds in microseconds.
fn micros(millis: f64) -> String {
    three_digits(millis * 1e3)
}

/// A rate to two digits: another half second would find another third one.
fn about(rate: f64) -> String {
    let digit = 10f64.powf(rate.abs().max(1.0).log10().floor() - 1.0);
    three_digits((rate / digit).round() * digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Delays;
    use crate::report::render::text;
    use crate::report::{Extent, Style};

    #[test]
    fn a_newcomer_can_read_it() {
        let found = Calibration {
            took_ns: 5_120_000_000,
            age_s: None,
            stamp_delay: Delays { n: 22_500, p50_ns: 21_400, p99_ns: 83_000, max_ns: 412_000 },
            pacer_delay: Delays { n: 1_750, p50_ns: 2_100, p99_ns: 41_000, max_ns: 95_000 },
            request_cpu_ns: 80_000,
            paced_event_cpu_ns: 8_000,
            coalesced_event_cpu_ns: 700,
        };
        let host = HostFacts {
            os: "linux x86_64".to_owned(),
            cpu: Some("Toy CPU".to_owned()),
            cores: 2,
            priority: Some("fifo 5".to_owned()),
        };
        let style = Style { width: 80, ..Style::PLAIN };
        insta::assert_snapshot!(text(&document(&found, &host), style, Extent::Full));
        let json: serde_json::Value = serde_json::from_str(&calibration_json(&found, &host).unwrap()).unwrap();
        assert_eq!((json["schema"].as_u64(), json["host"]["cores"].as_u64()), (Some(1), Some(2)));
        assert_eq!((json["fitness"].as_str(), json["host"]["priority"].as_str()), (Some("ready"), Some("fifo 5")));
        assert_eq!(json["calibration"]["stamp_delay"]["p99_ms"], 0.083);
        assert_eq!(json["calibration"]["requests_per_s"], 12_500.0);
        // Half a second of 80 µs and 9 × 8 µs each.
        assert_eq!(json["trusted"][0]["requests_per_s"].as_f64().unwrap().round(), 3_289.0);

        // Stamps that are off by a third of a second say nothing, whatever the processor could do.
        let stamp_delay = Delays { p99_ns: 381_000_000, ..found.stamp_delay };
        let found = Calibration { stamp_delay, ..found };
        let said = text(&document(&found, &host), style, Extent::Full);
        assert!(said.starts_with("NOT FIT: ") && !said.contains("Trusted"), "{said}");
        let json = calibration_json(&found, &host).unwrap();
        assert!(json.contains(r#""fitness": "not_fit""#) && json.contains(r#""trusted": []"#), "{json}");
    }
}

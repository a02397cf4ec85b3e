//! Findings on the devices that served, and on what else took their time.

use serde_json::Value;

use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::server::slowdown::clock_and_heat;
use crate::analysis::summary::reproduction::FactSource;
use crate::analysis::summary::run::Summary;
use crate::record::{Fact, Gauge};
use crate::units::three_digits;

/// Share of the window that a device may be held at its power limit. More than that is worth a word.
const CAPPED: f64 = 0.5;
/// Share of the time before the first request that an idle device may be busy. A device that is busy for more of it is
/// not idle.
const IDLE: f64 = 0.2;
/// Settings that make a server write a line for each request, or more.
const VERBOSE: [&str; 3] = ["enable_log_requests", "log_requests", "enable_log_outputs"];
/// Setting that makes a server log requests while it is false. Older servers log requests unless they are forbidden.
const FORBIDS: &str = "disable_log_requests";
/// Settings that are levels of logging.
const LEVELS: [&str; 5] = ["VLLM_LOGGING_LEVEL", "log_level", "log_level_http", "uvicorn_log_level", "logging_level"];

pub(super) fn power_capped(run: &Summary) -> Option<Vec<RuleFact>> {
    let devices = run.server.as_ref()?.devices.iter().filter(|device| device.was_busy());
    let capped = devices.filter_map(|device| Some((device, *device.throttled.get(&Gauge::SwPowerCap)?)));
    let (device, share) = capped.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > CAPPED)?;
    let power = device.power_w.zip(device.power_limit_w).map(|(power, limit)| {
        format!("; {} W on average, limit {} W", three_digits(power.mean), three_digits(limit.mean))
    });
    let seen = clock_and_heat(device).map(|seen| format!("; {seen}"));
    Some(facts![device.device.clone(), share, power.unwrap_or_default(), seen.unwrap_or_default()])
}

pub(super) fn busy_before(run: &Summary) -> Option<Vec<RuleFact>> {
    let devices = run.server.as_ref()?.devices.iter();
    let before = devices.filter_map(|device| Some((device, device.before?.utilisation?)));
    let (device, busy) = before.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, busy)| *busy > IDLE)?;
    Some(facts![device.device.clone(), busy, IDLE])
}

pub(super) fn verbose_logging(summary: &Summary) -> Option<Vec<RuleFact>> {
    let verbose = |name: &str, value: &Value| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_on = value.as_bool() == Some(true);
        let is_debug =
            || value.as_str().is_some_and(|level| ["debug", "trace"].contains(&level.to_lowercase().as_str()));
        (VERBOSE.contains(&last) && is_on)
            || (last == FORBIDS && value.as_bool() == Some(false))
            || (LEVELS.contains(&last) && is_debug())
    };
    let stated = stated_flags(summary);
    let reported = summary.run.engine.serving_flags.iter();
    let all = reported.chain(stated.iter().map(|(name, value)| (name, value)));
    let mut flags: Vec<_> = all
        .filter(|(name, value)| verbose(name, value))
        .map(|(name, value)| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}={shown}", name.rsplit('.').next().unwrap_or(name))
        })
        .collect();
    flags.dedup();
    (!flags.is_empty()).then(|| facts![flags.join(", ")])
}

/// Returns serving flags as the user states them, by the names of settings. An example is
/// `--enable-log-requests --log-level debug`.
fn stated_flags(summary: &Summary) -> Vec<(String, Value)> {
    let mut facts = summary.reproduction.reported.iter();
    let by_user = facts.find(|fact| fact.name == Fact::ServingFlags && fact.source == FactSource::User);
    let text = by_user.map_or("", |fact| &fact.value);
    let ends = |character: char| character.is_whitespace() || ['=', ','].contains(&character);
    let words: Vec<_> = text.split(ends).filter(|word| !word.is_empty()).collect();
    let flag = |(place, word): (usize, &&str)| {
        let value = match words.get(place + 1).map(|next| next.to_lowercase()) {
            Some(level) if ["debug", "trace"].contains(&level.as_str()) => level.into(),
            next => Value::Bool(next.as_deref() != Some("false")),
        };
        (word.trim_start_matches('-').replace('-', "_"), value)
    };
    words.iter().enumerate().map(flag).collect()
}

#[cfg(test)]
mod tests {
    //! Devices that were hot, capped or busy before the run, and servers that log too much.

    use serde_json::json;

    use super::*;
    use crate::analysis::judgements::FindingKind;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{exporter, ms, record, run};
    use crate::record::{DeviceReading, Gauge, Reading, RunLog};

    /// Makes a run with a device that reports these gauges every second. The run lasts ten seconds, with requests from
    /// one second on.
    fn with_device(gauges: impl Fn(u64) -> Vec<(Gauge, f64)>) -> RunLog {
        let records =
            (10..100).map(|i| record(i - 10).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 20, 5, 5).build());
        let mut log = run(10_000, records.collect());
        log.header.telemetry.push(exporter());
        log.telemetry.readings = (0..=10)
            .map(|second| {
                let device = DeviceReading { gauges: gauges(second).into_iter().collect(), ..DeviceReading::default() };
                let at = ms(second * 1_000);
                let devices = [("0".to_owned(), device)].into();
                Reading { asked: at, answered: at, devices, ..Reading::default() }
            })
            .collect();
        log
    }

    fn found(log: &RunLog, kind: FindingKind) -> Option<(String, String)> {
        let findings = summarise(log, &[]).findings;
        let finding = findings.into_iter().find(|finding| finding.kind == kind)?;
        Some((finding.sentence, finding.cure))
    }

    /// Makes a run on a busy device at 900 of 1,980 MHz and 88 °C. Its clocks are lowered for this reason in the
    /// seconds of `when`.
    fn slowed(reason: Gauge, when: impl Fn(u64) -> bool) -> RunLog {
        with_device(|second| {
            vec![
                (Gauge::Utilisation, if second == 0 { 0.0 } else { 0.97 }),
                (Gauge::SmClockMhz, 900.0),
                (Gauge::MaxSmClockMhz, 1_980.0),
                (Gauge::TemperatureC, 88.0),
                (Gauge::PowerW, 690.0),
                (Gauge::PowerLimitW, 700.0),
                (reason, f64::from(u8::from(when(second)))),
            ]
        })
    }

    #[test]
    fn a_device_that_heat_slows_down_is_a_finding_with_its_cure() {
        let (sentence, cure) = found(&slowed(Gauge::HwThermalSlowdown, |_| true), FindingKind::Throttled).unwrap();
        assert_eq!(
            sentence,
            "device 0 lowered its clocks in 100 % of the window: hardware thermal slowdown; SM clock 900 of 1,980 MHz, \
             up to 88 °C; limit: 5 % of the window"
        );
        assert!(cure.starts_with("cool the device"), "{cure}");
        // One reading of eleven: a triangle of a second on each side, 10 % of ten seconds.
        let (sentence, _) =
            found(&slowed(Gauge::SwThermalSlowdown, |second| second == 5), FindingKind::Throttled).unwrap();
        assert!(sentence.contains("in 10 % of the window: software thermal slowdown"), "{sentence}");
        let (_, cure) = found(&slowed(Gauge::HwPowerBrakeSlowdown, |_| true), FindingKind::Throttled).unwrap();
        assert!(cure.contains("power supply"), "{cure}");
        let quiet = slowed(Gauge::HwThermalSlowdown, |_| false);
        assert_eq!(found(&quiet, FindingKind::Throttled), None);
        // A device that serves nothing may be as slow as it likes.
        let mut idle = slowed(Gauge::HwThermalSlowdown, |_| true);
        for reading in &mut idle.telemetry.readings {
            reading.devices.get_mut("0").unwrap().gauges.insert(Gauge::Utilisation, 0.0);
        }
        assert_eq!(found(&idle, FindingKind::Throttled), None);
    }

    #[test]
    fn a_power_limit_is_milder_and_no_slowdown() {
        let capped = slowed(Gauge::SwPowerCap, |_| true);
        assert_eq!(found(&capped, FindingKind::Throttled), None);
        let (sentence, _) = found(&capped, FindingKind::PowerCapped).unwrap();
        assert!(sentence.contains("in 100 % of the window; 690 W on average, limit 700 W"), "{sentence}");
        assert_eq!(found(&slowed(Gauge::SwPowerCap, |second| second < 5), FindingKind::PowerCapped), None);
    }

    #[test]
    fn a_device_that_was_busy_before_the_first_request_is_a_finding() {
        let busy =
            |before: f64| with_device(move |second| vec![(Gauge::Utilisation, if second <= 1 { before } else { 0.9 })]);
        let (sentence, cure) = found(&busy(0.6), FindingKind::BusyBefore).unwrap();
        assert!(sentence.starts_with("device 0 was busy 60 % of the time before the first request"), "{sentence}");
        assert!(cure.contains("nvidia-smi"), "{cure}");
        assert_eq!(found(&busy(0.05), FindingKind::BusyBefore), None);
        // Who warms the prefix cache is busy before the first request.
        let mut warmed = busy(0.6);
        warmed.header.cache = Some(crate::record::CachePreparation { warmed_prefixes: 3, ..Default::default() });
        assert_eq!(found(&warmed, FindingKind::BusyBefore), None);
        let mut warmed = busy(0.6);
        warmed.header.warming_requests = Some(20);
        assert_eq!(found(&warmed, FindingKind::BusyBefore), None);
    }

    #[test]
    fn a_server_that_logs_every_request_is_a_finding() {
        let log = |flags: &[(&str, Value)]| {
            let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 2).build()]);
            log.header.engines[0]
                .serving_flags
                .extend(flags.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
            found(&log, FindingKind::VerboseLogging).map(|found| found.0)
        };
        let vllm = [("vllm_env.VLLM_LOGGING_LEVEL", json!("DEBUG")), ("enable_log_requests", json!(true))];
        let said = log(&vllm).unwrap();
        assert!(said.contains("VLLM_LOGGING_LEVEL=DEBUG") && said.contains("enable_log_requests=true"), "{said}");
        assert!(log(&[("log_requests", json!(true))]).is_some() && log(&[("log_level", json!("debug"))]).is_some());
        assert!(log(&[("disable_log_requests", json!(false))]).is_some());
        // SGLang's defaults, and vLLM's.
        let quiet = [
            ("log_requests", json!(false)),
            ("log_requests_level", json!(2)),
            ("log_level", json!("info")),
            ("vllm_env.VLLM_LOGGING_LEVEL", json!("INFO")),
            ("enable_log_requests", json!(false)),
            ("disable_log_stats", json!(false)),
        ];
        assert_eq!(log(&quiet), None);
        let stated = |flags: &str| {
            let mut log = run(1_000, vec![record(0).sent_at(0, 0, 0).paced(100, 10, 2).build()]);
            log.header.deployment.facts.insert(Fact::ServingFlags, flags.to_owned());
            found(&log, FindingKind::VerboseLogging).map(|found| found.0)
        };
        for flags in ["--enable-log-requests -tp 2", "--log-level debug", "VLLM_LOGGING_LEVEL=DEBUG, -tp 2"] {
            assert!(stated(flags).is_some(), "{flags}");
        }
        assert_eq!(stated("--no-enable-log-requests --log-level info --log-requests false"), None);
    }

    #[test]
    fn energy_of_another_number_of_devices_is_a_finding() {
        let mut log = slowed(Gauge::HwThermalSlowdown, |_| false);
        let mut of = |gpus| {
            log.header.deployment.gpus = gpus;
            found(&log, FindingKind::OtherDevices)
        };
        assert_eq!((of(None), of(Some(1))), (None, None));
        assert_eq!(
            of(Some(2)).unwrap().0,
            "the energy is of 1 device, and --gpus is 2: what an answer or a token takes is not known"
        );
    }
}

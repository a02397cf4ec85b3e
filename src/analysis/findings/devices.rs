//! Findings on the devices that served, and on what else took their time.

use serde_json::Value;

use crate::analysis::rules::{RuleFact, facts};
use crate::analysis::server::slowdown::clock_and_heat;
use crate::analysis::summary::reproduction::FactSource;
use crate::analysis::summary::run::Summary;
use crate::record::{Fact, Gauge};
use crate::units::three_digits;

/// A device that is held at its power limit for a larger share of the window is worth a word.
const CAPPED: f64 = 0.5;
/// A device that is busy for a larger share of the time before the first request is not idle.
const IDLE: f64 = 0.2;
/// Settings that make a server write a line for each request, or more.
const VERBOSE: [&str; 3] = ["enable_log_requests", "log_requests", "enable_log_outputs"];
/// A setting that does so while it is false: older servers log requests unless they are forbidden.
const FORBIDS: &str = "disable_log_requests";
/// Settings that are levels of logging.
const LEVELS: [&str; 5] =
    ["VLLM_LOGGING_LEVEL", "log_level", "log_level_http", "uvicorn_log_level", "logging_level"];

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
        let is_debug = || {
            value.as_str().is_some_and(|level| ["debug", "trace"].contains(&level.to_lowercase().as_str()))
        };
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

/// Serving flags as the user states them, such as `--enable-log-requests --log-level debug`, by the names of settings.
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
mod tests;

//! Values as options of commands have them: durations, whole numbers, sizes.

use std::error::Error;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::units::{count, parse_duration};

/// The longest time that can be typed: sums of a few are still times.
const LONGEST: Duration = Duration::from_secs(60 * 60 * 24 * 366 * 100);

/// A duration such as `250ms`, `90s` or `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time <= LONGEST { Ok(time) } else { Err(format!("`{text}` is longer than a hundred years")) }
}

/// A duration of more than nothing.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is not a duration above 0")),
        time => Ok(time),
    }
}

/// A whole number in the range.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let from = format!("`{text}` is not a whole number from {}", range.start());
            if *range.end() == u64::MAX { format!("{from} on") } else { format!("{from} to {}", count(*range.end())) }
        })
    }
}

/// A size above zero, such as `64MiB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len()));
    let bytes = match unit.trim() {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let size = bytes.and_then(|unit| number.parse::<u64>().ok()?.checked_mul(unit)).filter(|size| *size > 0);
    size.ok_or_else(|| format!("`{text}` is not a size above zero; write it like 64MiB (B, KiB, MiB, GiB)"))
}

/// A share such as `5%` or `0.05`, whatever it is.
pub(crate) fn share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

/// A share of more than nothing and less than all.
pub(crate) fn one_part(text: &str) -> Result<f64, String> {
    let found = share(text).filter(|share| *share > 0.0 && *share < 1.0);
    found.ok_or_else(|| format!("`{text}` is not a share above 0 and below 1; write it like 0.9 or 90%"))
}

/// Seconds, with or without a unit, above zero.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    some_time(text).map(|time| time.as_secs_f64())
}

/// Seconds from some moment on, with or without a unit.
pub(crate) fn since(text: &str) -> Result<f64, String> {
    duration(text).map(|time| time.as_secs_f64())
}

/// One of these names.
pub(crate) fn one_of<T>(names: &[&'static str]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.to_vec()).try_map(|name| name.parse::<T>())
}

//! Values that tables compute, and those of JSON as they are typed.

use serde_json::Value;

/// Parts of a ramp.
const RAMP_PARTS: u32 = 8;

/// The number, if it is one above 0.
pub(super) fn positive(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
}

/// A value that was typed: JSON if it is, else a text.
pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A value of a field as it is typed.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Computes the value of a function of the tables. It is `None` where one is no number, or a comparison does not hold.
pub(super) fn compute(function: &str, arguments: &[String]) -> Option<String> {
    match (function, arguments) {
        ("numbers", [list]) => {
            let items = list.trim_matches(['[', ']']).split(',').map(str::trim);
            let numbers: Vec<_> = items.filter(|number| positive(number).is_some()).collect();
            return (!numbers.is_empty()).then(|| numbers.join(","));
        }
        ("spaced", [list]) => return Some(list.replace(',', ", ")),
        ("dashed", [name]) => return Some(name.replace('_', "-")),
        ("ramp", [form, bounds @ ..]) => {
            let [from, to, requests] = bounds else { return None };
            let [from, to] = [from, to].map(|rate| positive(rate).unwrap_or(1.0));
            return Some(ramp(form == "exponential", from, to, positive(requests)?));
        }
        _ => {}
    }
    let numbers = arguments.iter().map(|text| text.parse::<f64>().ok()).collect::<Option<Vec<_>>>()?;
    let number = match (function, &*numbers) {
        ("add", &[a, b]) => a + b,
        ("subtract", &[a, b]) => a - b,
        ("multiply", &[a, b]) => a * b,
        ("divide", &[a, b]) => a / b,
        ("most", &[a, b]) => a.max(b),
        ("below", &[a, b]) => (a < b).then_some(a)?,
        ("floor", &[a]) => a.floor(),
        ("round", &[a]) => a.round(),
        ("ceil", &[a]) => a.ceil(),
        ("percent", &[a]) => (a * 1e4).round() / 1e2,
        _ => return None,
    };
    Some(number.to_string())
}

/// A ramp whose rate depends on the number of the request, in parts. Each takes an eighth of the requests.
fn ramp(exponential: bool, from: f64, to: f64, requests: f64) -> String {
    let rate = |part: u32| match f64::from(part) / f64::from(RAMP_PARTS) {
        done if exponential => from * (to / from).powf(done),
        done => from + (to - from) * done,
    };
    let part = |part| {
        let [from, to] = [rate(part), rate(part + 1)];
        let seconds = requests / f64::from(RAMP_PARTS) / f64::midpoint(from, to);
        [from, to, seconds].map(|value| format!("{}", (value * 1e3).round() / 1e3)).join(":") + "s"
    };
    (0..RAMP_PARTS).map(part).collect::<Vec<_>>().join(",")
}

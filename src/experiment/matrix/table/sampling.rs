//! Reads what a row asks of every answer: sampling parameters, and fields merged into every body.

use serde_json::{Map, Value};

use crate::engine::names_a_credential;
use crate::workload::reading::{Allowed, SpecValue};

/// A temperature.
const TEMPERATURE: Allowed = Allowed::from(0.0, 100.0);
/// A share of the probability.
const TOP_P: Allowed = Allowed::above(0.0, 1.0);
/// A number of tokens, or -1 for all.
const TOP_K: Allowed = Allowed::from(-1.0, 1e9);
/// A seed of the server's draws.
const SEED: Allowed = Allowed::from(0.0, 9e15);

pub(super) fn temperature(place: SpecValue<'_>) -> Option<f64> {
    place.number(TEMPERATURE)
}

pub(super) fn top_p(place: SpecValue<'_>) -> Option<f64> {
    place.number(TOP_P)
}

pub(super) fn top_k(place: SpecValue<'_>) -> Option<i64> {
    let number = place.number(TOP_K)?;
    if number.fract() != 0.0 {
        return place.reject(&format!("is {number}, which is not a whole number"));
    }
    Some(number as i64)
}

pub(super) fn seed(place: SpecValue<'_>) -> Option<i64> {
    place.whole(SEED)
}

/// Fields for every body. A file is stored with its results, so it may hold no credential.
pub(super) fn extra_body(place: SpecValue<'_>) -> Option<Map<String, Value>> {
    let Value::Object(body) = place.json()? else {
        return place.reject("is not a table of fields, such as { repetition_penalty = 1.1 }");
    };
    if let Some(name) = body.keys().find(|name| names_a_credential(name)) {
        return place.reject(&format!(
            "has the field `{name}`, and what a file says is stored with its results; give it with --extra-body or \
             --header"
        ));
    }
    Some(body)
}

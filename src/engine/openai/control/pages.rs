//! Pages and statuses of a server, and their meaning.

use serde_json::Value;

/// `page` with the fields of `more` that it lacks.
pub(super) fn with_missing(mut page: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut page, more) {
        for (name, value) in more {
            fields.entry(name).or_insert(value);
        }
    }
    page
}

/// Returns whether waiting changes nothing about this status. It may if the server is busy, or a proxy wants a login. A
/// server that wants TLS may answer 400 to a request without.
pub(super) const fn is_settled(status: u16) -> bool {
    matches!(status, 300..=499 | 501) && !matches!(status, 400 | 407 | 408 | 425 | 429)
}

//! Reads results that are stored as JSON with the version of their format.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads the result in `text`, or says what is wrong with it. That may be a version of the format after `newest`, or
/// something else.
pub(super) fn parse<T: DeserializeOwned>(
    text: &str,
    newest: u32,
    newer: impl FnOnce(u32) -> String,
    malformed: impl Fn(serde_json::Error) -> String,
) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u32,
    }
    match serde_json::from_slice(text.as_bytes()).map_err(&malformed)? {
        Versioned { schema } if schema > newest => Err(newer(schema)),
        Versioned { .. } => serde_json::from_slice(text.as_bytes()).map_err(malformed),
    }
}

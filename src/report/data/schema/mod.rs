//! The JSON Schemas of what is stored and printed, as they are in this folder.

#[cfg(test)]
mod tests;

/// JSON Schemas (draft 2020-12) of stored files and of what is printed, by name. The number in the name of a schema's
/// file is that in the field `schema` of what it describes.
pub(crate) const JSON_SCHEMAS: [(&str, &str); 9] = [
    ("summary", include_str!("summary-4.json")),
    ("repeats", include_str!("repeats-2.json")),
    ("sweep", include_str!("sweep-2.json")),
    ("ab", include_str!("ab-2.json")),
    ("matrix", include_str!("matrix-2.json")),
    ("tune", include_str!("tune-1.json")),
    ("compare", include_str!("compare-3.json")),
    ("compare-sweeps", include_str!("compare-sweeps-3.json")),
    ("capacity", include_str!("capacity-2.json")),
];

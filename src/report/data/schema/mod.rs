//! The JSON Schemas of what is stored and printed, as they are in this folder.

#[cfg(test)]
mod tests;

/// The JSON Schemas (draft 2020-12) of stored files, and of what is printed, under their names. The number in the name of a
/// schema's file is that in the field `schema` of what it describes.
pub const JSON_SCHEMAS: [(&str, &str); 8] = [
    ("summary", include_str!("summary-1.json")),
    ("repeats", include_str!("repeats-1.json")),
    ("sweep", include_str!("sweep-1.json")),
    ("ab", include_str!("ab-1.json")),
    ("matrix", include_str!("matrix-1.json")),
    ("compare", include_str!("compare-1.json")),
    ("compare-sweeps", include_str!("compare-sweeps-1.json")),
    ("capacity", include_str!("capacity-1.json")),
];

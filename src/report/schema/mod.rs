//! The JSON Schemas of what is stored, as they are in this folder.

#[cfg(test)]
mod tests;

/// A JSON Schema (draft 2020-12) of a stored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredFile {
    /// `summary.json` of a run, and what `--format json` shows of it.
    Summary,
    /// `sweep.json`.
    Sweep,
    /// `ab.json`.
    Ab,
}

impl StoredFile {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("summary", Self::Summary), ("sweep", Self::Sweep), ("ab", Self::Ab)];

    /// Its schema. The number in the name of its file is that in the field `schema` of what it describes.
    #[must_use]
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Summary => include_str!("summary-1.json"),
            Self::Sweep => include_str!("sweep-1.json"),
            Self::Ab => include_str!("ab-1.json"),
        }
    }
}

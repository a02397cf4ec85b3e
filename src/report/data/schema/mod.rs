//! The JSON Schemas of what is stored and printed, as they are in this folder.

#[cfg(test)]
mod tests;

/// A JSON Schema (draft 2020-12) of a stored file, or of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredFile {
    /// `summary.json` of a run, and what `--format json` shows of it.
    Summary,
    /// `repeats.json`.
    Repeats,
    /// `sweep.json`.
    Sweep,
    /// `ab.json`.
    Ab,
    /// `matrix.json`.
    Matrix,
    /// What `compare --json` prints of runs and repeats.
    Compare,
    /// What it prints of sweeps.
    CompareSweeps,
    /// What `capacity --json` prints.
    Capacity,
}

impl StoredFile {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("summary", Self::Summary),
        ("repeats", Self::Repeats),
        ("sweep", Self::Sweep),
        ("ab", Self::Ab),
        ("matrix", Self::Matrix),
        ("compare", Self::Compare),
        ("compare-sweeps", Self::CompareSweeps),
        ("capacity", Self::Capacity),
    ];

    /// Its schema. The number in the name of its file is that in the field `schema` of what it describes.
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Summary => include_str!("summary-2.json"),
            Self::Repeats => include_str!("repeats-2.json"),
            Self::Sweep => include_str!("sweep-2.json"),
            Self::Ab => include_str!("ab-2.json"),
            Self::Matrix => include_str!("matrix-2.json"),
            Self::Compare => include_str!("compare-2.json"),
            Self::CompareSweeps => include_str!("compare-sweeps-2.json"),
            Self::Capacity => include_str!("capacity-2.json"),
        }
    }
}

//! The datasets and folders that prompts and images were taken from.

use serde::Serialize;

use crate::record::{RequestRecord, RunLog};
use crate::workload::{DatasetFormat, RequestClass, RowFilter, RowOrder, SaltScope};

/// A dataset that a class took its prompts from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TakenPrompts {
    /// The class.
    pub class: String,
    /// The file, or the dataset on the hub.
    pub path: String,
    /// The commit of the hub that it was read at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The files of the hub that were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How it is written.
    pub format: DatasetFormat,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Rows that could be sent.
    pub rows: u64,
    /// The rule by which rows were left out; absent without one.
    pub filter: Option<RowFilter>,
    /// Rows that it left out.
    pub filtered_rows: u64,
    /// Rows that could not be used and were passed over.
    pub bad_rows: u64,
    /// Order in which rows were sent.
    pub order: RowOrder,
    /// Whether each prompt, or each session, began with words of its own.
    pub salted: bool,
    /// Most agents of a session; absent where the rows are single requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// Requests of the class that were dispatched, or sessions, warm-up and cool-down included. Where they are more
    /// than the rows, rows were sent again.
    pub requests: u64,
}

/// A folder that a class took images from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TakenImages {
    /// The class.
    pub class: String,
    /// The folder, or the size of images that were made.
    pub folder: String,
    /// Images in it.
    pub images: u64,
    /// Sizes of the images together, bytes.
    pub bytes: u64,
    /// SHA-256 of all of them in the order of their names, hexadecimal.
    pub sha256: String,
}

impl TakenPrompts {
    /// The datasets of a run, by class.
    pub(crate) fn all(log: &RunLog) -> Vec<Self> {
        let taken = |(place, class): (usize, &RequestClass)| {
            let dataset = class.prompt.dataset()?;
            let found = dataset.found.clone()?;
            let begins = |record: &RequestRecord| record.turn().is_none_or(|turn| turn.place() == 0);
            let of_class = |record: &RequestRecord| usize::from(record.class) == place && begins(record);
            let requests = log.records.iter().filter(|record| of_class(record)).count();
            Some(Self {
                class: class.name.clone(),
                path: dataset.path.clone(),
                revision: found.revision,
                files: found.files,
                format: dataset.format,
                bytes: found.bytes,
                sha256: found.sha256,
                rows: found.rows,
                filter: dataset.filter,
                filtered_rows: found.filtered_rows,
                bad_rows: found.bad_rows,
                order: dataset.order,
                salted: dataset.salt
                    || dataset.has_sessions()
                        && dataset.sessions.as_ref().is_none_or(|rules| rules.salt == SaltScope::Session),
                agents: found.sessions.map(|sessions| sessions.most_agents),
                requests: requests as u64,
            })
        };
        log.header.workload.classes.iter().enumerate().filter_map(taken).collect()
    }
}

impl TakenImages {
    /// The images of a run, by class.
    pub(crate) fn all(log: &RunLog) -> Vec<Self> {
        let taken = |class: &RequestClass| {
            let images = class.images.as_ref()?;
            let found = images.found.clone()?;
            Some(Self {
                class: class.name.clone(),
                folder: images.origin(),
                images: found.images,
                bytes: found.bytes,
                sha256: found.sha256,
            })
        };
        log.header.workload.classes.iter().filter_map(taken).collect()
    }
}

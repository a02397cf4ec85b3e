//! Folders of runs, and files that are written whole or not at all.

pub(crate) mod folder;
pub(crate) mod whole_file;

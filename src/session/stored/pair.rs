//! The open run that goes with a closed one: where it is kept, and both held against each other again.

use std::path::{Path, PathBuf};

use crate::analysis::{Summary, summarise};
use crate::experiment::PairedOpen;
use crate::record::RunLog;
use crate::session::exit::Stop;
use crate::session::files::folder;

/// Its folder inside that of the closed run.
pub(crate) const FOLDER: &str = "open";

/// Creates its folder.
pub(crate) fn folder_in(closed: &Path) -> Result<PathBuf, Stop> {
    folder::inside(closed, FOLDER)
}

/// The comparison of a stored closed run, whose folder or log this is, with the open run beside it; `None` where there is
/// none.
pub(crate) fn again(closed: &Summary, path: &Path) -> Result<Option<PairedOpen>, Stop> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let Some(open) = folder.map(|folder| folder.join(FOLDER)).filter(|open| open.is_dir()) else {
        return Ok(None);
    };
    let log = RunLog::read(&open).map_err(Stop::usage)?;
    Ok(PairedOpen::of(closed, &summarise(&log, &[])))
}

//! Goes through a whole search, whoever flies its runs.

use super::{Search, Step, StopReason, Trial, Wanted};

/// Asks `search` for its runs until it wants no more, and tells it what `fly` says of each; `None` from `fly` ends it
/// before that: a person stopped it.
///
/// # Errors
///
/// When `fly` fails. What it told before is in `search`.
pub fn drive<E>(
    search: &mut Search,
    mut fly: impl FnMut(&Wanted) -> Result<Option<Trial>, E>,
) -> Result<StopReason, E> {
    loop {
        match search.next() {
            Step::Done(reason) => return Ok(reason),
            Step::Measure(wanted) => match fly(&wanted)? {
                Some(trial) => search.tell(trial),
                None => return Ok(StopReason::Interrupted),
            },
        }
    }
}

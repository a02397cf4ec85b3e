//! Waits for the moment at which several generators begin together.

use std::time::Duration;

use crate::session::console::{Printer, Stop};
use crate::units::spoken;

/// How long before its start a run opens its connections: not so early that a server closes them again.
const BEFORE: Duration = Duration::from_secs(1);

/// That the moment is still to come.
pub(super) fn in_time(start_at: Option<jiff::Timestamp>) -> Result<(), Stop> {
    match start_at {
        Some(moment) if left(moment).is_zero() => Err(Stop::usage(format!(
            "--start-at {moment} has passed: it is {:.0} by this machine's clock\n\
             hint: give all generators the same moment, a minute ahead",
            jiff::Timestamp::now()
        ))),
        _ => Ok(()),
    }
}

/// Waits until shortly before the moment.
pub(super) fn wait(start_at: Option<jiff::Timestamp>, printer: Printer) {
    let Some(moment) = start_at else { return };
    let left = left(moment).saturating_sub(BEFORE);
    if !left.is_zero() {
        printer.words(&format!("ready; beginning at {moment}, in {}", spoken(left + BEFORE)));
        std::thread::sleep(left);
    }
}

/// That the moment passed while the run was made ready.
pub(super) fn missed(moment: jiff::Timestamp) -> Stop {
    Stop::impossible(format!(
        "--start-at {moment} passed before the run was ready\nhint: give all generators more time"
    ))
}

fn left(moment: jiff::Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(jiff::Timestamp::now())).unwrap_or_default()
}

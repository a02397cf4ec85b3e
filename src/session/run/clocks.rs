//! Compares this machine's clock with the target's before a share of a plan is sent.

use std::time::Duration;

use super::connect::ServerConnection;
use crate::clock::{Synchronisation, synchronisation};
use crate::engine::OpenAiEngine;
use crate::live::StepLine;
use crate::record::{ClockOffset, ClockReference, PlanFacts, farthest_apart};
use crate::session::console::{Printer, Stop};
use crate::session::settings::{MachineCheck, RunSettings};
use crate::units::spoken;

/// The warning where a shard begins by a clock that may be wrong by anything.
const UNSYNCHRONISED: &str = "warning: neither NTP nor PTP synchronises this machine's clock, by which its shard \
                              begins\n\
                              hint: synchronise the clocks of all generators (chrony with rtcsync, ntpd, phc2sys), or \
                              begin by --start-together";

/// Returns the known offsets of the target's clock and of true time for a share. Refuses a clock that is off by more
/// than the shards of one run may be, unless the shards compare their own.
pub(super) fn compared(
    settings: &RunSettings,
    server: &ServerConnection,
    plan: &PlanFacts,
    printer: Printer,
) -> Result<Vec<ClockOffset>, Stop> {
    let RunSettings { share, machine, screen, .. } = settings;
    if share.shard.is_none() {
        return Ok(Vec::new());
    }
    let line = StepLine::start(*screen, "comparing clocks");
    let engine: &OpenAiEngine = server.router.targets().first();
    let offset = server.runtime.block_on(engine.clock_offset());
    drop(line);
    if let Some(refusal) = offset.and_then(|offset| too_far(offset, farthest_apart(plan))) {
        if share.start_together.is_none() && *machine != MachineCheck::Overridden {
            return Err(Stop::impossible(format!("{refusal}; --force runs it anyway, where all generators agree")));
        }
        printer.words(&format!("warning: {refusal}"));
    }
    let true_time = synchronisation();
    if true_time == Some(Synchronisation::Missing) && share.start_together.is_none() {
        printer.words(UNSYNCHRONISED);
    }
    Ok(offset.into_iter().chain(true_time.and_then(from_true_time)).collect())
}

/// The offset of true time, where its bounds are known.
fn from_true_time(synchronisation: Synchronisation) -> Option<ClockOffset> {
    let Synchronisation::Within(Some(error)) = synchronisation else { return None };
    let most = i64::try_from(error.as_nanos()).ok()?;
    Some(ClockOffset { to: ClockReference::Utc, low_ns: -most, high_ns: most })
}

/// Says by how much the clock is off at least. `None` up to `limit`.
fn too_far(offset: ClockOffset, limit: Duration) -> Option<String> {
    let apart = offset.least();
    let direction = if offset.low_ns > 0 { "behind" } else { "ahead of" };
    (apart > limit).then(|| {
        format!(
            "this machine's clock is at least {} {direction} the server's, and shards may begin {} apart\n\
             hint: synchronise the clocks of this machine and the server (NTP)",
            spoken(apart),
            spoken(limit)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_time_is_known_as_far_as_the_kernel_vouches_for_it() {
        let within = |error| from_true_time(Synchronisation::Within(error));
        let bounds = within(Some(Duration::from_micros(2))).map(|offset| (offset.low_ns, offset.high_ns));
        assert_eq!(bounds, Some((-2_000, 2_000)));
        assert_eq!([within(None), from_true_time(Synchronisation::Missing)], [None, None]);
    }

    #[test]
    fn a_clock_is_off_by_what_is_certain() {
        let said = |low_ns, high_ns| {
            too_far(ClockOffset { to: ClockReference::Target, low_ns, high_ns }, Duration::from_millis(600))
        };
        assert_eq!([said(-900_000_000, 1_100_000_000), said(600_000_000, 2_000_000_000)], [None, None]);
        let behind = said(5_000_000_000, 7_000_000_000).unwrap();
        assert!(behind.starts_with("this machine's clock is at least 5 s behind the server's"), "{behind}");
        assert!(said(-9_000_000_000, -7_000_000_000).unwrap().contains("at least 7 s ahead of"), "{behind}");
    }
}

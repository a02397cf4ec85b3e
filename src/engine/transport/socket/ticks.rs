//! When the thread that reads last looked for bytes.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::Timestamp;

thread_local! {
    /// Last but one and last tick of this thread's event loop, while it ticks.
    static TICKS: Cell<Option<[Timestamp; 2]>> = const { Cell::new(None) };
}

/// Time within which a ticking loop looks for bytes again. It ticks every 10 ms, each tick up to 2 ms late.
const IN_TIME: Duration = Duration::from_millis(25);

/// Ticks of an event loop. They show when it looked for bytes.
///
/// Before each tick the loop asks the kernel which sockets have bytes, and it reads them at once. So what a
/// read brings came after the last tick but one. Where a loop is starved of CPU, that is long ago, and the
/// time of the last packet says little of when the first came.
pub(crate) struct ReaderTicks(());

impl ReaderTicks {
    /// No tick yet.
    pub(crate) fn start() -> Self {
        TICKS.set(None);
        Self(())
    }

    /// The loop of this thread runs at this moment.
    pub(crate) fn tick(at: Timestamp) {
        let last = TICKS.get().map_or(at, |[_, last]| last);
        TICKS.set(Some([last, at]));
    }

    /// Returns how much earlier the first bytes of a read may have come. Its last packet came at `stamp`, and none came
    /// before `before`. It is nothing while the loop reads in time, or where it does not tick.
    pub(crate) fn late_by(stamp: Timestamp, before: Timestamp) -> Duration {
        let looked = TICKS.get().map_or(stamp, |[last_but_one, _]| last_but_one);
        Some(stamp.since(before.max(looked))).filter(|&late| late > IN_TIME).unwrap_or_default()
    }
}

impl Drop for ReaderTicks {
    fn drop(&mut self) {
        TICKS.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn bytes_came_after_the_read_before_and_after_the_last_tick_but_one() {
        let late = |stamp, before| ReaderTicks::late_by(ms(stamp), ms(before)).as_millis();
        assert_eq!(late(900, 0), 0, "a loop that does not tick tells nothing");
        let ticks = ReaderTicks::start();
        for at in [100, 110, 120] {
            ReaderTicks::tick(ms(at));
        }
        assert_eq!([late(130, 0), late(135, 0), late(400, 0), late(400, 250)], [0, 0, 290, 150]);
        // The loop is held up from 120 to 420 ms: until one tick more its reads may bring what lay there.
        ReaderTicks::tick(ms(420));
        assert_eq!(late(410, 0), 290);
        ReaderTicks::tick(ms(430));
        assert_eq!(late(432, 0), 0);
        drop(ticks);
        assert_eq!(late(900, 0), 0);
    }
}

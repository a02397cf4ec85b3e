//! Runs a server over virtual time: arrivals in, histories out.

use super::driver::{Driver, History};
use super::job::Job;
use super::server::Server;
use crate::clock::Timestamp;

/// Feeds `arrivals` (in order of time) to `server` and hands each job's history to `on_end` as it ends, until all have
/// ended or, when given, until the moment `until`. What is in the server then is handed over as unfinished, by name.
pub fn simulate<S: Server + ?Sized>(
    server: &mut S,
    arrivals: impl IntoIterator<Item = (Timestamp, Job)>,
    until: Option<Timestamp>,
    mut on_end: impl FnMut(History),
) {
    let mut arrivals = arrivals.into_iter().peekable();
    let mut driver = Driver::new(server);
    let mut clock = Timestamp::ZERO;
    loop {
        let next_arrival = arrivals.peek().map(|arrival| arrival.0);
        let Some(next) = [next_arrival, driver.next_event()].into_iter().flatten().min() else { break };
        clock = clock.max(next);
        if until.is_some_and(|until| clock > until) {
            break;
        }
        // All that arrive at a moment are in before anything starts at it.
        while let Some((_, job)) = arrivals.next_if(|arrival| arrival.0 <= clock) {
            driver.submit(clock, job).into_iter().for_each(&mut on_end);
        }
        driver.advance(clock, &mut on_end);
    }
    driver.stop().into_iter().for_each(on_end);
}

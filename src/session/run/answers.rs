//! Counts the tokens of answers where the server does not.

use std::ops::ControlFlow;

use crate::engine::{CaptureText, SmokeReport};
use crate::generator::TokenCounter;
use crate::live::{CountLine, Screen};
use crate::record::TokenSource;
use crate::runner::CollectedRun;
use crate::session::interrupts::Interrupts;

/// What is to be kept of answers, by how the server answered the test request: their words, where it counts nothing and
/// something here can.
pub(super) fn keep(smoke: &SmokeReport, counter: Option<&TokenCounter>) -> CaptureText {
    match (smoke.token_source, counter) {
        (TokenSource::Chunks, Some(_)) => CaptureText::Yes,
        _ => CaptureText::No,
    }
}

/// Counts what was kept; a person who wants to leave need not wait for it.
pub(super) fn count(
    gathered: &mut CollectedRun,
    counter: Option<&TokenCounter>,
    interrupts: &Interrupts,
    screen: Screen,
) {
    let (Some(counter), 1..) = (counter, gathered.uncounted()) else { return };
    let line = CountLine::start(screen, gathered.uncounted());
    gathered.count(counter, |done| {
        line.at(done);
        if interrupts.leave_is_wished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}

//! Signals before, between and during runs.

use super::*;

#[test]
fn between_two_of_several_runs_an_interrupt_is_a_wish_and_the_next_run_knows_it() {
    let interrupts = Interrupts::default();
    interrupts.series_begins();
    let mut first = interrupts.run_begins();
    assert!(!first.has_changed().unwrap());
    interrupts.run_ends();
    // By itself a run that is over would leave nothing to wish for: this would end the process.
    interrupts.heed(Printer);
    assert!(interrupts.stop_is_wished());
    let mut next = interrupts.run_begins();
    assert!(next.has_changed().unwrap());
    assert_eq!(*next.borrow_and_update(), Interrupt::StopReleasing);
    interrupts.heed(Printer);
    assert_eq!(*next.borrow_and_update(), Interrupt::Leave);
    assert_eq!(*first.borrow_and_update(), Interrupt::Leave);
}

#[test]
#[cfg(unix)]
fn a_lost_terminal_drains_however_often_it_is_signalled_and_a_second_of_quiet_makes_sigterm_a_wish() {
    let interrupts = Interrupts::default();
    interrupts.series_begins();
    let begin = Instant::now();
    let hear = |signal, ms| interrupts.hear(signal, begin + Duration::from_millis(ms), Printer);
    for ms in [0, 1, 5, 9_000] {
        hear(Signal::HangUp, ms);
        assert_eq!(*interrupts.wish.borrow(), Interrupt::StopReleasing);
    }
    hear(Signal::Terminate, 9_900);
    assert_eq!(*interrupts.wish.borrow(), Interrupt::StopReleasing);
    hear(Signal::Terminate, 10_950);
    assert_eq!(*interrupts.wish.borrow(), Interrupt::Leave);
}

#[test]
#[cfg(unix)]
fn ctrl_c_is_a_wish_at_once() {
    let interrupts = Interrupts::default();
    interrupts.series_begins();
    let now = Instant::now();
    interrupts.hear(Signal::HangUp, now, Printer);
    interrupts.hear(Signal::CtrlC, now, Printer);
    assert_eq!(*interrupts.wish.borrow(), Interrupt::Leave);
}

//! The canned server as a process: says on standard output where it is and when the load begins and ends.
//!
//! `canned_server FIRST LAST [GAP_US]`: the load begins with the request number FIRST, from 1, and ends when the
//! answer number LAST is written. Without a gap tokens leave flat out.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

#[path = "../canned/mod.rs"]
mod canned;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use skyline::clock::{RunClock, Timestamp};

use canned::Watch;

/// Says when a load begins and ends.
struct Announcer {
    first: u64,
    last: u64,
    asked: AtomicU64,
    answered: AtomicU64,
    tokens: AtomicU64,
}

impl Watch for Announcer {
    fn asked(&self, _tokens: u32) {
        if self.asked.fetch_add(1, Relaxed) + 1 == self.first {
            self.tokens.store(0, Relaxed);
            println!("begin");
        }
    }

    fn answered(&self, _name: &str, writes: Vec<Timestamp>) {
        let tokens = self.tokens.fetch_add(writes.len() as u64, Relaxed) + writes.len() as u64;
        let answered = self.answered.fetch_add(1, Relaxed) + 1;
        if answered == self.last {
            println!("end {} {tokens}", answered + 1 - self.first);
        }
    }
}

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|number| number.parse().unwrap()).collect();
    let &[first, last, ref gap @ ..] = &arguments[..] else { unreachable!("canned_server FIRST LAST [GAP_US]") };
    let gap = Duration::from_micros(gap.first().copied().unwrap_or(0));
    let announcer =
        Announcer { first, last, asked: AtomicU64::new(0), answered: AtomicU64::new(0), tokens: AtomicU64::new(0) };
    println!("{}", canned::start(gap, RunClock::starting_in(Duration::ZERO), Arc::new(announcer)));
    loop {
        std::thread::park();
    }
}

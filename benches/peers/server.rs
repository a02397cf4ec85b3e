//! The canned server as a process: says on standard output where it is and when the load begins and ends.
//!
//! `canned_server FIRST LAST [GAP_US] [--arrivals]`: the load begins with the request number FIRST, from 1, and ends
//! when the answer number LAST is written. Without a gap tokens leave flat out. With `--arrivals` it says at the end
//! when the kernel received the last packet of each request of the load, nanoseconds since 1970. A request after the
//! last ends it: whoever counted them was wrong.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

#[path = "../canned/mod.rs"]
mod canned;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skyline::clock::{RunClock, Timestamp};

use canned::Watch;

/// Says when a load begins and ends, and when its requests arrived.
struct Announcer {
    first: u64,
    last: u64,
    asked: AtomicU64,
    answered: AtomicU64,
    tokens: AtomicU64,
    arrivals: Option<Mutex<Vec<Duration>>>,
}

impl Watch for Announcer {
    fn wants_arrivals(&self) -> bool {
        self.arrivals.is_some()
    }

    fn asked(&self, arrived: Option<Duration>) {
        let number = self.asked.fetch_add(1, Relaxed) + 1;
        if number == self.first {
            self.tokens.store(0, Relaxed);
            println!("begin");
        }
        if number > self.last {
            println!("surplus {number}");
            std::process::exit(1);
        }
        if number >= self.first
            && let (Some(arrivals), Some(arrived)) = (&self.arrivals, arrived)
        {
            arrivals.lock().unwrap().push(arrived);
        }
    }

    fn answered(&self, _name: &str, writes: Vec<Timestamp>) {
        let tokens = self.tokens.fetch_add(writes.len() as u64, Relaxed) + writes.len() as u64;
        let answered = self.answered.fetch_add(1, Relaxed) + 1;
        if answered == self.last {
            println!("end {} {tokens}", answered + 1 - self.first);
            if let Some(arrivals) = &self.arrivals {
                let nanos: Vec<_> = arrivals.lock().unwrap().iter().map(|at| at.as_nanos().to_string()).collect();
                println!("arrivals {}", nanos.join(" "));
            }
        }
    }
}

fn main() {
    let (flags, numbers): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word == "--arrivals");
    let numbers: Vec<u64> = numbers.iter().map(|number| number.parse().unwrap()).collect();
    let &[first, last, ref gap @ ..] = &numbers[..] else {
        unreachable!("canned_server FIRST LAST [GAP_US] [--arrivals]")
    };
    let gap = Duration::from_micros(gap.first().copied().unwrap_or(0));
    let announcer = Announcer {
        first,
        last,
        asked: AtomicU64::new(0),
        answered: AtomicU64::new(0),
        tokens: AtomicU64::new(0),
        arrivals: (!flags.is_empty()).then(Mutex::default),
    };
    println!("{}", canned::start(gap, RunClock::starting_in(Duration::ZERO), Arc::new(announcer)));
    loop {
        std::thread::park();
    }
}

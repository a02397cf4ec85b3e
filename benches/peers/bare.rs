//! The client that only reads as a process: the floor beneath the costs of load generators.
//!
//! `bare_client URL REQUESTS TOKENS AT_ONCE RATE`; 0 at once is all, a rate of 0 is all at the start.
//!
//! `bare_client wait RATE MOMENTS SEED` asks nobody: it waits for the moments of a Poisson process and does nothing else.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

#[path = "../bare/mod.rs"]
mod bare;

use std::time::{Duration, Instant};

use bare::Load;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rand_distr::{Distribution as _, Exp};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, numbers @ ..] = &arguments[..] else { unreachable!("bare_client URL REQUESTS TOKENS AT_ONCE RATE") };
    let number = |index: usize| numbers[index].parse::<u32>().unwrap();
    if url == "wait" {
        return wait(number(0), number(1), number(2));
    }
    let (requests, tokens, at_once, rate) = (number(0), number(1), number(2), number(3));
    let load = Load {
        requests: requests as usize,
        tokens,
        at_once: if at_once == 0 { requests as usize } else { at_once as usize },
        gap: if rate == 0 { Duration::ZERO } else { Duration::from_secs(1) / rate },
    };
    let mut bytes = 0;
    bare::fly(url.trim_start_matches("http://").parse().unwrap(), load, |_, read| bytes += read.len());
    println!("{requests} requests, {bytes} bytes");
}

/// Prints every moment, and when a loop that only looks at the clock saw that it had come, in nanoseconds.
fn wait(rate: u32, moments: u32, seed: u32) {
    let mut random = ChaCha8Rng::seed_from_u64(seed.into());
    let gaps = Exp::new(f64::from(rate)).unwrap();
    let (begin, mut moment) = (Instant::now(), Duration::ZERO);
    let mut came = Vec::new();
    for _ in 0..moments {
        moment += Duration::from_secs_f64(gaps.sample(&mut random));
        while begin.elapsed() < moment {
            std::hint::spin_loop();
        }
        came.push((moment, begin.elapsed()));
    }
    for (moment, at) in came {
        println!("{} {}", moment.as_nanos(), at.as_nanos());
    }
}

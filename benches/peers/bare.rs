//! The client that only reads as a process: the floor beneath the costs of load generators.
//!
//! `bare_client URL REQUESTS TOKENS AT_ONCE RATE`; 0 at once is all, a rate of 0 is all at the start.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on should panic")]
#![allow(clippy::print_stdout, reason = "its words are its result")]

#[path = "../bare/mod.rs"]
mod bare;

use std::time::Duration;

use bare::Load;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, numbers @ ..] = &arguments[..] else { unreachable!("bare_client URL REQUESTS TOKENS AT_ONCE RATE") };
    let number = |index: usize| numbers[index].parse::<u32>().unwrap();
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

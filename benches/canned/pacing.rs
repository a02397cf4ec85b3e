//! Writes each token at its moment: one event a write, no two streams in step.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Write as _};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mio::net::TcpStream;
use skyline::clock::{RunClock, Timestamp};

use super::Watch;
use super::answer::Answer;

/// After this long a socket that had no room is tried again: its client is behind.
const AGAIN: Duration = Duration::from_millis(1);

/// An answer that leaves token by token.
#[derive(Debug)]
pub(super) struct Paced {
    answer: Answer,
    socket: Arc<TcpStream>,
    unsent: Vec<u8>,
    writes: Vec<Timestamp>,
    due: Timestamp,
}

impl Paced {
    pub(super) fn new(answer: Answer, socket: Arc<TcpStream>) -> Self {
        Self { answer, socket, unsent: Vec::new(), writes: Vec::new(), due: Timestamp::ZERO }
    }

    /// Whether there is more to write.
    fn step(&mut self, gap: Duration, clock: RunClock) -> More {
        if self.unsent.is_empty() {
            self.answer.render(&mut self.unsent);
            self.writes.push(clock.now());
        }
        match (&*self.socket).write(&self.unsent) {
            Ok(count) => {
                self.unsent.drain(..count);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return More::Gone,
        }
        if !self.unsent.is_empty() {
            self.due = self.due.after(AGAIN);
            return More::Later;
        }
        if self.answer.is_whole() {
            return More::Whole;
        }
        self.due = self.due.after(gap);
        More::Later
    }
}

enum More {
    Later,
    Whole,
    Gone,
}

/// Writes what comes in until nobody is left to send it.
pub(super) fn write(coming: &mpsc::Receiver<Paced>, gap: Duration, clock: RunClock, watch: &impl Watch) {
    let mut waiting = BinaryHeap::new();
    let mut phase = 0.0;
    loop {
        let paced = match waiting.peek() {
            None => match coming.recv() {
                Ok(paced) => Some(paced),
                Err(mpsc::RecvError) => return,
            },
            Some(Soonest(next)) => match coming.recv_timeout(clock.until(next.due)) {
                Ok(paced) => Some(paced),
                Err(mpsc::RecvTimeoutError::Timeout) => None,
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            },
        };
        if let Some(mut paced) = paced {
            // Steps of the golden ratio fill the gap evenly, however many streams there are.
            phase = (phase + 0.618_033_988_75_f64).fract();
            paced.due = clock.now().after(gap.mul_f64(phase));
            waiting.push(Soonest(paced));
        }
        let now = clock.now();
        while waiting.peek().is_some_and(|Soonest(next)| next.due <= now) {
            let Some(Soonest(mut paced)) = waiting.pop() else { break };
            match paced.step(gap, clock) {
                More::Later => waiting.push(Soonest(paced)),
                More::Whole => watch.answered(paced.answer.name(), paced.writes),
                More::Gone => {}
            }
        }
    }
}

/// Orders a heap by whose moment comes first.
struct Soonest(Paced);

impl Ord for Soonest {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.due.cmp(&self.0.due)
    }
}

impl PartialOrd for Soonest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Soonest {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Soonest {}

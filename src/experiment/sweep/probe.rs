//! How much a server completes, by short looks at more and more closed-loop users.

use std::time::Duration;

/// Users of the first look; each further one has so many times as many.
const MORE: u64 = 4;
/// The looks end where more users raise the rate by less than this factor.
const RISES: f64 = 1.2;

/// Capacity of a server as bursts before a search show it. It has two digits, so that it is read again as it was
/// written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCapacity {
    /// The most requests per second that it completed.
    pub per_s: f64,
    /// Time that it takes for one request alone, seconds.
    pub alone_s: f64,
}

/// Burst of a closed loop before a search, so that it begins near the answer. It has 1, 4, 16… users, each of whom asks
/// again at once, until more of them complete hardly more. It has no clock and no server.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityProbe {
    /// Requests per second that each look completed.
    looks: Vec<f64>,
    /// More users are not looked at.
    most: u64,
}

impl CapacityProbe {
    /// Length of a look, which ends later where it has too few answers by then.
    pub const LOOK: Duration = Duration::from_secs(4);
    /// The most users of a look where nothing else is said.
    pub const MOST: u64 = 1_024;

    /// A probe of at most so many users at once.
    pub const fn up_to(most: u64) -> Self {
        Self { looks: Vec::new(), most }
    }

    /// Users of the next look; `None` where enough is known.
    pub fn next(&self) -> Option<u64> {
        let of = |look: u32| MORE.saturating_pow(look).min(self.most);
        let look = self.looks.len() as u32;
        let users = Some(of(look)).filter(|users| look == 0 || *users > of(look - 1))?;
        match self.looks[..] {
            [.., before, last] if last < RISES * before => None,
            _ => Some(users),
        }
    }

    /// Takes in how many requests per second the next look completed.
    pub fn record(&mut self, per_s: f64) {
        self.looks.push(per_s);
    }

    /// Returns the capacity that the looks show together. It is `None` where none completed a request.
    pub fn capacity(&self) -> Option<MeasuredCapacity> {
        let most = self.looks.iter().copied().reduce(f64::max).filter(|per_s| *per_s > 0.0)?;
        let alone = self.looks.first().copied().filter(|per_s| *per_s > 0.0).unwrap_or(most);
        Some(MeasuredCapacity { per_s: two_digits(most), alone_s: two_digits(1.0 / alone) })
    }
}

/// `value` > 0 rounded to two digits.
fn two_digits(value: f64) -> f64 {
    let power = libm::pow(10.0, 1.0 - libm::floor(libm::log10(value)));
    (value * power).round() / power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_where_more_users_complete_no_more() {
        let bounded = |of: fn(f64) -> f64, most: u64| {
            let (mut probe, mut seen) = (CapacityProbe::up_to(most), Vec::new());
            while let Some(users) = probe.next() {
                seen.push(users);
                probe.record(of(users as f64));
            }
            (seen, probe.capacity().map(|found| found.per_s))
        };
        let looked_at = |of| bounded(of, CapacityProbe::MOST);
        // 16 places of 2 s each.
        assert_eq!(looked_at(|users| users.min(16.0) / 2.0), (vec![1, 4, 16, 64], Some(8.0)));
        // One place.
        assert_eq!(looked_at(|_| 3.0), (vec![1, 4], Some(3.0)));
        // A server that has no end.
        assert_eq!(looked_at(|users| users), (vec![1, 4, 16, 64, 256, 1_024], Some(1_000.0)));
        assert_eq!(looked_at(|_| 0.0).1, None);
        // It is bounded by what its user allows.
        assert_eq!(bounded(|users| users, 100), (vec![1, 4, 16, 64, 100], Some(100.0)));
        assert_eq!(bounded(|users| users, 1).0, [1]);
    }

    #[test]
    fn a_measured_figure_is_read_again_as_it_was_written() {
        let rounded = [0.012_34, 0.996, 1.04, 8.587, 73.4, 1_449.0].map(two_digits);
        assert_eq!(rounded, [0.012, 1.0, 1.0, 8.6, 73.0, 1_400.0]);
    }
}

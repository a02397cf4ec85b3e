//! How often each length of time occurs: exact, in a memory that their range bounds and not their number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::time::Duration;

use crate::units::millis;

/// A page has the lengths that differ in so many low bits of their nanoseconds.
const PAGE_BITS: u32 = 16;
const PAGE: usize = 1 << PAGE_BITS;
/// Lengths up to this are counted in pages, nanoseconds.
const LONGEST: u64 = u32::MAX as u64;
/// Most tokens among which a length that is counted in pages is shared out.
const MOST_TOKENS: u32 = 64;
/// Number of lengths of a page beyond which counts take less memory.
const FEW: usize = PAGE / 2;
/// Counts that are summed up together.
const BLOCK: usize = 256;
/// Number that a count of one byte holds before it starts again.
const FULL: u64 = 256;

/// Lengths of time, each shared out among tokens. A length stands for as many samples as it has tokens, each of its
/// length ÷ its tokens.
///
/// A run of a day has two billion, within a hundred milliseconds or less. Each takes two bytes until its page
/// is full, which then takes one for each of its nanoseconds, and two for each 256 equal lengths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Pages by their tokens, then by their high bits.
    pages: Vec<Vec<Page>>,
    /// Lengths that are too long or have too many tokens. Each is its nanoseconds and its tokens, 16 bytes.
    rare: Vec<(u64, u32)>,
}

/// Lengths of a page by the low bits of their nanoseconds.
#[derive(Clone, Debug)]
enum Page {
    Few(Vec<u16>),
    Many(Box<Counts>),
}

#[derive(Clone, Debug)]
struct Counts {
    /// How often each occurs, but for whole 256 times.
    of: Vec<u8>,
    /// Each as often as it occurred 256 times.
    full: Vec<u16>,
    /// The sum of `of` before each block of it.
    before: Vec<u64>,
}

impl Tally {
    /// Adds a length; of no tokens it is no sample.
    pub(crate) fn add(&mut self, nanos: u64, tokens: u32) {
        if nanos > LONGEST || tokens > MOST_TOKENS {
            self.rare.extend((tokens > 0).then_some((nanos, tokens)));
        } else if tokens > 0 {
            let pages = at_place(&mut self.pages, tokens as usize);
            at_place(pages, (nanos >> PAGE_BITS) as usize).add(nanos as u16);
        }
    }

    /// Puts them in order.
    pub(super) fn ranked(self) -> Ranked {
        let of_tokens = self.pages.into_iter().zip(0..);
        let of_tokens: Vec<_> = of_tokens.map(|(pages, tokens)| Lengths::new(pages, tokens)).collect();
        let mut rare: Vec<_> =
            self.rare.into_iter().map(|(nanos, tokens)| (per_token(nanos, tokens), u64::from(tokens))).collect();
        rare.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut through = 0;
        for (_, samples) in &mut rare {
            through += *samples;
            *samples = through;
        }
        let len = through + of_tokens.iter().map(|of| of.len() * u64::from(of.tokens)).sum::<u64>();
        Ranked { of_tokens, rare, len }
    }
}

/// Returns what is in a place of a list, which is filled up to there.
fn at_place<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

/// Milliseconds a token.
fn per_token(nanos: u64, tokens: u32) -> f64 {
    millis(Duration::from_nanos(nanos)) / f64::from(tokens)
}

impl Default for Page {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Page {
    fn add(&mut self, low: u16) {
        match self {
            Self::Few(each) if each.len() < FEW => {
                // Twice the memory would be half of it unused.
                if each.len() == each.capacity() {
                    each.reserve_exact(each.len() / 4 + 4);
                }
                each.push(low);
            }
            Self::Few(each) => {
                let mut counts = Counts { of: vec![0; PAGE], full: Vec::new(), before: Vec::new() };
                for each in each.iter() {
                    counts.add(*each);
                }
                counts.add(low);
                *self = Self::Many(Box::new(counts));
            }
            Self::Many(counts) => counts.add(low),
        }
    }

    /// Puts them in order.
    fn sort(&mut self) {
        match self {
            Self::Few(each) => each.sort_unstable(),
            Self::Many(counts) => {
                counts.full.sort_unstable();
                let mut sum = 0;
                let before = counts.of.chunks(BLOCK).map(|block| {
                    let before = sum;
                    sum += total(block);
                    before
                });
                counts.before = before.collect();
            }
        }
    }

    /// How many there are up to one.
    fn up_to(&self, low: u16) -> u64 {
        match self {
            Self::Few(each) => each.partition_point(|each| *each <= low) as u64,
            Self::Many(counts) => {
                let (low_place, block) = (usize::from(low), usize::from(low) / BLOCK);
                let full = counts.full.partition_point(|full| *full <= low) as u64;
                counts.before[block] + total(&counts.of[block * BLOCK..=low_place]) + FULL * full
            }
        }
    }

    /// Each that occurs, ascending, and how often.
    fn iter(&self) -> Box<dyn Iterator<Item = (u16, u64)> + '_> {
        match self {
            Self::Few(each) => Box::new(each.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64))),
            Self::Many(counts) => {
                let mut full = counts.full.iter().peekable();
                Box::new(counts.of.iter().zip(0..=u16::MAX).filter_map(move |(count, low)| {
                    let mut count = u64::from(*count);
                    while full.next_if(|full| **full == low).is_some() {
                        count += FULL;
                    }
                    (count > 0).then_some((low, count))
                }))
            }
        }
    }
}

impl Counts {
    fn add(&mut self, low: u16) {
        let count = &mut self.of[usize::from(low)];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.full.push(low);
        }
    }
}

fn total(counts: &[u8]) -> u64 {
    counts.iter().copied().map(u64::from).sum()
}

/// Values with what each stands for, samples and how often these, ascending.
type Source<'a> = Box<dyn Iterator<Item = (f64, u64, u64)> + 'a>;

/// Samples in ascending order.
#[derive(Debug)]
pub(super) struct Ranked {
    of_tokens: Vec<Lengths>,
    /// Milliseconds of the rare ones, ascending, with the samples up to each.
    rare: Vec<(f64, u64)>,
    len: u64,
}

/// Lengths that are shared out among so many tokens.
#[derive(Debug)]
struct Lengths {
    tokens: u32,
    pages: Vec<Page>,
    /// Lengths up to the end of each page.
    through: Vec<u64>,
}

impl Lengths {
    fn new(mut pages: Vec<Page>, tokens: u32) -> Self {
        let mut sum = 0;
        let through = pages.iter_mut().map(|page| {
            page.sort();
            sum += page.up_to(u16::MAX);
            sum
        });
        Self { tokens, through: through.collect(), pages }
    }

    fn len(&self) -> u64 {
        self.through.last().copied().unwrap_or(0)
    }

    /// How many are at most so many milliseconds a token.
    fn at_most(&self, ms: f64) -> u64 {
        if self.pages.is_empty() || ms < 0.0 {
            return 0;
        }
        // The longest of them: a product is off by its rounding at most.
        let mut nanos = ((ms * f64::from(self.tokens) * 1e6) as u64).min(LONGEST);
        while per_token(nanos, self.tokens) > ms {
            nanos -= 1;
        }
        while nanos < LONGEST && per_token(nanos + 1, self.tokens) <= ms {
            nanos += 1;
        }
        let place = (nanos >> PAGE_BITS) as usize;
        let Some(page) = self.pages.get(place) else { return self.len() };
        place.checked_sub(1).map_or(0, |before| self.through[before]) + page.up_to(nanos as u16)
    }

    /// Each that occurs, ascending: its milliseconds a token, its tokens, and how often.
    fn iter(&self) -> impl Iterator<Item = (f64, u64, u64)> + '_ {
        self.pages.iter().zip(0_u64..).flat_map(move |(page, high)| {
            page.iter().map(move |(low, times)| {
                let nanos = (high << PAGE_BITS) + u64::from(low);
                (per_token(nanos, self.tokens), self.tokens.into(), times)
            })
        })
    }
}

impl Ranked {
    /// Number of samples.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Number of samples of at most `ms`.
    pub(super) fn at_most(&self, ms: f64) -> u64 {
        let counted = self.of_tokens.iter().map(|of| of.at_most(ms) * u64::from(of.tokens));
        let rare = self.rare.partition_point(|(value, _)| *value <= ms);
        counted.sum::<u64>() + rare.checked_sub(1).map_or(0, |last| self.rare[last].1)
    }

    /// The sample of rank `rank`, counted from 0; `None` past the end.
    pub(super) fn at(&self, rank: u64) -> Option<f64> {
        // The bits of numbers that are not negative are in their order.
        let (mut low, mut high) = (0, f64::MAX.to_bits());
        while low < high {
            let middle = low.midpoint(high);
            if self.at_most(f64::from_bits(middle)) > rank { high = middle } else { low = middle + 1 }
        }
        (rank < self.len).then(|| f64::from_bits(low))
    }

    /// Returns the value and the samples of each length or rare one, ascending. Of equal values the one with fewer
    /// samples is first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut before = 0;
        let rare = self.rare.iter().map(move |(ms, through)| {
            let samples = through - before;
            before = *through;
            (*ms, samples, 1_u64)
        });
        let of_tokens = self.of_tokens.iter().map(|of| Box::new(of.iter()) as Source<'_>);
        let mut sources: Vec<_> = of_tokens.chain([Box::new(rare) as _]).collect();
        let mut next_of = move |source: usize| {
            let (ms, samples, times) = sources[source].next()?;
            Some(Reverse((ms.to_bits(), source, samples, times)))
        };
        let mut heads: BinaryHeap<_> = (0..=self.of_tokens.len()).filter_map(&mut next_of).collect();
        let ascending = std::iter::from_fn(move || {
            let mut head = heads.peek_mut()?;
            let Reverse((bits, source, samples, times)) = *head;
            match next_of(source) {
                Some(next) => *head = next,
                None => drop(PeekMut::pop(head)),
            }
            Some(std::iter::repeat_n((f64::from_bits(bits), samples), times as usize))
        });
        ascending.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_long_or_of_too_many_tokens_takes_memory_each_time() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(LONGEST, MOST_TOKENS);
            tally.add(20_000_000, 1);
        }
        assert_eq!(tally.rare, []);
        tally.add(LONGEST + 1, 1);
        tally.add(20_000_000, MOST_TOKENS + 1);
        assert_eq!(tally.rare, [(LONGEST + 1, 1), (20_000_000, MOST_TOKENS + 1)]);
    }

    #[test]
    fn a_page_has_little_memory_to_spare_and_is_seldom_moved() {
        let (mut page, mut room, mut moves) = (Page::default(), 0, 0);
        for low in 0..FEW {
            page.add(low as u16);
            let Page::Few(each) = &page else { panic!("it became counts at {low}") };
            moves += u32::from(each.capacity() != room);
            room = each.capacity();
            assert!(room <= low / 4 + low + 5, "room for {room} with {low}");
        }
        assert!(moves < 50, "{moves}");
    }
}

//! Clients who leave before their answer is complete.

use crate::random::RandomStream;
use crate::workload::lengths::TOKEN_LIMIT;
use crate::workload::reading::value::{Allowed, SECONDS};
use crate::workload::reading::{seconds, share, spec_table};

/// Shares of clients.
const SHARE: Allowed = Allowed::above(0.0, 1.0);
/// Tokens of an answer that is then left.
const TOKENS: Allowed = Allowed::from(1.0, TOKEN_LIMIT as f64);

spec_table! {
    /// The share of a class's clients who leave, and when. They close the connection, as a browser tab does.
    #[derive(Copy)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Leaving = "the clients who leave" {
        /// Share of the requests, above 0 and at most 1.
        share: f64 = required(|value| value.number(SHARE)),
        /// Seconds after the request began. One that waits for another attempt is left too.
        after_s: Option<f64> = option(|value| value.number(SECONDS)),
        /// Answer tokens that they read before.
        after_tokens: Option<u32> = option(|value| value.whole(TOKENS)),
    }
    check(fields) {
        if after_s.as_ref()?.is_some() == after_tokens.as_ref()?.is_some() {
            return fields.reject("says when clients leave by `after_s` or by `after_tokens`; give one of them");
        }
    }
}

impl Leaving {
    /// Reads what was typed: `10%@2s` or `10%@50tokens`.
    ///
    /// # Errors
    ///
    /// The mistake in it, as a sentence.
    pub fn typed(text: &str) -> Result<Self, String> {
        let unread = || format!("`{text}` does not say who leaves when; write it like 10%@2s or 10%@50tokens");
        let (part, when) = text.split_once('@').ok_or_else(unread)?;
        let part = share(part.trim()).ok_or_else(unread)?;
        SHARE.mistake("share", part).map_or(Ok(()), Err)?;
        let tokens = when.trim().strip_suffix("tokens").or_else(|| when.trim().strip_suffix("token"));
        let Some(tokens) = tokens else {
            return Ok(Self { share: part, after_s: Some(seconds(when.trim())?), after_tokens: None });
        };
        let tokens: u32 = tokens.trim().parse().map_err(|_| unread())?;
        TOKENS.mistake("tokens", tokens.into()).map_or(Ok(()), Err)?;
        Ok(Self { share: part, after_s: None, after_tokens: Some(tokens) })
    }
}

/// The clients of a run who leave. Who does is drawn for each request alone, so that no draw moves another.
#[derive(Clone, Debug)]
pub struct LeavingPolicy {
    classes: Vec<Option<Leaving>>,
    draws: RandomStream,
}

impl LeavingPolicy {
    /// The policy of a workload with these classes and this seed. `None` where no client leaves.
    pub fn new(classes: impl Iterator<Item = Option<Leaving>>, seed: u64) -> Option<Self> {
        let classes: Vec<_> = classes.collect();
        let any = classes.iter().any(Option::is_some);
        any.then(|| Self { classes, draws: RandomStream::named(seed, "clients who leave") })
    }

    /// Returns when the client of request `index` leaves. `None` where it stays.
    pub fn leaves(&self, index: u64, class: u16) -> Option<Leaving> {
        let leaving = (*self.classes.get(usize::from(class))?)?;
        (self.draws.branch(index).unit() < leaving.share).then_some(leaving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_is_typed_as_it_is_said() {
        let at = |after_s| Leaving { share: 0.1, after_s, after_tokens: None };
        assert_eq!(Leaving::typed("10%@2s"), Ok(at(Some(2.0))));
        assert_eq!(Leaving::typed("0.1 @ 250ms"), Ok(at(Some(0.25))));
        let tokens = Leaving { share: 1.0, after_s: None, after_tokens: Some(50) };
        assert_eq!(Leaving::typed("100%@50tokens"), Ok(tokens));
        assert_eq!(Leaving::typed("1@50 tokens"), Ok(tokens));
        for wrong in ["10%", "@2s", "10%@", "0%@2s", "120%@2s", "10%@0s", "10%@0tokens", "10%@-3tokens", "x@2s"] {
            assert!(Leaving::typed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_share_that_leaves_is_drawn_and_no_draw_moves_another() {
        let policy = |share: Option<f64>| {
            let leaving = share.map(|share| Leaving { share, after_s: Some(2.0), after_tokens: None });
            LeavingPolicy::new(std::iter::once(leaving), 42)
        };
        assert!(policy(None).is_none());
        let tenth = policy(Some(0.1)).unwrap();
        let leaves = |index| tenth.leaves(index, 0).is_some();
        // Binomial with n = 100,000 and p = 0.1: four standard deviations are 380.
        let count = (0..100_000).filter(|index| leaves(*index)).count();
        assert!(count.abs_diff(10_000) < 380, "{count}");
        assert!(tenth.leaves(0, 9).is_none());
        // Those of a smaller share are among those of a larger one.
        let half = policy(Some(0.5)).unwrap();
        assert!((0..1_000).all(|index| !leaves(index) || half.leaves(index, 0).is_some()));
        let all = policy(Some(1.0)).unwrap();
        assert!((0..1_000).all(|index| all.leaves(index, 0).is_some()));
    }
}

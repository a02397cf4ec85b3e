//! The probabilities of faults, and which requests they hit.

use std::str::FromStr;

use super::fault::Fault;
use crate::random::RandomStream;

/// The request header that asks for faults, separated by commas.
pub(crate) const HEADER: &str = "x-skyline-fault";

/// A fault with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultChance {
    /// The fault.
    pub fault: Fault,
    /// The share of requests it hits, 0 to 1; of connections for [`Fault::Refuse`].
    pub probability: f64,
}

impl FromStr for FaultChance {
    type Err = String;

    /// `FAULT=PROBABILITY`, such as `reset_mid_stream=0.01` or `stall=500ms=0.05`.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write it as FAULT=PROBABILITY, such as reset_mid_stream=0.01 or stall=500ms=0.05";
        let (fault, probability) =
            text.rsplit_once('=').ok_or_else(|| format!("`{text}` has no probability; {form}"))?;
        let fault = fault.parse()?;
        match probability.trim().parse::<f64>() {
            Ok(probability) if (0.0..=1.0).contains(&probability) => Ok(Self { fault, probability }),
            _ => Err(format!("`{probability}` is not a probability from 0 to 1; {form}")),
        }
    }
}

/// All faults of one mock and their random stream.
#[derive(Clone, Debug)]
pub(crate) struct FaultChances {
    known: Vec<FaultChance>,
    requests: RandomStream,
    connections: RandomStream,
}

impl FaultChances {
    pub(crate) fn new(chances: Vec<FaultChance>, seed: u64) -> Self {
        Self {
            known: chances,
            requests: RandomStream::named(seed, "mock faults"),
            connections: RandomStream::named(seed, "mock refused connections"),
        }
    }

    /// The faults of the request with this number. Each fault has its own draw, so that another one in the
    /// list changes none.
    pub(crate) fn of_request(&self, number: u64) -> Vec<Fault> {
        let mut stream = self.requests.branch(number);
        let drawn = self.known.iter().map(|chance| (chance, stream.unit()));
        drawn
            .filter(|(chance, draw)| chance.fault != Fault::Refuse && *draw < chance.probability)
            .map(|(chance, _)| chance.fault)
            .collect()
    }

    /// Whether the connection with this number is refused.
    pub(crate) fn refuses(&self, number: u64) -> bool {
        let mut stream = self.connections.branch(number);
        self.known.iter().any(|chance| chance.fault == Fault::Refuse && stream.unit() < chance.probability)
    }
}

/// The faults that a header's value asks for.
pub(crate) fn asked(value: &str) -> Result<Vec<Fault>, String> {
    value
        .split(',')
        .map(|name| match name.parse() {
            Ok(Fault::Refuse) => {
                Err("`refuse` cannot be asked for by header: the connection is there already; ask for \
                     reset_before_headers"
                    .to_owned())
            }
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_read() {
        let chance: FaultChance = "stall=500ms=0.25".parse().unwrap();
        assert_eq!(chance, FaultChance { fault: "stall=500ms".parse().unwrap(), probability: 0.25 });
        assert_eq!("hang=1".parse::<FaultChance>().unwrap().fault, Fault::Hang);
        for (text, says) in [
            ("hang", "`hang` has no probability"),
            ("hang=2", "`2` is not a probability from 0 to 1"),
            ("sleep=0.5", "there is no fault `sleep`"),
        ] {
            let error = text.parse::<FaultChance>().unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn draws_have_the_declared_share_and_are_the_same_again() {
        let chances = FaultChances::new(vec!["hang=0.1".parse().unwrap(), "crlf=1".parse().unwrap()], 7);
        let hangs = (0..10_000).filter(|n| chances.of_request(*n).contains(&Fault::Hang)).count();
        // 1,000 with a standard deviation of 30.
        assert!((880..1_120).contains(&hangs), "{hangs}");
        assert_eq!(chances.of_request(5), chances.of_request(5));
        assert!((0..100).all(|n| chances.of_request(n).contains(&Fault::Crlf) && !chances.refuses(n)));
    }

    #[test]
    fn a_header_asks_for_several() {
        assert_eq!(asked("crlf, comments").unwrap(), [Fault::Crlf, Fault::Comments]);
        assert!(asked("refuse").unwrap_err().contains("reset_before_headers"));
    }
}

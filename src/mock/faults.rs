//! The faults that the mock can inject: each by name, and which requests they hit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use strum::{EnumIter, IntoEnumIterator as _, IntoStaticStr};

use crate::random::RandomStream;
use crate::units;

/// One way in which an answer differs from a good one.
///
/// "Mid-stream" means after half of the answer's tokens. On an answer in one piece, a fault of streams does
/// what it can: those that break off send half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Fault {
    /// HTTP 400 instead of an answer.
    #[strum(serialize = "http_400")]
    Http400,
    /// HTTP 401.
    #[strum(serialize = "http_401")]
    Http401,
    /// HTTP 404.
    #[strum(serialize = "http_404")]
    Http404,
    /// HTTP 429 with `Retry-After`.
    #[strum(serialize = "http_429")]
    Http429,
    /// HTTP 500.
    #[strum(serialize = "http_500")]
    Http500,
    /// HTTP 503 with `Retry-After`.
    #[strum(serialize = "http_503")]
    Http503,
    /// The connection is reset as soon as it opens. Only by probability, since a header would come too late.
    Refuse,
    /// The connection is reset when the request has been read.
    ResetBeforeHeaders,
    /// The connection is reset mid-stream.
    ResetMidStream,
    /// The stream closes properly, mid-stream.
    Truncated,
    /// An error object mid-stream, then `[DONE]`.
    ErrorMidStream,
    /// An event with incomplete JSON; the stream goes on after it.
    MalformedJson,
    /// No usage, though the request asks for it.
    NoUsage,
    /// No `[DONE]`.
    NoDone,
    /// Nothing more comes from mid-stream on, and the connection stays open.
    Hang,
    /// Silence of this length, mid-stream; tokens due meanwhile come at once after it.
    Stall(Duration),
    /// The answer's status comes this much late.
    SlowStart(Duration),
    /// Lines end with CR LF.
    Crlf,
    /// A comment before every event.
    Comments,
    /// Every event in two writes, cut inside a multi-byte UTF-8 character where it has one.
    #[strum(serialize = "split_utf8")]
    SplitUtf8,
    /// The events of three tokens in one write.
    Coalesced,
    /// All events of an answer in one write, at its end. A proxy that gathers the stream sends them so.
    Gathered,
    /// The role chunk at once, not with the first token.
    RoleEarly,
    /// Four tokens in every chunk.
    MultiToken,
    /// The first half of a chat's answer is reasoning.
    Reasoning,
    /// A chat's answer is the arguments of a tool call.
    ToolCalls,
    /// A JSON answer, a tool call's arguments or a canned answer breaks off. It ends in its middle as if it were
    /// complete.
    BrokenAnswer,
    /// A JSON answer, or the arguments of a tool call, violates the schema. It is complete.
    OffSchema,
}

/// Default length of a [`Fault::Stall`].
const STALL: Duration = Duration::from_millis(500);
/// Default delay of a [`Fault::SlowStart`].
const SLOW_START: Duration = Duration::from_secs(1);

impl Fault {
    /// Every fault; those with a length have their default.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter().map(|fault| match fault {
            Self::Stall(_) => Self::Stall(STALL),
            Self::SlowStart(_) => Self::SlowStart(SLOW_START),
            other => other,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The HTTP status of the answer, for faults that set it.
    pub(crate) const fn status(self) -> Option<u16> {
        match self {
            Self::Http400 => Some(400),
            Self::Http401 => Some(401),
            Self::Http404 => Some(404),
            Self::Http429 => Some(429),
            Self::Http500 => Some(500),
            Self::Http503 => Some(503),
            _ => None,
        }
    }

    /// Whether it happens in the middle of a stream.
    pub(crate) const fn strikes_mid_stream(self) -> bool {
        matches!(
            self,
            Self::ResetMidStream
                | Self::Truncated
                | Self::ErrorMidStream
                | Self::MalformedJson
                | Self::Hang
                | Self::Stall(_)
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stall(time) | Self::SlowStart(time) => write!(f, "{}={}us", self.name(), time.as_micros()),
            _ => f.write_str(self.name()),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    /// A name, and for some a length: `hang`, `stall`, `stall=250ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, length) = match text.trim().split_once('=') {
            Some((name, length)) => (name.trim(), Some(units::parse_duration(length)?)),
            None => (text.trim(), None),
        };
        let fault = Self::all().find(|fault| fault.name() == name).ok_or_else(|| {
            let names = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
            format!("there is no fault `{name}`; known: {names}")
        })?;
        match (fault, length) {
            (fault, None) => Ok(fault),
            (Self::Stall(_), Some(length)) => Ok(Self::Stall(length)),
            (Self::SlowStart(_), Some(length)) => Ok(Self::SlowStart(length)),
            (fault, Some(_)) => {
                Err(format!("`{}` has no length; `stall` and `slow_start` have, as in stall=250ms", fault.name()))
            }
        }
    }
}

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
                Err("`refuse` cannot be set by header: the connection is already open; use reset_before_headers"
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
    fn every_fault_is_read_by_its_own_text() {
        for fault in Fault::all() {
            assert_eq!(fault.to_string().parse(), Ok(fault));
            assert_eq!(fault.name().parse(), Ok(fault));
        }
        assert_eq!("stall=250ms".parse(), Ok(Fault::Stall(Duration::from_millis(250))));
    }

    #[test]
    fn a_wrong_name_is_answered_with_all_of_them() {
        let error = "explode".parse::<Fault>().unwrap_err();
        assert!(error.starts_with("there is no fault `explode`; known: http_400, "), "{error}");
        assert!(Fault::all().all(|fault| error.contains(fault.name())), "{error}");
        assert!("hang=2s".parse::<Fault>().unwrap_err().contains("`hang` has no length"));
    }

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

//! Every fault of the mock, by name.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::units;

/// One way in which an answer differs from a good one.
///
/// "Mid-stream" means after half of the answer's tokens. On an answer in one piece, a fault of streams does
/// what it can: those that break off send half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// HTTP 400 instead of an answer.
    Http400,
    /// HTTP 401.
    Http401,
    /// HTTP 404.
    Http404,
    /// HTTP 429 with `Retry-After`.
    Http429,
    /// HTTP 500.
    Http500,
    /// HTTP 503 with `Retry-After`.
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
    SplitUtf8,
    /// The events of three tokens in one write.
    Coalesced,
    /// The role chunk at once, not with the first token.
    RoleEarly,
    /// Four tokens in every chunk.
    MultiToken,
    /// The first half of a chat's answer is reasoning.
    Reasoning,
    /// A chat's answer is the arguments of a tool call.
    ToolCalls,
    /// A JSON answer, the arguments of a tool call or a canned answer ends in its middle as if it were
    /// complete.
    BrokenAnswer,
    /// A JSON answer, or the arguments of a tool call, is complete and violates the schema.
    OffSchema,
}

/// Default length of a [`Fault::Stall`].
const STALL: Duration = Duration::from_millis(500);
/// Default delay of a [`Fault::SlowStart`].
const SLOW_START: Duration = Duration::from_secs(1);

impl Fault {
    /// Every fault; those with a length have their default.
    pub const ALL: [Self; 27] = [
        Self::Http400,
        Self::Http401,
        Self::Http404,
        Self::Http429,
        Self::Http500,
        Self::Http503,
        Self::Refuse,
        Self::ResetBeforeHeaders,
        Self::ResetMidStream,
        Self::Truncated,
        Self::ErrorMidStream,
        Self::MalformedJson,
        Self::NoUsage,
        Self::NoDone,
        Self::Hang,
        Self::Stall(STALL),
        Self::SlowStart(SLOW_START),
        Self::Crlf,
        Self::Comments,
        Self::SplitUtf8,
        Self::Coalesced,
        Self::RoleEarly,
        Self::MultiToken,
        Self::Reasoning,
        Self::ToolCalls,
        Self::BrokenAnswer,
        Self::OffSchema,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http400 => "http_400",
            Self::Http401 => "http_401",
            Self::Http404 => "http_404",
            Self::Http429 => "http_429",
            Self::Http500 => "http_500",
            Self::Http503 => "http_503",
            Self::Refuse => "refuse",
            Self::ResetBeforeHeaders => "reset_before_headers",
            Self::ResetMidStream => "reset_mid_stream",
            Self::Truncated => "truncated",
            Self::ErrorMidStream => "error_mid_stream",
            Self::MalformedJson => "malformed_json",
            Self::NoUsage => "no_usage",
            Self::NoDone => "no_done",
            Self::Hang => "hang",
            Self::Stall(_) => "stall",
            Self::SlowStart(_) => "slow_start",
            Self::Crlf => "crlf",
            Self::Comments => "comments",
            Self::SplitUtf8 => "split_utf8",
            Self::Coalesced => "coalesced",
            Self::RoleEarly => "role_early",
            Self::MultiToken => "multi_token",
            Self::Reasoning => "reasoning",
            Self::ToolCalls => "tool_calls",
            Self::BrokenAnswer => "broken_answer",
            Self::OffSchema => "off_schema",
        }
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
        let fault = Self::ALL.into_iter().find(|fault| fault.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no fault `{name}`; known: {names}")
        })?;
        match (fault, length) {
            (fault, None) => Ok(fault),
            (Self::Stall(_), Some(length)) => Ok(Self::Stall(length)),
            (Self::SlowStart(_), Some(length)) => Ok(Self::SlowStart(length)),
            (fault, Some(_)) => Err(format!(
                "`{}` has no length; `stall` and `slow_start` have, as in stall=250ms",
                fault.name()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_read_by_its_own_text() {
        for fault in Fault::ALL {
            assert_eq!(fault.to_string().parse(), Ok(fault));
            assert_eq!(fault.name().parse(), Ok(fault));
        }
        assert_eq!("stall=250ms".parse(), Ok(Fault::Stall(Duration::from_millis(250))));
    }

    #[test]
    fn a_wrong_name_is_answered_with_all_of_them() {
        let error = "explode".parse::<Fault>().unwrap_err();
        assert!(error.starts_with("there is no fault `explode`; known: http_400, "), "{error}");
        assert!(Fault::ALL.iter().all(|fault| error.contains(fault.name())), "{error}");
        assert!("hang=2s".parse::<Fault>().unwrap_err().contains("`hang` has no length"));
    }
}

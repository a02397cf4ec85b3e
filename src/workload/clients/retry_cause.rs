//! What a client may answer with another attempt.

use std::fmt;
use std::str::FromStr;

use serde_with::SerializeDisplay;

use crate::workload::reading::value::{Allowed, SpecValue};

/// Statuses that a server refuses with.
const STATUS: Allowed = Allowed::from(400.0, 599.0);

/// A kind of failure that a client may retry. In files and on the command line: `429`, `timeout`, `connect`, `reset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay)]
pub enum RetryCause {
    /// The server answered with this HTTP status.
    Status(u16),
    /// One of the client's own time limits ended the attempt.
    Timeout,
    /// No connection.
    Connect,
    /// The connection broke, or closed before the answer was complete.
    Reset,
}

impl RetryCause {
    /// Causes that are retried by default. They are 429 Too Many Requests and 503 Service Unavailable, by which servers
    /// refuse a load.
    pub const DEFAULT: [Self; 2] = [Self::Status(429), Self::Status(503)];

    /// Reads a status as a number, or a cause by its name.
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        if value.is_number() {
            return value.whole(STATUS).map(Self::Status);
        }
        match value.text()?.parse() {
            Ok(cause) => Some(cause),
            Err(_) => value.refuse("a status from 400 to 599, or one of timeout, connect, reset"),
        }
    }
}

impl fmt::Display for RetryCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status}"),
            Self::Timeout => f.write_str("timeout"),
            Self::Connect => f.write_str("connect"),
            Self::Reset => f.write_str("reset"),
        }
    }
}

impl FromStr for RetryCause {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "timeout" => Ok(Self::Timeout),
            "connect" => Ok(Self::Connect),
            "reset" => Ok(Self::Reset),
            status => status
                .parse::<u16>()
                .ok()
                .filter(|status| STATUS.has(f64::from(*status)))
                .map(Self::Status)
                .ok_or_else(|| {
                    format!(
                        "`{text}` is nothing that can be retried; name a status from 400 to 599, timeout, connect or \
                         reset"
                    )
                }),
        }
    }
}

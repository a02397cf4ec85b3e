//! What is behind a failure, where its kind alone does not tell the cure.

use crate::record::Failure;

/// What is behind a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing more than the failure's kind is known.
    #[default]
    Unknown,
    /// The host's name has no address.
    UnknownHost,
    /// Nobody listens at the port.
    Refused,
    /// This process has too many files open.
    OutOfFiles,
    /// This machine has no local port left.
    OutOfPorts,
    /// The TLS handshake was refused by either side, a certificate that does not hold among the reasons.
    Untrusted,
    /// What answers the handshake is not TLS.
    NotTls,
    /// A whole answer came where a stream was asked for.
    NotStreaming,
    /// The body is of a type that no answer has.
    ContentType,
    /// The body is compressed.
    Compressed,
    /// The server's error object names the model as what is wrong.
    Model,
}

impl Cause {
    /// Whether waiting may cure it.
    pub(crate) const fn may_pass(self) -> bool {
        !matches!(self, Self::Untrusted | Self::NotTls)
    }
}

/// A failure, and what is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiagnosedFailure {
    /// What is told and counted.
    pub failure: Failure,
    /// What the hint is chosen by.
    pub cause: Cause,
}

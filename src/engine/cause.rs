//! The cause of a failure, where its kind alone does not determine the hint.

use crate::record::Failure;

/// The cause of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing more than the failure's kind is known.
    #[default]
    Unknown,
    /// The host's name has no address.
    UnknownHost,
    /// Nothing listens at the port.
    Refused,
    /// This process has too many files open.
    OutOfFiles,
    /// This machine has no local port left.
    OutOfPorts,
    /// Either side refused the TLS handshake, for example because of an invalid certificate.
    Untrusted,
    /// The peer does not speak TLS.
    NotTls,
    /// A whole answer came where a stream was requested.
    NotStreaming,
    /// The content type is that of no answer.
    ContentType,
    /// The body is compressed.
    Compressed,
    /// The server's error object names the model.
    Model,
}

impl Cause {
    /// Whether waiting may help.
    pub(crate) const fn may_pass(self) -> bool {
        !matches!(self, Self::Untrusted | Self::NotTls)
    }
}

/// A failure and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiagnosedFailure {
    /// The failure for reports and counts.
    pub failure: Failure,
    /// Determines the hint.
    pub cause: Cause,
}

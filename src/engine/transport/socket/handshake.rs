//! Why TLS handshakes fail.

use std::io;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};

use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::record::{Failure, FailureKind};

/// Words for a server whose TLS agrees on HTTP/1.1 only.
pub(crate) const NOT_OFFERED: &str = "its TLS does not offer it (ALPN)";
/// Most names of a certificate that are shown.
const NAMES: usize = 4;

/// Returns why a handshake failed. Either side refused, so waiting does not help, or the connection broke.
pub(super) fn no_handshake(error: &io::Error) -> DiagnosedFailure {
    let (message, cause) = match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => (format!("the server does not speak TLS ({error})"), Cause::NotTls),
        Some(rustls::Error::InvalidCertificate(why)) => of_certificate(why),
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            (format!("the server does not speak HTTP/2 at this port: {NOT_OFFERED}"), Cause::NoHttp2)
        }
        Some(_) => (format!("the TLS handshake failed: {error}"), Cause::NoHandshake),
        None => (format!("the TLS handshake broke off: {error}"), Cause::Unknown),
    };
    DiagnosedFailure { failure: Failure::new(FailureKind::Tls, message), cause }
}

fn of_certificate(why: &CertificateError) -> (String, Cause) {
    match why {
        CertificateError::ExpiredContext { time, not_after } => {
            let (now, then) = (moment(*time), moment(*not_after));
            (format!("the server's certificate expired at {then}, and it is {now}"), Cause::OutOfDate)
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let (now, then) = (moment(*time), moment(*not_before));
            (format!("the server's certificate is valid from {then}, and it is {now}"), Cause::OutOfDate)
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let mut names = presented.iter().take(NAMES).map(|name| bare(name)).collect::<Vec<_>>().join(", ");
            if presented.len() > NAMES {
                names += ", …";
            }
            let names = if names.is_empty() { "no host".to_owned() } else { names };
            (format!("the server's certificate is for {names}, and not for {}", expected.to_str()), Cause::OtherHost)
        }
        CertificateError::UnknownIssuer => {
            ("nobody who is trusted signed the server's certificate".to_owned(), Cause::Untrusted)
        }
        why => (format!("the server's certificate is not trusted: {why}"), Cause::Untrusted),
    }
}

/// A name out of `DnsName("host")` or `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> &str {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

/// A moment as `2026-11-21 08:00 UTC`.
fn moment(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let moment = jiff::Timestamp::from_second(seconds);
    moment.map_or_else(|_| format!("{seconds} s"), |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

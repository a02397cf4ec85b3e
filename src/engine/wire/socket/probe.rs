//! Whether a port speaks what the scheme of its address says.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::dial::Dialer;
use super::handshake::no_handshake;
use super::tls::client_config;
use crate::engine::address::BaseUrl;
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::http_url::Scheme;
use crate::engine::target::{CertificateCheck, TlsOptions};
use crate::record::{Failure, FailureKind};

/// Time limit of a look.
const LOOK: Duration = Duration::from_secs(2);
/// How long a handshake may be silent before the port is asked without TLS.
const SILENCE: Duration = Duration::from_secs(3);

impl Dialer {
    /// Whether the port of an address without TLS wants it. A proxy speaks for itself.
    pub(crate) async fn meets_tls(&self, url: &BaseUrl) -> bool {
        if self.proxy.is_some() || self.tls.is_some() {
            return false;
        }
        let any = TlsOptions { check: CertificateCheck::Skipped, ..TlsOptions::default() };
        let (Ok(config), Ok(name)) =
            (client_config(&any, Scheme::Https), ServerName::try_from(url.host().to_owned()))
        else {
            return false;
        };
        let shaken = async {
            let tcp = self.tcp().await.ok()?;
            Some(TlsConnector::from(Arc::new(config)).connect(name, tcp).await)
        };
        match timeout(LOOK, shaken).await {
            Ok(Some(Ok(_))) => true,
            Ok(Some(Err(error))) => !matches!(no_handshake(&error).cause, Cause::NotTls | Cause::Unknown),
            Ok(None) | Err(_) => false,
        }
    }

    /// Ends, with that as the failure, where the port of an address with TLS is silent for a while and then answers
    /// without: many servers wait for the end of a line that a handshake never has.
    pub(crate) async fn meets_no_tls(&self, url: &BaseUrl) -> DiagnosedFailure {
        if self.proxy.is_some() || self.tls.is_none() {
            return pending().await;
        }
        sleep(SILENCE).await;
        let asked = async {
            let mut tcp = self.tcp().await.ok()?;
            let request = format!("GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", url.authority());
            tcp.write_all(request.as_bytes()).await.ok()?;
            let mut begins = [0; 12];
            tcp.read_exact(&mut begins).await.ok()?;
            // Ports with TLS answer 400 to what has none.
            (begins.starts_with(b"HTTP/") && !begins.ends_with(b" 400")).then_some(())
        };
        if let Ok(Some(())) = timeout(LOOK, asked).await {
            let message = "the server does not speak TLS (it is silent, and answers without)";
            return DiagnosedFailure {
                failure: Failure::new(FailureKind::Tls, message),
                cause: Cause::NotTls,
            };
        }
        pending().await
    }
}

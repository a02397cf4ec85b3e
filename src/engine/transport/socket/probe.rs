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
        let (Ok(config), Ok(name)) = (client_config(&any, Scheme::Https), ServerName::try_from(url.host().to_owned()))
        else {
            return false;
        };
        let shaken = async {
            let (tcp, _) = self.tcp(self.addresses.next()).await.ok()?;
            Some(TlsConnector::from(Arc::new(config)).connect(name, tcp).await)
        };
        match timeout(LOOK, shaken).await {
            Ok(Some(Ok(_))) => true,
            Ok(Some(Err(error))) => !matches!(no_handshake(&error).cause, Cause::NotTls | Cause::Unknown),
            Ok(None) | Err(_) => false,
        }
    }

    /// Ends with a failure where the port of an address with TLS answers without. It is silent for a while after it was
    /// connected to, and then answers: many servers wait for the end of a line that a handshake never has.
    pub(crate) async fn meets_no_tls(&self, url: &BaseUrl) -> DiagnosedFailure {
        self.meets_no_tls_within(url, SILENCE, LOOK).await
    }

    async fn meets_no_tls_within(&self, url: &BaseUrl, silence: Duration, look: Duration) -> DiagnosedFailure {
        if self.proxy.is_some() || self.tls.is_none() {
            return pending().await;
        }
        self.connected.notified().await;
        sleep(silence).await;
        let asked = async {
            let (mut tcp, _) = self.tcp(self.addresses.next()).await.ok()?;
            let request = format!("GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", url.authority());
            tcp.write_all(request.as_bytes()).await.ok()?;
            let mut begins = [0; 12];
            tcp.read_exact(&mut begins).await.ok()?;
            // Ports with TLS answer 400 to what has none.
            (begins.starts_with(b"HTTP/") && !begins.ends_with(b" 400")).then_some(())
        };
        if let Ok(Some(())) = timeout(look, asked).await {
            let message = "the server does not speak TLS (it is silent, and answers without)";
            return DiagnosedFailure { failure: Failure::new(FailureKind::Tls, message), cause: Cause::NotTls };
        }
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::engine::address::NameLookup;

    /// Serves at a port that is silent until a whole line comes. It then answers with this status.
    async fn without_tls(listener: &TcpListener, status: &str) {
        let mut kept = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut begins = [0; 3];
            socket.read_exact(&mut begins).await.unwrap();
            if begins == *b"GET" {
                socket.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
            }
            kept.push(socket);
        }
    }

    /// A port, and a dialer for it with TLS.
    async fn port() -> (TcpListener, Dialer, BaseUrl) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: BaseUrl = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
        let options = TlsOptions { check: CertificateCheck::Skipped, ..TlsOptions::default() };
        let config = client_config(&options, Scheme::Https).unwrap();
        (listener, Dialer::resolve(&url, None, NameLookup::Once, config).await.unwrap(), url)
    }

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_port_is_silent_from_its_connection_on() {
        let (listener, dialer, url) = port().await;
        let mut probe = Box::pin(dialer.meets_no_tls_within(&url, SHORT, LONG));
        assert!(timeout(5 * SHORT, &mut probe).await.is_err(), "nothing is connected yet");
        tokio::select! {
            opened = dialer.open(dialer.addresses.next()) => panic!("{:?}", opened.err()),
            found = &mut probe => assert_eq!(found.cause, Cause::NotTls),
            () = without_tls(&listener, "200 OK") => {}
        }
    }

    #[tokio::test]
    async fn a_port_with_tls_may_answer_400_to_what_has_none() {
        let (listener, dialer, url) = port().await;
        tokio::select! {
            opened = dialer.open(dialer.addresses.next()) => panic!("{:?}", opened.err()),
            found = dialer.meets_no_tls_within(&url, SHORT, LONG) => panic!("{found:?}"),
            () = without_tls(&listener, "400 Bad Request") => {}
            () = sleep(20 * SHORT) => {}
        }
    }
}

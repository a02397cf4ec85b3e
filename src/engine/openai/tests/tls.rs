//! Which certificates are trusted.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::server::{STREAM, json, read_request};
use super::{OpenAiEngine, ask, engine, never_ready};
use crate::engine::target::{CertificateCheck, Target};
use crate::record::{EngineKind, FailureKind};

/// Accepts TLS with the certificate `tests/data/tls/server.cert.pem`, its own root, and one of these protocols.
pub(super) fn acceptor(protocols: &[&str]) -> tokio_rustls::TlsAcceptor {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls/");
    let certificate = CertificateDer::from_pem_file(format!("{folder}server.cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{folder}server.key.pem")).unwrap();
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    tokio_rustls::TlsAcceptor::from(Arc::new(config))
}

async fn serve_tls() -> String {
    let acceptor = acceptor(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut socket) = acceptor.accept(socket).await else { return };
                while let Some(request) = read_request(&mut socket).await {
                    let stream = [STREAM.as_bytes(), b"0\r\n\r\n"].concat();
                    let list = json(200, r#"{"data":[{"id":"m"}]}"#);
                    let answer = if request.starts_with("GET") { list } else { stream };
                    socket.write_all(&answer).await.unwrap();
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn certificates_are_checked_by_default() {
    let url = serve_tls().await;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls/server.cert.pem");
    let strict = Target::new(url.parse().unwrap(), EngineKind::Vllm);
    let mut trusting = strict.clone();
    trusting.tls.ca_cert = Some(root.into());
    let mut careless = strict.clone();
    careless.tls.check = CertificateCheck::Skipped;
    for target in [trusting, careless] {
        // Both HTTP clients succeed: the list of models, and the test request.
        let (_, end) = ask(&engine(target).await).await;
        assert_eq!(end.result.unwrap_err().reason, FailureKind::Truncated);
    }
    let mut stranger = strict.clone();
    stranger.tls.ca_cert = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into());
    let error = OpenAiEngine::connect(stranger, Duration::ZERO, |_| ()).await.err().unwrap().to_string();
    assert!(error.contains("holds no certificate") && error.contains("Cargo.toml"), "{error}");
    // Waiting does not make a certificate valid, so there is no wait.
    let connecting = OpenAiEngine::connect(strict, Duration::from_mins(10), |progress| never_ready(&progress));
    if let Err(error) = connecting.await {
        let error = error.to_string();
        // Where the system has no roots at all, that is reported first.
        assert!(error.contains("--insecure") || error.contains("no root certificates"), "{error}");
    } else {
        panic!("a certificate that nobody signed was trusted");
    }
}

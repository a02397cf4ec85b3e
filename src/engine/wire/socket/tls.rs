//! Which servers are trusted.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::engine::http_url::Scheme;
use crate::engine::target::{CertificateCheck, TlsOptions};

/// The TLS client configuration; the system's roots are read only where they are needed.
///
/// # Errors
///
/// Why the roots cannot be read.
pub(crate) fn client_config(options: &TlsOptions, scheme: Scheme) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = if scheme == Scheme::Http {
        builder.with_root_certificates(RootCertStore::empty())
    } else if options.check == CertificateCheck::Skipped {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    } else {
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots(options)?), provider).build();
        builder.with_webpki_verifier(verifier.map_err(|error| format!("TLS cannot be set up: {error}"))?)
    };
    Ok(builder.with_no_client_auth())
}

fn roots(options: &TlsOptions) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &options.ca_cert {
        let shown = path.display();
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| format!("--ca-cert `{shown}` cannot be read as PEM certificates: {error}"))?;
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(format!("--ca-cert `{shown}` holds no certificate that can be used"));
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        if roots.add_parsable_certificates(found.certs).0 == 0 {
            return Err(
                "this system has no root certificates (on Debian: apt-get install ca-certificates); \
                        give the server's own with --ca-cert"
                    .to_owned(),
            );
        }
    }
    Ok(roots)
}

/// Accepts any certificate, for `--insecure`; the handshake's signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! Which servers are trusted.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::tcp_or_tls::HTTP2;
use crate::engine::http_url::Http2;
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
    if scheme == Scheme::Http {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    let trusted = if options.check == CertificateCheck::Skipped {
        Trusted::Any
    } else {
        let given = options.ca_cert.as_deref().map(certificates).transpose()?;
        let roots = Arc::new(roots(given.as_deref())?);
        let signed = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        let Some(given) = given else {
            return Ok(builder.with_webpki_verifier(signed).with_no_client_auth());
        };
        Trusted::SignedOrGiven { signed, given }
    };
    let verifier = Arc::new(Verifier { trusted, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Returns the configuration that offers HTTP/2 where it is spoken (ALPN).
pub(crate) fn offering(mut config: ClientConfig, http2: Http2) -> ClientConfig {
    config.alpn_protocols = match http2 {
        Http2::Never => Vec::new(),
        Http2::IfOffered(_) => vec![HTTP2.to_vec(), b"http/1.1".to_vec()],
        Http2::Always(_) => vec![HTTP2.to_vec()],
    };
    config
}

/// The roots to trust: those in `given`, else the system's.
fn roots(given: Option<&[CertificateDer<'static>]>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if let Some(given) = given {
        if roots.add_parsable_certificates(given.iter().cloned()).0 == 0 {
            return Err("--ca-cert holds no certificate that can be used".to_owned());
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    if roots.add_parsable_certificates(found.certs).0 == 0 {
        return Err("this system has no root certificates (on Debian: apt-get install ca-certificates); give the \
            server's own with --ca-cert"
            .to_owned());
    }
    Ok(roots)
}

/// Refuses a file of which no certificate can be trusted.
///
/// # Errors
///
/// What the file is.
pub(crate) fn check_ca_cert(path: &Path) -> Result<(), String> {
    roots(Some(&certificates(path)?)).map(drop)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("--ca-cert `{shown}` cannot be read: {error}"))?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| {
        format!("--ca-cert `{shown}` is damaged PEM: {error}\nhint: copy it again, from BEGIN to END")
    })?;
    if !found.is_empty() {
        return Ok(found);
    }
    // Nothing of it is repeated: it may be a key.
    let text = String::from_utf8_lossy(&bytes);
    let (what, cure) = if bytes.is_empty() {
        ("it is empty".to_owned(), "name the file that has the certificate".to_owned())
    } else if bytes.starts_with(&[0x30]) {
        let cure = format!("convert it: openssl x509 -inform der -in {shown} -out {shown}.pem");
        ("it is binary (DER)".to_owned(), cure)
    } else if text.contains("PRIVATE KEY-----") {
        ("it is a private key".to_owned(), "name the file that has the certificate".to_owned())
    } else {
        let cure = "a PEM file has -----BEGIN CERTIFICATE----- in it".to_owned();
        ("it is no PEM file of certificates".to_owned(), cure)
    };
    Err(format!("--ca-cert `{shown}` holds no certificate: {what}\nhint: {cure}"))
}

/// The certificates that are trusted.
#[derive(Debug)]
enum Trusted {
    /// Certificates of any kind, for `--insecure`; the handshake's signatures are still checked.
    Any,
    /// Certificates that a given one signed, and a given certificate itself. The latter is that of a server that signed
    /// its own, or whose issuer is not at hand.
    SignedOrGiven { signed: Arc<WebPkiServerVerifier>, given: Vec<CertificateDer<'static>> },
}

/// A verifier that trusts other certificates than rustls' own does.
#[derive(Debug)]
struct Verifier {
    trusted: Trusted,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Trusted::SignedOrGiven { signed, given } = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match &verified {
            // Its dates were found right before: they are checked first. A root that is a server's own is an
            // error of the second kind.
            Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if given.iter().any(|given| given.as_ref() == end_entity.as_ref()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

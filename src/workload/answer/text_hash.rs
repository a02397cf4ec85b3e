//! The hash of a text, in its place.

use sha2::{Digest as _, Sha256};

use crate::units::hexadecimal;

/// Prefix of a text's hash, in hexadecimal. The hash is in place of the text.
const HASH: &str = "sha256:";

/// The hash of `text`; that of a hash is the hash itself.
pub(in crate::workload) fn hashed(text: &str) -> String {
    if is_hash(text) {
        return text.to_owned();
    }
    format!("{HASH}{}", hexadecimal(&Sha256::digest(text)))
}

/// Whether a text is such a hash.
pub(in crate::workload) fn is_hash(text: &str) -> bool {
    text.strip_prefix(HASH).is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

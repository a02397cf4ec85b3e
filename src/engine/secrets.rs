//! Hides secrets in what servers say.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::record::{Failure, FailureKind};

/// The secrets of a target: a server may echo the key that it refused.
///
/// Secret are the API key, the value of every header that the user gives, and any text in the extra body
/// whose name suggests a credential. Nothing of this program writes a header's value; this masks what comes
/// back of one.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[String]>);

/// Shorter ones are masked where they are whole words: within others they would match everywhere.
const SHORT: usize = 6;
/// Length from which a value in a query may be a credential, whatever its name.
pub(super) const LONG: usize = 16;
/// Bytes from which pieces of a secret are masked. An answer that is cut, or in fields, holds a part of it.
const PIECE: usize = 12;
/// Bytes by which pieces are found.
const BLOCK: usize = 8;
/// All but what no address encodes.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Secrets {
    /// Returns these texts as secrets.
    pub(crate) fn typed(mut all: Vec<String>) -> Self {
        let written: Vec<String> = all.iter().flat_map(|secret| written(secret)).collect();
        all.extend(written);
        // What has no letter and no digit says nothing.
        all.retain(|secret| secret.contains(char::is_alphanumeric));
        Self::sorted(all)
    }

    /// Returns all of these secrets as one.
    pub(crate) fn joined(all: impl Iterator<Item = Self>) -> Self {
        Self::sorted(all.flat_map(|secrets| secrets.0.to_vec()).collect())
    }

    fn sorted(mut all: Vec<String>) -> Self {
        // Longest first, so that a shorter one inside it leaves no part of it.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self(all.into())
    }

    /// `text` without secrets. It must not be truncated before: half a secret is not found.
    pub(crate) fn hide(&self, text: String) -> String {
        let whole = self.0.iter().fold(text, |text, secret| match secret.len() {
            ..SHORT => without_word(&text, secret),
            length => without(&text, secret, length, length),
        });
        let long = self.0.iter().filter(|secret| secret.len() >= LONG);
        long.fold(whole, |text, secret| without(&text, secret, BLOCK, PIECE))
    }

    /// A failure whose message has no secrets; it is truncated after they are hidden.
    pub(crate) fn failure(&self, reason: FailureKind, message: impl Into<String>) -> Failure {
        Failure::new(reason, self.hide(message.into()))
    }

    /// Length of the longest, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(***)")
    }
}

/// Whether a header or field of this name holds a credential.
pub(crate) fn names_a_credential(name: &str) -> bool {
    name.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        let spoken_of = ["secret", "password", "passwd", "credential", "authoriz", "cookie"];
        spoken_of.iter().any(|part| word.contains(part))
            || word.ends_with("key")
            || word.ends_with("token")
            || (word.contains("auth") && !word.contains("author"))
    })
}

/// Returns `text` with `***` for pieces of `secret`. They have at least `least` bytes, in whatever case their letters
/// are, and are found by blocks of the secret.
fn without(text: &str, secret: &str, block: usize, least: usize) -> String {
    let (folded, secret) = (text.to_ascii_lowercase(), secret.to_ascii_lowercase());
    let (text_bytes, bytes) = (folded.as_bytes(), secret.as_bytes());
    let mut pieces = Vec::new();
    for place in (0..=bytes.len() - block).step_by(block) {
        for at in memmem::find_iter(text_bytes, &bytes[place..place + block]) {
            let equal = |(one, other): &(&u8, &u8)| one == other;
            let before = text_bytes[..at].iter().rev().zip(bytes[..place].iter().rev()).take_while(equal).count();
            let length = before + text_bytes[at..].iter().zip(&bytes[place..]).take_while(equal).count();
            pieces.extend((length >= least).then_some((at - before, at - before + length)));
        }
    }
    pieces.sort_unstable();
    let (mut masked, mut from) = (String::with_capacity(text.len()), 0);
    let is_end = |at: &usize| text.is_char_boundary(*at);
    for (begin, end) in pieces {
        if begin >= from {
            masked += &text[from..(from..=begin).rev().find(is_end).unwrap_or(from)];
            masked += "***";
        }
        from = from.max((end..text.len()).find(is_end).unwrap_or(text.len()));
    }
    masked + &text[from..]
}

/// Returns `text` with `***` for `word` where neither letter nor digit is next to it.
fn without_word(text: &str, word: &str) -> String {
    let (folded, mut masked, mut from) = (text.to_ascii_lowercase(), String::with_capacity(text.len()), 0);
    for (at, _) in folded.match_indices(&word.to_ascii_lowercase()) {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let touched = before.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        masked += &text[from..at];
        masked += if touched { &text[at..at + word.len()] } else { "***" };
        from = at + word.len();
    }
    masked + &text[from..]
}

/// Returns a secret as others write it, where that differs. It is escaped in JSON once and twice, with plain and with
/// escaped slashes, escaped in HTML, percent-encoded once and twice as a part of an address and as a form's value; byte
/// by byte; and in both alphabets of base64, alone and within other text.
fn written(secret: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let json = Value::from(text).to_string();
        json[1..json.len() - 1].to_owned()
    };
    let plain = quoted(secret);
    let encoded = utf8_percent_encode(secret, UNRESERVED).to_string();
    let marked = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let pairs = [("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "&#39;")];
    let mut forms: Vec<String> = pairs.iter().map(|(two, one)| marked.replace('"', two).replace('\'', one)).collect();
    forms.extend([quoted(&plain), plain.replace('/', "\\/"), plain]);
    forms.extend([encoded.replace('%', "%25"), encoded.replace("%20", "+"), encoded]);
    if secret.len() >= SHORT {
        let each = |before: &str| {
            let bytes: Vec<_> = secret.bytes().map(|byte| format!("{before}{byte:02x}")).collect();
            bytes.concat()
        };
        forms.extend(["", "%", "\\x", "\\u00"].map(each));
        for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            // Padding that stays behind says nothing.
            forms.push(alphabet.encode(secret));
            forms.extend([0, 2, 3].into_iter().enumerate().map(|(before, from)| {
                let text = [&vec![0; before], secret.as_bytes()].concat();
                alphabet.encode(&text)[from..text.len() * 8 / 6].to_owned()
            }));
        }
    }
    forms.retain(|form| form != secret);
    forms
}

#[cfg(test)]
mod tests {
    use hyper_util::client::proxy::matcher::Matcher;
    use serde_json::json;

    use super::*;
    use crate::engine::proxy::Proxy;
    use crate::engine::target::{Secret, Target};
    use crate::record::EngineKind;

    fn secrets(headers: &[&str], extra: &Value) -> Secrets {
        let url = "http://x?api-version=2024-06-01&key=query%2Bquery&trace=fedcba9876543210";
        let mut target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
        target.api_key = Some(Secret::new(" keykeykey/1\n"));
        target.headers = headers.iter().map(|line| line.parse().unwrap()).collect();
        target.extra_body.0 = extra.as_object().unwrap().clone();
        let matcher = Matcher::builder().all("http://me:proxyword@proxy").build();
        target.proxy = Proxy::find(&matcher, target.url.whole()).unwrap();
        Secrets::from_target(&target)
    }

    #[test]
    fn credentials_are_hidden_and_ordinary_words_are_not() {
        let secrets = secrets(
            &[
                "X-Env: prod",
                "X-Shard: 7",
                "X-Mark: */*",
                "X-Author: alice_m",
                "X-Trace: 0123456789abcdef",
                "Authorization: Bearer beartail",
                "Cookie: lang=en; sid=cookiecookie",
                "X-My-Token: tiny",
            ],
            &json!({"stop": "word", "max_tokens": 3, "user": "bob-the-user",
                    "nested": [{"apiKey": "nestedkey"}], "auth": {"user": "someone", "deep": ["a\"quote"]}}),
        );
        for (text, hidden) in [
            ("production of prod, by alice_mm", "production of ***, by ***m"),
            ("shard 7 of 17, v7, 7", "shard *** of 17, v7, ***"),
            ("any of */*", "any of */*"),
            ("trace 0123456789abcdef!", "trace ***!"),
            ("bad beartail, Bearer beartail", "bad ***, ***"),
            ("sid is cookiecookie", "sid is ***"),
            ("tiny", "***"),
            ("word of bob-the-user", "word of bob-the-user"),
            ("nestedkey someone", "*** ***"),
            ("2024-06-01: query+query query%2Bquery fedcba9876543210", "2024-06-01: *** *** ***"),
            ("Basic bWU6cHJveHl3b3Jk, or bWU6cHJveHl3b3Jk", "***, or ***"),
            ("me:proxyword, me with ProxyWord", "***, me with ***"),
            ("TINY tinytiny", "*** tinytiny"),
            (r#"{"a":"a\"quote"}"#, r#"{"a":"***"}"#),
            (r"keykeykey/1 keykeykey\/1", "*** ***"),
            ("KeyKeyKey/1 KEYKEYKEY%2F1 keykeykey%2f1", "*** *** ***"),
            // base64.b64encode(b"keykeykey/1")
            ("a2V5a2V5a2V5LzE= a2V5a2V5a2V5LzE", "***= ***"),
            ("Straße keykeykey/1", "Straße ***"),
            // Of a page, a log and a dump; in an address within an address; in JSON within JSON.
            ("6b65796b65796B65792F31 \\x6b\\x65\\x79\\x6b\\x65\\x79\\x6b\\x65\\x79\\x2f\\x31", "*** ***"),
            ("%6B%65%79%6B%65%79%6B%65%79%2F%31 keykeykey%252F1 keykeykey%252f1", "*** *** ***"),
            (r"\u006b\u0065\u0079\u006b\u0065\u0079\u006b\u0065\u0079\u002f\u0031", "***"),
            ("a&quot;quote a&#34;quote a\\\\\\\"quote", "*** *** ***"),
            // base64.b64encode(b"Bearer beartail!"), and of b"x:beartail"
            ("QmVhcmVyIGJlYXJ0YWlsIQ== eDpiZWFydGFpbA==", "***IQ== eDp***A=="),
            // Pieces, of a message in two fields or of two chunks, in whatever form.
            (r#"{"a":"0123456789ab","b":"3456789abcdef"}"#, r#"{"a":"***","b":"***"}"#),
            ("0123456 456789abcde 00123456789abcdef0", "0123456 456789abcde 0***0"),
            ("303132333435363738", "***"),
        ] {
            assert_eq!(secrets.hide(text.to_owned()), hidden);
        }
    }

    #[test]
    fn a_message_is_cut_only_after_its_secrets_are_hidden() {
        let message = "x".repeat(Failure::MESSAGE_LIMIT - 5) + "keykeykey/1";
        let failure = secrets(&[], &json!({})).failure(FailureKind::Malformed, message);
        assert!(failure.message.ends_with("xx***"), "{failure}");
    }
}

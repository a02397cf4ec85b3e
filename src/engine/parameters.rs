//! The parameters that all requests share, as the run's header stores them: settings as they are, possible
//! secrets as SHA-256.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::target::{Header, PriorityField, Sampling};
use crate::record::RequestParameters;
use crate::units::hexadecimal;

impl Sampling {
    /// The parameters of requests with this sampling and extra body.
    pub fn parameters(&self, extra_body: &Map<String, Value>, priority: PriorityField) -> RequestParameters {
        let Self { temperature, top_p, top_k, seed } = *self;
        let extra_body = (!extra_body.is_empty()).then(|| {
            // The order of an object's fields has no meaning (RFC 8259, section 4).
            let mut body = Value::Object(extra_body.clone());
            body.sort_all_objects();
            hexadecimal(&Sha256::digest(body.to_string()))
        });
        RequestParameters {
            temperature,
            top_p,
            top_k,
            sampling_seed: seed,
            priority: priority == PriorityField::Sent,
            extra_body_sha256: extra_body,
        }
    }
}

impl Header {
    /// SHA-256 over the lines `name: value` of `headers` in their order, hexadecimal; `None` where there are none.
    pub fn fingerprint(headers: &[Self]) -> Option<String> {
        let mut hash = Sha256::new();
        for Self { name, value } in headers {
            hash.update(name.as_str());
            hash.update(": ");
            hash.update(value.as_bytes());
            hash.update("\n");
        }
        (!headers.is_empty()).then(|| hexadecimal(&hash.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extra(text: &str) -> Option<String> {
        let body: Map<String, Value> = serde_json::from_str(text).unwrap();
        Sampling::default().parameters(&body, PriorityField::Unsent).extra_body_sha256
    }

    #[test]
    fn an_extra_body_is_known_again_and_not_reported() {
        // printf '{"a":{"b":[2,1],"c":"hf_x"},"d":1}' | sha256sum
        let hash = "393a919f4abe03a19d38ae27a092e8586e7cde333a26ebcde8c7d5936e9699fd";
        assert_eq!(extra(r#"{"d": 1, "a": {"c": "hf_x", "b": [2, 1]}}"#).as_deref(), Some(hash));
        assert_ne!(extra(r#"{"d": 1, "a": {"c": "hf_y", "b": [2, 1]}}"#).as_deref(), Some(hash));
        assert_eq!(extra("{}"), None);
        assert!(Sampling::default().parameters(&Map::new(), PriorityField::Unsent).are_default());
        assert!(Sampling::default().parameters(&Map::new(), PriorityField::Sent).priority);
    }

    #[test]
    fn headers_are_known_again_by_name_and_value() {
        let of = |lines: &[&str]| {
            Header::fingerprint(&lines.iter().map(|line| line.parse().unwrap()).collect::<Vec<_>>())
        };
        // printf 'x-key: one\nx-route: two\n' | sha256sum
        let hash = "c5c40b0af37872f2069efec0051d422c007782f813e3d725ba3dc995135c6602";
        assert_eq!(of(&["X-Key:one", "x-route:  two"]).as_deref(), Some(hash));
        assert_ne!(of(&["X-Key:one", "x-route: three"]).as_deref(), Some(hash));
        assert_eq!(of(&[]), None);
    }
}

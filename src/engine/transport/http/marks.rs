//! Headers by which a balancer or a server's log tells requests apart.

use http::HeaderName;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, SET_COOKIE,
    TRANSFER_ENCODING, UPGRADE,
};

use crate::record::RequestIds;

/// Headers that frame the message; the user cannot set them.
pub(crate) const OURS: [HeaderName; 6] =
    [CONTENT_TYPE, CONTENT_LENGTH, ACCEPT_ENCODING, TRANSFER_ENCODING, CONNECTION, UPGRADE];

/// Most characters of a prefix that the user chose. Servers repeat ids on every line of their logs.
const MOST_CHARACTERS: usize = 64;
/// The header of a request's id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header of the W3C's Trace Context.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The headers that differ between requests. The default is an `X-Request-Id` that is a UUID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMarks {
    /// Header that carries the id of a request's session. With it a balancer can keep sessions together.
    pub session_header: Option<HeaderName>,
    /// Beginning of every `X-Request-Id`, in place of a UUID's.
    pub id_prefix: Option<String>,
    /// Whether requests carry a `traceparent`. A server that traces makes its spans children of theirs.
    pub traced: bool,
    /// Whether a header of the user's is the `X-Request-Id` of every request.
    pub has_own_id: bool,
    /// Header of answers that names the replica which answered.
    pub replica_header: Option<HeaderName>,
}

impl RequestMarks {
    /// Marks of requests whose other headers are these.
    ///
    /// # Errors
    ///
    /// A header that carries something else already, or a prefix that no header can hold.
    pub(crate) fn new(
        session_header: Option<&str>,
        id_prefix: Option<&str>,
        traced: bool,
        headers: &[&HeaderName],
    ) -> Result<Self, String> {
        let session_header = session_header.map(|name| named(name, headers)).transpose()?;
        if traced && headers.contains(&&TRACEPARENT) {
            return Err(format!("--traceparent: --header sets `{TRACEPARENT}` already; leave one of them out"));
        }
        if id_prefix.is_some() && headers.contains(&&REQUEST_ID) {
            return Err(format!("--request-id-prefix: --header sets `{REQUEST_ID}` already; leave one of them out"));
        }
        if let Some(prefix) = id_prefix {
            let fits = prefix.bytes().all(|byte| byte.is_ascii_graphic());
            if !fits || prefix.is_empty() || prefix.len() > MOST_CHARACTERS {
                return Err(format!(
                    "--request-id-prefix: an id begins with 1 to {MOST_CHARACTERS} ASCII characters without spaces"
                ));
            }
        }
        let has_own_id = headers.contains(&&REQUEST_ID);
        Ok(Self { session_header, id_prefix: id_prefix.map(str::to_owned), traced, has_own_id, replica_header: None })
    }

    /// The marks, with a header of answers that names who answered.
    ///
    /// # Errors
    ///
    /// A text that is no header's name.
    pub(crate) fn with_replica_header(self, name: Option<&str>) -> Result<Self, String> {
        let named = |name: &str| {
            let parsed = HeaderName::from_bytes(name.as_bytes());
            let header = parsed.map_err(|_| format!("--replica-header: `{name}` cannot be the name of a header"))?;
            if [SET_COOKIE, AUTHORIZATION, DATE, REQUEST_ID].contains(&header) {
                return Err(format!("--replica-header: `{header}` does not say who answered; name one that does"));
            }
            Ok(header)
        };
        Ok(Self { replica_header: name.map(named).transpose()?, ..self })
    }

    /// The ids of the requests of a new run.
    pub(crate) fn new_ids(&self) -> RequestIds {
        RequestIds::new(rand::random(), self.id_prefix.as_deref(), self.traced)
    }

    /// Ids that a run stores. They are without those that a header of the user's takes the place of.
    pub(crate) fn stored(&self, ids: &RequestIds) -> RequestIds {
        let prefix = if self.has_own_id { String::new() } else { ids.prefix.clone() };
        RequestIds { prefix, trace_prefix: ids.trace_prefix.clone() }
    }
}

/// The name of a header that may carry the id of a session.
fn named(name: &str, headers: &[&HeaderName]) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes());
    let header = parsed.map_err(|_| format!("--session-header: `{name}` cannot be the name of a header"))?;
    if OURS.contains(&header) || [AUTHORIZATION, HOST, TRACEPARENT].contains(&header) || headers.contains(&&header) {
        return Err(format!(
            "--session-header: header `{header}` carries something else; take a name of its own, such as X-Session-ID"
        ));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_header_of_its_own() {
        let others = [&HeaderName::from_static("x-key")];
        let named = |name: &str| RequestMarks::new(Some(name), None, true, &others);
        assert_eq!(named("X-Session-ID").unwrap().session_header.unwrap(), "x-session-id");
        for name in ["x key", "", "Content-Type", "authorization", "x-key", "Traceparent"] {
            assert!(named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_header_of_the_users_leaves_no_id_of_ours() {
        let of = |headers: &[&HeaderName]| RequestMarks::new(None, None, true, headers).unwrap();
        let (ours, own) = (of(&[]), of(&[&REQUEST_ID]));
        let ids = ours.new_ids();
        assert_eq!(ours.stored(&ids), ids);
        assert_eq!((own.stored(&ids).id_of(3), own.stored(&ids).trace_of(3)), (None, ids.trace_of(3)));
    }

    #[test]
    fn what_no_header_can_hold_is_refused() {
        let of = |prefix: &str| RequestMarks::new(None, Some(prefix), false, &[]);
        assert_eq!(of("nightly-").unwrap().id_prefix.as_deref(), Some("nightly-"));
        for prefix in ["", "a b", "ü", "a\n", &"x".repeat(65)] {
            let error = of(prefix).unwrap_err();
            assert!(error.starts_with("--request-id-prefix: an id begins with 1 to 64 ASCII"), "{error}");
        }
        let replicas = |name| RequestMarks::default().with_replica_header(Some(name));
        assert_eq!(replicas("X-Served-By").unwrap().replica_header.unwrap(), "x-served-by");
        assert!(replicas("Set-Cookie").is_err() && replicas("a b").is_err());
        let error = RequestMarks::new(None, None, true, &[&TRACEPARENT]).unwrap_err();
        assert!(RequestMarks::new(None, Some("a"), false, &[&REQUEST_ID]).is_err());
        assert_eq!(error, "--traceparent: --header sets `traceparent` already; leave one of them out");
    }
}

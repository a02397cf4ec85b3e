//! Ids by which a server's logs and traces know the requests of a run.

use std::fmt;

/// The ids of all requests to a server in one run.
///
/// After each prefix comes a request's index in 12 hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestIds {
    /// The prefix of every request's `X-Request-Id`.
    pub(crate) prefix: String,
    /// The prefix of every request's trace id (W3C Trace Context), where requests carry a `traceparent`.
    pub(crate) trace_prefix: Option<String>,
}

impl RequestIds {
    /// Ids of a run that 64 random bits tell apart from others.
    ///
    /// An id is a UUID (version 4, RFC 9562), since some servers refuse an `X-Request-Id` that is none, and some
    /// versions of vLLM refuse one that another request has at the same time. A `chosen` prefix has 8 random digits
    /// after it. A trace id is the UUID without its dashes.
    pub(crate) fn new(random: u64, chosen: Option<&str>, is_traced: bool) -> Self {
        let (high, middle, low) = (random >> 32, (random >> 16) & 0xffff, random & 0xfff);
        let uuid = format!("{high:08x}-{middle:04x}-4{low:03x}-8000-");
        let trace_prefix = is_traced.then(|| uuid.replace('-', ""));
        Self { prefix: chosen.map_or(uuid, |chosen| format!("{chosen}{high:08x}-")), trace_prefix }
    }

    /// The id of a request or a session, of this index. It is `None` where no server got one.
    pub(crate) fn id_of(&self, index: u64) -> Option<String> {
        (!self.prefix.is_empty()).then(|| format!("{}{index:012x}", self.prefix))
    }

    /// The trace of the request of this index, where it has one.
    pub(crate) fn trace_of(&self, index: u64) -> Option<TraceId> {
        let text = format!("{}{index:012x}", self.trace_prefix.as_ref()?);
        Some(TraceId(text))
    }
}

/// A trace id, 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(String);

impl TraceId {
    /// The id of the span that stands for the whole request, 16 hexadecimal digits.
    ///
    /// It is the second half of the trace's: a UUID's variant comes first in it, so that it is never 0, which would be
    /// no id.
    pub(crate) fn span(&self) -> &str {
        &self.0[16..]
    }

    /// The id of a part of that span, from the first on. No other span of the trace has it.
    pub(crate) fn child(&self, place: u8) -> String {
        format!("{place:x}{}", &self.span()[1..])
    }

    /// The value of the header `traceparent` (W3C Trace Context, version 00). It asks for the trace to be kept.
    pub(crate) fn parent(&self) -> String {
        format!("00-{self}-{}-01", self.span())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_uuids_of_version_4() {
        let ids = RequestIds::new(0x8c1f_d0a1_77f0_ba10, None, true);
        assert_eq!(ids.id_of(42).unwrap(), "8c1fd0a1-77f0-4a10-8000-00000000002a");
        assert_eq!(RequestIds::new(0, None, false).id_of(0).unwrap(), "00000000-0000-4000-8000-000000000000");
        assert_eq!(RequestIds::default().id_of(0), None);
    }

    #[test]
    fn a_trace_is_known_by_the_id_of_its_request() {
        let ids = RequestIds::new(0x8c1f_d0a1_77f0_ba10, Some("nightly-"), true);
        assert_eq!(ids.id_of(42).unwrap(), "nightly-8c1fd0a1-00000000002a");
        let trace = ids.trace_of(42).unwrap();
        assert_eq!(trace.to_string(), "8c1fd0a177f04a10800000000000002a");
        assert_eq!(trace.parent(), "00-8c1fd0a177f04a10800000000000002a-800000000000002a-01");
        assert_eq!(RequestIds::new(7, None, false).trace_of(42), None);
        assert_ne!(RequestIds::new(0, None, true).trace_of(0).unwrap().span(), "0".repeat(16), "which is no span id");
    }
}

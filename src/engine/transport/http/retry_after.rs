//! How long a server asks its clients to wait.

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Header with the wait in milliseconds. Azure's servers send it beside `Retry-After`, and the SDK of OpenAI reads it
/// first.
const IN_MILLIS: &str = "retry-after-ms";

/// Returns how long to wait before the request is sent again. `retry-after-ms` says so, or `Retry-After` as seconds or
/// as a date (RFC 9110, section 10.2.3). A date is the server's: it is compared with the answer's own `Date`, and with
/// this machine's clock only where there is none. `None` where the headers do not say.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text(IN_MILLIS).and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok()) {
        return Some(wait);
    }
    let said = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = said.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| DateTimeParser::new().parse_timestamp(text).ok();
    let now = text(DATE.as_str()).and_then(date).unwrap_or(now);
    Some(Duration::try_from(date(said)?.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn read(fields: &[(&'static str, &'static str)]) -> Option<Duration> {
        let field = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        retry_after(&fields.iter().map(field).collect(), "1994-11-06T08:49:30Z".parse().unwrap())
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let seconds = Duration::from_secs;
        for (fields, wait) in [
            (&[("retry-after", "120")][..], Some(seconds(120))),
            (&[("retry-after", " 1.5 ")], Some(Duration::from_millis(1_500))),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(seconds(7))),
            // The server's clock is an hour ahead.
            (
                &[("retry-after", "Sun, 06 Nov 1994 09:49:37 GMT"), ("date", "Sun, 06 Nov 1994 09:49:35 GMT")],
                Some(seconds(2)),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), ("date", "now")], Some(seconds(7))),
            // A moment that is over asks for no wait.
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(seconds(0))),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], Some(Duration::from_millis(250))),
            (&[("retry-after-ms", "x"), ("retry-after", "1")], Some(seconds(1))),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (&[], None),
        ] {
            assert_eq!(read(fields), wait, "{fields:?}");
        }
    }
}

//! How clients behave when an answer is late or refused, in words.

use std::time::Duration;

use crate::units::{joined, listed, spoken};
use crate::workload::{ClientBehaviour, Jitter};

/// Describes the behaviour of clients. An example is
/// `3 retries at most, of 429, 503, after 500 ms and up to 8 s (full jitter); a hedge after 2 s without a token`.
pub(crate) fn in_words(clients: &ClientBehaviour) -> String {
    let seconds = |seconds: f64| spoken(Duration::from_secs_f64(seconds));
    let retries = (clients.retries > 0).then(|| {
        let jitter = match clients.jitter {
            Jitter::Full => "full jitter",
            Jitter::Equal => "equal jitter",
            Jitter::None => "no jitter",
        };
        let [first, longest] = [clients.backoff_s, clients.backoff_max_s].map(seconds);
        let (most, causes) = (clients.retries, joined(&clients.retry_on, ", "));
        format!("at most {most} retries a request, of {causes}, {first} to {longest} apart ({jitter})")
    });
    let limits = [(clients.timeout_s, "in total"), (clients.first_token_timeout_s, "to the first token")];
    let limits = limits.into_iter().filter_map(|(limit, what)| Some(format!("{} {what}", seconds(limit?))));
    let limits = listed(limits, ", ").map(|limits| format!("each attempt has {limits}"));
    let hedge = clients.hedge_after_s.map(|after| format!("a hedge after {} without a token", seconds(after)));
    let parts = [retries, limits, hedge].into_iter().flatten();
    listed(parts, "; ").unwrap_or_else(|| "each request is sent once".to_owned())
}

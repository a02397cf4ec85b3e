//! Waits until a server is ready, no longer than that may help.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::connect_error::{ConnectError, ConnectProgress};
use super::control::{Control, ControlError};
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::dialect::Dialect;
use crate::engine::target::Target;
use crate::engine::wire::Dialer;
use crate::record::FailureKind;
use crate::units::spoken;

/// How long a server is awaited that may be loading its model, unless another time is given.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2 * 60);
/// The same where somebody has to do something first: nothing listens on this machine, say.
const SHORT_WAIT: Duration = Duration::from_secs(5);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// How often an attempt without an answer is reported.
const SILENCE: Duration = Duration::from_secs(2);
/// The least time for one attempt, however little of the wait is left.
const SHORTEST_LOOK: Duration = Duration::from_secs(1);

pub(super) async fn ready(
    target: &Target,
    control: &Control,
    tls: rustls::ClientConfig,
    wait: Option<Duration>,
    progress: &mut (impl FnMut(ConnectProgress) + Send),
) -> Result<Dialer, ConnectError> {
    let start = Instant::now();
    loop {
        let look = wait.unwrap_or(DEFAULT_WAIT).saturating_sub(start.elapsed()).max(SHORTEST_LOOK);
        let mut checking = pin!(check_once(target, control, tls.clone(), look));
        let checked = loop {
            match tokio::time::timeout(SILENCE, &mut checking).await {
                Ok(checked) => break checked,
                Err(_) => progress(ConnectProgress::Waiting {
                    reason: "no answer yet".to_owned(),
                    elapsed: start.elapsed(),
                    limit: wait.unwrap_or(DEFAULT_WAIT),
                }),
            }
        };
        let NotReadyYet { reason, hint, prospect } = match checked {
            Ok(dialer) => return Ok(dialer),
            Err(not_yet) => not_yet,
        };
        let url = target.url.to_string();
        let limit = match prospect {
            Prospect::None => return Err(ConnectError::Unusable { url, reason, hint }),
            Prospect::Poor => wait.unwrap_or(SHORT_WAIT),
            Prospect::Good => wait.unwrap_or(DEFAULT_WAIT),
        };
        let elapsed = start.elapsed();
        if elapsed + PAUSE > limit {
            // It was awaited longer where it was about to be ready, and then broke down.
            let waited =
                if elapsed > limit + SHORT_WAIT { Duration::from_secs(elapsed.as_secs()) } else { limit };
            return Err(ConnectError::NotReady { url, waited, reason, hint });
        }
        progress(ConnectProgress::Waiting { reason, elapsed, limit });
        tokio::time::sleep(PAUSE).await;
    }
}

/// Why a server is not ready.
struct NotReadyYet {
    reason: String,
    hint: String,
    prospect: Prospect,
}

/// Whether waiting may help.
#[derive(Clone, Copy)]
enum Prospect {
    /// A server that starts is like this for a while.
    Good,
    /// Only if somebody does something meanwhile.
    Poor,
    None,
}

const LOADING: &str =
    "the server is up but not ready; a model may take minutes to load: wait longer with --wait";
const UNREACHABLE: &str = "check host and port in --url, and that no firewall is between";
const CHECK_NAME: &str = "check the host's name in --url; for a name that is yet to appear, wait with --wait";
const CHECK_PROXY: &str = "check the proxy that http_proxy, https_proxy or all_proxy names, with its login (http://USER:PASSWORD@HOST:PORT), or \
     go around it: NO_PROXY=HOST";

impl NotReadyYet {
    fn of(target: &Target, fault: DiagnosedFailure) -> Self {
        let prospect = match fault.cause {
            Cause::Untrusted | Cause::NotTls | Cause::ProxyRefuses | Cause::OutOfFiles => Prospect::None,
            Cause::UnknownHost | Cause::Proxy => Prospect::Poor,
            Cause::Refused if target.url.is_loopback() => Prospect::Poor,
            _ => Prospect::Good,
        };
        Self { hint: hint_for(target, &fault), reason: fault.failure.message, prospect }
    }

    fn of_answer(error: &ControlError) -> Self {
        let (hint, prospect) = match error {
            // Only a proxy asks for this.
            ControlError::Status { status: 407, .. } => (CHECK_PROXY, Prospect::None),
            _ => (LOADING, Prospect::Good),
        };
        Self { reason: error.to_string(), hint: hint.to_owned(), prospect }
    }
}

/// Checks once whether the server is ready.
async fn check_once(
    target: &Target,
    control: &Control,
    tls: rustls::ClientConfig,
    limit: Duration,
) -> Result<Dialer, NotReadyYet> {
    let end = Instant::now() + limit;
    let silence = |what: &str, hint: &str| {
        let reason = format!("{what} within {}", spoken(limit));
        NotReadyYet { reason, hint: hint.to_owned(), prospect: Prospect::Good }
    };
    let refused = |fault| NotReadyYet::of(target, fault);
    let unknown = silence("the host's name was not found", CHECK_NAME);
    let resolving = Dialer::resolve(&target.url, target.proxy.as_ref(), tls);
    let dialer = within(end, unknown, resolving).await?.map_err(refused)?;
    // A connection of the measured kind gives the clearest reason.
    within(end, silence("no connection", UNREACHABLE), dialer.open()).await?.map_err(refused)?;
    let answer = within(end, silence("no answer", LOADING), control.ready()).await?;
    answer.map_err(|error| NotReadyYet::of_answer(&error))?;
    Ok(dialer)
}

/// What comes of `action`, or `silence` if it does not end by `end`.
async fn within<T>(
    end: Instant,
    silence: NotReadyYet,
    action: impl Future<Output = T>,
) -> Result<T, NotReadyYet> {
    tokio::time::timeout_at(end, action).await.map_err(|_| silence)
}

/// The hint for a connection that cannot be opened.
pub(super) fn hint_for(target: &Target, fault: &DiagnosedFailure) -> String {
    let hint = match fault.cause {
        Cause::Refused => return start_hint(target),
        Cause::UnknownHost => CHECK_NAME,
        Cause::Proxy | Cause::ProxyRefuses => CHECK_PROXY,
        Cause::OutOfFiles => "raise the limit on open files with `ulimit -n`",
        Cause::OutOfPorts => {
            "write the address as a number, such as 127.0.0.1; where connections are many, widen net.ipv4.ip_local_port_range"
        }
        Cause::NotTls => "the server does not speak TLS at this port: write http:// in --url",
        _ if fault.failure.reason == FailureKind::Tls => {
            "give the server's root with --ca-cert, or trust any certificate with --insecure; \
             a server without TLS wants http:// in --url"
        }
        _ if target.proxy.is_some() => CHECK_PROXY,
        _ => UNREACHABLE,
    };
    hint.to_owned()
}

/// What to do where nothing listens.
fn start_hint(Target { url, dialect, .. }: &Target) -> String {
    let (port, mut hints) = (url.port(), Vec::new());
    if !url.is_loopback() {
        return "is the server running, and is this its host and port? give them with --url; wait longer with --wait"
            .to_owned();
    }
    match dialect.traits().start_command {
        Some(command) => {
            hints.push(format!(
                "start the server: `{command} --port {port}`; if it is starting, wait: --wait 10m"
            ));
        }
        None => hints.push("start the server; if it is starting, wait: --wait 10m".to_owned()),
    }
    hints.push("or name a server that runs: --url http://HOST:PORT".to_owned());
    if *dialect != Dialect::Mock {
        hints.push(format!("or start a mock, which needs no GPU: `skyline mock --port {port}`"));
    }
    hints.join("\nhint: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Failure;

    /// The limit that is announced where nobody said how long to wait; `None` where there is no wait.
    fn limit(url: &str, cause: Cause) -> Option<Duration> {
        let target = Target::new(url.parse().unwrap(), Dialect::Vllm);
        let fault = DiagnosedFailure { failure: Failure::new(FailureKind::Connect, "no"), cause };
        match NotReadyYet::of(&target, fault).prospect {
            Prospect::Good => Some(DEFAULT_WAIT),
            Prospect::Poor => Some(SHORT_WAIT),
            Prospect::None => None,
        }
    }

    #[test]
    fn what_waiting_rarely_cures_is_awaited_shortly() {
        for (url, cause, awaited) in [
            ("http://localhost:8000", Cause::Refused, Some(SHORT_WAIT)),
            ("http://gpu-1:8000", Cause::Refused, Some(DEFAULT_WAIT)),
            ("http://localhost:8000", Cause::Unknown, Some(DEFAULT_WAIT)),
            ("http://gpu-1:8000", Cause::UnknownHost, Some(SHORT_WAIT)),
            ("http://gpu-1:8000", Cause::Proxy, Some(SHORT_WAIT)),
            ("https://gpu-1:8000", Cause::ProxyRefuses, None),
            ("https://gpu-1:8000", Cause::Untrusted, None),
            ("https://gpu-1:8000", Cause::NotTls, None),
            ("http://gpu-1:8000", Cause::OutOfFiles, None),
        ] {
            assert_eq!(limit(url, cause), awaited, "{url} {cause:?}");
        }
    }

    #[test]
    fn every_server_is_started_by_its_own_command() {
        for (dialect, command) in [
            (Dialect::Vllm, "`vllm serve MODEL --port 81`"),
            (Dialect::Sglang, "`python -m sglang.launch_server --model-path MODEL --port 81`"),
            (Dialect::Mock, "start the server: `skyline mock --port 81`"),
            (Dialect::Openai, "start the server; if"),
        ] {
            let hints = start_hint(&Target::new("http://127.0.0.1:81".parse().unwrap(), dialect));
            assert!(hints.contains(command), "{hints}");
            assert_eq!(hints.matches("skyline mock").count(), 1, "{hints}");
        }
        let elsewhere = start_hint(&Target::new("http://gpu-1".parse().unwrap(), Dialect::Vllm));
        assert!(!elsewhere.contains("vllm serve"), "{elsewhere}");
    }
}

//! Waits until a server is ready, no longer than that may help.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::connect_error::{ConnectError, ConnectProgress};
use super::control::Control;
use super::control::control_error::ControlError;
use super::hints::{LOADING, is_loading, names_key, of_refused_key, of_unready};
use super::http_client::{ENDLESS, NO_HTTP};
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::http_url::Way;
use crate::engine::target::Target;
use crate::engine::transport::{Dialer, speaks};
use crate::record::{EngineKind, FailureKind};
use crate::units::spoken;

/// Wait for a server that may be loading its model, unless another is given.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2 * 60);
/// The wait where somebody has to do something first, unless another time is given. Nothing listens on this machine,
/// say.
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
        let NotReadyYet { reason, hint, prospect, lists } = match checked {
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
            if let Some(dialer) = lists {
                let reason = format!(
                    "note: the server's health page fails ({reason}), but it lists its models: one test request \
                     decides whether it is ready"
                );
                progress(ConnectProgress::HealthPassedOver { reason });
                return Ok(dialer);
            }
            // It was awaited longer where it was about to be ready, and then broke down.
            let waited = if elapsed > limit + SHORT_WAIT { Duration::from_secs(elapsed.as_secs()) } else { limit };
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
    /// The way to it, where it lists its models although its page of health fails.
    lists: Option<Dialer>,
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

const UNREACHABLE: &str = "check host and port in --url, and that no firewall is between";
const CHECK_NAME: &str = "check the host's name in --url; if the name will appear later, wait longer with --wait";
const CHECK_PROXY: &str = "check the proxy that http_proxy, https_proxy or all_proxy names, with its login \
    (http://USER:PASSWORD@HOST:PORT), or go around it: NO_PROXY=HOST";

impl NotReadyYet {
    fn new(target: &Target, fault: DiagnosedFailure) -> Self {
        let prospect = match fault.cause {
            Cause::Untrusted
            | Cause::OutOfDate
            | Cause::OtherHost
            | Cause::NoHandshake
            | Cause::NotTls
            | Cause::NoHttp2
            | Cause::ProxyRefuses
            | Cause::OutOfFiles => Prospect::None,
            Cause::UnknownHost | Cause::Proxy => Prospect::Poor,
            Cause::Refused if target.url.is_loopback() => Prospect::Poor,
            _ => Prospect::Good,
        };
        Self { hint: hint_for(target, &fault), reason: fault.failure.message, prospect, lists: None }
    }

    fn of_answer(target: &Target, error: &ControlError) -> Self {
        let (hint, prospect) = match error {
            // Only a proxy asks for this.
            ControlError::Status { status: 407, .. } => (CHECK_PROXY.to_owned(), Prospect::None),
            ControlError::Status { words, .. } if names_key(words) => (of_refused_key(target), Prospect::None),
            ControlError::Status { status, words, .. } => (of_unready(target, *status, words), Prospect::Good),
            ControlError::Unreachable(words) if words.starts_with(NO_HTTP) => {
                ("check the port in --url: that of the server's API speaks HTTP".to_owned(), Prospect::Poor)
            }
            ControlError::Unreachable(words) if words == ENDLESS => {
                ("give --url the address of the server itself: what is there never answers".to_owned(), Prospect::None)
            }
            _ => (LOADING.to_owned(), Prospect::Good),
        };
        Self { reason: error.to_string(), hint, prospect, lists: None }
    }

    /// An address without TLS, at a port that wants it.
    fn of_tls(target: &Target, error: &ControlError) -> Self {
        Self {
            reason: format!("this port speaks TLS, and the address says http:// ({error})"),
            hint: format!("write https:// in --url: {}", target.url.to_string().replacen("http://", "https://", 1)),
            prospect: Prospect::None,
            lists: None,
        }
    }

    /// Returns the state of a server that lists its models. Another page of it fails: nothing says that waiting helps,
    /// but for SGLang, which lists them while it warms up.
    fn that_lists(self, dialer: Dialer, dialect: EngineKind) -> Self {
        let prospect = if dialect == EngineKind::Sglang { Prospect::Good } else { Prospect::Poor };
        Self { prospect, lists: Some(dialer), ..self }
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
        NotReadyYet { reason, hint: hint.to_owned(), prospect: Prospect::Good, lists: None }
    };
    let refused = |fault| NotReadyYet::new(target, fault);
    let unknown = silence("the host's name was not found", CHECK_NAME);
    let resolving = Dialer::resolve(&target.url, target.proxy.as_ref(), target.connections.lookup, tls);
    let dialer = within(end, unknown, resolving).await?.map_err(refused)?;
    // A connection of the measured kind gives the clearest reason.
    let opening = async {
        tokio::select! {
            opened = speaks(&dialer, target.http2) => opened.map(drop),
            fault = dialer.meets_no_tls(&target.url) => Err(fault),
        }
    };
    within(end, silence("no connection", UNREACHABLE), opening).await?.map_err(refused)?;
    let answer = within(end, silence("no answer", LOADING), control.ready()).await?;
    let Err(error) = answer else { return Ok(dialer) };
    let is_refusal = matches!(error, ControlError::Status { status: 400, .. });
    // Servers that want TLS close such a connection, send an alert, or say so with a 400.
    if (is_refusal || matches!(error, ControlError::Unreachable(_))) && dialer.meets_tls(&target.url).await {
        return Err(NotReadyYet::of_tls(target, &error));
    }
    if is_refusal {
        return Ok(dialer);
    }
    let not_yet = NotReadyYet::of_answer(target, &error);
    let fails = matches!(&error, ControlError::Status { status: 500.., words, .. } if !is_loading(words));
    let lists = fails && matches!(not_yet.prospect, Prospect::Good) && control.health_path().is_some();
    let listed = if lists { control.models().await.unwrap_or_default() } else { Vec::new() };
    Err(if listed.is_empty() { not_yet } else { not_yet.that_lists(dialer, target.dialect) })
}

/// Returns what comes of `action`, or `silence` if it does not end by `end`.
async fn within<T>(end: Instant, silence: NotReadyYet, action: impl Future<Output = T>) -> Result<T, NotReadyYet> {
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
            "widen net.ipv4.ip_local_port_range, or wait a minute: closed connections hold their ports"
        }
        Cause::NotTls => "the server does not speak TLS at this port: write http:// in --url",
        Cause::NoHttp2 => {
            "leave --http2 out, which asks for HTTP/2 alone; --http2=offered takes it where a server's TLS offers it"
        }
        Cause::OutOfDate => {
            "renew the server's certificate, or set this machine's clock right; --insecure accepts any certificate"
        }
        Cause::OtherHost => {
            "write in --url a host that the certificate is for, or have one issued for this; --insecure accepts any \
             certificate"
        }
        Cause::NoHandshake => {
            "the server may ask for a certificate of the client, which skyline has none of, or speak no TLS 1.2 or \
             1.3: look at its log"
        }
        Cause::Untrusted => return untrusted_hint(target),
        _ if fault.failure.reason == FailureKind::Tls => {
            "does the server speak TLS at this port? without it, write http:// in --url"
        }
        _ if target.proxy.is_some() => CHECK_PROXY,
        _ => UNREACHABLE,
    };
    hint.to_owned()
}

/// Returns the hint for a certificate that nobody who is trusted signed.
fn untrusted_hint(Target { url, common, .. }: &Target) -> String {
    let given = match &common.tls.ca_cert {
        Some(file) => format!("{} has neither it nor its issuer's; ", file.display()),
        None => String::new(),
    };
    format!(
        "{given}give its issuer's certificate, or its own, with --ca-cert FILE (`openssl s_client -showcerts -connect \
         {}:{}` prints them); --insecure accepts any certificate",
        url.host(),
        url.port()
    )
}

/// Returns the hint where nothing listens.
fn start_hint(Target { url, common, .. }: &Target) -> String {
    if let Some(socket) = url.way().and_then(Way::socket) {
        return format!("start the server with this socket (vLLM: `vllm serve MODEL --uds {}`)", socket.display());
    }
    let (port, mut hints) = (url.port(), Vec::new());
    if !url.is_loopback() {
        return "is the server running, and is this its host and port? give them with --url; wait longer with --wait"
            .to_owned();
    }
    match common.dialect.traits().start_command {
        Some(command) => {
            hints.push(format!("start the server: `{command} --port {port}`; if it is starting, wait: --wait 10m"));
        }
        None => hints.push("start the server; if it is starting, wait: --wait 10m".to_owned()),
    }
    hints.push("or name a server that runs: --url http://HOST:PORT".to_owned());
    if common.dialect != EngineKind::Mock {
        hints.push(format!("or start a mock, which needs no GPU: `skyline mock --port {port}`"));
    }
    hints.join("\nhint: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Failure;

    /// Returns the announced limit where nobody said how long to wait. It is `None` where there is no wait.
    fn limit(url: &str, cause: Cause) -> Option<Duration> {
        let target = Target::new(url.parse().unwrap(), EngineKind::Vllm);
        let fault = DiagnosedFailure { failure: Failure::new(FailureKind::Connect, "no"), cause };
        match NotReadyYet::new(&target, fault).prospect {
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
            ("https://gpu-1:8000", Cause::OutOfDate, None),
            ("https://gpu-1:8000", Cause::OtherHost, None),
            ("https://gpu-1:8000", Cause::NoHandshake, None),
            ("https://gpu-1:8000", Cause::NotTls, None),
            ("http://gpu-1:8000", Cause::OutOfFiles, None),
        ] {
            assert_eq!(limit(url, cause.clone()), awaited, "{url} {cause:?}");
        }
    }

    #[test]
    fn every_server_is_started_by_its_own_command() {
        for (dialect, command) in [
            (EngineKind::Vllm, "`vllm serve MODEL --port 81`"),
            (EngineKind::Sglang, "`python -m sglang.launch_server --model-path MODEL --port 81`"),
            (EngineKind::Mock, "start the server: `skyline mock --port 81`"),
            (EngineKind::Openai, "start the server; if"),
        ] {
            let hints = start_hint(&Target::new("http://127.0.0.1:81".parse().unwrap(), dialect));
            assert!(hints.contains(command), "{hints}");
            assert_eq!(hints.matches("skyline mock").count(), 1, "{hints}");
        }
        let elsewhere = start_hint(&Target::new("http://gpu-1".parse().unwrap(), EngineKind::Vllm));
        assert!(!elsewhere.contains("vllm serve"), "{elsewhere}");
    }
}

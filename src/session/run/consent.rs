//! Confirmations and refusals before a load: one for a server that may be somebody else's, in a terminal or with
//! `--yes`; one too much for this machine; a page of one server, and a profile that there is not.

use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _};
use std::path::Path;

use serde_json::Map;

use super::context::RunContext;
use super::load::{PlannedLoad, rounded};
use super::{machine, pages};
use crate::engine::{BaseUrl, CommonRequest, OpenAiEngine, Proxy, answer_tokens};
use crate::record::PageKind;
use crate::session::console::{Printer, Stop};
use crate::session::folder;
use crate::session::settings::RunSettings;
use crate::units::count;
use crate::workload::WorkloadSpec;

impl RunContext {
    /// Refuses a workload that asks for more than this machine can be trusted with.
    pub(crate) fn check_load(&self, spec: &WorkloadSpec) -> Result<(), Stop> {
        machine::check_load(&self.settings, self.conditions.calibration.as_ref(), spec)
    }

    /// Whether this machine can send `spec`, by what is known of it, enforced or not.
    pub(crate) fn is_trusted_with(&self, spec: &WorkloadSpec) -> bool {
        self.conditions.calibration.is_none_or(|found| machine::judge(&self.settings, &found, spec).is_ok())
    }

    /// Refuses a page that was named and is an engine's. It would count for `all`. The engine may be the server's own.
    pub(crate) fn check_pages(&self, all: &str) -> Result<(), Stop> {
        let named: Vec<_> = self.settings.telemetry.urls.iter().map(ToString::to_string).collect();
        let mut of_engine = self.pages.iter().filter(|page| page.source.kind.is_some_and(PageKind::is_of_engine));
        match of_engine.find(|page| page.sampled_every().is_some() || named.contains(&page.source.url)) {
            Some(page) => Err(pages::of_one_server(&page.source.url, all)),
            None => Ok(()),
        }
    }

    /// Refuses a profile that a server does not offer.
    pub(crate) fn check_profiler(&self) -> Result<(), Stop> {
        let Some(_) = self.settings.profile else { return Ok(()) };
        let check = |engine| self.server.runtime.block_on(OpenAiEngine::check_profiler(engine));
        self.server.router.targets().iter().try_for_each(check).map_err(Stop::impossible)
    }
}

/// The load that any server gets unasked.
const FEW_REQUESTS: f64 = 1_000.0;
const SLOW_PER_S: f64 = 10.0;
const FEW_TOKENS: f64 = 1e6;

/// Returns whether an address is this machine's or in a private network. Private networks are those of RFC 1918,
/// link-local, unique local, and that of carriers (RFC 6598).
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let of_carrier = first == 100 && (64..128).contains(&second);
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4 == Ipv4Addr::UNSPECIFIED || of_carrier
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(v4.into()),
            None => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

/// The first address of a server that is not private. A name without an address counts as public behind a
/// proxy, which may know it, and where the user waits for the server (`--wait`); elsewhere it is refused.
fn public_address(url: &BaseUrl, waits: bool) -> Result<Option<String>, Stop> {
    match (url.host(), url.port()).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).find(|ip| !is_private(*ip)).map(|ip| ip.to_string())),
        Err(_) if matches!(Proxy::of_environment(url.whole()), Ok(Some(_))) => Ok(Some("behind a proxy".to_owned())),
        Err(_) if waits => Ok(Some("its address is not known yet".to_owned())),
        Err(error) => Err(Stop::impossible(format!(
            "{url}: the host `{}` cannot be found: {error}\n\
             hint: check the host's name in --url; if the name will appear later, say how long to wait with --wait",
            url.host()
        ))
        .of_server()),
    }
}

/// Says in one line what is planned, and asks for consent where needed. The user is asked before public servers get
/// more than little. Without a terminal, or `--yes`, that is refused. All servers of an experiment are asked for at
/// once.
pub(crate) fn announce_load<'a>(
    load: &PlannedLoad,
    servers: impl IntoIterator<Item = &'a RunSettings>,
    announce: Option<Printer>,
    printer: Printer,
) -> Result<(), Stop> {
    if let Some(printer) = announce {
        printer.words(&format!("{}: {load}", load.label()));
    }
    let Some(what) = public_load(load, servers)? else { return Ok(()) };
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        // How much a search sends is not known before.
        let free = load.all_requests().is_finite().then(|| {
            let [few, tokens] = [FEW_REQUESTS, FEW_TOKENS].map(|most| count(most as u64));
            format!("; up to {SLOW_PER_S} requests/s, {few} requests and {tokens} tokens in all need no confirmation")
        });
        return Err(Stop::usage(format!(
            "{what}\nhint: if you may do that, repeat the command with --yes{}",
            free.unwrap_or_default()
        )));
    }
    printer.words(&format!("{what}. Send them? [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    if read.is_err() || !matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Err(Stop::usage("nothing was sent, because it was not confirmed"));
    }
    Ok(())
}

/// Refuses what a run refuses before it sends anything, but for the server. It says where a run asks first. A folder in
/// which its own is created is left as it was.
pub(crate) fn check_before_load<'a>(
    load: &PlannedLoad,
    servers: impl IntoIterator<Item = &'a RunSettings>,
    out: Option<&Path>,
    printer: Printer,
) -> Result<(), Stop> {
    // Whether a server's name is known is not asked of a run that only is planned.
    if let Ok(Some(what)) = public_load(load, servers) {
        printer.words(&format!("note: {what}: the run asks before it sends them, or wants --yes"));
    }
    out.map_or(Ok(()), folder::check_base)
}

/// Returns the public servers that get more than little, and how much, in words. `None` without any.
pub(crate) fn public_load<'a>(
    load: &PlannedLoad,
    servers: impl IntoIterator<Item = &'a RunSettings>,
) -> Result<Option<String>, Stop> {
    let mut urls: Vec<(&BaseUrl, bool)> = Vec::new();
    let mut tokens: f64 = 0.0;
    for settings in servers.into_iter().filter(|settings| !settings.requests.yes) {
        let CommonRequest { endpoint, extra_body, .. } = &settings.server.common;
        let (none, set) = (Map::new(), endpoint.parameters_in(&extra_body.0));
        let of_it = load.all_tokens(|planned| answer_tokens(set.unwrap_or(&none), planned));
        tokens = tokens.max(of_it);
        for url in settings.server.address.urls().filter(|_| !is_small(load, of_it)) {
            if urls.iter().all(|(asked, _)| asked != &url) {
                urls.push((url, settings.server.wait.is_some()));
            }
        }
    }
    let mut public = Vec::new();
    for (url, waits) in urls {
        public.extend(public_address(url, waits)?.map(|address| format!("{url} ({address})")));
    }
    Ok((!public.is_empty()).then(|| {
        format!(
            "{} {} neither on this machine nor in a private network, and {}{} are planned",
            public.join(" and "),
            if public.len() == 1 { "is" } else { "are" },
            load.requests_in_words(),
            if tokens > 0.0 && tokens.is_finite() {
                format!(" of {} tokens in all", rounded(tokens))
            } else {
                String::new()
            }
        )
    }))
}

/// Check that a load of so many tokens is what any server gets. How long the requests of a file are is not known here.
fn is_small(load: &PlannedLoad, tokens: f64) -> bool {
    let are_few = tokens.is_nan() || tokens <= FEW_TOKENS;
    load.all_per_s() <= SLOW_PER_S && load.all_requests() <= FEW_REQUESTS && are_few
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::session::planned::PlannedRun;
    use crate::workload::{ClientChange, Overrides, WorkloadSpec};

    #[test]
    fn private_addresses_are_known() {
        let private = |text: &str| is_private(text.parse().unwrap());
        for own in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(private(own), "{own}");
        }
        for public in [
            "203.0.113.1",
            "8.8.8.8",
            "172.32.0.1",
            "172.15.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ] {
            assert!(!private(public), "{public}");
        }
    }

    #[test]
    fn a_name_without_an_address_never_counts_as_private() {
        let url = "http://no-such-host.invalid:8000".parse().unwrap();
        let waited = public_address(&url, true).unwrap();
        assert_eq!(waited.as_deref(), Some("its address is not known yet"));
        let stop = public_address(&url, false).unwrap_err();
        assert!(stop.message().contains("`no-such-host.invalid` cannot be found"), "{}", stop.message());
        let here = "http://127.0.0.1:8000".parse().unwrap();
        assert_eq!(public_address(&here, false).unwrap(), None);
    }

    #[test]
    fn little_load_needs_no_confirmation() {
        let of = |overrides: Overrides| {
            let overrides = Overrides { warmup_s: Some(0.0), seed: Some(1), ..overrides };
            let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
            PlannedLoad::new(&PlannedRun::alone(spec, &Arc::default(), "").unwrap(), None, None)
        };
        let open = |rate_per_s: f64, seconds: f64| {
            let (rate_per_s, horizon_s) = (Some(rate_per_s), Some(seconds));
            of(Overrides { horizon_s, rate_per_s, ..Overrides::default() })
        };
        let with = |load: &PlannedLoad, body: Value| {
            let body = body.as_object().unwrap().clone();
            is_small(load, load.all_tokens(|planned| answer_tokens(&body, planned)))
        };
        let is_small = |load: &PlannedLoad| with(load, json!({}));
        assert!(is_small(&open(10.0, 90.0)));
        assert!(!is_small(&open(10.1, 10.0)), "too fast");
        assert!(!is_small(&open(10.0, 120.0)), "too many");
        assert!(!is_small(&open(10.0, 50.0).times(3)), "too many in all");
        assert!(!is_small(&open(1.0, 10.0).searched()), "nobody knows how many");
        // 900 requests of 265 and 133 tokens: 1.04 million with six answers to each, 0.92 with five.
        assert!(with(&open(10.0, 90.0), json!({"n": 5})) && !with(&open(10.0, 90.0), json!({"n": 7})));
        assert!(!with(&open(1.0, 20.0), json!({"max_tokens": 100_000})), "the limit that is sent counts");
        let again =
            |clients| of(Overrides { horizon_s: Some(40.0), rate_per_s: Some(2.0), clients, ..Overrides::default() });
        let clients = |retries, hedge_after_s| ClientChange { retries, hedge_after_s, ..ClientChange::default() };
        assert!(is_small(&again(clients(Some(4), None))) && !is_small(&again(clients(Some(5), None))));
        assert!(!is_small(&again(clients(Some(4), Some(1.0)))), "each try may be hedged");
        let users = |users| of(Overrides { users: Some(users), horizon_s: Some(20.0), ..Overrides::default() });
        assert!(is_small(&users(2)) && !is_small(&users(11)));
        assert!(!is_small(&open(1.0, 10.0).and(users(11))) && is_small(&open(1.0, 10.0).and(users(2))));
    }
}

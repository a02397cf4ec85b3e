//! Options that share requests out to several servers.

use clap::Args;
use strum::VariantArray as _;

use super::values::{one_of, whole};
use crate::record::{Route, Routing};
use crate::session::Stop;

/// The largest weight of a server.
const MOST: u64 = 1000;

/// The sharing out of requests to several servers.
#[derive(Clone, Debug, Args)]
pub(super) struct RoutingArgs {
    /// How requests are shared out to several servers. By `session`, sessions take turns; by `round-robin`, requests;
    /// by `tenant`, tenants; by `least`, a request goes where the fewest are in flight [default: session]
    #[arg(long, value_name = "HOW", help_heading = "Server", hide_possible_values = false,
          value_parser = one_of::<Route>(&Route::VARIANTS.iter().map(|route| route.name()).collect::<Vec<_>>()))]
    route: Option<Route>,

    /// Turns of each server, in the order of --url, such as 3,1 [default: 1 each]
    #[arg(long, value_name = "N,N", help_heading = "Server", value_delimiter = ',',
          value_parser = whole::<u32>(1..=MOST))]
    weights: Vec<u32>,
}

impl RoutingArgs {
    /// Returns what the options mean for so many servers. An embedded mock is none.
    pub(super) fn settings(&self, servers: usize) -> Result<Routing, Stop> {
        let Self { route, weights } = self;
        let typed = [("--route", route.is_some()), ("--weights", !weights.is_empty())];
        if let (..2, Some((option, _))) = (servers, typed.into_iter().find(|(_, is_typed)| *is_typed)) {
            return Err(Stop::usage(format!(
                "{option} needs several servers\nhint: give --url for each of them, or leave {option} out"
            )));
        }
        if ![0, servers].contains(&weights.len()) {
            return Err(Stop::usage(format!(
                "--weights has {} numbers for {servers} servers\nhint: give one for each --url, in their order",
                weights.len()
            )));
        }
        let route = route.unwrap_or_default();
        if !weights.is_empty() && !route.is_weighted() {
            return Err(Stop::usage(format!(
                "--weights says who takes how many turns, and with --route {route} nobody does\n\
                 hint: leave --weights out, or choose --route session or round-robin"
            )));
        }
        Ok(Routing { route, weights: weights.clone() })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::args::TargetArgs;
    use crate::live::Screen;
    use crate::record::{Route, Routing};
    use crate::session::settings::{LoadOption, ServerSettings};

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        target: TargetArgs,
    }

    const TWO: [&str; 4] = ["--url", "http://a:1", "--url", "http://b:2"];

    fn settings(options: &[&str]) -> Result<ServerSettings, String> {
        let typed = Typed::parse_from([&["skyline"], options].concat()).target;
        let settings = typed.settings(LoadOption::OfOneRun, Screen::Quiet);
        settings.map(|settings| settings.server).map_err(|stop| stop.message().to_owned())
    }

    #[test]
    fn servers_share_requests_as_asked() {
        let of = |options: &[&str]| settings(&[&TWO, options].concat()).unwrap().routing;
        assert_eq!(of(&[]), Routing::default());
        assert_eq!(of(&["--weights", "3,1"]), Routing { route: Route::Session, weights: vec![3, 1] });
        for (name, route) in [
            ("round-robin", Route::RoundRobin),
            ("least", Route::Least),
            ("tenant", Route::Tenant),
            ("session", Route::Session),
        ] {
            assert_eq!(of(&["--route", name]).route, route);
        }
        let ranks = ["--header-per-url", "X-Rank: 0", "--header-per-url", "X-Rank: 1"];
        let server = settings(&[&["--url", "http://a:1", "--url", "http://a:1"], &ranks[..]].concat()).unwrap();
        assert_eq!((server.address.urls().count(), server.own_headers.len()), (2, 2));
        let one = settings(&["--url", "http://a:1", "--header-per-url", "X-Rank: 0"]).unwrap();
        assert_eq!(one.own_headers.len(), 1, "one rank by itself");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_cure() {
        let two = |options: &[&str]| settings(&[&TWO, options].concat()).unwrap_err();
        let one = |options: &[&str]| settings(&[&["--url", "http://a:1"], options].concat()).unwrap_err();
        let refused = [
            (one(&["--weights", "3"]), "--weights needs several servers"),
            (one(&["--route", "least"]), "--route needs several servers"),
            (settings(&["--header-per-url", "X-Rank: 0"]).unwrap_err(), "--header-per-url has 1 header for 0 servers"),
            (two(&["--weights", "3,1,1"]), "--weights has 3 numbers for 2 servers"),
            (two(&["--header-per-url", "X-Rank: 0"]), "--header-per-url has 1 header for 2 servers"),
            (two(&["--weights", "3,1", "--route", "least"]), "with --route least nobody does"),
            (one(&["--url", "http://a:1"]), "--url http://a:1 is given twice"),
            (two(&["--url", "http://c:3/v1/completions", "--url", "http://d:4/v1/chat/completions"]), "endpoints"),
        ];
        for (said, expected) in refused {
            assert!(said.contains(expected) && said.contains("\nhint: "), "{said}");
        }
        let secret = two(&["--header-per-url", "X-Rank hf_secret", "--header-per-url", "X-Rank: 1"]);
        assert!(secret.starts_with("--header-per-url: ") && !secret.contains("hf_secret"), "{secret}");
    }
}

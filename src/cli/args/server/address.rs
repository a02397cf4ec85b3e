//! The addresses of servers, the endpoint that they name, and the header of each.

use super::{ServerArgs, header};
use crate::engine::{BaseUrl, Header, Protocol, Targets};
use crate::record::{DeploymentFacts, EngineKind};
use crate::session::settings::ServerAddress;
use crate::session::{Stop, both};
use crate::units::counted;

impl ServerArgs {
    /// Where requests go.
    pub(super) fn address(&self) -> Result<ServerAddress, Stop> {
        let dialect = self.dialect();
        let url_of = |text: &String| {
            let url: BaseUrl = text.parse().map_err(|error| Stop::usage(format!("--url: {error}")))?;
            match &self.path {
                None => Ok(url),
                Some(path) => url.with_path(path).map_err(|error| Stop::usage(format!("--path: {error}"))),
            }
        };
        let Some((first, others)) = self.url.split_first() else {
            return match (dialect.traits().own_port, &self.path) {
                (_, None) if dialect == EngineKind::Mock => Ok(ServerAddress::EmbeddedMock(DeploymentFacts::default())),
                (_, Some(_)) if dialect == EngineKind::Mock => Err(Stop::usage(
                    "--path: the mock that is started for the run has the usual path\n\
                     hint: name the server with --url, or leave --path out",
                )),
                (Some(port), _) => Ok(ServerAddress::At(Targets::one(url_of(&format!("http://127.0.0.1:{port}"))?))),
                (None, _) => Err(Stop::usage(format!(
                    "`--engine {dialect}` has no address of its own\nhint: give one with --url"
                ))),
            };
        };
        let others = others.iter().map(url_of).collect::<Result<_, _>>();
        let (first, others) = both(url_of(first), others)?;
        Ok(ServerAddress::At(Targets::new(first, others)))
    }

    /// The endpoint that was named, by the addresses or by itself.
    pub(super) fn endpoint(&self, address: &ServerAddress) -> Result<&'static Protocol, Stop> {
        let mut named = address.urls().filter_map(BaseUrl::endpoint);
        let first = named.next();
        if let Some((first, other)) = first.zip(named.find(|other| Some(*other) != first)) {
            return Err(Stop::usage(format!(
                "the addresses name two endpoints, {first} and {other}\nhint: give --url of one endpoint, or without it"
            )));
        }
        match (self.typed_endpoint()?, first) {
            (Some(typed), Some(named)) if typed != named && self.path.is_none() => Err(Stop::usage(format!(
                "--endpoint {typed} is not the endpoint that the address names, {named}\nhint: leave --endpoint out"
            ))),
            (typed, named) => {
                let of_backend = self.backend.map(|(_, endpoint)| endpoint);
                Ok(typed.or(named).or(of_backend).unwrap_or_default())
            }
        }
    }

    /// The endpoint that was named by its name or path, or that of the template.
    fn typed_endpoint(&self) -> Result<Option<&'static Protocol>, Stop> {
        let is_custom = self.endpoint.as_deref().is_none_or(|typed| typed == Protocol::CUSTOM);
        match (&self.endpoint, &self.template) {
            (_, Some(file)) if is_custom => Protocol::from_template(file).map(Some).map_err(Stop::usage),
            (Some(typed), Some(_)) => Err(Stop::usage(format!(
                "--template describes the endpoint {}, and --endpoint names {typed}\nhint: leave one of them out",
                Protocol::CUSTOM
            ))),
            (Some(_), None) if is_custom => Err(Stop::usage(
                "--endpoint custom needs a template of its requests and answers\n\
                 hint: give --template FILE; `skyline guide first-run` has one",
            )),
            (typed, _) => Ok(typed
                .as_deref()
                .and_then(|typed| Protocol::all().find(|protocol| [protocol.name, protocol.path].contains(&typed)))),
        }
    }

    /// Returns the header of each server at these addresses, or none. An embedded mock has no address.
    pub(super) fn own_headers(&self, urls: &[&BaseUrl]) -> Result<Vec<Header>, Stop> {
        let (given, servers) = (self.own_headers.len() as u64, urls.len() as u64);
        if ![0, servers].contains(&given) {
            return Err(Stop::usage(format!(
                "--header-per-url has {} for {}\nhint: give one for each --url, in their order",
                counted(given, "header"),
                counted(servers, "server")
            )));
        }
        let again = (1..urls.len()).find(|&place| urls[..place].contains(&urls[place]));
        if let (Some(place), 0) = (again, given) {
            return Err(Stop::usage(format!(
                "--url {} is given twice\nhint: give it once, and --weights for more requests; ranks behind one \
                 address have --header-per-url",
                urls[place]
            )));
        }
        let headers = self.own_headers.iter().map(|typed| match header::read(typed)?.as_slice() {
            [one] => Ok(one.clone()),
            _ => Err("a file has more than one header\nhint: give one header for each --url".to_owned()),
        });
        let headers: Result<Vec<_>, String> = headers.collect();
        headers.map_err(|error| Stop::usage(format!("--header-per-url: {error}")))
    }
}

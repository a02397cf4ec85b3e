//! Headers by which balancers, logs and traces tell requests apart.

use clap::Args;

use crate::engine::{Header, RequestMarks};
use crate::session::Stop;

/// The headers that differ between requests.
#[derive(Clone, Debug, Args)]
pub(super) struct MarkArgs {
    /// Header that carries the id of each request's session, such as X-Session-ID. A balancer keeps sessions together
    /// by it [default: none]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    session_header: Option<String>,

    /// Header of answers that names the replica behind one address, such as X-Served-By. Every report then has a table
    /// of the replicas, and a finding names a slow one [default: none; by address]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    replica_header: Option<String>,

    /// Beginning of every X-Request-Id, to find the run's requests in the server's log. 8 random digits and the
    /// request's index follow [default: the first part of a UUID]
    #[arg(long, value_name = "TEXT", help_heading = "Server")]
    request_id_prefix: Option<String>,

    /// Send a `traceparent` with every request (W3C Trace Context). A server that traces makes its spans children of
    /// the request's. The trace id stands beside every request of `--format csv`, and `--format spans` has the spans of
    /// the slowest (`guide server`)
    #[arg(long, help_heading = "Server")]
    traceparent: bool,
}

impl MarkArgs {
    /// Returns what the options mean, beside these headers of every request.
    pub(super) fn marks(&self, headers: &[Header]) -> Result<RequestMarks, Stop> {
        let Self { session_header, replica_header, request_id_prefix, traceparent } = self;
        let names: Vec<_> = headers.iter().map(Header::name).collect();
        RequestMarks::new(session_header.as_deref(), request_id_prefix.as_deref(), *traceparent, &names)
            .and_then(|marks| marks.with_replica_header(replica_header.as_deref()))
            .map_err(Stop::usage)
    }
}

//! How connections spread over the addresses of a server.

use clap::Args;

use crate::engine::{ConnectionOptions, IdleConnections, NameLookup};
use crate::record::EngineKind;
use crate::session::Stop;

/// Connections to the server.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ConnectionArgs {
    /// Look up the server's name `once` before the run, or `each` second of it. With `each`, replicas may come and go:
    /// new addresses get requests from then on, those that are gone get no more. Requests take turns over all addresses
    /// of the name, and the report shows those of each
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, default_value = "once")]
    resolve: NameLookup,
}

impl ConnectionArgs {
    /// Returns the options for a server of this dialect. To each of its addresses so many connections are kept.
    pub(super) fn options(self, dialect: EngineKind, per_host: Option<u64>) -> Result<ConnectionOptions, Stop> {
        if per_host.is_some() && dialect.traits().idle_connections == IdleConnections::HoldThreads {
            return Err(Stop::usage(format!(
                "--connections-per-host: each open connection holds a thread of {dialect}, so none is kept\n\
                 hint: leave it out, or choose another --engine"
            )));
        }
        Ok(ConnectionOptions { lookup: self.resolve, per_host: per_host.map(|most| most as usize) })
    }
}

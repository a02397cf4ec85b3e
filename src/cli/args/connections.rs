//! How connections spread over the addresses of a server.

use clap::Args;

use crate::engine::{ConnectionOptions, IdleConnections, NameLookup};
use crate::record::EngineKind;
use crate::session::Stop;
use crate::workload::reading::whole;

/// Connections to the server.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Server")]
pub(super) struct ConnectionArgs {
    /// Look up the server's name `once` before the run, or `each` second of it. With `each`, replicas may come and go:
    /// new addresses get requests from then on, those that are gone get no more. Requests take turns over all addresses
    /// of the name, and the report shows those of each
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true, default_value = "once")]
    resolve: NameLookup,

    /// Keep N connections open to each address of the server. No request waits for one of them: where all are busy it
    /// opens another, which is closed after its answer; --max-concurrency limits requests [default: as many as have
    /// been needed at a time]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=65_535), allow_negative_numbers = true)]
    connections_per_host: Option<u32>,
}

impl ConnectionArgs {
    /// Returns the options that the arguments mean for a server of this dialect.
    pub(super) fn options(self, dialect: EngineKind) -> Result<ConnectionOptions, Stop> {
        let per_host = self.connections_per_host.map(|most| most as usize);
        if per_host.is_some() && dialect.traits().idle_connections == IdleConnections::HoldThreads {
            return Err(Stop::usage(format!(
                "--connections-per-host: each open connection holds a thread of {dialect}, so none is kept\n\
                 hint: leave it out, or choose another --engine"
            )));
        }
        Ok(ConnectionOptions { lookup: self.resolve, per_host })
    }
}

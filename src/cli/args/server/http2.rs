//! Whether HTTP/2 is spoken.

use std::num::NonZeroU32;

use clap::Args;

use crate::engine::Http2;

/// Values of --http2.
const ALWAYS: &str = "always";
const OFFERED: &str = "offered";

/// HTTP/2, which is asked for.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Http2Args {
    /// Speak HTTP/2: over TLS as both sides agree (ALPN), else by prior knowledge; with =offered, only over TLS that
    /// offers it [default: HTTP/1.1, each request in flight on a connection of its own, as the clients of OpenAI do]
    #[arg(long, value_name = "WHEN", help_heading = "Server", num_args = 0..=1, require_equals = true,
          default_missing_value = ALWAYS, value_parser = [ALWAYS, OFFERED])]
    http2: Option<String>,

    /// Most streams of an HTTP/2 connection at a time; fewer where the server takes fewer [default: 100]
    #[arg(long, value_name = "N", help_heading = "Server", requires = "http2")]
    streams_per_connection: Option<NonZeroU32>,
}

impl Http2Args {
    /// Where HTTP/2 is spoken by these options.
    pub(super) fn http2(&self) -> Http2 {
        let streams = self.streams_per_connection.map_or(Http2::STREAMS, NonZeroU32::get);
        match self.http2.as_deref() {
            None => Http2::Never,
            Some(OFFERED) => Http2::IfOffered(streams),
            Some(_) => Http2::Always(streams),
        }
    }
}

//! `skyline check`: is this server ready, and does it answer correctly?

use std::fmt::Write as _;

use clap::Args;

use super::args::ServerArgs;
use super::exit::{Exit, Stop};
use super::printer::Printer;
use super::session::{Asked, Session};
use crate::units;

/// Waits for a server and sends it one short request.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(args: &CheckArgs, printer: Printer) -> Result<Exit, Stop> {
    let session = Session::open(&args.server, Asked::default(), printer)?;
    let (facts, smoke) = (session.engine.facts(), &session.smoke);
    let mut rows = vec![
        ("server", format!("{} at {}", facts.engine, facts.url)),
        ("version", facts.server_version.clone().unwrap_or_else(|| "not told".to_owned())),
        ("model", facts.model.clone()),
        (
            "longest context",
            facts.max_model_len.map_or("not told".to_owned(), |len| format!("{} tokens", units::count(len))),
        ),
        (
            "endpoint",
            format!("{}, {}", facts.endpoint, if facts.streamed { "streamed" } else { "in one piece" }),
        ),
    ];
    let usage = smoke.usage.map_or("no token counts from the server".to_owned(), |usage| {
        format!(
            "{} prompt and {} answer tokens by its own count",
            usage.prompt_tokens, usage.completion_tokens
        )
    });
    rows.push(("test request", format!("completed in {} chunks; {usage}", smoke.chunks)));
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:16} {}", crate::report::printable(&value));
    }
    printer.data(&text)?;
    Ok(Exit::Fine)
}

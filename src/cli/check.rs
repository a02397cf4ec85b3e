//! `skyline check`: is this server ready, and does it answer correctly?

use std::fmt::Write as _;

use clap::Args;

use super::args::ServerArgs;
use crate::session::run::{Golden, RequestNeeds, ServerConnection, check_golden, request_needs};
use crate::session::settings::ServerSettings;
use crate::session::{Exit, Printer, Stop, survey};
use crate::units;
use crate::workload::WorkloadSpec;

/// Waits for a server, sends it one short request, and the golden prompts of a workload if one is named.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// Send the `checks` of this workload too, each once and without load; one that does not pass exits with 1
    /// [default: none]
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
}

pub(super) fn run(args: &CheckArgs, printer: Printer) -> Result<Exit, Stop> {
    let server = args.server.settings()?;
    let spec = args.workload.as_deref().map(|workload| checked(&server, workload)).transpose()?;
    let needs = match &spec {
        None => RequestNeeds::default(),
        Some(spec) => request_needs(spec, &server)?,
    };
    let connection = ServerConnection::open(&server, needs, printer)?;
    let (facts, smoke) = (connection.engine.facts(), &connection.smoke);
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
    let mut exit = Exit::Fine;
    let golden = spec.as_ref().and_then(|spec| Golden::of(&connection, &connection.engine, spec, None, None));
    for (name, unmet) in golden.iter().flat_map(Golden::results) {
        exit = if unmet.is_some() { Exit::Missed } else { exit };
        rows.push(("check", unmet.unwrap_or_else(|| format!("`{name}` passed"))));
    }
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:16} {}", crate::report::printable(&value));
    }
    printer.data(&text)?;
    Ok(exit)
}

/// The workload whose checks are sent.
fn checked(server: &ServerSettings, workload: &str) -> Result<WorkloadSpec, Stop> {
    let spec = WorkloadSpec::load_with(workload, &|trace, seed| survey(trace, seed)).map_err(Stop::usage)?;
    if spec.checks.is_empty() {
        return Err(Stop::usage(format!(
            "`{}` has no `checks`\nhint: give it golden prompts, or leave --workload out",
            spec.name
        )));
    }
    check_golden(&spec, server.endpoint)?;
    Ok(spec)
}

//! `skyline check`: is this server ready, and does it answer correctly?

use clap::Args;

use super::args::ServerArgs;
use super::output::ShowArgs;
use crate::clock::Pacing;
use crate::engine::{LengthTest, Router, Targets};
use crate::live::Screen;
use crate::report::documents::{self, CheckedServer};
use crate::session::run::{Golden, ServerConnection, check_golden, common_request};
use crate::session::settings::ServerSettings;
use crate::session::{Exit, Printer, Stop, both, survey};
use crate::workload::{GoldenSet, Overrides, RequestChange, WorkloadSpec};

/// Waits for a server, sends it one short request, and the golden prompts of a workload if one is named.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// Also send the `checks` of this workload, each once and without load; a failed check exits with 1 [default:
    /// none]
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,

    /// Golden prompts to ask, in addition to those of --workload. It is a file of `[[checks]]`, or `basics`, which are
    /// 24 questions that come with this program [default: none]
    #[arg(long, value_name = "FILE", value_parser = GoldenSet::typed)]
    golden: Option<GoldenSet>,

    #[command(flatten)]
    show: ShowArgs,
}

pub(super) fn run(args: &CheckArgs, printer: Printer) -> Result<Exit, Stop> {
    let ((), mut server) = both(args.show.check(), args.server.settings())?;
    let is_asked = args.workload.is_some() || args.golden.is_some();
    let spec = is_asked.then(|| checked(&server, args)).transpose()?;
    if let Some(spec) = &spec {
        server.common = common_request(spec, &server)?;
    }
    let screen = Screen::detect();
    let connection = ServerConnection::open(&|| None, &server, Pacing::Precise, screen, printer)?;
    let mut exit = Exit::Fine;
    for (engine, smoke) in connection.router.targets().iter().zip(connection.smokes.iter()) {
        let alone = Router::in_turn(Targets::one(engine.clone()));
        let golden = spec.as_ref().and_then(|spec| Golden::new(&connection, &alone, spec, None, None, true));
        let checks: Vec<_> = golden.iter().flat_map(|golden| golden.results(screen)).collect();
        if checks.iter().any(|(_, unmet)| unmet.is_some()) || smoke.length == LengthTest::Ignored {
            exit = Exit::Missed;
        }
        let abilities = connection.runtime.block_on(engine.abilities());
        let found = CheckedServer { facts: engine.facts(), smoke, abilities: &abilities, checks: &checks };
        args.show.with_json(printer, || documents::check(found), || documents::check_json(found))?;
    }
    Ok(exit)
}

/// The workload whose checks are sent, with those that are added.
fn checked(server: &ServerSettings, args: &CheckArgs) -> Result<WorkloadSpec, Stop> {
    let own = args.workload.as_deref().map_or_else(WorkloadSpec::synthetic, |workload| {
        WorkloadSpec::load_with(workload, &|trace, seed| survey(trace, seed))
    });
    let request = RequestChange { golden: args.golden.clone(), ..RequestChange::default() };
    let added = Overrides { request, ..Overrides::default() };
    let spec = own.and_then(|own| own.with(&added)).map_err(Stop::usage)?;
    if spec.checks.is_empty() {
        return Err(Stop::usage(format!(
            "`{}` has no `checks`\nhint: give it golden prompts, or leave --workload out",
            spec.name
        )));
    }
    check_golden(&spec, server.common.endpoint)?;
    Ok(spec)
}

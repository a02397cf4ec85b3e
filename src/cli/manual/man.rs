//! `skyline man`: the program's man pages.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::{Man, generate_to};

use crate::session::{Exit, Printer, Stop, folder};
use crate::workload::nearest;

/// Print the man page, or write one of each verb.
#[derive(Debug, Args)]
pub(in crate::cli) struct ManArgs {
    /// The verb whose page is printed [default: the page of the program]
    verb: Option<String>,

    /// Write the pages of the program and of all verbs into this folder [default: print one]
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

pub(in crate::cli) fn run(args: &ManArgs, mut command: Command, printer: Printer) -> Result<Exit, Stop> {
    if let Some(out) = &args.out {
        folder::base(out)?;
        let written = generate_to(command, out);
        written.map_err(|error| Stop::impossible(format!("cannot write {}: {error}", out.display())))?;
        printer.words(&format!("man pages written to {}", out.display()));
        return Ok(Exit::Fine);
    }
    let page = match &args.verb {
        None => command,
        Some(verb) => {
            command.build();
            let known = command.find_subcommand(verb).cloned();
            // Pages of verbs are named as `git-commit` is.
            known.map(|known| known.name(format!("skyline-{verb}"))).ok_or_else(|| {
                let near = nearest(verb, command.get_subcommands().map(Command::get_name));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                Stop::usage(format!("`{verb}` is not a verb{near}\nhint: skyline --help lists the verbs"))
            })?
        }
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(Stop::impossible)?;
    printer.data(&String::from_utf8_lossy(&text)).map(|()| Exit::Fine)
}

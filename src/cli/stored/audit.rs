//! `skyline audit`: what a stored result really supports, of Skyline or of another tool.

use std::path::PathBuf;

use clap::Args;
use strum::VariantNames;

use crate::cli::args::one_of;
use crate::cli::output::ShowArgs;
use crate::foreign::ForeignTool;
use crate::report::documents;
use crate::session::stored::audits;
use crate::session::{Exit, Printer, Stop};

/// Say what a stored result supports: its trust checklist, what cannot be concluded, and the strongest
/// sentence that its data bears.
#[derive(Debug, Args)]
pub(in crate::cli) struct AuditArgs {
    /// A run's folder or its run.jsonl, the folder of repeats or of a sweep, or a result of vLLM, SGLang,
    /// GuideLLM or AIPerf, of a file of several `FILE:N`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Read a result of this tool, and say what is missing for it to be one: vllm, sglang, guidellm or aiperf [default:
    /// recognised by its content]
    #[arg(long, value_name = "TOOL", hide_possible_values = true,
          value_parser = one_of::<ForeignTool>(ForeignTool::VARIANTS))]
    from: Option<ForeignTool>,

    #[command(flatten)]
    show: ShowArgs,
}

pub(in crate::cli) fn run(args: &AuditArgs, printer: Printer) -> Result<Exit, Stop> {
    args.show.check()?;
    let mut all = Vec::new();
    for file in &args.files {
        all.extend(audits(file, args.from)?);
    }
    args.show.with_json(printer, || documents::audit(&all), || documents::audit_json(&all))?;
    Ok(Exit::Fine)
}

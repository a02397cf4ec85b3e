//! `skyline from-vllm`, `from-guidellm` and `from-aiperf`: a command line of another tool, said with the options of this one.

use clap::Args;

use crate::foreign::ForeignTool;
use crate::foreign::commands::{Translation, TranslationGap, translate};
use crate::session::{Exit, Printer, Stop};

/// Print the command that does the same, and what differs.
#[derive(Debug, Args)]
#[command(after_help = "\
The command goes to standard output, what differs to standard error.

Examples:
  skyline from-vllm -- vllm bench serve --model M --random-input-len 1024 --num-prompts 1000 --max-concurrency 64
  skyline from-guidellm -- guidellm run --backend kind=openai_http,target=http://host:8000 --profile kind=poisson,rate=5
  skyline from-aiperf -- aiperf profile -m M --url host:8000 --streaming --concurrency 8 --request-count 100")]
pub(super) struct TranslateArgs {
    /// The command line of the tool, word by word or as one text
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(super) fn run(args: &TranslateArgs, tool: ForeignTool, printer: Printer) -> Result<Exit, Stop> {
    let whole = || shlex::split(args.command.first()?).filter(|_| args.command.len() == 1);
    let words = whole().unwrap_or_else(|| args.command.clone());
    let Translation { words, differences, unknown } = translate(tool, &words).map_err(Stop::usage)?;
    let line = shlex::try_join(words.iter().map(String::as_str)).map_err(Stop::usage)?;
    printer.data(&line)?;
    printer.words(&format!("\nWhat differs from {tool}:"));
    for TranslationGap { about, sentence } in differences {
        printer.words(&format!("  {about}: {sentence}"));
    }
    if unknown.is_empty() {
        return Ok(Exit::Fine);
    }
    Err(Stop::usage(format!(
        "the command above leaves out options of {tool} that are not known here: {}\n\
         hint: correct them, or say the same by hand (skyline bench --help)",
        unknown.join("; ")
    )))
}

//! `skyline translate`: a command line of another tool, said with the options of this one.

use clap::Args;

use crate::foreign::commands::{Translation, TranslationGap, translate};
use crate::session::{Exit, Printer, Stop};

/// Print the command that does the same, and what differs.
#[derive(Debug, Args)]
#[command(after_help = "\
Known are command lines of `vllm bench serve`, `python -m sglang.bench_serving`, `guidellm run` and `aiperf profile`.
The command goes to standard output, what differs to standard error.

Examples:
  skyline translate -- vllm bench serve --model M --random-input-len 1024 --num-prompts 1000 --max-concurrency 64
  skyline translate -- python -m sglang.bench_serving --dataset-name random --num-prompts 100 --request-rate 4
  skyline translate -- guidellm run --backend kind=openai_http,target=http://host:8000 --profile kind=poisson,rate=5
  skyline translate -- aiperf profile -m M --url host:8000 --streaming --concurrency 8 --request-count 100")]
pub(super) struct TranslateArgs {
    /// The command line of the tool, word by word or as one text
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(super) fn run(args: &TranslateArgs, printer: Printer) -> Result<Exit, Stop> {
    let whole = || shlex::split(args.command.first()?).filter(|_| args.command.len() == 1);
    let words = whole().unwrap_or_else(|| args.command.clone());
    let Translation { tool, version, words, differences, unknown } =
        translate(&words).map_err(Stop::usage)?;
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
        "the command above leaves out what {tool} {version} does not take, and what is not known here: {}\n\
         hint: correct them, or say the same by hand (skyline bench --help)",
        unknown.join("; ")
    )))
}

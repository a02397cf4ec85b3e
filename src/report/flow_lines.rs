//! What flowed: rates in rows of their own, and the account of tokens.

use super::grid::Grid;
use super::latency;
use super::page::{Page, Tone};
use crate::analysis::{Balance, Summary};
use crate::units::{count, three_digits};

pub(crate) fn rates(page: &mut Page, summary: &Summary) {
    let rates = &summary.rates;
    let mut grid = Grid::new(["", "per second"]);
    let mut any = false;
    for (name, rate) in [
        ("requests offered", rates.offered_requests_per_s),
        ("requests sent", rates.achieved_requests_per_s),
        ("requests completed", rates.completed_requests_per_s),
        ("input tokens", rates.input_tokens_per_s),
        ("  from a prefix cache", rates.cached_input_tokens_per_s),
        ("output tokens", rates.output_tokens_per_s),
    ] {
        if let Some(rate) = rate {
            any = true;
            grid.row([name.to_owned(), three_digits(rate)]);
        }
    }
    if any {
        page.heading("Throughput, over the window");
        latency::write(page, &grid);
    }
}

pub(crate) fn tokens(page: &mut Page, summary: &Summary) {
    let tokens = &summary.tokens;
    if tokens.output.requests == 0 {
        return;
    }
    page.heading("Tokens");
    if tokens.input.requests > 0 {
        page.entry(Tone::Normal, "  input   ", &balance(&tokens.input, "counted by the server"));
    }
    let sources: Vec<_> = [
        (tokens.from_usage, "usage"),
        (tokens.from_chunk_counts, "counts of each chunk"),
        (tokens.from_chunks, "number of chunks"),
    ]
    .into_iter()
    .filter(|(answers, _)| *answers > 0)
    .map(|(answers, source)| format!("{source} ({})", count(answers)))
    .collect();
    let output = balance(&tokens.output, "came");
    page.entry(Tone::Normal, "  output  ", &format!("{output}; source: {}", sources.join(", ")));
}

fn balance(balance: &Balance, came: &str) -> String {
    let error = match (balance.relative_error, balance.mean_error_tokens) {
        (Some(relative), Some(mean)) if relative != 0.0 => {
            let sign = if relative > 0.0 { "+" } else { "−" };
            let (relative, mean) = (three_digits(relative.abs() * 100.0), three_digits(mean.abs()));
            format!(": {sign}{relative} %, {sign}{mean} a request")
        }
        _ => String::new(),
    };
    format!("{} asked, {} {came}{error}", count(balance.asked_tokens), count(balance.got_tokens))
}

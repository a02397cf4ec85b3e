//! What flowed: rates in rows of their own, the account of tokens, what of them was cached.

use super::grid::{ALWAYS, Grid, cell};
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, percent};
use crate::analysis::{Balance, HitSource, MeasuredHits, Summary};
use crate::units::{count, three_digits};

pub(crate) fn rates(page: &mut Page, summary: &Summary) {
    let rates = &summary.rates;
    let mut grid = Grid::new(&[("", ALWAYS), ("per second", ALWAYS)]);
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
            grid.row([name.to_owned(), cell(rate)]);
        }
    }
    if any {
        page.heading("Throughput, over the window");
        page.grid(grid);
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

pub(crate) fn prefix_cache(page: &mut Page, summary: &Summary) {
    let Some(cache) = &summary.prefix_cache else { return };
    page.heading("Prefix cache, over the whole run");
    let (least, most) = (percent(cache.expected_least), percent(cache.expected_most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let prefixes = match cache.prefixes {
        0 => String::new(),
        1 => format!(" for 1 prefix of {}", counted(cache.prefix_tokens, "token")),
        many => format!(" for {} prefixes of {}", count(many), counted(cache.prefix_tokens, "token")),
    };
    let conversations = match (summary.sessions.is_some(), cache.prefixes) {
        (false, _) => "",
        (true, 0) => " for what conversations said before",
        (true, _) => " and for what conversations said before",
    };
    let expected = format!(
        "{range} of prompt tokens by the plan, in blocks of {}; less where the cache has no room{prefixes}{conversations}",
        count(u64::from(cache.block_tokens))
    );
    page.entry(Tone::Normal, "  expected  ", &expected);
    let measured = match cache.measured {
        Some(MeasuredHits { rate, source: HitSource::Counters }) => {
            format!("{} by the server's counters", percent(rate))
        }
        Some(MeasuredHits { rate, source: HitSource::Usage }) => format!("{} by usage", percent(rate)),
        None => "the server does not tell".to_owned(),
    };
    page.entry(Tone::Normal, "  measured  ", &measured);
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

//! What flowed: rates in rows of their own, the account of tokens, what of them was cached.

use super::grid::{ALWAYS, Grid, cell};
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, percent};
use crate::analysis::{Balance, HitSource, MadePrompts, MeasuredHits, Summary, TokenAccount};
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
        ("  for each GPU", rates.output_tokens_per_s_per_gpu),
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
        page.entry(Tone::Normal, "  input   ", &input(tokens));
    }
    let sources: Vec<_> = [
        (tokens.from_usage, "usage"),
        (tokens.from_chunk_counts, "counts of each chunk"),
        (tokens.from_tokenizer, "tokenizer, after the run"),
        (tokens.from_chunks, "number of chunks"),
    ]
    .into_iter()
    .filter(|(answers, _)| *answers > 0)
    .map(|(answers, source)| format!("{source} ({})", count(answers)))
    .collect();
    let Balance { asked_tokens, got_tokens, .. } = tokens.output;
    let output =
        format!("{} asked, {} came{}", count(asked_tokens), count(got_tokens), error(&tokens.output));
    page.entry(Tone::Normal, "  output  ", &format!("{output}; source: {}", sources.join(", ")));
}

/// Prompt tokens: asked, added by the server, counted by it, and how many prompts were as long as they were made to be.
fn input(tokens: &TokenAccount) -> String {
    let (input, added) = (&tokens.input, tokens.added_tokens);
    let asked = match tokens.template_tokens {
        Some(each) if added > 0 => {
            let asked = count(input.asked_tokens - added);
            format!("{asked} asked and {} added by the server ({} a prompt)", count(added), count(each))
        }
        _ => format!("{} asked", count(input.asked_tokens)),
    };
    let came = format!("{} counted by the server{}", count(input.got_tokens), error(input));
    let MadePrompts { requests, exact, most_off } = tokens.made;
    match (requests, exact) {
        (0, _) => format!("{asked}, {came}"),
        _ if requests == exact && requests == input.requests => {
            format!("{asked}, {came}; every prompt exact to the token")
        }
        _ if requests == exact => {
            format!("{asked}, {came}; all {} made to a length exact", counted(requests, "prompt"))
        }
        _ => {
            let (exact, requests) = (count(exact), counted(requests, "prompt"));
            format!("{asked}, {came}; {exact} of {requests} exact, the others off by {most_off} at most")
        }
    }
}

pub(crate) fn prefix_cache(page: &mut Page, summary: &Summary) {
    let Some(cache) = &summary.prefix_cache else { return };
    page.heading("Prefix cache, over the whole run");
    let (least, most) = (percent(cache.expected_least), percent(cache.expected_most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let blocks = cache.block_tokens.map_or_else(
        || "1 to 64 tokens (the server does not tell)".to_owned(),
        |tokens| count(u64::from(tokens)),
    );
    let (source, room) = match cache.prefixes.zip(cache.prefix_tokens) {
        None => ("trace", "all that comes again".to_owned()),
        Some((prefixes, tokens)) => {
            let prefixes_there = prefixes > 0 || summary.sessions.is_none();
            let prefixes =
                if prefixes == 1 { "1 prefix".to_owned() } else { format!("{} prefixes", count(prefixes)) };
            let prefixes = prefixes_there.then(|| format!("{prefixes} of {}", counted(tokens, "token")));
            let talk = summary.sessions.as_ref().map(|_| "what conversations said before".to_owned());
            let room: Vec<_> = [prefixes, talk].into_iter().flatten().collect();
            ("plan", room.join(" and "))
        }
    };
    let expected = format!(
        "{range} of prompt tokens by the {source}, in blocks of {blocks}; less where the cache has no room for {room}"
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

/// By how much what came differs from what was asked.
fn error(balance: &Balance) -> String {
    match (balance.relative_error, balance.mean_error_tokens) {
        (Some(relative), Some(mean)) if relative != 0.0 => {
            let sign = if relative > 0.0 { "+" } else { "−" };
            let (relative, mean) = (three_digits(relative.abs() * 100.0), three_digits(mean.abs()));
            format!(": {sign}{relative} %, {sign}{mean} a request")
        }
        _ => String::new(),
    }
}

//! What flowed: rates, the account of tokens, and how much of the prompts was cached.

use crate::analysis::{Balance, MadePrompts, MeasuredHits, NaturalAnswers, Rates, Summary, TokenAccount};
use crate::report::document::{Section, Table, TableOf};
use crate::units::{count, counted, joined, percent, seconds, three_digits};
use crate::workload::LengthSpread;

pub(super) fn sections(summary: &Summary) -> [Option<Section>; 3] {
    [Some(rates(summary)), Some(tokens(&summary.tokens)), prefix_cache(summary)]
}

fn rates(summary: &Summary) -> Section {
    let rates = &summary.rates;
    let slo = &summary.slo;
    let speed = summary.request_speed;
    let all = [
        ("requests offered", rates.offered_requests_per_s),
        ("  that met their SLO (goodput)", slo.goodput_per_s.filter(|_| slo.declared)),
        ("requests sent", rates.achieved_requests_per_s),
        ("requests completed", rates.completed_requests_per_s),
        ("inputs answered", rates.inputs_per_s),
        ("seconds of audio", rates.audio_seconds_per_s),
        ("input tokens", rates.input_tokens_per_s),
        ("  from a prefix cache", rates.cached_input_tokens_per_s),
        ("output tokens", rates.output_tokens_per_s),
        ("  with those of answers that failed", arrived(rates)),
        ("  per GPU", rates.output_tokens_per_s_per_gpu),
        ("  of a request, median", speed.and_then(|speed| speed.p50)),
        ("  of 19 in 20 requests at least", speed.and_then(|speed| speed.p5)),
    ];
    let known = all.into_iter().filter_map(|(name, rate)| Some((name, rate?)));
    let table = Table::over("Throughput", known).column("", |(name, _)| name).column("per second", |(_, rate)| rate);
    let heading = match summary.window.answers_s() {
        Some(counted) => format!(
            "Throughput: requests over the {} in which they came, answers over {}",
            seconds(summary.window.length_s()),
            seconds(counted)
        ),
        None => "Throughput, over the window".to_owned(),
    };
    Section::detail(heading).table(table)
}

/// Output tokens per second of all answers, where some failed.
pub(super) fn arrived(rates: &Rates) -> Option<f64> {
    rates.arrived_output_tokens_per_s.filter(|_| rates.arrived_output_tokens_per_s != rates.output_tokens_per_s)
}

fn tokens(tokens: &TokenAccount) -> Section {
    let any = tokens.output.requests > 0;
    let is_alone = tokens.answer_lengths.requested.is_none();
    let natural = tokens.natural.map(|NaturalAnswers { lengths, cut_at_limit }| {
        let [p50, p99] = [lengths.p50, lengths.p99].map(|tokens| count(tokens.round() as u64));
        let cut = percent(cut_at_limit as f64 / lengths.count as f64);
        format!("{} end by themselves: p50 {p50}, p99 {p99}; {cut} cut at the limit", counted(lengths.count, "answer"))
    });
    Section::detail("Tokens")
        .facts("input", ((any || natural.is_some() || is_alone) && tokens.input.requests > 0).then(|| input(tokens)))
        .facts("output", any.then(|| output(tokens)).into_iter().chain(natural))
        .table(lengths(tokens))
}

/// Shows how long prompts and answers are, requested and received.
fn lengths(tokens: &TokenAccount) -> TableOf<(&'static str, LengthSpread)> {
    let (prompts, answers) = (&tokens.prompt_lengths, &tokens.answer_lengths);
    let rows = [
        ("prompts requested", prompts.requested),
        ("  by the server's count", prompts.received),
        ("answers requested", answers.requested),
        ("  received", answers.received),
    ];
    let known = rows.into_iter().filter_map(|(name, spread)| Some((name, spread?)));
    Table::over("Lengths of prompts and answers, tokens", known)
        .column("tokens", |(name, _)| name)
        .column("requests", |(_, spread)| spread.count)
        .column("mean", |(_, spread)| spread.mean)
        .column("p50", |(_, spread)| spread.p50)
        .column("p90", |(_, spread)| spread.p90)
        .column("p95", |(_, spread)| spread.p95)
        .column("p99", |(_, spread)| spread.p99)
        .column("max", |(_, spread)| spread.max)
}

/// Answer tokens: requested and received, and who counted them.
fn output(tokens: &TokenAccount) -> String {
    let sources = [
        (tokens.from_usage, "usage"),
        (tokens.from_chunk_counts, "counts of each chunk"),
        (tokens.from_tokenizer, "tokenizer, after the run"),
        (tokens.from_chunks, "number of chunks"),
    ];
    let sources = sources.into_iter().filter(|(answers, _)| *answers > 0);
    let sources = sources.map(|(answers, source)| format!("{source} ({})", count(answers)));
    let [asked, got] = [tokens.output.requested_tokens, tokens.output.received_tokens].map(count);
    let (error, sources) = (error(&tokens.output), joined(sources, ", "));
    format!("{asked} requested, {got} received{error}; source: {sources}")
}

/// Accounts for the prompt tokens. It says how many were requested, added by the server and counted by it, and how many
/// prompts have exactly their length.
fn input(tokens: &TokenAccount) -> String {
    let (input, added) = (&tokens.input, tokens.added_tokens);
    let requested = match tokens.template_tokens {
        Some(each) if added > 0 => {
            let [requested, added, each] = [input.requested_tokens - added, added, each].map(count);
            format!("{requested} requested and {added} added by the server ({each} a prompt)")
        }
        _ => format!("{} requested", count(input.requested_tokens)),
    };
    let counts = format!("{} counted by the server{}", count(input.received_tokens), error(input));
    let MadePrompts { requests, exact, most_off } = tokens.made;
    match (requests, exact) {
        (0, _) => format!("{requested}, {counts}"),
        _ if requests == exact && requests == input.requests => {
            format!("{requested}, {counts}; every prompt exact to the token")
        }
        _ if requests == exact => {
            format!("{requested}, {counts}; all {} made to a length exact", counted(requests, "prompt"))
        }
        _ => {
            let (exact, requests) = (count(exact), counted(requests, "prompt"));
            format!("{requested}, {counts}; {exact} of {requests} exact, the others off by at most {most_off}")
        }
    }
}

fn prefix_cache(summary: &Summary) -> Option<Section> {
    let cache = summary.prefix_cache.as_ref()?;
    let (least, most) = (percent(cache.expected_least), percent(cache.expected_most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let blocks = cache
        .block_tokens
        .map_or_else(|| "1 to 64 tokens (not reported by the server)".to_owned(), |tokens| count(u64::from(tokens)));
    let (source, room) = match cache.prefixes.zip(cache.prefix_tokens) {
        None => ("trace", "all repeated tokens".to_owned()),
        Some((prefixes, tokens)) => {
            let prefixes_there = prefixes > 0 || summary.sessions.is_none();
            let number = if prefixes == 1 { "prefix" } else { "prefixes" };
            let prefixes = format!("{} {number} of {}", count(prefixes), counted(tokens, "token"));
            let turns = summary.sessions.as_ref().map(|_| "the earlier turns of sessions".to_owned());
            ("plan", joined(prefixes_there.then_some(prefixes).into_iter().chain(turns), " and "))
        }
    };
    let room = format!("less where the cache has no room for {room}");
    let by = |MeasuredHits { rate, source }| format!("{} by {}", percent(rate), source.name());
    let measured = cache.measured.map_or_else(|| "not reported by the server".to_owned(), by);
    let primed = cache.priming.map(|priming| counted(priming.requests, "request") + " that primed the cache");
    let section = Section::detail("Prefix cache, over the whole run")
        .fact("expected", format!("{range} of prompt tokens by the {source}, in blocks of {blocks}; {room}"))
        .fact("measured", measured)
        .facts("left out", primed);
    Some(section)
}

/// Says by how much the received differs from the requested.
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

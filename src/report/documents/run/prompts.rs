//! What prompts were made of: their lengths, and the files that they and images were taken from.

use crate::analysis::{RunDescription, TakenImages, TakenPrompts};
use crate::record::PromptMethod;
use crate::units::{count, counted};
use crate::workload::RowOrder;

/// Says how prompts got their lengths.
pub(super) fn method(run: &RunDescription) -> String {
    let method = match &run.prompt_method {
        PromptMethod::Tokenizer { source } => format!("exact, by the tokenizer {source}"),
        PromptMethod::Server => "counted by the server's /tokenize".to_owned(),
        PromptMethod::WordList => {
            "estimated, from words that are one token in common vocabularies: 0 to 5 % longer than requested".to_owned()
        }
        PromptMethod::AsGiven => "as given; the tokens of texts are estimated".to_owned(),
        PromptMethod::LengthsOnly => "none: the simulator needs only lengths".to_owned(),
    };
    run.salt.map_or(method.clone(), |salt| format!("{method}; salt {salt}"))
}

/// A fact for each dataset and each folder of images.
pub(super) fn files(run: &RunDescription) -> Vec<(&'static str, String)> {
    let datasets = run.datasets.iter().map(|taken| ("dataset", dataset(taken)));
    let images = run.images.iter().map(|taken| ("images", images(taken)));
    datasets.chain(images).collect()
}

fn dataset(taken: &TakenPrompts) -> String {
    let TakenPrompts { class, path, bytes, sha256, rows, requests, .. } = taken;
    let order = match taken.order {
        RowOrder::File => "in the file's order",
        RowOrder::Shuffled => "shuffled",
    };
    let mut parts = vec![format!(
        "{class}: {} of {path} ({} bytes, SHA-256 {sha256:.12}), {order}",
        counted(*rows, if taken.agents.is_some() { "session" } else { "row" }),
        count(*bytes)
    )];
    if let Some(revision) = &taken.revision {
        let files = match &*taken.files {
            [first, .., last] => format!("{first} to {last}"),
            files => files.concat(),
        };
        parts.push(format!("{files} at commit {revision}"));
    }
    if requests > rows {
        let often = requests.div_ceil(*rows);
        parts.push(format!("sent up to {} each", counted(often, "time")));
    }
    if taken.filter.is_some() {
        parts.push(format!("{} left out by the filter", count(taken.filtered_rows)));
    }
    if taken.bad_rows > 0 {
        parts.push(format!("{} ignored that could not be used", counted(taken.bad_rows, "row")));
    }
    let salt = match (taken.salted, taken.agents) {
        (true, None) => "each request begins with words of its own",
        (true, Some(_)) => "each session begins with words of its own, however often it is played",
        (false, None) => "not salted: a row that the server saw before may be in its prefix cache",
        (false, Some(_)) => "a session that was played before may be in the server's prefix cache",
    };
    parts.push(salt.to_owned());
    parts.join("; ")
}

fn images(taken: &TakenImages) -> String {
    let TakenImages { class, folder, images, bytes, sha256 } = taken;
    format!(
        "{class}: {} of {folder} ({} bytes, SHA-256 {sha256:.12}); requested input tokens do not count them",
        counted(*images, "image"),
        count(*bytes)
    )
}

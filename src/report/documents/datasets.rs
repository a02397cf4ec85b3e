//! What prompts and images were taken from files, in words.

use crate::analysis::wording::counted;
use crate::analysis::{RunDescription, TakenImages, TakenPrompts};
use crate::units::count;
use crate::workload::RowOrder;

/// A fact for each dataset and each folder of images.
pub(super) fn facts(run: &RunDescription) -> Vec<(&'static str, String)> {
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
        counted(*rows, "row"),
        count(*bytes)
    )];
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
    parts.push(if taken.salted {
        "each request begins with words of its own".to_owned()
    } else {
        "not salted: a row that the server saw before may be in its prefix cache".to_owned()
    });
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

//! A chart of characters: a bar for each row, and a bound across them.

use crate::report::document::{BarChart, BarRow};

/// The widest bar, characters.
const WIDEST: usize = 50;
/// Multiple of the bound at which bars end. What lies beyond is as bad as it can be.
const BEYOND: f64 = 3.0;
/// Eighths of a character.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A line for each bar, below the chart's heading.
pub(super) fn rows(chart: &BarChart) -> Vec<String> {
    let longest = chart.bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
    let end = chart.bound.map_or(longest, |bound| longest.min(BEYOND * bound).max(bound));
    let bound = chart.bound.map(|bound| ((bound / end * WIDEST as f64).round() as usize).min(WIDEST));
    let widest = chart.bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let line = |row: &BarRow| {
        let bar = with_bound(&bar(row.length / end), bound);
        format!("{:>widest$}  {bar} {}", row.name, row.label)
    };
    chart.bars.iter().map(line).collect()
}

/// Draws a bar of this share of the widest. One that is longer ends in an arrow.
fn bar(share: f64) -> String {
    if share > 1.0 + 1e-9 {
        return "█".repeat(WIDEST - 1) + "▶";
    }
    let eighths = (share * WIDEST as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// The bar with the bound drawn where it does not cover it. It is filled up with blanks as far as that.
fn with_bound(bar: &str, bound: Option<usize>) -> String {
    let length = bar.chars().count();
    match bound {
        Some(bound) if length < bound => format!("{bar}{}│", " ".repeat(bound - length - 1)),
        Some(bound) => {
            let split = |c: (usize, char)| if c.0 + 1 == bound { '│' } else { c.1 };
            bar.chars().enumerate().map(split).collect()
        }
        None => bar.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_and_show_the_bound() {
        assert_eq!(bar(0.1), "█████");
        assert_eq!(bar(0.11), "█████▌");
        assert_eq!(bar(1.0).chars().count(), WIDEST);
        assert!(bar(4.0).ends_with('▶') && bar(4.0).chars().count() == WIDEST);
        assert_eq!(with_bound("██", Some(5)), "██  │");
        assert_eq!(with_bound("██████", Some(5)), "████│█");
        assert_eq!(with_bound("██", None), "██");
    }
}

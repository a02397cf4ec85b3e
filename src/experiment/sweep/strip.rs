//! A sweep in one line of text, while it goes: the load against the objective that decides, and the interval closing.

use super::highest::FoundLoads;
use super::load::Load;
use super::search::{Search, SearchTier};
use crate::units::three_digits;

/// Columns between the lowest load and the highest.
const COLUMNS: usize = 44;
/// Heights of the figure ÷ its limit: the fourth is at the limit.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The heights are the logarithms of the ratio, so many to a factor of 2.
const TO_DOUBLE: f64 = 1.5;

impl Search {
    /// Returns each load in its place between the lowest and the highest (logarithmic). It is as high as the figure of
    /// its worst objective: up to `▄` it meets it, above it misses it. Under it is the interval of the highest load,
    /// `├──◆──┤`. There are two such lines for each tier, and none without objectives, or before there are three loads.
    pub fn strip(&self) -> Vec<String> {
        self.tiers().iter().filter_map(|tier| self.strip_of(tier)).flatten().collect()
    }

    fn strip_of(&self, tier: &SearchTier) -> Option<[String; 2]> {
        let found = FoundLoads::new(self, &tier.demands);
        let answer = found.answer?;
        let known = || found.loads.iter().filter(|(tally, _)| tally.counted > 0);
        let amounts: Vec<f64> = known().map(|(tally, _)| tally.load.amount()).collect();
        let (lowest, highest) = (amounts.first().copied()?, amounts.last().copied()?);
        if amounts.len() < 3 || highest <= lowest {
            return None;
        }
        let column = |amount: f64| {
            let share = libm::log(amount / lowest) / libm::log(highest / lowest);
            (share.clamp(0.0, 1.0) * (COLUMNS - 1) as f64).round() as usize
        };
        let mut heights = [' '; COLUMNS];
        for (tally, _) in known() {
            let worst = tally.ratios.iter().flatten().copied().fold(0.0, f64::max);
            let place = &mut heights[column(tally.load.amount())];
            // Of two loads in one column the worse is seen.
            *place = (*place).max(height(worst));
        }
        let show = |amount: f64| match found.loads.first().map(|(tally, _)| tally.load) {
            Some(Load::Rate(_)) => format!("{}/s", three_digits(amount)),
            _ => three_digits(amount),
        };
        let (low, high) = (show(lowest), show(highest));
        let curve = format!("{low:>9} {} {high}", heights.iter().collect::<String>());
        let mut marks = [' '; COLUMNS];
        let mut says = tier.name.clone().unwrap_or_default();
        if let Some(crossing) = answer.crossing() {
            let after = if says.is_empty() { "" } else { ": " };
            says = format!("{says}{after}{}", show(crossing.value));
            if let Some((from, to)) = crossing.interval() {
                marks[column(from)..=column(to)].fill('─');
                if from >= lowest {
                    marks[column(from)] = '├';
                }
                if to <= highest {
                    marks[column(to)] = '┤';
                }
                says = format!("{says}, {} to {}", show(from), show(to));
            }
            marks[column(crossing.value)] = '◆';
        }
        Some([curve, format!("{:>9} {} {says}", "", marks.iter().collect::<String>()).trim_end().to_owned()])
    }
}

/// Returns how high a figure ÷ its limit is drawn.
fn height(ratio: f64) -> char {
    let above = if ratio > 0.0 { TO_DOUBLE * libm::log2(ratio) } else { f64::NEG_INFINITY };
    // Just met is the fourth, just missed the fifth.
    let place = if ratio <= 1.0 { 3.0 + above.ceil().max(-3.0) } else { (3.0 + above.ceil().max(1.0)).min(7.0) };
    HEIGHTS[place as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_met_is_at_most_half_as_high() {
        let drawn = [0.0, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 50.0].map(height);
        assert_eq!(drawn, ['▁', '▁', '▃', '▄', '▄', '▅', '▆', '█']);
    }
}

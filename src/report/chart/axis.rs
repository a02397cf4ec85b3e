//! Where values lie along an axis, and where its ticks stand.

use crate::units::count;

/// Ticks that have room for their labels.
const TICKS: usize = 6;
/// Fewer ticks than these leave an axis unreadable.
const FEWEST: usize = 3;
/// Largest figure: what lies beyond it is none, and below its inverse is nothing. A damaged file may hold such.
const LARGEST: f64 = 1e300;
/// Length of the shortest axis as a share of its larger end. On a shorter one ticks would fall together.
const SHORTEST: f64 = 1e-9;
/// Ratio of largest to smallest value from which on a linear axis hides small ones.
const WIDE: f64 = 12.0;
/// Ratio of largest to smallest value up to which a linear axis is as good. A logarithmic one is no better there, and
/// has hardly a tick.
const NARROW: f64 = 1.8;

/// An axis with its title.
pub(crate) struct Axis {
    title: String,
    scale: Scale,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    /// Linear, of things that are counted: ticks at whole numbers alone.
    Counted,
    Logarithmic,
}

impl Axis {
    /// Returns an axis from 0 to beyond the largest of `values`.
    pub(crate) fn from_zero(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let high = finite(values).fold(0.0, f64::max);
        Self::linear(title, 0.0, if high > 0.0 { high * 1.06 } else { 1.0 })
    }

    /// Around all of `values`, wherever 0 is.
    pub(crate) fn around(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = ends(values).unwrap_or((0.0, 1.0));
        let room = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.1 };
        Self::linear(title, low - room, high + room)
    }

    /// Returns an axis from 0, or a logarithmic one. It is logarithmic where the values above 0 lie so far apart that a
    /// linear axis would hide the small ones.
    pub(crate) fn fitting(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = finite(values).collect();
        let above = ends(values.iter().copied().filter(|value| *value > 1.0 / LARGEST));
        match above.filter(|(low, high)| high / low > WIDE) {
            Some((low, high)) => {
                Self { title: format!("{title} (log)"), scale: Scale::Logarithmic, low: low * 0.85, high: high * 1.2 }
            }
            None => Self::from_zero(title, values),
        }
    }

    /// Returns a logarithmic axis over all of `values` that are above 0. It is linear where they lie so near one
    /// another that a logarithmic axis would have no round figure.
    pub(crate) fn logarithmic(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let above = values.into_iter().filter(|value| *value > 1.0 / LARGEST);
        let (low, high) = ends(above).unwrap_or((1.0, 10.0));
        if high / low < NARROW {
            return Self::around(title, [low, high]);
        }
        let (low, high) = (low * 0.9, high * 1.1);
        Self { title: format!("{title} (log)"), scale: Scale::Logarithmic, low, high }
    }

    /// Returns an axis from `low` to `high` and no further.
    pub(crate) fn between(title: &str, low: f64, high: f64) -> Self {
        Self::linear(title, low, if high > low { high } else { low + 1.0 })
    }

    /// Returns an axis of things that are counted, from 1 to `last`.
    pub(crate) fn counted(title: &str, last: u64) -> Self {
        let (low, high) = (0.6, last.max(1) as f64 + 0.4);
        Self { title: title.to_owned(), scale: Scale::Counted, low, high }
    }

    fn linear(title: &str, low: f64, high: f64) -> Self {
        let least = low.abs().max(high.abs()) * SHORTEST;
        let (low, high) = if high - low < least { (low - least, high + least) } else { (low, high) };
        Self { title: title.to_owned(), scale: Scale::Linear, low, high }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Whether a value lies between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns where a value lies between the ends, 0 to 1. Beyond them it is at the nearer one.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if value.is_finite() { value.clamp(self.low, self.high) } else { self.high };
        match self.scale {
            Scale::Linear | Scale::Counted => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        }
    }

    /// Returns the text by which a script turns places between `from` and `to` into values. It holds both, the values
    /// there, and the kind of scale.
    pub(super) fn scale(&self, from: f64, to: f64) -> String {
        let kind = if self.scale == Scale::Logarithmic { "log" } else { "linear" };
        format!("{from:.1} {to:.1} {:e} {:e} {kind}", self.low, self.high)
    }

    /// Ticks by place and label.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let mut ticks = match self.scale {
            Scale::Linear => nice_numbers(self.low, self.high, TICKS, 0.0),
            Scale::Counted => nice_numbers(self.low, self.high, 2 * TICKS, 1.0),
            Scale::Logarithmic => round_figures(self.low, self.high),
        };
        ticks.retain(|tick| self.holds(*tick));
        if self.scale == Scale::Logarithmic && ticks.len() < FEWEST {
            // Values that lie near one another may have no round figure between them.
            ticks = nice_numbers(self.low, self.high, TICKS, 0.0);
        }
        let step = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).reduce(f64::min);
        ticks.iter().map(|tick| (self.place(*tick), tick_label(*tick, step.unwrap_or(tick.abs())))).collect()
    }
}

/// Multiples of a round step from `low` to `high`, at most `most` of them. The step is the smallest of 1, 2 or 5 times
/// a power of ten, no smaller than `least_step`, that has no more (after Heckbert, *Nice Numbers for Graph Labels*,
/// Graphics Gems, 1990).
fn nice_numbers(low: f64, high: f64, most: usize, least_step: f64) -> Vec<f64> {
    let power = ((high - low) / most as f64).log10().floor();
    let steps = (0..3).flat_map(|more| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powf(power + f64::from(more))));
    // An end that rounding keeps a hair from a multiple has its tick.
    let multiples = |step: f64| ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let fits = |step: &f64| {
        let (first, last) = multiples(*step);
        *step > 0.0 && *step >= least_step && last - first < most as f64
    };
    let Some(step) = steps.into_iter().find(fits) else { return vec![low] };
    let (first, last) = multiples(step);
    let count = (last - first + 1.0).max(0.0) as u32;
    (0..count).map(|i| ((first + f64::from(i)) * step).clamp(low, high)).collect()
}

/// Returns 1, 2 and 5 times the powers of ten from `low` to `high`. Over more than three powers it returns the powers
/// alone, within one power more of its multiples.
fn round_figures(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = match high / low {
        narrow if narrow < 10.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        _ if last - first > 3 => &[1.0],
        _ => &[1.0, 2.0, 5.0],
    };
    (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power))).collect()
}

/// A tick with as many decimals as tell it from the others. These are `step` away or further.
fn tick_label(value: f64, step: f64) -> String {
    let exact = step.abs() * 1e-3;
    let size = value.abs();
    if size <= exact {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    if !(1e-9..1e15).contains(&size) {
        return format!("{sign}{size:.2e}");
    }
    let rounded = |decimals: usize| format!("{size:.decimals$}");
    let near = |text: &String| text.parse::<f64>().is_ok_and(|parsed| (parsed - size).abs() <= exact);
    let text = (0..12).map(rounded).find(near).unwrap_or_else(|| rounded(12));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or(whole.to_owned(), count);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn finite(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-LARGEST, LARGEST))
}

fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    finite(values).fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_has_round_ticks() {
        let axis = Axis::from_zero("rate", [4.0, 10.0, f64::NAN]);
        assert_eq!(labels(&axis), ["0", "2", "4", "6", "8", "10"]);
        assert!((axis.place(5.3) - 0.5).abs() < 1e-5 && axis.place(99.0) == 1.0 && axis.place(0.0) == 0.0);
    }

    #[test]
    fn far_values_make_it_logarithmic() {
        let axis = Axis::fitting("TTFT, ms", [10.0, 4_000.0]);
        assert_eq!((axis.title(), labels(&axis).first().map(String::as_str)), ("TTFT, ms (log)", Some("10")));
        let (ten, hundred, thousand) = (axis.place(10.0), axis.place(100.0), axis.place(1_000.0));
        assert!((hundred - ten - (thousand - hundred)).abs() < 1e-5);
        assert_eq!(Axis::fitting("TTFT, ms", [10.0, 90.0]).title(), "TTFT, ms");
    }

    #[test]
    fn values_near_one_another_have_ticks_on_a_logarithmic_axis_too() {
        for values in [[17_192.0, 17_192.0], [0.93, 0.97], [40.0, 71.0]] {
            let axis = Axis::logarithmic("e2e, ms", values);
            assert!(labels(&axis).len() >= 3 && axis.holds(values[0]) && axis.holds(values[1]), "{values:?}");
            assert_eq!(axis.title(), "e2e, ms");
        }
        assert_eq!(Axis::logarithmic("e2e, ms", [40.0, 80.0]).title(), "e2e, ms (log)");
    }

    #[test]
    fn what_is_counted_has_whole_ticks() {
        assert_eq!(labels(&Axis::counted("round", 4)), ["1", "2", "3", "4"]);
        assert!(labels(&Axis::counted("round", 60)).len() < 14);
    }

    #[test]
    fn one_value_and_none_have_an_axis_too() {
        assert!(Axis::around("change", [3.0]).place(3.0) > 0.4);
        assert!(labels(&Axis::around("change", [])).len() > 2);
        assert_eq!(labels(&Axis::around("change", [-0.4, 0.4]))[0].chars().next(), Some('−'));
    }

    /// Between 7 and 15 there is one round figure of a logarithmic axis.
    #[test]
    fn an_axis_between_two_round_figures_has_ticks_too() {
        for (low, high) in [(0.072, 0.13), (7.2, 13.0), (720.0, 1_300.0), (24.5, 25.5), (11.0, 11.2)] {
            let axis = Axis::logarithmic("TPOT, ms", [low, high]);
            let ticks = axis.ticks();
            assert!(ticks.len() >= FEWEST, "{low}: {:?}", labels(&axis));
            for (place, label) in &ticks {
                // The label says where it stands.
                let said: f64 = label.replace(',', "").replace('−', "-").parse().unwrap();
                assert!((axis.place(said) - place).abs() < 2e-3, "{low}: {label} at {place}");
            }
        }
    }

    #[test]
    fn ticks_near_one_another_have_labels_of_their_own() {
        assert_eq!(labels(&Axis::between("t", 100.0, 101.0)), ["100", "100.2", "100.4", "100.6", "100.8", "101"]);
        let far = labels(&Axis::between("t", 12_000.0, 12_002.0));
        assert!(far.contains(&"12,000.5".to_owned()), "{far:?}");
        let decades = labels(&Axis::logarithmic("ms", [0.012, 80.0]));
        assert_eq!(decades, ["0.1", "1", "10"]);
    }

    /// Figures that only a damaged file holds.
    #[test]
    fn figures_beyond_all_measure_have_an_axis() {
        let wild = [f64::MAX, f64::MIN_POSITIVE, -f64::MAX, 5e-324];
        for values in [&wild[..], &wild[..1], &wild[1..2], &[9e18, 9e18 + 2_000.0]] {
            let values = || values.iter().copied();
            for axis in [
                Axis::from_zero("", values()),
                Axis::around("", values()),
                Axis::fitting("", values()),
                Axis::logarithmic("", values()),
            ] {
                let ticks = axis.ticks();
                assert!(ticks.len() < 2_000 && ticks.iter().all(|(place, _)| (0.0..=1.0).contains(place)));
            }
        }
        let moments = Axis::between("", 1e18, 1e18 + 300.0);
        assert!(moments.ticks().len() < 100);
    }
}

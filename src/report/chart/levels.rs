//! Values over stretches of an axis, broken where values are missing.

/// Values over time.
pub(crate) struct Levels {
    pub(crate) style: LevelStyle,
    /// Longest stretch without a value that a line crosses, in units of the x axis.
    pub(crate) across: f64,
    pub(crate) values: Vec<Value>,
}

/// Form in which values over time are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelStyle {
    /// Levels, each over its stretch.
    Steps,
    /// Levels over their stretches, filled down to the axis.
    Area,
    /// Line from the middle of each stretch to that of the next.
    Line,
}

/// A value over a stretch of the x axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) y: f64,
}

impl Levels {
    /// Returns the values in groups of stretches that touch.
    fn groups(&self) -> impl Iterator<Item = &[Value]> {
        let touch = |a: &Value, b: &Value| b.from - a.to < self.across + 1e-6;
        self.values.chunk_by(touch)
    }

    /// The path of its line.
    pub(super) fn path(&self, across: &impl Fn(f64) -> f64, up: &impl Fn(f64) -> f64) -> String {
        let mut steps = Vec::new();
        for group in self.groups() {
            for (place, value) in group.iter().enumerate() {
                let (pen, y) = (if place == 0 { 'M' } else { 'L' }, up(value.y));
                steps.push(match self.style {
                    LevelStyle::Steps | LevelStyle::Area => {
                        format!("{pen}{:.1} {y:.1}H{:.1}", across(value.from), across(value.to))
                    }
                    LevelStyle::Line => {
                        format!("{pen}{:.1} {y:.1}", across(f64::midpoint(value.from, value.to)))
                    }
                });
            }
        }
        steps.concat()
    }

    /// The outline of its area down to `bottom`.
    pub(super) fn area(&self, across: &impl Fn(f64) -> f64, up: &impl Fn(f64) -> f64, bottom: f64) -> String {
        let mut steps = Vec::new();
        for group in self.groups() {
            let from = group.first().map(|first| format!("M{:.1} {bottom:.1}", across(first.from)));
            steps.extend(from);
            steps.extend(group.iter().map(|value| format!("V{:.1}H{:.1}", up(value.y), across(value.to))));
            steps.push(format!("V{bottom:.1}z"));
        }
        steps.concat()
    }

    /// Values of a line that have no neighbour, and so no line to them.
    pub(super) fn alone(&self) -> impl Iterator<Item = (f64, f64)> {
        let alone = self.groups().filter(|group| self.style == LevelStyle::Line && group.len() == 1);
        alone.flatten().map(|value| (f64::midpoint(value.from, value.to), value.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(style: LevelStyle) -> Levels {
        let value = |from: f64, y: f64| Value { from, to: from + 1.0, y };
        Levels { style, across: 0.0, values: vec![value(0.0, 1.0), value(1.0, 3.0), value(4.0, 2.0)] }
    }

    #[test]
    fn a_stretch_without_a_value_has_no_line() {
        let (across, up) = (|x: f64| x * 10.0, |y: f64| 100.0 - y);
        assert_eq!(levels(LevelStyle::Steps).path(&across, &up), "M0.0 99.0H10.0L10.0 97.0H20.0M40.0 98.0H50.0");
        assert_eq!(levels(LevelStyle::Line).path(&across, &up), "M5.0 99.0L15.0 97.0M45.0 98.0");
        assert_eq!(levels(LevelStyle::Line).alone().collect::<Vec<_>>(), [(4.5, 2.0)]);
        let area = levels(LevelStyle::Area).area(&across, &up, 100.0);
        assert_eq!(area, "M0.0 100.0V99.0H10.0V97.0H20.0V100.0zM40.0 100.0V98.0H50.0V100.0z");
    }

    /// A gauge that is read every other bin is a line all the same. Where readings are missing it is broken.
    #[test]
    fn a_line_goes_across_stretches_up_to_a_length() {
        let (across, up) = (|x: f64| x * 10.0, |y: f64| 100.0 - y);
        let mut gauge = levels(LevelStyle::Line);
        gauge.across = 2.0;
        assert_eq!(gauge.path(&across, &up), "M5.0 99.0L15.0 97.0L45.0 98.0");
        gauge.across = 1.9;
        assert_eq!(gauge.path(&across, &up), "M5.0 99.0L15.0 97.0M45.0 98.0");
    }
}

//! Counts how often an interval holds the truth.

/// Intervals about one known truth.
#[derive(Debug)]
pub(crate) struct Covered {
    what: &'static str,
    truth: f64,
    experiments: u32,
    held: u32,
    sum: f64,
}

impl Covered {
    pub(crate) fn new(what: &'static str, truth: f64) -> Self {
        Self { what, truth, experiments: 0, held: 0, sum: 0.0 }
    }

    /// One more interval, with the figure it is about.
    pub(crate) fn add(&mut self, figure: f64, (low, high): (f64, f64)) {
        self.experiments += 1;
        self.held += u32::from(low <= self.truth && self.truth <= high);
        self.sum += figure;
    }

    /// The share of the intervals that held the truth; what was found goes to standard output.
    pub(crate) fn share(&self) -> f64 {
        let n = f64::from(self.experiments);
        let share = f64::from(self.held) / n;
        println!(
            "{}: the truth is {:.4}, the mean of {} experiments {:.4} ({:+.2} %); covered in {:.1} %",
            self.what,
            self.truth,
            self.experiments,
            self.sum / n,
            (self.sum / n / self.truth - 1.0) * 100.0,
            share * 100.0
        );
        share
    }
}

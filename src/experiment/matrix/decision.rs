//! The decision by the contract: which variants meet it, and what their answers cost.

use serde::{Serialize, Serializer};

use super::cell::MatrixCell;
use super::table::{Accept, Experiments, Variant};
use crate::analysis::statistics::mean;
use crate::analysis::{Metric, Status};
use crate::experiment::driver::FailedBy;

/// The decision by the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decision {
    /// The contract.
    pub contract: Accept,
    /// Every variant, in the order of the file, failed ones included.
    pub variants: Vec<VariantDecision>,
    /// Accepted ones of which the cost of an acceptable answer is known, cheapest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranking: Vec<RankedVariant>,
}

/// An accepted variant with what it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankedVariant {
    /// Its name.
    pub variant: String,
    /// Cost of an acceptable answer, the mean over the rows that count.
    pub cost_per_acceptable_answer: f64,
}

/// The decision on a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantDecision {
    /// Its name.
    pub variant: String,
    /// Standing of the variant by its rows. It is accepted where every row that counts met the contract. It is rejected
    /// where one did not or the server failed. It is undecided where rows that count did not complete, cannot be
    /// trusted or cannot tell, and no other broke it.
    #[serde(serialize_with = "in_variant_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = VARIANT_WORDS)))]
    pub standing: Status,
    /// Reasons why it was rejected or is undecided, by row.
    pub reasons: Vec<String>,
}

/// Words for a variant that met the contract, broke it, or may have done either.
pub const VARIANT_WORDS: [&str; 3] = ["accepted", "rejected", "undecided"];

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn in_variant_words<S: Serializer>(standing: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    Status::store(*standing, VARIANT_WORDS, serializer)
}

impl Decision {
    pub(super) fn new(experiments: &Experiments, accept: &Accept, cells: &[MatrixCell]) -> Self {
        let variants = experiments.variants.iter().map(|variant| decided(experiments, accept, variant, cells));
        let variants: Vec<_> = variants.collect();
        let accepted = variants.iter().filter(|variant| variant.standing == Status::Met);
        let priced = accepted.map(|variant| RankedVariant::new(&variant.variant, accept, cells));
        // One without a cost may be the cheapest.
        let mut ranking: Vec<_> = priced.collect::<Option<_>>().unwrap_or_default();
        ranking.sort_by(|a, b| a.cost_per_acceptable_answer.total_cmp(&b.cost_per_acceptable_answer));
        Self { contract: accept.clone(), variants, ranking }
    }

    /// Returns the variant that was accepted. Of several it is the one with the cheapest acceptable answers, where the
    /// cost of all is known, else the first.
    pub fn accepted(&self) -> Option<&VariantDecision> {
        let cheapest = self.ranking.first().map(|ranked| ranked.variant.as_str());
        let accepted = |decided: &&VariantDecision| decided.standing == Status::Met;
        let mut all = self.variants.iter().filter(accepted);
        all.find(|decided| cheapest.is_none_or(|name| name == decided.variant))
    }
}

impl RankedVariant {
    /// `None` where the cost of some row that counts is not known.
    fn new(name: &str, accept: &Accept, cells: &[MatrixCell]) -> Option<Self> {
        let counting = cells.iter().filter(|cell| cell.variant == name && accept.counts(&cell.row));
        let costs = counting.map(|cell| cell.figures.metric(Metric::CostPerAcceptableAnswer)?.mean);
        let cost_per_acceptable_answer = mean(&costs.collect::<Option<Vec<f64>>>()?)?;
        Some(Self { variant: name.to_owned(), cost_per_acceptable_answer })
    }
}

fn decided(experiments: &Experiments, accept: &Accept, variant: &Variant, cells: &[MatrixCell]) -> VariantDecision {
    let (mut broken, mut open) = (Vec::new(), Vec::new());
    let mut any = false;
    for row in experiments.rows.iter().filter(|row| accept.counts(&row.name) && row.is_under(&variant.name)) {
        any = true;
        let name = &row.name;
        let cell = cells.iter().find(|cell| cell.row == *name && cell.variant == variant.name);
        match cell {
            Some(MatrixCell { failed: Some(why), failed_by, .. }) => {
                // A failure of the client says nothing about the variant.
                let list = if *failed_by == Some(FailedBy::Client) { &mut open } else { &mut broken };
                list.push(format!("row {name} could not be run: {why}"));
            }
            Some(cell @ MatrixCell { contract: Some(contract), .. }) => {
                for demand in &contract.judgements {
                    let list = match demand.status {
                        Status::Met => continue,
                        Status::Missed => &mut broken,
                        Status::Undecided => &mut open,
                    };
                    list.push(format!("row {name}: {}", demand.line));
                }
                // INVALID rows that count on request may break the contract, and never meet it.
                open.extend(cell.is_spoiled().then(|| format!("row {name} is INVALID")));
            }
            Some(cell) if cell.is_spoiled() => open.push(format!("row {name} is INVALID")),
            Some(cell) => {
                let (completed, of) = (cell.runs.len(), cell.planned_runs);
                open.push(format!("row {name}: {completed} of {of} runs completed"));
            }
            None => open.push(format!("row {name} was not run")),
        }
    }
    if experiments.rehearsal {
        open.insert(0, "a rehearsal accepts nothing".to_owned());
    }
    if !any {
        open.push("no row that counts runs under it".to_owned());
    }
    let (standing, reasons) = match (broken.is_empty(), open.is_empty()) {
        (true, true) => (Status::Met, Vec::new()),
        (true, false) => (Status::Undecided, open),
        (false, _) => (Status::Missed, broken),
    };
    VariantDecision { variant: variant.name.clone(), standing, reasons }
}

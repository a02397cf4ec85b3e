//! What a rate takes and what it costs, as a person or a program reads it.

use super::data::json::indented;
use super::engine_fit;
use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::page::{Page, Style, Tone};
use crate::analysis::wording::{counted, percent};
use crate::experiment::capacity::{Basis, CapacityPlan, ModelledInstance, Offer};
use crate::units::{count, three_digits};

/// The offers as indented JSON with a line break at its end.
pub fn capacity_json(capacity: &CapacityPlan) -> serde_json::Result<String> {
    indented(capacity)
}

/// The offers as text.
#[must_use]
pub fn capacity_text(capacity: &CapacityPlan, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = if capacity.is_kept() { Tone::Good } else { Tone::Bad };
    page.entry(tone, "", &capacity.sentence);
    page.blank();
    page.grid(grid(capacity));
    for offer in &capacity.offers {
        page.heading(&offer.name);
        sentences(&mut page, offer, capacity);
    }
    page.finish()
}

/// The offers beside one another.
pub(crate) fn grid(capacity: &CapacityPlan) -> Grid {
    let mut grid = Grid::new(&[
        ("", ALWAYS),
        ("req/s each", 5),
        ("instances", ALWAYS),
        ("GPUs", ALWAYS),
        ("used", 4),
        ("per hour", 6),
        ("per M tokens", ALWAYS),
        ("per M in SLO", 7),
        ("contract", ALWAYS),
    ]);
    let known = |figure: Option<f64>| figure.map_or(NOTHING.to_owned(), cell);
    let whole = |figure: Option<u64>| figure.map_or(NOTHING.to_owned(), count);
    for (place, offer) in capacity.offers.iter().enumerate() {
        let least = capacity.compared_by.filter(|_| capacity.cheapest == Some(place));
        let kept = match (offer.keeps(), least) {
            (true, Some(by)) if capacity.offers.len() > 1 => by.least(),
            (true, _) => "kept",
            (false, _) => "not kept",
        };
        grid.row([
            offer.name.clone(),
            known(offer.per_instance.map(Basis::per_s)),
            whole(offer.instances),
            whole(offer.gpus),
            offer.utilisation.map_or(NOTHING.to_owned(), percent),
            known(offer.cost_per_hour),
            known(offer.cost_per_million_output_tokens),
            known(offer.cost_per_million_within_slo),
            kept.to_owned(),
        ]);
    }
    grid
}

/// Where the figures of an offer come from, and what speaks against it.
pub(crate) fn sentences(page: &mut Page, offer: &Offer, capacity: &CapacityPlan) {
    for reason in &offer.why_not {
        page.entry(Tone::Bad, "  does not keep the contract: ", reason);
    }
    if let Some(basis) = offer.per_instance {
        let instances = capacity.contract.instances(basis.per_s());
        let (rate, free) = (basis.per_s(), 1.0 - capacity.contract.headroom);
        let text = format!(
            "one instance carries {} requests/s within the objectives ({}); {} of that times {} is {}/s, and {}/s are \
             asked",
            three_digits(rate),
            basis.in_words(),
            percent(free),
            count(instances),
            three_digits(rate * free * instances as f64),
            three_digits(capacity.contract.target_per_s),
        );
        page.entry(Tone::Normal, "  by division: ", &text);
    }
    if let Some(queueing) = &offer.queueing {
        let text = format!("{}; {}, least-loaded routing", queueing.sentence, modelled(&queueing.instance));
        page.entry(Tone::Normal, "  by queueing: ", &text);
    }
    if let Some(share) = offer.slo_share {
        page.entry(
            Tone::Normal,
            "  within their SLO: ",
            &format!("{} of the requests at that rate", percent(share)),
        );
    }
    for note in &offer.notes {
        page.entry(Tone::Normal, "  note: ", note);
    }
}

/// What an instance was taken for.
fn modelled(instance: &ModelledInstance) -> String {
    match instance {
        ModelledInstance::Places { places, ttft_ms, tpot_ms } => format!(
            "an instance modelled as {} places, {} ms to the first token and {} ms each after it",
            count(*places),
            three_digits(*ttft_ms),
            three_digits(*tpot_ms)
        ),
        ModelledInstance::Engine { engine_fit, .. } => {
            let (_, verdict) = engine_fit::verdict(engine_fit);
            let runs = counted(engine_fit.runs.len() as u64, "run");
            format!("an instance modelled as an engine fitted to {runs} of the sweep ({verdict})")
        }
    }
}

//! The page of a capacity: how many instances a rate takes, what they cost, and what that rests on.

use maud::{Markup, html};

use super::parts::{Card, cards, facts, figure, notes};
use super::sweep::latencies::that_decide;
use super::told::told;
use super::{shell, sweep};
use crate::analysis::wording::{counted, percent};
use crate::experiment::Sweep;
use crate::experiment::capacity::{Basis, CapacityPlan, Offer};
use crate::report::capacity::{grid, sentences};
use crate::report::chart::{Axis, Form, Line, Palette, Plot, Point, Row, Rule, Series};
use crate::report::grid::cell;
use crate::report::printable;
use crate::units::{count, three_digits};

/// Most steps of a staircase that are drawn: more than there is room for.
const MOST_STEPS: u64 = 300;

/// What is asked of a deployment and what `sweeps` offer for it, each the sweep of the offer in its place.
#[must_use]
pub fn capacity_page(capacity: &CapacityPlan, sweeps: &[Sweep]) -> String {
    let title = format!("Capacity for {} requests/s", three_digits(capacity.contract.target_per_s));
    let class = if capacity.is_kept() { "good" } else { "bad" };
    let named = named(capacity);
    let body = html! {
        h1 { (title) }
        p.lead { span class=(class) { (printable(&capacity.sentence)) "." } }
        @if let Some(offer) = named { (cards(&key_figures(offer))) }
        (asked(capacity))
        @for (offer, sweep) in capacity.offers.iter().zip(sweeps) { (one(capacity, offer, sweep)) }
        (told(|page| {
            page.heading(if capacity.offers.len() > 1 { "The offers" } else { "The offer" });
            page.grid(grid(capacity));
        }))
        div.charts {
            (beside_one_another(capacity))
            (at_other_rates(capacity))
        }
        h2 { "What this takes for granted" }
        (notes(&assumptions(capacity, named)))
    };
    shell::page(&title, &body)
}

/// The offer that the answer is about: the cheapest, or the one that there is.
fn named(capacity: &CapacityPlan) -> Option<&Offer> {
    match (capacity.cheapest, capacity.offers.as_slice()) {
        (Some(place), offers) => offers.get(place),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

fn key_figures(offer: &Offer) -> Vec<Card> {
    let card = |name, value, unit, below: Option<String>| Card {
        name,
        value,
        unit,
        below: below.into_iter().collect(),
    };
    let whole = |name, number: u64, below| card(name, count(number), "", below);
    let price = |name, price: f64, below: &str| card(name, cell(price), "", Some(below.to_owned()));
    let basis = offer.per_instance;
    let highest = basis.map(|basis| format!("{}/s is the highest of each", three_digits(basis.per_s())));
    let shares = [
        offer.instances.map(|instances| whole("Instances", instances, offer.hardware.clone())),
        offer.gpus.map(|gpus| whole("GPUs", gpus, None)),
        offer.utilisation.map(|used| card("Used of each", percent(used), "", highest)),
        offer.cost_per_hour.map(|cost| price("Price of an hour", cost, "in the currency of --gpu-hour")),
        offer.cost_per_million_output_tokens.map(|cost| price("Price of 1M tokens", cost, "of all answers")),
        offer
            .cost_per_million_within_slo
            .map(|cost| price("Price of 1M good tokens", cost, "of answers within their SLO")),
    ];
    shares.into_iter().flatten().collect()
}

fn asked(capacity: &CapacityPlan) -> Markup {
    let contract = &capacity.contract;
    let mut said = vec![
        ("asked", format!("{} requests/s of all instances together", three_digits(contract.target_per_s))),
        (
            "headroom",
            format!(
                "{} of each instance's highest rate stays free: {}/s have to fit",
                percent(contract.headroom),
                three_digits(contract.with_headroom())
            ),
        ),
    ];
    if let Some(gpus) = contract.gpus_per_instance {
        said.push(("an instance", counted(u64::from(gpus), "GPU")));
    }
    if let Some(most) = contract.max_gpus {
        said.push(("at most", counted(most, "GPU")));
    }
    for offer in &capacity.offers {
        if let Some(price) = offer.gpu_hour {
            said.push(("a GPU for an hour", format!("{} ({})", cell(price), offer.name)));
        }
    }
    facts(&said)
}

/// An offer: where its figures come from, and the curve of its sweep with what is asked of an instance.
fn one(capacity: &CapacityPlan, offer: &Offer, sweep: &Sweep) -> Markup {
    let marked = marked(capacity, offer, sweep);
    let hint = "dashed: the objectives, the highest rate of an instance, and what each is asked; shaded: the bracket";
    html! {
        h2 { (printable(&offer.name)) }
        (told(|page| sentences(page, offer, capacity)))
        div.charts {
            @for (place, chart) in that_decide(sweep, &marked).into_iter().enumerate() {
                @let behind = (place == 0).then(|| sweep::loads(sweep));
                (figure(&format!("{}, one instance", chart.title), hint, &chart.plot.draw(), behind.as_ref()))
            }
        }
    }
}

/// What one instance carries, and what is asked of each: loads of the sweep, whose rates are those of arrivals.
fn marked(capacity: &CapacityPlan, offer: &Offer, sweep: &Sweep) -> Vec<(f64, String)> {
    let turns = sweep.workload.mean_turns();
    let highest = offer.per_instance.map(Basis::per_s);
    let each = offer.instances.map(|instances| capacity.contract.target_per_s / instances as f64);
    let named = [("asked of each", each), ("highest", highest)];
    let mark = |(name, per_s): (&str, Option<f64>)| {
        let load = per_s? / turns;
        Some((load, format!("{name} {}/s", three_digits(load))))
    };
    named.into_iter().filter_map(mark).collect()
}

/// Something that offers are compared by, and what it is of one.
type Comparable = (&'static str, fn(&Offer) -> Option<f64>);

/// What is compared: the first of these that is known of all offers, with what it is called.
fn compared(capacity: &CapacityPlan) -> Option<Comparable> {
    let known: [Comparable; 3] = [
        ("price of an hour", |offer| offer.cost_per_hour),
        ("GPUs", |offer| offer.gpus.map(|gpus| gpus as f64)),
        ("instances", |offer| offer.instances.map(|instances| instances as f64)),
    ];
    let carrying = || capacity.offers.iter().filter(|offer| offer.instances.is_some());
    carrying().next()?;
    known.into_iter().find(|(_, read)| carrying().all(|offer| read(offer).is_some()))
}

/// The offers by what they are compared by; nothing of a single one.
fn beside_one_another(capacity: &CapacityPlan) -> Markup {
    let Some((what, read)) = compared(capacity).filter(|_| capacity.offers.len() > 1) else {
        return html! {};
    };
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, offer) in capacity.offers.iter().enumerate() {
        let (palette, kept) = if offer.keeps() {
            (Palette::Third, "keeps the contract")
        } else {
            (Palette::Second, "does not keep the contract")
        };
        rows.push(Row { name: offer.name.clone(), words: format!("{offer}, {kept}") });
        let point = read(offer).map(|value| Point::at(value, place as f64, String::new()));
        series.extend(point.map(|point| Series::points("", palette, Line::None, vec![point])));
    }
    let description = format!("{what} of {} offers", rows.len());
    let values: Vec<f64> = series.iter().flat_map(Series::marked).map(|point| point.x).collect();
    let plot = Plot::rows(description, Axis::from_zero(what, values), rows, series);
    figure("The offers compared", "green diamond: keeps the contract; square: does not", &plot.draw(), None)
}

/// What more and fewer requests would take, by division.
fn at_other_rates(capacity: &CapacityPlan) -> Markup {
    let Some((what, read)) = compared(capacity) else { return html! {} };
    let target = capacity.contract.target_per_s;
    let mut heights = Vec::new();
    let mut series = Vec::new();
    for (offer, palette) in capacity.offers.iter().zip(Palette::SERIES) {
        let (Some(instances), Some(value), Some(basis)) = (offer.instances, read(offer), offer.per_instance)
        else {
            continue;
        };
        let through = staircase(capacity, basis.per_s(), value / instances as f64);
        heights.extend(through.iter().map(|(_, height)| *height).chain([value]));
        let words = format!("{} requests/s: {offer}", three_digits(target));
        let form = Form::Curve { through, marked: vec![Point::at(target, value, words)] };
        series.push(Series::new(offer.name.clone(), palette, form));
    }
    let description =
        format!("{what} by the rate that is asked, up to {} requests/s", three_digits(2.0 * target));
    let x = Axis::between("requests/s asked of all", 0.0, 2.0 * target);
    let picture = Plot::new(description, x, Axis::from_zero(what, heights), series)
        .with_rules([Rule::Place(target, "asked".to_owned())]);
    figure(
        "At other rates",
        "by division, headroom included; marked: what is taken here",
        &picture.draw(),
        None,
    )
}

/// What rates up to twice the target take of something of which an instance takes `each`, instances carrying `per_s`.
fn staircase(capacity: &CapacityPlan, per_s: f64, each: f64) -> Vec<(f64, f64)> {
    let contract = &capacity.contract;
    let carried = per_s * (1.0 - contract.headroom);
    let end = 2.0 * contract.target_per_s;
    let most = (end / carried).ceil().max(1.0) as u64;
    let every = most.div_ceil(MOST_STEPS).max(1);
    let mut points = vec![];
    let mut from = 0.0;
    for instances in (1..=most).filter(|instances| instances % every == 0 || *instances == most) {
        let to = (carried * instances as f64).min(end);
        points.extend([(from, each * instances as f64), (to, each * instances as f64)]);
        from = to;
    }
    points
}

fn assumptions(capacity: &CapacityPlan, named: Option<&Offer>) -> Vec<String> {
    let mut said = vec![
        "Every instance is like the one that was measured: its server, model, hardware and settings.".to_owned(),
        "The requests are like those of the sweep: their mix, their lengths, how they come in bursts, how many share a \
         prefix."
            .to_owned(),
    ];
    if capacity.offers.iter().any(|offer| offer.queueing.is_none()) {
        said.push(
            "Division gives each instance an even share. It knows of no router and of no queue that several instances \
             share; --replicas models these."
                .to_owned(),
        );
    }
    if let Some(lost) = named.and_then(|offer| without_one(capacity, offer)) {
        said.push(lost);
    }
    if let Some(tokens) = named.and_then(|offer| offer.output_tokens_per_s) {
        let each = tokens / capacity.contract.target_per_s;
        said.push(format!("An answer has {} tokens on average, as in the sweep.", three_digits(each)));
    }
    if capacity.offers.iter().any(|offer| offer.cost_per_hour.is_some()) {
        said.push(
            "The price is that of GPUs alone. Per token it is that of an hour at the rate asked: at half that rate a token \
             costs twice as much."
                .to_owned(),
        );
    }
    said
}

/// What the others carry when one instance is lost.
fn without_one(capacity: &CapacityPlan, offer: &Offer) -> Option<String> {
    let (instances, highest) =
        (offer.instances.filter(|instances| *instances > 1)?, offer.per_instance?.per_s());
    let each = capacity.contract.target_per_s / (instances - 1) as f64;
    let share = percent(each / highest);
    let end =
        if each > highest { "more than they carry within the objectives" } else { "which they still carry" };
    Some(format!(
        "All {} are there. With one of them lost the others get {}/s each, {share} of their highest rate: {end}.",
        counted(instances, "instance"),
        three_digits(each)
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::capacity::{Candidate, CapacityTarget};
    use crate::report::html::tests::{HOSTILE, assert_page};

    /// A sweep of one instance whose largest rate that passed is 50 requests/s.
    fn sweep() -> Sweep {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/sweep-schema-1");
        Sweep::read(&folder).unwrap()
    }

    fn capacity(names: &[&str], max_gpus: Option<u64>) -> (CapacityPlan, Vec<Sweep>) {
        let contract =
            CapacityTarget { target_per_s: 400.0, headroom: 0.2, gpus_per_instance: Some(2), max_gpus };
        let sweeps: Vec<Sweep> = names.iter().map(|_| sweep()).collect();
        let offer = |(name, sweep): (&&str, &Sweep)| {
            Offer::of(&Candidate { name, sweep, gpu_hour: Some(2.5) }, &contract).unwrap()
        };
        let offers = names.iter().zip(&sweeps).map(offer).collect();
        (CapacityPlan::of(contract, offers), sweeps)
    }

    /// 400/s by instances of which 40 of 50/s may be used: ten of them, of two GPUs each, at 2.5 an hour.
    #[test]
    fn the_answer_stands_first_and_what_it_rests_on_last() {
        let (capacity, sweeps) = capacity(&["measured"], None);
        let page = capacity_page(&capacity, &sweeps);
        assert_page(&page);
        let card = |name: &str, value: &str| {
            format!("<div class=\"name\">{name}</div><div class=\"value\">{value}</div>")
        };
        let places: Vec<usize> = [
            "<span class=\"good\">400 requests/s with 20.0 % headroom",
            &card("Instances", "10"),
            &card("GPUs", "20"),
            &card("Used of each", "80.0 %"),
            &card("Price of an hour", "50.0"),
            "TTFT over load, one instance",
            ">highest 50.0/s</text>",
            ">asked of each 40.0/s</text>",
            "TPOT over load, one instance",
            "At other rates",
            // 400/s by nine of them.
            "With one of them lost the others get 44.4/s each, 88.9 % of their highest rate: which they still carry.",
        ]
        .into_iter()
        .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part} in {page}")))
        .collect();
        let curve = places[5];
        assert!(
            places[..=5].is_sorted() && places[6] > curve && places[7] > curve && places[8..].is_sorted()
        );
        assert!(
            page.contains("bracket: 50.0/s passed, 90.0/s failed") && page.contains("p95 ttft &lt; 100ms")
        );
    }

    #[test]
    fn offers_stand_beside_one_another_and_names_stay_text() {
        let (capacity, sweeps) = capacity(&["measured", HOSTILE], Some(4));
        let page = capacity_page(&capacity, &sweeps);
        assert_page(&page);
        assert!(page.contains("The offers compared") && page.contains("&lt;script"), "{page}");
        assert!(
            page.contains("<span class=\"bad\">no offer carries")
                && page.contains("20 GPUs, and 4 may be taken")
        );
        assert!(!page.contains("class=\"cards\""), "no offer is the answer");
    }

    #[test]
    fn every_instance_more_is_a_step() {
        let (capacity, _) = capacity(&["measured"], None);
        let steps = staircase(&capacity, 50.0, 5.0);
        assert_eq!(steps[..4], [(0.0, 5.0), (40.0, 5.0), (40.0, 10.0), (80.0, 10.0)]);
        assert_eq!(steps.last(), Some(&(800.0, 100.0)));
        // Of many instances not every step is drawn, and the end is.
        let many = staircase(&capacity, 0.05, 5.0);
        assert!(
            many.len() < 620
                && many.last().is_some_and(|(rate, price)| *rate == 800.0 && (*price - 1e5).abs() < 5.1)
        );
    }
}

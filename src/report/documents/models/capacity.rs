//! A capacity plan as a document: the answer, the offers, what each rests on, and the assumptions.

use crate::experiment::Sweep;
use crate::experiment::capacity::{Basis, CapacityPlan, Offer};
use crate::report::chart::{Axis, Palette, Plot, Point, ReferenceLine, Row, Series, SeriesForm};
use crate::report::document::{Chart, Document, KeyFigure, Level, Note, Section, Table, Tone, VerdictLine, cell};
use crate::report::documents::sweep::latencies::that_decide;
use crate::report::documents::sweep::loads_table;
use crate::units::{count, counted, percent, three_digits};

/// Offers that a screen has room for.
const MOST_OFFERS: usize = 10;

/// Steps of a chart's line that are drawn.
const MOST_STEPS: u64 = 300;

/// The capacity plan as a document; `sweeps` are those of the offers, in their order.
pub fn document(capacity: &CapacityPlan, sweeps: &[Sweep]) -> Document {
    let (tone, word) = if capacity.is_kept() { (Tone::Good, "ENOUGH") } else { (Tone::Bad, "NOT ENOUGH") };
    let title = format!("Capacity for {} requests/s", three_digits(capacity.contract.target_per_s));
    let named = named(capacity);
    let figures = named.map(key_figures).unwrap_or_default();
    let axis = format!("price per hour{}", currency(capacity, ", "));
    let charts = compared(capacity, &axis)
        .into_iter()
        .flat_map(|compared| compare(capacity, compared).into_iter().chain([at_other_rates(capacity, compared)]));
    let each = capacity.offers.iter().enumerate();
    let each = each.flat_map(|(place, offer)| [basis(capacity, offer), curves(capacity, offer, sweeps.get(place))]);
    let assumed = assumptions(capacity, named).into_iter().map(Note::info);
    Document::new(title)
        .verdict(VerdictLine::new(tone, word, capacity.sentence.clone()))
        .headline(figures.first().cloned())
        .with([contract(Section::continued(Level::Page).figures(figures), capacity), offers(capacity)])
        .with(each)
        .with([
            Section::detail("Offers compared, and other rates").charts(charts),
            Section::detail("Assumptions").notes(assumed),
        ])
}

/// The offer that the answer is about: the cheapest, or the only one.
fn named(capacity: &CapacityPlan) -> Option<&Offer> {
    match (capacity.cheapest, capacity.offers.as_slice()) {
        (Some(place), offers) => offers.get(place),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

fn key_figures(offer: &Offer) -> Vec<KeyFigure> {
    let card = |name: &str, value: Option<String>, unit: Option<&String>, below: Option<&str>| {
        let figure = KeyFigure::new(name, value?, unit.cloned().unwrap_or_default());
        Some(figure.below(below.map(str::to_owned)).card_only())
    };
    let price = |name, price: Option<f64>, below| card(name, price.map(cell), offer.currency.as_ref(), Some(below));
    let of_currency = if offer.currency.is_some() { "GPUs alone" } else { "in the currency of --gpu-hour" };
    let highest = |basis: Basis| format!("{}/s is the highest rate of each", three_digits(basis.per_s()));
    let highest = offer.per_instance.map(highest);
    let figures = [
        card("Instances", offer.instances.map(count), None, offer.hardware.as_deref()),
        card("GPUs", offer.gpus.map(count), None, None),
        card("Used of each", offer.utilisation.map(percent), None, highest.as_deref()),
        price("Price per hour", offer.cost_per_hour, of_currency),
        price("Price per 1M tokens", offer.cost_per_million_output_tokens, "of all answers"),
        price("Price per 1M good tokens", offer.cost_per_million_within_slo, "of answers within their SLO"),
    ];
    figures.into_iter().flatten().collect()
}

fn contract(section: Section, capacity: &CapacityPlan) -> Section {
    let contract = &capacity.contract;
    let [target, fit] = [contract.target_per_s, contract.with_headroom()].map(three_digits);
    let free = percent(contract.headroom);
    let priced = capacity.offers.iter().filter_map(|offer| Some((offer, offer.gpu_hour?)));
    let currency = currency(capacity, " ");
    let priced = priced.map(|(offer, price)| format!("{}{currency} ({})", cell(price), offer.name));
    section
        .fact("requested", format!("{target} requests/s of all instances together"))
        .fact("headroom", format!("{free} of each instance's highest rate stays free: {fit}/s have to fit"))
        .facts("an instance", contract.gpus_per_instance.map(|gpus| counted(u64::from(gpus), "GPU")))
        .facts("limit", contract.max_gpus.map(|most| counted(most, "GPU")))
        .facts("GPU-hour", priced)
}

/// The currency of all prices behind `before`; nothing where it is not said.
fn currency(capacity: &CapacityPlan, before: &str) -> String {
    let currency = capacity.offers.iter().find_map(|offer| offer.currency.as_ref());
    currency.map_or(String::new(), |currency| format!("{before}{currency}"))
}

/// The offers side by side.
fn offers(capacity: &CapacityPlan) -> Section {
    let kept = |(place, offer): (usize, &Offer)| {
        let least = capacity.compared_by.filter(|_| capacity.cheapest == Some(place));
        match (offer.keeps(), least) {
            (true, Some(by)) if capacity.offers.len() > 1 => by.least(),
            (true, _) => "met",
            (false, _) => "not met",
        }
    };
    let table = Table::over("The offers", capacity.offers.iter().enumerate())
        .column("", |(_, offer)| offer.name.clone())
        .column(("req/s each", 5), |(_, offer)| offer.per_instance.map(Basis::per_s))
        .column("instances", |(_, offer)| offer.instances)
        .column("GPUs", |(_, offer)| offer.gpus)
        .column(("used, %", 4), |(_, offer)| offer.utilisation.map(|share| share * 100.0))
        .column((format!("per hour{}", currency(capacity, ", ")), 6), |(_, offer)| offer.cost_per_hour)
        .column("per M tokens", |(_, offer)| offer.cost_per_million_output_tokens)
        .column(("per M in SLO", 7), |(_, offer)| offer.cost_per_million_within_slo)
        .column("contract", kept)
        .in_brief(&(0..MOST_OFFERS), "offer");
    let why_not = capacity.offers.iter().flat_map(|offer| offer.why_not.iter().map(move |why| (offer, why)));
    let not_met = |(offer, why): (&Offer, _)| format!("{}: contract not met: {why}", offer.name);
    Section::summary(if capacity.offers.len() > 1 { "The offers" } else { "The offer" })
        .table(table)
        .notes(why_not.map(not_met).map(Note::error))
}

/// Says where the figures of an offer come from, and what speaks against it.
fn basis(capacity: &CapacityPlan, offer: &Offer) -> Section {
    let by_rate = offer.per_instance.map(|basis| {
        let instances = capacity.contract.instances(basis.per_s());
        let (rate, free) = (basis.per_s(), 1.0 - capacity.contract.headroom);
        format!(
            "one instance carries {} requests/s within the objectives ({}); {} of that times {} is {}/s, and {}/s are \
             requested",
            three_digits(rate),
            basis.in_words(),
            percent(free),
            count(instances),
            three_digits(rate * free * instances as f64),
            three_digits(capacity.contract.target_per_s),
        )
    });
    let share = offer.slo_share.map(|share| format!("{} of the requests at that rate", percent(share)));
    Section::page(offer.name.clone())
        .facts("by rate", by_rate)
        .facts("SLO met", share)
        .notes(offer.notes.iter().map(Note::info))
}

/// The curves of an offer's sweep with the requested rate of an instance.
fn curves(capacity: &CapacityPlan, offer: &Offer, sweep: Option<&Sweep>) -> Section {
    let charts = sweep.into_iter().flat_map(|sweep| {
        let charts = that_decide(sweep, &marked(capacity, offer, sweep)).into_iter().enumerate();
        charts.map(move |(place, chart)| {
            let title = format!("{}, one instance", chart.title);
            let chart = Chart { title, ..chart }.hint(CURVES);
            if place == 0 { chart.behind(loads_table(sweep)) } else { chart }
        })
    });
    Section::detail(format!("{}: one instance over its load", offer.name)).charts(charts)
}

/// Marks over the curves of an instance.
const CURVES: &str = "dashed: the objectives, the highest rate of an instance, and the rate requested of each; green: \
    loads that meet the objectives; red: loads that do not";

/// Returns the highest rate of an instance and the rate requested of each. They are loads of the sweep.
fn marked(capacity: &CapacityPlan, offer: &Offer, sweep: &Sweep) -> Vec<(f64, String)> {
    let turns = sweep.workload.mean_turns();
    let highest = offer.per_instance.map(Basis::per_s);
    let each = offer.instances.map(|instances| capacity.contract.target_per_s / instances as f64);
    let mark = |(name, per_s): (&str, Option<f64>)| {
        let load = per_s? / turns;
        Some((load, format!("{name} {}/s", three_digits(load))))
    };
    [("requested of each", each), ("highest", highest)].into_iter().filter_map(mark).collect()
}

/// Something that offers are compared by, and how it is read.
type Comparable<'a> = (&'a str, fn(&Offer) -> Option<f64>);

/// The first of these that is known of all offers that carry the load.
fn compared<'a>(capacity: &CapacityPlan, price: &'a str) -> Option<Comparable<'a>> {
    let known: [Comparable<'a>; 3] = [
        (price, |offer| offer.cost_per_hour),
        ("GPUs", |offer| offer.gpus.map(|gpus| gpus as f64)),
        ("instances", |offer| offer.instances.map(|instances| instances as f64)),
    ];
    let carrying = || capacity.offers.iter().filter(|offer| offer.instances.is_some());
    carrying().next()?;
    known.into_iter().find(|(_, read)| carrying().all(|offer| read(offer).is_some()))
}

/// The offers by what they are compared by; nothing of a single one.
fn compare(capacity: &CapacityPlan, (what, read): Comparable<'_>) -> Option<Chart> {
    if capacity.offers.len() < 2 {
        return None;
    }
    let marked = capacity.offers.iter().map(|offer| {
        let (palette, kept) = if offer.keeps() {
            (Palette::Third, "meets the contract")
        } else {
            (Palette::Second, "does not meet the contract")
        };
        let row = Row::new(offer.name.clone(), format!("{offer}, {kept}"));
        (row, palette, read(offer).map(|value| Point::at(value, 0.0, String::new())))
    });
    let description = format!("{what} of {} offers", capacity.offers.len());
    let plot = Plot::marked_rows(description, |values| Axis::from_zero(what, values), marked)?;
    Some(Chart::new("The offers compared", plot).hint("green diamond: meets the contract; square: does not"))
}

/// The cost of more and of fewer requests, by rate.
fn at_other_rates(capacity: &CapacityPlan, (what, read): Comparable<'_>) -> Chart {
    let target = capacity.contract.target_per_s;
    let mut heights = Vec::new();
    let series = capacity.offers.iter().zip(Palette::SERIES).filter_map(|(offer, palette)| {
        let (instances, value, basis) = (offer.instances?, read(offer)?, offer.per_instance?);
        let through = staircase(capacity, basis.per_s(), value / instances as f64);
        heights.extend(through.iter().map(|(_, height)| *height).chain([value]));
        let words = format!("{} requests/s: {offer}", three_digits(target));
        let form = SeriesForm::Curve { through, marked: vec![Point::at(target, value, words)] };
        Some(Series::new(offer.name.clone(), palette, form))
    });
    let series = series.collect();
    let description = format!("{what} by requested rate, up to {} requests/s", three_digits(2.0 * target));
    let x = Axis::between("requests/s requested of all", 0.0, 2.0 * target);
    let plot = Plot::new(description, x, Axis::from_zero(what, heights), series)
        .with_rules([ReferenceLine::Place(target, "requested".to_owned())]);
    Chart::new("At other rates", plot).hint("by rate, headroom included; marked: this plan")
}

/// Returns the amount of something for rates up to twice the target. An instance takes `each` of it, and carries
/// `per_s`.
fn staircase(capacity: &CapacityPlan, per_s: f64, each: f64) -> Vec<(f64, f64)> {
    let contract = &capacity.contract;
    let carried = per_s * (1.0 - contract.headroom);
    let end = 2.0 * contract.target_per_s;
    let most = (end / carried).ceil().max(1.0) as u64;
    let every = most.div_ceil(MOST_STEPS).max(1);
    let mut points = vec![];
    let mut from = 0.0;
    let last = (!most.is_multiple_of(every)).then_some(most);
    for instances in (every..=most).step_by(every as usize).chain(last) {
        let to = (carried * instances as f64).min(end);
        points.extend([(from, each * instances as f64), (to, each * instances as f64)]);
        from = to;
    }
    points
}

fn assumptions(capacity: &CapacityPlan, named: Option<&Offer>) -> Vec<String> {
    let always = [
        "Every instance is like the measured one: its server, model, hardware and settings.",
        "The requests are like those of the sweep: their mix, their lengths, how they come in bursts, how many share a \
         prefix.",
        "Each instance gets an even share of the rate. No router and no queue that several instances share is \
         modelled: skyline simulate --replicas does.",
    ];
    let tokens = named.and_then(|offer| offer.output_tokens_per_s).map(|tokens| {
        let each = three_digits(tokens / capacity.contract.target_per_s);
        format!("An answer has {each} tokens on average, as in the sweep.")
    });
    let is_priced = capacity.offers.iter().any(|offer| offer.cost_per_hour.is_some());
    let price = is_priced.then_some(
        "The price covers GPUs only. The price per token holds at the requested rate: at half that rate a token costs \
         twice as much.",
    );
    let lost = named.and_then(|offer| without_one(capacity, offer));
    let always = always.map(str::to_owned).into_iter();
    always.chain(lost).chain(tokens).chain(price.map(str::to_owned)).collect()
}

/// Says what the others carry when one instance is lost.
fn without_one(capacity: &CapacityPlan, offer: &Offer) -> Option<String> {
    let (instances, highest) = (offer.instances.filter(|instances| *instances > 1)?, offer.per_instance?.per_s());
    let each = capacity.contract.target_per_s / (instances - 1) as f64;
    let share = percent(each / highest);
    let end = if each > highest { "more than they carry within the objectives" } else { "which they still carry" };
    Some(format!(
        "All {} are up. With one of them lost the others get {}/s each, {share} of their highest rate: {end}.",
        counted(instances, "instance"),
        three_digits(each)
    ))
}

#[cfg(test)]
mod tests {
    //! What a person reads of a plan.

    use std::path::Path;

    use super::*;
    use crate::experiment::capacity::{Candidate, CapacityTarget};
    use crate::report::render::{self, assert_page};

    const HOSTILE: &str = "</title><script src=https://evil.example/x.js></script>\u{202e}<img onerror=a(1)>";

    /// A sweep of one instance whose largest rate that passed is 50 requests/s.
    fn sweep() -> Sweep {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/experiments/sweep-schema-1");
        Sweep::read(&folder).unwrap()
    }

    fn capacity(names: &[&str], max_gpus: Option<u64>) -> (CapacityPlan, Vec<Sweep>) {
        let contract = CapacityTarget { target_per_s: 400.0, headroom: 0.2, gpus_per_instance: Some(2), max_gpus };
        let sweeps: Vec<Sweep> = names.iter().map(|_| sweep()).collect();
        let offer = |(name, sweep): (&&str, &Sweep)| {
            Offer::new(&Candidate { name, sweep, gpu_hour: Some(2.5) }, &contract).unwrap()
        };
        let offers = names.iter().zip(&sweeps).map(offer).collect();
        (CapacityPlan::new(contract, offers), sweeps)
    }

    /// Ten instances serve 400/s, for 40 of the 50/s of each may be used. An instance has two GPUs, at 2.5 an hour.
    #[test]
    fn the_answer_stands_first_and_what_it_rests_on_last() {
        let (capacity, sweeps) = capacity(&["measured"], None);
        let page = render::html(&document(&capacity, &sweeps));
        assert_page(&page);
        let card =
            |name: &str, value: &str| format!("<div class=\"name\">{name}</div><div class=\"value\">{value}</div>");
        let places: Vec<usize> = [
            "<span class=\"good\">✓ ENOUGH</span>: 400 requests/s with 20 % headroom",
            &card("Instances", "10"),
            &card("GPUs", "20"),
            &card("Used of each", "80 %"),
            &card("Price per hour", "50.0"),
            "TTFT over load, one instance",
            ">highest 50.0/s</text>",
            ">requested of each 40.0/s</text>",
            "TPOT over load, one instance",
            "At other rates",
            // 400/s by nine of them.
            "With one of them lost the others get 44.4/s each, 88.9 % of their highest rate: which they still carry.",
        ]
        .into_iter()
        .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part} in {page}")))
        .collect();
        assert!(places[..=5].is_sorted() && places[8..].is_sorted());
        assert!(places[6] > places[5] && places[7] > places[5]);
        assert!(
            page.contains("<title>50.0/s passed</title>")
                && page.contains("90.0/s failed")
                && page.contains("p95 ttft &lt; 100ms")
        );
    }

    #[test]
    fn offers_stand_beside_one_another_and_names_stay_text() {
        let (capacity, sweeps) = capacity(&["measured", HOSTILE], Some(4));
        let page = render::html(&document(&capacity, &sweeps));
        assert_page(&page);
        assert!(page.contains("The offers compared") && page.contains("&lt;script"), "{page}");
        assert!(
            page.contains("<span class=\"bad\">✗ NOT ENOUGH</span>: no offer carries")
                && page.contains("20 GPUs, and the limit is 4")
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
            many.len() < 620 && many.last().is_some_and(|(rate, price)| *rate == 800.0 && (*price - 1e5).abs() < 5.1)
        );
    }
}

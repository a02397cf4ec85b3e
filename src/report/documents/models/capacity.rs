//! A capacity plan as a document: the answer, the offers, what each rests on, and the assumptions.

use crate::experiment::Sweep;
use crate::experiment::capacity::{Basis, CapacityPlan, Offer};
use crate::report::chart::{Axis, LineStyle, Palette, Plot, Point, ReferenceLine, Row, Series, SeriesForm};
use crate::report::document::{
    Chart, Document, KeyFigure, Level, Note, Section, Table, Tone, VerdictLine, cell,
};
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
    let mut document = Document::new(title).verdict(VerdictLine::new(tone, word, capacity.sentence.clone()));
    let named = named(capacity);
    document = document.headline(named.and_then(|offer| key_figures(offer).into_iter().next()));
    let mut head = Section::continued(Level::Page);
    head.figures(named.map(key_figures).unwrap_or_default());
    contract(&mut head, capacity);
    document.add([head, offers(capacity)]);
    for (place, offer) in capacity.offers.iter().enumerate() {
        document.add([basis(capacity, offer), curves(capacity, offer, sweeps.get(place))]);
    }
    let mut charts = Section::detail("Offers compared, and other rates");
    let axis = format!("price per hour{}", currency(capacity, ", "));
    if let Some(compared) = compared(capacity, &axis) {
        charts.charts(compare(capacity, compared));
        charts.chart(at_other_rates(capacity, compared));
    }
    let assumed = assumptions(capacity, named).into_iter().map(Note::info);
    document.add([charts, Section::detail("Assumptions").with_notes(assumed)]);
    document
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
    let card = |name: &str, value: String, below: Option<String>| {
        KeyFigure::new(name, value, "").below(below).card_only()
    };
    let price = |name: &str, price: f64, below: &str| {
        KeyFigure::new(name, cell(price), offer.currency.clone().unwrap_or_default())
            .below(Some(below.to_owned()))
            .card_only()
    };
    let of_currency = if offer.currency.is_some() { "GPUs alone" } else { "in the currency of --gpu-hour" };
    let highest = |basis: Basis| format!("{}/s is the highest rate of each", three_digits(basis.per_s()));
    let highest = offer.per_instance.map(highest);
    let figures = [
        offer.instances.map(|instances| card("Instances", count(instances), offer.hardware.clone())),
        offer.gpus.map(|gpus| card("GPUs", count(gpus), None)),
        offer.utilisation.map(|used| card("Used of each", percent(used), highest)),
        offer.cost_per_hour.map(|cost| price("Price per hour", cost, of_currency)),
        offer.cost_per_million_output_tokens.map(|cost| price("Price per 1M tokens", cost, "of all answers")),
        offer
            .cost_per_million_within_slo
            .map(|cost| price("Price per 1M good tokens", cost, "of answers within their SLO")),
    ];
    figures.into_iter().flatten().collect()
}

fn contract(section: &mut Section, capacity: &CapacityPlan) {
    let contract = &capacity.contract;
    let target = three_digits(contract.target_per_s);
    section.fact("requested", format!("{target} requests/s of all instances together"));
    let (free, fit) = (percent(contract.headroom), three_digits(contract.with_headroom()));
    section
        .fact("headroom", format!("{free} of each instance's highest rate stays free: {fit}/s have to fit"));
    section.facts("an instance", contract.gpus_per_instance.map(|gpus| counted(u64::from(gpus), "GPU")));
    section.facts("limit", contract.max_gpus.map(|most| counted(most, "GPU")));
    let priced = capacity.offers.iter().filter_map(|offer| Some((offer, offer.gpu_hour?)));
    let currency = currency(capacity, " ");
    section.facts(
        "GPU-hour",
        priced.map(|(offer, price)| format!("{}{currency} ({})", cell(price), offer.name)),
    );
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
    let heading = if capacity.offers.len() > 1 { "The offers" } else { "The offer" };
    let mut table = Table::of("The offers", capacity.offers.iter().enumerate())
        .column("", |(_, offer)| offer.name.clone())
        .column(("req/s each", 5), |(_, offer)| offer.per_instance.map(Basis::per_s))
        .column("instances", |(_, offer)| offer.instances)
        .column("GPUs", |(_, offer)| offer.gpus)
        .column(("used, %", 4), |(_, offer)| offer.utilisation.map(|share| share * 100.0))
        .column((format!("per hour{}", currency(capacity, ", ")), 6), |(_, offer)| offer.cost_per_hour)
        .column("per M tokens", |(_, offer)| offer.cost_per_million_output_tokens)
        .column(("per M in SLO", 7), |(_, offer)| offer.cost_per_million_within_slo)
        .column("contract", kept)
        .table();
    table.rows_in_brief(&(0..MOST_OFFERS), "offer");
    let mut section = Section::summary(heading).with_table(table);
    let why_not = capacity.offers.iter().flat_map(|offer| offer.why_not.iter().map(move |why| (offer, why)));
    let not_met = |(offer, why): (&Offer, _)| format!("{}: contract not met: {why}", offer.name);
    section.notes(why_not.map(not_met).map(Note::error));
    section
}

/// Where the figures of an offer come from, and what speaks against it.
fn basis(capacity: &CapacityPlan, offer: &Offer) -> Section {
    let mut section = Section::page(offer.name.clone());
    if let Some(basis) = offer.per_instance {
        let instances = capacity.contract.instances(basis.per_s());
        let (rate, free) = (basis.per_s(), 1.0 - capacity.contract.headroom);
        section.fact(
            "by rate",
            format!(
                "one instance carries {} requests/s within the objectives ({}); {} of that times {} is {}/s, and {}/s \
                 are requested",
                three_digits(rate),
                basis.in_words(),
                percent(free),
                count(instances),
                three_digits(rate * free * instances as f64),
                three_digits(capacity.contract.target_per_s),
            ),
        );
    }
    let share = offer.slo_share.map(|share| format!("{} of the requests at that rate", percent(share)));
    section.facts("SLO met", share);
    section.notes(offer.notes.iter().map(Note::info));
    section
}

/// The curves of an offer's sweep with the requested rate of an instance.
fn curves(capacity: &CapacityPlan, offer: &Offer, sweep: Option<&Sweep>) -> Section {
    let mut section = Section::detail(format!("{}: one instance over its load", offer.name));
    let Some(sweep) = sweep else { return section };
    let hint = "dashed: the objectives, the highest rate of an instance, and the rate requested of each; green: loads \
        that meet the objectives; red: loads that do not";
    for (place, chart) in that_decide(sweep, &marked(capacity, offer, sweep)).into_iter().enumerate() {
        let title = format!("{}, one instance", chart.title);
        let chart = Chart { title, ..chart }.hint(hint);
        section.chart(if place == 0 { chart.behind(loads_table(sweep)) } else { chart });
    }
    section
}

/// The highest rate of an instance and the rate requested of each, as loads of the sweep.
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
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (place, offer) in capacity.offers.iter().enumerate() {
        let (palette, kept) = if offer.keeps() {
            (Palette::Third, "meets the contract")
        } else {
            (Palette::Second, "does not meet the contract")
        };
        rows.push(Row::new(offer.name.clone(), format!("{offer}, {kept}")));
        let point = read(offer).map(|value| Point::at(value, place as f64, String::new()));
        series.extend(point.map(|point| Series::points("", palette, LineStyle::None, vec![point])));
    }
    let description = format!("{what} of {} offers", rows.len());
    let values = Series::extent(&series, |point| point.x);
    let plot = Plot::rows(description, Axis::from_zero(what, values), rows, series);
    let hint = "green diamond: meets the contract; square: does not";
    Some(Chart::new("The offers compared", plot).hint(hint))
}

/// The cost of more and of fewer requests, by rate.
fn at_other_rates(capacity: &CapacityPlan, (what, read): Comparable<'_>) -> Chart {
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
        let form = SeriesForm::Curve { through, marked: vec![Point::at(target, value, words)] };
        series.push(Series::new(offer.name.clone(), palette, form));
    }
    let description = format!("{what} by requested rate, up to {} requests/s", three_digits(2.0 * target));
    let x = Axis::between("requests/s requested of all", 0.0, 2.0 * target);
    let plot = Plot::new(description, x, Axis::from_zero(what, heights), series)
        .with_rules([ReferenceLine::Place(target, "requested".to_owned())]);
    let hint = "by rate, headroom included; marked: this plan";
    Chart::new("At other rates", plot).hint(hint)
}

/// The amount of something, of which an instance takes `each`, for rates up to twice the target; an instance
/// carries `per_s`.
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
    let mut said = vec![
        "Every instance is like the measured one: its server, model, hardware and settings.".to_owned(),
        "The requests are like those of the sweep: their mix, their lengths, how they come in bursts, how many share a \
         prefix."
            .to_owned(),
    ];
    said.push(
        "Each instance gets an even share of the rate. No router and no queue that several instances share is \
         modelled: skyline simulate --replicas does."
            .to_owned(),
    );
    said.extend(named.and_then(|offer| without_one(capacity, offer)));
    if let Some(tokens) = named.and_then(|offer| offer.output_tokens_per_s) {
        let each = tokens / capacity.contract.target_per_s;
        said.push(format!("An answer has {} tokens on average, as in the sweep.", three_digits(each)));
    }
    if capacity.offers.iter().any(|offer| offer.cost_per_hour.is_some()) {
        said.push(
            "The price covers GPUs only. The price per token holds at the requested rate: at half that rate a token \
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
        "All {} are up. With one of them lost the others get {}/s each, {share} of their highest rate: {end}.",
        counted(instances, "instance"),
        three_digits(each)
    ))
}

#[cfg(test)]
mod tests;

//! The rows of the table: given one by one, or made from axes; each a question, a hypothesis, and settings.

use super::claim::{Claim, ClaimKind, Reference};
use super::sampling;
use super::settings::{RATE, Settings, USERS, tokens};
use crate::analysis::Objective;
use crate::workload::reading::{Fields, SpecValue, spec_table};

spec_table! {
    /// A row.
    pub struct MatrixRow = "a row" with(defaults: &Settings) {
        /// Its name, unique in the table.
        name: String = required(|place| place.name()),
        /// The question that it answers.
        question: Option<String> = option(|place| place.nonblank()),
        /// What was expected, in words, before it ran.
        hypothesis: Option<String> = option(|place| place.nonblank()),
        /// The hypothesis as claims that can be tested.
        expect: Vec<Claim> = optional(Vec::new(), |place| place.list_or_none(Claim::read)),
        /// The variants under which it runs, by name; absent: all.
        variants: Option<Vec<String>> = option(|place| place.list(|place| place.name())),
        /// Settings, those of the defaults for missing ones.
        settings: Settings = flat(|fields| Some(Settings::read_fields(fields)?.over(defaults))),
    }
}

impl MatrixRow {
    /// A row with settings alone.
    pub(super) fn made(name: String, settings: Settings) -> Self {
        Self { name, question: None, hypothesis: None, expect: Vec::new(), variants: None, settings }
    }

    /// The objectives among its claims.
    pub fn bounds(&self) -> Vec<Objective> {
        let bound = |claim: &Claim| match &claim.kind {
            ClaimKind::Bound(objective) => Some(objective.clone()),
            ClaimKind::Ratio { .. } => None,
        };
        self.expect.iter().filter_map(bound).collect()
    }

    /// Makes its runs `seconds` long and the warm-up shorter in proportion. They are longer where less is not enough
    /// for [`FEWEST`] requests. It says whether they are now shorter than they are meant to be. Users of a closed loop
    /// get no warm-up: all that they send in a short run may begin in it. Requests that leave all at once are as many
    /// as they are.
    pub(super) fn shorten(&mut self, seconds: f64) -> bool {
        if self.settings.requests.is_some() {
            return false;
        }
        let own = self.settings.spec(&self.name).ok();
        let of_length = |horizon_s: f64| {
            let warmup_s = own.as_ref().map(|own| match own.arrival.users() {
                Some(_) if horizon_s < own.horizon_s => 0.0,
                _ => own.warmup_s * (horizon_s / own.horizon_s).min(1.0),
            });
            Settings { horizon_s: Some(horizon_s), warmup_s, ..self.settings.clone() }
        };
        let is_enough = |settings: &Settings| {
            settings.spec(&self.name).is_ok_and(|spec| {
                let until = |end_s| spec.arrival.expected_arrivals(end_s);
                spec.arrival.users().is_some() || until(spec.horizon_s) - until(spec.warmup_s) >= FEWEST
            })
        };
        let most = own.as_ref().map_or(seconds, |own| own.horizon_s);
        let lengths = std::iter::successors(Some(seconds), |length| Some(2.0 * length));
        let enough = lengths.take_while(|length| *length < most).map(of_length).find(is_enough);
        let is_shorter =
            enough.is_some() || own.as_ref().is_some_and(|own| own.requests.is_some() && seconds < own.horizon_s);
        self.settings = enough.unwrap_or_else(|| of_length(seconds.max(most)));
        is_shorter
    }

    /// Returns how many runs it has.
    pub fn repeats(&self) -> u64 {
        self.settings.repeats.unwrap_or(1)
    }

    /// Whether it runs under the variant of this name.
    pub fn is_under(&self, variant: &str) -> bool {
        self.variants.as_ref().is_none_or(|variants| variants.iter().any(|name| name == variant))
    }
}

spec_table! {
    /// A question and a hypothesis for every row whose name matches.
    pub(super) struct Expected = "a hypothesis" {
        /// Names, in which a `*` stands for anything.
        rows: Vec<String> = required(|place| place.list(|place| place.nonblank())),
        question: Option<String> = option(|place| place.nonblank()),
        hypothesis: Option<String> = option(|place| place.nonblank()),
        expect: Vec<Claim> = optional(Vec::new(), |place| place.list_or_none(Claim::read)),
    }
    then(telling)
}

fn telling(fields: &Fields<'_>, said: &Expected) -> Option<()> {
    if said.question.is_none() && said.hypothesis.is_none() && said.expect.is_empty() {
        return fields.reject("says nothing of its rows; give a question, a hypothesis or what to expect");
    }
    Some(())
}

impl Expected {
    /// Gives it to the matching `rows`. A claim that names another row does not apply to that row itself.
    pub(super) fn give(&self, rows: &mut [MatrixRow], fields: &Fields<'_>) -> Option<()> {
        for pattern in &self.rows {
            if !rows.iter().any(|row| fits(pattern, &row.name)) {
                let names = rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>().join(", ");
                return fields.reject_of(
                    "hypotheses",
                    &format!("has one for `{pattern}`, which is the name of no row (known: {names})"),
                );
            }
        }
        for row in rows.iter_mut().filter(|row| self.rows.iter().any(|pattern| fits(pattern, &row.name))) {
            let twice = |old: &Option<String>, new: &Option<String>| old.is_some() && new.is_some();
            if twice(&row.question, &self.question) || twice(&row.hypothesis, &self.hypothesis) {
                let sentence = format!("has a second question or hypothesis for row {}; leave one out", row.name);
                return fields.reject_of("hypotheses", &sentence);
            }
            row.question = row.question.take().or_else(|| self.question.clone());
            row.hypothesis = row.hypothesis.take().or_else(|| self.hypothesis.clone());
            let itself = |other: &Reference| other.row.as_ref() == Some(&row.name) && other.variant.is_none();
            let claims = self.expect.iter().filter(|claim| !claim.other().is_some_and(itself));
            row.expect.extend(claims.cloned());
        }
        Some(())
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name
            .strip_prefix(head)
            .is_some_and(|left| (0..=left.len()).any(|at| left.get(at..).is_some_and(|left| fits(rest, left)))),
    }
}

/// Requests that the runs of a rehearsal measure at least, on average.
const FEWEST: f64 = 3.0;

/// Most rows that axes may make.
const MOST_ROWS: usize = 1_000;

/// Values of one variable. Each is a change of the defaults with a short name.
type Axis = Vec<(String, Settings)>;

/// Name of the row of [`Axes::OneAtATime`] that changes nothing.
const BASELINE: &str = "baseline";

/// Combination of the values of several axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axes {
    /// All combinations.
    Grid,
    /// The defaults, then each value of each axis alone.
    OneAtATime,
}

impl Axes {
    /// Reads the axes and makes their rows over `defaults`.
    pub(super) fn read(self, place: SpecValue<'_>, defaults: &Settings) -> Option<Vec<MatrixRow>> {
        let what = match self {
            Self::Grid => "a grid",
            Self::OneAtATime => "a table of variables that change one at a time",
        };
        place.table(what, |fields| {
            let axes = self.given(fields)?;
            if axes.is_empty() {
                return fields.reject("has no axis; give one, such as input_tokens = [256, 2048]");
            }
            let rows = match self {
                Self::Grid => axes.iter().map(Vec::len).try_fold(1_usize, usize::checked_mul),
                Self::OneAtATime => Some(axes.iter().map(Vec::len).sum::<usize>() + 1),
            };
            if rows.is_none_or(|rows| rows > MOST_ROWS) {
                return fields.reject(&format!("makes more than {MOST_ROWS} rows; leave values out"));
            }
            let rows = match self {
                Self::Grid => grid(&axes, defaults),
                Self::OneAtATime => one_at_a_time(axes, defaults),
            };
            let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            names.sort_unstable();
            if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return fields.reject(&format!(
                    "makes two rows called `{twice}`, as values that differ have one short name; write these as \
                     [[rows]] with names of their own"
                ));
            }
            Some(rows)
        })
    }

    /// Every axis that is given, in the order of the fields.
    fn given(self, fields: &mut Fields<'_>) -> Option<Vec<Axis>> {
        let axes = AXES.map(|(name, begins, read)| {
            axis(fields, name, |place| {
                let settings = read(place)?;
                Some((format!("{begins}{}", short(&settings.value_in_words(name))), settings))
            })
        });
        let is_axis = |name: &str| {
            let mut given = AXES.iter().zip(&axes).filter(|(_, values)| values.iter().flatten().next().is_some());
            given.any(|((of, ..), _)| *of == name)
        };
        if is_axis("rate_per_s") && is_axis("users") {
            return fields
                .reject_of("users", "is an axis together with `rate_per_s`; one of them says what load there is");
        }
        if self == Self::Grid && is_axis("users") && is_axis("arrival") {
            return fields.reject_of(
                "users",
                "is an axis together with `arrival`; closed-loop users send when they are answered, so arrivals have \
                 no pattern: leave one of them out, or write [[rows]]",
            );
        }
        let mut axes: Vec<Axis> = axes.into_iter().collect::<Option<_>>()?;
        // Names say the load before how answers are sampled.
        axes[SAMPLING..].rotate_right(1);
        Some(axes.into_iter().filter(|axis| !axis.is_empty()).collect())
    }
}

/// Reads a value of an axis.
type ReadsAxis = fn(SpecValue<'_>) -> Option<Settings>;

/// Settings that may be axes, each with how its values begin in names. The cap comes last.
static AXES: [(&str, &str, ReadsAxis); 12] = [
    ("workload", "", |of| Some(Settings { workload: Some(of.nonblank()?), ..none() })),
    ("input_tokens", "in", |of| Some(Settings { input_tokens: Some(tokens(of)?), ..none() })),
    ("output_tokens", "out", |of| Some(Settings { output_tokens: Some(tokens(of)?), ..none() })),
    ("prefix_tokens", "prefix", |of| Some(Settings { prefix_tokens: Some(tokens(of)?), ..none() })),
    ("prefix_reuse", "", |of| Some(Settings { prefix_reuse: Some(of.variant()?), ..none() })),
    ("rate_per_s", "rate", |of| Some(Settings { rate_per_s: Some(of.number(RATE)?), ..none() })),
    ("users", "users", |of| Some(Settings { users: Some(of.whole(USERS)?), ..none() })),
    ("arrival", "", |of| Some(Settings { arrival: Some(of.variant()?), ..none() })),
    ("temperature", "temp", |of| Some(Settings { temperature: Some(sampling::temperature(of)?), ..none() })),
    ("top_p", "topp", |of| Some(Settings { top_p: Some(sampling::top_p(of)?), ..none() })),
    ("top_k", "topk", |of| Some(Settings { top_k: Some(sampling::top_k(of)?), ..none() })),
    ("max_concurrency", "cap", |of| Some(Settings { max_concurrency: Some(of.whole(USERS)?), ..none() })),
];
fn none() -> Settings {
    Settings::default()
}

/// Place of the first of [`AXES`] that says how answers are sampled.
const SAMPLING: usize = 8;

/// The values of one axis; none where it is not given.
fn axis(
    fields: &mut Fields<'_>,
    name: &'static str,
    read: impl Fn(SpecValue<'_>) -> Option<(String, Settings)>,
) -> Option<Axis> {
    fields.optional(name, Vec::new(), |place| {
        let values = place.list(&read)?;
        for (i, (_, settings)) in values.iter().enumerate() {
            if values[..i].iter().any(|(_, before)| before == settings) {
                return place.reject("has a value twice; leave one of them out");
            }
        }
        Some(values)
    })
}

/// A value as part of a name.
fn short(value: &str) -> String {
    let stem = value.rsplit(['/', '\\']).next().unwrap_or(value);
    let stem = stem.strip_suffix(".toml").or_else(|| stem.strip_suffix(".json")).unwrap_or(stem);
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Every combination of a value of each axis; the last axis changes fastest.
fn grid(axes: &[Axis], defaults: &Settings) -> Vec<MatrixRow> {
    let mut made = vec![(String::new(), Settings::default())];
    for axis in axes {
        made = made
            .into_iter()
            .flat_map(|(name, so_far)| {
                axis.iter().map(move |(value, change)| {
                    let name = if name.is_empty() { value.clone() } else { format!("{name}-{value}") };
                    (name, change.clone().over(&so_far))
                })
            })
            .collect();
    }
    made.into_iter().map(|(name, change)| MatrixRow::made(name, change.over(defaults))).collect()
}

/// The defaults and every value that is not theirs.
fn one_at_a_time(axes: Vec<Axis>, defaults: &Settings) -> Vec<MatrixRow> {
    let changed = axes.into_iter().flatten().map(|(name, change)| MatrixRow::made(name, change.over(defaults)));
    let changed = changed.filter(|row| row.settings != *defaults);
    [MatrixRow::made(BASELINE.to_owned(), defaults.clone())].into_iter().chain(changed).collect()
}

//! Rows made from axes: the full grid, or one variable at a time.

use super::row::MatrixRow;
use super::settings::{PrefixReuse, RATE, Settings, Spacing, TOKENS, USERS};
use crate::workload::reading::{Fields, SpecValue};

/// Most rows that axes may make.
const MOST_ROWS: usize = 1_000;

/// The values of one variable, each as a change of the defaults with a short name.
type Axis = Vec<(String, Settings)>;

/// Name of the row of [`Axes::OneAtATime`] that changes nothing.
const BASELINE: &str = "baseline";

/// How values of several axes are combined.
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
                fields.complain("has no axis; give one, such as input_tokens = [256, 2048]");
                return None;
            }
            let rows = match self {
                Self::Grid => axes.iter().map(Vec::len).try_fold(1_usize, usize::checked_mul),
                Self::OneAtATime => Some(axes.iter().map(Vec::len).sum::<usize>() + 1),
            };
            if rows.is_none_or(|rows| rows > MOST_ROWS) {
                fields.complain(&format!("makes more than {MOST_ROWS} rows; leave values out"));
                return None;
            }
            let rows = match self {
                Self::Grid => grid(&axes, defaults),
                Self::OneAtATime => one_at_a_time(axes, defaults),
            };
            let mut names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            names.sort_unstable();
            if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                fields.complain(&format!(
                    "makes two rows called `{twice}`, as values that differ have one short name; write these as [[rows]] with \
                     names of their own"
                ));
                return None;
            }
            Some(rows)
        })
    }

    /// Every axis that is given, in the order of the fields.
    fn given(self, fields: &mut Fields<'_>) -> Option<Vec<Axis>> {
        let tokens = |place: SpecValue<'_>| place.whole(TOKENS).and_then(|tokens| u32::try_from(tokens).ok());
        let none = Settings::default;
        let workloads = axis(fields, "workload", |place| {
            let name = place.nonblank()?;
            Some((short(&name), Settings { workload: Some(name), ..none() }))
        });
        let inputs = axis(fields, "input_tokens", |place| {
            tokens(place).map(|n| (format!("in{n}"), Settings { input_tokens: Some(n), ..none() }))
        });
        let outputs = axis(fields, "output_tokens", |place| {
            tokens(place).map(|n| (format!("out{n}"), Settings { output_tokens: Some(n), ..none() }))
        });
        let prefixes = axis(fields, "prefix_tokens", |place| {
            tokens(place).map(|n| (format!("prefix{n}"), Settings { prefix_tokens: Some(n), ..none() }))
        });
        let reuse = axis(fields, "prefix_reuse", |place| {
            let reuse = place.choice(&PrefixReuse::NAMED)?;
            let name = PrefixReuse::NAMED.iter().find(|(_, of)| *of == reuse).map_or("", |(name, _)| name);
            Some((name.to_owned(), Settings { prefix_reuse: Some(reuse), ..none() }))
        });
        let rates = axis(fields, "rate_per_s", |place| {
            let rate = place.number(RATE)?;
            let name = format!("rate{}", short(&rate.to_string()));
            Some((name, Settings { rate_per_s: Some(rate), ..none() }))
        });
        let users = axis(fields, "users", |place| {
            let users = place.whole(USERS)?;
            Some((format!("users{users}"), Settings { users: Some(users), ..none() }))
        });
        let spacings = axis(fields, "arrival", |place| {
            let arrival = place.choice(&Spacing::NAMED)?;
            let name = Spacing::NAMED.iter().find(|(_, of)| *of == arrival).map_or("", |(name, _)| name);
            Some((name.to_owned(), Settings { arrival: Some(arrival), ..none() }))
        });
        let caps = axis(fields, "max_concurrency", |place| {
            let cap = place.whole(USERS)?;
            Some((format!("cap{cap}"), Settings { max_concurrency: Some(cap), ..none() }))
        });
        if let (Some([_, ..]), Some([_, ..])) = (rates.as_deref(), users.as_deref()) {
            fields
                .complain_of("users", "is an axis beside `rate_per_s`; one of them says what load there is");
            return None;
        }
        if let (Self::Grid, Some([_, ..]), Some([_, ..])) = (self, users.as_deref(), spacings.as_deref()) {
            fields.complain_of(
                "users",
                "is an axis beside `arrival`; users ask again when they are answered, and nothing spaces that: leave one of them out, \
                 or write [[rows]]",
            );
            return None;
        }
        let axes = [workloads, inputs, outputs, prefixes, reuse, rates, users, spacings, caps];
        let axes: Vec<Axis> = axes.into_iter().collect::<Option<_>>()?;
        Some(axes.into_iter().filter(|axis| !axis.is_empty()).collect())
    }
}

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
                place.complain("has a value twice; leave one of them out");
                return None;
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
    let changed =
        axes.into_iter().flatten().map(|(name, change)| MatrixRow::made(name, change.over(defaults)));
    let changed = changed.filter(|row| row.settings != *defaults);
    [MatrixRow::made(BASELINE.to_owned(), defaults.clone())].into_iter().chain(changed).collect()
}

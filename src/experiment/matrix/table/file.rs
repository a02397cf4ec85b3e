//! The file of a table of experiments: read whole, every mistake reported at once.

use std::path::Path;

use serde::Serialize;

use super::accept::Accept;
use super::claim::{Claim, Reference};
use super::row::{Axes, Expected, MatrixRow};
use super::settings::Settings;
use super::variant::{Variant, VariantServer};
use crate::experiment::repeats::RepeatsExperiment;
use crate::workload::SpecError;
use crate::workload::reading::{Fields, Given, Mistakes, Node, SpecValue, nearest, parse_toml, read_file, read_whole};

/// The table that is embedded in the program, by its name.
const EXAMPLE: (&str, &str) = ("rows_a_to_f", include_str!("../../../../workloads/experiments/rows_a_to_f.toml"));

/// A table of experiments.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiments {
    /// Its name.
    pub name: String,
    /// Purpose of the table.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The servers that it runs against, in their order: at least one.
    pub variants: Vec<Variant>,
    /// The rows, in their order: at least one.
    pub rows: Vec<MatrixRow>,
    /// Contract that a good enough variant meets, and when to stop looking for one.
    pub accept: Option<Accept>,
    /// The currency of all prices, to show with them.
    pub currency: Option<String>,
    /// Whether its runs are shorter than they are meant to be. Such runs confirm and accept nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rehearsal: bool,
}

/// A row under a variant: one run or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixSlot {
    /// Place of the row among the rows.
    pub row: usize,
    /// Place of the variant among the variants.
    pub variant: usize,
}

impl Experiments {
    /// Text of the embedded table, comments and all: the best start for one's own.
    pub const fn example() -> &'static str {
        EXAMPLE.1
    }

    /// Loads the embedded table by its name, or a file by its path. Such a file ends in `.toml` or `.json`.
    ///
    /// # Errors
    ///
    /// When there is no such file, or with every mistake in it.
    pub fn load(name_or_path: &str) -> Result<Self, SpecError> {
        if name_or_path == EXAMPLE.0 {
            return Self::from_toml(EXAMPLE.1, EXAMPLE.0);
        }
        let path = Path::new(name_or_path);
        let mut experiments = Self::from_node(read_file(path, "skyline matrix --example")?, name_or_path)?;
        experiments.anchor(path.parent().unwrap_or(Path::new("")));
        Ok(experiments)
    }

    /// Makes all runs so long, or shorter ones a rehearsal.
    pub fn shorten(&mut self, seconds: f64) {
        for row in &mut self.rows {
            self.rehearsal |= row.shorten(seconds);
        }
    }

    /// Reads TOML. `origin` names the text in the error.
    ///
    /// # Errors
    ///
    /// Every mistake in it.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(parse_toml(text), origin)
    }

    pub(super) fn from_node(node: Result<Node, Mistakes>, origin: &str) -> Result<Self, SpecError> {
        read_whole(node, origin, None, Self::read)
    }

    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a table of experiments", |fields| {
            let name = fields.required("name", |place| place.name());
            let description = fields.optional("description", String::new(), |place| place.text());
            let defaults = fields.optional("defaults", Settings::default(), |place| {
                place.table("the defaults of rows", Settings::read_fields)
            });
            let common = fields.optional("server", VariantServer::default(), VariantServer::read);
            let variants = read_variants(fields, common.as_ref());
            let rows = read_rows(fields, defaults.as_ref(), variants.as_deref());
            let hypotheses = fields.optional("hypotheses", Vec::new(), |place| place.list(Expected::read));
            let accept = fields.option("accept", Accept::read);
            let currency = fields.option("currency", |place| place.nonblank());
            let rehearsal = fields.optional("rehearsal", false, |place| place.flag());
            let mut rows = rows?;
            hypotheses?.iter().try_for_each(|expected| expected.give(&mut rows, fields))?;
            let experiments = Self {
                name: name?,
                description: description?,
                variants: variants?,
                rows,
                accept: accept?,
                currency: currency?,
                rehearsal: rehearsal?,
            };
            experiments.check(fields)?;
            Some(experiments)
        })
    }

    /// Finds what is wrong with names that stand for rows and variants. It shows only once all are read.
    fn check(&self, fields: &Fields<'_>) -> Option<()> {
        let mut sound = true;
        let mut complain = |field: &str, sentence: String| {
            fields.complain_of(field, &sentence);
            sound = false;
        };
        for row in &self.rows {
            for variant in row.variants.iter().flatten() {
                if let Err(unknown) = self.variant(variant) {
                    complain("rows", format!("has row {}, to run under {unknown}", row.name));
                }
            }
            for claim in &row.expect {
                let Some(other) = claim.other() else { continue };
                let same_row = other.row.as_deref().is_none_or(|name| name == row.name);
                let wrong = [
                    other.row.as_deref().and_then(|name| self.row(name).err()),
                    other.variant.as_deref().and_then(|name| self.variant(name).err()),
                    (same_row && other.variant.is_none()).then(|| "itself".to_owned()),
                ];
                for of in wrong.into_iter().flatten() {
                    complain("rows", format!("has row {}, which expects `{}` of {of}", row.name, claim.text));
                }
            }
        }
        for (place, row) in self.rows.iter().enumerate() {
            for claim in row.expect.iter().filter(|claim| self.is_in_vain(place, claim)) {
                complain(
                    "rows",
                    format!(
                        "has row {}, which expects `{}` of a row that does not run under that variant; look at the \
                         `variants` of both",
                        row.name, claim.text
                    ),
                );
            }
        }
        if let Some(accept) = &self.accept {
            for name in accept.rows.iter().flatten() {
                if let Err(unknown) = self.row(name) {
                    complain("accept", format!("asks for {unknown}"));
                }
            }
            let unpriced = self.variants.iter().find(|variant| variant.server.cost_per_hour().is_none());
            if let (Some(_), Some(variant)) = (accept.max_cost_per_million_output_tokens, unpriced) {
                let name = &variant.name;
                let lack = match variant.server.gpu_hour {
                    None => "has no price; give it a `gpu_hour`",
                    Some(_) => "does not say how many GPUs it has; give it `gpus`",
                };
                complain("accept", format!("sets a cost, and variant {name} {lack}"));
            }
        }
        sound.then_some(())
    }

    /// Returns whether the row in `place` runs with its claim's row under no variant. The other row is the one that
    /// `claim` names.
    fn is_in_vain(&self, place: usize, claim: &Claim) -> bool {
        let Some(named) = claim.other() else { return false };
        let here = (0..self.variants.len()).map(|variant| MatrixSlot { row: place, variant });
        let here = here.filter(|here| self.includes(*here));
        let mut others = here.filter_map(|here| self.meant(here, named).filter(|other| *other != here));
        let any = others.next();
        any.is_some_and(|first| !self.includes(first) && !others.any(|other| self.includes(other)))
    }

    /// Returns the slot that `other` means in a claim about `here`. It is `None` where there is no such row or variant.
    pub(crate) fn meant(&self, here: MatrixSlot, other: &Reference) -> Option<MatrixSlot> {
        let row = other.row.as_deref().map_or(Some(here.row), |name| self.row(name).ok())?;
        let variant = other.variant.as_deref().map_or(Some(here.variant), |name| self.variant(name).ok())?;
        Some(MatrixSlot { row, variant })
    }

    /// Whether the row of `slot` runs under its variant.
    pub(crate) fn includes(&self, slot: MatrixSlot) -> bool {
        self.rows[slot.row].is_under(&self.variants[slot.variant].name)
    }

    /// Place of the row of this name.
    ///
    /// # Errors
    ///
    /// When there is none: what was probably meant.
    pub fn row(&self, name: &str) -> Result<usize, String> {
        named("row", name, self.rows.iter().map(|row| row.name.as_str()))
    }

    /// Place of the variant of this name.
    ///
    /// # Errors
    ///
    /// When there is none: what was probably meant.
    pub fn variant(&self, name: &str) -> Result<usize, String> {
        named("variant", name, self.variants.iter().map(|variant| variant.name.as_str()))
    }

    /// Returns all that runs, in order. It goes variant by variant, so that each is started once, and through its rows
    /// in the order of the file.
    pub fn order(&self) -> Vec<MatrixSlot> {
        let under = |variant: usize| {
            let name = self.variants[variant].name.as_str();
            let rows = self.rows.iter().enumerate().filter(move |(_, row)| row.is_under(name));
            rows.map(move |(row, _)| MatrixSlot { row, variant })
        };
        (0..self.variants.len()).flat_map(under).collect()
    }

    /// Whether there is only one variant, so that rows need not say which.
    pub fn has_one_variant(&self) -> bool {
        self.variants.len() == 1
    }

    /// Folder of run number `repeat` of the row in `slot`, inside that of the table.
    pub fn run_folder(&self, slot: MatrixSlot, repeat: u64) -> String {
        let (row, variant) = (&self.rows[slot.row].name, &self.variants[slot.variant].name);
        let run = RepeatsExperiment::folder(repeat);
        if self.has_one_variant() { format!("row-{row}/{run}") } else { format!("{variant}/row-{row}/{run}") }
    }

    /// Lets relative paths of workload files begin at `folder`.
    fn anchor(&mut self, folder: &Path) {
        self.rows.iter_mut().for_each(|row| row.settings.anchor(folder));
    }
}

/// Place of `name` among `names`.
fn named<'n>(noun: &str, name: &str, names: impl Iterator<Item = &'n str> + Clone) -> Result<usize, String> {
    names.clone().position(|known| known == name).ok_or_else(|| {
        let near = nearest(name, names.clone()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let all = names.collect::<Vec<_>>().join(", ");
        format!("{noun} `{name}`, which does not exist{near} (known: {all})")
    })
}

/// The variants; without any, a single one with the settings of `[server]`.
fn read_variants(fields: &mut Fields<'_>, common: Option<&VariantServer>) -> Option<Vec<Variant>> {
    let usual = VariantServer::default();
    let read = |place: SpecValue<'_>| Variant::read(place, common.unwrap_or(&usual));
    let given = fields.given("variants", |place| place.named_list("variant", read));
    let alone = || Variant { name: Variant::ALONE.to_owned(), server: common.cloned().unwrap_or_default() };
    let variants = given.or(Some(vec![alone()]))?;
    if variants.iter().any(|variant| variant.server.serve.is_some() && variant.server.url.is_none()) {
        return fields.reject_of("server", "has a `serve` command and no `url`; say where it will serve");
    }
    Some(variants)
}

/// The rows: as they are given, or made of axes.
fn read_rows(
    fields: &mut Fields<'_>,
    defaults: Option<&Settings>,
    variants: Option<&[Variant]>,
) -> Option<Vec<MatrixRow>> {
    let usual = Settings::default();
    let defaults = defaults.unwrap_or(&usual);
    let rows = fields.given("rows", |place| place.named_list("row", |place| MatrixRow::read(place, defaults)));
    let grid = fields.given("grid", |place| Axes::Grid.read(place, defaults));
    let one = fields.given("one_at_a_time", |place| Axes::OneAtATime.read(place, defaults));
    let is_there = |given: &Given<Vec<MatrixRow>>| !matches!(given, Given::Absent);
    match [&rows, &grid, &one].into_iter().filter(|given| is_there(given)).count() {
        0 => return fields.reject("has nothing to run; give [[rows]], a [grid] or a table [one_at_a_time]"),
        1 => {}
        _ => return fields.reject("has rows of several kinds; give [[rows]], a [grid] or a table [one_at_a_time]"),
    }
    let one_at_a_time = is_there(&one);
    let mut rows = rows.or(None).or_else(|| grid.or(None)).or_else(|| one.or(None))?;
    // The variant is a variable too: others change under the first alone.
    if let (true, Some([first, _, ..])) = (one_at_a_time, variants) {
        for row in rows.iter_mut().skip(1) {
            row.variants = Some(vec![first.name.clone()]);
        }
    }
    Some(rows)
}

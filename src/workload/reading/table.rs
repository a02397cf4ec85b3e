//! Declares the tables of a spec: each field once, with its type, its words, how it is read and its usual value.

use super::fields::Fields;
use super::value::SpecValue;

/// A table whose fields are always the same.
pub(crate) trait SpecTable: Sized {
    /// Its name in messages, with its article.
    const NAME: &'static str;

    /// Reads its fields.
    fn read_fields(fields: &mut Fields<'_>) -> Option<Self>;

    /// Reads the table.
    fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table(Self::NAME, Self::read_fields)
    }
}

/// A table whose field `kind` decides its other fields.
pub(crate) trait SpecKinds: Sized + 'static {
    /// Its name in messages, after its kind.
    const NOUN: &'static str;
    /// The kinds, each with what reads its fields.
    const KINDS: &'static [(&'static str, fn(&mut Fields<'_>) -> Option<Self>)];
    /// The kinds, each with the fields that it declares.
    #[cfg(test)]
    const FIELDS: &'static [(&'static str, &'static [&'static str])];

    /// Reads the table.
    fn read(value: SpecValue<'_>) -> Option<Self> {
        value.tagged(Self::NOUN, Self::KINDS)
    }
}

/// Declares a struct as a table of a spec. Behind each field stands the method of [`Fields`] that reads it, with its
/// usual value and its reader; `check` sees every field as an `Option` and may end the reading with `?`. With
/// `default` in front the usual values are the type's default.
macro_rules! spec_table {
    (default $($table:tt)*) => {
        $crate::workload::reading::table::spec_table! { $($table)* }
        $crate::workload::reading::table::usual! { $($table)* }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $what:literal {
            $($(#[$doc:meta])* $field:ident: $type:ty = $how:ident($($arg:expr),*)),* $(,)?
        }
        $(check($fields:ident) $check:block)?
        $(then($then:path))?
    ) => {
        #[serde_with::skip_serializing_none]
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),* }

        impl $crate::workload::reading::table::SpecTable for $name {
            const NAME: &'static str = $what;

            fn read_fields(fields: &mut $crate::workload::reading::fields::Fields<'_>) -> Option<Self> {
                $(#[allow(unused_mut)] let mut $field: Option<$type> = fields.$how(stringify!($field), $($arg),*);)*
                $({
                    let $fields = &*fields;
                    $check
                })?
                let read = Self { $($field: $field?),* };
                $($then(&*fields, &read)?;)?
                Some(read)
            }
        }
    };
}

/// Makes the usual values of a table's fields its default.
macro_rules! usual {
    (@optional $usual:expr, $reader:expr) => { $usual };
    (@$how:ident $reader:expr) => { Default::default() };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $what:literal {
            $($(#[$doc:meta])* $field:ident: $type:ty = $how:ident($($arg:expr),*)),* $(,)?
        }
        $($rest:tt)*
    ) => {
        impl Default for $name {
            /// What a file that gives nothing says.
            fn default() -> Self {
                Self { $($field: $crate::workload::reading::table::usual!(@$how $($arg),*)),* }
            }
        }
    };
}

/// Declares an enum as a table of a spec whose `kind` decides its other fields: behind each kind its variant, with
/// fields as in [`spec_table`], or with a type of its own and what reads that. `check` sees every field as an `Option`,
/// `then` the whole; both may end the reading. `also` are kinds that are only read, `never` those that no file gives.
macro_rules! spec_kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident = $noun:literal {
            $(
                $(#[$vdoc:meta])*
                $kind:literal $variant:ident
                $({ $($(#[$doc:meta])* $field:ident: $type:ty = $how:ident($($arg:expr),*)),* $(,)? })?
                $(($inner:ty = $read_inner:path))?
                $(check($fields:ident) $check:block)?
                $(then($then:path))?
            ),* $(,)?
        }
        $(also { $($alias:literal = $read_alias:expr),* $(,)? })?
        $(never {
            $(
                $(#[$ndoc:meta])*
                $nkind:literal $never:ident { $($(#[$nfdoc:meta])* $nfield:ident: $ntype:ty),* $(,)? }
            ),* $(,)?
        })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "kind")]
        $vis enum $name {
            $(
                $(#[$vdoc])*
                #[serde(rename = $kind)]
                $variant $({ $($(#[$doc])* $field: $type),* })? $(($inner))?,
            )*
            $($($(#[$ndoc])* #[serde(rename = $nkind)] $never { $($(#[$nfdoc])* $nfield: $ntype),* },)*)?
        }

        impl $crate::workload::reading::table::SpecKinds for $name {
            const NOUN: &'static str = $noun;
            const KINDS: &'static [(&'static str, fn(&mut $crate::workload::reading::fields::Fields<'_>) -> Option<Self>)] = &[
                $(($kind, |fields| {
                    $($(
                        #[allow(unused_mut)]
                        let mut $field: Option<$type> = fields.$how(stringify!($field), $($arg),*);
                    )*)?
                    $({
                        let $fields = &*fields;
                        $check
                    })?
                    let read = Self::$variant $({ $($field: $field?),* })? $(($read_inner(fields)?))?;
                    $($then(&*fields, &read)?;)?
                    let _ = fields;
                    Some(read)
                }),)*
                $($(($alias, $read_alias),)*)?
            ];
            #[cfg(test)]
            const FIELDS: &'static [(&'static str, &'static [&'static str])] =
                &[$(($kind, &[$($(stringify!($field)),*)?])),*];
        }

        impl $name {
            /// Its kind in specs.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $kind,)*
                    $($(Self::$never { .. } => $nkind,)*)?
                }
            }
        }
    };
}

pub(crate) use {spec_kinds, spec_table, usual};

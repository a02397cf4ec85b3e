//! Declares the tables of a spec: each field once, with its type, its words, how it is read and its usual value.

/// Declares a struct as a table of a spec. Behind each field stands the method of [`Fields`](super::fields::Fields)
/// that reads it, with its usual value and its reader.
///
/// `with` names what the readers know beside the table. `check` sees every field as it was read, may give another
/// `Option` in its place, and may end the reading with `?`; `then` sees the whole, if nothing is wrong. With `default`
/// in front the usual values are the type's default; with `filling`, whose fields are all optional, `filled` takes
/// missing ones from another.
macro_rules! spec_table {
    (default $($table:tt)*) => {
        $crate::workload::reading::table::spec_table! { $($table)* }
        $crate::workload::reading::table::usual! { $($table)* }
    };
    (filling $($table:tt)*) => {
        $crate::workload::reading::table::spec_table! { $($table)* }
        $crate::workload::reading::table::filling! { $($table)* }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $what:literal $(with($($known:ident: $given:ty),*))? {
            $($(#[$doc:meta])* $field:ident: $type:ty = $how:ident($($arg:expr),*)),* $(,)?
        }
        $(check($fields:ident) { $($check:tt)* })?
        $(then($then:path))?
    ) => {
        #[serde_with::skip_serializing_none]
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        $vis struct $name { $($(#[$doc])* pub $field: $type),* }

        #[allow(dead_code, reason = "some tables stand alone, some in others")]
        impl $name {
            /// Reads its fields.
            pub(crate) fn read_fields(
                fields: &mut $crate::workload::reading::fields::Fields<'_>,
                $($($known: $given),*)?
            ) -> Option<Self> {
                $(#[allow(unused_mut)] let mut $field = fields.$how(stringify!($field), $($arg),*);)*
                $(
                    let $fields = &mut *fields;
                    $($check)*
                )?
                let read = Self { $($field: $field?),* };
                $($then(&*fields, &read)?;)?
                Some(read)
            }

            /// Reads the table.
            pub(crate) fn read(
                value: $crate::workload::reading::value::SpecValue<'_>,
                $($($known: $given),*)?
            ) -> Option<Self> {
                value.table($what, |fields| Self::read_fields(fields, $($($known),*)?))
            }
        }
    };
}

/// Fills the missing fields of a table whose fields are all optional.
macro_rules! filling {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $what:literal {
            $($(#[$doc:meta])* $field:ident: $type:ty = $how:ident($($arg:expr),*)),* $(,)?
        }
        $($rest:tt)*
    ) => {
        impl $name {
            /// Returns the table with the fields of `usual` where its own are missing.
            fn filled(self, usual: Self) -> Self {
                Self { $($field: self.$field.or(usual.$field)),* }
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
            /// Returns the table of a file that gives nothing.
            fn default() -> Self {
                Self { $($field: $crate::workload::reading::table::usual!(@$how $($arg),*)),* }
            }
        }
    };
}

/// Declares an enum as a table of a spec whose `kind` decides its fields. Behind each kind stands its variant, with
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

        impl $name {
            /// Its name in messages, after its kind.
            const NOUN: &'static str = $noun;
            /// Its kinds, each with what reads its fields.
            const KINDS: &'static [(
                &'static str,
                fn(&mut $crate::workload::reading::fields::Fields<'_>) -> Option<Self>,
            )] = &[
                $(($kind, |fields| {
                    $($(
                        #[allow(unused_mut)]
                        let mut $field = fields.$how(stringify!($field), $($arg),*);
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
            /// Its kinds, each with the fields that it declares.
            #[cfg(test)]
            #[allow(dead_code, reason = "the guide has the fields of some")]
            pub(crate) const FIELDS: &'static [(&'static str, &'static [&'static str])] =
                &[$(($kind, &[$($(stringify!($field)),*)?])),*];

            /// Reads the table.
            #[allow(dead_code, reason = "some are read with fewer kinds")]
            pub(crate) fn read(value: $crate::workload::reading::value::SpecValue<'_>) -> Option<Self> {
                value.tagged(Self::NOUN, Self::KINDS)
            }

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

pub(crate) use {filling, spec_kinds, spec_table, usual};

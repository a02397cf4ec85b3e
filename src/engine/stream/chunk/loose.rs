//! Reads JSON of which any part may have another type than it should.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// Deepest parts of a text, and of a value that says nothing.
const DEPTH: u32 = 4;
/// Most members of an object, parts of a text, or items of another list. An answer with more cannot be read.
const MEMBERS: usize = 1 << 10;
const PARTS: usize = 1 << 16;
const ITEMS: usize = 1 << 8;
/// Texts of an error that is none.
const NOTHING: &str = "null|none|nil|false|no|ok|success|0|200|no error|no_error";

/// A string, borrowed unless it has escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Members of an object in order. An empty list has none; PHP writes it for an empty object.
struct Members<'a>(MemberList<'a>);

/// Names and values.
pub(crate) type MemberList<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = MemberList<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    if members.len() == MEMBERS {
                        return Err(de::Error::custom(format!("an object of more than {MEMBERS} members")));
                    }
                    members.push((name, value));
                }
                Ok(members)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(Vec::new()),
                    Some(_) => Err(de::Error::custom("a list in place of an object")),
                }
            }
        }
        deserializer.deserialize_any(Reader).map(Self)
    }
}

/// The items of a list of at most `MOST`.
struct Items<'a, const MOST: usize>(Vec<&'a RawValue>);

impl<'de: 'a, 'a, const MOST: usize> Deserialize<'de> for Items<'a, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const MOST: usize>;
        impl<'de, const MOST: usize> Visitor<'de> for Reader<MOST> {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    if items.len() == MOST {
                        return Err(de::Error::custom(format!("a list of more than {MOST} items")));
                    }
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Reader::<MOST>).map(Self)
    }
}

/// The members of the object that `json` is.
pub(crate) fn members(json: &[u8]) -> Result<MemberList<'_>, serde_json::Error> {
    serde_json::from_slice(json).map(|Members(members)| members)
}

/// The first item of the list that `json` is.
pub(crate) fn first_item(json: &[u8]) -> Option<&RawValue> {
    struct First;
    impl<'de> Visitor<'de> for First {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let first = list.next_element()?;
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }
    serde_json::Deserializer::from_slice(json).deserialize_seq(First).ok()?
}

/// Notes a field that could not be read, once.
pub(crate) fn note(unread: &mut Vec<&'static str>, field: &'static str) {
    if !unread.contains(&field) {
        unread.push(field);
    }
}

/// A value without its type.
#[derive(Clone, Copy)]
pub(crate) struct LooseValue<'a>(pub &'a RawValue);

impl<'a> LooseValue<'a> {
    pub(crate) fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0.get()).ok()
    }

    pub(crate) fn members(self) -> Option<MemberList<'a>> {
        self.read::<Members<'a>>().map(|members| members.0)
    }

    /// The items of a list, or the only one where it stands alone.
    pub(crate) fn items(self) -> Option<Vec<&'a RawValue>> {
        let alone = self.0.get().starts_with('{');
        if alone { Some(vec![self.0]) } else { self.read::<Items<'a, ITEMS>>().map(|items| items.0) }
    }

    /// The parts of a text, or the only one where it stands alone.
    pub(crate) fn parts(self) -> Option<Vec<&'a RawValue>> {
        let alone = !self.0.get().starts_with('[');
        if alone { Some(vec![self.0]) } else { self.read::<Items<'a, PARTS>>().map(|items| items.0) }
    }

    /// Returns whether it says nothing, or that all is well. The error of an answer that has none does so, for example.
    pub(crate) fn is_empty(self) -> bool {
        self.is_empty_within(DEPTH)
    }

    fn is_empty_within(self, depth: u32) -> bool {
        let Some(deeper) = depth.checked_sub(1) else { return false };
        let empty = |value| LooseValue(value).is_empty_within(deeper);
        match self.0.get() {
            "null" | "false" | "\"\"" | "200" => true,
            json if json.starts_with('"') => {
                NOTHING.split('|').any(|word| json.trim_matches('"').eq_ignore_ascii_case(word))
            }
            json if json.starts_with('{') => {
                self.members().is_some_and(|all| all.into_iter().all(|(_, value)| empty(value)))
            }
            json if json.starts_with('[') => self.items().is_some_and(|all| all.into_iter().all(empty)),
            json => json.parse() == Ok(0.0),
        }
    }

    /// A string; half of a surrogate pair is replaced.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        /// A string as it is escaped, which need not be Unicode.
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
                Ok(String::from_utf8_lossy(bytes).into_owned())
            }
        }
        if !self.0.get().starts_with('"') {
            return None;
        }
        let lossy = || serde_json::Deserializer::from_str(self.0.get()).deserialize_bytes(Bytes).ok();
        self.read().map(|Text(text)| text).or_else(|| lossy().map(Cow::Owned))
    }

    /// A text: a string, or the parts of one.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        self.text_within(DEPTH)
    }

    fn text_within(self, depth: u32) -> Option<Cow<'a, str>> {
        if let Some(text) = self.string() {
            return Some(text);
        }
        let deeper = depth.checked_sub(1)?;
        if self.0.get().starts_with('[') {
            let parts = self.parts()?.into_iter().map(|part| LooseValue(part).text_within(deeper));
            return parts.collect::<Option<String>>().map(Cow::Owned);
        }
        let members = self.members()?;
        let said = members
            .iter()
            .find(|(name, _)| matches!(&**name, "text" | "thinking" | "content" | "summary" | "transcript"));
        said.map_or(Some(Cow::default()), |(_, value)| LooseValue(value).text_within(deeper))
    }

    /// A count; one that stands in quotes too.
    pub(crate) fn count(self) -> Option<u64> {
        let json = self.0.get().trim_matches('"');
        let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
        json.parse().ok().or_else(|| json.parse().ok().and_then(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> LooseValue<'_> {
        LooseValue(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn texts_are_strings_or_parts_and_may_be_no_unicode() {
        for (json, text) in [
            (r#""a\n""#, Some("a\n")),
            (r#""\ud83d\ude00""#, Some("\u{1f600}")),
            (r#""\ud83d""#, Some("\u{fffd}\u{fffd}\u{fffd}")),
            (r#"["a",{"type":"text","text":"b"}]"#, Some("ab")),
            (r#"{"type":"thinking","thinking":[{"type":"text","text":"c"}]}"#, Some("c")),
            ("[]", Some("")),
            ("{}", Some("")),
            ("5", None),
            ("[[[[[[\"deep\"]]]]]]", None),
        ] {
            assert_eq!(value(json).text().as_deref(), text, "{json}");
        }
    }

    #[test]
    fn lists_and_objects_without_end_are_not_read() {
        let list = |items: usize| format!("[{}0]", "{},".repeat(items - 1));
        let items = |most: usize| value(&list(most)).items().map(|items| items.len());
        let parts = |most: usize| value(&list(most)).parts().map(|parts| parts.len());
        assert_eq!((items(ITEMS), items(ITEMS + 1)), (Some(ITEMS), None));
        assert_eq!((parts(PARTS), parts(PARTS + 1)), (Some(PARTS), None));
        let object = |members: usize| format!("{{{}\"z\":1}}", "\"a\":0,".repeat(members - 1));
        assert_eq!(value(&object(MEMBERS)).members().unwrap().len(), MEMBERS);
        let said = members(object(MEMBERS + 1).as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with("an object of more than 1024 members"), "{said}");
    }

    #[test]
    fn what_says_nothing_is_empty_and_counts_may_stand_in_quotes() {
        for json in ["null", "false", "0", "0.0", r#""""#, "[]", "{}", r#"{"code":0,"message":""}"#, "[null]"] {
            assert!(value(json).is_empty(), "{json}");
        }
        for json in ["true", "1", r#""x""#, r#"{"code":0,"message":"x"}"#, "[[[[[[]]]]]]"] {
            assert!(!value(json).is_empty(), "{json}");
        }
        for (json, count) in [("8", Some(8)), (r#""8""#, Some(8)), ("8.0", Some(8)), ("8.5", None), ("-1", None)] {
            assert_eq!(value(json).count(), count, "{json}");
        }
    }

    #[test]
    fn an_empty_list_is_an_object_and_the_last_of_two_members_is_there() {
        assert_eq!(value("[]").members().map(|all| all.len()), Some(0));
        assert!(value("[1]").members().is_none());
        assert_eq!(value(r#"{"a":1,"a":2}"#).members().map(|all| all.len()), Some(2));
    }
}

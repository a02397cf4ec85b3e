//! Finds the items of a long JSON list without reading the list into memory.

use std::io::{self, BufRead};

/// Longest item, bytes: a longer one was not meant as a row.
pub(super) const LONGEST_ROW: usize = 64 << 20;

/// Position at which an item begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemPosition {
    /// Bytes before it in the file.
    pub(super) offset: u64,
    /// Line of the item, from 1; 0 where there are no lines.
    pub(super) line: u64,
    /// Byte in the line, from 1.
    pub(super) column: u64,
    /// Number among the items, from 1.
    pub(super) row: u64,
    /// Number of the file in a folder, from 1; 0 where there is no folder.
    pub(super) file: u32,
}

impl ItemPosition {
    /// The first item at the beginning of a file.
    pub(super) const FIRST: Self = Self { offset: 0, line: 1, column: 1, row: 1, file: 0 };
}

/// Reason why a text is not a list of items.
#[derive(Debug)]
pub(super) enum ListError {
    Read(io::Error),
    Shape { line: u64, cause: &'static str },
}

/// Part of the list that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// `[`
    List,
    /// An item or, right after `[`, the end.
    FirstItem,
    /// An item.
    Item,
    /// The rest of an item.
    Inside,
    /// `,` or `]`
    Comma,
    /// White space alone.
    End,
}

/// The items of the list in a reader. Items are found by their brackets and quotes alone; parsing them shows whether
/// they are valid JSON.
pub(super) struct JsonList<R> {
    reader: R,
    scan: Scan,
}

impl<R: BufRead> JsonList<R> {
    pub(super) fn new(reader: R) -> Self {
        let start = ItemPosition::FIRST;
        let scan =
            Scan { at: start, begin: start, state: State::List, depth: 0, text: Text::Outside, item: Vec::new() };
        Self { reader, scan }
    }

    /// The next item and its position; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<(ItemPosition, &[u8])>, ListError> {
        self.scan.item.clear();
        loop {
            let buffer = self.reader.fill_buf().map_err(ListError::Read)?;
            if buffer.is_empty() {
                return self.scan.at_the_end().map(|()| None);
            }
            let mut taken = 0;
            let mut whole = false;
            for &byte in buffer {
                whole = self.scan.ends_before(byte);
                if whole {
                    break;
                }
                self.scan.take(byte)?;
                taken += 1;
            }
            self.reader.consume(taken);
            if whole {
                return Ok(Some((self.scan.begin, &self.scan.item)));
            }
        }
    }
}

/// Whether the scan is inside a string, where brackets mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

/// State of the scan.
struct Scan {
    at: ItemPosition,
    /// Position at which the item begins.
    begin: ItemPosition,
    state: State,
    /// Open brackets of the item.
    depth: u32,
    text: Text,
    item: Vec<u8>,
}

impl Scan {
    /// Returns whether the item ends before this byte. Brackets and quotes are closed, and no number continues.
    fn ends_before(&mut self, byte: u8) -> bool {
        let ends = self.state == State::Inside
            && self.depth == 0
            && self.text == Text::Outside
            && (byte.is_ascii_whitespace() || matches!(byte, b',' | b']'));
        if ends {
            self.state = State::Comma;
            self.at.row += 1;
        }
        ends
    }

    fn take(&mut self, byte: u8) -> Result<(), ListError> {
        // A byte-order mark may come first.
        let mark = self.state == State::List && matches!(byte, 0xef | 0xbb | 0xbf);
        match self.state {
            State::Inside => self.inside(byte)?,
            _ if mark || byte.is_ascii_whitespace() => {}
            State::List if byte == b'[' => self.state = State::FirstItem,
            State::List => return Err(self.shape("a list is expected, which begins with `[`")),
            State::FirstItem | State::Comma if byte == b']' => self.state = State::End,
            State::Comma if byte == b',' => self.state = State::Item,
            State::Comma => return Err(self.shape("a `,` or `]` is expected after an item")),
            State::End => return Err(self.shape("there is more after the end of the list")),
            State::FirstItem | State::Item if matches!(byte, b',' | b']') => {
                return Err(self.shape("an item is missing at a `,`"));
            }
            State::FirstItem | State::Item => {
                self.begin = self.at;
                self.state = State::Inside;
                self.inside(byte)?;
            }
        }
        self.at.offset += 1;
        self.at.column += 1;
        if byte == b'\n' {
            self.at.line += 1;
            self.at.column = 1;
        }
        Ok(())
    }

    fn inside(&mut self, byte: u8) -> Result<(), ListError> {
        self.text = match (self.text, byte) {
            (Text::Outside, b'"') | (Text::Escaped, _) => Text::Inside,
            (Text::Inside, b'"') => Text::Outside,
            (Text::Inside, b'\\') => Text::Escaped,
            (text, _) => text,
        };
        match byte {
            b'{' | b'[' if self.text == Text::Outside => self.depth += 1,
            b'}' | b']' if self.text == Text::Outside => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.item.push(byte);
        if self.item.len() > LONGEST_ROW {
            let cause = "the item that begins here is longer than 64 MiB";
            return Err(ListError::Shape { line: self.begin.line, cause });
        }
        Ok(())
    }

    fn at_the_end(&self) -> Result<(), ListError> {
        match self.state {
            State::End => Ok(()),
            State::List => Err(self.shape("the file is empty")),
            State::Inside => {
                let cause = "the file ends inside the item that begins here";
                Err(ListError::Shape { line: self.begin.line, cause })
            }
            _ => Err(self.shape("the file ends before the list does: there is no `]`")),
        }
    }

    fn shape(&self, cause: &'static str) -> ListError {
        ListError::Shape { line: self.at.line, cause }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn items(text: &str, buffer: usize) -> Result<Vec<(ItemPosition, String)>, String> {
        let reader = io::BufReader::with_capacity(buffer, text.as_bytes());
        let mut list = JsonList::new(reader);
        let mut found = Vec::new();
        loop {
            match list.next() {
                Ok(Some((place, item))) => found.push((place, String::from_utf8_lossy(item).into_owned())),
                Ok(None) => return Ok(found),
                Err(ListError::Shape { line, cause }) => return Err(format!("{line}: {cause}")),
                Err(ListError::Read(error)) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn items_come_with_their_places() {
        let text = "\u{feff}[\n  {\"a\": \"]},\\\"\"},\n 7,[ [], {} ]\n]\n";
        let found = items(text, 3).unwrap();
        let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["{\"a\": \"]},\\\"\"}", "7", "[ [], {} ]"]);
        for (place, item) in &found {
            assert!(text[place.offset as usize..].starts_with(item.as_str()), "{place:?}");
        }
        assert_eq!((found[0].0.line, found[0].0.column, found[0].0.row), (2, 3, 1));
        assert_eq!((found[2].0.line, found[2].0.column, found[2].0.row), (3, 4, 3));
        assert_eq!(items(" [ ] ", 8).unwrap(), []);
    }

    #[test]
    fn what_is_no_list_is_reported_with_its_line() {
        for (text, said) in [
            ("", "1: the file is empty"),
            ("\n{\"a\": 1}\n", "2: a list is expected, which begins with `[`"),
            ("[1,\n2 3]", "2: a `,` or `]` is expected after an item"),
            ("[1,,2]", "1: an item is missing at a `,`"),
            ("[1,\n2", "2: the file ends inside the item that begins here"),
            ("[1,\n{\"a\": [1, 2]\n", "2: the file ends inside the item that begins here"),
            ("[{}\n", "2: the file ends before the list does: there is no `]`"),
            ("[1] x", "1: there is more after the end of the list"),
        ] {
            assert_eq!(items(text, 4).unwrap_err(), said, "{text:?}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC*|[\\\\\"\\]}\n]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC*", inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Checked against `serde_json`, which reads the list as a whole.
        #[test]
        fn every_list_falls_into_its_items(list in prop::collection::vec(json(), 0..5), buffer in 1_usize..64) {
            for text in [serde_json::to_string(&list).unwrap(), serde_json::to_string_pretty(&list).unwrap()] {
                let found = items(&text, buffer).unwrap();
                let read: Vec<Value> =
                    found.iter().map(|(_, item)| serde_json::from_str(item).unwrap()).collect();
                prop_assert_eq!(&read, &list);
            }
        }
    }
}

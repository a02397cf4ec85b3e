//! Foreign text made safe to show.

use crate::units::steers;

/// Makes everything visible that could steer a terminal or turn the direction of writing. What a server sends must not
/// write outside its place.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "a\x1b[2Jb\r\nc\u{9b}31m\u{202e}d\u{7}";
        assert_eq!(printable(hostile), r"a\u{1b}[2Jb\r\nc\u{9b}31m\u{202e}d\u{7}");
        let unseen = "a\u{fffe}\u{ffff}\u{61c}\u{ad}\u{180e}\u{2060}\u{2064}\u{e0041}é漢";
        let shown = r"a\u{fffe}\u{ffff}\u{61c}\u{ad}\u{180e}\u{2060}\u{2064}\u{e0041}é漢";
        assert_eq!(printable(unseen), shown);
    }
}

//! Lines within the width of a terminal: words stay whole, and so do commands, which people copy.

use console::measure_text_width;

/// Beginnings of lines of messages; what follows is indented as far.
const HEADS: [&str; 5] = ["error: ", "hint: ", "warning: ", "note: ", "report: "];
/// Indentation of a line that goes on from one without a head.
const HANGING: usize = 2;
/// Columns of the narrowest terminal on which lines are wrapped.
const NARROWEST: usize = 40;

/// Returns the words of `text` in lines of at most `room` columns. A longer word gets its own line.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    filled(text.split_whitespace(), room, room)
}

/// Returns a message's line as the lines that a terminal of so many columns shows. The later ones are indented. URLs,
/// paths, commands and what stands between backticks stay whole.
pub(super) fn message(line: &str, columns: usize) -> Vec<String> {
    if columns < NARROWEST || measure_text_width(line) <= columns {
        return vec![line.to_owned()];
    }
    let margin = line.len() - line.trim_start().len();
    let head = HEADS.iter().find(|head| line[margin..].starts_with(**head)).map_or(HANGING, |head| head.len());
    let indent = margin + head;
    let pieces = pieces(&line[margin..]);
    let lines = filled(pieces.iter().map(String::as_str), columns - margin, columns.saturating_sub(indent));
    let begin = std::iter::once(margin).chain(std::iter::repeat(indent));
    lines.into_iter().zip(begin).map(|(line, begin)| format!("{}{line}", " ".repeat(begin))).collect()
}

/// Puts `pieces` in lines, the first of at most `first` columns.
fn filled<'a>(pieces: impl Iterator<Item = &'a str>, first: usize, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        let room = if lines.len() > 1 { room } else { first };
        match lines.last_mut() {
            Some(line) if measure_text_width(line) + 1 + measure_text_width(piece) <= room => {
                line.push(' ');
                line.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    lines
}

/// Returns the words of a line, joined where they are one command. A command is from `skyline` or a backtick to its
/// end.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut ends: Option<fn(&str) -> bool> = None;
    for word in line.split(' ') {
        match (&mut pieces.last_mut(), ends) {
            (Some(piece), Some(_)) => {
                piece.push(' ');
                piece.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
        let opened = ends.is_none().then(|| end_of_command(word)).flatten();
        ends = ends.or(opened).filter(|ends| !ends(word));
    }
    pieces
}

/// Returns how a command ends that begins with this word; `None` where none begins.
fn end_of_command(word: &str) -> Option<fn(&str) -> bool> {
    match word {
        "skyline" => Some(|_| false),
        "(skyline" => Some(|word| word.ends_with(')')),
        _ if word.trim_start_matches('(').starts_with('`') => {
            Some(|word| word.trim_start_matches(['(', '`']).contains('`'))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_lines_within_their_room() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("one two three four", 8), ["one two", "three", "four"]);
        assert_eq!(wrapped("µµµµ µµµµ unbreakable", 9), ["µµµµ µµµµ", "unbreakable"]);
        assert!(wrapped("", 9).is_empty());
    }

    #[test]
    fn messages_go_on_below_their_first_word() {
        let line = "error: the server at http://127.0.0.1:8000/v1 refuses connections, again and again";
        let shown =
            ["error: the server at", "       http://127.0.0.1:8000/v1 refuses", "       connections, again and again"];
        assert_eq!(message(line, 40), shown);
        let listed = "  run 3, 25/s: p99 ttft < 200ms met, p95 e2e < 2s missed";
        assert_eq!(message(listed, 40), ["  run 3, 25/s: p99 ttft < 200ms met, p95", "    e2e < 2s missed"]);
    }

    #[test]
    fn what_fits_and_what_no_terminal_shows_stays_as_it_is() {
        let line = "two  columns   of a table that are as wide as the terminal";
        assert_eq!(message(line, line.len()), [line]);
        assert_eq!(message(line, NARROWEST - 1), [line]);
        // Colours take no room.
        let coloured = format!("\u{1b}[33m{}\u{1b}[0m", "x".repeat(40));
        assert_eq!(message(&coloured, 40), [coloured]);
    }

    #[test]
    fn commands_can_be_copied() {
        let line = "what was measured is stored; resume with: skyline sweep short_chat --resume results/a-b";
        let shown = ["what was measured is stored; resume with:", "  skyline sweep short_chat --resume results/a-b"];
        assert_eq!(message(line, 50), shown);
        let line = "saved to results/short_chat-mock-2026-01-01 (show it again: skyline report results/x)";
        assert_eq!(message(line, 60)[1], "  skyline report results/x)");
        let line = "hint: raise the limit of open files: `ulimit -n 6064` in the shell that starts it";
        assert_eq!(message(line, 44)[1], "      `ulimit -n 6064` in the shell that");
    }
}

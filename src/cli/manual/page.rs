//! A chapter as a terminal shows it: its tables in columns that fit the width, everything else as it is written.

use comfy_table::{ContentArrangement, LineStyle, Row, Table, TableStyle};

/// A table whose rows have a line each.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// A table with cells of several lines.
const RULED: TableStyle = PLAIN.row_separator(LineStyle::none().fill('─').junction('─'));

/// The chapter with its tables in at most `width` columns.
pub(super) fn page(chapter: &str, width: usize) -> String {
    let mut page = String::new();
    let mut rows = Vec::new();
    let mut in_code = false;
    for line in chapter.lines() {
        in_code ^= line.starts_with("```");
        if !in_code && line.starts_with('|') {
            rows.push(cells(line));
            continue;
        }
        page.push_str(&table(&std::mem::take(&mut rows), width));
        page.push_str(line);
        page.push('\n');
    }
    page + &table(&rows, width)
}

fn cells(row: &str) -> Vec<&str> {
    let row = row.strip_prefix('|').unwrap_or(row);
    row.strip_suffix('|').unwrap_or(row).split('|').map(str::trim).collect()
}

/// Returns the rows of a Markdown table in columns. They are under one another where not even their longest words fit.
fn table(rows: &[Vec<&str>], width: usize) -> String {
    let [titles, _rule, rows @ ..] = rows else { return String::new() };
    let widest = |column: usize, length: fn(&str) -> usize| {
        let cells = std::iter::once(titles).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| length(cell)).max().unwrap_or(0) + 2
    };
    let sum = |length| (0..titles.len()).map(|column| widest(column, length)).sum::<usize>();
    if sum(longest_word) > width {
        return rows.iter().map(|row| under_one_another(titles, row, width)).collect();
    }
    let mut table = arranged(if sum(|cell| cell.chars().count()) > width { RULED } else { PLAIN }, width);
    table.set_header(Row::from(titles.iter()));
    for row in rows {
        table.add_row(Row::from(row.iter()));
    }
    table.trim_fmt() + "\n"
}

fn longest_word(cell: &str) -> usize {
    cell.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

fn arranged(style: TableStyle, width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// A row as its name, and a line for each other column that has something.
fn under_one_another(titles: &[&str], row: &[&str], width: usize) -> String {
    let mut table = arranged(TableStyle::new(), width);
    for (title, cell) in titles.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
        table.add_row([format!(" {title}"), (*cell).to_owned()]);
    }
    let mut name = arranged(TableStyle::new(), width);
    name.add_row(row.first());
    format!("{}\n{}\n", name.trim_fmt(), table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::TOPICS;

    const CHAPTER: &str =
        "# One\n\n| name | what it is |\n|---|---|\n| a | one, two, three and four |\n| b | x |\n\nEnd.\n";

    #[test]
    fn a_table_that_fits_has_a_line_a_row() {
        let shown = "# One\n\n name   what it is\n─────────────────────────────────\n a      one, two, three and \
            four\n b      x\n\nEnd.\n";
        assert_eq!(page(CHAPTER, 80), shown);
    }

    #[test]
    fn a_wider_one_wraps_its_cells() {
        let page = page(CHAPTER, 24);
        assert!(page.lines().all(|line| line.chars().count() <= 24), "{page}");
        assert!(page.contains(" a      one, two, three\n        and four\n"), "{page}");
    }

    #[test]
    fn rows_stand_under_one_another_where_columns_do_not_fit() {
        let chapter = "| | first_tool | second_tool |\n|---|---|---|\n| server | `--url` | `--base-url` |\n";
        let shown = " server\n  first_tool   `--url`\n  second_tool  `--base-url`\n";
        assert_eq!(page(chapter, 30), shown);
    }

    #[test]
    fn code_stays_as_it_is() {
        let code = "```text\n| a | b |\n```\n";
        assert_eq!(page(code, 80), code);
    }

    #[test]
    fn no_table_of_the_guide_is_wider_than_a_terminal() {
        for topic in TOPICS {
            let page = page(topic.text, 80);
            let mut in_code = false;
            for line in page.lines() {
                in_code ^= line.starts_with("```");
                let is_link = line.contains("](https://");
                assert!(in_code || is_link || line.chars().count() <= 80, "{}: {line}", topic.name);
            }
        }
    }
}

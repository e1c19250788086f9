//! The blocks of a section in a mail: no line wider than the report, but for those of programs.

use super::wide_table::Names;
use super::{histogram, wrap};
use crate::doc::{Block, Cell, Details, Drawing, Item, Plot, Section};

/// What was printed last: decides where an empty line goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Title,
    Heading,
    Para,
    List,
    Table,
}

/// A section being printed.
struct Printer {
    out: String,
    width: usize,
    last: Last,
    names: Names,
}

/// A section.
pub(super) fn print(section: &Section<'_>, width: usize) -> String {
    let mut out = String::new();
    if let Some(timing) = &section.timing {
        out.push_str(&format!("[{timing}]\n"));
    }
    out.push_str(&wrap("", 2, &section.title, width));
    let mut printer = Printer {
        out,
        width,
        last: Last::Title,
        names: Names::default(),
    };
    printer.blocks(&section.blocks);
    printer.out
}

impl Printer {
    fn blocks(&mut self, blocks: &[Block<'_>]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Heading(text) | Block::Minor(text) => self.heading(text),
            Block::Para(text) => {
                self.begin(Last::Para);
                self.put("", 0, text);
            }
            Block::Published(text) => {
                self.begin(Last::List);
                self.put("  ", 4, text);
            }
            Block::List(items) => {
                self.begin(Last::List);
                self.items(items, 0);
            }
            Block::Facts(facts) => self.facts(facts),
            Block::Table(sheet) => {
                self.begin(Last::Table);
                let table = self.names.print(sheet, self.width);
                self.out.push_str(&table);
            }
            Block::Listing(lines) => {
                self.begin(Last::Table);
                for line in lines {
                    self.out.push_str(line.trim_end());
                    self.out.push('\n');
                }
            }
            Block::Plots(plots) => plots.iter().for_each(|plot| self.plot(plot)),
            Block::Beside(_, blocks) => self.blocks(blocks),
            Block::Details(details) => self.details(details),
            Block::Either { mail, .. } => self.blocks(mail),
        }
    }

    /// A histogram; other drawings repeat the numbers of their tables.
    fn plot(&mut self, plot: &Plot<'_>) {
        let Drawing::Histogram { rows, .. } = &plot.drawing else {
            return;
        };
        if let Some((lines, most)) = histogram::lines(rows, self.width) {
            let title = format!("{}: {}, @ is {:.0} %", plot.label, plot.unit, most * 100.0);
            self.heading(&title);
            for line in lines {
                self.out.push_str(line.trim_end());
                self.out.push('\n');
            }
            self.last = Last::Table;
        }
    }

    fn details(&mut self, details: &Details<'_>) {
        let rest = match details.rest.as_str() {
            "" => String::new(),
            rest => format!(" {rest}"),
        };
        self.heading(&format!("{}{rest}", details.summary));
        self.blocks(&details.blocks);
        self.last = Last::Table;
    }

    /// An empty line where what follows is another kind of thing.
    fn begin(&mut self, next: Last) {
        let together = matches!(
            (self.last, next),
            (
                Last::Title | Last::Heading,
                Last::Para | Last::List | Last::Table
            ) | (Last::Para | Last::List, Last::List)
        );
        if !together {
            self.out.push('\n');
        }
        self.last = next;
    }

    fn put(&mut self, first: &str, indent: usize, text: &str) {
        self.out.push_str(&wrap(first, indent, text, self.width));
    }

    fn heading(&mut self, text: &str) {
        self.begin(Last::Heading);
        self.put("", 2, text);
    }

    fn items(&mut self, items: &[Item], depth: usize) {
        let indent = 2 * depth;
        for item in items {
            let dash = match item.sign.as_str() {
                "" => "-",
                sign => sign,
            };
            let first = format!("{:indent$}{dash} ", "");
            let lead: Vec<&str> = item.lead.iter().map(|l| self.names.short(l)).collect();
            let text = match lead.as_slice() {
                [] => item.text.clone(),
                lead => format!("{}: {}", lead.join(", "), item.text),
            };
            self.put(&first, first.chars().count(), &text);
            self.items(&item.children, depth + 1);
        }
    }

    fn facts(&mut self, facts: &[(Cell, Cell)]) {
        self.begin(Last::Para);
        let name = |cell: &Cell| cell.lines.join(" ");
        let widest = facts.iter().map(|(n, _)| name(n).chars().count()).max();
        let width = widest.unwrap_or(0).min(self.width / 3);
        for (cell, value) in facts {
            let first = format!("  {:width$}  ", name(cell));
            self.put(&first, width + 4, &value.lines.join(" "));
        }
        self.last = Last::Table;
    }
}

//! The blocks of a section on the page. All text is escaped here.

use words::escape_xml as escape;

use super::{growth_plot, histogram, plot};
use crate::doc::{
    Block, Cell, Column, Details, Drawing, Item, Plot, Row, Section, Sheet, Tone, shared,
};

/// A table with more columns is set smaller on paper, which cannot be scrolled.
const BROAD: usize = 8;

/// A section.
pub(super) fn print(section: &Section<'_>) -> String {
    let mut printer = Printer {
        out: String::new(),
        timing: section.timing.as_deref().map(escape),
    };
    let id = escape(&section.id);
    let class = id.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    printer.put(&format!("<section id=\"{id}\" class=\"{class}\">"));
    printer.heading("h2", &section.title);
    printer.blocks(&section.blocks);
    printer.put("</section>\n");
    printer.out
}

struct Printer {
    out: String,
    /// The tag of every heading, escaped.
    timing: Option<String>,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn heading(&mut self, element: &str, text: &str) {
        let timing = self.timing.as_ref();
        let timing = timing.map_or(String::new(), |tag| format!(" <small>[{tag}]</small>"));
        self.put(&format!(
            "<{element}>{}{timing}</{element}>\n",
            escape(text)
        ));
    }

    fn blocks(&mut self, blocks: &[Block<'_>]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Heading(text) => self.heading("h3", text),
            Block::Minor(text) => self.heading("h4", text),
            Block::Para(text) => self.put(&format!("<p class=\"sub\">{}</p>\n", escape(text))),
            Block::Published(text) => {
                self.put(&format!("<p class=\"theirs\">{}</p>\n", escape(text)));
            }
            Block::List(items) => {
                self.put("<ul class=\"warnings\">");
                self.items(items);
                self.put("</ul>\n");
            }
            Block::Facts(facts) => self.facts(facts),
            Block::Table(sheet) => self.table(sheet),
            Block::Listing(lines) => self.listing(lines),
            Block::Plots(plots) => {
                self.put("<div class=\"plots\">\n");
                for plot in plots {
                    self.plot(plot);
                }
                self.put("</div>\n");
            }
            Block::Beside(plot, blocks) => {
                self.put("<div class=\"curve\">\n");
                self.plot(plot);
                self.put("<div>\n");
                self.blocks(blocks);
                self.put("</div>\n</div>\n");
            }
            Block::Details(details) => self.details(details),
            Block::Either { full, .. } => self.blocks(full),
        }
    }

    fn details(&mut self, details: &Details<'_>) {
        let id = match details.id.as_str() {
            "" => String::new(),
            id => format!(" id=\"{}\"", escape(id)),
        };
        let open = if details.open { " open" } else { "" };
        self.put(&format!(
            "<details class=\"part\"{id}{open}><summary><b>{}</b> {}</summary>\n",
            escape(&details.summary),
            escape(&details.rest)
        ));
        self.blocks(&details.blocks);
        self.put("</details>\n");
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.put("<li>");
            if !item.sign.is_empty() {
                self.put(&format!(
                    "<span class=\"sign\">{}</span> ",
                    escape(&item.sign)
                ));
            }
            if !item.lead.is_empty() {
                self.put(&format!("<b>{}</b>: ", escape(&item.lead.join(", "))));
            }
            self.put(&escape(&item.text));
            if !item.children.is_empty() {
                let fold = item.fold.map(|open| if open { " open" } else { "" });
                if let Some(open) = fold {
                    self.put(&format!("<details{open}><summary>which</summary>"));
                }
                self.put("<ul>");
                self.items(&item.children);
                self.put("</ul>");
                self.put(if fold.is_some() { "</details>" } else { "" });
            }
            self.put("</li>\n");
        }
    }

    fn facts(&mut self, facts: &[(Cell, Cell)]) {
        self.put("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Facts\">\n");
        self.put("<table class=\"cases\"><tbody>\n");
        for (name, value) in facts {
            self.put("<tr>");
            self.cell("th scope=\"row\"", name, &[]);
            self.cell("td", value, &[]);
            self.put("</tr>\n");
        }
        self.put("</tbody></table></div>\n");
    }

    fn listing(&mut self, lines: &[String]) {
        let lines = lines.iter().flat_map(|line| line.split(['\n', '\r']));
        let lines: Vec<String> = lines.map(escape).collect();
        self.put("<pre class=\"rows\" tabindex=\"0\">");
        self.put(&lines.join("\n"));
        self.put("</pre>\n");
    }

    fn plot(&mut self, plot: &Plot<'_>) {
        let few = match plot.few.as_str() {
            "" => String::new(),
            few => format!(" <span class=\"few\">{}</span>", escape(few)),
        };
        self.put("<figure>");
        if !plot.label.is_empty() {
            self.put(&format!(
                "<figcaption><b>{}</b> {} <span class=\"clock\">{}</span>{few}</figcaption>",
                escape(&plot.label),
                escape(&plot.unit),
                plot.clock
            ));
        }
        let drawn = match &plot.drawing {
            Drawing::Row(table, row) => plot::row(table, row, plot.reach),
            Drawing::Places(places) => plot::row(&places.0, &places.1, plot.reach),
            Drawing::Law(growth, curve) => growth_plot::curve(growth, curve),
            Drawing::Histogram { rows, all } => histogram::plot(rows, all),
        };
        self.put(&drawn);
        self.put("</figure>\n");
    }

    fn table(&mut self, sheet: &Sheet) {
        let grouped = sheet.rows.iter().any(|row| row.group.is_some());
        // The title of a group says more than the label that stands for it elsewhere.
        let first = usize::from(grouped);
        let columns = sheet.columns.get(first..).unwrap_or_default();
        self.put(&format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n",
            escape(&sheet.about)
        ));
        let broad = columns.len() > BROAD;
        let class = match (sheet.class, broad) {
            ("", false) => String::new(),
            ("", true) => " class=\"broad\"".to_owned(),
            (class, false) => format!(" class=\"{class}\""),
            (class, true) => format!(" class=\"{class} broad\""),
        };
        self.put(&format!("<table{class}><thead>"));
        for level in 0..sheet.depth() {
            self.put("<tr>");
            for (text, n) in shared(columns, level) {
                self.shared(text, n);
            }
            self.put("</tr>\n");
        }
        self.put("<tr>");
        for column in columns {
            self.head(column);
        }
        self.put("</tr></thead>\n<tbody>\n");
        let mut group = None;
        for row in &sheet.rows {
            if row.group.is_some() && row.group != group {
                group.clone_from(&row.group);
                self.put(&format!(
                    "</tbody><tbody><tr><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                    columns.len(),
                    escape(row.group.as_deref().unwrap_or_default())
                ));
            }
            self.row(sheet, first, row);
        }
        self.put("</tbody></table></div>\n");
    }

    /// A head above those of `n` columns; without words it is no head.
    fn shared(&mut self, text: &str, n: usize) {
        let span = match n {
            1 => String::new(),
            n => format!(" colspan=\"{n}\""),
        };
        self.put(&match text {
            "" => format!("<td{span}></td>"),
            text => format!(
                "<th scope=\"colgroup\" class=\"shared\"{span}>{}</th>",
                escape(text)
            ),
        });
    }

    fn head(&mut self, column: &Column) {
        let class = classes([!column.words, false, column.published], Tone::Plain);
        let unit = match column.unit.as_str() {
            "" => String::new(),
            unit => format!("<br><span class=\"unit\">{}</span>", escape(unit)),
        };
        self.put(&format!(
            "<th scope=\"col\"{class}>{}{unit}</th>",
            escape(&column.head)
        ));
    }

    fn row(&mut self, sheet: &Sheet, first: usize, row: &Row) {
        self.put(if row.bad {
            "<tr class=\"fails\">"
        } else {
            "<tr>"
        });
        let cells = row.cells.iter().zip(&sheet.columns).enumerate().skip(first);
        for (at, (cell, column)) in cells {
            let flags = [!column.words, !cell.signs.is_empty(), column.published];
            let element = if at < sheet.labels {
                "th scope=\"row\""
            } else {
                "td"
            };
            self.cell(element, cell, &flags);
        }
        self.put("</tr>\n");
        if !row.below.is_empty() {
            self.put(&format!(
                "<tr><td class=\"theirs\" colspan=\"{}\">{}</td></tr>\n",
                sheet.columns.len() - first,
                escape(&row.below)
            ));
        }
    }

    /// A cell; the flags are those of [`classes`].
    fn cell(&mut self, element: &str, cell: &Cell, flags: &[bool]) {
        let flags = <[bool; 3]>::try_from(flags).unwrap_or_default();
        let hover = match cell.hover.as_str() {
            "" => String::new(),
            hover => format!(" title=\"{}\"", escape(hover)),
        };
        let heat = cell.heat.map_or(String::new(), |log| {
            // A tenth, a quarter, a half, twice and four times as fast.
            let edges = [1.1_f64, 1.25, 1.5, 2.0, 4.0];
            let degree = edges.iter().filter(|edge| log >= edge.ln()).count();
            format!(" data-heat=\"{degree}\"")
        });
        self.put(&format!(
            "<{element}{}{heat}{hover}>",
            classes(flags, cell.tone)
        ));
        for (at, line) in cell.lines.iter().enumerate() {
            self.put(if at > 0 { "<br>" } else { "" });
            self.put(&escape(line));
            if at == 0 {
                self.marks(cell);
            }
        }
        if !cell.small.is_empty() {
            self.put(&format!(
                "<br><span class=\"unit\">{}</span>",
                escape(&cell.small)
            ));
        }
        if !cell.bars.is_empty() {
            self.bars(&cell.bars);
        }
        for (summary, blocks) in &cell.fold {
            self.put(&format!("<details><summary>{}</summary>", escape(summary)));
            self.blocks(blocks);
            self.put("</details>");
        }
        let (name, _) = element.split_once(' ').unwrap_or((element, ""));
        self.put(&format!("</{name}>"));
    }

    /// Marks and the footnote after a number.
    fn marks(&mut self, cell: &Cell) {
        if !cell.signs.is_empty() {
            self.put(&format!(
                " <span class=\"sign\">{}</span>",
                escape(&cell.signs)
            ));
        }
        if let Some((number, anchor)) = &cell.note {
            self.put(&format!(
                " <a class=\"note\" href=\"#{}\">[{number}]</a>",
                escape(anchor)
            ));
        }
    }

    fn bars(&mut self, shares: &[f64]) {
        self.put(
            "<svg class=\"share\" width=\"80\" height=\"8\" viewBox=\"0 0 100 8\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        );
        for (at, share) in shares.iter().enumerate() {
            let pale = if at + 1 < shares.len() {
                " opacity=\"0.45\""
            } else {
                ""
            };
            self.put(&format!(
                "<rect width=\"{:.1}\" height=\"8\"{pale}/>",
                100.0 * share
            ));
        }
        self.put("</svg>");
    }
}

/// Classes of a cell: whether it is a number, is in doubt, was published by others; and what it means.
fn classes([number, doubtful, published]: [bool; 3], tone: Tone) -> String {
    let tone = match tone {
        Tone::Plain => "",
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Neutral => "none",
        Tone::Bad => "bad",
        Tone::Code => "code",
    };
    let all = [
        if number { "num" } else { "" },
        if doubtful { "doubtful" } else { "" },
        if published { "theirs" } else { "" },
        tone,
    ];
    let all: Vec<&str> = all.into_iter().filter(|class| !class.is_empty()).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" class=\"{}\"", all.join(" "))
    }
}

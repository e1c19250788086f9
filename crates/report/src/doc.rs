//! A report's document: sections of blocks, without a word about how they are printed.
//!
//! Each subject (the members of an array, a law of growth, ...) builds its [`Section`]s once. The mail,
//! Markdown and the page then print blocks, so no format can know less than another. A renderer knows
//! no subject; a subject knows no format. Three things differ between formats, and a block says them:
//! what a mail has another form of ([`Block::Either`]), what a narrow mail may leave out
//! ([`Column::rank`]), and how a number is written where there is little room ([`Cell::brief`]).
//!
//! The tables of the five original messages are not drawn from blocks in a mail: they are set by hand
//! to the column ([`Scope::HandSetInMail`]).

use crate::growth::{Curve, Growth};
use crate::latency;
use crate::model::{self, Difference, Versus};
use crate::numbers::{range, ratio};

/// One subject of a report, or a part of it with a heading of its own.
#[derive(Debug, Default)]
pub(crate) struct Section<'a> {
    /// Anchor of the page; names the section wherever one is selected.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Short heading for lists of sections; empty: the title.
    pub nav: String,
    /// What must be known of every time in it: `times emulated (User-mode Linux)`.
    pub timing: Option<String>,
    /// Which formats print it.
    pub scope: Scope,
    /// Its content.
    pub blocks: Vec<Block<'a>>,
}

/// Which formats print a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that print sections.
    #[default]
    All,
    /// Markdown and the page; the mail has it in a layout of its own.
    HandSetInMail,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub(crate) enum Block<'a> {
    /// A heading inside the section.
    Heading(String),
    /// A heading below [`Block::Heading`].
    Minor(String),
    /// A paragraph.
    Para(String),
    /// A sentence of what others published.
    Published(String),
    /// Items.
    List(Vec<Item>),
    /// Names with their values.
    Facts(Vec<(Cell, Cell)>),
    /// A table.
    Table(Sheet),
    /// Lines of a program, printed as they are.
    Listing(Vec<String>),
    /// Drawings, side by side, on the page; a mail has the histograms alone.
    Plots(Vec<Plot<'a>>),
    /// A drawing with the blocks that explain it.
    Beside(Plot<'a>, Vec<Block<'a>>),
    /// Blocks that a reader may fold away.
    Details(Details<'a>),
    /// One content in two forms.
    Either {
        /// For formats with room, and parts that fold: the page and Markdown.
        full: Vec<Block<'a>>,
        /// For a mail.
        mail: Vec<Block<'a>>,
    },
}

/// Blocks with a line that is shown in their place while they are folded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details<'a> {
    /// The line.
    pub summary: String,
    /// The end of the line, without emphasis; may be empty.
    pub rest: String,
    /// Anchor; empty: none.
    pub id: String,
    /// Whether they are unfolded at first.
    pub open: bool,
    /// The blocks.
    pub blocks: Vec<Block<'a>>,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    /// Mark of a doubt; may be empty.
    pub sign: String,
    /// What the item is about, emphasised, with a colon after it; may be empty.
    pub lead: Vec<String>,
    /// The text.
    pub text: String,
    /// Items below it.
    pub children: Vec<Item>,
    /// Whether the children can be folded away, and are unfolded at first.
    pub fold: Option<bool>,
}

/// A table: rows of labels and figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    /// What it holds, for readers who do not see it.
    pub about: String,
    /// All columns, those of the labels first.
    pub columns: Vec<Column>,
    /// How many columns are labels.
    pub labels: usize,
    /// Rows.
    pub rows: Vec<Row>,
    /// Whether a mail sets it as the message of 2008: figures to the left, heads underlined.
    pub ruled: bool,
    /// Class on the page.
    pub class: &'static str,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    /// Head.
    pub head: String,
    /// Heads above it, the outermost first, which it may share with its neighbours.
    pub above: Vec<String>,
    /// Second line of the head: the unit, the clock; may be empty.
    pub unit: String,
    /// Whether its cells are words rather than figures.
    pub words: bool,
    /// 0: always printed. Otherwise a mail that is too narrow leaves out the columns of the highest
    /// rank first.
    pub rank: u8,
    /// Whether its figures were published by others.
    pub published: bool,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Title of the group of rows it belongs to; its first label names the group shortly.
    pub group: Option<String>,
    /// One cell for each column.
    pub cells: Vec<Cell>,
    /// A published sentence below the row; may be empty.
    pub below: String,
    /// Whether something speaks against all of it.
    pub bad: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Its lines, below each other.
    pub lines: Vec<String>,
    /// Marks of doubts after the first line.
    pub signs: String,
    /// Number and anchor of its footnote.
    pub note: Option<(usize, String)>,
    /// A last line in small print: interval, number of values.
    pub small: String,
    /// The same in few characters, for a mail; none: as it is.
    pub brief: Option<Vec<String>>,
    /// What it means.
    pub tone: Tone,
    /// Logarithm of a ratio, without its sign: how strongly the page shades the cell; none: not at all.
    pub heat: Option<f64>,
    /// More words, where a reader can ask for them.
    pub hover: String,
    /// Shares of 1 drawn as bars over each other, the longest first.
    pub bars: Vec<f64>,
    /// What can be unfolded below it, each with its summary.
    pub fold: Vec<(String, Vec<Block<'static>>)>,
}

/// What a figure means for its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// Better than the base.
    Better,
    /// Worse than the base.
    Worse,
    /// Compared, and no difference that counts.
    Neutral,
    /// A failure.
    Bad,
    /// Text of a file or a program.
    Code,
}

/// A drawing with its caption.
#[derive(Clone, Debug)]
pub(crate) struct Plot<'a> {
    /// What it shows.
    pub label: String,
    /// Unit of its axis.
    pub unit: String,
    /// Clock of its values.
    pub clock: &'static str,
    /// A warning about the number of values; may be empty.
    pub few: String,
    /// A value that the axis must reach, so that plots that are compared share it; 0: their own values alone.
    pub reach: f64,
    /// What is drawn.
    pub drawing: Drawing<'a>,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) enum Drawing<'a> {
    /// Bars of one row of a table.
    Row(&'a model::Table, &'a model::Row),
    /// Bars of places of a grid, as a table of one row.
    Places(Box<(model::Table, model::Row)>),
    /// A law of growth.
    Law(&'a Growth, &'a Curve),
    /// Histograms of latencies over each other, at most six.
    Histogram {
        /// The cells of this plot.
        rows: Vec<&'a latency::Row>,
        /// Those of all plots of the same operation, which share their axes.
        all: Vec<&'a latency::Row>,
    },
}

impl Section<'_> {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Section {
            id: id.into(),
            title: title.into(),
            ..Section::default()
        }
    }

    /// The same with a short heading for lists of sections.
    pub(crate) fn nav(mut self, nav: impl Into<String>) -> Self {
        self.nav = nav.into();
        self
    }

    /// The same in these formats.
    pub(crate) fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}

impl Block<'_> {
    /// A list of notes; nothing without any.
    pub(crate) fn notes<'n>(notes: impl IntoIterator<Item = &'n String>) -> Option<Self> {
        let items: Vec<Item> = notes.into_iter().map(|note| Item::note(note)).collect();
        (!items.is_empty()).then_some(Block::List(items))
    }
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item {
            text,
            ..Item::default()
        }
    }
}

impl Item {
    /// An item with what it is about.
    pub(crate) fn about(lead: impl Into<String>, text: impl Into<String>) -> Item {
        Item {
            lead: vec![lead.into()],
            text: text.into(),
            ..Item::default()
        }
    }

    /// A note.
    pub(crate) fn note(text: &str) -> Item {
        Item::from(format!("note: {text}"))
    }

    /// The same with a mark of a doubt.
    pub(crate) fn sign(mut self, sign: impl Into<String>) -> Item {
        self.sign = sign.into();
        self
    }
}

impl Column {
    /// A column of figures.
    pub(crate) fn figures(head: impl Into<String>) -> Column {
        Column {
            head: head.into(),
            ..Column::default()
        }
    }

    /// A column of words.
    pub(crate) fn words(head: impl Into<String>) -> Column {
        Column {
            words: true,
            ..Column::figures(head)
        }
    }

    /// The same below other heads, which it may share with its neighbours.
    pub(crate) fn below(mut self, above: &[String]) -> Column {
        self.above = above.to_vec();
        self
    }

    /// The same with a unit below the head.
    pub(crate) fn unit(mut self, unit: impl Into<String>) -> Column {
        self.unit = unit.into();
        self
    }

    /// The same with a rank: see [`Column::rank`].
    pub(crate) fn rank(mut self, rank: u8) -> Column {
        self.rank = rank;
        self
    }

    /// The same as a column of published figures.
    pub(crate) fn published(mut self) -> Column {
        self.published = true;
        self
    }
}

impl Row {
    pub(crate) fn new(cells: impl IntoIterator<Item = Cell>) -> Row {
        Row {
            cells: cells.into_iter().collect(),
            ..Row::default()
        }
    }

    /// A row of plain texts.
    pub(crate) fn texts(texts: impl IntoIterator<Item = String>) -> Row {
        Row::new(texts.into_iter().map(Cell::from))
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell {
            lines: vec![text],
            ..Cell::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_owned().into()
    }
}

impl Cell {
    /// The same with marks of doubts.
    pub(crate) fn signs(mut self, signs: impl Into<String>) -> Cell {
        self.signs = signs.into();
        self
    }

    /// The same with a meaning.
    pub(crate) fn tone(mut self, tone: Tone) -> Cell {
        self.tone = tone;
        self
    }

    /// The same with more words for who asks.
    pub(crate) fn hover(mut self, hover: impl Into<String>) -> Cell {
        self.hover = hover.into();
        self
    }
}

impl Tone {
    /// Of a comparison; plain where nothing was compared.
    pub(crate) fn of(difference: Option<Difference>) -> Tone {
        match difference {
            None => Tone::Plain,
            Some(Difference::Better | Difference::Higher) => Tone::Better,
            Some(Difference::Worse | Difference::Lower) => Tone::Worse,
            Some(Difference::Unclear | Difference::Same) => Tone::Neutral,
        }
    }
}

/// A comparison as two cells: the ratio, then its interval and its sign.
pub(crate) fn compared(versus: Option<&Versus>) -> [Cell; 2] {
    let Some(versus) = versus else {
        return ["-".into(), "".into()];
    };
    let interval = versus.interval;
    let interval = interval.map_or(String::new(), |(low, high)| range(low, high, ratio) + " ");
    let tone = Tone::of(Some(versus.difference));
    [
        Cell::from(ratio(versus.ratio)).tone(tone),
        Cell::from(format!("{interval}{}", versus.sign())).tone(tone),
    ]
}

/// Runs of neighbouring columns that share a head above their own, with its text; `level` 0 is the outermost.
pub(crate) fn shared(columns: &[Column], level: usize) -> Vec<(&str, usize)> {
    let mut runs: Vec<(&str, usize)> = Vec::new();
    let mut before: Option<&[String]> = None;
    for column in columns {
        let path = column.above.get(..=level);
        match runs.last_mut() {
            Some((_, n)) if path.is_some() && path == before => *n += 1,
            _ => runs.push((column.above.get(level).map_or("", String::as_str), 1)),
        }
        before = path;
    }
    runs
}

impl Sheet {
    /// Heads above those of the columns.
    pub(crate) fn depth(&self) -> usize {
        let above = self.columns.iter().map(|column| column.above.len());
        above.max().unwrap_or(0)
    }

    /// A table with one column of labels.
    pub(crate) fn new(
        about: impl Into<String>,
        label: impl Into<String>,
        columns: impl IntoIterator<Item = Column>,
    ) -> Sheet {
        let label = Column::words(label);
        Sheet {
            about: about.into(),
            columns: std::iter::once(label).chain(columns).collect(),
            labels: 1,
            ..Sheet::default()
        }
    }

    /// The same with these rows.
    pub(crate) fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Sheet {
        self.rows = rows.into_iter().collect();
        self
    }

    /// The same with a class on the page.
    pub(crate) fn class(mut self, class: &'static str) -> Sheet {
        self.class = class;
        self
    }
}

//! Checks what a report refers to: tables, grids and growth laws against what the study measures.
//!
//! A mistake here would show only when the run is over, as an empty cell; so factors, levels and
//! phases are looked up when the file is read. They are looked up in all profiles together: a
//! profile may leave levels out, and what it leaves out is dropped from its plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Problem, quote};
use crate::expand::Expansion;
use crate::file::{CHECK_PHASES, phases};
use crate::model::{Cell, GridColumn, GridSpec, GrowthSpec, Plan, TableSpec};
use crate::node::{Node, Table};
use crate::validate::Kinds;
use words::hint;

/// `x` of a growth law that is no factor: files really counted.
const COUNT: &str = "count";
/// Label column of a grid that is no factor: the release of the running kernel.
const KERNEL: &str = "kernel";

/// Names that a study has in any of its profiles.
pub(crate) struct StudyNames {
    /// Factors and levels; a factor may come several times.
    pub(crate) factors: Vec<(String, Vec<String>)>,
    kinds: Kinds,
    /// Whether a check may follow the workloads.
    check: bool,
}

impl StudyNames {
    pub(crate) fn new(root: &Node) -> StudyNames {
        let empty = Table::default();
        let profiles = root.find(&["profile"]).and_then(Node::as_table);
        let profiles = profiles.into_iter().flat_map(Table::iter);
        let mut all = std::iter::once(root).chain(profiles.map(|(_, profile)| profile));
        StudyNames {
            factors: Vec::new(),
            kinds: Kinds::of(root.as_table().unwrap_or(&empty)),
            check: all.any(|tree| tree.find(&["check"]).is_some()),
        }
    }

    fn names(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.factors.iter().map(|(name, _)| name.as_str()).collect();
        names.into_iter().collect()
    }

    fn levels(&self, factor: &str) -> Vec<&str> {
        let known = self.factors.iter().filter(|(name, _)| name == factor);
        let levels: BTreeSet<&str> = known
            .flat_map(|(_, levels)| levels.iter().map(String::as_str))
            .collect();
        levels.into_iter().collect()
    }

    /// Phases that cells with these levels can have.
    fn phases(&self, filters: &[&BTreeMap<String, String>]) -> Vec<&'static str> {
        let asked = filters.iter().find_map(|filter| filter.get("workload"));
        let own = self.kinds.iter();
        let own = own.filter(|(name, _)| asked.is_none_or(|asked| asked == name));
        let own = own.flat_map(|(_, kind)| phases(kind).iter().copied());
        let check: &[&str] = if self.check { CHECK_PHASES } else { &[] };
        let mut all: Vec<&str> = Vec::new();
        for phase in own.chain(check.iter().copied()) {
            if !all.contains(&phase) {
                all.push(phase);
            }
        }
        all
    }
}

/// Collects the problems of one table, grid or law.
struct ReferenceCheck<'a> {
    node: &'a Node,
    known: &'a StudyNames,
    problems: Vec<Problem>,
}

impl<'a> ReferenceCheck<'a> {
    fn new(node: &'a Node, known: &'a StudyNames) -> ReferenceCheck<'a> {
        ReferenceCheck {
            node,
            known,
            problems: Vec::new(),
        }
    }

    fn complain(&mut self, node: Option<&Node>, message: String) {
        let at = node.unwrap_or(self.node);
        self.problems.push(Problem::new(&at.at, message));
    }

    /// A factor by its name, or one of the words that may stand for one.
    fn factor(&mut self, node: Option<&Node>, name: &str, words: &[&str]) {
        let names = self.known.names();
        if names.contains(&name) || words.contains(&name) {
            return;
        }
        let known: Vec<&str> = names.into_iter().chain(words.iter().copied()).collect();
        let near = hint(name, known.iter().copied());
        let message = format!(
            "{} is not a factor ({near}{})",
            quote(name),
            known.join(", ")
        );
        self.complain(node, message);
    }

    /// The first mistake of a `where`.
    fn filter(&mut self, node: Option<&Node>, filter: &BTreeMap<String, String>) {
        for (factor, level) in filter {
            let at = node.and_then(|node| node.find(&["where", factor]));
            let known = self.known.levels(factor);
            let message = if known.is_empty() {
                let names = self.known.names();
                let near = hint(factor, names.iter().copied());
                format!("no such factor ({near}{})", names.join(", "))
            } else if known.contains(&level.as_str()) {
                continue;
            } else {
                let near = hint(level, known.iter().copied());
                let (level, known) = (quote(level), known.join(", "));
                format!("{level} is not a level of {factor} ({near}{known})")
            };
            return self.complain(at, message);
        }
    }

    fn phase(&mut self, node: Option<&Node>, phase: &str, filters: &[&BTreeMap<String, String>]) {
        let possible = self.known.phases(filters);
        if possible.contains(&phase) {
            return;
        }
        let near = hint(phase, possible.iter().copied());
        let phase = quote(phase);
        let one = filters.iter().any(|filter| filter.contains_key("workload"));
        let whose = if one {
            "this workload"
        } else {
            "these workloads"
        };
        let message = format!(
            "{phase} is not a phase of {whose} ({near}{})",
            possible.join(", ")
        );
        self.complain(node.and_then(|node| node.find(&["phase"])), message);
    }
}

/// What the tables, grids and laws of a profile ask for and no profile has.
pub(crate) fn problems(tree: &Node, all: &Expansion, known: &StudyNames) -> Vec<Problem> {
    let nodes = |key: &str| {
        let list = tree.find(&[key]).and_then(Node::as_list);
        list.unwrap_or_default().iter()
    };
    let tables = nodes("table").zip(&all.tables);
    let grids = nodes("grid").zip(&all.grids);
    let laws = nodes("growth").zip(&all.growth);
    let mut problems = Vec::new();
    problems.extend(tables.flat_map(|(node, table)| of_table(table, node, known)));
    problems.extend(grids.flat_map(|(node, grid)| of_grid(grid, node, known)));
    problems.extend(laws.flat_map(|(node, law)| of_law(law, node, known)));
    problems
}

/// Elements of a list below a node.
fn items<'a>(node: &'a Node, key: &str) -> &'a [Node] {
    node.find(&[key])
        .and_then(Node::as_list)
        .unwrap_or_default()
}

fn of_table(table: &TableSpec, node: &Node, known: &StudyNames) -> Vec<Problem> {
    let mut asked = ReferenceCheck::new(node, known);
    asked.factor(node.find(&["columns"]), &table.columns, &[]);
    if asked.problems.is_empty() {
        asked.filter(Some(node), &table.filter);
    }
    if asked.problems.is_empty() {
        for (row, node) in table.rows.iter().zip(items(node, "rows")) {
            asked.phase(Some(node), &row.phase, &[&table.filter]);
        }
    }
    asked.problems
}

fn of_grid(grid: &GridSpec, node: &Node, known: &StudyNames) -> Vec<Problem> {
    let mut asked = ReferenceCheck::new(node, known);
    if let Some(heading) = &grid.heading {
        asked.factor(node.find(&["heading"]), heading, &[]);
    }
    if grid.rows.is_empty() {
        let message = "no rows are given (as in [{ factor = \"files\", label = \"Files\" }])";
        asked.complain(node.find(&["rows"]), message.to_owned());
    }
    for (row, node) in grid.rows.iter().zip(items(node, "rows")) {
        asked.factor(node.find(&["factor"]), &row.factor, &[KERNEL]);
    }
    asked.filter(Some(node), &grid.filter);
    if asked.problems.is_empty() {
        for (column, node) in grid.columns.iter().zip(items(node, "columns")) {
            asked.filter(Some(node), &column.filter);
            asked.phase(Some(node), &column.phase, &[&column.filter, &grid.filter]);
        }
    }
    asked.problems
}

fn of_law(law: &GrowthSpec, node: &Node, known: &StudyNames) -> Vec<Problem> {
    let mut asked = ReferenceCheck::new(node, known);
    asked.factor(node.find(&["x"]), &law.x, &[COUNT]);
    for (factor, node) in law.by.iter().zip(items(node, "by")) {
        asked.factor(Some(node), factor, &[]);
    }
    for (x, node) in law.projections.iter().zip(items(node, "projections")) {
        if !(x.is_finite() && *x > 0.0) {
            let message = format!(
                "{} is not a number to project to (more than 0)",
                node.show()
            );
            asked.complain(Some(node), message);
        }
    }
    asked.filter(Some(node), &law.filter);
    if asked.problems.is_empty() {
        asked.phase(Some(node), &law.phase, &[&law.filter]);
    }
    asked.problems
}

/// Whether a cell has all these levels.
fn has(cell: &Cell, filter: &BTreeMap<String, String>) -> bool {
    let mut filter = filter.iter();
    filter.all(|(factor, level)| cell.levels.get(factor) == Some(level))
}

impl TableSpec {
    /// Whether a cell belongs into this table.
    pub fn holds(&self, cell: &Cell) -> bool {
        cell.levels.contains_key(&self.columns) && has(cell, &self.filter)
    }
}

impl GridSpec {
    /// Whether a cell has a row in this grid: it has the grid's levels and every factor of its
    /// rows and its heading.
    pub fn holds(&self, cell: &Cell) -> bool {
        let rows = self.rows.iter().map(|row| &row.factor);
        let mut factors = rows.filter(|name| *name != KERNEL).chain(&self.heading);
        factors.all(|factor| cell.levels.contains_key(factor)) && has(cell, &self.filter)
    }
}

impl GridColumn {
    /// Whether a cell that its grid holds gives this column's figure.
    pub fn holds(&self, cell: &Cell) -> bool {
        has(cell, &self.filter)
    }
}

impl GrowthSpec {
    /// Whether a cell gives a point of this law.
    pub fn holds(&self, cell: &Cell) -> bool {
        let x = (self.x != COUNT).then_some(&self.x);
        let mut factors = self.by.iter().chain(x);
        factors.all(|factor| cell.levels.contains_key(factor)) && has(cell, &self.filter)
    }
}

impl Plan {
    /// The same plan without tables, grids, columns and laws that none of its cells can fill.
    pub(crate) fn without_idle_asks(mut self) -> Plan {
        let cells = &self.cells;
        self.tables
            .retain(|table| cells.iter().any(|cell| table.holds(cell)));
        for grid in &mut self.grids {
            let held: Vec<&Cell> = cells.iter().filter(|cell| grid.holds(cell)).collect();
            grid.columns
                .retain(|column| held.iter().any(|cell| column.holds(cell)));
        }
        self.grids.retain(|grid| !grid.columns.is_empty());
        self.growth
            .retain(|law| cells.iter().any(|cell| law.holds(cell)));
        self
    }
}

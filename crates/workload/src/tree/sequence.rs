//! Which operation hits which tree: compilebench's state machine, run without a filesystem.
//!
//! The sequence hangs on the seed 555 alone, not on what the filesystem does, so it is worked out
//! before anything is written; the run then only executes it. Trees live in four dictionaries by
//! state, and drawing from them follows CPython 2 ([`super::pydict`]), so the trees have the same
//! names as in the original, and the same operation meets a tree of the same age.
//!
//! Before the first draw the generator has shuffled the names of the compile set, which takes one
//! draw less than it has names. [`STANDARD_SHUFFLE`] is that number for the original data sets;
//! generated and scaled sets use it too, so the sequence is compilebench's own at any scale.

use std::collections::HashSet;

use super::pydict::{PyDict, string_hash};
use super::random::Random;
pub use super::step::{Action, Row, State, Step};

/// compilebench's seed.
pub const SEED: u64 = 555;

/// Draws that shuffling the 3,263 names of the original compile set takes.
pub const STANDARD_SHUFFLE: usize = 3262;

/// What the sequence depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Trees created first (-i).
    pub initial: u32,
    /// Random operations after them (-r).
    pub runs: u32,
    /// The original's -m: compile all trees, read 3, delete all; `runs` is not used.
    pub makej: bool,
    /// Book a delete as the original does (see [`Machine::booked`]).
    pub compat: bool,
    /// Draws taken before the first choice.
    pub shuffle: usize,
}

impl Plan {
    /// The original's sequence on the original's data sets.
    pub const fn standard(initial: u32, runs: u32) -> Plan {
        Plan {
            initial,
            runs,
            makej: false,
            compat: true,
            shuffle: STANDARD_SHUFFLE,
        }
    }

    /// All operations in order, the initial creates first.
    pub fn steps(&self) -> Vec<Step> {
        let mut machine = Machine::new(self);
        if self.makej {
            machine.make_j();
        } else {
            while machine.number < self.runs {
                machine.draw();
            }
        }
        machine.steps
    }
}

/// State and its place in [`Machine::trees`], in the order in which the original tests them when
/// any tree will do.
const ANY: [State; 4] = [
    State::Patched,
    State::Unpatched,
    State::UnpatchedCompiled,
    State::PatchedCompiled,
];

/// The trees by state, the generator, and the steps so far.
struct Machine {
    random: Random,
    names: Vec<String>,
    taken: HashSet<String>,
    /// Indexed by [`State`]'s order of declaration.
    trees: [PyDict; 4],
    /// By tree: see [`Step::sources_unpatched`].
    unpatched_sources: Vec<bool>,
    compat: bool,
    number: u32,
    steps: Vec<Step>,
}

impl Machine {
    fn new(plan: &Plan) -> Self {
        let mut machine = Machine {
            random: Random::new(SEED),
            names: Vec::new(),
            taken: HashSet::new(),
            trees: Default::default(),
            unpatched_sources: Vec::new(),
            compat: plan.compat,
            number: 0,
            steps: Vec::new(),
        };
        machine.random.skip(plan.shuffle);
        for x in 0..plan.initial {
            machine.add(format!("kernel-{x}"), Action::InitialCreate);
        }
        machine
    }

    fn add(&mut self, name: String, action: Action) {
        let tree = self.names.len() as u32;
        self.taken.insert(name.clone());
        self.names.push(name);
        self.unpatched_sources.push(false);
        self.put(tree, State::Unpatched);
        let row = match action {
            Action::InitialCreate => Row::InitialCreate,
            _ => Row::Create,
        };
        self.record(action, tree, (None, Some(State::Unpatched)), row);
    }

    fn record(
        &mut self,
        action: Action,
        tree: u32,
        (from, to): (Option<State>, Option<State>),
        row: Row,
    ) {
        if action != Action::InitialCreate {
            self.number += 1;
        }
        self.steps.push(Step {
            number: self.number,
            action,
            tree: self.names[tree as usize].clone(),
            from,
            to,
            row,
            sources_unpatched: self.unpatched_sources[tree as usize],
        });
    }

    fn put(&mut self, tree: u32, state: State) {
        let hash = string_hash(self.names[tree as usize].as_bytes());
        self.trees[state as usize].insert(tree, hash);
    }

    fn take(&mut self, tree: u32, state: State) {
        let hash = string_hash(self.names[tree as usize].as_bytes());
        self.trees[state as usize].remove(tree, hash);
    }

    /// Chooses a state uniformly among those that have trees, then a tree of it uniformly.
    fn choose(&mut self, eligible: &[State]) -> Option<(State, u32)> {
        let good: Vec<State> = eligible
            .iter()
            .copied()
            .filter(|s| !self.trees[*s as usize].is_empty())
            .collect();
        if good.is_empty() {
            return None;
        }
        let state = good[self.random.index(good.len())];
        let dict = &self.trees[state as usize];
        let nth = self.random.index(dict.len());
        let tree = dict.keys().nth(nth)?;
        Some((state, tree))
    }

    /// One turn of the original's loop. A turn that finds no tree counts as nothing.
    fn draw(&mut self) {
        match self.random.index(7) {
            0 => self.patch(),
            1 => self.compile(),
            2 => self.clean(),
            3 => self.delete(),
            4 => self.create(),
            5 => self.look(Action::Read, Row::ReadTree, Row::ReadCompiledTree),
            _ => self.look(Action::Stat, Row::StatTree, Row::StatCompiledTree),
        }
    }

    fn make_j(&mut self) {
        while !self.trees[State::Unpatched as usize].is_empty() {
            self.compile();
        }
        for _ in 0..3 {
            self.look(Action::Read, Row::ReadTree, Row::ReadCompiledTree);
        }
        while self.trees.iter().any(|dict| !dict.is_empty()) {
            self.delete();
        }
    }

    fn advance(&mut self, action: Action, tree: u32, from: State, to: State, row: Row) {
        self.take(tree, from);
        self.put(tree, to);
        self.record(action, tree, (Some(from), Some(to)), row);
    }

    fn patch(&mut self) {
        let Some((from, tree)) = self.choose(&[State::Unpatched, State::UnpatchedCompiled]) else {
            return;
        };
        let unlink = self.random.randint(0, 3) == 1;
        let to = if from.compiled() {
            self.unpatched_sources[tree as usize] = true;
            State::PatchedCompiled
        } else {
            State::Patched
        };
        self.advance(Action::Patch { unlink }, tree, from, to, Row::Patch);
    }

    fn compile(&mut self) {
        let Some((from, tree)) = self.choose(&[State::Unpatched, State::Patched]) else {
            return;
        };
        let to = match from {
            State::Unpatched => State::UnpatchedCompiled,
            _ => State::PatchedCompiled,
        };
        self.advance(Action::Compile, tree, from, to, Row::Compile);
    }

    fn clean(&mut self) {
        let eligible = [State::PatchedCompiled, State::UnpatchedCompiled];
        let Some((from, tree)) = self.choose(&eligible) else {
            return;
        };
        let to = match from {
            State::PatchedCompiled => State::Patched,
            _ => State::Unpatched,
        };
        self.advance(Action::Clean, tree, from, to, Row::Clean);
    }

    fn delete(&mut self) {
        let Some((from, tree)) = self.choose(&ANY) else {
            return;
        };
        self.take(tree, from);
        let row = if self.booked_as_compiled(from) {
            Row::DeleteCompiledTree
        } else {
            Row::DeleteTree
        };
        self.record(Action::Delete, tree, (Some(from), None), row);
    }

    /// The original compares dictionaries by value, after the removal: when the tree was the last
    /// of its class and a compiled class is empty, the two are equal and the delete is booked
    /// under compiled in any case.
    fn booked_as_compiled(&self, class: State) -> bool {
        let empty = |state: State| self.trees[state as usize].is_empty();
        let equal = |compiled: State| class == compiled || (empty(class) && empty(compiled));
        if self.compat {
            equal(State::UnpatchedCompiled) || equal(State::PatchedCompiled)
        } else {
            class.compiled()
        }
    }

    fn look(&mut self, action: Action, plain: Row, compiled: Row) {
        if let Some((state, tree)) = self.choose(&ANY) {
            let row = if state.compiled() { compiled } else { plain };
            self.record(action, tree, (Some(state), Some(state)), row);
        }
    }

    /// The original asks the filesystem whether the name is there. A deleted tree leaves its top
    /// directory, so a name is taken forever.
    fn create(&mut self) {
        let name = loop {
            let name = format!("kernel-{}", self.random.randint(100, 100_000));
            if !self.taken.contains(&name) {
                break name;
            }
        };
        self.add(name, Action::Create);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(steps: &[Step]) -> Vec<usize> {
        Row::ALL
            .iter()
            .map(|row| steps.iter().filter(|s| s.row == *row).count())
            .collect()
    }

    fn table(steps: &[Step]) -> String {
        let line = |step: &Step| {
            let (row, note) = (step.row.phase(), step.note());
            format!("{:>3} {row:<20} {:<13} {note}", step.number, step.tree)
        };
        let random = steps.iter().filter(|s| s.number > 0);
        random.map(line).collect::<Vec<_>>().join("\n")
    }

    /// CPython 2.7.18 gives the same table when compilebench's choices are run in it.
    #[test]
    fn thirty_operations_on_ten_trees() {
        insta::assert_snapshot!(table(&Plan::standard(10, 30).steps()));
    }

    #[test]
    fn make_j_compiles_all_reads_three_and_deletes_all() {
        let plan = Plan {
            makej: true,
            ..Plan::standard(4, 0)
        };
        let steps = plan.steps();
        let trees: Vec<&str> = steps[4..].iter().map(|s| &s.tree[7..]).collect();
        // CPython 2.7.18's order.
        assert_eq!(trees.join(" "), "2 0 3 1 3 2 3 2 3 1 0");
        assert_eq!(counts(&steps), [4, 0, 0, 4, 0, 0, 3, 0, 4, 0, 0]);
    }

    /// Counts of the sample that the original study's author left, and of compilebench's defaults.
    #[test]
    fn operation_counts() {
        let small = Plan::standard(10, 30).steps();
        assert_eq!(counts(&small), [10, 5, 4, 7, 4, 2, 1, 2, 0, 4, 1]);
        let default = Plan::standard(30, 100).steps();
        assert_eq!(counts(&default), [30, 14, 15, 14, 10, 11, 4, 10, 4, 11, 7]);
        assert_eq!(default.iter().filter(|s| s.number > 0).count(), 100);
        // Long enough to meet the dictionary quirk and tables with dummies; from CPython 2.7.18.
        let long = Plan::standard(1, 400).steps();
        assert_eq!(counts(&long), [1, 72, 38, 58, 37, 50, 22, 28, 36, 42, 17]);
    }

    #[test]
    fn no_tree_at_all_begins_with_a_create() {
        let steps = Plan::standard(0, 20).steps();
        assert_eq!(steps[0].action, Action::Create);
        assert_eq!(steps.len(), 20);
        assert!(Plan::standard(0, 0).steps().is_empty());
    }

    /// Every step begins where the tree's last step ended, with any parameters.
    #[test]
    fn states_follow_each_other() {
        use std::collections::HashMap;
        for (initial, runs) in [(0, 500), (1, 700), (10, 3000)] {
            let mut states: HashMap<String, State> = HashMap::new();
            for step in Plan::standard(initial, runs).steps() {
                assert_eq!(states.get(&step.tree).copied(), step.from, "{step:?}");
                match step.to {
                    Some(to) => states.insert(step.tree, to),
                    None => states.remove(&step.tree),
                };
            }
        }
    }

    /// With one tree the classes that remain are empty: the original counts every delete of the
    /// last tree under compiled; the switch counts it by what it was.
    #[test]
    fn the_last_tree_of_a_class_is_booked_under_compiled_only_in_compat() {
        let rows = |compat: bool| {
            let plan = Plan {
                compat,
                ..Plan::standard(1, 400)
            };
            plan.steps()
                .into_iter()
                .filter(|s| s.action == Action::Delete)
                .map(|s| (s.from.is_some_and(State::compiled), s.row))
                .collect::<Vec<_>>()
        };
        let wrong = |row: &&(bool, Row)| **row == (false, Row::DeleteCompiledTree);
        assert_eq!(rows(true).iter().filter(wrong).count(), 15);
        for (compiled, row) in rows(false) {
            assert_eq!(compiled, row == Row::DeleteCompiledTree);
        }
    }

    #[test]
    fn a_tree_patched_after_its_compile_keeps_unpatched_sources() {
        let steps = Plan::standard(10, 30).steps();
        let noted: Vec<u32> = steps
            .iter()
            .filter(|s| s.sources_unpatched)
            .map(|s| s.number)
            .collect();
        assert_eq!(noted, [4, 12, 15, 18, 20, 25, 29]);
    }
}

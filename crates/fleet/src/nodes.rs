//! The nodes of a run: what they are, and whether they agree.
//!
//! Cells are compared within blocks, so a slow node makes no difference to a ratio. What can make one is a node on which the ratio
//! itself is another: other memory, another disk. From two blocks a node on that is tested by Cochran's Q (Biometrics 10, 1954, 101-129) of
//! the mean log ratios of the nodes, each weighted by its blocks. The variance of a block's log ratio is pooled over the nodes, since two
//! or three blocks say little of one node's own; Q over its degrees of freedom is then an F (the one-way analysis of variance).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use record::Run;
use serde::Serialize;
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use stats::multiple::benjamini_hochberg;
use study::Clock;

/// Level of a test.
const LEVEL: f64 = 0.05;

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeFacts {
    /// Its name.
    pub node: String,
    /// Its processor's model.
    pub cpu: String,
    /// Its kernel's release.
    pub kernel: String,
    /// The model of its first disk that has one.
    pub disk: String,
    /// Blocks that ran there.
    pub blocks: u32,
}

impl NodeFacts {
    /// From the context of a part.
    pub(crate) fn of(node: String, context: &Value) -> NodeFacts {
        let items = context.get("items").and_then(Value::as_object);
        let value = |name: &str| items?.get(name)?.get("value")?.as_str().map(str::to_owned);
        let disk = items.into_iter().flatten().find_map(|(name, item)| {
            let is_model = name.starts_with("block.") && name.strip_suffix(".model").is_some();
            item.get("value")?
                .as_str()
                .filter(|_| is_model)
                .map(str::to_owned)
        });
        let unknown = || "unknown".to_owned();
        NodeFacts {
            node,
            cpu: value("cpu.model").unwrap_or_else(unknown),
            kernel: value("run.kernel").unwrap_or_else(unknown),
            disk: disk.unwrap_or_else(unknown),
            blocks: 1,
        }
    }
}

/// One of each node, with the number of its blocks, by name.
pub(crate) fn of<'f>(parts: impl Iterator<Item = &'f NodeFacts>) -> Vec<NodeFacts> {
    let mut nodes: BTreeMap<&str, NodeFacts> = BTreeMap::new();
    for facts in parts {
        match nodes.get_mut(facts.node.as_str()) {
            Some(known) => known.blocks += 1,
            None => drop(nodes.insert(&facts.node, facts.clone())),
        }
    }
    nodes.into_values().collect()
}

/// Nodes with what tells them apart.
pub fn text(nodes: &[NodeFacts]) -> String {
    let mut text = String::new();
    let mut kinds: BTreeMap<(&str, &str, &str), Vec<&NodeFacts>> = BTreeMap::new();
    for node in nodes {
        let kind = (node.cpu.as_str(), node.kernel.as_str(), node.disk.as_str());
        kinds.entry(kind).or_default().push(node);
    }
    for ((cpu, kernel, disk), nodes) in kinds {
        let blocks: u32 = nodes.iter().map(|node| node.blocks).sum();
        let names: Vec<&str> = nodes
            .iter()
            .take(8)
            .map(|node| node.node.as_str())
            .collect();
        let more = if nodes.len() > 8 { ", ..." } else { "" };
        let _ = writeln!(
            text,
            "{} nodes, {blocks} blocks: {cpu}; kernel {kernel}; disk {disk}: {}{more}",
            nodes.len(),
            names.join(", ")
        );
    }
    text
}

/// A ratio of two cells that is not the same on all nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// The cell, the one it is compared with, and the phase.
    pub what: String,
    /// Cochran's Q.
    pub q: f64,
    /// p, corrected over all such tests (Benjamini and Hochberg).
    pub p: f64,
    /// The geometric mean of the ratio on each node.
    pub ratios: BTreeMap<String, f64>,
}

/// Log ratios of a cell to the first of its workload, by node.
type ByNode = BTreeMap<String, Vec<f64>>;

/// Ratios of a phase's main rate that differ between nodes. Nodes with one block are left out.
pub fn disagreements(run: &Run) -> Vec<Disagreement> {
    let mut tested = Vec::new();
    for (what, by_node) in log_ratios(run) {
        if let Some((q, p)) = cochran(&by_node) {
            tested.push((what, by_node, q, p));
        }
    }
    let raw: Vec<f64> = tested.iter().map(|(.., p)| *p).collect();
    let Ok(corrected) = benjamini_hochberg(&raw) else {
        return Vec::new();
    };
    let all = tested.into_iter().zip(corrected);
    let found = all
        .filter(|(_, p)| *p < LEVEL)
        .map(|((what, by_node, q, _), p)| {
            let ratio = |(node, logs): (String, Vec<f64>)| (node, mean(&logs).exp());
            let ratios = by_node.into_iter().map(ratio).collect();
            Disagreement { what, q, p, ratios }
        });
    found.collect()
}

fn log_ratios(run: &Run) -> Vec<(String, ByNode)> {
    let mut all = Vec::new();
    for (index, cell) in run.plan.cells.iter().enumerate() {
        let before = &run.plan.cells[..index];
        let Some(base) = before
            .iter()
            .find(|base| base.workload_name == cell.workload_name)
        else {
            continue;
        };
        for phase in phases(run, cell.id) {
            let mut by_node = ByNode::new();
            for block in 0..run.plan.blocks {
                let (Some(ours), Some(theirs)) = (
                    rate(run, cell.id, block, &phase),
                    rate(run, base.id, block, &phase),
                ) else {
                    continue;
                };
                if ours.1 == theirs.1 && ours.0 > 0.0 && theirs.0 > 0.0 {
                    by_node
                        .entry(ours.1)
                        .or_default()
                        .push((ours.0 / theirs.0).ln());
                }
            }
            by_node.retain(|_, logs| logs.len() > 1);
            all.push((
                format!("{} to {}, {phase}", cell.label(), base.label()),
                by_node,
            ));
        }
    }
    all
}

/// Phases of a cell's trials, each once.
fn phases(run: &Run, cell: u32) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for (_, trial) in run.finished(cell) {
        for phase in &trial.phases {
            if !phases.contains(&phase.name) {
                phases.push(phase.name.clone());
            }
        }
    }
    phases
}

/// The main rate of a phase in a block, and its node.
fn rate(run: &Run, cell: u32, block: u32, phase: &str) -> Option<(f64, String)> {
    let trials = run.finished(cell);
    let (_, trial) = trials.into_iter().find(|(slot, _)| slot.block == block)?;
    let (_, metric) = study::wording::words_of(phase)?;
    let is = |sample: &&record::Sample| {
        sample.phase == phase && sample.metric == metric && sample.clock == Clock::Original
    };
    let sample = trial.samples.iter().find(is)?;
    Some((sample.value, trial.node.clone()?))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Cochran's Q and its p; none with fewer than two nodes, or without any spread.
fn cochran(by_node: &ByNode) -> Option<(f64, f64)> {
    let nodes = by_node.len();
    let values: usize = by_node.values().map(Vec::len).sum();
    if nodes < 2 {
        return None;
    }
    let within: f64 = by_node
        .values()
        .flat_map(|logs| {
            let mean = mean(logs);
            logs.iter().map(move |log| (log - mean).powi(2))
        })
        .sum();
    let (between_df, within_df) = ((nodes - 1) as f64, (values - nodes) as f64);
    let variance = within / within_df;
    if variance <= 0.0 || !variance.is_finite() {
        return None;
    }
    let weight = |logs: &Vec<f64>| logs.len() as f64 / variance;
    let weights: f64 = by_node.values().map(weight).sum();
    let whole = by_node
        .values()
        .map(|logs| weight(logs) * mean(logs))
        .sum::<f64>()
        / weights;
    let q: f64 = by_node
        .values()
        .map(|logs| weight(logs) * (mean(logs) - whole).powi(2))
        .sum();
    let f = FisherSnedecor::new(between_df, within_df).ok()?;
    Some((q, f.sf(q / between_df)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three nodes with three blocks each, by hand: means 0, 0, 0.3, within sum of squares 0.06, so Q = 18 with 2 and 6 degrees of
    /// freedom: F = 9, p = (1 + 9/3)^-3 = 1/64.
    #[test]
    fn q_is_that_of_an_example_by_hand() {
        let node = |mean: f64| vec![mean - 0.1, mean, mean + 0.1];
        let by_node: ByNode = [("a", 0.0), ("b", 0.0), ("c", 0.3)]
            .map(|(name, mean)| (name.to_owned(), node(mean)))
            .into();
        let (q, p) = cochran(&by_node).unwrap();
        assert!((q - 18.0).abs() < 1e-9, "{q}");
        assert!((p - 1.0 / 64.0).abs() < 1e-9, "{p}");
        let one: ByNode = [("a".to_owned(), node(0.0))].into();
        assert_eq!(cochran(&one), None);
    }

    proptest::proptest! {
        /// Nodes of one distribution disagree about as often as the level says: never is p outside of 0..=1.
        #[test]
        fn p_is_a_probability(values in proptest::collection::vec(-1.0_f64..1.0, 4..40), nodes in 2_usize..5) {
            let mut by_node = ByNode::new();
            for (index, value) in values.iter().enumerate() {
                by_node.entry(format!("n{}", index % nodes)).or_default().push(*value);
            }
            if let Some((q, p)) = cochran(&by_node) {
                proptest::prop_assert!(q >= 0.0 && (0.0..=1.0).contains(&p));
            }
        }
    }
}

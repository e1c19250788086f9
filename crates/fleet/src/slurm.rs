//! What Slurm tells a job about itself: named variables and nothing else.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Variables that are kept, and the names of their items.
const VARIABLES: [(&str, &str); 8] = [
    ("SLURM_JOB_ID", "slurm.job"),
    ("SLURM_ARRAY_JOB_ID", "slurm.array"),
    ("SLURM_ARRAY_TASK_ID", "slurm.task"),
    ("SLURM_RESTART_COUNT", "slurm.restarts"),
    ("SLURM_JOB_NODELIST", "slurm.nodes"),
    ("SLURM_CPUS_ON_NODE", "slurm.cpus"),
    ("SLURM_JOB_PARTITION", "slurm.partition"),
    ("SLURMD_NODENAME", "slurm.node"),
];

/// Longest description of a node that is kept.
const LONGEST: usize = 8192;

/// Facts of the job; empty outside one.
pub fn facts() -> BTreeMap<String, String> {
    let mut facts = named(|name| std::env::var(name).ok());
    let Some(node) = facts.get("slurm.node") else {
        return facts;
    };
    let shown = Command::new("scontrol")
        .args(["show", "node", node, "--oneliner"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    if let Ok(shown) = shown
        && shown.status.success()
    {
        let text = String::from_utf8_lossy(&shown.stdout);
        let text: String = text.trim().chars().take(LONGEST).collect();
        facts.insert("slurm.scontrol".into(), text);
    }
    facts
}

fn named(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let found = VARIABLES.iter().filter_map(|(name, item)| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        Some(((*item).to_owned(), value))
    });
    found.collect()
}

/// The node that this process runs on, as the scheduler calls it, else its host name.
pub fn node(facts: &BTreeMap<String, String>) -> String {
    let host = || {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    };
    facts.get("slurm.node").cloned().unwrap_or_else(host)
}

/// Whether the job had its node for itself: all its processors, and no other job's. None: outside of Slurm, or its answer does not say.
pub fn alone(facts: &BTreeMap<String, String>) -> Option<(bool, String)> {
    let shown = facts.get("slurm.scontrol")?;
    let field = |name: &str| {
        let mut words = shown.split_whitespace();
        words.find_map(|word| {
            word.strip_prefix(name)?
                .strip_prefix('=')?
                .parse::<u32>()
                .ok()
        })
    };
    let (allocated, all) = (field("CPUAlloc")?, field("CPUTot")?);
    let mine: u32 = facts.get("slurm.cpus")?.parse().ok()?;
    let detail =
        format!("{mine} of {all} processors are the job's, {allocated} are in use by all jobs");
    Some((mine == all && allocated == mine, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_variables_are_kept_and_a_shared_node_is_seen() {
        let environment = |name: &str| match name {
            "SLURM_JOB_ID" => Some("17".to_owned()),
            "SLURM_CPUS_ON_NODE" => Some("2".to_owned()),
            "SLURM_JOB_PARTITION" => Some(String::new()),
            _ => None,
        };
        let mut facts = named(environment);
        assert_eq!(facts.len(), 2);
        assert_eq!(alone(&facts), None);
        for (text, expected) in [
            (
                "NodeName=n1 CPUAlloc=2 CPUEfctv=2 CPUTot=2 CPULoad=0.1",
                true,
            ),
            ("NodeName=n1 CPUAlloc=3 CPUTot=4", false),
            ("NodeName=n1 CPUAlloc=2 CPUTot=4", false),
        ] {
            facts.insert("slurm.scontrol".into(), text.into());
            assert_eq!(
                alone(&facts).map(|(alone, _)| alone),
                Some(expected),
                "{text}"
            );
        }
    }
}

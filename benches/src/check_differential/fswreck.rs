//! fswreck: the program with which ocfs2-tools tests its checker. It is in no package; `--fswreck` names one that was built.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

/// Its cases (`fswreck -l`).
pub(crate) const CASES: u32 = 135;

/// It may wait for what never comes on a volume without what a case needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What results call a case.
pub(crate) fn name(case: u32) -> String {
    format!("fswreck {case}")
}

/// The case of such a name.
pub(crate) fn case(name: &str) -> Option<u32> {
    name.strip_prefix("fswreck ")?.parse().ok()
}

/// Damages a file; `false` where the program gives up, as where the volume lacks what the case needs.
pub(crate) fn run(program: &Path, case: u32, image: &Path) -> Result<bool> {
    let status = Command::new("timeout")
        .args(["-s", "KILL", &PATIENCE.as_secs().to_string()])
        .arg(program)
        .args(["-C", &case.to_string()])
        .arg(image)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_known_by_its_name() {
        assert_eq!(case(&name(17)), Some(17));
        assert_eq!(case("chain-cpg"), None);
        assert_eq!(case("fswreck many"), None);
    }
}

//! Markdown for a GitHub job summary: `fslab compare --format github A B >> "$GITHUB_STEP_SUMMARY"`.

use super::answer;
use super::markdown::{details, escape};
use crate::comparison::{Compared, Outcome};

/// GitHub takes 1 MiB a step; what is longer is refused whole.
const MOST: usize = 1_000_000;

pub(super) fn render(compared: &Compared) -> String {
    let answer = answer(compared);
    let kind = match compared.outcome {
        Outcome::Failed => "CAUTION",
        Outcome::Invalid | Outcome::Nothing => "WARNING",
        Outcome::Passed => "NOTE",
    };
    let mut out = format!("> [!{kind}]\n> **{}**\n", escape(&answer.headline));
    if !answer.counts.is_empty() {
        out.push_str(&format!(">\n> {}\n", escape(&answer.counts)));
    }
    out.push('\n');
    for line in &answer.first {
        out.push_str(&format!("- {}\n", escape(line)));
    }
    let mut details = details(compared);
    if out.len() + details.len() > MOST {
        let room = MOST - out.len().min(MOST);
        let lines = details.match_indices('\n').map(|(at, _)| at);
        let end = lines.take_while(|at| *at < room).last().unwrap_or(0);
        details.truncate(end);
        details.push_str(
            "\n\nThe rest is left out: a summary has at most 1 MiB. `--format md` has all.\n",
        );
    }
    out.push_str(&format!(
        "\n<details><summary>All figures</summary>\n\n{details}\n</details>\n"
    ));
    out
}

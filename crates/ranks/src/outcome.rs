//! Which rank died, from what launchers say of it.

/// What a launcher reports: the rank or the process, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Death {
    pub(crate) rank: Option<u32>,
    pub(crate) pid: Option<u32>,
    pub(crate) how: String,
}

/// The first death in a launcher's lines; none: they name none.
pub(crate) fn death(lines: &[String]) -> Option<Death> {
    lines
        .iter()
        .find_map(|line| open_mpi(line).or_else(|| srun(line)))
        .or_else(|| mpich(lines))
}

fn number_after(line: &str, word: &str) -> Option<u32> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

/// `mpirun noticed that process rank 1 with PID 71 on node a exited on signal 9 (Killed).`
fn open_mpi(line: &str) -> Option<Death> {
    let rank = number_after(line, "process rank ")?;
    let (_, how) = line.split_once(" exited on ")?;
    Some(Death {
        rank: Some(rank),
        pid: None,
        how: how.trim_end_matches('.').trim().to_owned(),
    })
}

/// `srun: error: n1: task 1: Killed`
fn srun(line: &str) -> Option<Death> {
    let rest = line.strip_prefix("srun: error: ")?;
    let (_, task) = rest.split_once(": task ")?;
    let (task, how) = task.split_once(": ")?;
    Some(Death {
        rank: task.parse().ok(),
        pid: None,
        how: how.trim().to_owned(),
    })
}

/// `=   PID 71 RUNNING AT a`, `=   EXIT CODE: 9`, and perhaps `... WITH THE EXIT STRING: Killed (signal 9)`.
fn mpich(lines: &[String]) -> Option<Death> {
    let pid = lines.iter().filter(|line| line.contains("RUNNING AT"));
    let pid = pid.into_iter().find_map(|line| number_after(line, "PID "));
    let string = lines.iter().find_map(|line| {
        let (_, string) = line.split_once("EXIT STRING: ")?;
        string.split_once(" (").map(|(name, signal)| {
            let signal = signal.trim_end_matches(')').trim();
            format!("{signal} ({name})")
        })
    });
    let code = lines
        .iter()
        .find_map(|line| number_after(line, "EXIT CODE: "));
    let how = string.or_else(|| code.map(|code| format!("code {code}")))?;
    Some(Death {
        rank: None,
        pid,
        how,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Death> {
        death(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_death_is_found_in_the_words_of_each_launcher() {
        let open = "noise\nmpirun noticed that process rank 1 with PID 71 on node a exited on signal 9 (Killed).\n";
        let found = of(open).unwrap();
        assert_eq!(
            (found.rank, found.how.as_str()),
            (Some(1), "signal 9 (Killed)")
        );
        let mpich = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 3917 RUNNING AT vm\n\
                     =   EXIT CODE: 9\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n";
        let found = of(mpich).unwrap();
        assert_eq!(
            (found.pid, found.how.as_str()),
            (Some(3917), "signal 9 (Killed)")
        );
        let srun = of("srun: error: n2: task 3: Killed").unwrap();
        assert_eq!((srun.rank, srun.how.as_str()), (Some(3), "Killed"));
        assert_eq!(of("all is well\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_lines_are_read(text in "(process rank |PID |RUNNING AT|EXIT STRING: |EXIT CODE: |srun: error: |: task |[0-9é (\n]){0,12}") {
            let _ = of(&text);
        }
    }
}

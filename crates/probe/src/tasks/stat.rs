//! `/proc/<pid>/stat` and `/proc/<pid>/schedstat`.

/// `PF_KTHREAD` of include/linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;

/// What the sampler needs of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStat<'a> {
    /// Field 2 without its parentheses; may hold blanks and parentheses itself.
    pub comm: &'a [u8],
    /// Field 4.
    pub parent: u32,
    /// Field 9 has `PF_KTHREAD`, or the parent is kthreadd.
    pub kernel_thread: bool,
    /// Field 14 and 15 together, in ticks of 1/HZ: all threads of a process.
    pub cpu_ticks: u64,
    /// Field 22, ticks since boot: with the pid, the identity of a task.
    pub start: u64,
}

fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|d| *d < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parses a `stat` file. The name is the text between the first `(` and the last `)`.
pub fn parse(text: &[u8]) -> Option<TaskStat<'_>> {
    let open = text.iter().position(|b| *b == b'(')?;
    let close = text.iter().rposition(|b| *b == b')')?;
    let comm = text.get(open + 1..close)?;
    let mut fields = text
        .get(close + 1..)?
        .split(u8::is_ascii_whitespace)
        .filter(|f| !f.is_empty());
    // The first of these is field 3; nth counts from where the last call stopped.
    let parent = number(fields.nth(1)?)?;
    let flags = number(fields.nth(4)?)?;
    let user = number(fields.nth(4)?)?;
    let system = number(fields.next()?)?;
    let start = number(fields.nth(6)?)?;
    Some(TaskStat {
        comm,
        parent: u32::try_from(parent).ok()?,
        kernel_thread: flags & PF_KTHREAD != 0 || parent == 2,
        cpu_ticks: user.saturating_add(system),
        start,
    })
}

/// First field of `schedstat`: nanoseconds on a CPU, of this thread alone.
pub fn parse_schedstat(text: &[u8]) -> Option<u64> {
    number(text.split(u8::is_ascii_whitespace).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_the_last_parenthesis() {
        let text =
            b"4242 (a) (b c)) S 1 2 3 4 5 4194304 7 8 9 10 1110 1611 13 14 20 0 4 0 987654 1 2";
        let task = parse(text).unwrap();
        assert_eq!(task.comm, b"a) (b c)");
        assert_eq!(
            (task.parent, task.cpu_ticks, task.start),
            (1, 2721, 987_654)
        );
        assert!(!task.kernel_thread);
    }

    #[test]
    fn kernel_threads_show_by_flag_or_parent() {
        let kthreadd = b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 24 0 0";
        assert!(parse(kthreadd).unwrap().kernel_thread);
        let child = b"9 (x) S 2 0 0 0 -1 0 0 0 0 0 0 3 0 0 20 0 1 0 24 0 0";
        assert!(parse(child).unwrap().kernel_thread);
    }

    #[test]
    fn schedstat_gives_nanoseconds() {
        assert_eq!(parse_schedstat(b"123456789 5 1\n"), Some(123_456_789));
        assert_eq!(parse_schedstat(b""), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = (parse(&bytes), parse_schedstat(&bytes));
        }

        #[test]
        fn any_name_is_found_again(comm in "[a-z() /0-9:-]{1,15}", ticks in 0_u64..1 << 40) {
            let text = format!("1 ({comm}) R 1 1 1 0 -1 64 0 0 0 0 {ticks} 1 0 0 20 0 1 0 5 0");
            let task = parse(text.as_bytes()).unwrap();
            proptest::prop_assert_eq!(task.comm, comm.as_bytes());
            proptest::prop_assert_eq!(task.cpu_ticks, ticks + 1);
        }
    }
}

//! Attributes in the inode.

use ondisk::xfs::attribute::flag;
use ondisk::xfs::shortform::{ATTR_HEADER, Attributes};

use super::{is_name, is_one_space, value};
use crate::xfs::inode::core::Subject;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{
    ATTR_DUP, ATTR_FLAGS, ATTR_SF_COUNT, ATTR_SF_EMPTY, ATTR_SF_INCOMPLETE, ATTR_SF_LENGTH,
    ATTR_SF_NAME, ATTR_SF_NAME0, ATTR_SF_TOTSIZE,
};

/// Judges the attributes in the inode. The size of all fits the fork.
pub(crate) fn judge(rules: &Rules, it: &Subject<'_>, list: &Attributes<'_>, sink: &mut impl Sink) {
    let (total, count) = (usize::from(list.totsize()), usize::from(list.count()));
    if count == 0 {
        if total != ATTR_HEADER {
            sink.find(it.about(&ATTR_SF_EMPTY).found(total as u64));
        }
        return;
    }
    let (mut at, mut nth) = (ATTR_HEADER, 0);
    let mut seen: Vec<(u8, &[u8])> = Vec::new();
    while nth < count && at + 3 <= total {
        let Some((name, value)) = list.lengths(at) else {
            break;
        };
        if name == 0 {
            sink.find(it.about(&ATTR_SF_NAME0).offset(at));
            break;
        }
        let Some(attribute) = list.get(at).filter(|_| at + 3 + name + value <= total) else {
            sink.find(it.about(&ATTR_SF_LENGTH).offset(at));
            break;
        };
        let about = |problem| it.about(problem).offset(at).name(attribute.name);
        if !is_name(attribute.name) {
            sink.find(about(&ATTR_SF_NAME));
        }
        if attribute.flags & flag::INCOMPLETE != 0 {
            sink.find(about(&ATTR_SF_INCOMPLETE));
        }
        if attribute.flags & flag::ROOT != 0
            && let Some(problem) = value::fault(rules, attribute.name, attribute.value)
        {
            sink.find(about(problem));
        }
        let space = attribute.flags & !(flag::LOCAL | flag::INCOMPLETE);
        if !is_one_space(rules, attribute.flags) {
            sink.own(about(&ATTR_FLAGS).found(u64::from(attribute.flags)));
        }
        if seen.contains(&(space, attribute.name)) {
            sink.own(about(&ATTR_DUP));
        }
        seen.push((space, attribute.name));
        at += 3 + name + value;
        nth += 1;
    }
    if nth != count {
        let finding = it.about(&ATTR_SF_COUNT).found(count as u64);
        sink.find(finding.expected(nth as u64));
    }
    if at != total {
        let finding = it.about(&ATTR_SF_TOTSIZE).found(total as u64);
        sink.find(finding.expected(at as u64));
    }
}

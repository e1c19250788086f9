use proptest::prelude::*;

use super::*;
use crate::population::Target;

fn rules(block: u32, header: u32, local_room: u32) -> Rules {
    Rules {
        local_room,
        wide: false,
        block,
        header,
        file_type: true,
    }
}

/// Grows a directory: some names, a removal of those that are gone, more names.
fn grown(rules: &Rules, first: &[(u8, bool)], then: &[u8]) -> Shape {
    let mut shape = Shape::empty();
    let add = |shape: &mut Shape, nth: usize, len: u8, target| {
        let mut name = format!("{nth:06}").into_bytes();
        name.resize(usize::from(len).max(6), b'x');
        shape.add(rules, &name, target);
    };
    for (nth, (len, gone)) in first.iter().enumerate() {
        let target = if *gone {
            Target::Gone
        } else {
            Target::File(nth as u32)
        };
        add(&mut shape, nth, *len, target);
    }
    shape.remove_gone(rules);
    for (nth, len) in then.iter().enumerate() {
        add(&mut shape, first.len() + nth, *len, Target::File(0));
    }
    shape.finish(rules);
    shape
}

/// Entries and free areas cover every block, hash entries lead to each name once, and blocks are allocated once.
fn sound(rules: &Rules, shape: &Shape, live: usize) -> Result<(), TestCaseError> {
    if shape.form == Form::Local {
        prop_assert_eq!(shape.local.len(), live);
        prop_assert!(shape.births.is_empty());
        let mut at = rules.first();
        for &(id, offset) in &shape.local {
            prop_assert!(offset >= at);
            at = offset + shape.size(rules, id);
        }
        return Ok(());
    }
    let mut ids = Vec::new();
    for (nth, data) in (0..).zip(&shape.data) {
        let Some(data) = data else {
            continue;
        };
        let mut parts: Vec<(u32, u32)> = data.free.clone();
        for &(offset, id) in &data.entries {
            parts.push((offset, shape.size(rules, id)));
            prop_assert_eq!(shape.pointer(rules, id), rules.pointer(nth, offset));
            ids.push(id);
        }
        parts.sort_unstable();
        let mut at = rules.header;
        for (offset, len) in parts {
            prop_assert_eq!(offset, at);
            at += len;
        }
        let end = match shape.form {
            Form::Block => shape.block_end(rules),
            _ => rules.block,
        };
        prop_assert_eq!(at, end);
        prop_assert!(
            data.free
                .windows(2)
                .all(|pair| pair[0].0 + pair[0].1 < pair[1].0)
        );
    }
    let hashes: Vec<(u32, u32)> = shape
        .leaves
        .iter()
        .flat_map(|leaf| leaf.entries.iter().copied())
        .collect();
    prop_assert!(hashes.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let mut found: Vec<u32> = hashes.iter().map(|one| one.1).collect();
    found.retain(|id| *id != STALE);
    found.sort_unstable();
    ids.sort_unstable();
    prop_assert_eq!(&found, &ids);
    prop_assert_eq!(ids.len(), live + 2);
    for leaf in &shape.leaves {
        let stale = leaf.entries.iter().filter(|one| one.1 == STALE).count();
        prop_assert_eq!(stale as u32, leaf.stale);
        prop_assert!(shape.form != Form::Node || leaf.entries.len() <= rules.leaf_room());
    }
    let mut births = shape.births.clone();
    births.sort_unstable();
    let mut expected: Vec<Place> = (0..)
        .zip(&shape.data)
        .filter(|(_, data)| data.is_some())
        .map(|(nth, _)| Place::Data(nth))
        .collect();
    if shape.form != Form::Block {
        expected.extend(shape.leaves.iter().map(|leaf| Place::Leaf(leaf.number)));
        let nodes = shape.levels.iter().flatten();
        expected.extend(nodes.map(|node| Place::Leaf(node.0)));
    }
    if shape.form == Form::Node {
        let free = shape.data.len().div_ceil(rules.free_room()) as u32;
        expected.extend((0..free).map(Place::Free));
    }
    expected.sort_unstable();
    prop_assert_eq!(births, expected);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_directory_is_sound(
        first in proptest::collection::vec((6_u8..255, any::<bool>()), 0..900),
        then in proptest::collection::vec(6_u8..255, 0..200),
        sizes in prop_oneof![Just((512, 16, 100)), Just((1024, 64, 336)), Just((4096, 64, 336))],
    ) {
        let rules = rules(sizes.0, sizes.1, sizes.2);
        let shape = grown(&rules, &first, &then);
        let live = first.iter().filter(|one| !one.1).count() + then.len();
        sound(&rules, &shape, live)?;
    }
}

#[test]
fn forms_change_where_the_kernel_changes_them() {
    let rules = rules(4096, 64, 336);
    let form = |count: usize| grown(&rules, &vec![(16, false); count], &[]).form;
    // 6 bytes of head, and 24 for each name.
    assert_eq!((form(13), form(14)), (Form::Local, Form::Block));
    // 32 bytes of an entry and 8 of its hash in 3,976 bytes.
    assert_eq!((form(99), form(100)), (Form::Block, Form::Leaf));
    assert_eq!((form(400), form(600)), (Form::Leaf, Form::Node));
    let shape = grown(&rules, &vec![(16, false); 3000], &[]);
    assert!(shape.leaves.iter().all(|leaf| leaf.entries.len() >= 252));
    let full = shape.data.iter().flatten().filter(|data| data.best() < 32);
    assert!(full.count() + 1 >= shape.data.len());
}

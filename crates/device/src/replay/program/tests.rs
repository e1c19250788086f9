use std::collections::BTreeMap;

use super::*;
use crate::replay::tests::fixed;

const MS: u64 = 1_000_000;

fn submit(request: u32) -> Action {
    Action::Submit {
        request,
        offset: u64::from(request) * 4096,
        len: 4096,
        is_awaited: true,
    }
}

fn step(thread: u32, began: u64, ended: u64, action: Action) -> Step {
    Step {
        thread,
        began: began * MS,
        ended: ended * MS,
        action,
    }
}

/// A program in memory.
fn program(steps: &[Step], phases: Vec<u64>, end: u64) -> Program {
    let mut counts = BTreeMap::new();
    for step in steps {
        *counts.entry(step.thread).or_default() += 1;
    }
    let mut kept = InMemory::default();
    let mut builder = Builder::new(&counts, phases, end).unwrap();
    for step in steps {
        builder.add(step, &mut kept).unwrap();
    }
    Program::new(builder.finish().unwrap(), Arc::new(kept.steps()))
}

fn run(program: &Program, cpu: f64) -> Ran {
    program.run(&mut fixed(), cpu, &mut |_, _, _| {}).unwrap()
}

/// One request after the other, on a device of 1 ms, with 2 ms of processor time before each.
fn loop_of(count: u64) -> Program {
    let steps = (0..count).flat_map(|i| {
        let at = 3 * i + 2;
        [
            step(1, at, at, submit(i as u32)),
            step(1, at, at + 1, Action::Wait(i as u32)),
        ]
    });
    let steps: Vec<Step> = steps.collect();
    program(&steps, vec![0], 3 * count * MS)
}

#[test]
fn a_loop_takes_service_and_processor_time() {
    let ran = run(&loop_of(10), 1.0);
    assert_eq!(ran.ends, [10 * 7 * MS]);
    assert_eq!(ran.idle, 20 * MS);
    assert_eq!(run(&loop_of(10), 3.0).ends, [10 * 11 * MS]);
}

#[test]
fn processor_time_of_a_thread_is_in_turn_even_if_the_device_is_fast() {
    // Four at once on a device of 40 ms; then 10 ms of computing after each.
    let mut steps: Vec<Step> = (0..4).map(|i| step(1, 0, 0, submit(i))).collect();
    for i in 0..4 {
        let began = if i == 0 { 0 } else { 40 + 10 * u64::from(i) };
        steps.push(step(1, began, 40 + 10 * u64::from(i), Action::Wait(i)));
    }
    let program = program(&steps, vec![0], 80 * MS);
    // The first is done after 5 ms, and all the others while it computes.
    assert_eq!(run(&program, 1.0).ends, [45 * MS]);
}

#[test]
fn a_phase_begins_when_all_threads_are_done() {
    let steps = vec![
        step(1, 0, 0, submit(0)),
        step(2, 0, 0, submit(1)),
        step(1, 0, 1, Action::Wait(0)),
        step(2, 0, 1, Action::Wait(1)),
        step(3, 2, 2, submit(2)),
        step(3, 2, 3, Action::Wait(2)),
    ];
    let phases = vec![0, 2 * MS];
    let program = program(&steps, phases, 4 * MS);
    // 5 and 10 ms for the two, 1 ms of computing each phase.
    let ran = run(&program, 1.0);
    assert_eq!(ran.ends, [11 * MS, 17 * MS]);
    let mut phases = Vec::new();
    let mut each = |sent: Sent, _: u64, _: u64| phases.push((sent.phase, sent.len));
    program.run(&mut fixed(), 1.0, &mut each).unwrap();
    assert_eq!(phases, [(0, 4096), (0, 4096), (1, 4096)]);
    // Nothing was in flight while the phases computed, 1 ms each.
    let idle: Vec<Nanoseconds> = ran.marks.iter().map(|mark| mark.idle).collect();
    assert_eq!((idle, ran.idle), (vec![MS, 2 * MS], 2 * MS));
}

#[test]
fn a_thread_waits_for_those_it_joined() {
    let steps = vec![
        step(1, 0, 0, submit(0)),
        step(1, 0, 1, Action::Wait(0)),
        // Two workers, of which the second is the slower.
        step(2, 1, 1, submit(1)),
        step(3, 1, 1, submit(2)),
        step(2, 1, 2, Action::Wait(1)),
        step(3, 1, 3, Action::Wait(2)),
        step(1, 4, 4, submit(3)),
        step(1, 4, 5, Action::Wait(3)),
    ];
    let program = program(&steps, vec![0], 5 * MS);
    // 5; then 10 and 15; 1 ms of computing; 5.
    assert_eq!(run(&program, 1.0).ends, [21 * MS]);
}

#[test]
fn a_phase_without_requests_takes_its_processor_time() {
    let steps = vec![step(1, 10, 10, submit(0)), step(1, 10, 11, Action::Wait(0))];
    let phases = vec![0, 4 * MS, 20 * MS];
    let program = program(&steps, phases, 30 * MS);
    assert_eq!(
        run(&program, 1.0).ends,
        [4 * MS, (20 - 1 + 5) * MS, (30 - 1 + 5) * MS]
    );
    let slower = run(&program, 2.0);
    assert_eq!(slower.ends[2], (29 * 2 + 5) * MS);
    let idle: Vec<Nanoseconds> = slower.marks.iter().map(|mark| mark.idle).collect();
    assert_eq!(idle, [4 * 2 * MS, 19 * 2 * MS, 29 * 2 * MS]);
}

#[test]
fn a_request_beyond_the_device_is_refused() {
    let beyond = Action::Submit {
        request: 7,
        offset: 1 << 30,
        len: 4096,
        is_awaited: false,
    };
    let steps = [step(1, 0, 0, submit(3)), step(1, 0, 0, beyond)];
    let program = program(&steps, vec![0], MS);
    let result = program.run(&mut fixed(), 1.0, &mut |_, _, _| {});
    let expected = Error::DoesNotFit {
        index: 1,
        end: (1 << 30) + 4096,
        capacity: 1 << 30,
    };
    assert_eq!(result.unwrap_err(), expected);
}

#[test]
fn steps_that_were_not_announced_are_refused() {
    let counts = BTreeMap::from([(1, 1), (2, 1)]);
    let mut kept = InMemory::default();
    let mut builder = Builder::new(&counts, vec![0], MS).unwrap();
    let one = step(1, 0, 0, submit(0));
    builder.add(&one, &mut kept).unwrap();
    assert_eq!(builder.add(&one, &mut kept), Err(Error::NoSuch(1)));
    let other = step(3, 0, 0, submit(0));
    assert_eq!(builder.add(&other, &mut kept), Err(Error::NoSuch(1)));
    assert_eq!(builder.finish().unwrap_err(), Error::NoSuch(1));
    let many = BTreeMap::from([(1, u64::from(u32::MAX)), (2, 1)]);
    let refused = Builder::new(&many, vec![0], 0).err();
    assert_eq!(refused, Some(Error::TooMany));
}

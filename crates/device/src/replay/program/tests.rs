use super::*;
use crate::replay::tests::fixed;

const MS: u64 = 1_000_000;

fn request(tag: u64) -> Request {
    Request::read(tag, tag * 4096, 4096)
}

fn step(thread: u32, began: u64, ended: u64, action: Action) -> Step {
    Step {
        thread,
        began: began * MS,
        ended: ended * MS,
        action,
    }
}

fn run(program: &Program, cpu: f64) -> Ran {
    program.run(&mut fixed(), cpu, &mut |_, _, _| {}).unwrap()
}

/// One request after the other, on a device of 1 ms, with 2 ms of processor time before each.
fn loop_of(count: u64) -> Program {
    let steps = (0..count).flat_map(|i| {
        let at = 3 * i + 2;
        [
            step(1, at, at, Action::Submit(i as u32)),
            step(1, at, at + 1, Action::Wait(i as u32)),
        ]
    });
    let requests = (0..count).map(request).collect();
    Program::new(requests, steps.collect(), vec![0], 3 * count * MS)
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
    let mut steps: Vec<Step> = (0..4).map(|i| step(1, 0, 0, Action::Submit(i))).collect();
    for i in 0..4 {
        let began = if i == 0 { 0 } else { 40 + 10 * u64::from(i) };
        steps.push(step(1, began, 40 + 10 * u64::from(i), Action::Wait(i)));
    }
    let program = Program::new((0..4).map(request).collect(), steps, vec![0], 80 * MS);
    // The first is done after 5 ms, and all the others while it computes.
    assert_eq!(run(&program, 1.0).ends, [45 * MS]);
}

#[test]
fn a_phase_begins_when_all_threads_are_done() {
    let steps = vec![
        step(1, 0, 0, Action::Submit(0)),
        step(2, 0, 0, Action::Submit(1)),
        step(1, 0, 1, Action::Wait(0)),
        step(2, 0, 1, Action::Wait(1)),
        step(3, 2, 2, Action::Submit(2)),
        step(3, 2, 3, Action::Wait(2)),
    ];
    let phases = vec![0, 2 * MS];
    let program = Program::new((0..3).map(request).collect(), steps, phases, 4 * MS);
    // 5 and 10 ms for the two, 1 ms of computing each phase.
    let ran = run(&program, 1.0);
    assert_eq!(ran.ends, [11 * MS, 17 * MS]);
    assert_eq!(program.phase_at(2 * MS), 1);
    // Nothing was in flight while the phases computed, 1 ms each.
    let idle: Vec<Nanoseconds> = ran.marks.iter().map(|mark| mark.idle).collect();
    assert_eq!((idle, ran.idle), (vec![MS, 2 * MS], 2 * MS));
}

#[test]
fn a_thread_waits_for_those_it_joined() {
    let steps = vec![
        step(1, 0, 0, Action::Submit(0)),
        step(1, 0, 1, Action::Wait(0)),
        // Two workers, of which the second is the slower.
        step(2, 1, 1, Action::Submit(1)),
        step(3, 1, 1, Action::Submit(2)),
        step(2, 1, 2, Action::Wait(1)),
        step(3, 1, 3, Action::Wait(2)),
        step(1, 4, 4, Action::Submit(3)),
        step(1, 4, 5, Action::Wait(3)),
    ];
    let program = Program::new((0..4).map(request).collect(), steps, vec![0], 5 * MS);
    // 5; then 10 and 15; 1 ms of computing; 5.
    assert_eq!(run(&program, 1.0).ends, [21 * MS]);
}

#[test]
fn a_phase_without_requests_takes_its_processor_time() {
    let steps = vec![
        step(1, 10, 10, Action::Submit(0)),
        step(1, 10, 11, Action::Wait(0)),
    ];
    let phases = vec![0, 4 * MS, 20 * MS];
    let program = Program::new(vec![request(0)], steps, phases, 30 * MS);
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
    let mut requests = vec![request(0)];
    requests[0].offset = 1 << 30;
    let steps = vec![
        step(1, 0, 0, Action::Submit(0)),
        step(1, 0, 1, Action::Wait(0)),
    ];
    let program = Program::new(requests, steps, vec![0], MS);
    let result = program.run(&mut fixed(), 1.0, &mut |_, _, _| {});
    assert!(matches!(result, Err(Error::DoesNotFit { index: 0, .. })));
}

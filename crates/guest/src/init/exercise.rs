//! The job of a test boot: threads that keep values in vector registers across system calls and preemption.
//!
//! A kernel that runs as a program of the host saves and restores the registers of its own processes through the
//! host's ptrace or signal frames. A new processor has more state there than an old kernel expects, and the fault
//! shows as a thread that finds another thread's values. Workloads would show it as a crash, or not at all.
#![allow(unsafe_code)] // asm: registers across a system call

use std::io;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ChannelWriter;

/// The key of the job's document.
const KEY: &str = "boot_probe";

/// What a test boot is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exercise {
    /// Threads at once.
    pub(crate) threads: usize,
    /// System calls of each thread.
    pub(crate) rounds: u64,
}

impl Default for Exercise {
    fn default() -> Self {
        Exercise {
            threads: 4,
            rounds: 2000,
        }
    }
}

/// The job's document.
pub(crate) fn document(exercise: &Exercise) -> Value {
    json!({ KEY: exercise })
}

/// The exercise, if a job's document asks for one.
pub(super) fn asked(document: &Value) -> Option<Exercise> {
    serde_json::from_value(document.get(KEY)?.clone()).ok()
}

/// Does it, reports the result, and gives the exit code.
pub(super) fn report(exercise: &Exercise, channel: &ChannelWriter) -> i32 {
    let reported =
        run(exercise).and_then(|avx| channel.send_document(json!({ KEY: { "avx": avx } })));
    match reported {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("fslab: {why}");
            1
        }
    }
}

/// Whether AVX registers were used. The error says what did not survive.
fn run(exercise: &Exercise) -> Result<bool, String> {
    let avx = has_avx();
    let workers: Vec<thread::JoinHandle<Result<(), String>>> = (0..exercise.threads)
        .map(|number| {
            let rounds = exercise.rounds;
            thread::Builder::new().spawn(move || hold(number as u64 + 1, rounds, avx))
        })
        .collect::<io::Result<_>>()
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    for worker in workers {
        let held = worker.join();
        held.map_err(|_| "a thread of the test boot panicked".to_owned())??;
    }
    Ok(avx)
}

fn hold(seed: u64, rounds: u64, avx: bool) -> Result<(), String> {
    let values: [u64; 16] = std::array::from_fn(|n| seed << 32 | n as u64);
    // Several sleeps as well, so that the kernel switches between threads in the middle.
    for part in 0..4 {
        kept(&values, rounds / 4, avx)
            .map_err(|register| format!("thread {seed} lost the value of {register}"))?;
        thread::sleep(Duration::from_millis(1 + part));
    }
    let mut sum = 0.0_f64;
    for n in 0..1000 {
        sum += f64::from(n).sqrt();
    }
    if (sum - 21_065.833).abs() > 0.01 {
        return Err(format!(
            "thread {seed} computed {sum} for a sum of square roots"
        ));
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn has_avx() -> bool {
    std::is_x86_feature_detected!("avx")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
fn kept(values: &[u64; 16], rounds: u64, avx: bool) -> Result<(), String> {
    let found = if avx {
        // SAFETY: the processor and the kernel have AVX.
        unsafe { through_ymm(values, rounds) }
    } else {
        through_xmm(values, rounds)
    };
    // 256-bit registers come back as four copies of their value.
    let width = if avx { 4 } else { 1 };
    let wrong = (found.iter().enumerate()).find(|(n, value)| **value != values[n / width]);
    match wrong {
        Some((n, _)) => Err(format!("{}mm{}", if avx { 'y' } else { 'x' }, n / width)),
        None => Ok(()),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn kept(_values: &[u64; 16], rounds: u64, _avx: bool) -> Result<(), String> {
    for _ in 0..rounds {
        thread::yield_now();
    }
    Ok(())
}

/// Fills each register with its value, gives the processor away `rounds` times, and stores the registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn through_ymm(values: &[u64; 16], rounds: u64) -> Vec<u64> {
    let mut found = vec![0_u64; 16 * 4];
    // SAFETY: it reads 16 values and stores 16 registers of 32 bytes; sched_yield (24) takes no memory. All
    // registers that it or the system call changes are named.
    unsafe {
        std::arch::asm!(
            "vbroadcastsd ymm0, [{from}]",
            "vbroadcastsd ymm1, [{from} + 8]",
            "vbroadcastsd ymm2, [{from} + 16]",
            "vbroadcastsd ymm3, [{from} + 24]",
            "vbroadcastsd ymm4, [{from} + 32]",
            "vbroadcastsd ymm5, [{from} + 40]",
            "vbroadcastsd ymm6, [{from} + 48]",
            "vbroadcastsd ymm7, [{from} + 56]",
            "vbroadcastsd ymm8, [{from} + 64]",
            "vbroadcastsd ymm9, [{from} + 72]",
            "vbroadcastsd ymm10, [{from} + 80]",
            "vbroadcastsd ymm11, [{from} + 88]",
            "vbroadcastsd ymm12, [{from} + 96]",
            "vbroadcastsd ymm13, [{from} + 104]",
            "vbroadcastsd ymm14, [{from} + 112]",
            "vbroadcastsd ymm15, [{from} + 120]",
            "2:",
            "test {rounds}, {rounds}",
            "jz 3f",
            "mov eax, 24",
            "syscall",
            "dec {rounds}",
            "jmp 2b",
            "3:",
            "vmovups [{to}], ymm0",
            "vmovups [{to} + 32], ymm1",
            "vmovups [{to} + 64], ymm2",
            "vmovups [{to} + 96], ymm3",
            "vmovups [{to} + 128], ymm4",
            "vmovups [{to} + 160], ymm5",
            "vmovups [{to} + 192], ymm6",
            "vmovups [{to} + 224], ymm7",
            "vmovups [{to} + 256], ymm8",
            "vmovups [{to} + 288], ymm9",
            "vmovups [{to} + 320], ymm10",
            "vmovups [{to} + 352], ymm11",
            "vmovups [{to} + 384], ymm12",
            "vmovups [{to} + 416], ymm13",
            "vmovups [{to} + 448], ymm14",
            "vmovups [{to} + 480], ymm15",
            "vzeroupper",
            from = in(reg) values.as_ptr(),
            to = in(reg) found.as_mut_ptr(),
            rounds = inout(reg) rounds => _,
            out("rax") _, out("rcx") _, out("r11") _,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack)
        );
    }
    found
}

/// The same with half of the registers that every x86-64 processor has; one value of each.
#[cfg(target_arch = "x86_64")]
fn through_xmm(values: &[u64; 16], rounds: u64) -> Vec<u64> {
    let mut found = vec![0_u64; 8];
    // SAFETY: as above, with 8 bytes of 8 registers.
    unsafe {
        std::arch::asm!(
            "movq xmm0, [{from}]",
            "movq xmm1, [{from} + 8]",
            "movq xmm2, [{from} + 16]",
            "movq xmm3, [{from} + 24]",
            "movq xmm4, [{from} + 32]",
            "movq xmm5, [{from} + 40]",
            "movq xmm6, [{from} + 48]",
            "movq xmm7, [{from} + 56]",
            "2:",
            "test {rounds}, {rounds}",
            "jz 3f",
            "mov eax, 24",
            "syscall",
            "dec {rounds}",
            "jmp 2b",
            "3:",
            "movq [{to}], xmm0",
            "movq [{to} + 8], xmm1",
            "movq [{to} + 16], xmm2",
            "movq [{to} + 24], xmm3",
            "movq [{to} + 32], xmm4",
            "movq [{to} + 40], xmm5",
            "movq [{to} + 48], xmm6",
            "movq [{to} + 56], xmm7",
            from = in(reg) values.as_ptr(),
            to = in(reg) found.as_mut_ptr(),
            rounds = inout(reg) rounds => _,
            out("rax") _, out("rcx") _, out("r11") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            options(nostack)
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_survive_on_this_machine_with_and_without_avx() {
        let exercise = Exercise {
            threads: 3,
            rounds: 400,
        };
        assert_eq!(run(&exercise), Ok(has_avx()));
        let values: [u64; 16] = std::array::from_fn(|n| 7 + n as u64);
        assert_eq!(kept(&values, 40, false), Ok(()));
    }

    #[test]
    fn the_document_comes_back() {
        let exercise = Exercise::default();
        assert_eq!(asked(&document(&exercise)), Some(exercise));
        assert_eq!(asked(&json!({ "trial": {} })), None);
    }
}

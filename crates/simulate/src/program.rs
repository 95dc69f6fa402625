//! The command line: one seed, so many, or so long.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::draw::nth_seed;
use crate::world::{Outcome, run};

/// Runs what the command line asks for: `[--seed N [--trace] | --from N] [--seeds N | --hours H] [--first]`. Returns
/// true if no seed violated an oracle.
pub fn program(arguments: &[String]) -> bool {
    let number = |name: &str| -> Option<f64> {
        arguments.windows(2).find(|pair| pair[0] == name).and_then(|pair| pair[1].parse().ok())
    };
    let exact = |name: &str| -> Option<u64> {
        arguments.windows(2).find(|pair| pair[0] == name).and_then(|pair| pair[1].parse().ok())
    };
    if let Some(seed) = exact("--seed") {
        let outcome = run(seed, arguments.iter().any(|argument| argument == "--trace"));
        println!(
            "seed {seed}: {} steps, {} writes landed late, {:?}",
            outcome.steps, outcome.late, outcome.violation
        );
        return outcome.violation.is_none();
    }
    let seeds = exact("--seeds").unwrap_or(if number("--hours").is_some() { u64::MAX } else { 2000 });
    let hours = number("--hours").map(|hours| Duration::from_secs_f64(hours * 3600.0));
    simulate(exact("--from"), seeds, hours, arguments.iter().any(|a| a == "--first"))
}

fn simulate(from: Option<u64>, seeds: u64, limit: Option<Duration>, first_only: bool) -> bool {
    let began = Instant::now();
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new((Outcome::default(), 0_u64, Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && limit.is_none_or(|limit| began.elapsed() < limit) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= seeds {
                        break;
                    }
                    let seed = from.map_or_else(|| nth_seed(at + 1), |from| from + at);
                    let outcome = std::panic::catch_unwind(|| run(seed, false)).unwrap_or_else(|_| Outcome {
                        violation: Some("the core panics".into()),
                        ..Outcome::default()
                    });
                    let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    total.0.steps += outcome.steps;
                    total.0.failed += outcome.failed;
                    total.0.late += outcome.late;
                    total.0.faults.add(&outcome.faults);
                    total.1 += 1;
                    if let Some(why) = outcome.violation {
                        eprintln!("seed {seed}: {why}");
                        total.2.push(seed);
                        stop.store(first_only || total.2.len() >= 20, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (outcome, ran, failed) = total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{ran} seeds, {} steps in {seconds:.1} s ({:.0} steps/s), {} commands failed, {} writes landed late as \
         foreseen, {} seeds violate an oracle",
        outcome.steps,
        outcome.steps as f64 / seconds,
        outcome.failed,
        outcome.late,
        failed.len()
    );
    let faults: Vec<String> =
        outcome.faults.all().map(|(fault, count)| format!("{fault:?} {count}")).collect();
    println!("faults: {}", faults.join(", "));
    failed.is_empty()
}

//! Some thousand seeds with every run of the tests; `cargo xtask simulate --hours 1` runs for long.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_simulate::{FaultCounts, STALLS, nth_seed, run};

/// Number of seeds, from 1.
const SEEDS: u64 = 2000;
/// Seeds that found something, each with what it was.
const FOUND: [(u64, &str); 27] = [
    (37, "an aborted read of the unit's identity ended a path that answers"),
    (1020, "the same during the login of another path"),
    (508, "checks took the only turn of a path with room for one command"),
    (59, "the same with all of the depth"),
    (113, "checks kept a path that had refused commands from ever getting one"),
    (356, "a path was ended for its silence when all had fallen silent almost together"),
    (1242, "a unit attention during the examination of a path did not make the others verify the unit"),
    (17346, "the same before the first write"),
    (10413, "the same on a path that was up before"),
    (1022229, "the same in the answer to a check that another question had replaced"),
    (8063, "a path was sent for ever to a portal that had left the group of its old session"),
    (13520, "writes waited for a portal that refused the login, although another could end the session"),
    (9114, "the same for a portal that does not answer"),
    (10978, "a path was ended for its silence because another one had answered a little later"),
    (
        5703,
        "of the unit that was replaced without a word, the block to check was replaced before its read ended",
    ),
    (
        5911,
        "one block that the unit had lost counted for less than newer ones, written to the disk that replaced it",
    ),
    (3154, "a write that had failed was executed late, and the unit was said to have lost a newer one"),
    (
        42087,
        "checks took every second place of a path, and I/Os waited for their turn until their time was over",
    ),
    (
        92139,
        "a path that came back in another group waited for a portal to end its old session, which it never asked",
    ),
    (155_115, "the time that a command had waited elsewhere counted as time with a closed window"),
    (
        420_956,
        "a login that a target without named groups had redirected counted as the end of the old session",
    ),
    (
        433_768,
        "the end of a connection for an overdue I/O had a pause in which the next I/Os became overdue, and so on",
    ),
    (
        517_201,
        "writes that were fenced when their path was refused waited for the long pause of a refused path",
    ),
    (
        3_024_481,
        "what a target sent before its login response arrived was lost: the simulated network, not the core",
    ),
    (STALLS + 551, "a write whose time was over landed after a newer one, which the core did not foresee"),
    (STALLS + 627, "the same"),
    (
        STALLS + 8219,
        "a write that was sent again after a LUN reset landed after a newer one, which the core did not foresee",
    ),
];

#[test]
fn no_seed_violates_an_oracle_and_every_fault_occurs() {
    let next = AtomicU64::new(0);
    let total = Mutex::new((FaultCounts::default(), Vec::new(), 0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let found = FOUND.get(usize::try_from(at).unwrap_or(usize::MAX));
                    let seed = found.map_or_else(|| nth_seed(at + 1 - FOUND.len() as u64), |(seed, _)| *seed);
                    if at >= SEEDS {
                        break;
                    }
                    let outcome = run(seed, false);
                    let mut total = total.lock().expect("no run panics");
                    total.0.add(&outcome.faults);
                    total.2 += outcome.late;
                    let violation = outcome.violation;
                    total.1.extend(violation.map(|why| format!("cargo xtask simulate --seed {seed}: {why}")));
                }
            });
        }
    });
    let (faults, violations, late) = total.into_inner().expect("no run panics");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    let missing: Vec<_> = faults.all().filter(|(_, count)| *count == 0).collect();
    assert!(missing.is_empty(), "faults that never occurred: {missing:?}");
    assert!(late > 0, "no write landed late, so nothing shows that the core foresees it");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 77, 912] {
        let (one, again) = (run(seed, false), run(seed, false));
        assert_eq!((one.steps, one.failed, one.faults), (again.steps, again.failed, again.faults), "{seed}");
    }
}

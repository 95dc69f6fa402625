//! Durable writes of an array that is driven from outside, as `sim:` drives it, against the prediction.

use assay_model::array::{Array, set};
use assay_model::des::{Simulation, VirtualOp};
use assay_model::predict::{Engines, predict};
use assay_model::raid::Kind;
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

use crate::array;

/// How a load makes its writes durable.
#[derive(Clone, Copy)]
enum Durable {
    No,
    /// Each before it is answered: O_DSYNC, FUA.
    Sync,
    /// A flush after so many: fdatasync.
    Flush(u32),
}

impl Durable {
    fn every(self) -> Option<u32> {
        match self {
            Self::No => None,
            Self::Sync => Some(1),
            Self::Flush(every) => Some(every),
        }
    }
}

/// Writes per second of a closed loop in virtual time: every flush takes a place, as the engine's flushes do.
fn driven(array: &Array, durable: Durable, outstanding: usize) -> f64 {
    let mut sim = Simulation::new(array, GIB, outstanding, 9);
    let mut flushing = Vec::new();
    let (mut now, mut done, mut submitted, mut since_flush) = (0, 0_u64, 0_u64, 0_u32);
    let mut free = outstanding;
    let ios = 20_000;
    while done < ios {
        while free > 0 {
            free -= 1;
            match durable {
                Durable::Flush(every) if since_flush >= every => {
                    flushing.push(sim.submit_flush(now, every).unwrap());
                    since_flush = 0;
                }
                _ => {
                    let place = submitted.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (GIB / 8192) * 8192 + 8192;
                    let op = VirtualOp {
                        member: 0,
                        kind: Kind::Write,
                        offset_bytes: place,
                        size_bytes: 8192,
                        flush_every: durable.every(),
                    };
                    sim.submit(now, op).unwrap();
                    submitted += 1;
                    since_flush += 1;
                }
            }
        }
        let due = sim.next_event_ns().expect("something is in flight");
        while let Some(completion) = sim.next_completion_before(due) {
            match flushing.iter().position(|id| *id == completion.id) {
                Some(place) => drop(flushing.swap_remove(place)),
                None => done += 1,
            }
            free += 1;
        }
        now = now.max(due);
    }
    done as f64 / (now as f64 / 1e9)
}

fn predicted(array: &Array, durable: Durable, outstanding: u32) -> f64 {
    let load = Workload {
        span: Bytes(GIB),
        flush_every: durable.every(),
        ..Workload::simple("durable", 8192, 0.0, 100.0, outstanding)
    };
    predict(array, &load, Engines::Closed, &mut Tables::default()).iops.value
}

fn with(name: &str, more: &str) -> Array {
    let mut array = array(name);
    set(&mut array, more).unwrap();
    array
}

/// `sim:` answered flushes at once and let durable writes stay in volatile caches.
#[test]
fn durable_writes_of_a_driven_array_take_the_time_that_is_predicted() {
    let arrays = [
        ("no cache", with("hdd-7200", "")),
        ("a volatile cache of the disk", with("hdd-7200", "device.write_cache=64MiB")),
        ("a volatile cache of the controller", with("hdd-7200", "cache=16MiB")),
        ("a cache with a battery", with("ts140-raid10", "cache=16MiB controller.battery=true")),
        ("an SSD", with("ssd-sata", "device.flush_ms=1.5")),
        ("an SSD that survives a power cut", with("ssd-sata", "device.flush_ms=0")),
    ];
    let mut apart = Vec::new();
    for (name, array) in &arrays {
        for durable in [Durable::No, Durable::Sync, Durable::Flush(8), Durable::Flush(64)] {
            for outstanding in [1, 8] {
                let driven = driven(array, durable, outstanding);
                let predicted = predicted(array, durable, u32::try_from(outstanding).unwrap());
                let what = format!("{name}, flush every {:?}, {outstanding} outstanding", durable.every());
                let says = format!("{what:<75} {driven:>9.1} {predicted:>9.1} {:.3}", driven / predicted);
                println!("{says}");
                if (driven / predicted - 1.0).abs() > 0.1 {
                    apart.push(says);
                }
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    // The log takes what is driven here without filling up.
    let log = with("hdd-7200", "log.iops_max=20000 log.mb_s=400 log.latency_us=50");
    let (with_log, without) = (driven(&log, Durable::Sync, 1), driven(&arrays[0].1, Durable::Sync, 1));
    assert!(with_log > 50.0 * without, "{with_log} against {without}");
}

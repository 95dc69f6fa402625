//! Where I/Os go: each of several targets gets its share, whatever delays, holds or refuses them.
//!
//! With two targets, a delay and bursts of one I/O, all I/Os went to one target: the pause before each burst returned
//! the slot, but not the turn. Held and refused I/Os lost turns, too.

use std::sync::atomic::Ordering;

use assay_engine::StopSignal;

use crate::bench::{Faults, Reported, Seen, watch_with};

/// Enough for dozens of turns of each target, and no multiple of 2, 3, 4 or 5.
const OPS: u64 = 61;

/// Returns the number of I/Os that were submitted to each target.
fn submitted(reported: &Reported, members: usize) -> Vec<u64> {
    reported.seen.by_member[..members].iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

/// Runs a test with these fields on 2 to 5 targets, in both semantics unless Iometer has no such thing. Fails if the
/// shares of two targets differ by more than one turn of each worker; a turn is a request with its reply.
fn check(name: &str, fields: &str, faults: Faults) {
    let turn = if fields.contains("reply") { 2 } else { 1 };
    let faults = Faults { in_order: true, ..faults };
    let is_iometers = !["pace", "verify"].iter().any(|key| fields.contains(key));
    let semantics = if is_iometers { &["assay", "iometer"][..] } else { &["assay"] };
    std::thread::scope(|scope| {
        for (semantics, members) in semantics.iter().flat_map(|s| (2..=5).map(move |m| (s, m))) {
            scope.spawn(move || {
                for workers in [1, 3] {
                    let text = format!(
                        "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\nworkers = {workers}\n\
                         ops = {}\n{fields}\n",
                        OPS * workers
                    );
                    let reported =
                        watch_with(&text, members, faults, Seen::default(), &StopSignal::default());
                    let shares = submitted(&reported, members);
                    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
                    let says = format!("{name}, {semantics}, {workers} workers: {shares:?}");
                    assert!(most - least <= workers * turn, "{says}");
                    assert!(shares.iter().sum::<u64>() >= OPS * workers, "{says}");
                    let recorded: Vec<u64> = reported.ends()[0].members.iter().map(|m| m.ops).collect();
                    assert_eq!(recorded, shares, "{says}: recorded by target");
                    let refused = reported.seen.refused.load(Ordering::Relaxed);
                    assert_eq!(refused > 0, faults.queue.is_some(), "{says}: {refused} refused");
                }
            });
        }
    });
}

#[test]
fn every_target_gets_its_share_of_a_plain_load() {
    let access = "access = [{ size = \"4KiB\", read = 50, random = 50 }]";
    check("plain", &format!("{access}\noutstanding = 7"), Faults::default());
    check("one at a time", &format!("{access}\noutstanding = 1"), Faults::default());
}

#[test]
fn every_target_gets_its_share_of_bursts_with_delays() {
    for burst in [1, 2, 3, 4, 7] {
        for outstanding in [1, 2, 8] {
            let fields = format!(
                "access = [{{ size = \"4KiB\", delay = \"1ms\", burst = {burst} }}]\noutstanding = {outstanding}"
            );
            check(&format!("bursts of {burst}, {outstanding} in flight"), &fields, Faults::default());
        }
    }
}

#[test]
fn every_target_gets_its_share_of_bursts_of_several_lines() {
    let fields = "access = [{ size = \"4KiB\", delay = \"1ms\", weight = 40 }, \
                  { size = \"8KiB\", burst = 3, weight = 60 }]\noutstanding = 4";
    check("two lines", fields, Faults::default());
}

#[test]
fn every_target_gets_its_share_if_its_queue_is_full() {
    let access = "access = [{ size = \"4KiB\", read = 50, random = 50 }]";
    let faults = Faults { queue: Some(1), ..Faults::default() };
    check("full queues", &format!("{access}\noutstanding = 16"), faults);
    let bursts = "access = [{ size = \"4KiB\", delay = \"1ms\", burst = 20 }]\noutstanding = 16";
    check("full queues and bursts", bursts, faults);
}

#[test]
fn every_target_gets_its_share_of_a_load_with_a_rate() {
    for arrivals in ["constant", "poisson"] {
        let fields = format!(
            "access = [{{ size = \"4KiB\" }}]\noutstanding = 16\n\
             pace = {{ rate = \"4000/s\", arrivals = \"{arrivals}\" }}"
        );
        check(arrivals, &fields, Faults::default());
    }
}

#[test]
fn every_target_gets_its_share_of_a_load_that_is_verified() {
    // Twelve blocks for sixteen I/Os: nearly each waits for another on its block.
    let fields = "access = [{ size = \"4KiB\", read = 50, random = 100 }]\noutstanding = 16\n\
                  span = \"48KiB\"\nverify = true";
    check("verified", fields, Faults::default());
}

#[test]
fn every_target_gets_its_share_of_writes_with_flushes_and_of_replies() {
    let flushes = "access = [{ size = \"4KiB\", read = 0 }]\noutstanding = 5\nflush = { every = 3 }";
    check("flushes", flushes, Faults::default());
    let replies = "access = [{ size = \"4KiB\", random = 100, reply = \"4KiB\" }]\noutstanding = 3";
    check("replies", replies, Faults::default());
}

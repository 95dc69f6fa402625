//! Finds the frame size that passes a path, by ICMP echoes that must not be fragmented.
//!
//! A switch drops a frame that is too large without notice, so no answer at one size while smaller ones are answered is
//! the finding. Sizes are those of IP packets, which an MTU counts. A router reports that a packet is too large, unless
//! that message is filtered; in that case echoes with a hop limit show how far full frames get.

use std::time::Duration;

use assay_record::{FrameFacts, FrameHop, FrameOutcome, FrameProbe, FrameRefusal, FrameTry};

use super::echo::{Answer, Echo};

/// Common MTUs.
const USUAL_BYTES: [u32; 2] = [1500, 9000];
/// Small enough for every network (RFC 791); shows whether echoes are answered at all.
const SMALL_BYTES: u32 = 576;
/// The same for IPv6, in which every link carries this size (RFC 8200).
const SMALL_V6_BYTES: u32 = 1280;
/// Number of lost echoes of one size before the size counts as lost: one may be lost for another reason.
const TRIES: u32 = 2;
/// Time limit of an echo. A storage network answers within a millisecond; an idle machine may wake up late.
const PATIENCE: Duration = Duration::from_millis(250);
/// The first echo also waits for ARP.
const PATIENCE_FIRST: Duration = Duration::from_millis(500);
/// Number of bisection steps between the largest size that passes and the smallest that does not: 2^16 sizes, and some
/// guesses.
const HALVINGS_MAX: u32 = 18;
const VLAN_TAG_BYTES: u32 = 4;
/// Largest hop limit.
const HOPS_ALL: u8 = 64;
/// Largest number of routers examined between a host and its storage.
const HOPS_TOLD: u8 = 16;
/// Number of consecutive silent routers after which no further one is asked.
const SILENT_MAX: u32 = 2;

/// Finds the frames that pass to the address of `echo`, up to `mtu_bytes` of the local interface; if larger ones do not
/// pass and a router is on the way, also how far they get.
pub(super) fn probe(mut echo: Echo, mtu_bytes: u32, is_routed: bool) -> FrameFacts {
    let small = if echo.is_v4() { SMALL_BYTES } else { SMALL_V6_BYTES };
    probe_with(small, mtu_bytes, is_routed, &mut |bytes, hops, patience| echo.send(bytes, hops, patience))
}

/// Sends a packet of a size with a hop limit and returns its result.
type Send<'s> = dyn FnMut(u32, u8, Duration) -> Answer + 's;

/// The sequence of sizes as a function of the result of each.
fn probe_with(small: u32, mtu_bytes: u32, is_routed: bool, send: &mut Send<'_>) -> FrameFacts {
    let mut facts = FrameFacts { how: FrameProbe::Echo, ..FrameFacts::default() };
    if try_size(&mut facts, small.min(mtu_bytes), PATIENCE_FIRST, send) != FrameOutcome::Passes {
        return FrameFacts { how: FrameProbe::Unanswered, ..FrameFacts::default() };
    }
    let mut sizes = Vec::from(USUAL_BYTES);
    if mtu_bytes < 65_536 {
        sizes.push(mtu_bytes);
    }
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        if size > mtu_bytes {
            facts.tried.push(FrameTry { bytes: size, outcome: FrameOutcome::TooLargeHere });
        } else {
            try_size(&mut facts, size, PATIENCE, send);
        }
    }
    narrow(&mut facts, mtu_bytes, send);
    if let (true, Some(full)) = (is_routed, smallest_lost(&facts, mtu_bytes)) {
        facts.hops = hops(full.max(mtu_bytes.min(9000)), small, send);
    }
    facts.tried.sort_by_key(|one| one.bytes);
    facts
}

fn smallest_lost(facts: &FrameFacts, mtu_bytes: u32) -> Option<u32> {
    let fails = |one: &&FrameTry| one.outcome != FrameOutcome::Passes && one.bytes <= mtu_bytes;
    facts.tried.iter().filter(fails).map(|one| one.bytes).min()
}

fn try_size(facts: &mut FrameFacts, bytes: u32, patience: Duration, send: &mut Send<'_>) -> FrameOutcome {
    let mut outcome = FrameOutcome::Lost;
    for _ in 0..TRIES {
        outcome = match send(bytes, HOPS_ALL, patience) {
            Answer::Echo { took_us } => {
                facts.echo_us = Some(facts.echo_us.map_or(took_us, |best| best.min(took_us)));
                facts.largest_bytes = facts.largest_bytes.max(Some(bytes));
                FrameOutcome::Passes
            }
            Answer::TooLargeHere => FrameOutcome::TooLargeHere,
            Answer::Refused { by, mtu_bytes } => {
                let by = by.map(|by| by.to_string()).unwrap_or_default();
                facts.refusal = Some(FrameRefusal { by, mtu_bytes });
                FrameOutcome::RefusedOnTheWay
            }
            // This many routers are a loop.
            Answer::Expired { .. } | Answer::Lost => FrameOutcome::Lost,
        };
        if outcome != FrameOutcome::Lost {
            break;
        }
    }
    facts.tried.push(FrameTry { bytes, outcome });
    outcome
}

/// Searches between the largest size that passes and the smallest that does not.
fn narrow(facts: &mut FrameFacts, mtu_bytes: u32, send: &mut Send<'_>) {
    let (Some(mut low), Some(mut high)) = (facts.largest_bytes, smallest_lost(facts, mtu_bytes)) else {
        return;
    };
    // The limit is nearly always a common size, or such a size plus a VLAN tag: two echoes show it.
    let mut guesses = vec![low + 1, low + 1 + VLAN_TAG_BYTES];
    guesses.reverse();
    for _ in 0..HALVINGS_MAX {
        // A router that reported its MTU need not be tested byte by byte; it would soon stop answering, because it
        // limits its error rate.
        let reported = facts.refusal.as_ref().map(|refusal| refusal.mtu_bytes);
        if high <= low + 1 || reported == Some(low) {
            return;
        }
        let guess = reported.filter(|reported| (low + 1..high).contains(reported)).or_else(|| guesses.pop());
        let guess = guess.filter(|guess| (low + 1..high).contains(guess));
        let next = guess.unwrap_or(low + (high - low) / 2);
        match try_size(facts, next, PATIENCE, send) {
            FrameOutcome::Passes => low = next,
            _ => high = next,
        }
    }
}

/// Returns how far frames of `full` bytes get: each router on the way is reached with a small echo that expires there,
/// then with a full one. The examination ends at the first router that a full one does not reach.
fn hops(full: u32, small: u32, send: &mut Send<'_>) -> Vec<FrameHop> {
    let mut hops = Vec::new();
    let mut silent = 0;
    for number in 1..=HOPS_TOLD {
        let (address, is_end) = match try_hop(small, number, send) {
            Answer::Expired { by } => (by.map(|by| by.to_string()), false),
            Answer::Echo { .. } => (None, true),
            _ => {
                silent += 1;
                if silent > SILENT_MAX {
                    break;
                }
                continue;
            }
        };
        silent = 0;
        let full = match try_hop(full, number, send) {
            Answer::Echo { .. } | Answer::Expired { .. } => FrameOutcome::Passes,
            Answer::Refused { .. } => FrameOutcome::RefusedOnTheWay,
            Answer::TooLargeHere => FrameOutcome::TooLargeHere,
            Answer::Lost => FrameOutcome::Lost,
        };
        hops.push(FrameHop { number, address, full });
        if is_end || full != FrameOutcome::Passes {
            break;
        }
    }
    hops
}

fn try_hop(bytes: u32, hops: u8, send: &mut Send<'_>) -> Answer {
    match send(bytes, hops, PATIENCE) {
        Answer::Lost => send(bytes, hops, PATIENCE),
        said => said,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Returns a path that lets packets up to `limit` pass.
    fn probed(mtu: u32, limit: u32, beyond: Answer) -> (FrameFacts, u32) {
        let mut echoes = 0;
        let facts = probe_with(SMALL_BYTES, mtu, false, &mut |bytes, _, _| {
            echoes += 1;
            if bytes <= limit { Answer::Echo { took_us: 100 } } else { beyond }
        });
        (facts, echoes)
    }

    fn outcome(facts: &FrameFacts, bytes: u32) -> Option<FrameOutcome> {
        facts.tried.iter().find(|one| one.bytes == bytes).map(|one| one.outcome)
    }

    #[test]
    fn full_frames_pass_with_four_echoes() {
        let (facts, echoes) = probed(9000, 9000, Answer::Lost);
        assert_eq!((facts.largest_bytes, echoes), (Some(9000), 3));
        assert_eq!(outcome(&facts, 1500), Some(FrameOutcome::Passes));
        let (facts, _) = probed(1500, 9000, Answer::Lost);
        assert_eq!(outcome(&facts, 9000), Some(FrameOutcome::TooLargeHere));
        assert_eq!(facts.largest_bytes, Some(1500));
    }

    #[test]
    fn the_limit_of_a_switch_is_found_to_the_byte() {
        for (limit, echoes_max) in [(1500, 8), (1504, 12), (1400, 40), (8996, 40), (8999, 40), (1501, 40)] {
            let (facts, echoes) = probed(9000, limit, Answer::Lost);
            assert_eq!(facts.largest_bytes, Some(limit), "{limit}");
            assert!(echoes <= echoes_max, "{limit}: {echoes} echoes");
        }
        let refused = |mtu_bytes| Answer::Refused { by: Some("10.0.0.1".parse().unwrap()), mtu_bytes };
        let (facts, echoes) = probed(9000, 1500, refused(1500));
        assert_eq!((facts.largest_bytes, echoes), (Some(1500), 3), "a router's word is taken");
        assert_eq!(facts.refusal, Some(FrameRefusal { by: "10.0.0.1".into(), mtu_bytes: 1500 }));
        assert_eq!(outcome(&facts, 9000), Some(FrameOutcome::RefusedOnTheWay));
        let (facts, echoes) = probed(9000, 4000, refused(4000));
        assert_eq!((facts.largest_bytes, echoes), (Some(4000), 4), "its word is tried");
        let (facts, _) = probed(9000, 1500, refused(0));
        assert_eq!(facts.largest_bytes, Some(1500), "an old router does not say what would pass");
        let (facts, _) = probed(9000, 4000, refused(6000));
        assert_eq!(facts.largest_bytes, Some(4000), "one that is wrong is not believed");
    }

    #[test]
    fn silence_at_every_size_gives_no_frame_limit() {
        let (facts, echoes) = probed(9000, 0, Answer::Lost);
        assert_eq!((facts.how, facts.largest_bytes, echoes), (FrameProbe::Unanswered, None, TRIES));
    }

    #[test]
    fn loopback_answers_if_echoes_are_permitted() {
        let opened = Echo::open("127.0.0.1:0".parse().unwrap(), None, None);
        let Some(echo) = assay_testkit::need::or_skip("no echoes", opened) else { return };
        let facts = probe(echo, 65_536, false);
        match facts.how {
            FrameProbe::NotAllowed => {}
            how => {
                assert_eq!(how, FrameProbe::Echo);
                assert_eq!(facts.largest_bytes, Some(9000), "{facts:?}");
            }
        }
    }

    /// Returns a path over routers, the last of which leads to the destination; full frames pass `reach` of its links.
    fn routed(routers: u8, silent: &[u8], reach: u8, says_so: bool) -> FrameFacts {
        let address = |number: u8| Some(IpAddr::from([10, 0, number, 1]));
        probe_with(SMALL_BYTES, 9000, true, &mut |bytes, ttl, _| {
            let links = ttl.min(routers + 1);
            if bytes > 1500 && links > reach {
                let word = Answer::Refused { by: address(reach), mtu_bytes: 1500 };
                return if says_so && !silent.contains(&reach) { word } else { Answer::Lost };
            }
            match links > routers {
                true => Answer::Echo { took_us: 100 },
                false if silent.contains(&links) => Answer::Lost,
                false => Answer::Expired { by: address(links) },
            }
        })
    }

    fn reached(facts: &FrameFacts) -> Vec<(u8, Option<&str>, FrameOutcome)> {
        facts.hops.iter().map(|hop| (hop.number, hop.address.as_deref(), hop.full)).collect()
    }

    #[test]
    fn the_reach_of_full_frames_is_reported_hop_by_hop() {
        use FrameOutcome::{Lost, Passes, RefusedOnTheWay};
        let facts = routed(2, &[], 1, false);
        assert_eq!(reached(&facts), [(1, Some("10.0.1.1"), Passes), (2, Some("10.0.2.1"), Lost)]);
        assert_eq!((facts.largest_bytes, facts.refusal.clone()), (Some(1500), None));
        let facts = routed(2, &[], 2, false);
        let to_the_last = [(1, Some("10.0.1.1"), Passes), (2, Some("10.0.2.1"), Passes), (3, None, Lost)];
        assert_eq!(reached(&facts), to_the_last);
        let facts = routed(3, &[2], 2, false);
        assert_eq!(reached(&facts), [(1, Some("10.0.1.1"), Passes), (3, Some("10.0.3.1"), Lost)]);
        let facts = routed(2, &[], 1, true);
        assert_eq!(facts.refusal, Some(FrameRefusal { by: "10.0.1.1".into(), mtu_bytes: 1500 }));
        assert_eq!(reached(&facts)[1], (2, Some("10.0.2.1"), RefusedOnTheWay));
        assert_eq!(reached(&routed(9, &[1, 2, 3, 4, 5, 6, 7, 8, 9], 4, false)), [], "nobody there speaks");
        assert_eq!(reached(&routed(2, &[], 3, false)), [], "all arrive: nothing to look for");
    }
}

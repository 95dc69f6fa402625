//! Shapers (tc): the rate that an interface sends, if it is less than the link speed.

use assay_record::ShaperFacts;
use netlink_packet_core::{Nla as _, NlasIterator};
use netlink_packet_route::tc::{TcAttribute, TcMessage, TcOption};

use super::netlink::Netlink;

/// linux/pkt_sched.h.
const HTB_PARMS: u16 = 1;
const HTB_CEIL64: u16 = 7;
/// Overhead that counts per packet, bytes: the Ethernet header; more only if `overhead` or `stab` is set.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Returns the rate of the fastest class of an htb on the interface. With several classes the filters decide which one
/// a packet takes, so nothing is reported.
pub(super) fn of(kernel: &mut Netlink, index: u32) -> Option<ShaperFacts> {
    let classes = super::route::classes(kernel, index).ok()?;
    let mut found: Vec<ShaperFacts> = classes.iter().filter_map(htb).collect();
    if found.len() == 1 { found.pop() } else { None }
}

pub(super) fn htb(class: &TcMessage) -> Option<ShaperFacts> {
    let is_htb = class.attributes.iter().any(|a| matches!(a, TcAttribute::Kind(kind) if kind == "htb"));
    let options = class.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Options(options) if is_htb => Some(options),
        _ => None,
    })?;
    let TcOption::Other(nla) = options.first()? else { return None };
    let mut bytes = vec![0; nla.value_len()];
    nla.emit_value(&mut bytes);
    parse_htb(&bytes)
}

/// Parses `struct tc_htb_opt`: two of `struct tc_ratespec`, each with its overhead at byte 2 and its rate at byte 8
/// (bytes per second; all ones if it needs 64 bits).
pub(super) fn parse_htb(options: &[u8]) -> Option<ShaperFacts> {
    let (mut ceil, mut ceil64, mut overhead) = (None, None, 0);
    for nla in NlasIterator::new(options).map_while(Result::ok) {
        match nla.kind() {
            HTB_PARMS => {
                let spec = nla.value().get(12..24)?;
                overhead = u32::from(u16::from_ne_bytes(*spec.get(2..)?.first_chunk()?));
                ceil = Some(u64::from(u32::from_ne_bytes(*spec.get(8..)?.first_chunk()?)));
            }
            HTB_CEIL64 => ceil64 = nla.value().first_chunk().map(|rate| u64::from_ne_bytes(*rate)),
            _ => {}
        }
    }
    Some(ShaperFacts {
        kind: "htb".into(),
        bit_s: ceil64.or(ceil)?.checked_mul(8)?,
        counted_bytes: ETHERNET_HEADER_BYTES + overhead,
    })
}

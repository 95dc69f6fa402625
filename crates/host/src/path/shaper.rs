//! Shapers (tc): the rate that an interface sends, if it is less than the link speed.

use assay_record::ShaperFacts;
use netlink_packet_core::NLM_F_DUMP;

use super::netlink::{Attributes, Message, Netlink, word};

/// linux/rtnetlink.h: `struct tcmsg` has the interface at byte 4.
const RTM_NEWTCLASS: u16 = 40;
const RTM_GETTCLASS: u16 = 42;
const TCMSG_BYTES: usize = 20;
const TCMSG_INTERFACE: usize = 4;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// linux/pkt_sched.h.
const HTB_PARMS: u16 = 1;
const HTB_CEIL64: u16 = 7;
/// Overhead that counts per packet, bytes: the Ethernet header; more only if `overhead` or `stab` is set.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Returns the rate of the fastest class of an htb on the interface. With several classes the filters decide which one
/// a packet takes, so nothing is reported.
pub(super) fn of(kernel: &mut Netlink, index: u32) -> Option<ShaperFacts> {
    let mut structure = [0; TCMSG_BYTES];
    structure[TCMSG_INTERFACE..][..4].copy_from_slice(&index.to_ne_bytes());
    let classes = kernel.ask(Message::new(RTM_GETTCLASS, &structure), NLM_F_DUMP).ok()?;
    let mut found: Vec<ShaperFacts> = classes.iter().filter_map(htb).collect();
    if found.len() == 1 { found.pop() } else { None }
}

pub(super) fn htb(class: &Message) -> Option<ShaperFacts> {
    let attributes = class.attributes(TCMSG_BYTES);
    let is_htb = class.kind == RTM_NEWTCLASS && attributes.text(TCA_KIND)? == "htb";
    attributes.value(TCA_OPTIONS).filter(|_| is_htb).and_then(parse_htb)
}

/// Parses `struct tc_htb_opt`: two of `struct tc_ratespec`, each with its overhead at byte 2 and its rate at byte 8
/// (bytes per second; all ones if it needs 64 bits).
pub(super) fn parse_htb(options: &[u8]) -> Option<ShaperFacts> {
    let options = Attributes::parse(options);
    let spec = options.value(HTB_PARMS)?.get(12..24)?;
    let overhead = u32::from(u16::from_ne_bytes(*spec.get(2..)?.first_chunk()?));
    let ceil = u64::from(word(spec.get(8..)?)?);
    let ceil64 =
        options.value(HTB_CEIL64).and_then(<[u8]>::first_chunk).map(|rate| u64::from_ne_bytes(*rate));
    Some(ShaperFacts {
        kind: "htb".into(),
        bit_s: ceil64.unwrap_or(ceil).checked_mul(8)?,
        counted_bytes: ETHERNET_HEADER_BYTES + overhead,
    })
}

//! Whose a link is: a drive's own, or one that all members of a local array share.

use std::borrow::Cow;

use crate::array::{Array, Device, LinkRate, ProtocolKind};
use crate::quantity::Corner;
use crate::wire;

/// Lanes of the widest slot of one NVMe drive; a wider one belongs to an adapter.
const LANES_OF_DRIVE: u32 = 4;

/// The array with the link of a local set of drives at each of them: SATA and a single SAS lane join two ends, and an
/// NVMe drive has a slot of its own, so that `link = "SATA3"` of eight drives is one link for each of them. A wide SAS
/// port, USB, and a slot in front of SATA or SAS drives are shared.
pub(super) fn of_drives(array: &Array, corner: Corner) -> Cow<'_, Array> {
    let is_set = array.protocol.kind == ProtocolKind::Local && array.raid.disks.value > 1.0;
    let own = match &array.device {
        Device::Hdd(hdd) => hdd.link,
        Device::Ssd(ssd) => ssd.link,
    };
    if !is_set || !is_of_drive(array.link.rate, &array.device) {
        return Cow::Borrowed(array);
    }
    let left = wire::slot_left(&array.link, corner);
    let rate = halved(array.link.rate, left);
    let narrower = if wire::port_mb_s(rate, PIECE) < wire::port_mb_s(own, PIECE) { rate } else { own };
    let mut moved = array.clone();
    moved.link.rate = LinkRate::Unlimited;
    match &mut moved.device {
        Device::Hdd(hdd) => {
            hdd.link = narrower;
            // What a disk has in its cache still passes its link.
            let time_us = COMMAND / wire::port_mb_s(narrower, COMMAND);
            let trip = &mut moved.protocol.round_trip_us;
            (trip.lo, trip.value, trip.hi) = (trip.lo + time_us, trip.value + time_us, trip.hi + time_us);
        }
        Device::Ssd(ssd) => ssd.link = narrower,
    }
    Cow::Owned(moved)
}

/// Size of a small command, bytes.
const COMMAND: f64 = 4096.0;
/// Size at which two links are compared, bytes.
const PIECE: f64 = 1_048_576.0;

fn is_of_drive(link: LinkRate, device: &Device) -> bool {
    match (link, device) {
        (LinkRate::Sata(_) | LinkRate::Sas { lanes: 1, .. }, _) => true,
        // No disk has a slot of its own: it is that of their adapter, whether or not the file names their link.
        (LinkRate::Pcie { lanes, .. }, Device::Ssd(ssd)) => {
            lanes <= LANES_OF_DRIVE && matches!(ssd.link, LinkRate::Pcie { .. } | LinkRate::Unlimited)
        }
        _ => false,
    }
}

/// The same slot with a part of its lanes.
fn halved(rate: LinkRate, left: f64) -> LinkRate {
    match rate {
        LinkRate::Pcie { generation, lanes } if left < 1.0 => {
            LinkRate::Pcie { generation, lanes: (lanes / 2).max(1) }
        }
        _ => rate,
    }
}

//! What is taken for what a question leaves open: caches, state and sizes of devices, the link and its protocol.

use assay_model::array::{Array, Device, LinkRate, ProtocolKind};
use assay_model::catalogue::cloud;
use assay_spec::units::Bytes;

use super::{Need, Question, SizingError, apply};

/// A protected write-back cache, as small as controllers have it: what it absorbs for ever does not depend on its size.
pub(super) const WRITE_BACK: &str = "controller.write_back=1GiB controller.battery=true";

/// Whether each write of a need waits for disks, as no cache in front of them acknowledges it.
pub(super) fn waits_for_disks(array: &Array, need: &Need) -> bool {
    need.read_pct < 100.0 && matches!(array.device, Device::Hdd(_)) && array.controller.write_back.is_none()
}

/// Says that writes wait for disks, where they do.
pub(super) fn says_of_writes<'a>(question: &mut Question, mut arrays: impl Iterator<Item = &'a Array>) {
    if arrays.any(|array| waits_for_disks(array, &question.need)) {
        question.assumed.push("No write-back cache: writes wait for disks.".to_owned());
    }
}

/// Has drives of flash in the state that a load which lasts leaves them in, unless the question asks for new ones.
pub(super) fn state_of_devices<'a>(
    question: &mut Question,
    arrays: impl Iterator<Item = &'a mut Array>,
) -> Result<(), SizingError> {
    if question.need.read_pct >= 100.0 {
        return Ok(());
    }
    let mut has_flash = false;
    for array in arrays {
        // A volume of a cloud has the limits that are sold.
        if !matches!(array.device, Device::Ssd(_)) || cloud::name_of(&array.device).is_some() {
            continue;
        }
        has_flash = true;
        apply(array, if question.fresh { "device.state=fresh" } else { "device.state=steady" })?;
    }
    if has_flash {
        let says = match question.fresh {
            true => "SSDs are fresh, as the question says: once written full, they write slower.",
            false => "SSDs are in their steady state, not \"fresh\".",
        };
        question.assumed.push(says.to_owned());
    }
    Ok(())
}

/// What a proposal says of the caches of its devices.
pub(super) fn cache_of_devices(question: &Question, array: &Array) -> String {
    match &array.device {
        // As behind a controller, which turns it off: what it holds does not survive a power cut.
        Device::Hdd(_) => "device.write_cache=none".to_owned(),
        Device::Ssd(_) => scaled_slc(question, array).unwrap_or_default(),
    }
}

/// Whether a device is so much larger or smaller than those of its class that they are of other years.
pub(super) fn is_another_size(each: Bytes, of_class: Bytes) -> bool {
    each.0 > of_class.0.saturating_mul(2) || each.0.saturating_mul(2) < of_class.0
}

/// Capacity of a device.
pub(super) fn capacity(array: &Array) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a capacity, positive")]
    let bytes = match &array.device {
        Device::Hdd(hdd) => hdd.capacity.value,
        Device::Ssd(ssd) => ssd.capacity.value,
    } as u64;
    Bytes(bytes)
}

/// The overrides that a question asks for on every array.
pub(super) fn common(question: &Question, proposed: bool) -> String {
    let mut set = Vec::new();
    if let Some(size) = question.disk_size {
        set.push(format!("device.capacity={}B", size.0));
    }
    let fibre = matches!(question.link, Some(LinkRate::FibreChannel(_)));
    let protocol = question.protocol.or(match question.link {
        Some(_) if !proposed => None,
        Some(_) if fibre => Some(ProtocolKind::FibreChannel),
        Some(_) => Some(ProtocolKind::Iscsi),
        None => None,
    });
    let link = question.link.or(match protocol {
        Some(ProtocolKind::FibreChannel) if proposed => Some(LinkRate::FibreChannel(16)),
        Some(ProtocolKind::Iscsi | ProtocolKind::Nfs | ProtocolKind::Smb | ProtocolKind::NvmeTcp)
            if proposed =>
        {
            Some(LinkRate::Ethernet(10.0))
        }
        _ => None,
    });
    set.extend(link.map(|link| format!("link.rate={}", link.name())));
    set.extend(protocol.map(|protocol| format!("protocol.kind={}", protocol.word())));
    set.join(" ")
}

/// The override for the SLC cache that a class assumes, where the question has a smaller device: it is a part of the
/// flash.
fn scaled_slc(question: &Question, array: &Array) -> Option<String> {
    let Device::Ssd(ssd) = &array.device else { return None };
    #[expect(clippy::cast_precision_loss, reason = "a capacity, below 2^53")]
    let part = question.disk_size?.0 as f64 / ssd.capacity.value;
    let slc = ssd.slc.as_ref().filter(|_| part < 1.0)?;
    Some(format!("device.slc={:.0}B", slc.value * part))
}

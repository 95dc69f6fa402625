//! The virtual disk of a guest: what its hypervisor adds to an I/O, and the thread that all I/Os of the disk pass.
//!
//! | disk | an I/O alone, us | its thread, us for each I/O |
//! |---|---|---|
//! | paravirtual | 17 (6 to 28) | 6.3 (1.5 to 15) |
//! | emulated | 50 (20 to 150) | 20 (8 to 40) |
//!
//! The time of one alone: 4 KiB that the memory of the host answered took 15 us by virtio-blk of Cloud Hypervisor and
//! 29 us by that of QEMU, a part of which is the copy and two system calls (cloud-hypervisor, issue 1037, 2020). The
//! fast end is a thread that polls. The thread: QEMU's served 57,500 reads and 79,400 writes per second of an SSD
//! that gave its host 95,800 and 85,300, and 123,000 to 253,000 reads of a RAM disk (qemu-devel, A. Zhadchenko,
//! vhost-blk, 2022); 65,000 to 104,000 (QEMU commit dd67c1d7e751, 2014), which is the slow end; 238,000 to 295,000
//! (Linux commit 0e9911fa768f, 2022); 600,000 to 700,000 of the fastest (virtio-win, kvm-guest-drivers-windows, issue
//! 1482, 2026). The nominal value is the middle of these. Emulated: 55 us for a 4 KiB write to QEMU's NVMe on a file
//! in memory (OpenChannelSSD, qemu-nvme, issue 25, 2018); the rest is assumed.

use super::{IoCost, ResolvedArray, at_corner};
use crate::array::{Array, VirtualDisk};
use crate::quantity::{Corner, Quantity};

/// Time of an I/O and of the thread, us: each slow, nominal and fast.
const PARAVIRTUAL: [[f64; 3]; 2] = [[28.0, 17.0, 6.0], [15.0, 6.3, 1.5]];
const EMULATED: [[f64; 3]; 2] = [[150.0, 50.0, 20.0], [40.0, 20.0, 8.0]];

/// Time that a virtual disk adds to an I/O alone, and that its thread is busy with it, ns; `None` where there is none.
fn times_ns(array: &Array, corner: Corner) -> Option<[f64; 2]> {
    let guest = &array.guest;
    let class = match guest.disk {
        VirtualDisk::None => return None,
        VirtualDisk::Paravirtual => PARAVIRTUAL,
        VirtualDisk::Emulated => EMULATED,
    };
    let us = |given: &Option<Quantity>, class: [f64; 3]| {
        given.as_ref().map_or_else(|| at_corner(class, corner), |q| q.cost_at(corner))
    };
    Some([us(&guest.latency_us, class[0]) * 1e3, us(&guest.thread_us, class[1]) * 1e3])
}

impl ResolvedArray {
    /// Passes an I/O through the virtual disks of the clients. Their threads work beside the workers and the links, so
    /// that the slowest of them is the station; the rest of what a disk adds is a delay.
    pub(crate) fn pass_guest(&self, io_cost: &mut IoCost) {
        let Some([latency_ns, _]) = times_ns(&self.array, self.corner) else { return };
        let more = (self.guest_thread_ns() - io_cost.host_ns).max(0.0);
        io_cost.host_ns += more;
        io_cost.is_host_link &= more <= 0.0;
        io_cost.delay_ns += (latency_ns - more).max(0.0);
    }

    /// Time that the threads of the virtual disks take for an I/O, as if they were one, ns; 0 where there are none.
    pub(crate) fn guest_thread_ns(&self) -> f64 {
        let [_, thread_ns] = times_ns(&self.array, self.corner).unwrap_or_default();
        thread_ns / self.array.initiator.clients.value
    }
}

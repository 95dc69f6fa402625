//! Trims of files and block devices: a hole in a file, DISCARD on a device, as fio asks for them.
//!
//! On a device fallocate(2) would not do: punching a hole there sends WRITE ZEROES, which a device may carry out by
//! writing.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use io_uring::types::Fixed;
use io_uring::{opcode, squeue};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The request of ioctl(2) that discards a range of a block device, `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// The same as a command of io_uring, from Linux 6.12 on, `_IO(0x12, 0)`.
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;

/// What a trim goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    File,
    Device,
}

impl Ground {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let kind = file.metadata()?.file_type();
        Ok(if kind.is_block_device() { Self::Device } else { Self::File })
    }
}

/// Trims a range and waits until that is done.
pub(crate) fn trim(file: &File, offset_bytes: u64, size_bytes: u32) -> Result<(), Errno> {
    match Ground::of(file).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))? {
        Ground::File => {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, mode, offset_bytes, u64::from(size_bytes))
        }
        Ground::Device => discard(file, offset_bytes, size_bytes),
    }
}

/// Discards a range of a block device and waits until that is done.
pub(crate) fn discard(file: &File, offset_bytes: u64, size_bytes: u32) -> Result<(), Errno> {
    let range = [offset_bytes, u64::from(size_bytes)];
    // SAFETY: the request reads two 64-bit numbers, start and length, and writes nothing.
    // JUSTIFICATION: neither the standard library nor rustix has this request.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Returns the entry that trims a range of a registered file.
pub(crate) fn entry(file: Fixed, ground: Ground, offset_bytes: u64, size_bytes: u32) -> squeue::Entry {
    let size = u64::from(size_bytes);
    match ground {
        Ground::File => opcode::Fallocate::new(file, size)
            .offset(offset_bytes)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build(),
        Ground::Device => {
            // The length is in the first 8 bytes of the command.
            let mut command = [0; 16];
            command[..8].copy_from_slice(&size.to_ne_bytes());
            opcode::UringCmd16::new(file, BLOCK_URING_CMD_DISCARD)
                .addr(Some(offset_bytes))
                .cmd(command)
                .build()
        }
    }
}

/// Whether a kernel that has no such command answered so; it may still discard by ioctl(2).
pub(crate) fn is_unknown_command(result: i32) -> bool {
    [-libc::EOPNOTSUPP, -libc::EINVAL, -libc::ENOTTY].contains(&result)
}

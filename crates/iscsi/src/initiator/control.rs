//! The control plane: single SCSI commands that are sent and awaited outside of measured windows.

use std::time::Instant;

use assay_tcp::TICK;

use super::Initiator;
use crate::error::{CommandError, IoError};
use crate::pdu::Direction;
use crate::scsi::cdb::{self, Cdb};
use crate::scsi::{
    BlockLimits, BlockProvisioning, CACHING_PAGE, Capacity, Inquiry, LbaStatus, ModeFacts, PortGroup,
    Reservation, Rotation, ScsiDataError, parse_lba_status, parse_luns, parse_port_groups, parse_reservation,
    parse_reservation_keys, parse_rotation, parse_serial, parse_supported_pages,
};
use crate::slots::Data;

/// Data of a control command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transfer {
    /// No data.
    None,
    /// At most this many bytes are read.
    In(u16),
    /// These bytes are written.
    Out(Vec<u8>),
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Sends one SCSI command, waits for it with the same retries and failover as for I/O, and returns the bytes read.
    /// I/Os that complete meanwhile are kept for the next `poll`.
    pub fn execute(
        &mut self,
        what: &'static str,
        cdb: Cdb,
        transfer: Transfer,
    ) -> Result<Vec<u8>, CommandError> {
        let not_sent = |why| CommandError::NotSent { what, why };
        if self.core.lost.is_some() {
            return Err(not_sent("the target is lost"));
        }
        let (direction, data) = match transfer {
            Transfer::None => (Direction::None, Vec::new()),
            Transfer::In(bytes) => (Direction::Read, vec![0; usize::from(bytes)]),
            Transfer::Out(bytes) => (Direction::Write, bytes),
        };
        let queued = self.core.submit_control(cdb, direction, data, Instant::now());
        let user = queued.ok_or(not_sent("too many commands are outstanding"))?;
        let result = self.wait_for_control(user);
        let Data::Control(mut data) = self.core.slots.put(user) else {
            unreachable!("a control command has a buffer of its own");
        };
        let bytes = result.map_err(|source| CommandError::Failed { what, source })?;
        data.truncate(bytes as usize);
        Ok(data)
    }

    /// Waits for the control command in slot `user`. The wait is bounded, because every command ends: with a status, by
    /// its time limits, or when no path comes up again.
    fn wait_for_control(&mut self, user: u32) -> Result<u32, IoError> {
        self.is_controlling = true;
        loop {
            if let Some((_, result)) = self.core.control_result.take_if(|(ended, _)| *ended == user) {
                self.is_controlling = false;
                return result;
            }
            assay_tcp::turn(self, TICK);
        }
    }

    fn ask<T>(
        &mut self,
        what: &'static str,
        cdb: Cdb,
        bytes: u16,
        parse: impl FnOnce(&[u8]) -> Result<T, ScsiDataError>,
    ) -> Result<T, CommandError> {
        let data = self.execute(what, cdb, Transfer::In(bytes))?;
        parse(&data).map_err(|source| CommandError::Answer { what, source })
    }

    /// Sends TEST UNIT READY.
    pub fn test_unit_ready(&mut self) -> Result<(), CommandError> {
        self.execute("TEST UNIT READY", cdb::test_unit_ready(), Transfer::None).map(drop)
    }

    /// Returns the standard INQUIRY data: vendor, product, revision.
    pub fn inquiry(&mut self) -> Result<Inquiry, CommandError> {
        self.ask("INQUIRY", cdb::inquiry(96), 96, Inquiry::parse)
    }

    /// Returns the numbers of the supported vital product data pages.
    pub fn supported_pages(&mut self) -> Result<Vec<u8>, CommandError> {
        self.ask("INQUIRY page 00", cdb::inquiry_page(0x00, 255), 255, parse_supported_pages)
    }

    /// Returns the unit serial number (VPD page 80); `None` if the target only has a filler for it.
    pub fn serial(&mut self) -> Result<Option<String>, CommandError> {
        self.ask("INQUIRY page 80", cdb::inquiry_page(0x80, 255), 255, parse_serial)
    }

    /// Returns the block limits (VPD page B0).
    pub fn block_limits(&mut self) -> Result<BlockLimits, CommandError> {
        self.ask("INQUIRY page B0", cdb::inquiry_page(0xb0, 64), 64, BlockLimits::parse)
    }

    /// Returns the medium rotation rate (VPD page B1).
    pub fn rotation(&mut self) -> Result<Rotation, CommandError> {
        self.ask("INQUIRY page B1", cdb::inquiry_page(0xb1, 64), 64, parse_rotation)
    }

    /// Returns the provisioning (VPD page B2).
    pub fn provisioning(&mut self) -> Result<BlockProvisioning, CommandError> {
        self.ask("INQUIRY page B2", cdb::inquiry_page(0xb2, 64), 64, BlockProvisioning::parse)
    }

    /// Returns the logical units of the target, in wire form.
    pub fn report_luns(&mut self) -> Result<Vec<u64>, CommandError> {
        self.ask("REPORT LUNS", cdb::report_luns(4096), 4096, parse_luns)
    }

    /// Reads the capacity with READ CAPACITY (16).
    pub fn read_capacity_16(&mut self) -> Result<Capacity, CommandError> {
        self.ask("READ CAPACITY(16)", cdb::read_capacity_16(), 32, Capacity::parse_16)
    }

    /// Reads the capacity with READ CAPACITY (10); `None` if the unit is too large for it.
    pub fn read_capacity_10(&mut self) -> Result<Option<Capacity>, CommandError> {
        self.ask("READ CAPACITY(10)", cdb::read_capacity_10(), 8, Capacity::parse_10)
    }

    /// Returns write protection and cache settings from MODE SENSE (6), or (10) if the short form is not supported.
    pub fn mode_facts(&mut self) -> Result<ModeFacts, CommandError> {
        self.ask("MODE SENSE(6)", cdb::mode_sense_6(CACHING_PAGE), 255, ModeFacts::parse_6).or_else(|_| {
            self.ask("MODE SENSE(10)", cdb::mode_sense_10(CACHING_PAGE), 512, ModeFacts::parse_10)
        })
    }

    /// Returns the mapping of blocks from `lba` on: as many ranges as one response holds.
    pub fn lba_status(&mut self, lba: u64) -> Result<Vec<LbaStatus>, CommandError> {
        self.ask("GET LBA STATUS", cdb::get_lba_status(lba, 8 + 16 * 128), 8 + 16 * 128, parse_lba_status)
    }

    /// Returns the registered persistent reservation keys.
    pub fn reservation_keys(&mut self) -> Result<Vec<u64>, CommandError> {
        let cdb = cdb::read_reservation_keys(2056);
        self.ask("PERSISTENT RESERVE IN (READ KEYS)", cdb, 2056, parse_reservation_keys)
    }

    /// Returns the persistent reservation, if there is one.
    pub fn reservation(&mut self) -> Result<Option<Reservation>, CommandError> {
        let cdb = cdb::read_reservation(256);
        self.ask("PERSISTENT RESERVE IN (READ RESERVATION)", cdb, 256, parse_reservation)
    }

    /// Returns the target port groups and their access states.
    pub fn port_groups(&mut self) -> Result<Vec<PortGroup>, CommandError> {
        let cdb = cdb::report_target_port_groups(4096);
        self.ask("REPORT TARGET PORT GROUPS", cdb, 4096, parse_port_groups)
    }

    /// Makes all completed writes durable.
    pub fn synchronize_cache(&mut self) -> Result<(), CommandError> {
        self.execute("SYNCHRONIZE CACHE(10)", cdb::synchronize_cache_10(), Transfer::None).map(drop)
    }

    /// Makes completed writes of a range durable; `blocks` 0 means up to the end.
    pub fn synchronize_cache_16(&mut self, lba: u64, blocks: u32) -> Result<(), CommandError> {
        self.execute("SYNCHRONIZE CACHE(16)", cdb::synchronize_cache_16(lba, blocks), Transfer::None)
            .map(drop)
    }

    /// Unmaps a range of blocks.
    pub fn unmap(&mut self, lba: u64, blocks: u32) -> Result<(), CommandError> {
        let (list, bytes) = cdb::unmap_list(&[(lba, blocks), (0, 0)]);
        let list = list[..usize::from(bytes)].to_vec();
        self.execute("UNMAP", cdb::unmap(bytes), Transfer::Out(list)).map(drop)
    }
}

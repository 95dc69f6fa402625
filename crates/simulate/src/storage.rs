//! The simulated storage system: one unit behind several portals. It is honest about its disk and faulty in everything
//! else, within what RFC 7143 and SAM-5 allow.

use std::collections::{BTreeMap, VecDeque};

use assay_iscsi::login::Negotiated;
use assay_iscsi::pdu::{Bhs, NO_TAG, opcode};

use crate::disk::{BLOCK_BYTES, CHUNK_BLOCKS, CHUNKS, Disk, version_of};
use crate::fault::{FAULTS, Fault, FaultCounts};
use crate::random::Random;
use crate::time::{MS, Nanos, SECOND, US};

/// Blocks of the unit: the chunks, and a tail that nobody writes.
const BLOCKS: usize = CHUNKS * CHUNK_BLOCKS + 8;
const ABORT_TASK: u8 = 1;
const LOGICAL_UNIT_RESET: u8 = 5;
const TASK_ABORTED: u8 = 0x40;

/// A PDU on the way.
#[derive(Debug, Clone)]
pub(crate) struct Pdu {
    pub(crate) bhs: Bhs,
    pub(crate) data: Vec<u8>,
    /// Time at which the client sent it.
    pub(crate) sent_at: Nanos,
}

/// Returns true for the request of a LUN reset.
pub(crate) fn is_reset(bhs: &Bhs) -> bool {
    bhs.opcode() == opcode::TASK_MANAGEMENT && bhs.0[1] & 0x7f == LOGICAL_UNIT_RESET
}

impl Pdu {
    /// Returns true for the answer to the abort or reset with this tag.
    pub(crate) fn is_managed(&self, itt: u32) -> bool {
        self.bhs.opcode() == opcode::TASK_MANAGEMENT_RESPONSE && self.bhs.itt() == itt
    }
}

impl std::fmt::Display for Pdu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (opcode, itt, bytes) = (self.bhs.opcode(), self.bhs.itt(), self.data.len());
        write!(f, "{opcode:#04x} {itt:#010x}, {bytes} bytes")?;
        match opcode {
            opcode::SCSI_COMMAND => write!(f, ", cdb {:02x?}", &self.bhs.0[32..42]),
            opcode::SCSI_RESPONSE => write!(f, ", status {:#04x}", self.bhs.0[3]),
            opcode::TASK_MANAGEMENT => write!(f, ", function {}", self.bhs.0[1] & 0x7f),
            opcode::TASK_MANAGEMENT_RESPONSE => write!(f, ", response {}", self.bhs.0[2]),
            _ => Ok(()),
        }
    }
}

/// What the storage does to the world.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Sends a PDU.
    Send { conn: u32, port: usize, pdu: Pdu },
    /// Wants [`Storage::wake`] at this time.
    Wake { at: Nanos, what: Wake },
    /// Ends a connection.
    Close { conn: u32, port: usize },
    /// A write is on the disk of the unit.
    Landed { chunk: usize, version: u32 },
    /// A write is on the disk of another unit.
    Foreign { sent_at: Nanos },
    /// Bytes that are no version of the chunk were written.
    Torn { chunk: usize },
}

/// What the storage does later.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wake {
    Execute(u64),
    Answer(u64),
    Manage(u32, Bhs),
    Thread(u32),
    /// Ends the connections over every other portal.
    HangUpBut(usize),
}

/// A portal.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) group: u16,
    /// Time until which each kind of fault applies here.
    moods: [Nanos; FAULTS.len()],
}

/// What a command does.
#[derive(Debug, Clone)]
enum Work {
    Write { chunk: usize },
    Read { lba: usize, blocks: usize },
    Data(Vec<u8>),
    Status(u8, [u8; 3]),
}

#[derive(Debug)]
struct Task {
    conn: u32,
    itt: u32,
    cmd_sn: u32,
    work: Work,
    data: Vec<u8>,
    got: usize,
    asked: usize,
    wanted: usize,
    is_executed: bool,
    answer_after: Option<Nanos>,
    sent_at: Nanos,
}

#[derive(Debug)]
struct Conn {
    port: usize,
    isid: [u8; 6],
    group: u16,
    stat_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    /// What arrived while its thread stalled.
    inbox: VecDeque<Pdu>,
    attentions: VecDeque<[u8; 3]>,
    is_open: bool,
}

/// Choices that hold for a whole run.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one habit of a target")]
pub(crate) struct Habits {
    pub(crate) window: u32,
    pub(crate) reports_aborted: bool,
    pub(crate) executes_after_hang_up: bool,
    pub(crate) service: (Nanos, Nanos),
    pub(crate) initial_r2t: bool,
    pub(crate) immediate_data: bool,
    pub(crate) first_burst_bytes: u32,
    pub(crate) segment_bytes: u32,
    pub(crate) time2wait_s: u32,
    pub(crate) names_groups: bool,
    /// Every unit reports the same serial number.
    pub(crate) one_serial: bool,
    /// Reads on after a reset what had arrived on a connection that has ended.
    pub(crate) reads_after_reset: bool,
}

impl Habits {
    pub(crate) fn draw(random: &mut Random) -> Self {
        Self {
            window: *random.pick(&[2, 4, 8, 32, 32]),
            reports_aborted: random.chance(30),
            executes_after_hang_up: random.chance(50),
            service: *random.pick(&[(200 * US, 5 * MS), (MS, 30 * MS), (10 * MS, 100 * MS)]),
            initial_r2t: random.chance(50),
            immediate_data: random.chance(60),
            first_burst_bytes: *random.pick(&[512, 1024, 65_536]),
            segment_bytes: *random.pick(&[512, 1024, 65_536]),
            time2wait_s: *random.pick(&[0, 0, 0, 1, 2]),
            names_groups: random.chance(80),
            one_serial: false,
            reads_after_reset: false,
        }
    }
}

/// The storage system.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) ports: Vec<Port>,
    pub(crate) habits: Habits,
    pub(crate) counts: FaultCounts,
    pub(crate) effects: Vec<Effect>,
    pub(crate) disk: Disk,
    other_disk: Disk,
    /// True while another unit has the number.
    pub(crate) is_swapped: bool,
    /// Time of the last LUN reset.
    pub(crate) reset_at: Nanos,
    conns: BTreeMap<u32, Conn>,
    tasks: BTreeMap<u64, Task>,
    next_conn: u32,
    next_task: u64,
    random: Random,
}

impl Storage {
    pub(crate) fn new(portals: usize, mut random: Random) -> Self {
        let groups = random.below(3);
        let port = |at: usize| Port {
            group: match groups {
                0 => 1,
                1 => u16::try_from(at).expect("a few portals") + 1,
                _ => u16::try_from(at / 2).expect("a few portals") + 1,
            },
            moods: [0; FAULTS.len()],
        };
        Self {
            ports: (0..portals).map(port).collect(),
            habits: Habits::draw(&mut random),
            counts: FaultCounts::default(),
            effects: Vec::new(),
            disk: Disk::new(),
            other_disk: Disk::new(),
            is_swapped: false,
            reset_at: 0,
            conns: BTreeMap::new(),
            tasks: BTreeMap::new(),
            next_conn: 0,
            next_task: 0,
            random,
        }
    }

    /// Lets a fault apply to a portal until a time.
    pub(crate) fn begin(&mut self, fault: Fault, port: usize, until: Nanos) {
        let mood = &mut self.ports[port].moods[fault as usize];
        *mood = until.max(*mood);
    }

    /// Ends every fault.
    pub(crate) fn calm(&mut self) {
        self.ports.iter_mut().for_each(|port| port.moods = [0; FAULTS.len()]);
    }

    pub(crate) fn until(&self, fault: Fault, port: usize) -> Nanos {
        self.ports[port].moods[fault as usize]
    }

    pub(crate) fn is_on(&self, fault: Fault, port: usize, now: Nanos) -> bool {
        now < self.until(fault, port)
    }

    /// Returns true if a fault that hits single commands hits this one.
    fn hits(&mut self, fault: Fault, port: usize, percent: u64, now: Nanos) -> bool {
        let is_hit = self.is_on(fault, port, now) && self.random.chance(percent);
        if is_hit {
            self.counts.count(fault);
        }
        is_hit
    }

    /// Logs in. An old session with this name in this portal group ends first, with its tasks.
    pub(crate) fn log_in(&mut self, port: usize, isid: [u8; 6]) -> (u32, Negotiated) {
        let group = self.ports[port].group;
        let is_old = |conn: &Conn| conn.isid == isid && conn.group == group;
        let old: Vec<u32> = self.conns.iter().filter(|(_, c)| is_old(c)).map(|(id, _)| *id).collect();
        for id in old {
            let port = self.conns[&id].port;
            self.end_session(id);
            self.effects.push(Effect::Close { conn: id, port });
        }
        let id = self.next_conn;
        self.next_conn += 1;
        // Sometimes the numbers are about to wrap.
        let exp_cmd_sn = if self.random.chance(10) { u32::MAX - 5 } else { 1 };
        let max_cmd_sn = exp_cmd_sn.wrapping_add(self.habits.window - 1);
        let conn = Conn {
            port,
            isid,
            group,
            stat_sn: 1,
            exp_cmd_sn,
            max_cmd_sn,
            inbox: VecDeque::new(),
            attentions: VecDeque::new(),
            is_open: true,
        };
        self.conns.insert(id, conn);
        (id, self.agreed(group, exp_cmd_sn, max_cmd_sn))
    }

    fn agreed(&self, group: u16, cmd_sn: u32, max_cmd_sn: u32) -> Negotiated {
        let habits = &self.habits;
        Negotiated {
            header_digest: false,
            data_digest: false,
            initial_r2t: habits.initial_r2t,
            immediate_data: habits.immediate_data,
            max_send_segment_bytes: habits.segment_bytes,
            max_recv_segment_bytes: 65_536,
            max_burst_bytes: 65_536,
            first_burst_bytes: habits.first_burst_bytes,
            max_outstanding_r2t: 1,
            data_pdu_in_order: true,
            data_sequence_in_order: true,
            max_connections: 1,
            error_recovery_level: 0,
            default_time2wait_s: habits.time2wait_s,
            default_time2retain_s: 0,
            target_portal_group: habits.names_groups.then_some(group),
            target_alias: None,
            authentication: "None".into(),
            tsih: 1,
            cmd_sn,
            exp_stat_sn: 1,
            max_cmd_sn,
            deviations: Vec::new(),
        }
    }

    fn end_session(&mut self, conn: u32) {
        self.conns.remove(&conn);
        self.tasks.retain(|_, task| task.conn != conn);
    }

    /// Handles the end of a connection, as seen by the target. Commands that it has may still be executed.
    pub(crate) fn hung_up(&mut self, conn: u32) {
        let Some(gone) = self.conns.get_mut(&conn) else { return };
        gone.is_open = false;
        if !self.habits.executes_after_hang_up {
            self.end_session(conn);
        }
    }

    pub(crate) fn on_pdu(&mut self, id: u32, pdu: Pdu, now: Nanos) {
        let Some(port) = self.conns.get(&id).map(|conn| conn.port) else { return };
        let until = self.until(Fault::ThreadStall, port);
        let Some(conn) = self.conns.get_mut(&id) else { return };
        if now < until || !conn.inbox.is_empty() {
            if conn.inbox.is_empty() {
                self.effects.push(Effect::Wake { at: until, what: Wake::Thread(id) });
            }
            conn.inbox.push_back(pdu);
        } else {
            self.handle(id, &pdu, now);
        }
    }

    pub(crate) fn wake(&mut self, what: Wake, now: Nanos) {
        match what {
            Wake::Execute(task) => self.execute(task, now),
            Wake::Answer(task) => self.answer(task, now),
            Wake::Manage(conn, request) => self.manage(conn, &request, now),
            Wake::HangUpBut(own) => {
                for port in (0..self.ports.len()).filter(|port| *port != own) {
                    self.begin(Fault::HangUp, port, now);
                    self.counts.count(Fault::HangUp);
                    for conn in self.conns_of(port) {
                        self.hung_up(conn);
                        self.effects.push(Effect::Close { conn, port });
                    }
                }
            }
            Wake::Thread(id) => {
                let Some(port) = self.conns.get(&id).map(|conn| conn.port) else { return };
                let until = self.until(Fault::ThreadStall, port);
                if now < until {
                    return self.effects.push(Effect::Wake { at: until, what: Wake::Thread(id) });
                }
                while let Some(pdu) = self.conns.get_mut(&id).and_then(|conn| conn.inbox.pop_front()) {
                    self.handle(id, &pdu, now);
                }
            }
        }
    }

    /// Handles a PDU. A reset did not find the commands that had arrived before it and were not read yet.
    fn handle(&mut self, id: u32, pdu: &Pdu, now: Nanos) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let request = &pdu.bhs;
        match request.opcode() {
            opcode::SCSI_COMMAND => {
                conn.exp_cmd_sn = request.word(24).wrapping_add(1);
                self.command(id, pdu, now);
            }
            opcode::DATA_OUT => self.data_out(id, pdu, now),
            opcode::TASK_MANAGEMENT => self.management(id, request, now),
            opcode::NOP_OUT if request.itt() != NO_TAG => {
                let mut reply = header(opcode::NOP_IN, request.itt());
                reply.set_word(20, NO_TAG);
                self.send(id, reply, Vec::new(), true, now);
            }
            opcode::LOGOUT => {
                self.send(id, header(opcode::LOGOUT_RESPONSE, request.itt()), Vec::new(), true, now);
                self.end_session(id);
            }
            _ => {}
        }
    }

    fn send(&mut self, id: u32, mut bhs: Bhs, data: Vec<u8>, has_status: bool, now: Nanos) {
        let Some(port) = self.conns.get(&id).map(|conn| conn.port) else { return };
        let is_closed = self.is_on(Fault::WindowClosed, port, now);
        let Some(conn) = self.conns.get_mut(&id).filter(|conn| conn.is_open) else { return };
        let end = conn.exp_cmd_sn.wrapping_sub(1).wrapping_add(self.habits.window);
        if !is_closed && end.wrapping_sub(conn.max_cmd_sn) < 1 << 31 {
            conn.max_cmd_sn = end;
        }
        bhs.set_word(24, conn.stat_sn).set_word(28, conn.exp_cmd_sn).set_word(32, conn.max_cmd_sn);
        conn.stat_sn = conn.stat_sn.wrapping_add(u32::from(has_status));
        bhs.set_data_bytes(u32::try_from(data.len()).expect("a few blocks"));
        self.effects.push(Effect::Send { conn: id, port, pdu: Pdu { bhs, data, sent_at: now } });
    }

    fn status(&mut self, id: u32, itt: u32, status: u8, sense: [u8; 3], now: Nanos) {
        let mut bhs = header(opcode::SCSI_RESPONSE, itt);
        bhs.0[3] = status;
        let mut data = Vec::new();
        if status == 2 {
            data = vec![0, 18, 0x70, 0, sense[0], 0, 0, 0, 0, 10];
            data.resize(20, 0);
            (data[14], data[15]) = (sense[1], sense[2]);
        }
        self.send(id, bhs, data, true, now);
    }

    /// Reports something to every session, with its next command.
    fn attention(&mut self, sense: [u8; 3], except: Option<u32>) {
        for (id, conn) in &mut self.conns {
            if Some(*id) != except && conn.attentions.len() < 2 {
                conn.attentions.push_back(sense);
            }
        }
    }

    /// Puts another unit behind the number, or the old one again; every session gets a unit attention.
    pub(crate) fn swap(&mut self) {
        self.is_swapped = !self.is_swapped;
        self.attention([6, 0x3f, 0x0e], None);
    }

    /// Puts another unit behind the number without a word.
    pub(crate) fn replace(&mut self) {
        self.is_swapped = true;
    }

    pub(crate) fn change_access(&mut self) {
        self.attention([6, 0x2a, 6], None);
    }

    /// Sends a message to every session over this portal: it shall log out.
    pub(crate) fn request_logout(&mut self, port: usize, now: Nanos) {
        for id in self.conns_of(port) {
            let mut bhs = header(opcode::ASYNC_MESSAGE, NO_TAG);
            bhs.0[36] = 1;
            bhs.set_word(40, 3);
            self.send(id, bhs, Vec::new(), true, now);
        }
    }

    /// Opens the windows that were closed: a target tells so with a NOP-In.
    pub(crate) fn tell_windows(&mut self, port: usize, now: Nanos) {
        for id in self.conns_of(port) {
            let mut bhs = header(opcode::NOP_IN, NO_TAG);
            bhs.set_word(20, NO_TAG);
            self.send(id, bhs, Vec::new(), false, now);
        }
    }

    pub(crate) fn conns_of(&self, port: usize) -> Vec<u32> {
        self.conns.iter().filter(|(_, conn)| conn.port == port && conn.is_open).map(|(id, _)| *id).collect()
    }

    fn work(&self, request: &Bhs, port: usize) -> Work {
        let cdb = &request.0[32..48];
        let lba = request.word(34) as usize;
        let blocks = usize::from(u16::from_be_bytes([cdb[7], cdb[8]]));
        let refused = Work::Status(2, [5, 0x20, 0]);
        match (cdb[0], cdb[1], cdb[2]) {
            (0x28, ..) if lba + blocks <= BLOCKS => Work::Read { lba, blocks },
            (0x2a, ..) if lba.is_multiple_of(CHUNK_BLOCKS) && blocks == CHUNK_BLOCKS => {
                Work::Write { chunk: lba / CHUNK_BLOCKS }
            }
            (0x00 | 0x35, ..) => Work::Status(0, [0; 3]),
            (0x12, 0, _) => {
                let mut inquiry = vec![b' '; 36];
                inquiry[..8].copy_from_slice(&[0, 0, 5, 2, 31, 0x10, 0, 2]);
                Work::Data(inquiry)
            }
            (0x12, 1, 0x80) => {
                let is_told = self.is_swapped && !self.habits.one_serial;
                Work::Data([&[0, 0x80, 0, 4][..], if is_told { b"SWAP" } else { b"DISK" }].concat())
            }
            (0x12, 1, 0x83) => {
                let mut page = vec![0, 0x83, 0, 20, 1, 3, 0, 8, 0x60, 0, 0, 0, 0, 0, 0, 1];
                page.extend([1, 0x15, 0, 4, 0, 0, 0, u8::try_from(port + 1).expect("a few portals")]);
                Work::Data(page)
            }
            (0x9e, 0x10, _) => {
                let mut capacity = vec![0; 32];
                capacity[..8].copy_from_slice(&(BLOCKS as u64 - 1).to_be_bytes());
                capacity[10] = 2;
                Work::Data(capacity)
            }
            (0xa3, 0x0a, _) => Work::Data(self.port_groups()),
            _ => refused,
        }
    }

    fn port_groups(&self) -> Vec<u8> {
        let mut groups = vec![0, 0, 0, u8::try_from(12 * self.ports.len()).expect("a few portals")];
        for (group, port) in (1u8..).zip(&self.ports) {
            let is_changed = port.moods[Fault::AccessChanged as usize] > 0;
            groups.extend([u8::from(is_changed), 0x0f, 0, group, 0, 0, 0, 1, 0, 0, 0, group]);
        }
        groups
    }

    fn command(&mut self, id: u32, pdu: &Pdu, now: Nanos) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let (port, request) = (conn.port, &pdu.bhs);
        let is_inquiry = request.0[32] == 0x12;
        if !is_inquiry && let Some(sense) = conn.attentions.pop_front() {
            return self.status(id, request.itt(), 2, sense, now);
        }
        let is_io = matches!(request.0[32], 0x28 | 0x2a);
        if is_io && self.refuses(id, request.itt(), port, now) {
            return;
        }
        let work = self.work(request, port);
        let wanted = if request.0[1] & 0x20 == 0 { 0 } else { request.word(20) as usize };
        let mut task = Task {
            conn: id,
            itt: request.itt(),
            cmd_sn: request.word(24),
            work,
            data: vec![0; wanted],
            got: 0,
            asked: pdu.data.len(),
            wanted,
            is_executed: false,
            answer_after: None,
            sent_at: pdu.sent_at,
        };
        let count = pdu.data.len().min(wanted);
        task.data[..count].copy_from_slice(&pdu.data[..count]);
        task.got = count;
        if wanted > 0 && !self.habits.initial_r2t {
            task.asked = wanted.min(self.habits.first_burst_bytes as usize).max(count);
        }
        if is_io && self.hits(Fault::LostCommand, port, 35, now) {
            task.answer_after = Some(Nanos::MAX);
        } else if is_io && self.hits(Fault::LateAnswer, port, 35, now) {
            task.answer_after = Some(self.random.between(100 * MS, 4 * SECOND));
        }
        let number = self.next_task;
        self.next_task += 1;
        self.tasks.insert(number, task);
        self.proceed(number, now);
    }

    /// Answers a command with an error instead of executing it.
    fn refuses(&mut self, id: u32, itt: u32, port: usize, now: Nanos) -> bool {
        let answers = [
            (Fault::Busy, 8, [0; 3]),
            (Fault::TaskSetFull, 0x28, [0; 3]),
            (Fault::NotReady, 2, [2, 4, 1]),
            (Fault::UnitAttention, 2, [6, 0x29, 0]),
            (Fault::UnitAttention, TASK_ABORTED, [0; 3]),
        ];
        for (fault, status, sense) in answers {
            if self.hits(fault, port, 25, now) {
                self.status(id, itt, status, sense, now);
                return true;
            }
        }
        false
    }

    /// Requests the data that are missing, or schedules the execution.
    fn proceed(&mut self, number: u64, now: Nanos) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        if task.got < task.asked {
            return;
        }
        if task.got < task.wanted {
            let (conn, offset, bytes) = (task.conn, task.got, task.wanted - task.got);
            task.asked = task.wanted;
            let mut bhs = header(opcode::R2T, task.itt);
            let word = |value: usize| u32::try_from(value).expect("a few blocks");
            bhs.set_word(20, u32::try_from(number & 0xffff).expect("masked") + 1);
            bhs.set_word(40, word(offset)).set_word(44, word(bytes));
            return self.send(conn, bhs, Vec::new(), false, now);
        }
        // Half of the late answers are late because the execution is.
        let mut late = 0;
        if let Some(after) = task.answer_after.filter(|after| *after != Nanos::MAX && after.is_multiple_of(2))
        {
            (late, task.answer_after) = (after, None);
        }
        let (low, high) = self.habits.service;
        let stalled = (0..self.ports.len()).map(|port| self.until(Fault::DiskStall, port)).max().unwrap_or(0);
        let at = now.max(stalled) + late + self.random.between(low, high);
        self.effects.push(Effect::Wake { at, what: Wake::Execute(number) });
    }

    fn data_out(&mut self, id: u32, pdu: &Pdu, now: Nanos) {
        let is_it = |task: &Task| task.conn == id && task.itt == pdu.bhs.itt() && !task.is_executed;
        let Some((number, task)) = self.tasks.iter_mut().find(|(_, task)| is_it(task)) else { return };
        let offset = pdu.bhs.word(40) as usize;
        let end = (offset + pdu.data.len()).min(task.wanted);
        if offset < end {
            task.data[offset..end].copy_from_slice(&pdu.data[..end - offset]);
            task.got = task.got.max(end);
            task.sent_at = pdu.sent_at;
        }
        let number = *number;
        self.proceed(number, now);
    }

    fn execute(&mut self, number: u64, now: Nanos) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        task.is_executed = true;
        if let Work::Write { chunk } = task.work {
            let effect = match version_of(&task.data, chunk) {
                None => Effect::Torn { chunk },
                Some(version) if self.is_swapped => {
                    self.other_disk.set(chunk, version);
                    Effect::Foreign { sent_at: task.sent_at }
                }
                Some(version) => {
                    self.disk.set(chunk, version);
                    Effect::Landed { chunk, version }
                }
            };
            self.effects.push(effect);
        }
        if let Work::Read { lba, blocks } = task.work {
            let disk = if self.is_swapped { &self.other_disk } else { &self.disk };
            task.data = disk.blocks(lba, blocks);
        }
        match task.answer_after {
            None => self.answer(number, now),
            Some(Nanos::MAX) => {}
            Some(after) => self.effects.push(Effect::Wake { at: now + after, what: Wake::Answer(number) }),
        }
    }

    fn answer(&mut self, number: u64, now: Nanos) {
        let Some(task) = self.tasks.remove(&number) else { return };
        match task.work {
            Work::Write { .. } => self.status(task.conn, task.itt, 0, [0; 3], now),
            Work::Status(status, sense) => self.status(task.conn, task.itt, status, sense, now),
            Work::Read { .. } => self.data_in(&task, &task.data, now),
            Work::Data(ref data) => self.data_in(&task, data, now),
        }
    }

    fn data_in(&mut self, task: &Task, data: &[u8], now: Nanos) {
        let mut left = data.len();
        for (at, piece) in data.chunks(2 * BLOCK_BYTES).enumerate() {
            left -= piece.len();
            let mut bhs = header(opcode::DATA_IN, task.itt);
            bhs.0[1] = if left == 0 { 0x81 } else { 0 };
            bhs.set_word(20, NO_TAG).set_word(36, u32::try_from(at).expect("a few pieces"));
            bhs.set_word(40, u32::try_from(at * 2 * BLOCK_BYTES).expect("a few blocks"));
            self.send(task.conn, bhs, piece.to_vec(), left == 0, now);
        }
    }

    fn management(&mut self, id: u32, request: &Bhs, now: Nanos) {
        let Some(port) = self.conns.get(&id).map(|conn| conn.port) else { return };
        let mut reply = header(opcode::TASK_MANAGEMENT_RESPONSE, request.itt());
        if self.hits(Fault::ManagementRejected, port, 70, now) {
            let mut bhs = header(opcode::REJECT, NO_TAG);
            bhs.0[2] = 5;
            return self.send(id, bhs, request.0.to_vec(), true, now);
        }
        if self.hits(Fault::ManagementRefused, port, 70, now) {
            reply.0[2] = *self.random.pick(&[4, 5, 255]);
            return self.send(id, reply, Vec::new(), true, now);
        }
        if self.hits(Fault::ManagementUnanswered, port, 70, now) {
            return;
        }
        let is_abort = request.0[1] & 0x7f == ABORT_TASK;
        if is_abort && self.hits(Fault::AbortOvertaken, port, 70, now) {
            let is_it = |task: &Task| task.conn == id && task.itt == request.word(20) && task.is_executed;
            if let Some(number) = self.tasks.iter().find(|(_, task)| is_it(task)).map(|(number, _)| *number) {
                self.answer(number, now);
                if self.random.chance(50) {
                    return;
                }
            }
        }
        let is_late = self.hits(Fault::ManagementLate, port, 70, now);
        let delay =
            if is_late { self.random.between(50 * MS, 3 * SECOND) } else { self.random.between(0, MS) };
        // What is fenced while a reset is on its way is not covered by it.
        if is_late && self.habits.reads_after_reset {
            let at = now + self.random.between(0, delay);
            self.effects.push(Effect::Wake { at, what: Wake::HangUpBut(port) });
        }
        self.effects.push(Effect::Wake { at: now + delay, what: Wake::Manage(id, *request) });
    }

    /// Carries out an abort or a reset, and answers it.
    fn manage(&mut self, id: u32, request: &Bhs, now: Nanos) {
        if !self.conns.contains_key(&id) {
            return;
        }
        let mut reply = header(opcode::TASK_MANAGEMENT_RESPONSE, request.itt());
        match request.0[1] & 0x7f {
            ABORT_TASK => {
                let before = self.tasks.len();
                self.tasks.retain(|_, task| task.conn != id || task.itt != request.word(20));
                reply.0[2] = u8::from(self.tasks.len() == before);
            }
            LOGICAL_UNIT_RESET => {
                self.reset_at = now;
                self.reset(id, request.word(24));
            }
            _ => reply.0[2] = 5,
        }
        self.send(id, reply, Vec::new(), true, 0);
    }

    /// Ends the tasks of all sessions: of the one that asked those with a lower CmdSN (RFC 7143 §4.2.3.3).
    fn reset(&mut self, by: u32, cmd_sn: u32) {
        let is_hit =
            |task: &Task| task.conn != by || cmd_sn.wrapping_sub(task.cmd_sn).wrapping_sub(1) < 1 << 31;
        let hit: Vec<u64> = self.tasks.iter().filter(|(_, t)| is_hit(t)).map(|(number, _)| *number).collect();
        for number in hit {
            if let Some(task) = self.tasks.remove(&number)
                && task.conn != by
                && self.habits.reports_aborted
            {
                self.status(task.conn, task.itt, TASK_ABORTED, [0; 3], 0);
            }
        }
        // Sessions whose connection has ended have nothing left to end.
        let reads_on = self.habits.reads_after_reset;
        self.conns.retain(|_, conn| conn.is_open || reads_on && !conn.inbox.is_empty());
        self.attention([6, 0x29, 0x03], Some(by));
    }
}

fn header(opcode: u8, itt: u32) -> Bhs {
    let mut bhs = Bhs::default();
    (bhs.0[0], bhs.0[1]) = (opcode, 0x80);
    bhs.set_word(16, itt);
    bhs
}

//! A scripted target, for behaviour that tgt never shows (ALUA, BUSY, silence, invalid data). It implements just enough
//! iSCSI for that; everything that tgt can do is tested against tgt.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_iscsi::pdu::{Bhs, opcode, padding};

pub const BLOCKS: u64 = 4096;
/// Operation code; blocks that it frees read as zeros.
pub const UNMAP: u8 = 0x42;

/// Reaction of the target to a READ, WRITE or UNMAP.
#[derive(Clone, Debug)]
pub enum Answer {
    Good,
    Status(u8),
    Sense(u8, u8, u8),
    /// No answer, until the command is aborted.
    Never,
    /// Ends the connection.
    Hang,
    /// Sends these bytes instead of a PDU.
    Bytes(Vec<u8>),
    /// Sends another PDU first, built from header bytes.
    First(Box<Bhs>, Box<Answer>),
    /// Sends this header for ever, as fast as possible.
    Flood(Box<Bhs>),
    /// Sends an answer, one byte at a time with this pause: the connection is never silent.
    Drip(Duration),
    /// Puts another unit behind the number, then answers.
    Remap(Unit, Box<Answer>),
}

/// Reaction of the target to a task management request.
#[derive(Clone, Copy, Debug)]
pub enum Managed {
    Done,
    /// Done this long after the request, while the target has a later command; others are answered meanwhile.
    After(Duration),
    /// Refused with this response.
    Refuse(u8),
    Never,
    /// The command to abort completes instead, and the request gets no answer.
    CommandFirst,
}

/// A unit behind the number.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub wwid: u64,
    pub serial: Option<&'static str>,
    pub blocks: u64,
    /// Byte that fills its disk.
    pub content: u8,
}

/// Deviations of the target from the standard.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one departure")]
pub struct Quirks {
    /// Number responses with the ExpStatSN of their command, as gotgt does: they repeat.
    pub echoes_status_numbers: bool,
    /// Leave out this many status numbers before the answer to each READ and WRITE.
    pub skipped_status_numbers: u32,
    /// One more key in the last login response.
    pub last_login_key: Option<&'static str>,
    /// Read SessionType in the operational stage only, as gotgt does.
    pub forgets_session_type: bool,
    /// Report the number of blocks in place of the address of the last one, as jSCSI does.
    pub reports_one_block_more: bool,
    /// Request the data of each write in bursts of 4 KiB, and read nothing else meanwhile: commands are dropped, and a
    /// ping ends the write, as with jSCSI. The window holds one command.
    pub reads_only_data_after_r2t: bool,
    /// The unit serial number.
    pub serial: Option<&'static str>,
}

/// State of the target that a test observes and controls.
pub struct Stage {
    pub quirks: Quirks,
    pub portal: String,
    pub group: AtomicU16,
    pub port_group: u16,
    /// The unit; the content of its disk is in `disk`.
    pub unit: Mutex<Unit>,
    /// Access state codes by port group, 1 and 2.
    pub access: Mutex<[u8; 2]>,
    pub answer: Box<dyn Fn(u8, u32) -> Answer + Send + Sync>,
    pub managed: Mutex<Managed>,
    /// Opcodes received, and for commands the operation code, in order.
    pub seen: Mutex<Vec<(u8, u8)>>,
    /// Content of the disk.
    pub disk: Mutex<Vec<u8>>,
    /// Number of commands that the target accepts beyond those it has; 0 closes the window.
    pub window: AtomicU32,
    /// While set, the target reads and answers nothing; afterwards it handles everything.
    pub silent: AtomicBool,
    /// Number of logins still to be refused with "no such target".
    pub refusals: AtomicU32,
    stop: AtomicBool,
}

pub struct Scripted {
    pub portal: String,
    pub stage: Arc<Stage>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Scripted {
    /// Starts a target. `answer` is called for every READ and WRITE with the operation code and the number of earlier
    /// ones.
    pub fn start(group: u16, wwid: u64, answer: impl Fn(u8, u32) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(Quirks::default(), group, wwid, answer)
    }

    pub fn start_with(
        quirks: Quirks,
        group: u16,
        wwid: u64,
        answer: impl Fn(u8, u32) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let portal = listener.local_addr().unwrap().to_string();
        let stage = Arc::new(Stage {
            quirks,
            portal: portal.clone(),
            group: AtomicU16::new(group),
            port_group: group,
            managed: Mutex::new(Managed::Done),
            unit: Mutex::new(Unit { wwid, serial: quirks.serial, blocks: BLOCKS, content: 0 }),
            access: Mutex::new([0, 0]),
            answer: Box::new(answer),
            seen: Mutex::new(Vec::new()),
            disk: Mutex::new(vec![0; BLOCKS as usize * 512]),
            window: AtomicU32::new(if quirks.reads_only_data_after_r2t { 1 } else { 32 }),
            silent: AtomicBool::new(false),
            refusals: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        });
        let shared = stage.clone();
        let thread = std::thread::spawn(move || {
            let count = Arc::new(AtomicU32::new(0));
            let mut threads = Vec::new();
            while !shared.stop.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (stage, count) = (shared.clone(), count.clone());
                        threads.push(std::thread::spawn(move || {
                            Target::new(stream, &stage, &count).serve();
                        }));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { portal, stage, thread: Some(thread) }
    }

    pub fn saw(&self, opcode: u8, operation: u8) -> usize {
        self.stage.seen.lock().unwrap().iter().filter(|seen| **seen == (opcode, operation)).count()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stage.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Returns true for the read of one of the last blocks, by which the initiator examines a unit. It is no I/O of a test.
fn is_first_look(request: &Bhs) -> bool {
    let is_read = request.opcode() == opcode::SCSI_COMMAND && request.0[32] == 0x28;
    is_read && u64::from(request.word(34)) >= BLOCKS - 2 && request.word(20) == 512
}

struct Target<'a> {
    stream: TcpStream,
    stage: &'a Stage,
    count: &'a AtomicU32,
    stat_sn: u32,
    exp_cmd_sn: u32,
    is_discovery: bool,
    /// Task management requests to be answered later.
    late: Vec<(Instant, Bhs)>,
}

impl<'a> Target<'a> {
    fn new(stream: TcpStream, stage: &'a Stage, count: &'a AtomicU32) -> Self {
        stream.set_nonblocking(false).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Self { stream, stage, count, stat_sn: 1, exp_cmd_sn: 1, is_discovery: false, late: Vec::new() }
    }

    /// Reads exactly this many bytes; `None` at the end of the connection or the test.
    fn read(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let (mut data, mut filled) = (vec![0; bytes], 0);
        while filled < bytes {
            match self.stream.read(&mut data[filled..]) {
                Ok(0) => return None,
                Ok(got) => filled += got,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if self.stage.stop.load(Ordering::SeqCst) {
                        return None;
                    }
                }
                Err(_) => return None,
            }
        }
        Some(data)
    }

    /// Writes until the end of the connection or the test.
    fn write(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut written = 0;
        while written < bytes.len() {
            match self.stream.write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
            if self.stage.stop.load(Ordering::SeqCst) {
                return None;
            }
        }
        Some(())
    }

    fn serve(mut self) -> Option<()> {
        loop {
            let header = self.read(48)?;
            let request = Bhs(header.try_into().unwrap());
            let bytes = request.data_bytes();
            let mut data = self.read(bytes as usize + padding(bytes))?;
            data.truncate(bytes as usize);
            while self.stage.silent.load(Ordering::SeqCst) && !self.stage.stop.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if request.opcode() == opcode::SCSI_COMMAND {
                self.answer_late()?;
            }
            let operation =
                if request.opcode() == opcode::SCSI_COMMAND { request.0[32] } else { request.0[1] & 0x7f };
            if !is_first_look(&request) {
                self.stage.seen.lock().unwrap().push((request.opcode(), operation));
            }
            if request.0[0] & 0x40 == 0 && request.opcode() != opcode::DATA_OUT {
                self.exp_cmd_sn = request.word(24) + 1;
            }
            match request.opcode() {
                opcode::LOGIN => self.login(&request, &data)?,
                opcode::TEXT => self.send_targets(&request)?,
                opcode::SCSI_COMMAND => self.command(&request, &data)?,
                opcode::TASK_MANAGEMENT => self.manage(&request)?,
                opcode::NOP_OUT if request.itt() != 0xffff_ffff => {
                    self.send(
                        opcode::NOP_IN,
                        &request,
                        |bhs| {
                            bhs.set_word(20, 0xffff_ffff);
                        },
                        &[],
                    )?;
                }
                opcode::LOGOUT => {
                    self.send(opcode::LOGOUT_RESPONSE, &request, |_| {}, &[])?;
                    return None;
                }
                _ => {}
            }
        }
    }

    fn manage(&mut self, request: &Bhs) -> Option<()> {
        let managed = *self.stage.managed.lock().unwrap();
        match managed {
            Managed::Done => self.send(opcode::TASK_MANAGEMENT_RESPONSE, request, |_| {}, &[]),
            Managed::Refuse(response) => {
                self.send(opcode::TASK_MANAGEMENT_RESPONSE, request, |bhs| bhs.0[2] = response, &[])
            }
            Managed::After(time) => {
                self.late.push((Instant::now() + time, *request));
                Some(())
            }
            Managed::Never => Some(()),
            Managed::CommandFirst => {
                let mut command = *request;
                command.set_word(16, request.word(20));
                self.status(&command, 0, &[])
            }
        }
    }

    fn answer_late(&mut self) -> Option<()> {
        while let Some(at) = self.late.iter().position(|(due, _)| Instant::now() >= *due) {
            let (_, request) = self.late.remove(at);
            self.send(opcode::TASK_MANAGEMENT_RESPONSE, &request, |_| {}, &[])?;
        }
        Some(())
    }

    fn send(&mut self, op: u8, request: &Bhs, fill: impl FnOnce(&mut Bhs), data: &[u8]) -> Option<()> {
        let mut bhs = Bhs::default();
        bhs.0[0] = op;
        bhs.0[1] = 0x80;
        let echoes = self.stage.quirks.echoes_status_numbers && request.opcode() != opcode::LOGIN;
        bhs.set_word(16, request.itt()).set_word(24, if echoes { request.word(28) } else { self.stat_sn });
        bhs.set_word(28, self.exp_cmd_sn)
            .set_word(32, self.exp_cmd_sn - 1 + self.stage.window.load(Ordering::SeqCst));
        bhs.set_data_bytes(data.len() as u32);
        fill(&mut bhs);
        self.stat_sn += 1;
        let mut bytes = bhs.0.to_vec();
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len() + padding(data.len() as u32), 0);
        self.stream.write_all(&bytes).ok()
    }

    fn login(&mut self, request: &Bhs, data: &[u8]) -> Option<()> {
        let (stages, quirks) = (request.0[1], self.stage.quirks);
        let text = String::from_utf8_lossy(data);
        let is_first = text.contains("InitiatorName=");
        let is_operational = stages >> 2 & 3 == 1;
        if is_first && (is_operational || !quirks.forgets_session_type) {
            self.is_discovery = text.contains("SessionType=Discovery");
        }
        if is_first && !self.is_discovery && !text.contains("TargetName=") {
            return None;
        }
        let text = match stages >> 2 & 3 {
            0 => {
                format!("AuthMethod=None\0TargetPortalGroupTag={}\0", self.stage.group.load(Ordering::SeqCst))
            }
            _ if quirks.reads_only_data_after_r2t => {
                "InitialR2T=Yes\0ImmediateData=No\0DefaultTime2Wait=0\0HeaderDigest=None\0DataDigest=None\0\
                  MaxRecvDataSegmentLength=4096\0FirstBurstLength=4096\0MaxBurstLength=4096\0"
                    .to_owned()
            }
            _ => {
                "InitialR2T=Yes\0ImmediateData=Yes\0DefaultTime2Wait=0\0HeaderDigest=None\0DataDigest=None\0\
                  MaxRecvDataSegmentLength=262144\0FirstBurstLength=262144\0MaxBurstLength=262144\0"
                    .to_owned()
                    + &quirks.last_login_key.map(|pair| format!("{pair}\0")).unwrap_or_default()
            }
        };
        let isid = request.0[8..14].to_owned();
        let refused = |left: u32| left.checked_sub(1);
        if self.stage.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, refused).is_ok() {
            let refuse = |bhs: &mut Bhs| bhs.0[36..38].copy_from_slice(&[2, 3]);
            self.send(opcode::LOGIN_RESPONSE, request, refuse, &[])?;
            return None;
        }
        let fill = |bhs: &mut Bhs| {
            bhs.0[1] = stages;
            bhs.0[8..14].copy_from_slice(&isid);
            bhs.0[15] = 1;
        };
        self.send(opcode::LOGIN_RESPONSE, request, fill, text.as_bytes())
    }

    fn send_targets(&mut self, request: &Bhs) -> Option<()> {
        let text =
            format!("TargetName=iqn.2026-11.example:scripted\0TargetAddress={},1\0", self.stage.portal);
        let fill = |bhs: &mut Bhs| {
            bhs.set_word(20, 0xffff_ffff);
        };
        self.send(opcode::TEXT_RESPONSE, request, fill, text.as_bytes())
    }

    fn status(&mut self, request: &Bhs, status: u8, data: &[u8]) -> Option<()> {
        self.send(opcode::SCSI_RESPONSE, request, |bhs| bhs.0[3] = status, data)
    }

    fn data_in(&mut self, request: &Bhs, data: &[u8]) -> Option<()> {
        let left = request.word(20) - data.len() as u32;
        let fill = |bhs: &mut Bhs| {
            bhs.0[1] = if left > 0 { 0x83 } else { 0x81 };
            bhs.set_word(20, 0xffff_ffff).set_word(44, left);
        };
        self.send(opcode::DATA_IN, request, fill, data)
    }

    fn command(&mut self, request: &Bhs, data: &[u8]) -> Option<()> {
        let cdb = &request.0[32..48];
        let stage = self.stage;
        let unit = *stage.unit.lock().unwrap();
        match (cdb[0], cdb[1], cdb[2]) {
            (0x28 | 0x2a, ..) if u64::from(request.word(34)) >= unit.blocks => self.sense(request, 5, 0, 0),
            _ if is_first_look(request) => self.act(request, data, Answer::Good),
            (0x28 | 0x2a | 0x88 | 0x8a | UNMAP, ..) => {
                self.stat_sn += stage.quirks.skipped_status_numbers;
                let count = self.count.fetch_add(1, Ordering::SeqCst);
                self.act(request, data, (stage.answer)(cdb[0], count))
            }
            (0x12, 0, _) => {
                let mut inquiry = [b' '; 36];
                inquiry[..8].copy_from_slice(&[0, 0, 5, 2, 31, 0x10, 0, 2]);
                self.data_in(request, &inquiry)
            }
            (0x12, 1, 0x80) if unit.serial.is_some() => {
                let serial = unit.serial.unwrap();
                let page = [&[0, 0x80, 0, serial.len() as u8][..], serial.as_bytes()].concat();
                self.data_in(request, &page)
            }
            (0x12, 1, 0x83) => {
                let mut page = vec![0, 0x83, 0, 20, 1, 3, 0, 8];
                page.extend(unit.wwid.to_be_bytes());
                page.extend([1, 0x15, 0, 4, 0, 0, 0, stage.port_group as u8]);
                self.data_in(request, &page)
            }
            (0x9e, 0x10, _) => {
                let mut capacity = [0; 32];
                capacity[..8].copy_from_slice(
                    &(unit.blocks - u64::from(!stage.quirks.reports_one_block_more)).to_be_bytes(),
                );
                capacity[10] = 2;
                self.data_in(request, &capacity)
            }
            (0xa3, 0x0a, _) => {
                let access = *stage.access.lock().unwrap();
                let mut groups = vec![0, 0, 0, 24];
                for (group, state) in (1..).zip(access) {
                    groups.extend([state, 0x0f, 0, group, 0, 0, 0, 1, 0, 0, 0, group]);
                }
                self.data_in(request, &groups)
            }
            (0x00 | 0x35, ..) => self.status(request, 0, &[]),
            _ => self.sense(request, 5, 0x20, 0),
        }
    }

    fn sense(&mut self, request: &Bhs, key: u8, asc: u8, ascq: u8) -> Option<()> {
        let mut data = vec![0, 18, 0x70, 0, key, 0, 0, 0, 0, 10];
        data.resize(20, 0);
        data[14] = asc;
        data[15] = ascq;
        self.status(request, 2, &data)
    }

    fn write_by_r2t(&mut self, request: &Bhs, at: usize) -> Option<()> {
        let mut done = 0;
        while done < request.word(20) {
            let (stat_sn, bytes) = (self.stat_sn, (request.word(20) - done).min(4096));
            let fill = |bhs: &mut Bhs| {
                bhs.set_word(20, done + 1).set_word(24, stat_sn).set_word(36, done / 4096);
                bhs.set_word(40, done).set_word(44, bytes);
            };
            self.send(opcode::R2T, request, fill, &[])?;
            self.stat_sn -= 1;
            let end = done + bytes;
            while done < end {
                let pdu = Bhs(self.read(48)?.try_into().unwrap());
                let length = pdu.data_bytes();
                let data = self.read(length as usize + padding(length))?;
                match pdu.opcode() {
                    opcode::DATA_OUT => {
                        let from = at + pdu.word(40) as usize;
                        self.stage.disk.lock().unwrap()[from..from + length as usize]
                            .copy_from_slice(&data[..length as usize]);
                        done += length;
                    }
                    opcode::NOP_OUT => return self.status(request, 0, &[]),
                    _ => self.exp_cmd_sn += u32::from(pdu.0[0] & 0x40 == 0),
                }
            }
        }
        self.status(request, 0, &[])
    }

    fn act(&mut self, request: &Bhs, data: &[u8], answer: Answer) -> Option<()> {
        match answer {
            Answer::Good if request.0[32] == UNMAP => {
                for range in data[8..].chunks_exact(16) {
                    let lba = u64::from_be_bytes(range[..8].try_into().unwrap()) as usize;
                    let blocks = u32::from_be_bytes(range[8..12].try_into().unwrap()) as usize;
                    self.stage.disk.lock().unwrap()[lba * 512..(lba + blocks) * 512].fill(0);
                }
                // As tgt: a residual of all that was sent.
                let residual = |bhs: &mut Bhs| {
                    bhs.0[1] |= 0x02;
                    bhs.set_word(44, data.len() as u32);
                };
                self.send(opcode::SCSI_RESPONSE, request, residual, &[])
            }
            Answer::Good => {
                let at = request.word(34) as usize * 512;
                let end = at + request.word(20) as usize;
                if request.0[1] & 0x20 != 0 && self.stage.quirks.reads_only_data_after_r2t {
                    return self.write_by_r2t(request, at);
                }
                if request.0[1] & 0x20 != 0 {
                    self.stage.disk.lock().unwrap()[at..end].copy_from_slice(data);
                    return self.status(request, 0, &[]);
                }
                let data = self.stage.disk.lock().unwrap()[at..end].to_vec();
                self.data_in(request, &data)
            }
            Answer::Status(status) => self.status(request, status, &[]),
            Answer::Sense(key, asc, ascq) => self.sense(request, key, asc, ascq),
            Answer::Never => Some(()),
            Answer::Flood(mut bhs) => {
                bhs.set_word(28, self.exp_cmd_sn).set_word(32, self.exp_cmd_sn + 31);
                while !self.stage.stop.load(Ordering::SeqCst) {
                    self.write(&bhs.0)?;
                }
                None
            }
            Answer::Drip(pause) => {
                let mut bhs = Bhs::default();
                (bhs.0[0], bhs.0[1]) = (opcode::SCSI_RESPONSE, 0x80);
                bhs.set_word(16, request.itt()).set_word(24, self.stat_sn);
                bhs.set_word(28, self.exp_cmd_sn).set_word(32, self.exp_cmd_sn + 31);
                for byte in bhs.0.chunks(1).cycle() {
                    self.write(byte)?;
                    std::thread::sleep(pause);
                }
                None
            }
            Answer::Remap(unit, then) => {
                *self.stage.unit.lock().unwrap() = unit;
                self.stage.disk.lock().unwrap().fill(unit.content);
                self.act(request, data, *then)
            }
            Answer::Hang => None,
            Answer::Bytes(bytes) => self.stream.write_all(&bytes).ok(),
            Answer::First(mut bhs, then) => {
                bhs.set_word(24, self.stat_sn)
                    .set_word(28, self.exp_cmd_sn)
                    .set_word(32, self.exp_cmd_sn + 32);
                if bhs.opcode() != opcode::NOP_IN {
                    self.stat_sn += 1;
                }
                self.stream.write_all(&bhs.0).ok()?;
                self.act(request, data, *then)
            }
        }
    }
}

//! A bare socket as the third subject: it logs in to the lean target, sends the commands that an initiator would send
//! and receives their responses, but looks at none. What it costs is what the kernel costs any initiator.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use assay_testkit::lean;
use serde_json::json;

use super::Options;
use super::runners::{CPU, Load, Measured, RAMP, json_and_cpu_of, number};

/// Receive buffer: as much as Assay's.
const INBOX_BYTES: usize = 128 * 1024;
const LOGIN: &str = "InitiatorName=iqn.2026-11.example:bare\0SessionType=Normal\0AuthMethod=None\0\
                     MaxRecvDataSegmentLength=262144\0";

/// Runs this program as the bare socket in a process of its own, which is measured like the testers.
pub(super) fn bare_run(portal: &str, load: &Load, options: &Options) -> anyhow::Result<Measured> {
    let mut command = Command::new("taskset");
    command.args(["-c", CPU]).arg(std::env::current_exe()?).args(["bare", portal, load.rw]);
    let numbers = [u64::from(load.block), load.depth.into(), options.seconds.into(), options.size_mib];
    command.args(numbers.map(|number| number.to_string()));
    let (document, cpus_busy) = json_and_cpu_of(&mut command, options.seconds)?;
    let iops = number(&document, "/iops")?;
    Ok(Measured { iops, cpu_us_per_io: cpus_busy * 1e6 / iops, p50_us: f64::NAN, p99_us: f64::NAN })
}

/// The process: PORTAL PATTERN BLOCK DEPTH SECONDS MIB.
pub(crate) fn bare(args: &[String]) -> anyhow::Result<()> {
    let [portal, pattern, block, depth, seconds, mib] = args else { anyhow::bail!("this is for `bench`") };
    let (block_bytes, blocks) = (block.parse::<usize>()?, u32::try_from(mib.parse::<u64>()? << 11)?);
    let mut line = BareSocket::open(portal, block_bytes, blocks, pattern.starts_with("rand"))?;
    line.ask(depth.parse()?)?;
    let begin = Instant::now() + ramp();
    let end = begin + Duration::from_secs(seconds.parse()?);
    let mut ios = 0;
    let measured = loop {
        let done = line.receive()?;
        line.ask(done)?;
        let now = Instant::now();
        if now >= end {
            break now - begin;
        }
        if now >= begin {
            ios += done;
        }
    };
    println!("{}", json!({ "iops": ios as f64 / measured.as_secs_f64() }));
    Ok(())
}

fn ramp() -> Duration {
    Duration::from_millis(RAMP.trim_end_matches("ms").parse().expect("a constant in ms"))
}

struct BareSocket {
    stream: TcpStream,
    command: lean::Pdu,
    block_bytes: usize,
    /// Number of blocks of 512 bytes of the LUN, and of an I/O.
    blocks: u32,
    io_blocks: u32,
    is_random: bool,

    state: u64,
    count: u32,
    outbox: Vec<u8>,
    inbox: Vec<u8>,
    /// Number of bytes of a response whose rest has not arrived.
    begun_bytes: usize,
}

impl BareSocket {
    fn open(portal: &str, block_bytes: usize, blocks: u32, is_random: bool) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(portal).with_context(|| format!("cannot connect to {portal}"))?;
        stream.set_nodelay(true)?;
        let mut login = lean::Pdu::new(0x43);
        // Operational stage, then full feature phase.
        login.header[1] = 0x87;
        login.set(24, 1);
        login.data = format!("{LOGIN}TargetName={}\0", lean::NAME).into_bytes();
        stream.write_all(&login.bytes())?;
        let mut header = [0; 48];
        stream.read_exact(&mut header)?;
        let length = u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize;
        stream.read_exact(&mut vec![0; length.next_multiple_of(4)])?;
        let io_blocks = u32::try_from(block_bytes / 512)?;
        let mut command = lean::Pdu::new(0x01);
        // A READ(10), final, simple task.
        command.header[1] = 0xc1;
        command.set(20, u32::try_from(block_bytes)?);
        command.header[32] = 0x28;
        command.header[39..41].copy_from_slice(&u16::try_from(io_blocks)?.to_be_bytes());
        let (state, inbox) = (0x9e37_79b9_7f4a_7c15, vec![0; INBOX_BYTES]);
        let (outbox, count, begun_bytes) = (Vec::new(), 1, 0);
        Ok(Self {
            stream,
            command,
            block_bytes,
            blocks,
            io_blocks,
            is_random,
            state,
            count,
            outbox,
            inbox,
            begun_bytes,
        })
    }

    /// Sends so many commands in one write.
    fn ask(&mut self, count: usize) -> anyhow::Result<()> {
        self.outbox.clear();
        for _ in 0..count {
            self.count = self.count.wrapping_add(1);
            let (tag, ios) = (self.count & 0x7fff_ffff, self.blocks / self.io_blocks);
            let io = if self.is_random { self.random() % ios } else { self.count % ios };
            self.command.set(16, tag).set(24, self.count).set(34, io * self.io_blocks);
            self.outbox.extend_from_slice(&self.command.header);
        }
        self.stream.write_all(&self.outbox).context("the target hung up")
    }

    /// Receives once. Returns the number of responses that are complete with it.
    fn receive(&mut self) -> anyhow::Result<usize> {
        let bytes = self.stream.read(&mut self.inbox)?;
        anyhow::ensure!(bytes > 0, "the target hung up");
        let response_bytes = 48 + self.block_bytes;
        let bytes = bytes + self.begun_bytes;
        self.begun_bytes = bytes % response_bytes;
        Ok(bytes / response_bytes)
    }

    fn random(&mut self) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 32) as u32
    }
}

//! Writes real data over a member before it is measured: random, unique, incompressible, and stamped where the plan
//! verifies.

use std::path::PathBuf;
use std::time::Instant;

use assay_spec::NfsSync;
use assay_spec::units::Bytes;
use assay_target::lun::LunMember;
use assay_target::nfs::NfsMember;
use assay_target::remote::Moment;
use assay_target::{
    AnyTarget, BATCH_MAX, Completion, Durability, FileMember, IoBuf, IoEngine, Member, Op, OpKind, OpenError,
    OpenRequest, Target, Wait,
};

use super::PrepareProgress;
use super::error::PrepareError;
use super::files::text;
use assay_target::rng::{BulkRng, derive};
use assay_target::stamp::{Header, UNIT_BYTES, write_stamp};

/// The kind of data that preparation itself writes.
pub(super) const FILL_UNIQUE: &str = "unique";
/// The same with a stamp in each 512 bytes.
pub(super) const FILL_STAMPED: &str = "stamped";

/// Large sequential writes, several at once: what every kind of storage takes fastest. 16 x 1 MiB of buffers.
const CHUNK_BYTES: u32 = 1 << 20;
const DEPTH: u32 = 16;
/// How often progress is told.
const PROGRESS_EVERY_MS: u128 = 100;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Unique,
    Stamped,
}

/// A target as a fill sees it.
struct Filled {
    member: Member,
    /// As messages call it.
    name: String,
    /// Whole pages, as the stamps need them, and no more than the target takes.
    chunk_bytes: u32,
}

impl Filled {
    /// Preparation is not measured: waiting for each write to be durable would only make it slow.
    fn of(member: &Member) -> Self {
        let durability = Durability::Device;
        let (name, member) = match member {
            Member::Null { .. } => ("null:".to_owned(), member.clone()),
            Member::Simulated(of) => (format!("sim:{}", of.array), member.clone()),
            Member::File(of) => (text(&of.path), Member::File(FileMember { durability, ..of.clone() })),
            Member::Lun(of) => {
                let member = LunMember { durability, ..(**of).clone() };
                (of.address.to_string(), Member::Lun(Box::new(member)))
            }
            Member::Nfs(of) => {
                let mut member = NfsMember { durability, ..(**of).clone() };
                member.address.sync = NfsSync::Unstable;
                (of.address.to_string(), Member::Nfs(Box::new(member)))
            }
        };
        let most =
            member.transfer_bytes_max().map_or(CHUNK_BYTES, |most| u32::try_from(most).unwrap_or(u32::MAX));
        Self { member, name, chunk_bytes: (most / 4096 * 4096).clamp(4096, CHUNK_BYTES) }
    }

    fn open(&self, engine: IoEngine, buffers: &[IoBuf]) -> Result<AnyTarget, OpenError> {
        let members = std::slice::from_ref(&self.member);
        assay_target::open(&OpenRequest { members, depth: DEPTH, engine, buffers })
    }
}

/// Fills a member from `from` to the end of its span. An error says how much of it is filled without a gap.
pub(super) fn fill(
    member: &Member,
    from: u64,
    content: Content,
    engine: IoEngine,
    seed: u64,
    must_stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(&PrepareProgress),
) -> Result<(), (u64, PrepareError)> {
    let filled = Filled::of(member);
    let (span_bytes, chunk_bytes) = (member.span_bytes(), filled.chunk_bytes);
    let buffers: Vec<IoBuf> = IoBuf::many(DEPTH, chunk_bytes);
    let target = filled.open(engine, &buffers).map_err(|e| (from, e.into()))?;
    let (name, chunk) = (filled.name, u64::from(chunk_bytes));
    let aligned = from / chunk * chunk;
    let mut filling = Filling {
        name: &name,
        span_bytes,
        chunk_bytes,
        content,
        run: derive(seed, &[0x0066_696C_6C00]),
        target,
        rng: BulkRng::new(derive(seed, &[1, entropy()])),
        next: aligned,
        starts: [u64::MAX; DEPTH as usize],
        in_flight: 0,
    };
    let began = Instant::now();
    let mut told_ms = 0;
    let mut tell = |done_bytes: u64, is_last: bool| {
        let elapsed = began.elapsed();
        if is_last || elapsed.as_millis() >= told_ms + PROGRESS_EVERY_MS {
            told_ms = elapsed.as_millis();
            let (total_bytes, path) = (span_bytes, PathBuf::from(&name));
            let bytes_per_s = (done_bytes - aligned) as f64 / elapsed.as_secs_f64().max(1e-3);
            progress(&PrepareProgress { path, done_bytes, total_bytes, bytes_per_s, elapsed });
        }
    };
    for buf in buffers {
        filling.write_next(buf);
    }
    let mut done = Vec::with_capacity(BATCH_MAX);
    while filling.in_flight > 0 {
        let lost = filling.target.poll(Wait::One, &mut done).err().map(|e| e.to_string());
        if let Some(why) = lost {
            return Err(filling.failed(filling.done_bytes(), why));
        }
        for completion in done.drain(..) {
            filling.settle(completion, must_stop)?;
        }
        tell(filling.done_bytes(), false);
    }
    if let Err(why) = filling.make_durable() {
        return Err((from, PrepareError::Fill { path: name, at: Bytes(from), why }));
    }
    if must_stop() && filling.next < span_bytes {
        return Err((filling.done_bytes(), PrepareError::Interrupted { path: name }));
    }
    tell(span_bytes, true);
    Ok(())
}

/// Two files filled with one seed must not hold the same data, or the storage could deduplicate them.
fn entropy() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() << 30 | u64::from(now.subsec_nanos())
}

struct Filling<'f> {
    name: &'f str,
    span_bytes: u64,
    chunk_bytes: u32,
    content: Content,
    run: u64,

    target: AnyTarget,
    rng: BulkRng,
    /// Where the next chunk begins.
    next: u64,
    /// By tag: where the chunk in flight begins; `u64::MAX`: none.
    starts: [u64; DEPTH as usize],
    in_flight: u32,
}

impl Filling<'_> {
    /// Everything below this is written.
    fn done_bytes(&self) -> u64 {
        self.starts.iter().copied().min().unwrap_or(u64::MAX).min(self.next)
    }

    /// What the target still holds in memory; a server that restarted meanwhile may have forgotten some of it.
    fn make_durable(&mut self) -> Result<(), String> {
        let report = self.target.remote_report(Moment::End).and_then(|report| report.writes);
        let Some(report) = report else { return Ok(()) };
        match (report.failure, report.stats.uncertain) {
            (Some(why), _) => Err(format!("COMMIT: {why}")),
            (None, 0) => Ok(()),
            (None, writes) => Err(format!(
                "the server restarted meanwhile, and {writes} writes that it had not committed may be lost; run again"
            )),
        }
    }

    fn write_next(&mut self, mut buf: IoBuf) {
        let left = self.span_bytes.saturating_sub(self.next);
        if left == 0 {
            return;
        }
        let size_bytes = u32::try_from(left.min(u64::from(self.chunk_bytes))).expect("at most a chunk");
        let bytes = &mut buf[..size_bytes as usize];
        self.rng.fill(bytes);
        if self.content == Content::Stamped {
            for (unit, offset) in bytes.chunks_exact_mut(UNIT_BYTES).zip((self.next..).step_by(UNIT_BYTES)) {
                write_stamp(unit, &Header { offset_bytes: offset, run: self.run, sequence: 0 });
            }
        }
        let (tag, offset_bytes) = (buf.slot(), self.next);
        self.next += u64::from(size_bytes);
        self.starts[tag as usize] = offset_bytes;
        self.in_flight += 1;
        let op = Op { tag, member: 0, kind: OpKind::Write, size_bytes, offset_bytes, buf };
        self.target.submit(op).expect("each buffer has a slot of its own");
    }

    fn settle(
        &mut self,
        completion: Completion,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<(), (u64, PrepareError)> {
        let tag = completion.tag as usize;
        let start = self.starts[tag];
        let expected = (self.span_bytes - start).min(u64::from(self.chunk_bytes));
        match completion.outcome {
            Ok(moved) if u64::from(moved) == expected => {}
            Ok(moved) => {
                return Err(self.failed(start, format!("only {moved} of {expected} bytes were written")));
            }
            Err(failure) => return Err(self.failed(start, failure.to_string())),
        }
        self.starts[tag] = u64::MAX;
        self.in_flight -= 1;
        if !must_stop() {
            self.write_next(completion.buf);
        }
        Ok(())
    }

    fn failed(&self, at: u64, why: String) -> (u64, PrepareError) {
        (self.done_bytes(), PrepareError::Fill { path: self.name.to_owned(), at: Bytes(at), why })
    }
}

//! Writes real data over a member before it is measured: random, unique, incompressible, and stamped where the plan
//! verifies.

use std::time::Instant;

use assay_spec::units::Bytes;
use assay_target::{
    AnyTarget, BATCH_MAX, Completion, Durability, IoBuf, IoEngine, Member, Op, OpKind, OpenRequest, Target,
    Wait,
};

use super::PrepareProgress;
use super::error::PrepareError;
use super::inspect::text;
use crate::control::StopSignal;
use crate::rng::{BulkRng, derive};
use crate::stamp::{UNIT_BYTES, write_stamp};

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

/// Fills a member from `from` to the end of its span. An error says how much of it is filled without a gap.
pub(super) fn fill(
    member: &Member,
    from: u64,
    content: Content,
    engine: IoEngine,
    seed: u64,
    stop: &StopSignal,
    progress: &mut dyn FnMut(&PrepareProgress),
) -> Result<(), (u64, PrepareError)> {
    // Preparation is not measured: waiting for each write to be durable would only make it slow.
    let member = Member { durability: Durability::Device, ..member.clone() };
    let buffers: Vec<IoBuf> = (0..DEPTH).map(|slot| IoBuf::new(slot, CHUNK_BYTES)).collect();
    let members = std::slice::from_ref(&member);
    let request =
        OpenRequest { members, null_members: &[], simulated: &[], depth: DEPTH, engine, buffers: &buffers };
    let target = assay_target::open(&request).map_err(|e| (from, e.into()))?;
    let chunk = u64::from(CHUNK_BYTES);
    let aligned = from / chunk * chunk;
    let mut filling = Filling {
        member: &member,
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
            let (total_bytes, path) = (member.span_bytes, member.path.clone());
            let bytes_per_s = (done_bytes - aligned) as f64 / elapsed.as_secs_f64().max(1e-3);
            progress(&PrepareProgress { path, done_bytes, total_bytes, bytes_per_s });
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
            filling.settle(completion, stop)?;
        }
        tell(filling.done_bytes(), false);
    }
    if stop.is_set() && filling.next < member.span_bytes {
        return Err((filling.done_bytes(), PrepareError::Interrupted { path: text(&member.path) }));
    }
    tell(member.span_bytes, true);
    Ok(())
}

/// Two files filled with one seed must not hold the same data, or the storage could deduplicate them.
fn entropy() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() << 30 | u64::from(now.subsec_nanos())
}

struct Filling<'f> {
    member: &'f Member,
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

    fn write_next(&mut self, mut buf: IoBuf) {
        let left = self.member.span_bytes.saturating_sub(self.next);
        if left == 0 {
            return;
        }
        let size_bytes = u32::try_from(left.min(u64::from(CHUNK_BYTES))).expect("at most a chunk");
        let bytes = &mut buf[..size_bytes as usize];
        self.rng.fill(bytes);
        if self.content == Content::Stamped {
            for (unit, offset) in bytes.chunks_exact_mut(UNIT_BYTES).zip((self.next..).step_by(UNIT_BYTES)) {
                write_stamp(unit, offset, self.run, 0);
            }
        }
        let (tag, offset_bytes) = (buf.slot(), self.next);
        self.next += u64::from(size_bytes);
        self.starts[tag as usize] = offset_bytes;
        self.in_flight += 1;
        let op = Op { tag, member: 0, kind: OpKind::Write, size_bytes, offset_bytes, buf };
        self.target.submit(op).expect("each buffer has a slot of its own");
    }

    fn settle(&mut self, completion: Completion, stop: &StopSignal) -> Result<(), (u64, PrepareError)> {
        let tag = completion.tag as usize;
        let start = self.starts[tag];
        let expected = (self.member.span_bytes - start).min(u64::from(CHUNK_BYTES));
        match completion.outcome {
            Ok(moved) if u64::from(moved) == expected => {}
            Ok(moved) => {
                return Err(self.failed(start, format!("only {moved} of {expected} bytes were written")));
            }
            Err(failure) => return Err(self.failed(start, failure.to_string())),
        }
        self.starts[tag] = u64::MAX;
        self.in_flight -= 1;
        if !stop.is_set() {
            self.write_next(completion.buf);
        }
        Ok(())
    }

    fn failed(&self, at: u64, why: String) -> (u64, PrepareError) {
        (self.done_bytes(), PrepareError::Fill { path: text(&self.member.path), at: Bytes(at), why })
    }
}

//! Writes real data to a member before it is measured: random, unique, incompressible, and stamped if the plan
//! verifies.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_spec::NfsSync;
use assay_spec::units::Bytes;
use assay_target::lun::{LunMember, UnitWatch};
use assay_target::nfs::NfsMember;
use assay_target::remote::Moment;
use assay_target::rng::{BulkRng, derive};
use assay_target::stamp::{Header, UNIT_BYTES, write_stamp};
use assay_target::{
    AnyTarget, BATCH_MAX, Completion, Durability, FileMember, IoBuf, IoEngine, Member, Op, OpKind, OpenError,
    OpenRequest, StopPatience, Target, Wait,
};

use crate::content::FillContent;
use crate::error::{PrepareError, text};

/// Size of a write, bytes: large sequential writes, several at once, are fastest on every kind of storage. 16 x 1 MiB
/// of buffers.
const CHUNK_BYTES: u32 = 1 << 20;
const DEPTH: u32 = 16;
/// Longest wait of a poll, so that a stop is noticed soon, whatever the target does.
const POLL_FOR: Duration = Duration::from_millis(50);
/// Time without a completed write after which the target is asked for the events of its paths, and from then on the
/// interval.
const ASK_AFTER: Duration = Duration::from_secs(3);
/// Interval of progress reports, ms.
const PROGRESS_EVERY_MS: u128 = 100;

/// Progress of a fill.
#[derive(Debug, Clone, PartialEq)]
pub struct PrepareProgress {
    /// Path of the target.
    pub path: PathBuf,
    /// Reason for overwriting data of an earlier run, as a clause; `None` if only missing data is written.
    pub why: Option<String>,
    /// Number of bytes written so far.
    pub done_bytes: u64,
    /// Number of bytes to write in total.
    pub total_bytes: u64,
    /// Bytes per second so far.
    pub bytes_per_s: f64,
    /// Time elapsed so far.
    pub elapsed: Duration,
    /// Time for which no write has completed.
    pub waited: Duration,
    /// The last event of the target's paths while no write completed, a clause; `None` if there was none.
    pub news: Option<String>,
}

/// A fill: content and range.
pub(crate) struct Writing<'w> {
    pub(crate) member: &'w Member,
    /// Start of the range, which ends with the span.
    pub(crate) from_bytes: u64,
    pub(crate) content: FillContent,
    /// As in [`PrepareProgress`].
    pub(crate) why: Option<String>,
    pub(crate) io: IoEngine,
    pub(crate) seed: u64,
}

/// Contiguous part of a fill that was completed, and the reason why it stopped.
pub(crate) struct PartialFill {
    pub(crate) filled_bytes: u64,
    pub(crate) error: PrepareError,
}

impl From<PartialFill> for PrepareError {
    fn from(partial: PartialFill) -> Self {
        partial.error
    }
}

impl Writing<'_> {
    /// Returns the name of the target for messages.
    pub(crate) fn name(&self) -> String {
        match self.member {
            Member::Null { .. } => "null:".to_owned(),
            Member::Simulated(of) => format!("sim:{}", of.array),
            Member::File(of) => text(&of.path),
            Member::Lun(of) => of.address.to_string(),
            Member::Nfs(of) => of.address.to_string(),
        }
    }

    /// Returns the size of a write: whole pages, as the stamps need them, and within the target's limit.
    fn chunk_bytes(&self) -> u32 {
        let most = self
            .member
            .transfer_bytes_max()
            .map_or(CHUNK_BYTES, |most| u32::try_from(most).unwrap_or(u32::MAX));
        (most / 4096 * 4096).clamp(4096, CHUNK_BYTES)
    }

    /// Opens the target. A fill is not measured, so waiting for each write to be durable would only slow it down.
    fn open(&self, buffers: &[IoBuf]) -> Result<AnyTarget, OpenError> {
        let durability = Durability::Device;
        let member = match self.member {
            member @ (Member::Null { .. } | Member::Simulated(_)) => member.clone(),
            Member::File(of) => Member::File(FileMember { durability, ..of.clone() }),
            Member::Lun(of) => {
                let watch = UnitWatch::Closely;
                Member::Lun(Box::new(LunMember { durability, watch, ..(**of).clone() }))
            }
            Member::Nfs(of) => {
                let mut member = NfsMember { durability, ..(**of).clone() };
                member.address.sync = NfsSync::Unstable;
                Member::Nfs(Box::new(member))
            }
        };
        let members = std::slice::from_ref(&member);
        assay_target::open(&OpenRequest { members, depth: DEPTH, engine: self.io, buffers })
    }
}

/// Fills a target to the end of its span. Returns the parts of which the server may execute another copy of a write at
/// any time, bytes.
pub(crate) fn write(
    writing: &Writing<'_>,
    must_stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(&PrepareProgress),
) -> Result<Vec<Range<u64>>, PartialFill> {
    let (from_bytes, span_bytes) = (writing.from_bytes, writing.member.span_bytes());
    let (name, chunk_bytes) = (writing.name(), writing.chunk_bytes());
    let buffers: Vec<IoBuf> = IoBuf::many(DEPTH, chunk_bytes);
    let at_start = |error: PrepareError| PartialFill { filled_bytes: from_bytes, error };
    let target = writing.open(&buffers).map_err(|error| at_start(error.into()))?;
    let chunk = u64::from(chunk_bytes);
    let aligned = from_bytes / chunk * chunk;
    let mut filling = Filling {
        name: &name,
        span_bytes,
        chunk_bytes,
        content: writing.content,
        run: derive(writing.seed, &[0x0066_696C_6C00]),
        target,
        rng: BulkRng::new(derive(writing.seed, &[1, entropy()])),
        next: aligned,
        starts: [u64::MAX; DEPTH as usize],
        in_flight: 0,
        moved: Vec::new(),
    };
    let began = Instant::now();
    let mut report = Report {
        writing,
        began,
        reported_ms: 0,
        moved_at: began,
        asked_at: began,
        news: None,
        aligned,
        progress,
    };
    for buf in buffers {
        filling.write_next(buf);
    }
    let mut done = Vec::with_capacity(BATCH_MAX);
    let patience = StopPatience::default();
    while filling.in_flight > 0 {
        if patience.is_over(must_stop()) {
            let (filled_bytes, path) = (filling.done_bytes(), name.clone());
            return Err(PartialFill { filled_bytes, error: PrepareError::Interrupted { path } });
        }
        let lost = filling.target.poll(Wait::AtMost(POLL_FOR), &mut done).err().map(|e| e.to_string());
        if let Some(why) = lost {
            return Err(filling.failed(filling.done_bytes(), why));
        }
        report.look(&mut filling, !done.is_empty());
        for completion in done.drain(..) {
            filling.settle(completion, must_stop)?;
        }
        report.now_and_then(filling.done_bytes());
    }
    if let Err(why) = filling.make_durable(&|| patience.is_over(must_stop())) {
        return Err(at_start(PrepareError::Fill { path: name.clone(), at: Bytes(from_bytes), why }));
    }
    if must_stop() && filling.next < span_bytes {
        let (filled_bytes, path) = (filling.done_bytes(), name.clone());
        return Err(PartialFill { filled_bytes, error: PrepareError::Interrupted { path } });
    }
    report.moved_at = Instant::now();
    report.now(span_bytes);
    Ok(filling.moved)
}

/// Reports the progress of a fill at intervals.
struct Report<'r> {
    writing: &'r Writing<'r>,
    began: Instant,
    reported_ms: u128,
    /// Time of the last completed write, and of the last question about what delays it.
    moved_at: Instant,
    asked_at: Instant,
    news: Option<String>,
    /// Start of the fill, bytes.
    aligned: u64,
    progress: &'r mut dyn FnMut(&PrepareProgress),
}

impl Report<'_> {
    /// Notes whether writes have completed; if none has for long, asks the target for the events of its paths.
    fn look(&mut self, filling: &mut Filling<'_>, has_moved: bool) {
        let now = Instant::now();
        if has_moved {
            (self.moved_at, self.asked_at, self.news) = (now, now, None);
        } else if now.duration_since(self.asked_at) >= ASK_AFTER {
            self.asked_at = now;
            let report = filling.target.remote_report(Moment::Begin);
            let last = report.and_then(|report| report.events.into_iter().next_back());
            self.news = last.map(|event| event.says).or(self.news.take());
        }
    }

    fn now_and_then(&mut self, done_bytes: u64) {
        let elapsed_ms = self.began.elapsed().as_millis();
        if elapsed_ms >= self.reported_ms + PROGRESS_EVERY_MS {
            self.reported_ms = elapsed_ms;
            self.now(done_bytes);
        }
    }

    fn now(&mut self, done_bytes: u64) {
        let elapsed = self.began.elapsed();
        (self.progress)(&PrepareProgress {
            path: PathBuf::from(self.writing.name()),
            why: self.writing.why.clone(),
            done_bytes,
            total_bytes: self.writing.member.span_bytes(),
            bytes_per_s: (done_bytes - self.aligned) as f64 / elapsed.as_secs_f64().max(1e-3),
            elapsed,
            waited: self.moved_at.elapsed(),
            news: self.news.clone(),
        });
    }
}

/// Returns a seed: two files filled with the same seed would hold the same data, which storage could deduplicate.
fn entropy() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() << 30 | u64::from(now.subsec_nanos())
}

struct Filling<'f> {
    name: &'f str,
    span_bytes: u64,
    chunk_bytes: u32,
    content: FillContent,
    run: u64,

    target: AnyTarget,
    rng: BulkRng,
    /// Start of the next chunk, bytes.
    next: u64,
    /// By tag: start of the chunk in flight; `u64::MAX` for none.
    starts: [u64; DEPTH as usize],
    in_flight: u32,
    /// Parts of which the server may execute another copy later.
    moved: Vec<Range<u64>>,
}

impl Filling<'_> {
    /// Returns the number of contiguous bytes written.
    fn done_bytes(&self) -> u64 {
        self.starts.iter().copied().min().unwrap_or(u64::MAX).min(self.next)
    }

    /// Makes data in the target's memory durable; a server that restarted meanwhile may have lost some of it.
    fn make_durable(&mut self, give_up: &dyn Fn() -> bool) -> Result<(), String> {
        let report = self.target.remote_report(Moment::End { give_up }).and_then(|report| report.writes);
        let Some(report) = report else { return Ok(()) };
        match (report.failure, report.stats.uncertain) {
            (Some(why), _) => Err(format!("COMMIT: {why}")),
            (None, 0) => Ok(()),
            (None, writes) => Err(format!(
                "the server restarted during the fill, and {writes} uncommitted writes may be lost; run again"
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
        if self.content == FillContent::Stamped {
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

    fn settle(&mut self, completion: Completion, must_stop: &dyn Fn() -> bool) -> Result<(), PartialFill> {
        let tag = completion.tag as usize;
        let start = self.starts[tag];
        let expected = (self.span_bytes - start).min(u64::from(self.chunk_bytes));
        match completion.outcome {
            Ok(moved) if u64::from(moved) == expected => {}
            Ok(moved) => {
                return Err(self.failed(start, format!("only {moved} of {expected} bytes were written")));
            }
            Err(failure) => {
                // The message of the other side says more than an errno value.
                let report = self.target.remote_report(Moment::Begin);
                let words = report.and_then(|report| report.failures.into_iter().next());
                return Err(self.failed(start, words.unwrap_or_else(|| failure.to_string())));
            }
        }
        if completion.is_moved {
            self.moved.push(start..start + expected);
        }
        self.starts[tag] = u64::MAX;
        self.in_flight -= 1;
        if !must_stop() {
            self.write_next(completion.buf);
        }
        Ok(())
    }

    fn failed(&self, at: u64, why: String) -> PartialFill {
        let error = PrepareError::Fill { path: self.name.to_owned(), at: Bytes(at), why };
        PartialFill { filled_bytes: self.done_bytes(), error }
    }
}

//! A target that is only read, one read at a time, where the reader chooses each place: `assay map`.

use std::time::{Duration, Instant};

use assay_engine::StopSignal;
use assay_prepare::{FillChoice, PrepareOptions, PreparedTargets};
use assay_spec::units::{Bytes, SizeSpec};
use assay_spec::{Address, Overrides, Plan, PlanFile};
use assay_target::{
    AnyTarget, IoBuf, IoFailure, Member, Op, OpKind, OpenRequest, Opener, STOP_LIMIT, Target as _,
    TargetLost, Wait,
};

use crate::close::{Left, close};
use crate::error::RunnerError;
use crate::targets::run_targets;

/// What the target is prepared for: reads of the largest size, and not a byte more.
const PLAN: &str = r#"
name = "Single reads"
[[test]]
name = "read"
access = [{ size = "64KiB", read = 100, random = 100 }]
"#;
/// Largest read, bytes.
const READ_MAX: u32 = 1 << 20;
/// A stop is looked for this often while a read is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An open target.
pub struct Reader {
    prepared: PreparedTargets,
    member: Member,
    target: AnyTarget,
    /// Absent after a read that did not come back.
    buf: Option<IoBuf>,
    stop: StopSignal,
    began: Instant,
}

/// A read that came back.
#[derive(Debug)]
pub struct Reading<'r> {
    /// When it was issued, ns since the target was opened.
    pub at_ns: u64,
    /// How long it took, ns.
    pub latency_ns: u64,
    /// What was read; `None` where the target has no content (a simulated array).
    pub data: Result<Option<&'r [u8]>, IoFailure>,
}

impl Reader {
    /// Inspects and opens a target that is there; creates, marks and fills nothing. `size` is how much of it is read,
    /// where that is not all.
    ///
    /// # Errors
    /// Where it cannot be opened; nothing has changed then.
    pub fn open(
        address: &Address,
        size: Option<Bytes>,
        options: PrepareOptions,
        opener: &Opener<'_>,
        stop: &StopSignal,
    ) -> Result<Self, RunnerError> {
        let options = PrepareOptions {
            overwrite: Vec::new(),
            changes: assay_prepare::Changes::Refused,
            fill: FillChoice::Never,
            ..options
        };
        let plan = plan(size);
        let host = crate::facts::host_facts();
        let open = assay_prepare::open(&plan, std::slice::from_ref(address), &options, &host, &mut || true)?;
        assay_engine::check_fit(&plan, &run_targets(open.targets()))?;
        let prepared = open.fill(&|| false, &mut |_| {})?;
        let buffers = IoBuf::many(1, READ_MAX);
        let members = prepared.members();
        let request = OpenRequest { members: &members, depth: 1, engine: prepared.io, buffers: &buffers };
        let target = opener(&request).map_err(|source| RunnerError::Open { source })?;
        let member = members.into_iter().next().expect("one address has one member");
        let buf = buffers.into_iter().next();
        Ok(Self { prepared, member, target, buf, stop: stop.clone(), began: Instant::now() })
    }

    /// Returns its usable bytes.
    pub fn span_bytes(&self) -> u64 {
        self.member.span_bytes()
    }

    /// Returns the unit of offsets and sizes, bytes.
    pub fn unit_bytes(&self) -> u32 {
        self.target.geometry().block_bytes.max(self.member.block_bytes())
    }

    /// Returns the largest read, bytes.
    pub fn read_bytes_max(&self) -> u32 {
        let most = self.member.transfer_bytes_max().unwrap_or(u64::from(READ_MAX));
        u32::try_from(most).map_or(READ_MAX, |most| most.min(READ_MAX))
    }

    /// Reads a place, and returns when it has come back; `None` where a stop was requested and it has not.
    ///
    /// # Errors
    /// Where the target is lost.
    pub fn read(&mut self, offset_bytes: u64, size_bytes: u32) -> Result<Option<Reading<'_>>, RunnerError> {
        let Some(buf) = self.buf.take() else { return Ok(None) };
        let op = Op { tag: 0, member: 0, kind: OpKind::Read, size_bytes, offset_bytes, buf };
        let mut done = Vec::with_capacity(1);
        let issued = Instant::now();
        if self.target.submit(op).is_err() {
            return Err(lost(TargetLost::Ring("the queue is full with one read".to_owned())));
        }
        let mut asked = None;
        while done.is_empty() {
            self.target.poll(Wait::AtMost(LOOK_EVERY), &mut done).map_err(lost)?;
            if self.stop.is_set() && asked.get_or_insert_with(Instant::now).elapsed() > STOP_LIMIT {
                return Ok(None);
            }
        }
        let latency_ns = nanos(issued.elapsed());
        let at_ns = nanos(issued.duration_since(self.began));
        let Some(completion) = done.pop() else { return Ok(None) };
        let has_content = !matches!(self.member, Member::Simulated(_) | Member::Null { .. });
        let buf: &IoBuf = self.buf.insert(completion.buf);
        let data = match completion.outcome {
            Ok(bytes) if bytes == size_bytes => Ok(has_content.then(|| &buf[..size_bytes as usize])),
            // A short read is a failure: the target ends where it said that it goes on.
            Ok(_) => Err(IoFailure { errno: SHORT_READ }),
            Err(failure) => Err(failure),
        };
        Ok(Some(Reading { at_ns, latency_ns, data }))
    }

    /// Closes the target.
    ///
    /// # Errors
    /// Where that fails.
    pub fn close(self) -> Result<Left, RunnerError> {
        let Self { prepared, target, stop, .. } = self;
        drop(target);
        let mut failures = Vec::new();
        let left = close(prepared, &stop, false, &mut failures);
        failures.pop().map_or(Ok(left), Err)
    }
}

/// EIO: what the kernel reports of a device that ends early.
const SHORT_READ: i32 = 5;

fn plan(size: Option<Bytes>) -> Plan {
    let file = PlanFile::parse("reads", PLAN).expect("a plan file");
    let mut overrides = Overrides::default();
    overrides.size = size.map(SizeSpec::Bytes);
    file.resolve(&overrides).expect("a plan")
}

fn lost(source: TargetLost) -> RunnerError {
    RunnerError::Lost { source }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

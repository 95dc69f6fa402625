//! Loads at a rate: the open form of an array at a corner of its ranges, rate after rate, its intervals, and the
//! simulation beside it.
//!
//! Who looks for a rate or for a number of devices asks hundreds of times: an array is resolved once, and each rate is
//! then tens of microseconds. The simulation is asked once or twice, and what it says is carried over as a factor on
//! the open form ([`Paced::factor`]), which hardly changes from one rate or number of devices to the next.

use crate::array::Array;
use crate::closed::{Outcome, closed_form};
use crate::demand::{ResourceKind, demand_table};
use crate::model_error::{Speed, factors};
use crate::open::{Open, open_form};
use crate::predict::{resolve_at, simulate_seeds};
use crate::quantity::{Bounds, Corner};
use crate::resolved::{Class, ResolvedArray, Tables, issued};
use crate::workload::{Arrivals, LoadModel, Workload};

/// An array at a corner, under a load whose rate is asked for.
#[derive(Debug, Clone)]
pub struct Paced {
    resolved: ResolvedArray,
    classes: Vec<Class>,
    /// Where writes pass a cache that is full: from which rate on, I/Os per second, and the array then.
    through: Option<(f64, ResolvedArray, Vec<Class>)>,
    /// The load as it was asked for, and as the hosts issue it.
    asked: Workload,
    issued: Workload,
}

impl Paced {
    /// Resolves an array for a load; its own pace does not matter.
    #[must_use]
    pub fn new(array: &Array, corner: Corner, workload: &Workload, tables: &mut Tables) -> Self {
        let issued = issued(array, workload);
        let (resolved, classes) = resolve_at(array, corner, &issued, tables);
        let is_buffered = classes.iter().any(|c| c.io_cost.buffered);
        let through = is_buffered.then(|| {
            let closed = Workload { pace: LoadModel::Closed, ..issued.clone() };
            let drained = closed_form(&resolved, &classes, &closed).iops;
            let through = resolved.clone().written_through();
            let classes = through.classes(&issued);
            (drained, through, classes)
        });
        Self { resolved, classes, through, asked: workload.clone(), issued }
    }

    /// The array at a rate, and the classes of the load on it.
    fn way(&self, per_s: f64) -> (&ResolvedArray, &[Class]) {
        match &self.through {
            Some((drained, through, classes)) if per_s > *drained => (through, classes),
            _ => (&self.resolved, &self.classes),
        }
    }

    fn at(&self, per_s: f64) -> Workload {
        let pace = LoadModel::Rate { per_s, arrivals: Arrivals::Poisson };
        Workload { pace, ..self.issued.clone() }
    }

    /// What I/Os take at a rate; `None` where something cannot keep up.
    #[must_use]
    pub fn open(&self, per_s: f64) -> Option<Open> {
        let (resolved, classes) = self.way(per_s);
        open_form(resolved, classes, &self.at(per_s))
    }

    /// The same by the simulation of so many I/Os.
    #[must_use]
    pub fn simulated(&self, per_s: f64, ios: u64) -> Open {
        let outcome = Outcome { iops: per_s, mean_ms: 0.0, in_flight: 0.0, absorbing: None };
        let run = simulate_seeds(self.way(per_s).0, &self.at(per_s), &outcome, 1, ios);
        Open { mean_ms: run.mean_ms.value, p99_ms: run.p99_ms.value }
    }

    /// The simulation over the open form; 1 where either takes no time, as streams that disks have read ahead.
    #[must_use]
    pub fn factor(&self, per_s: f64, ios: u64) -> Option<Open> {
        let (open, simulated) = (self.open(per_s)?, self.simulated(per_s, ios));
        let over = |of: fn(&Open) -> f64| {
            let (simulated, open) = (of(&simulated), of(&open));
            if simulated > 0.0 && open > 0.0 { simulated / open } else { 1.0 }
        };
        Some(Open { mean_ms: over(|o| o.mean_ms), p99_ms: over(|o| o.p99_ms) })
    }

    /// The array at the slow end of its ranges, and how fast the slowest of those like it do everything, over what the
    /// model says of it.
    #[must_use]
    pub fn slow(&self, array: &Array, tables: &mut Tables) -> (Self, f64) {
        (Self::new(array, Corner::Slow, &self.asked, tables), self.speeds()[0].0)
    }

    /// How fast the slowest and the fastest of arrays like this one do everything, over what the model says.
    fn speeds(&self) -> [Speed; 2] {
        let table = demand_table(&self.resolved, &self.classes, self.issued.total_outstanding());
        let limit = table.first().map_or(ResourceKind::Latency, |first| first.kind);
        let error = factors(&self.resolved, &self.classes, limit);
        [Speed(error.low), Speed(error.high)]
    }
}

/// What I/Os take at a rate with its intervals: at both ends of all ranges, on arrays slower and faster by the error
/// of the model, whose upper end is infinite where the slow one cannot keep up. `None` where the array itself cannot.
#[must_use]
pub fn latencies(
    array: &Array,
    nominal: &Paced,
    per_s: f64,
    factor: Open,
    tables: &mut Tables,
) -> Option<[Bounds; 2]> {
    let own = nominal.open(per_s)?;
    let [slow, fast] = nominal.speeds();
    let mut end = |corner, speed: Speed| {
        let open = Paced::new(array, corner, &nominal.asked, tables).open(per_s / speed.0)?;
        Some(Open { mean_ms: speed.seen_ms(open.mean_ms), p99_ms: speed.seen_ms(open.p99_ms) })
    };
    let (slow, fast) = (end(Corner::Slow, slow), end(Corner::Fast, fast));
    let over = |of: fn(&Open) -> f64| {
        let value = of(&own);
        let lo = fast.as_ref().map_or(value, of).min(value);
        let hi = slow.as_ref().map_or(f64::INFINITY, of).max(value);
        Bounds { lo, value, hi }.scaled(of(&factor))
    };
    Some([over(|open| open.mean_ms), over(|open| open.p99_ms)])
}

//! Whom the tester waits for where it is ready to run and has no CPU: others, its own threads, or the limit of a
//! control group.

use assay_analysis::StepSummary;
use assay_record::RunHeader;

/// Where the time goes in which the tester could have run, as shares of the CPU time that its workers can use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Waits {
    /// Others have the CPU. `None` where nobody counts how long the workers wait.
    pub(crate) for_others: Option<f64>,
    /// A control group stops the tester. `None` where no group counts that.
    pub(crate) for_quota: Option<f64>,
}

/// What was counted in the window of a step, in CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    /// Threads that issue I/O.
    workers: f64,
    /// CPUs that they may use.
    cpus: f64,
    /// What the tester uses.
    running: f64,
    /// Workers that are ready to run and do not.
    waiting: Option<f64>,
    /// What a control group withholds.
    stopped: Option<f64>,
    /// What others have of these CPUs.
    others: Option<f64>,
}

impl Waits {
    /// Returns the waits of a step. Helpers of the load (a server on this host, threads of the kernel) have CPU time of
    /// others, too, and are none: where there are some (`has_helpers`), others are what ran before the load began.
    pub(crate) fn of(header: &RunHeader, step: &StepSummary, has_helpers: bool) -> Self {
        let Some(used) = step.cpu.used.filter(|_| step.seconds > 0.0) else { return Self::default() };
        let in_cpus = |ns: u64| ns as f64 / (step.seconds * 1e9);
        let cpus = f64::from(header.host.cpus.max(1));
        let before = header.diagnosis.as_ref().and_then(|facts| facts.others_busy);
        let others = match (used.others_ns.map(in_cpus), before.map(|busy| busy * cpus)) {
            (Some(others), Some(before)) if has_helpers => Some(others.min(before)),
            // Runs of older versions do not count others in the window.
            (others, before) => others.or(before),
        };
        let workers = step.workers.len().max(1) as f64;
        Counted {
            workers,
            cpus,
            running: in_cpus(used.tester_ns),
            waiting: used.workers_waited.map(|share| share * workers),
            stopped: used.stopped_ns.map(in_cpus),
            others,
        }
        .split()
    }
}

impl Counted {
    fn split(self) -> Waits {
        let can_use = self.workers.min(self.cpus);
        let most = self.waiting.unwrap_or(can_use);
        let for_quota = self.stopped.map(|stopped| stopped.min(most));
        let for_others = self.waiting.zip(self.others).map(|(waiting, others)| {
            let left = waiting - for_quota.unwrap_or(0.0);
            // More workers than CPUs wait for each other, whatever others do and a control group withholds.
            let for_each_other = (self.running + waiting - self.cpus).max(0.0);
            // Others are on the CPUs of the workers as often as on any.
            let on_theirs = others * can_use / self.cpus;
            (left - for_each_other).max(0.0).min(on_theirs)
        });
        let share = |of: Option<f64>| of.map(|cpus| (cpus / can_use).min(1.0));
        Waits { for_others: share(for_others), for_quota: share(for_quota) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One worker that nobody disturbs, on a host with eight CPUs.
    const CALM: Counted = Counted {
        workers: 1.0,
        cpus: 8.0,
        running: 0.4,
        waiting: Some(0.01),
        stopped: None,
        others: Some(0.1),
    };

    fn for_others(of: Counted) -> f64 {
        of.split().for_others.unwrap()
    }

    #[test]
    fn a_worker_waits_for_others_as_long_as_they_have_its_cpu() {
        assert!(for_others(CALM) < 0.02);
        let contended = Counted { running: 0.3, waiting: Some(0.5), others: Some(6.0), ..CALM };
        assert!((for_others(contended) - 0.5).abs() < 1e-9);
        // Others that use a twentieth of many CPUs have this worker's as often.
        let of_many = Counted { cpus: 64.0, waiting: Some(0.3), others: Some(3.2), ..CALM };
        assert!(for_others(of_many) < 0.06, "{}", for_others(of_many));
        // What wakes up finds others only where there are some.
        let alone = Counted { waiting: Some(0.3), others: Some(0.0), ..CALM };
        assert!(for_others(alone) < 1e-9);
    }

    /// 64 workers on eight CPUs of which others wanted a few: "CPU contention", as the workers wait nearly always.
    #[test]
    fn workers_that_wait_for_each_other_wait_for_nobody_else() {
        let crowd = Counted { workers: 64.0, running: 7.5, waiting: Some(56.5), others: Some(0.5), ..CALM };
        assert!(for_others(crowd) < 0.1, "{}", for_others(crowd));
        // However much others had before, by which runs of older versions go.
        let loose = Counted { others: Some(3.0), ..crowd };
        assert!((for_others(loose) - 0.5 / 8.0).abs() < 1e-9, "{}", for_others(loose));
        // As many threads of others have half of the CPUs, without which it would do twice as much.
        let halved = Counted { running: 4.0, waiting: Some(60.0), others: Some(4.0), ..crowd };
        assert!((for_others(halved) - 0.5).abs() < 1e-9, "{}", for_others(halved));
    }

    /// Another program on the few CPUs that the tester was bound to was 6 % of a host with 64.
    #[test]
    fn others_on_the_cpus_of_the_tester_count_however_many_more_there_are() {
        let bound =
            Counted { workers: 4.0, cpus: 4.0, running: 2.0, waiting: Some(2.0), others: Some(2.0), ..CALM };
        assert!((for_others(bound) - 0.5).abs() < 1e-9);
    }

    /// A container with a CPU quota on a busy node had "CPU contention", with the advice to stop other programs.
    #[test]
    fn a_tester_that_its_control_group_stops_does_not_wait_for_others() {
        let quota =
            Counted { running: 0.1, waiting: Some(0.9), stopped: Some(0.88), others: Some(4.0), ..CALM };
        let waits = quota.split();
        assert!(waits.for_others.unwrap() < 0.03, "{waits:?}");
        assert!((waits.for_quota.unwrap() - 0.88).abs() < 1e-9);
        // A crowd at its quota, on a host whose other CPUs others use: they take what it may not.
        let crowd = Counted { workers: 16.0, cpus: 4.0, running: 1.0, waiting: Some(15.0), ..quota };
        let crowd = Counted { stopped: Some(3.0), others: Some(3.0), ..crowd }.split();
        assert!(crowd.for_others.unwrap() < 1e-9, "{crowd:?}");
        // Both at once.
        let both = Counted { waiting: Some(0.8), stopped: Some(0.3), ..quota }.split();
        assert!((both.for_others.unwrap() - 0.5).abs() < 1e-9, "{both:?}");
    }

    #[test]
    fn what_nobody_counts_is_not_known() {
        assert_eq!(Counted { waiting: None, ..CALM }.split(), Waits::default());
        let quota = Counted { waiting: None, stopped: Some(0.8), ..CALM }.split();
        assert_eq!((quota.for_others, quota.for_quota), (None, Some(0.8)));
    }
}

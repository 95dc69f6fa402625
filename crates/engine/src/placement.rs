//! Selects the CPU of each worker of a step.
//!
//! A worker whose I/O completes on its own CPU is woken by the interrupt itself; on another CPU it is woken by an
//! inter-processor message, which at queue depth 1 is part of every latency. Workers are therefore placed on the CPUs
//! that their device interrupts, as long as there are enough. If these are unknown, the scheduler decides.

use assay_host::DeviceInterrupts;
use assay_record::{PlacementReason, WorkerPlacement};

/// Where the I/O of a target completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// On these CPUs.
    On(DeviceInterrupts),
    /// In the worker's own calls.
    None,
    /// Unknown: a server, a loop device, a controller without message-signalled interrupts.
    Unknown,
}

impl Interrupts {
    /// Examines a device, given it and every device below it.
    pub(crate) fn of(stack: &[String]) -> Self {
        assay_host::interrupts_of(stack).map_or(Self::Unknown, Self::On)
    }
}

/// The workers of a job, for placement.
pub(crate) struct JobWorkers<'s> {
    pub(crate) workers: u32,
    pub(crate) interrupts: &'s Interrupts,
}

/// Returns the placement of the workers of all jobs, in the order of the jobs. `allowed` are the CPUs of this process,
/// `asked` those given by the user.
pub(crate) fn place(jobs: &[JobWorkers<'_>], allowed: &[usize], asked: &[usize]) -> Vec<WorkerPlacement> {
    let mut places: Vec<WorkerPlacement> = (0..)
        .zip(jobs)
        .flat_map(|(job, of)| (0..of.workers).map(move |worker| (job, worker)))
        .map(|(job, worker)| WorkerPlacement {
            job,
            worker,
            cpu: None,
            reason: PlacementReason::Scheduler,
            device: None,
        })
        .collect();
    if !asked.is_empty() {
        for (place, cpu) in places.iter_mut().zip(asked.iter().cycle()) {
            (place.cpu, place.reason) = (number(*cpu), PlacementReason::Asked);
        }
        return places;
    }
    // With more workers than CPUs the scheduler distributes better than a fixed choice.
    if places.len() > allowed.len() {
        return places;
    }
    let mut free = allowed.to_vec();
    // Workers with a preferred CPU come first.
    for place in &mut places {
        let Interrupts::On(on) = jobs[place.job as usize].interrupts else { continue };
        let Some(index) = free.iter().position(|cpu| on.cpus.contains(cpu)) else { continue };
        (place.cpu, place.reason) = (number(free.remove(index)), PlacementReason::Interrupt);
        place.device = Some(on.device.clone());
    }
    for place in places.iter_mut().filter(|place| place.cpu.is_none()) {
        if *jobs[place.job as usize].interrupts != Interrupts::Unknown {
            (place.cpu, place.reason) = (number(free.remove(0)), PlacementReason::OwnCpu);
        }
    }
    places
}

fn number(cpu: usize) -> Option<u32> {
    u32::try_from(cpu).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(cpus: &[usize]) -> Interrupts {
        Interrupts::On(DeviceInterrupts { device: "vda".into(), cpus: cpus.to_vec() })
    }

    fn placed(
        jobs: &[(u32, Interrupts)],
        allowed: &[usize],
        asked: &[usize],
    ) -> Vec<(Option<u32>, PlacementReason)> {
        let jobs: Vec<_> =
            jobs.iter().map(|(workers, interrupts)| JobWorkers { workers: *workers, interrupts }).collect();
        place(&jobs, allowed, asked).into_iter().map(|of| (of.cpu, of.reason)).collect()
    }

    use PlacementReason::{Asked, Interrupt, OwnCpu, Scheduler};

    #[test]
    fn a_worker_runs_on_a_cpu_that_its_device_interrupts() {
        assert_eq!(placed(&[(1, on(&[1]))], &[0, 1], &[]), [(Some(1), Interrupt)]);
        assert_eq!(placed(&[(2, on(&[1]))], &[0, 1], &[]), [(Some(1), Interrupt), (Some(0), OwnCpu)]);
        assert_eq!(placed(&[(1, on(&[5]))], &[0, 1], &[]), [(Some(0), OwnCpu)], "CPU 5 is not ours");
    }

    #[test]
    fn a_worker_without_a_preferred_cpu_leaves_it_to_those_that_have_one() {
        let jobs = [(1, Interrupts::None), (1, on(&[0]))];
        assert_eq!(placed(&jobs, &[0, 1], &[]), [(Some(1), OwnCpu), (Some(0), Interrupt)]);
    }

    #[test]
    fn the_scheduler_places_workers_without_known_cpus_or_beyond_their_number() {
        assert_eq!(placed(&[(1, Interrupts::Unknown)], &[0, 1], &[]), [(None, Scheduler)]);
        assert_eq!(placed(&[(3, on(&[1]))], &[0, 1], &[]), [(None, Scheduler); 3]);
    }

    #[test]
    fn named_cpus_are_taken_in_turn_whatever_is_known() {
        let jobs = [(2, on(&[1])), (1, Interrupts::Unknown)];
        assert_eq!(
            placed(&jobs, &[0, 1, 2, 3], &[3, 2]),
            [(Some(3), Asked), (Some(2), Asked), (Some(3), Asked)]
        );
    }
}

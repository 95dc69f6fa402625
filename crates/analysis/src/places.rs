//! Where the slow I/Os of a run lie: on one member of a stripe, or in one region.

use assay_record::{PlaceSample, RunHeader, StepId};
use assay_spec::units::Bytes;
use assay_spec::{Access, Job, Step};
use assay_surface::{LoadPlaces, SlowRegion, places_of_load};

use crate::summary::{RunSummary, StepSummary};

/// Most I/Os that are looked at: the steps share them evenly.
const IOS_MAX: usize = 8192;
/// Under the load a queue makes a slow place slower by this, or it is not worth a word.
const MORE_UNDER_LOAD: f64 = 1.3;

/// The queues of an even stripe forget after about the square of the I/Os that wait in them. In a window of fewer such
/// memories one member may have a long queue all the while, and nothing tells it from a slow one.
const MEMORIES_MIN: f64 = 16.0;

/// Offset in bytes and service time in ns of I/Os in the order of completion.
type Series = Vec<(u64, u64)>;

/// Returns what the places of a run's I/Os on a target say, over all steps in which they were random, and of the same
/// size and window as in the first of these; `None` where they are too few.
pub fn places(header: &RunHeader, summary: &RunSummary, target: usize) -> Option<LoadPlaces> {
    let mut first = None::<&Job>;
    let (mut series, mut alone) = (Vec::<Series>::new(), Series::new());
    for step in &summary.steps {
        let Some(plan) = plan_of(header, step.id) else { continue };
        for sample in &step.places {
            let Some(job) = plan
                .jobs
                .get(sample.job as usize)
                .filter(|job| is_random(job) && is_long_step((header, summary), step, plan, (job, sample)))
            else {
                continue;
            };
            let of_target = of_target(job, sample, target);
            if !of_target.is_empty() && is_alike(first.get_or_insert(job), job) {
                if (plan.jobs.len(), job.workers, job.outstanding) == (1, 1, 1) && step.hosts.len() < 2 {
                    alone.extend(&of_target);
                }
                series.push(of_target);
            }
        }
    }
    let all: usize = series.iter().map(Vec::len).sum();
    let every = all.div_ceil(IOS_MAX).max(1);
    let thinned: Vec<Series> =
        series.into_iter().map(|ios| ios.into_iter().step_by(every).collect()).collect();
    Some(places_of_load(&thinned)?.with_alone(&alone))
}

fn plan_of(header: &RunHeader, id: StepId) -> Option<&Step> {
    header.plan.tests.get(id.test as usize)?.steps.get(id.step as usize)
}

/// Whether each I/O is as likely at any place as at any other: what comes next then says nothing of the place.
pub(crate) fn is_random(job: &Job) -> bool {
    let is_anywhere = |line: &Access| {
        line.random >= 100.0 && line.sequence <= 1 && line.distribution.is_uniform() && !line.once
    };
    job.mix.iter().all(is_anywhere)
}

/// Whether a step is long enough for its sample to say something: by the queues of its job, or by those of all hosts,
/// which may share what they measure.
fn is_long_step(
    (header, summary): (&RunHeader, &RunSummary),
    step: &StepSummary,
    plan: &Step,
    (job, sample): (&Job, &PlaceSample),
) -> bool {
    let (ios, jobs) = match step.hosts.len() {
        0 | 1 => (f64::from(sample.every) * sample.ios.len() as f64, std::slice::from_ref(job)),
        _ => (step.total.ops as f64, plan.jobs.as_slice()),
    };
    let mean_ns = step.total.service.mean_ns();
    is_long(ios, waiting(in_flight(jobs, step.total.iops, mean_ns), mean_ns, alone_ns(header, summary, job)))
}

/// I/Os that were in flight on average: those that the jobs may have, or fewer where they kept a rate (Little, 1961).
fn in_flight(jobs: &[Job], iops: f64, mean_ns: Option<f64>) -> f64 {
    let most: f64 = jobs.iter().map(|job| f64::from(job.workers) * f64::from(job.outstanding)).sum();
    mean_ns.map_or(most, |ns| (iops * ns / 1e9).clamp(1.0, most.max(1.0)))
}

/// I/Os that wait in a queue on average: those in flight but for those that are served meanwhile (Little, 1961). What
/// takes no longer than one that is alone waits for nobody, as on a device that serves any number at once.
fn waiting(in_flight: f64, mean_ns: Option<f64>, alone_ns: Option<f64>) -> f64 {
    let served = alone_ns.zip(mean_ns).map_or(0.0, |(alone, mean)| (alone / mean.max(1.0)).min(1.0));
    (in_flight * (1.0 - served)).max(1.0)
}

/// Mean time of an I/O like those of a job that is alone, ns; `None` where no step had such ones one at a time.
fn alone_ns(header: &RunHeader, summary: &RunSummary, like: &Job) -> Option<f64> {
    let is_alone = |job: &Job| {
        job.workers == 1
            && job.outstanding == 1
            && is_alike(job, like)
            && (&job.mix, &job.targets) == (&like.mix, &like.targets)
    };
    let one = summary.steps.iter().find(|step| {
        plan_of(header, step.id).is_some_and(|plan| plan.jobs.len() == 1 && is_alone(&plan.jobs[0]))
    });
    one?.total.service.mean_ns()
}

/// Whether so many I/Os are long against the memory of the queues in which so many wait.
fn is_long(ios: f64, waiting: f64) -> bool {
    ios >= MEMORIES_MIN * waiting.powi(2)
}

fn is_alike(a: &Job, b: &Job) -> bool {
    let size = |job: &Job| job.mix.first().map(|line| line.size);
    (size(a), a.span, a.window) == (size(b), b.span, b.window)
}

fn of_target(job: &Job, sample: &PlaceSample, target: usize) -> Series {
    let is_of = |member: u32| match job.targets.as_slice() {
        [] => member as usize == target,
        some => some.get(member as usize).is_some_and(|index| *index as usize == target),
    };
    sample.ios.iter().filter(|io| is_of(io.0)).map(|io| (io.1, io.2)).collect()
}

/// Returns which members of a stripe are slow, a clause.
pub fn member_says(places: &LoadPlaces) -> Option<String> {
    let stripe = places.stripe.as_ref()?;
    let mut numbers: Vec<u32> = stripe.slow.iter().map(|slow| slow.member).collect();
    numbers.sort_unstable();
    let (last, others) = numbers.split_last()?;
    let others: Vec<String> = others.iter().map(u32::to_string).collect();
    let (which, take) = match others.as_slice() {
        [] => (format!("member {last}"), "takes"),
        some => (format!("members {} and {last}", some.join(", ")), "take up to"),
    };
    let (of, chunk) = (stripe.members, Bytes(stripe.chunk_bytes).rounded());
    Some(format!("{which} of a stripe of {of} with chunks of {chunk} {take} {}", as_long(places)?))
}

/// The same of a file: its offsets say which chunks are slow, and not on which member they lie.
pub fn chunks_say(places: &LoadPlaces) -> Option<String> {
    let stripe = places.stripe.as_ref()?;
    let (which, take) = match stripe.slow.len() {
        0 | 1 => ("one".to_owned(), "takes"),
        some => (some.to_string(), "take up to"),
    };
    let (of, chunk) = (stripe.members, Bytes(stripe.chunk_bytes).rounded());
    Some(format!("{which} in {of} chunks of {chunk} {take} {}", as_long(places)?))
}

/// How many times as long a slow member takes: an I/O that is alone, and beside it one that waits under the load.
fn as_long(places: &LoadPlaces) -> Option<String> {
    let under_load = places.stripe.as_ref()?.slow.first()?.times;
    Some(match places.times_alone {
        None => format!("{under_load:.1} times as long as the others under the load"),
        Some(alone) if waits_there(places) => {
            format!("{alone:.1} times as long as the others ({under_load:.1} times under the load)")
        }
        Some(alone) => format!("{alone:.1} times as long as the others"),
    })
}

/// Whether I/Os queue at the slowest member, as far as is known.
pub(crate) fn waits_there(places: &LoadPlaces) -> bool {
    let under_load =
        places.stripe.as_ref().and_then(|stripe| stripe.slow.first()).map_or(1.0, |slow| slow.times);
    places.times_alone.is_none_or(|alone| under_load > alone * MORE_UNDER_LOAD)
}

/// Returns which region is slow, a clause.
pub fn region_says(region: &SlowRegion) -> String {
    let (from, to) = (Bytes(region.from_bytes).rounded(), Bytes(region.to_bytes).rounded());
    format!("{from} to {to} takes {:.1} times as long as the rest", region.times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_surface::{SlowMember, Stripe};

    /// A stripe of eight with one member five times slower, 1,600 I/Os per second with 32 in flight, was no stripe: no
    /// window was long enough for its queues, and that at half the rate counted as deep as the others.
    #[test]
    fn a_window_is_long_by_the_ios_that_were_in_flight_and_not_by_those_that_may_be() {
        let job = Job { outstanding: 32, ..Job::default() };
        let is = |iops: f64, mean_ms: f64| {
            is_long(1280.0, in_flight(std::slice::from_ref(&job), iops, Some(mean_ms * 1e6)))
        };
        assert!(!is(1600.0, 20.0));
        assert!(is(1024.0, 2.2));
        assert_eq!(in_flight(std::slice::from_ref(&job), 1600.0, None), 32.0);
        // Eight hosts fill the queues of what they share eight times as deep.
        let hosts = vec![job; 8];
        let all = in_flight(&hosts, 20_000.0, Some(12.8e6));
        assert!((all - 256.0).abs() < 1e-9 && !is_long(160_000.0, all) && is_long(1_100_000.0, all));
    }

    /// Members that serve any number of I/Os at once have no queues: their windows were too short by the square of
    /// what was in flight.
    #[test]
    fn what_is_served_waits_in_no_queue() {
        let ms = |ms: f64| Some(ms * 1e6);
        assert_eq!(waiting(16.0, ms(12.0), None), 16.0);
        assert_eq!(waiting(16.0, ms(12.0), ms(9.0)), 4.0);
        assert_eq!(waiting(16.0, ms(12.0), ms(12.5)), 1.0);
        assert!(waiting(16.0, ms(64.0), ms(4.0)) > 14.9);
    }

    #[test]
    fn a_member_is_named_on_a_device_and_chunks_in_a_file() {
        let of = |slow: &[(u32, f64)], times_alone: Option<f64>| {
            let slow =
                slow.iter().map(|(member, times)| SlowMember { member: *member, times: *times }).collect();
            let stripe = Some(Stripe { chunk_bytes: 65_536, members: 8, slow, chance: 1e-9 });
            LoadPlaces { ios: 1024, stripe, region: None, times_alone }
        };
        let of_stripe = "of a stripe of 8 with chunks of 64 KiB";
        let one = of(&[(3, 5.06)], None);
        let long = "5.1 times as long as the others under the load";
        assert_eq!(member_says(&one).unwrap(), format!("member 3 {of_stripe} takes {long}"));
        assert_eq!(chunks_say(&one).unwrap(), format!("one in 8 chunks of 64 KiB takes {long}"));
        // A queue makes the slow member look slower than it is.
        let says =
            format!("member 3 {of_stripe} takes 4.9 times as long as the others (31.0 times under the load)");
        assert_eq!(member_says(&of(&[(3, 31.0)], Some(4.93))).unwrap(), says);
        let two = of(&[(6, 5.2), (3, 4.8)], Some(5.0));
        let says = format!("members 3 and 6 {of_stripe} take up to 5.0 times as long as the others");
        assert_eq!(member_says(&two).unwrap(), says);
        assert!(chunks_say(&two).unwrap().starts_with("2 in 8 chunks of 64 KiB take up to 5.0 times"));
        let region = SlowRegion { from_bytes: 1 << 30, to_bytes: 3 << 29, times: 40.0, chance: 0.0 };
        assert_eq!(region_says(&region), "1 GiB to 1.5 GiB takes 40.0 times as long as the rest");
    }
}

//! Idle virtual CPUs: when they are kept awake, and what is stolen from a load then.

use assay_record::{HostFacts, StepCpu};
use assay_spec::{Plan, Step};

/// With so many I/Os in flight or fewer, CPUs that wake up late are a part of the load itself.
const FEW: u32 = 4;

/// Whether idle CPUs of this host would be a part of the experiments with few I/Os in flight, and not of the load, the
/// first test: those of a virtual machine wake up late, and a load with a queue leaves them no time to idle. Under a
/// CPU quota what keeps them awake would use it up, and the load would stand still.
pub fn is_to_keep_awake(plan: &Plan, host: &HostFacts) -> bool {
    let of = |step: &Step| {
        let jobs = step.jobs.iter().map(|job| job.workers.saturating_mul(job.outstanding));
        jobs.fold(0, u32::saturating_add)
    };
    // Steps run one after another, and jobs side by side.
    let in_flight = plan.tests.first().and_then(|test| test.steps.iter().map(of).max()).unwrap_or(0);
    let cpus = f64::from(host.cpus_online.max(host.cpus));
    let has_quota = host.cgroup_cpus.is_some_and(|quota| quota < cpus);
    in_flight > FEW && host.hypervisor.is_some() && !has_quota
}

/// Share of the CPU time that the hypervisor takes from the load. CPUs that are kept awake want time always and are
/// stolen from always; the load misses the share of it in which it wants to run.
pub(crate) fn stolen_from_load(used: &StepCpu, kept_awake: bool) -> f64 {
    let wanted = (used.host_busy / (1.0 - used.steal).max(0.01)).min(1.0);
    used.steal * if kept_awake { wanted } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use assay_spec::PlanFile;

    use super::*;

    #[test]
    fn cpus_are_kept_awake_for_a_queue_of_all_jobs_where_no_quota_is_used_up() {
        let plan = |jobs: &str| {
            let text =
                format!("[[test]]\nname = \"load\"\nrun = \"1s\"\naccess = [{{ size = \"4KiB\" }}]\n{jobs}");
            PlanFile::parse("test", &text).unwrap().resolve(&assay_spec::Overrides::default()).unwrap()
        };
        let host = |quota: Option<f64>| HostFacts {
            cpus: 2,
            cpus_online: 4,
            cgroup_cpus: quota,
            hypervisor: Some("kvm".to_owned()),
            ..HostFacts::default()
        };
        let (one, two) = ("outstanding = 4\n", "outstanding = 2\n[[test.job]]\nworkers = 2\n[[test.job]]\n");
        assert!(!is_to_keep_awake(&plan(one), &host(None)));
        assert!(is_to_keep_awake(&plan(two), &host(None)));
        assert!(is_to_keep_awake(&plan(two), &host(Some(4.0))));
        assert!(!is_to_keep_awake(&plan(two), &host(Some(3.0))));
        assert!(!is_to_keep_awake(&plan(two), &HostFacts { hypervisor: None, ..host(None) }));
        // Steps of a sweep are no jobs side by side.
        assert!(!is_to_keep_awake(&plan("sweep = { outstanding = [1, 2, 4] }\n"), &host(None)));
        // The second test is the load as writes.
        let mut twice = plan(one);
        twice.tests.extend(twice.tests.clone());
        assert!(!is_to_keep_awake(&twice, &host(None)));
    }

    #[test]
    fn what_is_stolen_from_cpus_that_are_only_kept_awake_is_not_taken_from_the_load() {
        let used = |host_busy, steal| StepCpu { host_busy, steal, ..StepCpu::default() };
        assert!((stolen_from_load(&used(0.05, 0.5), false) - 0.5).abs() < 1e-9);
        assert!((stolen_from_load(&used(0.05, 0.5), true) - 0.05).abs() < 1e-9);
        // A load that wants every CPU all the time.
        assert!((stolen_from_load(&used(0.5, 0.5), true) - 0.5).abs() < 1e-9);
    }
}

//! CPU use of a step.

use serde::{Deserialize, Serialize};

/// CPU use over a measured window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StepCpu {
    /// Share of CPU time in use on the host, mean over its CPUs. In [0, 1].
    pub host_busy: f64,
    /// The same for the busiest CPU. In [0, 1].
    pub host_busy_max: f64,
    /// Share of CPU time that the hypervisor gave to others. In [0, 1].
    pub steal: f64,
    /// CPU time of the tester, ns.
    pub tester_ns: u64,
    /// Share of it used by the kernel on the tester's behalf, in [0, 1]; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_system: Option<f64>,
    /// Share of the measured time in which a worker was ready to run and had no CPU, mean over the workers, in [0, 1];
    /// `None` if unknown. A worker that its control group holds back waits, too; one whose CPU the hypervisor took
    /// does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_waited: Option<f64>,
    /// CPU time that others had of the CPUs that the tester may use, ns; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns: Option<u64>,
    /// Time for which a control group stopped the tester for its limit on CPU time, of all its CPUs together, ns;
    /// `None` where no group of the tester counts that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
}

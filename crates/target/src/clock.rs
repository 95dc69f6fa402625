//! What the kernel knows of the machine's wall clock.

/// The wall clock as the kernel knows it from a program that steers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelClock {
    /// Whether the clock follows another one.
    pub is_synchronized: bool,
    /// Largest error of it, µs.
    pub error_max_us: u64,
}

/// Asks the kernel, and changes nothing; `None` where it does not answer.
pub fn kernel_clock() -> Option<KernelClock> {
    // SAFETY: a timex is numbers, for which all zeros is a value.
    // JUSTIFICATION: neither the standard library nor rustix has this request, and no crate asks it without changing
    // the clock.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to the timex alone; without modes it only reads the clock.
    // JUSTIFICATION: as above.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    (answer >= 0).then(|| KernelClock {
        is_synchronized: state.status & libc::STA_UNSYNC == 0,
        error_max_us: u64::try_from(state.maxerror).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every Linux answers, also in a container; a clock that nobody steers has an error of seconds.
    #[test]
    fn the_kernel_answers_and_a_synchronized_clock_has_a_small_error() {
        let clock = kernel_clock().unwrap();
        assert!(!clock.is_synchronized || clock.error_max_us < 60_000_000, "{clock:?}");
    }
}

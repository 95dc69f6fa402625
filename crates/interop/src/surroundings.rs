//! What a file of another tool asks of the machine that it is on.

/// What a job file asks of the machine it is on.
pub struct Surroundings<'s> {
    /// Returns the text of a file that is included, or why it cannot be read.
    pub include: &'s dyn Fn(&str) -> Result<String, String>,
    /// Returns the value of an environment variable, or of `$pagesize`, `$mb_memory` and `$ncpus`, which fio knows.
    pub variable: &'s dyn Fn(&str) -> Option<String>,
}

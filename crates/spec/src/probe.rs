//! The plan behind `assay probe-cache`: reads over growing working sets, and writes where they are allowed.

use crate::units::{Bytes, MIB, Nanos, SizeSpec};

/// Name of the plan, by which its runs are known.
pub const NAME: &str = "Cache probe";

/// The smallest working set of a target of half a GiB or more, bytes.
pub(crate) const WORKING_SET_MIN: u64 = 64 * MIB;
/// Most working sets: 64 MiB, doubled this often, is more than any target holds.
const WORKING_SETS_MAX: usize = 32;

/// What a probe is to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbePlan {
    /// How much of the target is used.
    pub size: SizeSpec,
    /// The largest working set, bytes; what a target holds less than is left out.
    pub bytes: u64,
    /// How long each working set is read at random, and each kind of single write is measured.
    pub run: Nanos,
    /// I/Os in flight while a working set is read at random. Through the page cache only 1 distinguishes hits from
    /// misses: a hit that is issued beside a miss waits until that one has been handed to the disk.
    pub outstanding: u32,
    /// How long writes are sent to fill a write cache; `None`: nothing is written.
    pub absorb: Option<Nanos>,
}

impl ProbePlan {
    /// Returns the plan as the text of a plan file.
    pub fn text(&self) -> String {
        let mut text = format!(
            "name = \"{NAME}\"\n\
             about = \"Reads over growing working sets: caches show in the share of fast reads.\"\n\
             source = \"Assay's own.\"\nsize = \"{}\"\n",
            self.size
        );
        for (index, set) in working_sets(self.bytes).into_iter().enumerate() {
            text.push_str(&touch(&format!("first touch {set}"), set));
            if index == 0 {
                text.push_str(&touch(&format!("second touch {set}"), set));
            }
            text.push_str(&format!(
                "\n[[test]]\nname = \"re-read {set}\"\nwindow = \"{set}\"\noutstanding = {}\nwarmup = \"500ms\"\n\
                 run = \"{}\"\naccess = [{{ size = \"4KiB\", read = 100, random = 100 }}]\n",
                self.outstanding, self.run
            ));
        }
        if let Some(absorb) = self.absorb {
            let single = "access = [{ size = \"4KiB\", read = 0, random = 100 }]";
            text.push_str(&format!(
                "\n[[test]]\nname = \"write, one at a time\"\nrun = \"{0}\"\n{single}\n\
                 \n[[test]]\nname = \"durable write, one at a time\"\nsync = true\nrun = \"{0}\"\n{single}\n\
                 \n[[test]]\nname = \"write without a pause\"\noutstanding = 8\nrun = \"{absorb}\"\n\
                 access = [{{ size = \"64KiB\", read = 0, random = 100 }}]\n",
                self.run
            ));
        }
        text
    }
}

/// A region read once from start to end.
fn touch(name: &str, set: Bytes) -> String {
    format!(
        "\n[[test]]\nname = \"{name}\"\nwindow = \"{set}\"\nbytes = \"{set}\"\noutstanding = 8\n\
         access = [{{ size = \"1MiB\", read = 100 }}]\n"
    )
}

/// 64 MiB, doubled up to the size of the target, and that size itself.
fn working_sets(bytes: u64) -> Vec<Bytes> {
    let whole = bytes / MIB * MIB;
    // Four sizes at least, or as many as a small target has.
    let first = WORKING_SET_MIN.min((whole / 8).next_power_of_two()).max(MIB);
    let doubled = std::iter::successors(Some(first), |set| set.checked_mul(2));
    let mut sets: Vec<Bytes> =
        doubled.take(WORKING_SETS_MAX).take_while(|set| *set < whole).map(Bytes).collect();
    sets.push(Bytes(whole.max(MIB)));
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, PlanFile};

    fn plan(bytes: u64, absorb: Option<Nanos>) -> crate::Plan {
        let size = "1GiB".parse().unwrap();
        let text = ProbePlan { size, bytes, run: Nanos::from_secs(5), outstanding: 4, absorb }.text();
        PlanFile::parse("probe", &text).unwrap().resolve(&Overrides::default()).unwrap()
    }

    #[test]
    fn working_sets_double_up_to_the_size_and_the_smallest_is_read_twice() {
        let probe = plan(1 << 30, None);
        let names: Vec<&str> = probe.tests.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names[..3], ["first touch 64MiB", "second touch 64MiB", "re-read 64MiB"]);
        assert_eq!(names.last(), Some(&"re-read 1GiB"));
        assert_eq!(names.len(), 2 * 5 + 1);
        assert!(!probe.writes());
        assert_eq!(probe.tests[0].steps[0].stop.bytes, Some(Bytes(64 * MIB)));
    }

    #[test]
    fn a_small_target_has_smaller_working_sets() {
        assert_eq!(working_sets(64 * MIB).iter().map(|b| b.0 / MIB).collect::<Vec<_>>(), [8, 16, 32, 64]);
        assert_eq!(working_sets(MIB).iter().map(|b| b.0 / MIB).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn writes_come_last_and_one_kind_is_durable() {
        let probe = plan(1 << 30, Some(Nanos::from_secs(30)));
        let durable: Vec<bool> = probe.jobs().map(|job| job.sync).collect();
        assert_eq!(durable[durable.len() - 3..], [false, true, false]);
        assert!(!durable[..durable.len() - 3].contains(&true));
    }
}

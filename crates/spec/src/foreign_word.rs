//! Words that other tools have for fields of a plan: people who come from fio, vdbench, DiskSpd or Iometer type them
//! first.

/// Field of a plan, how it is given, and what others call it, with blanks between the words.
type Called = (&'static str, &'static str, &'static str);

const CALLED: [Called; 14] = [
    (
        "size",
        "size=4KiB",
        "bs blocksize block_size blocksz xfersize io_size block blockdev_size transfer_size",
    ),
    (
        "outstanding",
        "outstanding=32",
        "iodepth qd depth queue_depth queuedepth queue oio ios outstanding_ios concurrency iodepth_batch iodepths",
    ),
    (
        "workers",
        "workers=4",
        "numjobs jobs threads thread nthreads num_threads threads_per_disk clients nproc",
    ),
    (
        "run",
        "run=60s",
        "runtime duration elapsed timeout seconds secs time_based run_time time test_time length_of_time",
    ),
    ("warmup", "warmup=10s", "ramp_time ramp rampup warmup_time warm_up ramp_up ramp_up_time rampup_time"),
    (
        "read",
        "read=70",
        "rwmixread rdpct reads read_pct rwmix mix mixread mixed readpct read_percent percent_read",
    ),
    (
        "read",
        "read=70 (100 minus the writes; read=0 only writes)",
        "rwmixwrite writes write write_pct wrpct mixwrite write_percent",
    ),
    ("read", "read=100 and random=100 for randread", "rw readwrite pattern io_type operation"),
    ("random", "random=100", "seekpct rand random_pct percentage_random random_percent randompct"),
    ("random", "random=0", "sequential seq"),
    ("rate", "rate=5000/s", "rate_iops iorate iops qps rate_limit maxiops"),
    ("span", "span=1GiB", "io_limit range region working_set"),
    ("error_limit", "error_limit=10", "max_errors continue_on_error"),
    ("name", "name = \"My test\"", "title label description"),
];

/// Fields that say what one I/O is, and how `access` gives them. People look for them beside `outstanding`.
const OF_AN_IO: [(&str, &str); 3] = [
    ("size", "access = { size = \"4KiB\" }"),
    ("read", "access = { read = 70 }"),
    ("random", "access = { random = 100 }"),
];

/// Returns the field that another tool's word means, and how it is given, for example `size=4KiB`.
pub fn field_called(word: &str) -> Option<(&'static str, &'static str)> {
    let word = word.trim_start_matches('-').to_ascii_lowercase().replace('-', "_");
    let found = CALLED.iter().find(|(_, _, words)| words.split(' ').any(|known| known == word))?;
    Some((found.0, found.1))
}

/// Returns how `access` gives the field that a word means, where the word says what one I/O is.
pub(crate) fn of_an_io(word: &str) -> Option<&'static str> {
    let field = field_called(word).map_or(word, |(field, _)| field);
    OF_AN_IO.iter().find(|(of_io, _)| *of_io == field).map(|(_, given)| *given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_field_and_is_none_itself() {
        let words: Vec<&str> = CALLED.iter().flat_map(|(_, _, words)| words.split(' ')).collect();
        for word in &words {
            assert_eq!(words.iter().filter(|other| *other == word).count(), 1, "{word} stands twice");
            assert!(!CALLED.iter().any(|(field, _, _)| field == word), "{word} is a field");
        }
        assert_eq!(field_called("--ramp-time"), Some(("warmup", "warmup=10s")));
        assert_eq!(field_called("bs"), Some(("size", "size=4KiB")));
        assert_eq!(field_called("colour"), None);
    }
}

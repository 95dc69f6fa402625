//! `assay --help`: the verbs in groups, a line each, narrow enough for 80 columns; and `assay -h`: one screen of it.

/// Verbs that `assay -h` explains; it names the others.
const FIRST: [&str; 12] = [
    "run", "curve", "probe-cache", "diagnose", "check", "compare", "predict", "size", "runs", "show",
    "suites", "lab",
];
/// Columns of the headings of groups on that screen.
const GROUP_COLUMNS: usize = 8;

/// What clap prints for `assay --help`; its own list of verbs has no groups.
pub(crate) const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Measure
  run          Run a suite or a plan on targets
  curve        Measure response time over the offered load
  probe-cache  Find caches in front of a target, and their sizes
  map          Measure latency over the addresses of a target
  attach       Resume a run over hosts whose coordinator ended
  scale        Find the limit as the load grows: tester, host or storage
  overhead     Measure the cost of an I/O in Assay itself

Explain
  diagnose     Find what limits a load, by experiments
  check        Describe a target, without any load
  compare      Compare results: which differences are real
  baseline     Set the reference that later runs are compared with
  journal      Measure each change to a set-up

Predict
  predict      Predict the performance of an array
  size         Size an array: how many disks, what remains after a failure
  calibrate    Measure the software cost of a target, for predictions
  arrays       List and print descriptions of arrays
  published    List and print measured tables of articles
  validate     Check predictions against measured systems

Keep
  runs         List stored runs
  show         Show a stored run
  report       Write a run as HTML, CSV, Markdown, BBCode or JSON
  label        Set the label or the note of a run
  rm           Remove stored runs
  export       Export a run for Prometheus, fio, Iometer, pandas, Assay
  import       Import runs of Assay, fio, Iometer and many others
  store        Create a store in PostgreSQL, or copy one to another
  serve        Serve results and running runs to a browser, and /metrics

Set up
  suites       List and print the suites
  convert      Convert a plan of fio, Iometer, DiskSpd or vdbench
  target       Set the array or the price of a target
  lab          Serve a simulated array over iSCSI or NFS, to try things
  agent        Announce this host on a NATS server
  hosts        List such hosts, with the error of their clocks
  completions  Print completions for bash, zsh or fish
  man          Write the man pages
  version      Print version, commit and format of stores
  help         Print the help of a verb: assay help VERB

{options}
{after-help}";

/// Returns what `assay -h` prints: the first verbs of each group with what they do, the names of the others.
pub(crate) fn short() -> String {
    let mut text =
        "Usage: assay VERB …   (assay: what to type first; assay TARGET: what it is)\n\n".to_owned();
    let verbs = HELP.split("\n\n").filter(|group| group.contains("\n  ") && !group.contains('{'));
    for group in verbs {
        let mut lines = group.lines();
        let mut heading = lines.next().unwrap_or_default();
        let verb = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        let (first, others): (Vec<&str>, Vec<&str>) = lines
            .filter_map(|line| line.strip_prefix("  "))
            .partition(|line| FIRST.contains(&verb(line).as_str()));
        let others: Vec<String> = others.into_iter().map(verb).filter(|verb| verb != "help").collect();
        let also = format!("{:12} {}", "also", others.join(", "));
        for line in first.iter().copied().chain([also.as_str()]) {
            text.push_str(&format!("{heading:GROUP_COLUMNS$}{line}\n"));
            heading = "";
        }
    }
    text.push_str("\nassay VERB -h has the options of a verb, assay --help all verbs and exit codes.\n");
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{FIRST, HELP, short};
    use crate::args::Cli;

    #[test]
    fn every_verb_is_in_one_group() {
        let listed: Vec<&str> =
            HELP.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
        let verbs: Vec<String> =
            Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        for verb in &verbs {
            assert_eq!(listed.iter().filter(|listed| *listed == verb).count(), 1, "{verb}");
        }
        assert_eq!(listed.len(), verbs.len() + 1, "and `help`, which clap adds");
        assert!(HELP.lines().all(|line| line.chars().count() <= 78));
    }

    /// `assay -h` was 68 lines, of which a terminal shows the exit codes.
    #[test]
    fn the_short_help_is_one_screen_with_every_verb() {
        let short = short();
        assert!(short.lines().count() < 24, "{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
        let words: Vec<&str> = short.split([' ', ',', '\n']).collect();
        for verb in Cli::command().get_subcommands() {
            assert!(words.contains(&verb.get_name()), "{}: {short}", verb.get_name());
        }
        assert!(FIRST.iter().all(|first| short.contains(&format!("{first} "))), "{short}");
    }
}

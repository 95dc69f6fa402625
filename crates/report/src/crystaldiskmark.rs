//! Runs of the suites `crystaldiskmark…` as the block that people know from CrystalDiskMark, with the median of the
//! same runs beside it.

use assay_analysis::StepSummary;

use crate::svg::escape;

/// Columns of a line in the form that is known, of one with the name of the test, and of the median behind either.
const KNOWN_WIDTH: usize = 75;
const SHORT_WIDTH: usize = 62;
const MEDIAN_WIDTH: usize = 16;

/// A row of the block: a test of the plan, by its name.
struct Row<'s> {
    label: String,
    /// Its test without the direction: `SEQ1M Q8T1`.
    name: &'s str,
    heading: &'static str,
    steps: Vec<&'s StepSummary>,
}

/// How much of the form that is known fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `SEQ    1MiB (Q=  8, T= 1):  3458.123 MB/s [   3297.9 IOPS] <  2423.22 us>`.
    Known,
    /// The same with the name of the test: `SEQ1M Q8T1  :  3458.123 MB/s [   3297.9 IOPS] <  2423.22 us>`.
    Short,
    /// Numbers alone, below their units.
    Bare,
}

impl Form {
    /// The first that fits; each is narrower than the one before.
    fn fitting(width: usize, runs: usize) -> Self {
        let median = if runs > 1 { MEDIAN_WIDTH } else { 0 };
        match width {
            width if width >= KNOWN_WIDTH + median => Self::Known,
            width if width >= SHORT_WIDTH + median => Self::Short,
            _ => Self::Bare,
        }
    }

    fn titles(self, heading: &str, runs: usize) -> String {
        let title = format!("[{heading}]");
        match (self, runs) {
            (Self::Bare, 1) => format!("{title:<16}     MB/s      IOPS        us"),
            (Self::Bare, _) => format!("{title:<16}best MB/s      IOPS        us    median"),
            (_, 1) => title,
            (Self::Known, runs) => format!("{title:<29}best of {runs:<42}median"),
            (Self::Short, runs) => format!("{title:<16}best of {runs:<42}median"),
        }
    }
}

/// Returns the block, at most `width` columns wide from 60 on; `None` unless every test is a row of CrystalDiskMark by
/// its name: `SEQ1M Q8T1 read`.
pub(crate) fn block(steps: &[StepSummary], width: usize) -> Option<String> {
    let mut rows: Vec<(&str, Row<'_>)> = Vec::new();
    for step in steps {
        let (heading, label) = named(&step.test)?;
        match rows.iter_mut().find(|(test, _)| *test == step.test) {
            Some((_, row)) => row.steps.push(step),
            None => {
                let name = step.test.rsplit_once(' ').map_or(step.test.as_str(), |(name, _)| name);
                rows.push((&step.test, Row { label, name, heading, steps: vec![step] }));
            }
        }
    }
    let runs = rows.iter().map(|(_, row)| row.steps.len()).max().filter(|runs| *runs > 0)?;
    let form = Form::fitting(width, runs);
    let mut text = String::new();
    for heading in ["Read", "Write", "Mix"] {
        let of_heading: Vec<&Row<'_>> =
            rows.iter().map(|(_, row)| row).filter(|row| row.heading == heading).collect();
        if of_heading.is_empty() {
            continue;
        }
        text.push_str(&format!("{}\n", form.titles(heading, runs)));
        of_heading.iter().for_each(|row| text.push_str(&line(row, runs, form)));
        text.push('\n');
    }
    Some(text)
}

/// Returns the window that people know: a row for each test, reads beside writes, in MB/s; `None` for other runs.
pub(crate) fn html(steps: &[StepSummary]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut cells: Vec<(&str, &str, f64)> = Vec::new();
    for step in steps {
        let (heading, _) = named(&step.test)?;
        let name = step.test.rsplit_once(' ').map_or(step.test.as_str(), |(name, _)| name);
        if !names.contains(&name) {
            names.push(name);
        }
        if step.unmeasured.is_some() || step.total.ops == 0 {
            continue;
        }
        match cells.iter_mut().find(|cell| (cell.0, cell.1) == (name, heading)) {
            Some(cell) => cell.2 = cell.2.max(step.total.mb_per_s),
            None => cells.push((name, heading, step.total.mb_per_s)),
        }
    }
    let top = cells.iter().map(|cell| cell.2).fold(0.0, f64::max);
    if top <= 0.0 {
        return None;
    }
    let headings =
        ["Read", "Write", "Mix"].into_iter().filter(|heading| cells.iter().any(|cell| cell.1 == *heading));
    let headings: Vec<&str> = headings.collect();
    let cell = |name: &str, heading: &str| {
        let found = cells.iter().find(|cell| (cell.0, cell.1) == (name, heading));
        found.map_or_else(
            || "<td>-</td>".to_owned(),
            |(_, _, mb_per_s)| {
                // Sequential and random rates lie decades apart: the bar is a logarithm, as the window has it.
                let share = (mb_per_s.max(0.1) / 0.1).ln() / (top.max(0.2) / 0.1).ln() * 100.0;
                format!(
                    "<td><meter min=\"0\" max=\"100\" value=\"{share:.0}\" aria-hidden=\"true\"></meter><span>\
                     {mb_per_s:.2}</span></td>"
                )
            },
        )
    };
    let row = |name: &&str| {
        let cells: String = headings.iter().map(|heading| cell(name, heading)).collect();
        let (what, load) = name.split_once(' ').unwrap_or((name, ""));
        format!(
            "<tr><th scope=\"row\">{}<br><small>{}</small></th>{cells}</tr>\n",
            escape(what),
            escape(load)
        )
    };
    let rows: String = names.iter().map(row).collect();
    let heads: String = headings.iter().map(|heading| format!("<th>{heading} [MB/s]</th>")).collect();
    Some(format!(
        "<h2>As CrystalDiskMark shows it</h2>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"cdm\">\n<thead><tr>\
         <td></td>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    ))
}

/// The heading and the label of a test: `SEQ    1MiB (Q=  8, T= 1)`.
fn named(test: &str) -> Option<(&'static str, String)> {
    let mut words = test.split(' ');
    let (what, load, direction) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let heading = match direction {
        "read" => "Read",
        "write" => "Write",
        "mix" => "Mix",
        _ => return None,
    };
    let kind = ["SEQ", "RND"].into_iter().find(|kind| what.starts_with(kind))?;
    let (number, unit) = what[3..].split_at_checked(what.len().checked_sub(4)?)?;
    let (size, unit): (u32, &str) = (
        number.parse().ok()?,
        match unit {
            "M" => "MiB",
            "K" => "KiB",
            _ => return None,
        },
    );
    let (depth, threads) = load.strip_prefix('Q')?.split_once('T')?;
    let (depth, threads): (u32, u32) = (depth.parse().ok()?, threads.parse().ok()?);
    Some((heading, format!("{kind} {size:>4}{unit} (Q={depth:>3}, T={threads:>2})")))
}

/// The best rate and the lowest latency of all runs, which may be of different runs, and the median rate.
fn line(row: &Row<'_>, runs: usize, form: Form) -> String {
    let label = match form {
        Form::Known => format!("  {}:", row.label),
        Form::Short => format!("  {:<12}:", row.name),
        Form::Bare => format!("  {:<13}", row.name),
    };
    let measured = || row.steps.iter().filter(|step| step.unmeasured.is_none() && step.total.ops > 0);
    let mut rates: Vec<f64> = measured().map(|step| step.total.mb_per_s).collect();
    rates.sort_by(f64::total_cmp);
    let Some(best) = rates.last() else { return format!("{label}         -\n") };
    let iops = measured().map(|step| step.total.iops).fold(0.0, f64::max);
    let lowest_us =
        measured().filter_map(|step| step.total.waited().mean_ns()).fold(f64::INFINITY, f64::min) / 1e3;
    let score = match form {
        Form::Bare => format!("{best:>9.3} {iops:>9.1} {lowest_us:>9.2}"),
        _ => format!("{best:>9.3} MB/s [{iops:>9.1} IOPS] <{lowest_us:>9.2} us>"),
    };
    let middle = rates.len() / 2;
    let median = if rates.len().is_multiple_of(2) {
        f64::midpoint(rates[middle - 1], rates[middle])
    } else {
        rates[middle]
    };
    match (runs, form) {
        (1, _) => format!("{label} {score}\n"),
        (_, Form::Bare) => format!("{label} {score} {median:>9.3}\n"),
        _ => format!("{label} {score}  {median:>9.3} MB/s\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rows_are_those_of_crystaldiskmark() {
        for (test, expected) in [
            ("SEQ1M Q8T1 read", Some(("Read", "SEQ    1MiB (Q=  8, T= 1)"))),
            ("SEQ128K Q32T1 write", Some(("Write", "SEQ  128KiB (Q= 32, T= 1)"))),
            ("RND4K Q32T16 mix", Some(("Mix", "RND    4KiB (Q= 32, T=16)"))),
            ("RND4K Q32T16", None),
            ("4K read", None),
            ("SEQ Q1T1 read", None),
            ("", None),
        ] {
            let found = named(test);
            assert_eq!(found.as_ref().map(|(heading, label)| (*heading, label.as_str())), expected, "{test}");
        }
    }
}

//! Tables as Assay writes them, recognised by their complete row of titles.

/// What stands above a table in Markdown and BBCode; nothing ever does in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// One line that contains this.
    Line(&'static str),
    /// A line for each side, `A: ` and so on.
    Sides,
}

/// Name of a table, what stands above it, and all its titles in order. Those with a question mark may be missing. `@`
/// is a unit of time or none, `*` a currency.
type Head = (&'static str, Above, &'static str);

const HEADS: [Head; 11] = [
    (
        "the table of a run",
        Above::Line(", run "),
        "Test|MiB/s|IOPS|?IOPS ±%|?±%|Avg @|Max @|p50 @|p99 @|p99.9 @|Outst.|CPU %|?* per 1000 IOPS|?* per MiB/s",
    ),
    (
        "a comparison",
        Above::Nothing,
        "?Test|Side|IOPS|MiB/s|mean ms|p99 ms|IOPS change|IOPS ratio|IOPS low|IOPS high|p50 change|p50 ratio|\
         p50 low|p50 high|p99 change|p99 ratio|p99 low|p99 high",
    ),
    ("a comparison", Above::Sides, "Side|IOPS|MiB/s|mean ms|p99 ms|against A (95 %)"),
    (
        "repetitions",
        Above::Line(" repetitions of "),
        "?Side|Test|Runs|MiB/s|IOPS|±%|CV %|Avg ms|p50 ms|p99 ms|p99 ±%",
    ),
    ("a journal", Above::Line(": "), "?Test|Step|IOPS|±%|MiB/s|p99 ms|against the step before (95 %)"),
    (
        "a prediction",
        Above::Nothing,
        "Test|Limited by|IOPS|IOPS low|IOPS high|MiB/s|MiB/s low|MiB/s high|Mean ms|Mean ms low|Mean ms high|\
         p99 ms|p99 ms low|p99 ms high|Software",
    ),
    ("a prediction", Above::Nothing, "IOPS|MiB/s|Mean ms|p99 ms"),
    ("a list of runs", Above::Nothing, "Run|Started|Status|Plan|Targets|Label|Note"),
    (
        "a sizing answer",
        Above::Nothing,
        "Candidate|Sustains|Usable TB|?Mean ms|?p99 ms|Most IOPS|Breaks first|?Cost",
    ),
    // As it was called first.
    (
        "a sizing answer",
        Above::Nothing,
        "Candidate|Carries|Usable TB|?Mean ms|?p99 ms|Most IOPS|Breaks first|?Cost",
    ),
    (
        "a measured sizing answer",
        Above::Nothing,
        "Load|Offered/s|Achieved/s|Service @|Response @|p50 @|p99 @|",
    ),
];

/// Returns the name of the table that a CSV file begins with.
pub(super) fn of_csv(text: &str) -> Option<&'static str> {
    let (titles, _) = text.split_once('\n')?;
    let titles: Vec<&str> = titles.split(',').collect();
    HEADS.iter().find(|(_, _, expected)| is_row(&titles, expected)).map(|(name, ..)| *name)
}

/// Returns the name of the table that a Markdown file begins with, below the lines that stand above it.
pub(super) fn of_markdown(text: &str) -> Option<&'static str> {
    let (above, table) = split(text, "| ")?;
    let mut lines = table.lines();
    let titles = cells(lines.next()?)?;
    let rules: Vec<&str> = lines.next()?.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let is_ruled = rules.len() == titles.len() && rules.iter().all(|rule| ["---", "--:"].contains(rule));
    is_ruled.then(|| named(&above, &titles))?
}

fn cells(line: &str) -> Option<Vec<&str>> {
    Some(line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect())
}

/// The same in BBCode.
pub(super) fn of_bbcode(text: &str) -> Option<&'static str> {
    let (above, table) = split(text, "[table]\n")?;
    let row = table.lines().nth(1)?.strip_prefix("[tr][th]")?.strip_suffix("[/th][/tr]")?;
    named(&above, &row.split("[/th][th]").collect::<Vec<_>>())
}

/// Returns the lines above a table, and the rest. After each of them is an empty one.
fn split<'t>(text: &'t str, begin: &str) -> Option<(Vec<&'t str>, &'t str)> {
    let (mut above, mut rest) = (Vec::new(), text);
    while !rest.starts_with(begin) {
        let (line, below) = rest.split_once("\n\n")?;
        if line.is_empty() || line.contains('\n') {
            return None;
        }
        above.push(line);
        rest = below;
    }
    Some((above, rest))
}

fn named(above: &[&str], titles: &[&str]) -> Option<&'static str> {
    let fits = |expected: &Above| match expected {
        Above::Nothing => above.is_empty(),
        Above::Line(part) => above.len() == 1 && above[0].contains(part),
        Above::Sides => {
            let is_side = |(letter, line): (char, &&str)| {
                line.strip_prefix(letter).is_some_and(|rest| rest.starts_with(": "))
            };
            !above.is_empty() && ('A'..='Z').zip(above).all(is_side)
        }
    };
    let found = HEADS.iter().find(|(_, above, expected)| fits(above) && is_row(titles, expected));
    found.map(|(name, ..)| *name)
}

/// Whether a row has all the titles, in order, and no others.
fn is_row(titles: &[&str], expected: &str) -> bool {
    let mut titles = titles.iter().peekable();
    let has_all = expected.split('|').all(|expected| {
        let (title, may_be_missing) =
            expected.strip_prefix('?').map_or((expected, false), |title| (title, true));
        titles.next_if(|written| is_title(written, title)).is_some() || may_be_missing
    });
    has_all && titles.next().is_none()
}

fn is_title(written: &str, title: &str) -> bool {
    if let Some(name) = title.strip_suffix(" @") {
        let unit = written.strip_prefix(name);
        return unit.is_some_and(|unit| ["", " ns", " µs", " ms", " s"].contains(&unit));
    }
    match title.strip_prefix('*') {
        Some(end) => written.strip_suffix(end).is_some_and(|currency| !currency.contains(' ')),
        None => written == title,
    }
}

#[cfg(test)]
mod tests {
    use super::{of_bbcode, of_csv, of_markdown};

    #[test]
    fn a_table_is_known_by_all_its_titles() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(of_csv(text), expected, "{text}");
        check("Run,Started,Status,Plan,Targets,Label,Note\n", Some("a list of runs"));
        check("Run,Started,Status,Plan,Targets,Label,Note", None);
        check("Run,Started,Status,Plan,Targets,Label,Note,Mine\n", None);
        check("Run,Started,Distance\n", None);
        check("Notes\nRun,Started,Status,Plan,Targets,Label,Note\n", None);
        let run = "Test,MiB/s,IOPS,IOPS ±%,Avg µs,Max µs,p50 µs,p99 µs,p99.9 µs,Outst.,CPU %";
        check(&format!("{run}\n"), Some("the table of a run"));
        check(&format!("{run},EUR per 1000 IOPS,EUR per MiB/s\n"), Some("the table of a run"));
        check(&format!("{run},my notes\n"), None);
    }

    #[test]
    fn what_stands_above_a_table_is_as_assay_writes_it() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(of_markdown(text), expected, "{text}");
        let (titles, rules) = ("| IOPS | MiB/s | Mean ms | p99 ms |\n", "|--:|--:|--:|--:|\n");
        check(&format!("{titles}{rules}"), Some("a prediction"));
        check(titles, None);
        check(&format!("# Mine\n\n{titles}{rules}"), None);
        let compared =
            "| Side | IOPS | MiB/s | mean ms | p99 ms | against A (95 %) |\n|---|--:|--:|--:|--:|---|\n";
        check(&format!("A: one\n\nB: two\n\n{compared}"), Some("a comparison"));
        check(&format!("A: one\n\nnotes\n\n{compared}"), None);
        let bbcode = "[table]\n[tr][th]IOPS[/th][th]MiB/s[/th][th]Mean ms[/th][th]p99 ms[/th][/tr]\n";
        assert_eq!(of_bbcode(bbcode), Some("a prediction"));
        assert_eq!(of_bbcode(&format!("notes\n{bbcode}")), None);
    }
}

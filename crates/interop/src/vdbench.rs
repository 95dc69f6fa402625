//! Parameter files of vdbench: storage (sd), workload (wd) and run definitions (rd).
//!
//! Each run definition becomes a test; its workloads are jobs side by side, and its `forxx` loops and rates sweeps. A
//! definition named `default` gives values to those after it.

mod ends;
mod keys;

use std::collections::BTreeMap;

use assay_spec::units::{Bytes, Nanos, PerSecond};
use assay_spec::{Access, Arrivals, Data, Extent, IO_BYTES_MAX, Semantics, Window};

use crate::draft::{Draft, DraftJob, DraftTest};
use crate::fio::Surroundings;
use crate::names::{file_name, shortened, stem, unique};
use crate::secrets::{covering, of_lines};
use crate::targets::TargetNames;
use crate::unsupported::settle;
use crate::{ImportError, ImportOptions, ImportedPlan, Note, complain};

/// The most definitions of a file, and the most parameters of one.
const DEFINITIONS_MAX: usize = 1_000;
const PARAMETERS_MAX: usize = 200;
/// How deep files may include others.
const INCLUDE_DEPTH_MAX: usize = 8;

/// Whether a text looks like a parameter file: it defines a storage and a run.
pub fn is_parameter_file(text: &str) -> bool {
    let starts = |key: &str| text.lines().any(|line| line.trim_start().starts_with(key));
    // What is included may have the storage and the workloads.
    (["sd=", "wd=", "rd=", "include="].into_iter().filter(|key| starts(key)).count() > 1)
        || (starts("fwd=") && (starts("fsd=") || starts("rd=")))
}

/// A definition: its parameters with their values.
#[derive(Debug, Clone)]
struct Definition {
    file: String,
    line: usize,
    kind: String,
    name: String,
    parameters: BTreeMap<String, Vec<String>>,
}

impl Definition {
    fn complain(&self, key: &str, message: impl std::fmt::Display) -> ImportError {
        complain(&self.file, self.line, format!("{}={}: {key}: {message}", self.kind, short(&self.name)))
    }

    fn values(&self, key: &str) -> &[String] {
        self.parameters.get(key).map_or(&[], Vec::as_slice)
    }

    fn one(&self, key: &str) -> Option<&str> {
        self.values(key).first().map(String::as_str)
    }

    fn read<T>(&self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, ImportError> {
        self.one(key).map(|text| read(text).map_err(|why| self.complain(key, why))).transpose()
    }

    /// Numbers one by one, `(1-64,d)` for doubled ones, or `(10-90,20)` for those of equal distances.
    fn numbers(&self, key: &str, least: u64, most: u64) -> Result<Vec<u64>, ImportError> {
        self.ranged(key, &|text| number(text, least, most))
    }

    /// The same for values that `read` reads, such as sizes.
    fn ranged(&self, key: &str, read: &dyn Fn(&str) -> Result<u64, String>) -> Result<Vec<u64>, ImportError> {
        let one = |text: &str| read(text).map_err(|why| self.complain(key, why));
        let values = self.values(key);
        let Some(range) = values.first() else { return Ok(Vec::new()) };
        let Some((from, to)) = range.split_once('-') else {
            return values.iter().map(|text| one(text)).collect();
        };
        let (mut at, to) = (one(from)?, one(to)?);
        let step = match values.get(1).map(String::as_str) {
            Some("d") => None,
            Some(step) => Some(one(step)?),
            None => Some(1),
        };
        if step == Some(0) || (step.is_none() && at == 0) {
            return Err(self.complain(key, format!("`{}` would never end", short(range))));
        }
        let mut numbers = Vec::new();
        while at <= to && numbers.len() <= crate::STEPS_MAX {
            numbers.push(at);
            at = step.map_or(at.saturating_mul(2), |step| at.saturating_add(step));
        }
        if numbers.is_empty() {
            return Err(self.complain(key, format!("`{}` must go up, as in (1-64,d)", short(range))));
        }
        Ok(numbers)
    }

    fn read_all<T>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, ImportError> {
        self.values(key).iter().map(|text| read(text).map_err(|why| self.complain(key, why))).collect()
    }
}

/// What cannot be done as the file says.
#[derive(Default)]
struct Findings {
    notes: Vec<Note>,
    refused: Vec<Note>,
}

/// Reads a parameter file. `origin` is its name in messages.
///
/// # Errors
/// When the text is no such file, or asks for what Assay cannot do and is not to be read leniently.
pub fn import(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    options: &ImportOptions,
) -> Result<ImportedPlan, ImportError> {
    let mut definitions = Vec::new();
    let mut findings = Findings::default();
    covering(surroundings, |surroundings| {
        let mut open = vec![origin.to_owned()];
        read(origin, &of_lines(text), surroundings, &mut open, &mut definitions, &mut findings)
    })?;
    let of =
        |kind: &str| definitions.iter().filter(move |d: &&Definition| d.kind == kind).collect::<Vec<_>>();
    let (storages, workloads, runs) = (of("sd"), of("wd"), of("rd"));
    if runs.is_empty() || storages.is_empty() {
        let what = if storages.is_empty() { "storage (sd=)" } else { "run (rd=)" };
        return Err(complain(origin, 0, format!("defines no {what}")));
    }
    let mut used: Vec<Vec<String>> = Vec::new();
    let mut tests: Vec<DraftTest> = Vec::new();
    for run in &runs {
        let (test, names) = test(run, &workloads, &storages, &mut findings)?;
        used.extend(names);
        let name = unique(&test.name, |name| tests.iter().any(|t| t.name == name));
        tests.push(DraftTest { name, ..test });
    }
    let Findings { mut notes, refused } = findings;
    settle(origin, "parameter", options.strictness, refused, &mut notes)?;
    notes.dedup();
    let targets = TargetNames::of(origin, &used, options, &mut notes)?;
    for (user, job) in tests.iter_mut().flat_map(|test| &mut test.jobs).enumerate() {
        job.targets = targets.of_user(user, usize::MAX);
    }
    let sizes = storages.iter().map(|sd| sd.read("size", bytes)).collect::<Result<Vec<_>, _>>()?;
    let draft = Draft {
        name: stem(origin).to_owned(),
        about: String::new(),
        source: format!("vdbench parameter file {}.", file_name(origin)),
        notes: notes.iter().map(ToString::to_string).collect(),
        semantics: Semantics::Assay,
        seed: None,
        size: sizes.into_iter().flatten().max().map(Bytes),
        tests,
    };
    Ok(draft.imported("vdbench parameter file", notes, targets))
}

/// Reads the definitions of a file and of those it includes.
fn read(
    origin: &str,
    text: &str,
    surroundings: &Surroundings<'_>,
    open: &mut Vec<String>,
    definitions: &mut Vec<Definition>,
    findings: &mut Findings,
) -> Result<(), ImportError> {
    let mut defaults: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (line, statement) in statements(text) {
        let parameters = parameters(origin, line, &statement)?;
        let Some((kind, values)) = parameters.first().cloned() else { continue };
        let name = values.first().cloned().unwrap_or_default();
        match kind.as_str() {
            "sd" | "wd" | "rd" => {}
            "include" => {
                let is_open = open.contains(&name) || open.len() >= INCLUDE_DEPTH_MAX;
                if is_open {
                    return Err(complain(
                        origin,
                        line,
                        format!("includes {} within itself, or too deep", short(&name)),
                    ));
                }
                let included = (surroundings.include)(&name).map_err(|why| {
                    complain(origin, line, format!("cannot include {}: {why}", short(&name)))
                })?;
                open.push(name.clone());
                read(&name, &included, surroundings, open, definitions, findings)?;
                open.pop();
                continue;
            }
            "fsd" | "fwd" => {
                return Err(complain(
                    origin,
                    line,
                    format!("{kind}=: workloads of many files are not supported"),
                ));
            }
            "hd" | "host" => {
                findings.notes.push(Note::new(line, "hd: all I/O comes from this host."));
                continue;
            }
            // General parameters of all workloads.
            "compratio" | "dedupratio" => {
                defaults.entry("wd".to_owned()).or_default().insert(kind, values);
                continue;
            }
            other => {
                keys::resolved((origin, line), None, other, findings)?;
                continue;
            }
        }
        let mut all = defaults.get(&kind).cloned().unwrap_or_default();
        for (key, values) in parameters.into_iter().skip(1) {
            all.insert(keys::resolved((origin, line), Some(&kind), &key, findings)?, values);
        }
        if name == "default" {
            defaults.insert(kind, all);
            continue;
        }
        if definitions.len() >= DEFINITIONS_MAX {
            return Err(complain(origin, line, format!("has more than {DEFINITIONS_MAX} definitions")));
        }
        definitions.push(Definition { file: origin.to_owned(), line, kind, name, parameters: all });
    }
    Ok(())
}

/// Statements with their lines: a line that ends with a comma goes on in the next one. Blanks end a statement, what
/// follows is a comment.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if line.is_empty() || line.starts_with(['*', '#', '/']) {
            goes_on = false;
            continue;
        }
        if line.eq_ignore_ascii_case("eof") {
            break;
        }
        let code = code_of(line);
        match all.last_mut().filter(|_| goes_on) {
            Some((_, statement)) => statement.push_str(code),
            None => all.push((index + 1, code.to_owned())),
        }
        goes_on = code.ends_with(',');
    }
    all
}

/// The part of a line before its first blank outside quotation marks and parentheses.
fn code_of(line: &str) -> &str {
    let (mut depth, mut is_quoted) = (0_u32, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 && !is_quoted => return &line[..at],
            _ => {}
        }
    }
    line
}

/// `key=value,key=(a,b)` as keys with their values.
fn parameters(origin: &str, line: usize, text: &str) -> Result<Vec<(String, Vec<String>)>, ImportError> {
    let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
    let (mut depth, mut is_quoted, mut part) = (0_u32, false, String::new());
    let mut parts = Vec::new();
    for c in text.chars().chain([',']) {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !is_quoted => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    if depth > 0 || is_quoted {
        return Err(complain(origin, line, "a parenthesis or a quotation mark is not closed"));
    }
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(complain(
                origin,
                line,
                format!("`{}` is not a parameter; write it like rdpct=70", short(part)),
            ));
        };
        if parameters.len() >= PARAMETERS_MAX {
            return Err(complain(origin, line, format!("has more than {PARAMETERS_MAX} parameters")));
        }
        let values = value.split([',', ' ']).map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned);
        parameters.push((canonical(key.trim()), values.collect()));
    }
    Ok(parameters)
}

fn canonical(key: &str) -> String {
    let key = key.to_lowercase();
    match key.as_str() {
        "xfersizes" => "xfersize".to_owned(),
        "fortransfersize" | "forxfersizes" => "forxfersize".to_owned(),
        "thread" => "threads".to_owned(),
        "forthread" => "forthreads".to_owned(),
        "readpct" => "rdpct".to_owned(),
        "forreadpct" => "forrdpct".to_owned(),
        _ => key,
    }
}

/// What a run definition asks for, and the targets of each of its jobs.
fn test(
    run: &Definition,
    workloads: &[&Definition],
    storages: &[&Definition],
    findings: &mut Findings,
) -> Result<(DraftTest, Vec<Vec<String>>), ImportError> {
    let chosen = matching(run, "wd", workloads)?;
    // A run may say everything by itself, without a workload.
    let own = [run];
    let chosen: &[&Definition] = if workloads.is_empty() { &own } else { &chosen };
    let rates = rates(run, findings)?;
    let share = skews(chosen)?;
    let (mut jobs, mut users, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let is_curve = run.values("iorate").iter().any(|rate| rate.eq_ignore_ascii_case("curve"));
    for (workload, share) in chosen.iter().zip(share) {
        // The storage of a run goes before that of its workloads.
        let sds = matching(if run.one("sd").is_some() { run } else { workload }, "sd", storages)?;
        let rate = rates.first().copied().flatten().map(|rate| rate * share);
        let job = job(run, workload, &sds, rate, findings)?;
        // Rounded, as thirds have no end; the rest is far below the precision of a rate.
        let percent = (share * 1e7).floor() / 1e5;
        jobs.push(DraftJob { pace_max: is_curve.then(|| (arrivals(run), percent)), ..job });
        counts.push(sds.len() as u64);
        users.push(sds.iter().map(|sd| sd.one("lun").unwrap_or(&sd.name).to_owned()).collect());
    }
    if let Some(says) = skew_note(chosen, is_curve, rates.first().copied().flatten()) {
        findings.notes.push(Note::new(run.line, says));
    }
    for (key, why) in [
        ("pause", "pauses between runs are left out"),
        ("format", "targets are filled by Assay"),
        ("openflags", "I/O bypasses the page cache (--cached uses it)"),
    ] {
        if run.one(key).is_some() {
            findings.notes.push(Note::new(run.line, format!("{key}: {why}.")));
        }
    }
    let seconds = |key: &str| run.read(key, seconds);
    let elapsed = seconds("elapsed")?.unwrap_or(Nanos::from_secs(30));
    let (bytes, passes) = ends::ends(run, chosen, elapsed, &mut jobs, findings)?;
    let test = DraftTest {
        name: shortened(&run.name),
        run: Some(elapsed),
        bytes: bytes.map(Bytes),
        passes,
        warmup: seconds("warmup")?.unwrap_or_default(),
        sweep: sweep(run, &rates, &counts, findings)?,
        jobs,
        ..DraftTest::default()
    };
    Ok((test, users))
}

/// The definitions that a list of names means; `*` at the end stands for anything, and `sd1-sd4` for those between.
fn matching<'d>(
    of: &Definition,
    key: &str,
    all: &[&'d Definition],
) -> Result<Vec<&'d Definition>, ImportError> {
    let names = of.values(key);
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let mut found: Vec<&'d Definition> = Vec::new();
    for name in names {
        let is_meant = |d: &Definition| match name.strip_suffix('*') {
            Some(start) => d.name.starts_with(start),
            None => d.name == *name || is_between(&d.name, name),
        };
        let before = found.len();
        for definition in all.iter().copied().filter(|d| is_meant(d)) {
            if !found.iter().any(|known| known.name == definition.name) {
                found.push(definition);
            }
        }
        if found.len() == before {
            return Err(of.complain(key, format!("there is no {key} `{}`", short(name))));
        }
    }
    Ok(found)
}

/// Whether a name is in a range of names, such as `sd1-sd4`.
fn is_between(name: &str, range: &str) -> bool {
    let numbered = |name: &str| {
        let start = name.trim_end_matches(|c: char| c.is_ascii_digit());
        name[start.len()..].parse::<u64>().ok().map(|number| (start.to_owned(), number))
    };
    let ends = range.split_once('-').map(|(from, to)| (numbered(from), numbered(to)));
    let (Some((Some(from), Some(to))), Some(own)) = (ends, numbered(name)) else { return false };
    from.0 == own.0 && to.0 == own.0 && (from.1..=to.1).contains(&own.1)
}

/// Each workload's share of the rate: `skew`, or what the others leave. A skew of 0 is none, as in vdbench.
fn skews(workloads: &[&Definition]) -> Result<Vec<f64>, ImportError> {
    let share = |wd: &Definition| wd.read("skew", percent).map(|skew| skew.filter(|share| *share > 0.0));
    let given = workloads.iter().map(|wd| share(wd)).collect::<Result<Vec<_>, _>>()?;
    let sum: f64 = given.iter().flatten().sum();
    let open = given.iter().filter(|skew| skew.is_none()).count();
    let rest = (100.0 - sum).max(0.0) / open.max(1) as f64;
    Ok(given.into_iter().map(|skew| skew.unwrap_or(rest) / 100.0).collect())
}

/// What becomes of the shares of workloads side by side where no rate is given.
fn skew_note(workloads: &[&Definition], is_curve: bool, rate: Option<f64>) -> Option<&'static str> {
    let is_shared = workloads.iter().any(|wd| wd.one("skew").is_some_and(|share| share != "0"));
    match (is_curve, rate) {
        _ if workloads.len() < 2 => None,
        (true, _) => Some(
            "iorate=curve: the search for the highest rate runs the workloads side by side as fast as they can; their \
             skew holds at the points of the curve.",
        ),
        (false, None) if is_shared => Some(
            "skew: with iorate=max each workload runs as fast as it can; vdbench slows them down to their shares.",
        ),
        _ => None,
    }
}

/// `iorate=max`, a number, or several; `None` is as fast as possible.
fn rates(run: &Definition, findings: &mut Findings) -> Result<Vec<Option<f64>>, ImportError> {
    let mut rates = Vec::new();
    for key in ["iorate", "foriorate"] {
        let is_range = |text: &String| text.split_once('-').is_some_and(|(from, _)| !from.is_empty());
        if run.values(key).first().is_some_and(is_range) {
            let listed = run.numbers(key, 1, 1_000_000_000_000)?.into_iter().map(|rate| Some(rate as f64));
            return Ok(listed.collect());
        }
    }
    let listed = run.values("iorate").iter().chain(run.values("foriorate"));
    for text in listed {
        match text.to_lowercase().as_str() {
            "max" => rates.push(None),
            // Its rates follow from a first run at full speed.
            "curve" => rates.push(None),
            text => {
                let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0 && *rate < 1e12);
                rates.push(Some(rate.ok_or_else(|| {
                    run.complain("iorate", format!("`{}` must be max, curve or a rate", short(text)))
                })?));
            }
        }
    }
    if run.one("curve").is_some() && !run.values("iorate").iter().any(|rate| rate == "curve") {
        findings.notes.push(Note::new(run.line, "curve: has no effect without iorate=curve."));
    }
    Ok(rates)
}

/// The points of `iorate=curve`, percent of the highest rate; empty for other runs. The run at full speed itself comes
/// first, as a search.
fn curve(run: &Definition) -> Result<Vec<u64>, ImportError> {
    const POINTS: [u64; 6] = [10, 50, 70, 80, 90, 100];
    if !run.values("iorate").iter().any(|rate| rate.eq_ignore_ascii_case("curve")) {
        return Ok(Vec::new());
    }
    let points = run.numbers("curve", 1, 1000)?;
    Ok(if points.is_empty() { POINTS.to_vec() } else { points })
}

/// The loops of a run definition as a sweep.
fn sweep(
    run: &Definition,
    rates: &[Option<f64>],
    counts: &[u64],
    findings: &mut Findings,
) -> Result<Vec<(&'static str, Vec<u64>)>, ImportError> {
    let mut sweep = Vec::new();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    let whole_percent = |text: &str| percent(text).map(|value| value.round() as u64);
    let sizes = run.ranged("forxfersize", &bytes)?;
    let depths = run.numbers("forthreads", 1, 4096)?;
    let reads = run.ranged("forrdpct", &whole_percent)?;
    if !sizes.is_empty() {
        sweep.push(("size", sizes));
    }
    if !depths.is_empty() {
        let per_storage = counts.first().copied().unwrap_or(1);
        if counts.iter().any(|count| *count != per_storage) {
            findings.refused.push(Note::new(
                run.line,
                "forthreads: a loop over workloads with different numbers of storages is not supported",
            ));
        }
        sweep
            .push(("outstanding", depths.into_iter().map(|depth| (depth * per_storage).min(4096)).collect()));
    }
    if !reads.is_empty() {
        sweep.push(("read", reads));
    }
    for (key, _) in run.parameters.range("for".to_owned().."fos".to_owned()) {
        if !["forxfersize", "forthreads", "forrdpct", "foriorate"].contains(&key.as_str()) {
            findings.refused.push(Note::new(run.line, format!("{key}: this loop is not supported")));
        }
    }
    let curve = curve(run)?;
    if !curve.is_empty() {
        sweep.push(("load", curve));
    } else if rates.len() > 1 {
        if counts.len() > 1 || rates.iter().any(Option::is_none) {
            findings.refused.push(Note::new(
                run.line,
                "iorate: a list is supported for one workload, and without max; the first rate is used",
            ));
        } else {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be below 1e12"
            )]
            let rates = rates.iter().flatten().map(|rate| rate.round().max(1.0) as u64).collect();
            sweep.push(("rate", rates));
        }
    }
    Ok(sweep)
}

fn job(
    run: &Definition,
    workload: &Definition,
    storages: &[&Definition],
    rate: Option<f64>,
    findings: &mut Findings,
) -> Result<DraftJob, ImportError> {
    // What a run says, it says of all its workloads.
    let either = |key: &str| if run.one(key).is_some() { run } else { workload };
    let read = either("rdpct").read("rdpct", percent)?.unwrap_or(100.0);
    let random = either("seekpct").read("seekpct", seekpct)?.unwrap_or(100.0);
    let threads = |d: &Definition| d.read("threads", |text| number(text, 1, 4096));
    let of_storage = storages.iter().map(|sd| threads(sd)).collect::<Result<Vec<_>, _>>()?;
    let depth = match threads(either("threads"))? {
        Some(each) => each * storages.len() as u64,
        None => of_storage.iter().map(|depth| depth.unwrap_or(8)).sum(),
    };
    let sized = either("xfersize");
    let mut mix = mix(sized, read, random)?;
    ends::align(storages, &mut mix, findings)?;
    let ranged = std::iter::once(&workload).chain(storages).find(|d| d.one("range").is_some());
    let window = ranged.map(|d| window(d)).transpose()?.unwrap_or_default();
    for (key, why) in [
        ("rhpct", "read hits (reading the same blocks again) are not supported"),
        ("whpct", "write hits (writing the same blocks again) are not supported"),
        ("hotband", "hot bands are not supported; two workloads with different ranges come close"),
        ("stride", "strides are not supported"),
        ("streams", "several streams of one workload are not supported; use threads"),
    ] {
        if workload.one(key).is_some_and(|value| value != "0") {
            findings.refused.push(Note::new(workload.line, format!("{key}: {why}")));
        }
    }
    let ratio = |key: &str| {
        let d = if workload.one(key).is_some() { workload } else { run };
        d.read(key, |text| {
            text.parse::<f64>()
                .ok()
                .filter(|r| (1.0..=1000.0).contains(r))
                .ok_or_else(|| format!("`{}` must be from 1 to 1000", short(text)))
        })
    };
    let (compress, dedupe) = (ratio("compratio")?.unwrap_or(1.0), ratio("dedupratio")?.unwrap_or(1.0));
    Ok(DraftJob {
        name: shortened(&workload.name),
        workers: 1,
        outstanding: u32::try_from(depth.min(4096)).unwrap_or(1),
        pace: rate.map(|rate| (PerSecond(rate), Some(arrivals(run)))),
        data: (compress > 1.0 || dedupe > 1.0).then_some(Data::Reducible { compress, dedupe }),
        mix,
        window,
        ..DraftJob::default()
    })
}

/// vdbench spreads arrivals exponentially unless `distribution` says otherwise.
fn arrivals(run: &Definition) -> Arrivals {
    match run.one("distribution") {
        Some(word) if word.starts_with('d') => Arrivals::Constant,
        _ => Arrivals::Poisson,
    }
}

/// `xfersize=4k`, or pairs of a size and its share: `(4k,70,64k,30)`.
fn mix(of: &Definition, read: f64, random: f64) -> Result<Vec<Access>, ImportError> {
    let values = of.values("xfersize");
    let line = |size: u64, weight: u32, align: u64| Access {
        weight,
        size: Bytes(size),
        read,
        random,
        align: Bytes(align),
        ..Access::default()
    };
    let size_of = |text: &str| {
        bytes(text)
            .and_then(|size| {
                if size <= IO_BYTES_MAX { Ok(size) } else { Err(format!("{} is too large", Bytes(size))) }
            })
            .map_err(|why| of.complain("xfersize", why))
    };
    match values {
        [] => Ok(vec![line(4096, 100, 4096)]),
        [one] => size_of(one).map(|size| vec![line(size, 100, size)]),
        [_, _, _] => {
            Err(of.complain("xfersize", "a range of sizes is not supported; list sizes with their shares"))
        }
        pairs if pairs.len().is_multiple_of(2) => {
            let mut lines = Vec::new();
            for pair in pairs.chunks(2) {
                let share = percent(&pair[1]).map_err(|why| of.complain("xfersize", why))?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "from 0 to 10,000"
                )]
                let weight = (share * 100.0).round() as u32;
                let size = size_of(&pair[0])?;
                lines.push(line(size, weight, size));
            }
            let sum: u32 = lines.iter().map(|l| l.weight).sum();
            if sum.abs_diff(10_000) > 1 {
                return Err(of.complain("xfersize", "the shares must sum to 100"));
            }
            Ok(lines.into_iter().filter(|l| l.weight > 0).collect())
        }
        _ => Err(of.complain("xfersize", "must be a size, or pairs of a size and its share")),
    }
}

/// `range=(10,20)`: from and to, percent of the storage where both are at most 100.
fn window(of: &Definition) -> Result<Window, ImportError> {
    let extents = of.read_all("range", |text| match text.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Extent::Percent(percent)),
        _ => bytes(text).map(|bytes| Extent::Bytes(Bytes(bytes))),
    })?;
    match extents[..] {
        [Extent::Percent(from), Extent::Percent(to)] if from < to => {
            Ok(Window { offset: Extent::Percent(from), size: Some(Extent::Percent(to - from)) })
        }
        [Extent::Bytes(from), Extent::Bytes(to)] if from < to => {
            Ok(Window { offset: Extent::Bytes(from), size: Some(Extent::Bytes(Bytes(to.0 - from.0))) })
        }
        _ => Err(of.complain("range", "must be (FROM,TO), both in percent or both in bytes")),
    }
}

/// `seekpct=100`, `random`, `seq`, `seqnz`, `eof` (sequential, once).
fn seekpct(text: &str) -> Result<f64, String> {
    match text.to_lowercase().as_str() {
        "random" | "rand" => Ok(100.0),
        "seq" | "sequential" | "seqnz" | "eof" | "-1" => Ok(0.0),
        text => percent(text),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| format!("`{}` must be from 0 to 100", short(text)))
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = text.parse::<u64>().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("`{}` must be a whole number from {least} to {most}", short(text)))
}

/// `4k`, `10g`; units are powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: f64 = match &lower[digits.len()..] {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0_f64.powi(3),
        "t" => 1024.0_f64.powi(4),
        _ => return Err(format!("`{}` is not a size; write it like 4k", short(text))),
    };
    let value = digits.parse::<f64>().ok().map(|n| n * factor).filter(|b| *b >= 1.0 && *b < 4e18);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
    value
        .map(|bytes| bytes.round() as u64)
        .ok_or_else(|| format!("`{}` is not a size; write it like 4k", short(text)))
}

/// `60`, `5m`, `2h`.
fn seconds(text: &str) -> Result<Nanos, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(format!("`{}` is not a time; write it like 60 or 5m", short(text))),
    };
    let value =
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|s| *s > 0 && *s < 1 << 32);
    value
        .map(Nanos::from_secs)
        .ok_or_else(|| format!("`{}` is not a time; write it like 60 or 5m", short(text)))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests;

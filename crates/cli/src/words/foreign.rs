//! Plans of other tools: found by their content, explained, and placed on targets like a plan of Assay's.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use assay_interop::fio::{self, Surroundings};
use assay_interop::{
    ImportOptions, ImportedPlan, Strictness, TEXT_BYTES_MAX, command, icf, vdbench, without_secrets,
};
use assay_report::text::wrap;
use assay_spec::PlanFile;
use assay_spec::suites::suite;

use assay_target::input::{Input, open};

use super::typed::as_typed;
use crate::args::RunArgs;
use crate::output::terminal::{error_options, note};

/// What is read here, for messages.
pub(crate) const FOREIGN: Input = Input { name: "a file of another tool", bytes_max: TEXT_BYTES_MAX };

/// Endings of plans that are not Assay's own.
const ENDINGS: [&str; 3] = [".icf", ".fio", ".job"];

/// Whether a word can only be meant as a plan of another tool.
pub(crate) fn is_foreign(word: &str) -> bool {
    command::is_command(word) || ENDINGS.iter().any(|ending| word.to_lowercase().ends_with(ending))
}

/// Reads the plan of another tool; `None` if the word is a suite, no file, or a plan of Assay's own.
pub(crate) fn read(word: &str, options: &ImportOptions) -> anyhow::Result<Option<ImportedPlan>> {
    // A command line has paths in it, and names files from where it is typed.
    let is_command = command::is_command(word) && !Path::new(word).is_file();
    let folder = Path::new(word).parent().filter(|_| !is_command).unwrap_or(Path::new(""));
    let include = |name: &str| included(folder, name);
    let variable = |name: &str| of_machine(name).or_else(|| std::env::var(name).ok());
    let surroundings = Surroundings { include: &include, variable: &variable };
    if is_command {
        return Ok(Some(command::import(word, &surroundings, options)?));
    }
    let path = Path::new(word);
    let is_suite = suite(word).is_some() && !word.contains(['/', '.']);
    if is_suite || !path.is_file() || (word.ends_with(".toml") && !is_foreign(word)) {
        return Ok(None);
    }
    let bytes = bytes_of(path)?;
    let text = match assay_interop::decode(word, &bytes) {
        Ok(text) => text,
        Err(error) if is_foreign(word) => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    if word.to_lowercase().ends_with(".icf") || icf::is_icf(&text) {
        return Ok(Some(icf::import(word, &text, options)?));
    }
    if command::is_profile(&text) {
        return Ok(Some(command::import_profile(word, &text, options)?));
    }
    if vdbench::is_parameter_file(&text) {
        return Ok(Some(vdbench::import(word, &text, &surroundings, options)?));
    }
    if command::is_script(&text) {
        return Ok(Some(command::import_script(word, &text, &surroundings, options)?));
    }
    if is_foreign(word) || fio::is_job_file(&text) {
        return Ok(Some(fio::import(word, &text, &surroundings, options)?));
    }
    Ok(None)
}

/// What fio puts in for its words about the machine.
fn of_machine(word: &str) -> Option<String> {
    match word {
        "$ncpus" => std::thread::available_parallelism().ok().map(|count| count.to_string()),
        "$mb_memory" => Some((assay_host::host_facts().memory_bytes >> 20).to_string()),
        "$pagesize" => {
            let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
            let line = maps.lines().find_map(|line| line.strip_prefix("KernelPageSize:"))?;
            let kib = line.trim().trim_end_matches(" kB").parse::<u64>().ok()?;
            Some((kib << 10).to_string())
        }
        _ => None,
    }
}

/// The bytes of a regular file, one more than may be imported at most.
pub(crate) fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, FOREIGN)?
        .take(TEXT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}

/// A file that a job file includes, or a parameter file: beside it, unless the path begins with `/`.
fn included(folder: &Path, name: &str) -> Result<String, String> {
    let path = folder.join(name);
    if !path.is_file() {
        return Err(format!("there is no file {}", path.display()));
    }
    let bytes = bytes_of(&path).map_err(|error| format!("{error:#}"))?;
    assay_interop::decode(name, &bytes).map_err(|error| error.message)
}

/// Returns the plan of another tool as a plan file; `None` as in [`read`].
pub(crate) fn plan_file(word: &str) -> anyhow::Result<Option<PlanFile>> {
    let imported = read(word, &ImportOptions::default())?;
    Ok(imported.map(|imported| PlanFile::parse(word, &imported.plan)).transpose()?)
}

/// A plan of another tool that is to be run, and the targets of the command line in the order in which it counts
/// them.
pub(crate) struct ForeignOrder {
    pub(crate) imported: Option<ImportedPlan>,
    pub(crate) targets: Vec<String>,
}

/// What of a plan of another tool will run, in lines, with the changes of the command line.
pub(crate) type Understood = fn(&RunArgs, &ImportedPlan) -> Vec<String>;

/// Reads the plan of a run, if it is another tool's, says what was understood, and places the targets.
/// `understood` returns that in lines.
pub(crate) fn order(args: &RunArgs, understood: Understood) -> anyhow::Result<ForeignOrder> {
    let strictness = if args.lenient { Strictness::Lenient } else { Strictness::Strict };
    let mut options = ImportOptions { strictness, targets_given: None };
    let maps: Vec<(&str, &str)> = args.map.iter().map(|map| split_map(map)).collect::<Result<_, _>>()?;
    let folder = match args.targets.as_slice() {
        [only] if maps.is_empty() && Path::new(only).is_dir() => Some(Path::new(only)),
        _ => None,
    };
    if maps.is_empty() && folder.is_none() {
        options.targets_given = (!args.targets.is_empty()).then_some(args.targets.len());
    }
    let Some(imported) = read(&args.plan, &options)? else {
        if let Some(map) = args.map.first() {
            bail!(
                "--map {map}: {} names no targets; only plans of other tools do",
                without_secrets(&args.plan)
            );
        }
        return Ok(ForeignOrder { imported: None, targets: args.targets.clone() });
    };
    let targets = match folder.filter(|_| !imported.targets.is_empty()) {
        Some(folder) => in_folder(folder, &imported.targets),
        None => placed(&imported, &maps, &args.targets)?,
    };
    explain(&args.plan, &imported, &understood(args, &imported));
    Ok(ForeignOrder { imported: Some(imported), targets })
}

/// What to say where a plan has no target: another tool's plan often names its own.
pub(crate) fn no_target(plan: &str) -> String {
    let imported = read(plan, &ImportOptions::default());
    let own = imported.ok().flatten().and_then(|imported| imported.targets.into_iter().next());
    let typed = as_typed(plan);
    match own.filter(|name| name.starts_with('/')) {
        Some(name) => format!(
            "no TARGET is given; the plan itself names {name}, which is used only if you give it: assay run {typed} \
             {name}"
        ),
        None => format!("no TARGET is given; for example: assay run {typed} ./t.dat"),
    }
}

/// Returns what to type in place of a command line of another tool without quotation marks: `assay run fio --name=x`.
pub(crate) fn unquoted(typed: &[String]) -> Option<String> {
    let [verb, line @ ..] = typed else { return None };
    let (_, options) = line.split_first()?;
    let is_meant = ["run", "convert"].contains(&verb.as_str())
        && options.iter().any(|word| word.starts_with('-'))
        // One that is in quotes is not what is wrong.
        && !line.iter().any(|word| word.contains(' ') && command::is_command(word))
        && command::is_command(&line.join(" "));
    let (line, target) = match line {
        [line @ .., last] if !last.starts_with('-') => (line, as_typed(last)),
        line => (line, "TARGET".to_owned()),
    };
    is_meant.then(|| {
        let target = if verb == "run" { format!(" {target}") } else { String::new() };
        format!(
            "put the command line of the other tool in quotes: assay {verb} {}{target}",
            as_typed(&line.join(" "))
        )
    })
}

fn split_map(map: &str) -> anyhow::Result<(&str, &str)> {
    match map.split_once('=').map(|(name, target)| (name.trim(), target.trim())) {
        Some((name, target)) if !name.is_empty() && !target.is_empty() => Ok((name, target)),
        _ => bail!("--map {map} must look like NAME=TARGET, for example --map \"C:=/mnt/x\""),
    }
}

/// The files that a plan names, in a folder: by the last part of their names, or by all of them where that is not
/// enough to tell them apart.
fn in_folder(folder: &Path, names: &[String]) -> Vec<String> {
    let last = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let unlike: std::collections::HashSet<String> = names.iter().map(last).collect();
    let short = |name: &String| match unlike.len() == names.len() {
        true => last(name),
        false => name.trim_start_matches(['.', '/']).replace('/', "_"),
    };
    names.iter().map(|name| folder.join(short(name)).display().to_string()).collect()
}

/// The targets of the run: those of `--map` by name, the others by position.
fn placed(imported: &ImportedPlan, maps: &[(&str, &str)], given: &[String]) -> anyhow::Result<Vec<String>> {
    if maps.is_empty() {
        return Ok(given.to_vec());
    }
    // `C: "System"` is drive C, whatever its label: Iometer compares no more than that.
    let drive = |name: &str| name.as_bytes().get(1) == Some(&b':') && name.is_char_boundary(2);
    let is_meant = |name: &str, map: &str| {
        name.eq_ignore_ascii_case(map)
            || (drive(name) && map.len() == 2 && name[..2].eq_ignore_ascii_case(map))
    };
    if let Some((map, _)) =
        maps.iter().find(|(map, _)| !imported.targets.iter().any(|name| is_meant(name, map)))
    {
        bail!("--map {map}=…: the plan names no such target; it names {}", imported.targets.join(", "));
    }
    let mut given = given.iter();
    let mut targets = Vec::new();
    for name in &imported.targets {
        let mapped = maps.iter().find(|(map, _)| is_meant(name, map)).map(|(_, target)| (*target).to_owned());
        match mapped.or_else(|| given.next().cloned()) {
            Some(target) => targets.push(target),
            None => bail!("no target is given for `{name}`; add --map \"{name}=TARGET\""),
        }
    }
    match given.next() {
        Some(extra) => bail!("target `{extra}` is one too many: every target of the plan has one already"),
        None => Ok(targets),
    }
}

/// Says what was understood, on standard error.
pub(crate) fn explain(word: &str, imported: &ImportedPlan, understood: &[String]) {
    let width = error_options().width;
    // A command line stands above, where it was typed, and a screen has few lines.
    let is_typed = word.contains(char::is_whitespace) && !Path::new(word).exists();
    let (whole, each) = understood.split_at(usize::from(is_typed).min(understood.len()));
    let whole: String = whole.iter().map(|whole| format!(": {whole}")).collect();
    let name = if is_typed { String::new() } else { format!("{}: ", without_secrets(word)) };
    note!("{}", wrap(&format!("{name}{}{whole}", imported.tool), width, "  "));
    for line in each {
        note!("{}", wrap(&format!("  {line}"), width, "    "));
    }
    for line in &imported.notes {
        note!("{}", wrap(&format!("  note: {line}"), width, "    "));
    }
}

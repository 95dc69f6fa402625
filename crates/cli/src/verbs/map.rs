//! `assay map`: what a target looks like over its addresses, by reading it.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use assay_engine::StopSignal;
use assay_model::facts::usable_bytes;
use assay_prepare::PrepareOptions;
use assay_report::map::{map_json, map_text};
use assay_runner::{Reader, Reading, Stage};
use assay_spec::units::Bytes;
use assay_spec::{Address, without_secret};
use assay_surface::{
    Comparison, Ground, Order, Outcome, SIZE_MIN, Sample, SurfaceMap, Survey, compare, map_of,
};
use assay_target::Caching;
use assay_target::input::Input;

use crate::args::{Form, MapArgs, StoreArgs};
use crate::exit::Exit;
use crate::output::patience::Patience;
use crate::output::progress::Ticking;
use crate::output::terminal::{note, say, text_options};
use crate::output::{Output, OutputKind};
use crate::running::{meant, say_left, simulated_arrays};
use crate::signals::{enter, stop_on_signals};
use crate::words::maps;
use crate::words::store::store_if_any;
use crate::words::targets::{addresses, check_output};

/// An earlier map: far more than one has.
const MAP: Input = Input { name: "a map", bytes_max: 16 << 20 };
/// The size of a simulated array is a multiple of this, bytes.
const SIM_UNIT: u64 = 1 << 20;
/// How often the line that moves is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn map(args: &MapArgs) -> anyhow::Result<Exit> {
    if let Some(other) = args.others.first() {
        bail!("a map is of one target: map {} by a command of its own", without_secret(other));
    }
    let targets = std::slice::from_ref(&args.target);
    let output = map_output(args, targets)?;
    let before = args.baseline.as_deref().map(read).transpose()?;
    let address = addresses(targets)?;
    check_size(&args.target, &address[0])?;
    let options = options(args, &address)?;
    let stop = stop_on_signals()?;
    let simulated = simulated_arrays(&address)?;
    enter(Stage::Inspecting);
    let patience = Patience::with(without_secret(&args.target));
    let mut reader =
        Reader::open(&address[0], size(&address[0])?, options, &|request| simulated.open(request), &stop)
            .map_err(meant)?;
    drop(patience);
    say_caches(&address[0]);
    enter(Stage::Measuring);
    let surveyed = survey(args, &mut reader, &stop);
    enter(Stage::Closing);
    let closed = reader.close();
    enter(Stage::Over);
    let survey = surveyed?;
    say_left(&closed.map_err(meant)?);
    let map = SurfaceMap { made_unix_ms: Some(now_ms()), ..map_of(&without_secret(&args.target), &survey) };
    let is_null = matches!(address[0], Address::Null { .. });
    let map = if is_null { map.of_tester() } else { map };
    // Of a map that was ended early most of the time is missing.
    if !is_null && !stop.is_set() {
        keep(&args.store, &map);
    }
    let since = before.map(|before| since(&before, &map)).transpose()?;
    tell(args, &map, since.as_ref(), output.as_ref())?;
    Ok(if stop.is_set() { Exit::Interrupted } else { Exit::Done })
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Keeps a map in the store, for the page of its target. As with a check, none is created, and one that cannot be
/// written to is no reason to fail.
fn keep(store: &StoreArgs, map: &SurfaceMap) {
    if let Ok(Some(store)) = store_if_any(store) {
        let _ = maps::keep(&store, map);
    }
}

/// Where the map goes: JSON is a baseline for later, HTML a page.
fn map_output(args: &MapArgs, targets: &[String]) -> anyhow::Result<Option<Output>> {
    let form = if args.form.json { Form::Json } else { Form::Text };
    let output = check_output(args.output.as_deref(), targets, &args.store, form)?;
    match output {
        Some(output) if !matches!(output.kind(), OutputKind::Json | OutputKind::Html) => {
            bail!("-o writes a map as JSON or as a page: give it a name that ends in .json or .html")
        }
        output => Ok(output),
    }
}

/// Refuses a file that is too small before anything else is said of it.
fn check_size(target: &str, address: &Address) -> anyhow::Result<()> {
    let Address::Path(path) = address else { return Ok(()) };
    match path.metadata() {
        Ok(file) if file.is_file() && file.len() < SIZE_MIN => Err(too_small(target, file.len())),
        _ => Ok(()),
    }
}

/// Says what answers in place of the storage below a loop device.
fn say_caches(address: &Address) {
    let Address::Path(path) = address else { return };
    let device = assay_prepare::inspect_path(path).ok().and_then(|found| found.device);
    for name in device.map(|device| assay_host::cached_loops(&device.stack)).unwrap_or_default() {
        note!(
            "note: {name} uses the page cache of this host, and the map shows that, too; losetup --direct-io=on \
             /dev/{name} bypasses it"
        );
    }
}

fn too_small(target: &str, size_bytes: u64) -> anyhow::Error {
    anyhow::anyhow!(
        "{} holds {}, and a map needs {} at least",
        without_secret(target),
        Bytes(size_bytes).rounded(),
        Bytes(SIZE_MIN).rounded()
    )
}

/// A simulated array has a small span where no plan gives one, and a map shows all that it holds.
fn size(address: &Address) -> anyhow::Result<Option<Bytes>> {
    let Address::Sim { array } = address else { return Ok(None) };
    let usable = usable_bytes(&crate::words::array::array(array)?);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of an array")]
    Ok(Some(Bytes(usable as u64 / SIM_UNIT * SIM_UNIT)))
}

fn options(args: &MapArgs, address: &[Address]) -> anyhow::Result<PrepareOptions> {
    Ok(PrepareOptions {
        caching: if args.cached { Caching::Cached } else { Caching::Direct },
        chap_secret: crate::words::secret::ask(address)?,
        ..PrepareOptions::reading()
    })
}

fn survey(args: &MapArgs, reader: &mut Reader, stop: &StopSignal) -> anyhow::Result<Survey> {
    let ground = Ground {
        size_bytes: reader.span_bytes(),
        block_bytes: reader.unit_bytes(),
        read_bytes_max: reader.read_bytes_max(),
    };
    let order = if args.sequential { Order::Sequential } else { Order::Random };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let Some(mut survey) = Survey::new(ground, order, now.as_secs() ^ u64::from(now.subsec_nanos())) else {
        return Err(too_small(&args.target, ground.size_bytes));
    };
    let began = Instant::now();
    let ticking = Ticking::new("mapping");
    let mut drawn = began;
    while !stop.is_set() {
        let spent = began.elapsed().as_nanos() as f64 / args.budget.0.max(1) as f64;
        if drawn.elapsed() > DRAW_EVERY {
            drawn = Instant::now();
            ticking.says(&format!("mapping: {:.0} %, {} reads", spent * 100.0, survey.samples().len()));
        }
        let Some(look) = survey.next(spent) else { break };
        let Some(reading) = reader.read(look.offset_bytes, look.size_bytes).map_err(meant)? else { break };
        let Reading { at_ns, latency_ns, .. } = reading;
        survey.took(Sample { look, at_ns, latency_ns, outcome: outcome(&reading) });
    }
    Ok(survey)
}

fn outcome(reading: &Reading<'_>) -> Outcome {
    match &reading.data {
        Err(failure) => Outcome::Failed(failure.errno),
        Ok(Some(data)) if data.iter().all(|byte| *byte == 0) => Outcome::Zeros,
        Ok(_) => Outcome::Data,
    }
}

/// Reads an earlier map.
fn read(path: &Path) -> anyhow::Result<SurfaceMap> {
    let text = assay_target::input::read_text(path, MAP)?;
    maps::parsed(&text)
        .with_context(|| format!("{} is not a map: assay map TARGET -o FILE writes one", path.display()))
}

fn since(before: &SurfaceMap, now: &SurfaceMap) -> anyhow::Result<Comparison> {
    if before.target != now.target {
        note!("note: the baseline is a map of {}", before.target);
    }
    compare(before, now).with_context(|| {
        format!(
            "the baseline is a map of {}, and {} has {}: their places are not the same",
            Bytes(before.size_bytes).rounded(),
            now.target,
            Bytes(now.size_bytes).rounded()
        )
    })
}

fn tell(
    args: &MapArgs,
    map: &SurfaceMap,
    since: Option<&Comparison>,
    output: Option<&Output>,
) -> anyhow::Result<()> {
    let document = format!("{:#}\n", map_json(map, since));
    if let Some(output) = output {
        match output.kind() {
            OutputKind::Html => output.write(&assay_report::html::map(map, since), None)?,
            _ => output.write(&document, None)?,
        };
    }
    match args.form.json || output.is_some_and(Output::is_stdout) {
        true if args.form.json => say(&document),
        true => Ok(()),
        false => say(&map_text(map, since, text_options())),
    }
}

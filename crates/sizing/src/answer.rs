//! The answer to a sizing question: candidates, each at the fewest devices that carry the load.

mod legs;
mod search;
mod taken;

use std::fmt;

use assay_model::array::{Array, ArrayError, Level, SetError, set, shipped};
use assay_model::facts::usable_bytes;
use assay_model::open::Open;
use assay_model::resolved::Tables;
use assay_model::resolved::rebuild::{Rebuild, rebuild};
use assay_spec::suggest;
use serde::Serialize;

pub use legs::group_max;
use legs::{counts, grown, in_whole_legs, leg_of, leg_of_array, resized};
use search::{first_index, first_that, guessed};
use taken::{
    WRITE_BACK, cache_of_devices, capacity, common, is_another_size, says_of_writes, state_of_devices,
    waits_for_disks,
};

use super::assess::{
    Ends, SIMULATED_IOS, UNCHECKED, assess, carries, checked, full_iops, lost, quick, sustained,
};
use super::{Assessment, BUSY_MAX, CLASSES, Endure, LatencyLimit, Need, Precision, Prices, Question, Short};

/// Rounds that correct the number of devices, at most: each is simulated where it is for the answer, and the first one
/// where a candidate only stands beside it.
const ROUNDS: u32 = 4;
/// Logarithm of how far the open form of a candidate beside the answer is from the limit where the simulation is asked:
/// further than any error of it that is known.
const UNSURE: f64 = 0.5;
/// Logarithm of how far a simulation is from the limit where its noise may decide, and how many times as many I/Os do.
const NOISE: f64 = 0.1;
const MORE_IOS: u64 = 4;
/// Logarithm of how far factors of the open form are apart that differ by noise only.
const SIMILAR: f64 = 0.1;
/// Part of a rate that counts as the whole.
const NO_LESS: f64 = 0.99;
/// Time of the disks that a rebuild takes where an array file does not say, %: the default of common controllers.
const REBUILD_PCT: f64 = 30.0;

/// Why there is no answer. The message is complete.
#[derive(Debug)]
pub enum SizingError {
    /// A change or a level does not fit an array.
    Set(String, SetError),
    /// A shipped array does not parse.
    Array(ArrayError),
    /// The question leaves out what it needs, or gives what cannot be.
    Question(String),
}

impl fmt::Display for SizingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(name, error) => write!(f, "{name}: {error}"),
            Self::Array(error) => write!(f, "{error}"),
            Self::Question(says) => f.write_str(says),
        }
    }
}

impl std::error::Error for SizingError {}

/// A state of the answer: healthy, with a failed device, under a rebuild.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct State {
    /// Which.
    pub state: Endure,
    /// What it carries then.
    pub assessment: Assessment,
    /// The rebuild itself, where there is one.
    pub rebuild: Option<Rebuild>,
    /// Share of the devices' time that it takes, %; `None`: nothing is rebuilt.
    pub rebuild_pct: Option<f64>,
}

/// The effect of a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The override.
    pub change: String,
    /// With it.
    pub assessment: Assessment,
}

/// Something that may carry the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The array that was assessed.
    pub array: Array,
    /// What it is called in a sentence: `12 x 7200 rpm disks in RAID10`.
    pub name: String,
    /// Devices.
    pub disks: u32,
    /// What it carries.
    pub assessment: Assessment,
    /// The same with one step fewer devices, and how many these are; `None`: there is none, or it was not searched for.
    pub less: Option<(u32, Assessment)>,
    /// Fewest devices at the slow end of all ranges; `None`: not searched for, or more than a proposal has.
    pub sure_disks: Option<u32>,
    /// Money, where prices are given.
    pub cost: Option<f64>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// All that was assessed, the best first: those that carry the load before those that do not, by cost or devices.
    pub candidates: Vec<Candidate>,
    /// The best one with a failed device and under a rebuild, where it survives that.
    pub states: Vec<State>,
    /// Effects of changes on the best one.
    pub changes: Vec<Change>,
    /// The best one with a protected write-back cache in front of its disks, where there is none and it may count.
    pub cached: Option<Candidate>,
}

impl Answer {
    /// The best candidate, if it carries the load.
    #[must_use]
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|c| c.assessment.carries())
    }
}

/// How a candidate is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    /// As the answer.
    Answer,
    /// As one that stands beside it.
    Beside,
}

impl Care {
    /// Whether a round of a candidate is simulated.
    fn asks(self, round: u32, array: &Array, need: &Need, tables: &mut Tables) -> bool {
        self == Self::Answer || round == 0 && is_near_limit(array, need, (UNCHECKED, UNSURE), tables)
    }
}

/// Service times that are known: of what is answered, and of what is searched.
pub(super) struct Kept {
    exact: Tables,
    rough: Tables,
    /// What the simulation said of arrays under the need: that of the answer begins as it was found beside others.
    checked: Vec<(Array, Open)>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { exact: Tables::default(), rough: Tables::rough(), checked: Vec::new() }
    }
}

impl Kept {
    /// The simulation over the open form at the rate of the need, which is the same for all that is asked here.
    fn checked(&mut self, array: &Array, need: &Need) -> Open {
        if let Some((_, known)) = self.checked.iter().find(|(known, _)| known == array) {
            return *known;
        }
        let found = checked(array, need, SIMULATED_IOS, &mut self.exact);
        self.checked.push((array.clone(), found));
        found
    }
}

/// Answers a question. `arrays` are described ones; without them the question's classes and levels are tried.
///
/// # Errors
/// See [`SizingError`].
pub fn answer(
    question: Question,
    arrays: &[Array],
    prices: &Prices,
    precision: Precision,
) -> Result<Answer, SizingError> {
    let mut tables = Kept::default();
    let mut question = question;
    let mut candidates = Vec::new();
    check_prices(&question, prices, arrays)?;
    let mut series = match arrays {
        [] => proposals(&mut question)?,
        arrays => described(&question, arrays)?,
    };
    state_of_devices(&mut question, series.iter_mut().map(|one| &mut one.array))?;
    says_of_writes(&mut question, series.iter().map(|one| &one.array));
    check_changes(&question, &series)?;
    // An array of a file may have caches and pools of workers, which the open form leaves out.
    let care = if arrays.is_empty() { Care::Beside } else { Care::Answer };
    for one in &series {
        let found = one.fewest(&question, prices, (precision, care), &mut tables)?;
        candidates.extend(found.map(|candidate| (one, candidate, care)));
    }
    let sorted = best_first(candidates, &question, prices, precision, &mut tables)?;
    let cached = match sorted.first() {
        Some((series, ..)) => with_write_back(series, &question, prices, precision, &mut tables)?,
        None => None,
    };
    let candidates = sorted.into_iter().map(|(_, candidate, _)| candidate).collect();
    let mut answer = Answer { question, candidates, states: Vec::new(), changes: Vec::new(), cached };
    if let Some(best) = answer.candidates.first() {
        answer.states = states(&best.array, &answer.question, precision, &mut tables.exact);
        answer.changes = changes(&best.array, &answer.question, precision, &mut tables.exact)?;
    }
    Ok(answer)
}

/// Sorts candidates. The first is found with the simulation, and so is each that comes first as another one falls back.
fn best_first<'a>(
    mut candidates: Vec<(&'a Series, Candidate, Care)>,
    question: &Question,
    prices: &Prices,
    precision: Precision,
    tables: &mut Kept,
) -> Result<Vec<(&'a Series, Candidate, Care)>, SizingError> {
    loop {
        candidates.sort_by(|(_, a, _), (_, b, _)| {
            let ((group, by), (other_group, other)) = (rank(a), rank(b));
            group.cmp(&other_group).then(by.total_cmp(&other))
        });
        match candidates.first_mut() {
            Some((series, best, care)) if precision == Precision::Simulated && *care != Care::Answer => {
                *care = Care::Answer;
                if let Some(found) = series.fewest(question, prices, (precision, *care), tables)? {
                    *best = found;
                }
            }
            _ => return Ok(candidates),
        }
    }
}

/// The series with a protected write-back cache, where its disks have none and writes wait for them.
fn with_write_back(
    series: &Series,
    question: &Question,
    prices: &Prices,
    precision: Precision,
    tables: &mut Kept,
) -> Result<Option<Candidate>, SizingError> {
    let mut array = series.array.clone();
    if !waits_for_disks(&array, &question.need) {
        return Ok(None);
    }
    apply(&mut array, WRITE_BACK)?;
    let (price_word, counts) = (series.price_word.clone(), series.counts.clone());
    let cached = Series { array, devices: series.devices, price_word, counts };
    cached.fewest(question, prices, (precision, Care::Answer), tables)
}

/// Lower is better: what carries the load first, by cost, then what has no price, by devices; of those that do not, the
/// fastest first.
fn rank(candidate: &Candidate) -> (u8, f64) {
    let assessment = &candidate.assessment;
    match candidate.cost {
        _ if !assessment.carries() => (2, -assessment.most_iops),
        Some(cost) => (0, cost),
        None => (1, f64::from(candidate.disks)),
    }
}

/// Refuses a change that fits none of the arrays, before they are searched.
fn check_changes(question: &Question, series: &[Series]) -> Result<(), SizingError> {
    for change in &question.changes {
        let tries = series.iter().map(|one| apply(&mut one.array.clone(), change));
        let errors: Vec<SizingError> = tries.filter_map(Result::err).collect();
        if errors.len() == series.len()
            && let Some(error) = errors.into_iter().next()
        {
            return Err(error);
        }
    }
    Ok(())
}

fn check_prices(question: &Question, prices: &Prices, arrays: &[Array]) -> Result<(), SizingError> {
    let refuse = |says: String| Err(SizingError::Question(says));
    let is_class = |name: &str| CLASSES.iter().any(|class| class.word == name);
    let mut known = vec!["disk"];
    match arrays {
        [] => known.extend(CLASSES.iter().map(|class| class.word)),
        arrays => known.extend(arrays.iter().map(|a| a.name.as_str())),
    }
    for name in prices.keys().map(String::as_str) {
        if !arrays.is_empty() && is_class(name) && !known.contains(&name) {
            return refuse(format!(
                "--price {name}: the price of a class is for proposals; with --array, give disk=AMOUNT for each \
                 device, or the price of an array by its name"
            ));
        }
        if !known.contains(&name) {
            return refuse(format!(
                "--price {name}: there is no such device or array here{}",
                suggest(name, &known)
            ));
        }
        if name != "disk"
            && !arrays.is_empty()
            && (question.how_many || question.disks.is_some() || question.limits_devices())
        {
            return refuse(format!(
                "--price {name}: the price of an array is for the devices that it has, and the question varies \
                 their number; give disk=AMOUNT, the price of one device"
            ));
        }
    }
    Ok(())
}

/// Arrays that differ in their number of devices only.
struct Series {
    array: Array,
    /// What its devices are called; empty for described arrays.
    devices: &'static str,
    price_word: String,
    /// Numbers of devices to choose from, rising.
    counts: Vec<u32>,
}

/// The arrays as they are described, or at the levels and with the numbers of devices that the question asks for.
fn described(question: &Question, arrays: &[Array]) -> Result<Vec<Series>, SizingError> {
    if let Some(class) = question.classes.first() {
        return Err(SizingError::Question(format!(
            "{}: an array of --array has its own devices; leave these words out, or --array",
            class.name
        )));
    }
    let levels: Vec<Option<Level>> = match &question.levels[..] {
        [] => vec![None],
        given => given.iter().copied().map(Some).collect(),
    };
    let each = arrays.iter().flat_map(|array| levels.iter().map(move |level| (array, *level)));
    each.map(|(array, level)| described_at(question, array, level)).collect()
}

fn described_at(question: &Question, array: &Array, level: Option<Level>) -> Result<Series, SizingError> {
    let varies = question.disks.is_none() && (question.how_many || question.limits_devices());
    let mut array = array.clone();
    if let Some(level) = level.filter(|level| *level != array.raid.level) {
        let least = || counts(level, leg_of(level)).first().copied().unwrap_or(1);
        let disks = if varies { least() } else { question.disks.unwrap_or_else(|| count_of(&array)) };
        in_whole_legs(level, disks)?;
        apply(&mut array, &resized(level, disks))?;
    }
    apply(&mut array, &common(question, false))?;
    let counts = match question.disks {
        Some(disks) => vec![disks],
        None if varies => limited(question, counts(array.raid.level, leg_of_array(&array))),
        None => vec![count_of(&array)],
    };
    if counts.is_empty() {
        return no_such_number(question, &array.name);
    }
    Ok(Series { price_word: array.name.clone(), array, devices: "", counts })
}

fn count_of(array: &Array) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: 1 to 4096")]
    let disks = array.raid.disks.value as u32;
    disks
}

/// Every class at every level of the question.
fn proposals(question: &mut Question) -> Result<Vec<Series>, SizingError> {
    if question.need.iops.is_none() && question.disks.is_none() && question.disks_most.is_none() {
        return Err(SizingError::Question(
            "say how many I/Os per second are needed (\"2000 IOPS\", or \"500 sessions x 20 tps x 4 I/Os\"), how many \
             disks there are (\"12 disks\"), or name an array with --array"
                .to_owned(),
        ));
    }
    let classes = match &question.classes[..] {
        [] => ["7200rpm", "ssd", "nvme"]
            .iter()
            .filter_map(|w| CLASSES.iter().find(|c| c.word == *w))
            .copied()
            .collect(),
        given => given.to_vec(),
    };
    let levels = levels_of(question);
    if question.need.data.is_none() && question.need.active.is_none() {
        question.assumed.push("I/Os go to the whole array, because no amount of data was given.".to_owned());
    }
    let mut series = Vec::new();
    let (mut sizes, mut is_other_size) = (Vec::new(), false);
    for class in classes {
        let base = shipped::named(class.array).ok_or_else(|| {
            SizingError::Question(format!("no array `{}` ships with this build", class.array))
        })?;
        for level in &levels {
            let mut array = base.clone().map_err(SizingError::Array)?;
            let size = format!("{} of {}", class.name, capacity(&array));
            is_other_size |= question.disk_size.is_some_and(|each| is_another_size(each, capacity(&array)));
            if !sizes.contains(&size) {
                sizes.push(size);
            }
            let all = || limited(question, counts(*level, leg_of(*level)));
            let counts = question.disks.map_or_else(all, |disks| vec![disks]);
            if counts.is_empty() {
                continue;
            }
            let first = counts.first().copied().unwrap_or(1);
            in_whole_legs(*level, first)?;
            apply(&mut array, &format!("link.rate=none {}", resized(*level, first)))?;
            let cache = cache_of_devices(question, &array);
            apply(&mut array, &format!("{} {cache}", common(question, true)))?;
            series.push(Series { array, devices: class.name, price_word: class.word.to_owned(), counts });
        }
    }
    if series.is_empty() {
        let names: Vec<String> = levels.iter().map(|level| level.name().to_owned()).collect();
        return no_such_number(question, &names.join(", "));
    }
    if question.disk_size.is_none() {
        let says = format!("{}, because no size of a device was given.", sizes.join(", "));
        question.assumed.push(says);
    } else if is_other_size {
        let says =
            format!("The speed is that of {}; drives of another size have another one.", sizes.join(", "));
        question.assumed.push(says);
    }
    Ok(series)
}

/// The levels of a question, or the usual ones that have its number of devices.
fn levels_of(question: &Question) -> Vec<Level> {
    match (&question.levels[..], question.disks) {
        ([], Some(1)) => vec![Level::Single],
        ([], disks) => {
            // A number of devices that a level cannot have leaves it out.
            let fits = |level: &Level| {
                disks.is_none_or(|disks| match level {
                    Level::Raid10 => disks.is_multiple_of(2),
                    level => counts(*level, None).first().is_none_or(|least| disks >= *least),
                })
            };
            [Level::Raid10, Level::Raid5, Level::Raid6].into_iter().filter(fits).collect()
        }
        (given, _) => given.to_vec(),
    }
}

/// Numbers of devices within the limits of the question; the largest of them where the highest rate is asked for.
fn limited(question: &Question, mut counts: Vec<u32>) -> Vec<u32> {
    let (least, most) = (question.disks_least.unwrap_or(1), question.disks_most.unwrap_or(u32::MAX));
    counts.retain(|count| (least..=most).contains(count));
    if question.need.iops.is_none() && question.disks_most.is_some() {
        counts.drain(..counts.len().saturating_sub(1));
    }
    counts
}

fn no_such_number<T>(question: &Question, of: &str) -> Result<T, SizingError> {
    let most = question.disks_most.map(|most| format!("at most {most}"));
    let limits: Vec<String> =
        question.disks_least.map(|least| format!("at least {least}")).into_iter().chain(most).collect();
    Err(SizingError::Question(format!(
        "{} disks: {of} has no such number that is proposed; change the limit, or give the number of disks",
        limits.join(" and ")
    )))
}

fn apply(array: &mut Array, overrides: &str) -> Result<(), SizingError> {
    set(array, overrides).map_err(|error| SizingError::Set(array.name.clone(), error))
}

impl Series {
    /// The array with this many devices, in the state that must still carry the load; `None` if there is no such array.
    fn sized(&self, disks: u32, endure: Endure) -> Option<Array> {
        let mut array = self.array.clone();
        set(&mut array, &self.change_to(disks)).ok()?;
        in_state(&array, endure)
    }

    fn change_to(&self, disks: u32) -> String {
        match self.devices {
            "" => grown(&self.array, disks),
            _ => resized(self.array.raid.level, disks),
        }
    }

    /// The fewest devices that carry the load, or the most that there are.
    fn fewest(
        &self,
        question: &Question,
        prices: &Prices,
        (precision, care): (Precision, Care),
        kept: &mut Kept,
    ) -> Result<Option<Candidate>, SizingError> {
        let need = &question.need;
        // What survives with some devices does with more.
        let lost = self.counts.partition_point(|n| self.sized(*n, question.endure).is_none());
        let counts = &self.counts[lost..];
        let Some(last) = counts.len().checked_sub(1) else {
            return self.lost(need, prices, &mut kept.exact);
        };
        let sized = |index: usize| counts.get(index).and_then(|n| self.sized(*n, question.endure));
        let fewest = |(from, at): (usize, usize), ends: Ends, factor: Open, tables: &mut Tables| {
            if ends == Ends::All && sized(at).is_some_and(|array| carries(&array, need, factor, ends, tables))
            {
                return Some(at);
            }
            let guess =
                guessed(counts, at.max(from), (need, factor, ends), &mut |index| sized(index), tables);
            let mut ask =
                |index| sized(index).is_some_and(|array| carries(&array, need, factor, ends, tables));
            first_that(last, from, guess.max(from), &mut ask)
        };
        let mut factor = UNCHECKED;
        let mut at = fewest((0, 0), Ends::None, factor, &mut kept.rough).unwrap_or(last);
        // What has been shown to be too few, and to be enough, with the service times of these arrays themselves.
        let (mut lower, mut upper) = (0, last);
        for number in 0..ROUNDS {
            let Some(array) = sized(at) else { break };
            if precision == Precision::Simulated && care.asks(number, &array, need, &mut kept.exact) {
                factor = together(factor, kept.checked(&array, need), number);
            }
            match carries(&array, need, factor, Ends::None, &mut kept.exact) {
                true => upper = at,
                false => lower = (at + 1).min(upper),
            }
            let next =
                fewest((lower, at), Ends::None, factor, &mut kept.rough).unwrap_or(last).clamp(lower, upper);
            if next == at {
                break;
            }
            at = next;
        }
        at = self.nearest(at, question, factor, &mut kept.rough);
        let searched = counts.len() > 1 && need.iops.is_some();
        let sure = searched.then(|| fewest((at, at), Ends::All, factor, &mut kept.rough)).flatten();
        let sure_disks = sure.map(|index| counts[index]);
        let (Some(array), Some(healthy)) = (sized(at), self.sized(counts[at], Endure::Healthy)) else {
            return Ok(None);
        };
        let precision = if care == Care::Answer { precision } else { Precision::Closed };
        let assessment = assess(&array, need, precision, factor, &mut kept.exact);
        let less = at
            .checked_sub(1)
            .filter(|_| searched)
            .and_then(|below| Some((counts[below], quick(&sized(below)?, need, factor, &mut kept.exact))));
        Ok(Some(Candidate {
            name: self.name(&healthy, counts[at]),
            cost: self.cost(prices, counts[at]),
            array: healthy,
            disks: counts[at],
            assessment,
            less,
            sure_disks,
        }))
    }

    /// The index of the fewest devices that come as near to the need as the most do, where more bring nothing: an idle
    /// one takes too long, or something in front of them is full.
    fn nearest(&self, at: usize, question: &Question, factor: Open, tables: &mut Tables) -> usize {
        let need = &question.need;
        let counts =
            &self.counts[self.counts.partition_point(|n| self.sized(*n, question.endure).is_none())..];
        let sized = |index: usize| counts.get(index).and_then(|n| self.sized(*n, question.endure));
        // What a change brings is seen with all of them.
        let is_last = at + 1 == counts.len() && question.changes.is_empty();
        let (Some(array), Some(iops)) = (sized(at).filter(|_| is_last), need.iops) else {
            return at;
        };
        let most = full_iops(&array, need, tables);
        let enough = match quick(&array, need, factor, tables).short {
            Some(Short::Rate) => most,
            Some(Short::Latency) if sustained(&array, need, factor, Ends::None, tables) <= 0.0 => {
                (iops / BUSY_MAX).min(most)
            }
            _ => return at,
        };
        first_index(at, |index| {
            let is_enough = |array: Array| {
                full_iops(&array, need, tables) >= enough * NO_LESS && usable_bytes(&array) >= need.bytes()
            };
            sized(index).is_some_and(is_enough)
        })
    }

    /// The candidate where no number of devices survives what the load must endure.
    fn lost(
        &self,
        need: &Need,
        prices: &Prices,
        tables: &mut Tables,
    ) -> Result<Option<Candidate>, SizingError> {
        let Some(disks) = self.counts.first().copied() else { return Ok(None) };
        let Some(array) = self.sized(disks, Endure::Healthy) else {
            // The reason why there is no such array at all.
            let mut array = self.array.clone();
            return apply(&mut array, &self.change_to(disks)).map(|()| None);
        };
        Ok(Some(Candidate {
            name: self.name(&array, disks),
            cost: self.cost(prices, disks),
            assessment: lost(&array, need, tables),
            array,
            disks,
            less: None,
            sure_disks: None,
        }))
    }

    fn name(&self, array: &Array, disks: u32) -> String {
        if self.devices.is_empty() {
            return if self.counts.len() > 1 {
                format!("{} with {disks} devices", array.name)
            } else {
                array.name.clone()
            };
        }
        let singular = self.devices.strip_suffix('s').unwrap_or(self.devices);
        match array.raid.level {
            Level::Single => format!("one {singular}"),
            level if disks == 1 => format!("one {singular} in {}", level.name()),
            level => format!("{disks} x {} in {}", self.devices, level.name()),
        }
    }

    fn cost(&self, prices: &Prices, disks: u32) -> Option<f64> {
        let each = || prices.get("disk").map(|price| price * f64::from(disks));
        let own = prices.get(&self.price_word);
        if self.devices.is_empty() {
            own.copied().or_else(each)
        } else {
            own.map(|p| p * f64::from(disks)).or_else(each)
        }
    }
}

/// What several simulations say of the open form: the mean of those before and this one, as each has its own noise,
/// unless they are of arrays that differ.
fn together(before: Open, this: Open, number: u32) -> Open {
    let mean = |before: f64, this: f64| match (this / before).ln().abs() < SIMILAR {
        true if number > 0 => (before * f64::from(number) + this) / f64::from(number + 1),
        _ => this,
    };
    Open { mean_ms: mean(before.mean_ms, this.mean_ms), p99_ms: mean(before.p99_ms, this.p99_ms) }
}

/// The array in a state: with one failed device more than its file has. `None` if it does not survive that.
fn in_state(array: &Array, state: Endure) -> Option<Array> {
    let mut array = array.clone();
    let failed = array.raid.failed.as_ref().map_or(0.0, |failed| failed.value) + 1.0;
    let change = match (state, &array.raid.rebuild_pct) {
        (Endure::Healthy, _) => return Some(array),
        (Endure::Rebuilding, None) => format!("raid.failed={failed} raid.rebuild_pct={REBUILD_PCT}"),
        (Endure::Failed, _) | (Endure::Rebuilding, Some(_)) => format!("raid.failed={failed}"),
    };
    set(&mut array, &change).ok()?;
    Some(array)
}

/// Assesses an array that nothing is searched for.
fn assess_alone(array: &Array, need: &Need, precision: Precision, tables: &mut Tables) -> Assessment {
    let factor = match precision {
        Precision::Closed => UNCHECKED,
        Precision::Simulated => {
            let factor = checked(array, need, SIMULATED_IOS, tables);
            match is_near_limit(array, need, (factor, NOISE), tables) {
                true => checked(array, need, SIMULATED_IOS * MORE_IOS, tables),
                false => factor,
            }
        }
    };
    assess(array, need, precision, factor, tables)
}

/// Whether the latency by the open form and a factor is so near to its limit that more I/Os may say otherwise.
fn is_near_limit(array: &Array, need: &Need, (factor, near): (Open, f64), tables: &mut Tables) -> bool {
    let found = quick(array, need, factor, tables).latency_ms;
    need.limit != LatencyLimit::None && found.is_some_and(|ms| (ms.value / need.limit.ms()).ln().abs() < near)
}

/// The best candidate with a failed device.
fn states(array: &Array, question: &Question, precision: Precision, tables: &mut Tables) -> Vec<State> {
    let need = &question.need;
    let mut states = Vec::new();
    // A question about a failure asks what it costs, too.
    let is_asked = question.endure != Endure::Healthy;
    let healthy = is_asked.then_some(Endure::Healthy);
    for state in healthy.into_iter().chain([Endure::Failed, Endure::Rebuilding]) {
        let Some(array) = in_state(array, state) else { continue };
        let is_rebuilt = state == Endure::Rebuilding;
        states.push(State {
            state,
            assessment: assess_alone(&array, need, precision, tables),
            rebuild: rebuild(&array).filter(|_| is_rebuilt),
            rebuild_pct: array.raid.rebuild_pct.as_ref().filter(|_| is_rebuilt).map(|pct| pct.value),
        });
    }
    states
}

fn changes(
    array: &Array,
    question: &Question,
    precision: Precision,
    tables: &mut Tables,
) -> Result<Vec<Change>, SizingError> {
    question
        .changes
        .iter()
        .map(|change| {
            let mut changed = array.clone();
            apply(&mut changed, change)?;
            Ok(Change {
                change: change.clone(),
                assessment: assess_alone(&changed, &question.need, precision, tables),
            })
        })
        .collect()
}

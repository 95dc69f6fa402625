//! Which slow members of a stripe are named: every size of it, with the number of the member, the chunk and the factor.

use assay_analysis::{member_says, places};
use assay_diagnose::{Cause, HYPOTHESES, diagnose};
use assay_report::table::{Cell as TableCell, Column, Format, Table};

use crate::case::{Cell, KINDS, cells};
use crate::header::header;
use crate::validation::{of_each, recorded};
use crate::world::Serves;

/// I/Os in flight.
const OUTSTANDING: [usize; 4] = [1, 2, 4, 32];
/// A factor that is stated is right within this.
const RIGHT: std::ops::Range<f64> = 0.8..1.25;
/// Time for a diagnosis, s: a short one.
const BUDGET_S: f64 = 30.0;

/// What is said of a stripe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// The slow members, and by how much the first of them is slower: as the cause, or beside another one.
    Named { cause: Cause, times: f64 },
    /// Another member, chunk or number of members.
    Wrong { cause: Cause, says: String },
    /// No member.
    NotNamed { cause: Cause, probability: f64 },
}

/// Diagnoses a stripe as `assay diagnose` does.
pub(crate) fn said(cell: &Cell) -> Said {
    let case = cell.case(BUDGET_S);
    let header = header(&case);
    let summary = recorded(&case, &header, &HYPOTHESES).summary();
    let of = diagnose(&header, &summary).expect("the load itself comes first");
    let (cause, probability) = (of.odds[0].cause, of.odds[0].probability);
    let found = places(&header, &summary, 0).and_then(|places| Some((member_says(&places)?, places)));
    let Some((says, places)) = found else {
        return Said::NotNamed { cause, probability };
    };
    // What is known and not said is not named.
    if !of.evidence.to_lowercase().contains(&says.to_lowercase()) {
        return Said::NotNamed { cause, probability };
    }
    let stripe = places.stripe.as_ref().expect("it says which member");
    let slow = stripe.slow.iter().fold(0, |bits, member| bits | 1 << (member.member - 1));
    let times = places.times_alone.unwrap_or(stripe.slow[0].times);
    let is_right = (stripe.chunk_bytes, stripe.members as usize, slow)
        == (cell.chunk_kib << 10, cell.members, cell.slow)
        && RIGHT.contains(&(times / cell.slower));
    match is_right {
        true => Said::Named { cause, times },
        false => Said::Wrong { cause, says },
    }
}

/// Returns the matrix as a section of `docs/diagnosis-validation.md`.
pub(crate) fn section() -> String {
    let mut text = include_str!("../doc/stripes.md").to_owned();
    for serves in [Serves::OneAtATime, Serves::All] {
        for outstanding in OUTSTANDING {
            text.push_str(&table(outstanding, serves));
        }
    }
    text
}

fn table(outstanding: usize, serves: Serves) -> String {
    let all = cells(outstanding, serves);
    let said = of_each(&all, &said);
    let count = |is: &dyn Fn(&Said) -> bool| said.iter().filter(|said| is(said)).count();
    let named = count(&|said| matches!(said, Said::Named { .. }));
    let wrong = count(&|said| matches!(said, Said::Wrong { .. }));
    // The cells of a chunk are a row, in the same order in each.
    let title = |cell: &Cell| Column::text(&format!("{} members, {} times", cell.members, cell.slower));
    let of_row = all.iter().take_while(|cell| cell.chunk_kib == all[0].chunk_kib);
    let mut of = Table::new(std::iter::once(Column::text("chunk")).chain(of_row.map(title)).collect());
    for (row, said) in all.chunks(KINDS).zip(said.chunks(KINDS)) {
        let chunk = format!("{} KiB", row[0].chunk_kib);
        of.push(std::array::from_fn::<_, { KINDS + 1 }, _>(|column| {
            TableCell::Text(if column == 0 { chunk.clone() } else { words(&said[column - 1]) })
        }));
    }
    let how = match serves {
        Serves::OneAtATime => "members that serve one at a time",
        Serves::All => "members that serve all at once",
    };
    format!(
        "### {outstanding} in flight, {how}\n\n{named} of {} named, {wrong} wrong.\n\n{}\n",
        all.len(),
        of.render(Format::Markdown)
    )
}

fn words(said: &Said) -> String {
    match said {
        Said::Named { cause: Cause::SlowMember, times } => format!("{times:.1}"),
        Said::Named { cause, times } => format!("{times:.1}, beside {}", cause.name()),
        Said::Wrong { cause, says } => format!("WRONG: {says} ({})", cause.name()),
        Said::NotNamed { cause, probability } => {
            format!("not named: {}, {:.0} %", cause.name(), probability * 100.0)
        }
    }
}

use std::sync::LazyLock;

use assay_model::family::Family;
use assay_model::published;
use assay_model::validate::{CrossedRow, Validation, learned_table, systems, validate};

/// Seconds of work, for all tests once.
static VALIDATION: LazyLock<Validation> =
    LazyLock::new(|| validate().expect("the shipped tables can be read"));

/// Ratios of an earlier version of the model: a drift is either a mistake or has to be explained by whoever
/// stores new ones (`cargo run --release -p assay-model --example ratios`).
const STORED: &str = include_str!("ratios.txt");

#[test]
fn hardware_limited_rows_are_predicted_from_sheets_within_0_8_and_1_26() {
    let v = &*VALIDATION;
    assert!(v.hardware().count() >= 14);
    for c in v.hardware() {
        // The article gives two decimals: 1.26 means less than 1.265.
        assert!((0.8..1.265).contains(&c.ratio), "{} {}: {:.3}", c.table, c.test, c.ratio);
    }
}

#[test]
fn calibrated_rows_have_a_median_error_of_at_most_11_percent() {
    let v = &*VALIDATION;
    assert_eq!(v.cross.len(), 16);
    assert!(v.cross_median_error() <= 0.11, "{:.4}", v.cross_median_error());
    let within_20 = v.cross.iter().filter(|c| (c.ratio - 1.0).abs() <= 0.20).count();
    assert!(within_20 >= 14, "{within_20}");
}

#[test]
fn the_block_sweep_predicts_itself_within_3_percent() {
    let v = &*VALIDATION;
    assert_eq!(v.sweep.len(), 30);
    let mean = v.sweep.iter().map(|c| (c.ratio - 1.0).abs()).sum::<f64>() / 30.0;
    assert!(mean < 0.03, "{mean}");
}

#[test]
fn no_ratio_drifts_by_more_than_5_percent() {
    let now = VALIDATION.ratios();
    let stored: Vec<(f64, &str)> = STORED
        .lines()
        .filter_map(|l| l.split_once(" | "))
        .map(|(ratio, name)| (ratio.parse().expect("a stored ratio is a number"), name))
        .collect();
    assert_eq!(stored.len(), now.len(), "rows came or went: store the ratios again");
    for ((old, name), (new_name, new)) in stored.iter().zip(&now) {
        assert_eq!(name, new_name);
        assert!((new / old - 1.0).abs() <= 0.05, "{name}: {old:.4} became {new:.4}");
    }
}

#[test]
fn every_published_table_parses_and_is_consistent() {
    let all = published::all().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all.len(), 5);
    for table in &all {
        assert!(!table.source.is_empty());
        for row in &table.rows {
            if let (Some(iops), Some(mib_s), Some(size)) = (row.iops, row.mib_s, row.size_bytes) {
                // Printed with one decimal, 0.8 MiB/s can be 6 % off; the product decides the unit.
                let exact = iops * size as f64 / 1_048_576.0;
                assert!((exact - mib_s).abs() < 0.06, "{}: {exact} against {mib_s}", row.test);
            }
            if let Some(model) = &row.model {
                assert!(model.span.parse::<assay_spec::units::Bytes>().is_ok(), "{}", row.test);
                assert!(row.workload().is_some() && row.measured_iops().is_some(), "{}", row.test);
            }
        }
    }
}

#[test]
fn a_published_file_with_a_slip_says_where() {
    let error = published::parse(
        "x",
        "name = \"x\"\nsystem = \"\"\nsource = \"\"\nsetup = \"\"\n[[row]]\ntest = \"a\"\niosp = 3\n",
    );
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("published/x.toml") && message.contains("line 7") && message.contains("iosp"),
        "{message}"
    );
}

/// The factors that predictions carry are those of the rows, and hold for each system with what the others teach.
#[test]
fn what_ships_is_what_the_rows_teach_and_holds_for_systems_that_taught_nothing() {
    let rows = &VALIDATION.crossed;
    let shipped = include_str!("../../../../published/learned.tsv");
    assert_eq!(
        learned_table(rows),
        shipped,
        "cargo run -p assay-model --example learned > published/learned.tsv"
    );
    let stated: Vec<&CrossedRow> = rows.iter().filter(|row| !row.is_bound).collect();
    let check = |name: &str, rows: &[&CrossedRow]| {
        for (level, least) in [(0, 0.45), (1, 0.80), (2, 0.90)] {
            let inside = rows.iter().filter(|row| row.is_inside(level)).count() as f64 / rows.len() as f64;
            assert!(inside >= least, "{name}: {inside:.2} at level {level} of {} rows", rows.len());
        }
    };
    check("all", &stated);
    for family in Family::ALL {
        let of: Vec<&CrossedRow> = stated.iter().copied().filter(|row| row.family == family).collect();
        if systems(&of) > 5 {
            check(family.says(), &of);
        }
    }
}

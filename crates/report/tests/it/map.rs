//! A map as text and as a document.

use assay_report::map::{map_json, map_text};
use assay_report::text::{Detail, TextOptions};
use assay_spec::random::split_mix;
use assay_surface::{Ground, Order, Outcome, Sample, SurfaceMap, Survey, compare, map_of};

const GIB: u64 = 1 << 30;

/// A stripe of four with a slow third member, a hole, an unreadable place and a weak one.
fn map(worn: bool) -> SurfaceMap {
    let ground = Ground { size_bytes: 16 * GIB, block_bytes: 512, read_bytes_max: 1 << 20 };
    let mut survey = Survey::new(ground, Order::Random, 1).unwrap();
    let (mut at_ns, mut random) = (0, 5);
    for done in 0..4000 {
        let look = survey.next(f64::from(done) / 4000.0).unwrap();
        let offset = look.offset_bytes;
        let is_slow = offset / (64 << 10) % 4 == 2;
        let base = if is_slow { 5_000_000 } else { 1_000_000 };
        let worn = if worn && offset / GIB == 12 { 8 } else { 1 };
        let hole = offset / GIB == 4;
        let latency_ns = if hole { 20_000 } else { base * worn } * (100 + split_mix(&mut random) % 20) / 100;
        let outcome = match () {
            () if hole => Outcome::Zeros,
            () if offset / (32 << 20) == 9 * 32 => Outcome::Failed(5),
            () => Outcome::Data,
        };
        survey.took(Sample { look, at_ns, latency_ns, outcome });
        at_ns += latency_ns;
    }
    map_of("/dev/sdx", &survey)
}

#[test]
fn a_map_is_a_picture_and_sentences() {
    let text = map_text(&map(false), None, TextOptions::default());
    insta::assert_snapshot!(text);
}

/// Rows of the picture wrapped at 80 columns and at 60, and a map of many latencies took more than a screen.
#[test]
fn a_map_fits_80_and_60_columns_and_a_screen() {
    for width in [80, 60] {
        let options = TextOptions { width, detail: Detail::Brief, ..TextOptions::default() };
        let text = map_text(&map(false), None, options);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(width < 80 || text.lines().count() <= 22, "{text}");
        assert!(text.contains("SLOW MEMBER: member 3 of 4") && text.contains("<8.4 ms |"), "{text}");
    }
}

#[test]
fn a_map_follows_its_schema_and_is_read_back() {
    let schema = include_str!("../../../../docs/assay.map-1.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    let (before, now) = (map(false), map(true));
    let since = compare(&before, &now).unwrap();
    assert!(since.changed.iter().all(|cell| cell.from_bytes / GIB == 12) && !since.changed.is_empty());
    let document = map_json(&now, Some(&since));
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(document["findings"].as_array().unwrap().len() >= 4, "{}", document["findings"]);
    let mut broken = document.clone();
    broken["cells"][0]["median_ns"] = (-1).into();
    assert!(!validator.is_valid(&broken));
    let text = serde_json::to_string_pretty(&document).unwrap();
    let back: SurfaceMap = serde_json::from_str(&text).unwrap();
    assert_eq!((back.size_bytes, back.findings.len()), (now.size_bytes, now.findings.len()));
    let text = map_text(&now, Some(&since), TextOptions::default());
    assert!(text.contains("SLOWER: 12 GiB to"), "{text}");
}

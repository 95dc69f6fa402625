//! Sentences must not contradict physics or each other: properties over every array and table that ships.

use std::sync::Arc;

use assay_analysis::{Agreement, Case, Judgement, Measured, Modelled, Severity, judge_published};
use assay_model::array::{Array, shipped};
use assay_model::predict::Engines;
use assay_model::published;
use assay_model::resolved::{Software, Tables};
use assay_model::workload::Workload;

/// Rates as shares of the expectation: far below, as expected, above, far above.
const SHARES: [f64; 5] = [0.1, 0.7, 1.0, 1.6, 20.0];

fn loads() -> Vec<Workload> {
    vec![
        Workload::simple("sequential read", 65_536, 100.0, 0.0, 32),
        Workload::simple("sequential write", 65_536, 0.0, 0.0, 32),
        Workload::simple("random read", 4096, 100.0, 100.0, 32),
        Workload::simple("random write", 8192, 0.0, 100.0, 32),
        Workload::simple("mixed", 8192, 70.0, 100.0, 64),
        Workload::simple("one at a time", 4096, 100.0, 100.0, 1),
    ]
}

fn cases(array: &Arc<Array>, share: f64, tables: &mut Tables) -> Vec<Case> {
    let of = |load: Workload| {
        let name = load.name.clone();
        let modelled = Modelled::new(array, load, Engines::Closed, tables);
        let p = &modelled.prediction;
        let base = if p.software == Software::Unknown { p.iops.hi } else { p.iops.value };
        let measured = Measured {
            name,
            iops: base * share,
            seconds: Some(30.0),
            write_mean_ms: Some(0.2),
            synced: true,
            ..Measured::default()
        };
        Case { step: None, measured, load: Some(modelled), beside: None }
    };
    loads().into_iter().map(of).collect()
}

/// Every judgement of every shipped array at every share, and of every published table.
fn all() -> Vec<(String, Judgement)> {
    let mut tables = Tables::default();
    let mut judged = Vec::new();
    for (name, _) in shipped::FILES {
        let array = Arc::new(shipped::named(name).unwrap().unwrap());
        for share in SHARES {
            let cases = cases(&array, share, &mut tables);
            // One by one too: then the run's verdict is about that test.
            for case in &cases {
                judged.push((
                    format!("{name} x{share}"),
                    Judgement::of(array.name.clone(), vec![case.clone()]),
                ));
            }
            judged.push((format!("{name} x{share}"), Judgement::of(array.name.clone(), cases)));
        }
    }
    for table in published::all().unwrap() {
        judged.push((table.name.clone(), judge_published(&table)));
    }
    judged
}

fn sentences(judgement: &Judgement) -> Vec<String> {
    let verdicts = judgement.verdicts.iter().flatten().map(|v| v.says.clone());
    let run = judgement.verdict.iter().map(|v| v.says.clone());
    let findings = judgement.findings.iter().map(|f| format!("{} {}", f.says, f.next));
    verdicts.chain(run).chain(findings).collect()
}

/// The numbers that follow `words`.
fn numbers_after(text: &str, words: &str) -> Vec<f64> {
    let number = |rest: &str| -> Option<f64> {
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        digits.replace(',', "").parse().ok()
    };
    text.split(words).skip(1).filter_map(number).collect()
}

#[test]
fn what_is_not_in_the_array_file_limits_nothing() {
    for (name, judgement) in all() {
        for says in sentences(&judgement) {
            assert!(!says.to_lowercase().contains("not in the array file"), "{name}: {says}");
            let lower = says.to_lowercase();
            for (faster, limits) in
                [("faster than expected", "limited by"), ("faster than expected", " limits ")]
            {
                assert!(!(lower.contains(faster) && lower.contains(limits)), "{name}: {says}");
            }
        }
    }
}

#[test]
fn flash_neither_seeks_nor_rotates() {
    let mut seen = 0;
    for (name, judgement) in all() {
        for (case, verdict) in judgement.cases.iter().zip(&judgement.verdicts) {
            let (Some(load), Some(verdict)) = (&case.load, verdict) else { continue };
            if load.random_pct() == 0.0 {
                assert!(
                    !verdict.experiment.contains("seek"),
                    "streams do not seek: {name}: {}",
                    verdict.says
                );
            }
            if !load.facts.rotating {
                seen += 1;
                for word in ["seek", "revolution", "disk"] {
                    assert!(!verdict.says.contains(word), "{name}: {}", verdict.says);
                }
            }
        }
        let is_flash = |case: &Case| case.load.as_ref().is_some_and(|l| !l.facts.rotating);
        if judgement.cases.iter().all(is_flash) {
            for says in sentences(&judgement) {
                assert!(!says.contains("seek") && !says.contains("revolution"), "{name}: {says}");
            }
        }
    }
    assert!(seen > 100, "{seen} loads on flash were judged");
}

/// "at most 2444 IOPS" stood beside "full at 1563": the bound was of the fast end of all ranges, the other nominal.
#[test]
fn no_resource_is_full_below_the_bound() {
    let mut seen = 0;
    for (name, judgement) in all() {
        for verdict in judgement.verdicts.iter().flatten() {
            let bounds = numbers_after(&verdict.says, "at most ");
            let full = numbers_after(&verdict.says, "saturates at ");
            for (bound, full) in bounds.iter().flat_map(|b| full.iter().map(move |f| (*b, *f))) {
                seen += 1;
                assert!(full >= bound * 0.999 - 1.0, "{name}: {}", verdict.says);
            }
        }
        for load in judgement.cases.iter().filter_map(|c| c.load.as_ref()) {
            for resource in &load.prediction.table.resources {
                assert!(resource.ceiling.hi >= load.prediction.iops.hi, "{name}: {resource:?}");
                assert!(resource.ceiling.lo <= resource.ceiling_iops, "{name}: {resource:?}");
            }
        }
    }
    assert!(seen > 10, "{seen} bounds stood beside a ceiling");
}

#[test]
fn an_array_that_does_not_match_is_never_critical() {
    for (name, judgement) in all() {
        for finding in &judgement.findings {
            assert!(finding.severity < Severity::Critical, "{name}: {}", finding.says);
        }
    }
}

#[test]
fn two_suspects_are_distinguished_and_one_is_confirmed() {
    for (name, judgement) in all() {
        for verdict in judgement.verdicts.iter().flatten() {
            let apart = verdict.says.contains("To tell them apart");
            assert_eq!(apart, !verdict.second.is_empty(), "{name}: {}", verdict.says);
            assert_eq!(apart, verdict.says.contains("second suspect"), "{name}: {}", verdict.says);
            assert_ne!(apart, verdict.says.contains("To confirm it"), "{name}: {}", verdict.says);
            assert!(!verdict.second.starts_with(&verdict.limit), "{name}: {}", verdict.says);
            let words = match verdict.agreement {
                Agreement::AsExpected => "limited by",
                Agreement::Below => "slower than expected",
                Agreement::Above => "faster than expected",
            };
            assert!(verdict.says.contains(words), "{name}: {}", verdict.says);
        }
    }
}

//! Job files under fio itself and under Assay's engine, I/O by I/O; those whose counts depend on time are compared in a
//! program of their own, where nothing else runs.

#[path = "../fio/equal.rs"]
mod equal;

use assay_testkit::need;
use equal::Counts;

#[test]
fn fio_and_assay_do_the_same() {
    if !need::programs(&["fio"]) {
        return;
    }
    let mut failed = Vec::new();
    for (name, text) in equal::cases(Counts::Fixed) {
        let (row, is_equal) = equal::compared(&name, &text);
        println!("{row}");
        failed.extend((!is_equal).then_some(row));
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed.join("\n"));
}

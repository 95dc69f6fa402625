//! One table, five formats.

use assay_report::table::{Cell, Column, Decimals, Format, Narrow, Row, Table};

fn sample() -> Table {
    let mut table = Table::new(vec![
        Column::text("Test"),
        Column::number("IOPS", ""),
        Column::number("Avg", "ms"),
        Column::number("p99.9", "ms").narrow(Narrow::Drop(1)),
    ]);
    table.push(["4 KiB random read".into(), 12_345.6.into(), 0.25.into(), Cell::Empty]);
    table.rows.push(Row::Part(vec!["  path 0 192.168.10.20 50.0 %, down".into(), 6172.8.into()]));
    table
        .rows
        .push(Row::Words { name: "max | rate".into(), words: "left out: no such \"size\", here".into() });
    table.rows.push(Row::Note("one thing to know".into()));
    table
}

#[test]
fn text_separates_thousands_and_respects_a_width() {
    assert_eq!(
        sample().render(Format::Text(100)),
        "Test                                   IOPS  Avg ms  p99.9 ms\n\
         -------------------------------------------------------------\n\
         4 KiB random read                    12,346    0.25         -\n  \
           path 0 192.168.10.20 50.0 %, down   6,173       -         -\n\
         max | rate                           left out: no such \"size\", here\n   \
            one thing to know\n"
    );
    for width in [60, 50, 40, 34] {
        let text = sample().text(width);
        let widest = text.text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(37), "{width}:\n{}", text.text);
        assert!(
            text.text.contains("path 0 192.168.10.20 50.0 %, down"),
            "paths are never cut:\n{}",
            text.text
        );
    }
    assert_eq!(sample().text(34).dropped, ["p99.9 ms"]);
    assert!(sample().text(100).dropped.is_empty());
}

#[test]
fn csv_has_plain_numbers_and_quotes_what_would_break_a_line() {
    assert_eq!(
        sample().render(Format::Csv),
        "Test,IOPS,Avg ms,p99.9 ms\n\
         4 KiB random read,12345.6,0.25,\n\
         \"path 0 192.168.10.20 50.0 %, down\",6172.8,,\n\
         max | rate,\"left out: no such \"\"size\"\", here\",,\n"
    );
}

#[test]
fn csv_repeats_the_group_in_each_row() {
    let mut table =
        Table::new(vec![Column::text("Side"), Column::number("IOPS", "").decimals(Decimals::Each)]);
    table.group = "Test".to_owned();
    for (group, iops) in [("a", 1.0), ("b", 20_000.0)] {
        table.rows.push(Row::Group(group.to_owned()));
        table.push(["A".into(), iops.into()]);
    }
    assert_eq!(table.render(Format::Csv), "Test,Side,IOPS\na,A,1\nb,A,20000\n");
    assert_eq!(
        table.render(Format::Text(80)),
        "Side    IOPS\n------------\na\nA       1.00\n\nb\nA     20,000\n"
    );
}

#[test]
fn markdown_escapes_its_bars_and_aligns_numbers() {
    assert_eq!(
        sample().render(Format::Markdown),
        "| Test | IOPS | Avg ms | p99.9 ms |\n\
         |---|--:|--:|--:|\n\
         | 4 KiB random read | 12,346 | 0.25 | - |\n\
         | – path 0 192.168.10.20 50.0 %, down | 6,173 | - | - |\n\
         | max \\| rate | left out: no such \"size\", here |  |  |\n\
         \n\
         * one thing to know\n"
    );
}

/// Remarks stood below the table without the test that they are of.
#[test]
fn a_remark_below_a_table_names_its_group_where_others_do_not_have_it() {
    let mut table = Table::new(vec![Column::text("Side")]);
    for (group, own) in [("a", "CV 3 %"), ("b", "CV 8 %")] {
        table.rows.push(Row::Group(group.to_owned()));
        table.push(["A".into()]);
        table.rows.extend([own, "depth 1 / 32"].map(|says| Row::Note(says.to_owned())));
    }
    let text = table.render(Format::Markdown);
    assert!(text.ends_with("\n* a: CV 3 %\n* depth 1 / 32\n* b: CV 8 %\n"), "{text}");
}

#[test]
fn bbcode_opens_no_tag_that_it_does_not_close() {
    let mut table = Table::new(vec![Column::text("Target")]);
    table.push(["iscsi://[fe80::1]/x".into()]);
    assert_eq!(
        table.render(Format::BbCode),
        "[table]\n[tr][th]Target[/th][/tr]\n[tr][td]iscsi://［fe80::1］/x[/td][/tr]\n[/table]\n"
    );
}

/// "one 1GbE li…d direction" was no name of a limit.
#[test]
fn names_of_limits_are_cut_between_words() {
    let mut table =
        Table::new(vec![Column::number("IOPS", ""), Column::text("Limited by").narrow(Narrow::Words(8))]);
    for limit in ["one 1GbE link, read direction", "4 disks", "unbreakable"] {
        table.push([1.0.into(), limit.into()]);
    }
    let text = |width: usize| table.render(Format::Text(width));
    assert!(text(80).contains("one 1GbE link, read direction\n"), "{}", text(80));
    let narrow = text(22);
    assert!(narrow.contains(" one 1GbE link …\n") && narrow.contains(" 4 disks\n"), "{narrow}");
    assert!(text(14).contains(" one …\n") && text(14).contains("…"), "{}", text(14));
}

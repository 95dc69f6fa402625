//! Words and files that are none of what they are given as: refused at once, with what is there and what to do.

use crate::story::Story;

#[test]
fn a_word_like_an_address_never_becomes_a_file() {
    for (word, like) in [
        ("NULL:", "null:"),
        ("nul:", "null:"),
        ("SIM:ix4-200d", "sim:ix4-200d"),
        ("file:x", "./x"),
        ("127.1", "iscsi://127.1/TARGET/LUN"),
        ("isci://10.0.0.5/iqn.x/1", "iscsi://10.0.0.5/iqn.x/1"),
        ("nas:/vol1", "nfs://nas/vol1"),
        ("[::1]", "iscsi://[::1]/TARGET/LUN"),
        ("nas.local:3260", "iscsi://nas.local:3260/TARGET/LUN"),
        (r"C:\x", "Windows"),
        (r"\\nas\share", "//nas/share"),
        ("sdb", "/dev/sdb"),
    ] {
        let story = Story::new();
        for verb in [&["run", "vmware", word, "--size", "1MiB", "--quick"][..], &["check", word], &[word]] {
            story.assay(verb).refused(&[word, like]);
        }
        assert_eq!(story.files(), Vec::<String>::new(), "{word}");
    }
}

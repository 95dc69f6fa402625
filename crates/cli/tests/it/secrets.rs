//! Secrets in places where they do not belong: no output, no file and no store ever has them.

use std::os::unix::fs::PermissionsExt as _;

use crate::story::{BAD_INPUT, DONE, Story};

/// Stands in every address.
const SECRET: &str = "S3CR3T";

/// Every form in which somebody may put a secret into an address.
const FORMS: [&str; 17] = [
    "iscsi://bob:S3CR3T@nas/iqn.x/1",
    "ISCSI://bob:S3CR3T@nas/iqn.x/1",
    "iscsi:/bob:S3CR3T@nas/iqn.x/1",
    "iscsi:bob:S3CR3T@nas/iqn.x/1",
    "iscsi://bob%3AS3CR3T@nas/iqn.x/1",
    "iscsi://bob:p@S3CR3T@nas/iqn.x/1",
    "iscsi://bob:p/S3CR3T@nas/iqn.x/1",
    "iscsi://bob:S3CR3T@nas",
    "iscsi://nas/iqn.x/1?secret=S3CR3T",
    "iscsi://nas/iqn.x/1?portal=bob:S3CR3T@nas2",
    "iscsi://bob@nas/iqn.x/1?chap_secret=S3CR3T",
    "nfs://bob:S3CR3T@nas/vol/t.dat",
    "smb://bob:S3CR3T@nas/share",
    "bob:S3CR3T@nas/iqn.x/1",
    "//bob:S3CR3T@nas/share/x",
    "iscsi://bob%253AS3CR3T@nas/iqn.x/1",
    "iscsi://nas/iqn.x/1?psk=S3CR3T",
];

#[test]
fn a_secret_in_an_address_is_refused_and_repeated_nowhere() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10"]).ends(DONE);
    for form in FORMS {
        let (overwrite, key) = (format!("--overwrite={form}"), format!("run={form}"));
        for args in [
            &["run", "vmware", form][..],
            &["run", form],
            &["run", form, "vmware"],
            &["run", "vmware", "null:", "--overwrite", form],
            &["run", "vmware", "null:", &overwrite],
            &["run", "vmware", "null:", "--note", form],
            &["run", "vmware", "null:", "-o", form],
            &["check", form],
            &["check", form, "--json"],
            &[form],
            &[form, "--quick"],
            &["rnu", form],
            &["runs", form],
            &["show", form],
            &["compare", form, "last"],
            &["predict", form],
            &["target", "set", form, "--array", "ssd-sata"],
            &["calibrate", form, "--array", "ssd-sata", "-o", "c.toml"],
            &["completions", form],
            &["run", "vmware", "null:", "--set", &key],
            &["runs", "--store", form],
        ] {
            let printed = story.assay(args).ends(BAD_INPUT);
            assert!(
                !printed.out.contains(SECRET) && !printed.err.contains(SECRET),
                "{args:?}: {}",
                printed.err
            );
            let words = ["chap_file=PATH", "***"];
            assert!(words.iter().all(|word| printed.err.contains(word)), "{args:?}: {}", printed.err);
        }
    }
    assert_eq!(story.files(), Vec::<String>::new());
    for end in ["", "-wal"] {
        let Ok(stored) = std::fs::read(story.path(&format!("store.sqlite{end}"))) else { continue };
        assert!(!stored.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "the store has it");
    }
}

/// The hint for the password of a NATS server spoke of files with CHAP secrets.
#[test]
fn a_secret_belongs_where_its_server_looks_for_it() {
    let story = Story::new();
    for (address, place) in [
        ("nats://bob:S3CR3T@bus:4222", "--nkey FILE"),
        ("postgres://bob:S3CR3T@db/runs", "~/.pgpass"),
        ("iscsi://bob:S3CR3T@nas/iqn.2004-01.example:d/1", "ASSAY_CHAP_FILE"),
    ] {
        let printed = story.assay(&["runs", "--store", address]).ends(BAD_INPUT);
        assert!(printed.err.contains(place) && !printed.err.contains("S3CR3T"), "{address}: {}", printed.err);
    }
}

/// Only pairs behind a `?` and between `&`s were covered, and only with a scheme.
#[test]
fn values_of_misspelt_keys_are_not_repeated() {
    let story = Story::new();
    for form in [
        "nfs://h/vol?uid=1;scret=S3CR3T",
        "nfs://h/vol?uid=1?scret=S3CR3T",
        "nfs://h/vol/x%3Fscret=S3CR3T",
        "nfs://h/vol?uid=1%26scret=S3CR3T",
        "nfs://h/vol?scret%3DS3CR3T",
        "iscsi://h/iqn.x/1?portal=a;scret=S3CR3T",
        "iscsi://h/iqn.x/1&scret=S3CR3T",
        "//nas/share?scret=S3CR3T",
        "nas:/vol?scret=S3CR3T",
    ] {
        for args in
            [&["run", "vmware", form][..], &["check", form], &["run", form, "vmware"], &[form, "--quick"]]
        {
            let printed = story.assay(args).ends(BAD_INPUT);
            let says = [printed.out.as_str(), printed.err.as_str()].concat();
            assert!(!says.contains(SECRET), "{args:?}: {says}");
        }
    }
}

/// Command lines of other tools were printed and stored as they are.
#[test]
fn a_secret_in_a_command_line_of_another_tool_is_neither_printed_nor_stored() {
    let story = Story::new();
    for line in [
        "diskspd -b4K -d1 -W0 iscsi://user:S3CR3T@h/iqn.a:b/1",
        "fio --name=x --rw=read --bs=4k --size=1m --http_s3_key=S3CR3T --http_pass S3CR3T \
         --filename=iscsi://user%S3CR3T@h/o",
    ] {
        let run = story.assay(&["run", line, "null:", "--lenient", "--quick"]).ends(DONE);
        let shown = story.assay(&["show", "last", "--json"]).ends(DONE);
        let refused = story.assay(&["run", line]).ends(BAD_INPUT);
        let says = [run.out, run.err, shown.out, refused.out, refused.err].concat();
        assert!(says.contains("***") && !says.contains(SECRET), "{line}: {says}");
    }
    for end in ["", "-wal"] {
        let Ok(stored) = std::fs::read(story.path(&format!("store.sqlite{end}"))) else { continue };
        assert!(!stored.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "the store has it");
    }
}

/// Of the store in the environment: those of other programs are often named so.
#[test]
fn a_secret_in_the_environment_is_not_repeated() {
    let story = Story::new();
    let forms = FORMS.into_iter().map(|form| (form, "looks like an address"));
    for (form, says) in forms.chain([("postgres://bob:S3CR3T@db/runs", "it has a password in it")]) {
        let output = story.command(&["runs"]).env("ASSAY_STORE", form).output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(says) && !printed.contains(SECRET), "{form}: {printed}");
    }
    assert_eq!(story.files(), Vec::<String>::new());
}

#[test]
fn addresses_that_only_look_so_are_taken() {
    let story = Story::new();
    let run = |target: &str| {
        story.assay(&["run", "vmware", target, "--size", "1MiB", "--set", "ops=10", "--remove"]).ends(DONE)
    };
    run("./a:b@c");
    run("t.dat");
    story.assay(&["label", "last", "before: mail bob@example.com"]).ends(DONE);
}

#[test]
fn an_array_is_only_recorded_for_what_can_be_a_target() {
    let story = Story::new();
    story.assay(&["target", "set", "iscsi://nas", "--array", "ssd-sata"]).refused(&["iscsi://nas"]);
    story.assay(&["target", "set", "iscsi://bob@nas/iqn.x/1", "--array", "ssd-sata"]).ends(DONE);
    story.assay(&["target", "list"]).ends(DONE).says(&["iscsi://bob@nas/iqn.x/1"]);
}

#[test]
fn a_secret_file_that_others_can_read_is_warned_of() {
    let story = Story::new();
    let file = story.write("secret", "hush-hush-hush\n");
    let address = format!("iscsi://bob@127.0.0.1:1/iqn.x/1?chap_file={file}");
    let chmod = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o644);
    for args in [&["check", &address][..], &["run", "vmware", &address]] {
        let words = ["other users can read the CHAP secret", "(mode 0644)", "chmod 600"];
        story.assay(args).ends(BAD_INPUT).says(&words);
        assert!(!story.assay(args).err.contains("hush"));
    }
    chmod(0o600);
    assert!(!story.assay(&["check", &address]).err.contains("other users"));
}

#[test]
fn a_store_that_others_could_read_is_closed_to_them_and_says_so_once() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10"]).ends(DONE);
    let store = story.path("store.sqlite");
    let mode = || std::fs::metadata(&store).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o644)).unwrap();
    story.assay(&["runs"]).ends(DONE).says(&["other users had access to the store", "(mode 0644)"]);
    assert_eq!(mode(), 0o600);
    assert!(!story.assay(&["runs"]).ends(DONE).err.contains("other users"));
}

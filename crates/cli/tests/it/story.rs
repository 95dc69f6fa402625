//! A folder, a store and the program: what every story begins with.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Exit codes as documented.
pub const DONE: i32 = 0;
pub const ERRORS: i32 = 1;
pub const BAD_INPUT: i32 = 2;
pub const INTERRUPTED: i32 = 130;

/// Nothing here takes so long; whoever waits longer waits for something that will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of its own, with a store of its own.
pub struct Story {
    folder: tempfile::TempDir,
}

/// What the program said, and how it ended.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Story {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Names of the files in the folder, the store apart.
    pub fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with("store.sqlite"));
        names.sort();
        names
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The program, in the story's folder and with its store.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command
            .env("ASSAY_STORE", self.path("store.sqlite"))
            .env("NO_COLOR", "1")
            .env_remove("XDG_DATA_HOME");
        command
    }

    /// Runs to the end.
    pub fn assay(&self, args: &[&str]) -> Told {
        told(self.command(args).output().unwrap())
    }

    /// Runs in the background; ends with the story.
    pub fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(args))
    }

    /// Waits until the last run in the store is as `is_so` wants it.
    pub fn wait_for(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let shown = self.assay(&["show", "last", "--json"]);
            if shown.code == Some(DONE) && is_so(&shown.json()) {
                return shown.json();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the run in the background did not come so far: {:?}", self.assay(&["show", "last"]));
    }
}

/// A program in the background, killed when the story ends first.
pub struct Running(Option<Child>);

impl Running {
    pub fn of(mut command: Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    pub fn signal(&mut self, name: &str) {
        let id = self.child().id().to_string();
        run(&["kill", &format!("-{name}"), &id]);
    }

    pub fn end(mut self) -> Told {
        told(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a program said that has ended.
pub fn told(output: Output) -> Told {
    Told {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Told {
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Refused as bad input, with these words.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Self {
        let told = self.ends(BAD_INPUT);
        assert_eq!(told.out, "", "a refusal prints no result");
        let parts: Vec<&str> = told.err.trim().split(": ").collect();
        assert!(parts.windows(2).all(|two| two[0] != two[1]), "said twice: {}", told.err);
        told.says(words)
    }

    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        // Notes are wrapped to the terminal; that must not hide words.
        let wrapped = [&self.out, &self.err].map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
        for words in words {
            assert!(
                [&self.out, &self.err, &wrapped[0], &wrapped[1]].iter().any(|text| text.contains(words)),
                "`{words}` is missing in:\n{}\n{}",
                self.out,
                self.err
            );
        }
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}:\n{}\n{}", self.out, self.err))
    }
}

/// Runs a program that must succeed.
#[track_caller]
pub fn run(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether this runs as root; says why not.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        eprintln!("skipped: loop devices, mounts and swap need root");
    }
    is_root
}

/// Whether slow stories are wanted; says so if not.
pub fn is_slow_wanted() -> bool {
    let is_wanted = std::env::var_os("SLOW_TESTS").is_some();
    if !is_wanted {
        eprintln!("skipped: slow; SLOW_TESTS=1 runs it");
    }
    is_wanted
}

/// A number in a document, by JSON pointer.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"));
    found.as_f64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// A whole number in a document, by JSON pointer.
#[track_caller]
pub fn count(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {value:#}"));
    found.as_u64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

/// The tests of a document.
pub fn tests(document: &Value) -> &Vec<Value> {
    document["tests"].as_array().unwrap()
}

/// Names of the rules that fired.
pub fn rules(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect()
}

#[track_caller]
pub fn near(what: &str, a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * a.abs().max(b.abs()), "{what}: {a} against {b}");
}

//! The program in a folder of its own, with a store of its own.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub struct Story {
    pub folder: TempDir,
    /// The network namespace it runs in, where that is not the test's own.
    pub namespace: Option<String>,
}

impl Story {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), namespace: None }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_assay");
        let mut command = match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace, program]);
                command
            }
        };
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("ASSAY_STORE", self.folder.path().join("store.sqlite")).env("NO_COLOR", "1");
        for name in
            ["ASSAY_CHAP_FILE", "ASSAY_CHAP_SECRET", "ASSAY_CHAP_MUTUAL_USER", "ASSAY_CHAP_MUTUAL_SECRET"]
        {
            command.env_remove(name);
        }
        command
    }

    pub fn assay(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[track_caller]
pub fn json(output: &Output, code: i32) -> Value {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
pub fn refused(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    for word in words {
        assert!(err(output).contains(word), "{word}: {}", err(output));
    }
}

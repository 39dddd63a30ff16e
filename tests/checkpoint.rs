//! Campaigns that are killed: those that are gone on with end with the same result as those that were left alone.
//!
//! `CROSSCHECK_KILLS=50` kills more often than is usual.

mod folder;
mod operators;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use operators::HEART;
use serde_json::Value;
use tempfile::TempDir;

/// Small batches are small blocks, so that there is much to be killed between.
const CAMPAIGN: [&str; 13] = [
    "campaign",
    "--operator",
    HEART,
    "--runtimes",
    "in-house,tract",
    "--cases",
    "6000",
    "--seed",
    "9",
    "--batch",
    "4",
    "--output",
    "out",
];

/// Starts the program in a folder, with its output in files there.
fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let file = |name| File::create(folder.join(name)).unwrap();
    command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let code = start(folder, arguments).wait().unwrap().code();
    let text = |name| fs::read_to_string(folder.join(name)).unwrap();
    (code, text("stdout"), text("stderr"))
}

/// A folder in which every mismatch is new, or else one with the ledger that the program is built with.
fn folder(is_new: bool) -> TempDir {
    if is_new { folder::without_known_issues() } else { tempfile::tempdir().unwrap() }
}

/// All that a campaign left, but for how long it took and how fast it was.
fn result(folder: &Path) -> (String, BTreeMap<PathBuf, String>) {
    let out = fs::read_to_string(folder.join("stdout")).unwrap();
    let untimed = |line: &str| match line.split_once(" cases in ") {
        Some((cases, rest)) => format!("{cases} cases: {}", rest.split_once(": ").unwrap().1),
        None => line.to_owned(),
    };
    assert!(out.contains(" cases in "), "no result: {out}");
    let out: Vec<String> = out.lines().map(untimed).collect();
    (out.join("\n"), folder::files_without_cost(&folder.join("out")))
}

/// How many cases the checkpoint holds, and whether the campaign was brought to its end; `None` if there is none.
fn checkpoint(folder: &Path) -> Option<(u64, bool)> {
    let text = fs::read_to_string(folder.join("out/checkpoint.json")).ok()?;
    let checkpoint: Value = serde_json::from_str(&text).expect("it is whole at any time");
    let campaign = &checkpoint["campaigns"][0];
    Some((campaign["statistics"]["cases"].as_u64().unwrap(), campaign["has_ended"].as_bool().unwrap()))
}

/// Waits until the checkpoint of a campaign holds more cases.
fn wait_for_cases(folder: &Path, cases_before: u64, child: &mut Child) {
    while checkpoint(folder).is_none_or(|(cases, _)| cases <= cases_before) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills campaigns now and then, goes on with them, and holds their result against that of one that was left alone.
fn kill_and_resume(is_new: bool) {
    let kills = std::env::var("CROSSCHECK_KILLS").map_or(5, |kills| kills.parse().unwrap());
    let undisturbed = folder(is_new);
    let (code, _, error) = run(undisturbed.path(), &CAMPAIGN);
    assert_eq!(code, Some(i32::from(is_new)), "{error}");
    let expected = result(undisturbed.path());
    assert_eq!(expected.1.keys().any(|path| path.starts_with("corpus")), is_new, "new findings are saved");

    let (mut hits, mut hits_on_the_way, mut campaigns) = (0, 0, 0);
    while hits < kills {
        campaigns += 1;
        let disturbed = folder(is_new);
        let disturbed = disturbed.path();
        let (mut starts, mut cases_before) = (0, 0);
        loop {
            let threads = (1 + (hits + starts) % 3).to_string();
            let mut arguments = [&CAMPAIGN[..], &["--threads", &threads]].concat();
            if checkpoint(disturbed).is_some() {
                arguments.push("--resume");
            }
            let mut child = start(disturbed, &arguments);
            starts += 1;
            if hits < kills {
                // Some kills come at any moment, others when it has come further for sure.
                if starts % 2 == 0 {
                    wait_for_cases(disturbed, cases_before, &mut child);
                }
                std::thread::sleep(Duration::from_millis(50 + 7919 * starts * (hits + 1) % 551));
                let _ = child.kill();
            }
            let status = child.wait().unwrap();
            if status.success() || status.code() == Some(1) {
                break;
            }
            let error = fs::read_to_string(disturbed.join("stderr")).unwrap();
            assert_eq!(status.code(), None, "it was not killed: {error}");
            hits += 1;
            let Some((cases, has_ended)) = checkpoint(disturbed) else { continue };
            hits_on_the_way += u64::from(cases > cases_before && !has_ended);
            cases_before = cases;
            if !has_ended {
                let (code, _, error) = run(disturbed, &CAMPAIGN);
                assert!(code == Some(2) && error.contains("not brought to its end"), "{error}");
            }
        }
        let found = result(disturbed);
        assert_eq!(found.0, expected.0, "after {starts} starts");
        assert!(found.1 == expected.1, "coverage and saved findings after {starts} starts");
    }
    eprintln!("{campaigns} campaigns were killed {hits} times, {hits_on_the_way} times after some progress");
    assert!(hits_on_the_way > 0, "no kill was in mid-run");
}

#[test]
fn a_killed_campaign_has_the_same_result() {
    kill_and_resume(false);
}

#[test]
fn a_killed_campaign_loses_no_finding() {
    kill_and_resume(true);
}

#[test]
fn what_is_gone_on_with_is_what_was_begun() {
    let folder = folder(false);
    let folder = folder.path();
    let campaign =
        |more: &[&str]| run(folder, &[&["campaign", "--runtimes", "in-house", "--output", "out"], more].concat());
    let (code, _, error) = campaign(&["--resume"]);
    assert!(code == Some(2) && error.contains("out holds no campaign to go on with"), "{error}");
    assert!(!folder.join("out").exists());
    let (code, out, _) = campaign(&["--cases", "100", "--seed", "9", "--operator", "flatten"]);
    assert!(code == Some(0) && out.contains("\n100 cases in "), "{out}");
    // What is not said is as it was.
    let (code, out, error) = campaign(&["--resume"]);
    assert!(code == Some(0) && out.contains("\n100 cases in ") && error.contains("Seed 9;"), "{out}{error}");
    let (code, out, _) = campaign(&["--resume", "--cases", "300"]);
    assert!(code == Some(0) && out.contains("\n300 cases in "), "{out}");
    let (_, out, _) = campaign(&["--resume", "--threads", "1"]);
    assert!(out.contains("\n300 cases in "), "the limit asked for last: {out}");
    for (more, words) in [
        (&["--seed", "8"][..], r#""seed":9} and not {"#),
        (&["--operator", "shape"], r#"["Flatten"]"#),
        (&["--shard", "1/3"], "its shard is 1/1 and not 1/3"),
        (&["--ignore-known"], "--ignore-known is false and not true"),
        (&["--runtimes", "tract/typed"], "its runtimes are in-house "),
    ] {
        let arguments = [&["campaign", "--output", "out", "--resume"], more].concat();
        let arguments =
            if more[0] == "--runtimes" { arguments } else { [&arguments[..], &["--runtimes", "in-house"]].concat() };
        let (code, _, error) = run(folder, &arguments);
        assert!(code == Some(2) && error.contains("holds another campaign") && error.contains(words), "{error}");
    }
    // A third of 288 cases, and of 576: whole rows.
    let shard = ["campaign", "--operator", HEART, "--runtimes", "in-house", "--output", "third", "--cases"];
    let (code, out, error) = run(folder, &[&shard[..], &["288", "--shard", "2/3"]].concat());
    assert!(code == Some(0) && out.contains("\n96 cases in ") && error.contains("Seed 0, shard 2/3"), "{out}{error}");
    let (code, out, error) = run(folder, &[&shard[..], &["576", "--resume"]].concat());
    assert!(code == Some(0) && out.contains("\n192 cases in ") && error.contains("shard 2/3"), "{out}{error}");
    let (code, _, error) = run(folder, &[&shard[..], &["576", "--resume", "--shard", "3/3"]].concat());
    assert!(code == Some(2) && error.contains("its shard is 2/3 and not 3/3"), "{error}");
    let (code, _, error) = run(folder, &[&shard[..], &["600", "--shard", "4/3"]].concat());
    assert!(code == Some(2) && error.contains("I from 1 to N"), "{error}");
    let exhaust = ["exhaust", "--operator", "flatten", "--runtimes", "in-house", "--max-rank", "2", "--output", "out"];
    let (code, _, error) = run(folder, &[&exhaust[..], &["--resume"]].concat());
    assert!(code == Some(2) && error.contains("holds another campaign"), "{error}");
    // One that was brought to its end is overwritten.
    assert_eq!(run(folder, &exhaust).0, Some(0));
    let (code, out, _) = run(folder, &[&exhaust[..], &["--resume"]].concat());
    assert!(code == Some(0) && out.contains("planned cases were run: 0 to "), "{out}");
    let (code, _, error) = run(folder, &[&exhaust[..], &["--resume", "--restart"]].concat());
    assert!(code == Some(2) && error.contains("cannot be used with"), "{error}");
}

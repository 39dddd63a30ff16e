//! Campaigns keep their time and end when they are asked to, whatever the runtimes do, and say so.

#![cfg(unix)]

mod operators;

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use operators::HEART;
use serde_json::Value;
use tempfile::TempDir;

/// Starts the program in a folder, with its output in files there.
fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let file = |name| File::create(folder.join(name)).unwrap();
    command.stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap()
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// Waits for the checkpoint of a campaign: once it is there, the campaign has begun.
fn wait_for_the_checkpoint(folder: &Path) {
    while !folder.join("crosscheck-campaign/checkpoint.json").exists() {
        sleep(Duration::from_millis(10));
    }
}

/// The summary of a campaign.
fn summary(output: &Path) -> Value {
    serde_json::from_str(&text(output, "summary.json")).unwrap()
}

/// A program that answers each job by a line of shell.
fn program(answer: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "echo $$ >> pids; echo '{{\"protocol\": 1, \"version\": \"7\"}}'\nwhile read -r line; do {answer}; done\n"
    );
    fs::write(folder.path().join("program.sh"), script).unwrap();
    let row = "[[runtime]]\nname = \"ours\"\nkind = \"command\"\ncommand = [\"sh\", \"program.sh\"]\n";
    fs::write(folder.path().join("runtimes.toml"), row).unwrap();
    folder
}

const LACKS: &str = r#"echo '{"unsupported": "nothing is there"}'"#;

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// Sends signals to campaigns, each after another time.
fn assert_signals_leave_whole_summaries(numbers: Range<u64>) {
    for number in numbers {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut child =
            start(folder, &["campaign", "--operator", HEART, "--runtimes", "in-house,tract", "--threads", "2"]);
        wait_for_the_checkpoint(folder);
        sleep(Duration::from_millis(300 + 7919 * number % 3001));
        let began = Instant::now();
        send(&child, if number % 2 == 0 { Signal::SIGINT } else { Signal::SIGTERM });
        let status = child.wait().unwrap();
        let took = began.elapsed();
        eprintln!("ended {took:.2?} after a signal");
        assert!(took < Duration::from_secs(5), "{took:?}");
        let (out, error) = (text(folder, "stdout"), text(folder, "stderr"));
        if error.contains("Stopped before the first case") {
            assert_eq!(status.code(), Some(3), "{out}{error}");
            continue;
        }
        assert_eq!(status.code(), Some(3), "{out}{error}");
        assert!(out.contains("Not brought to its end, after "), "{out}");
        let output = folder.join("crosscheck-campaign");
        let said = summary(&output);
        assert_eq!(said["complete"], false);
        let markdown = text(&output, "summary.md");
        assert!(markdown.contains("not brought to its end") && markdown.contains("**Incomplete**"), "{markdown}");
        let junit = text(&output, "junit.xml");
        assert!(junit.contains("stopped before its end") && junit.ends_with("</testsuites>\n"), "{junit}");
        // It goes on from there.
        let more = (said["cases"]["total"].as_u64().unwrap() + 100).to_string();
        let resume = ["campaign", "--runtimes", "in-house,tract", "--resume", "--cases", &more];
        assert_eq!(start(folder, &resume).wait().unwrap().code(), Some(0), "{}", text(folder, "stderr"));
        assert_eq!(summary(&output)["complete"], true);
    }
}

#[test]
fn a_signal_leaves_a_whole_summary_that_says_so() {
    assert_signals_leave_whole_summaries(0..2);
}

#[test]
fn a_new_finding_is_shown_while_the_campaign_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let campaign = ["campaign", "--operator", HEART, "--runtimes", "in-house,planted/flatten-negative-axis-too-low"];
    let mut child = start(folder, &campaign);
    while !text(folder, "stderr").contains("New: planted of Flatten gives other dims") {
        assert_eq!(child.try_wait().unwrap(), None, "{}", text(folder, "stderr"));
        sleep(Duration::from_millis(10));
    }
    assert!(text(folder, "stdout").is_empty(), "the summary comes at the end");
    send(&child, Signal::SIGINT);
    assert_eq!(status(&mut child), Some(1), "{}", text(folder, "stderr"));
    let out = text(folder, "stdout");
    assert!(out.contains("distinct finding") && out.contains("planted of Flatten gives other dims"), "{out}");
}

#[test]
fn the_second_signal_ends_it_at_once() {
    let folder = program(&format!("sleep 1; {LACKS}"));
    let mut child =
        start(folder.path(), &["campaign", "--operator", HEART, "--runtimes", "in-house,ours", "--time-limit", "60s"]);
    wait_for_the_checkpoint(folder.path());
    sleep(Duration::from_millis(500));
    send(&child, Signal::SIGINT);
    sleep(Duration::from_millis(50));
    send(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Waits for a program to end, and no longer than a minute.
fn status(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(1) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    panic!("it does not end");
}

/// A thread cannot be ended from outside. Here a runtime hangs in one; a case that takes long to generate would do the same.
#[test]
fn a_campaign_ends_though_a_thread_hangs() {
    let campaign = ["campaign", "--operator", HEART, "--runtimes", "in-house,planted/hangs-often", "--in-process"];
    let campaign = [&campaign[..], &["--threads", "2"]].concat();
    for limit in [&["--for", "5s"][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(folder.path(), &[&campaign[..], limit].concat());
        if limit.is_empty() {
            wait_for_the_checkpoint(folder.path());
            sleep(Duration::from_secs(2));
            send(&child, Signal::SIGINT);
        }
        assert_eq!(status(&mut child), Some(3), "{}", text(folder.path(), "stderr"));
        assert!(text(folder.path(), "stderr").contains("`--resume` goes on from there"));
        assert!(folder.path().join("crosscheck-campaign/checkpoint.json").exists());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_hangs_does_not_outlive_its_master() {
    let folder = program("sleep 100");
    let mut child =
        start(folder.path(), &["campaign", "--operator", HEART, "--runtimes", "in-house,ours", "--time-limit", "60s"]);
    sleep(Duration::from_secs(2));
    child.kill().unwrap();
    child.wait().unwrap();
    sleep(Duration::from_secs(1));
    let pids = text(folder.path(), "pids");
    assert!(!pids.is_empty());
    for pid in pids.lines() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
    }
}

#[test]
fn the_cpu_time_is_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_crosscheck");
    // What was run before in the same process, as cargo does before it becomes the program.
    let script = format!(
        "timeout 3 sh -c 'while :; do :; done'; exec {program} campaign --runtimes in-house --cases 50 --in-process"
    );
    let status = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap().status;
    assert!(status.success());
    let cpu = summary(&folder.path().join("crosscheck-campaign"))["cost"]["cpu"].as_f64().unwrap();
    assert!(cpu > 0.0 && cpu < 2.0, "{cpu}");
}

#[test]
fn limits_that_no_runtime_can_keep_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (limit, value, said) in [
        ("--time-limit", "0s", "no runtime answers in so short a time: give 10ms or more"),
        ("--memory-limit", "10", "no process takes so little: give 1.0 MiB or more, such as 4GiB"),
        ("--memory-limit", "2MiB", "before its first job, and the limit is 2.0 MiB: raise --memory-limit"),
    ] {
        let mut child = start(folder.path(), &["run", "Shape@28 float[1]", "--runtimes", "in-house", limit, value]);
        assert_eq!(child.wait().unwrap().code(), Some(2));
        let error = text(folder.path(), "stderr");
        assert!(error.contains(said), "{error}");
    }
}

mod slow {
    use super::*;

    /// What a campaign takes beside its time: cases under way, minimizing, a busy machine.
    const BESIDE: Duration = Duration::from_secs(8);

    #[test]
    #[ignore = "slow: campaigns of 5 and 20 seconds"]
    fn the_time_is_kept_whatever_a_runtime_does() {
        let sleeps = format!("sleep 0.2; {LACKS}");
        // Some models of Flatten make it fail, as an uncaught exception would.
        let throws = format!("case \"$line\" in *RmxhdHRlb*) exit 1 ;; *) {LACKS} ;; esac");
        for (answer, code) in [(sleeps.as_str(), 0), ("exit 1", 1), (throws.as_str(), 1), ("sleep 100", 1)] {
            let folder = program(answer);
            let folder = folder.path();
            let began = Instant::now();
            let campaign =
                ["campaign", "--operator", HEART, "--runtimes", "in-house,ours", "--for", "5s", "--time-limit", "1s"];
            let status = start(folder, &campaign).wait().unwrap();
            let took = began.elapsed();
            let (out, error) = (text(folder, "stdout"), text(folder, "stderr"));
            assert_eq!(status.code(), Some(code), "{answer}: {out}{error}");
            assert!(took >= Duration::from_secs(3) && took < Duration::from_secs(5) + BESIDE, "{answer}: {took:?}");
            assert!(summary(&folder.join("crosscheck-campaign"))["cases"]["total"].as_u64() > Some(3), "{out}");
            assert!(error.lines().any(|line| line.contains(" cases, ")), "progress is shown: {error}");
        }
    }

    #[test]
    #[ignore = "slow: campaigns of 5 and 20 seconds"]
    fn a_hang_is_found_once_and_leaves_time_for_the_rest() {
        let cases = |configuration: &str, finding: Option<&str>| {
            let folder = tempfile::tempdir().unwrap();
            let runtimes = format!("in-house,{configuration}");
            let began = Instant::now();
            let campaign = ["campaign", "--operator", HEART, "--runtimes", &runtimes, "--for", "20s", "--seed", "3"];
            let status = start(folder.path(), &campaign).wait().unwrap();
            let (took, out) = (began.elapsed(), text(folder.path(), "stdout"));
            assert!(took < Duration::from_secs(20) + BESIDE, "{took:?}");
            assert_eq!(status.code(), Some(i32::from(finding.is_some())), "{out}");
            let said = summary(&folder.path().join("crosscheck-campaign"));
            let listed = |part: &str| -> Vec<String> {
                let findings = said[part].as_array().unwrap().iter();
                findings.filter_map(|finding| finding["case"].as_str().map(str::to_owned)).collect()
            };
            // A slow machine may have no time left to minimize it, nor to tell graphs with such a node from it.
            let (new, not_minimized) = (listed("new"), listed("not_minimized"));
            let found = if new.is_empty() { &not_minimized } else { &new };
            assert_eq!(found.first().map(String::as_str), finding, "{out}");
            assert!(new.len() <= 1, "{out}");
            let is_graph = |case: &String| case.contains("; ");
            assert!(not_minimized.iter().all(|case| is_graph(case) || Some(case.as_str()) == finding), "{out}");
            let left_out = said["runtimes"][1]["left_out"].as_u64().unwrap();
            assert_eq!(left_out > 0, finding.is_some(), "what is left out is counted: {out}");
            said["cases"]["total"].as_u64().unwrap()
        };
        for (configuration, case) in
            [("planted/hangs", "Reshape@28 uint2[1] int64[1]{1}"), ("planted/hangs-often", "Flatten@28 float[1]")]
        {
            let cases = cases(configuration, Some(case));
            assert!(cases > 5000, "{configuration}: only {cases} cases");
        }
    }

    /// `CROSSCHECK_SIGNALS=20` sends more than is usual.
    #[test]
    #[ignore = "slow: several campaigns, each of some seconds"]
    fn signals_at_other_times_leave_whole_summaries_too() {
        let count = std::env::var("CROSSCHECK_SIGNALS").map_or(4, |count| count.parse().unwrap());
        assert_signals_leave_whole_summaries(2..count);
    }
}

//! Campaigns that were divided: merged in whichever way, they are what the undivided campaign is.

mod folder;
mod operators;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use folder::{files, files_without_cost, summary, without_known_issues};
use operators::HEART;
use serde_json::Value;

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn assert_runs(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let (ended, out, error) = run(folder, arguments);
    assert_eq!(ended, Some(code), "{arguments:?}: {out}{error}");
    error
}

#[track_caller]
fn assert_refused(folder: &Path, arguments: &[&str], said: &str) {
    let error = assert_runs(folder, 2, arguments);
    assert!(error.contains(said), "{error}");
}

#[track_caller]
fn assert_fits_the_schema(summary: &Value) {
    let schema = serde_json::from_str(include_str!("../docs/summary.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(summary).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// How many cases the checkpoint in a folder holds, if there is one.
fn cases_in(folder: &Path) -> u64 {
    let text = fs::read_to_string(folder.join("checkpoint.json")).unwrap_or_else(|_| "{}".to_owned());
    let checkpoint: Value = serde_json::from_str(&text).unwrap();
    checkpoint["campaigns"][0]["statistics"]["cases"].as_u64().unwrap_or(0)
}

const CAMPAIGN: [&str; 9] =
    ["campaign", "--operator", HEART, "--runtimes", "in-house,tract", "--cases", "6016", "--seed", "9"];

#[test]
fn shards_merged_in_whichever_way_are_the_whole() {
    let folder = without_known_issues();
    let folder = folder.path();
    assert_runs(folder, 1, &[&CAMPAIGN[..], &["--output", "whole"]].concat());
    for (shard, output) in [("1/4", "1"), ("2/4", "2"), ("3/4", "3"), ("4/4", "4")] {
        assert_runs(folder, 1, &[&CAMPAIGN[..], &["--shard", shard, "--output", output]].concat());
    }
    let merge = |folders: &[&str], output: &str| {
        let error = assert_runs(folder, 1, &[&["merge"], folders, &["--output", output]].concat());
        (error, files(&folder.join(output)))
    };
    let (error, at_once) = merge(&["3", "1", "4", "2"], "at-once");
    assert!(!error.contains("shard") && !error.contains("add nothing"), "{error}");
    let whole = files_without_cost(&folder.join("whole"));
    assert!(files_without_cost(&folder.join("at-once")) == whole, "not what the undivided campaign comes to");

    assert_refused(folder, &["merge", "2", "3", "--output", "half"], "merge what there is with --incomplete");
    assert!(!folder.join("half").exists());
    let (error, _) = merge(&["2", "3", "--incomplete"], "half");
    assert!(error.contains("shard 1/4") && error.contains("shard 4/4") && error.contains("is not there"), "{error}");
    let (error, in_steps) = merge(&["4", "half", "2", "1", "half"], "in-steps");
    assert!(error.contains("add nothing, since all their cases are in others: 3"), "{error}");
    assert!(in_steps == at_once, "not what one merge comes to");
    assert!(merge(&["at-once", "at-once", "1"], "at-once").1 == at_once, "something was counted twice");

    let summaries = ["whole", "at-once", "half", "1"].map(|name| summary(&folder.join(name)));
    for summary in &summaries {
        assert_fits_the_schema(summary);
    }
    let [whole, _, half, first] = summaries;
    let new = whole["new"].as_array().unwrap();
    assert!(new.len() > 20, "{} findings", new.len());
    for finding in new {
        let name = finding["name"].as_str().unwrap();
        let case = fs::read_to_string(folder.join(format!("at-once/corpus/regressions/{name}.case"))).unwrap();
        assert!(case.ends_with(&format!("\n{}\n", finding["case"].as_str().unwrap())), "{case}");
        assert!(folder.join(format!("at-once/snapshots/{name}.snap.new")).is_file());
    }
    assert_eq!((&half["cases"]["total"], &first["cases"]["total"]), (&3008.into(), &1504.into()));
    assert_eq!(
        half["origins"][0]["incomplete"].to_string(),
        r#"[{"cases":null,"shard":"1/4"},{"cases":null,"shard":"4/4"}]"#
    );
    let mut unstated = whole.clone();
    unstated["unstated"] = 1.into();
    let schema = serde_json::from_str(include_str!("../docs/summary.schema.json")).unwrap();
    assert!(!jsonschema::is_valid(&schema, &unstated), "the schema states everything");

    let text = &at_once[Path::new("summary.md")];
    assert!(
        text.lines().count() <= 50 && text.starts_with(&format!("# {} new findings, which look like ", new.len())),
        "{text}"
    );
    let junit = &at_once[Path::new("junit.xml")];
    let suite = junit.lines().find(|line| line.contains("<testsuite name=\"findings\"")).unwrap_or_default();
    for count in [format!(r#"tests="{}""#, new.len()), format!(r#"failures="{}""#, new.len())] {
        assert!(suite.contains(&count), "{suite}");
    }
    let documented = include_str!("../docs/campaign-folder.md");
    for entry in fs::read_dir(folder.join("whole")).unwrap() {
        let row = format!("| `{}` |", entry.unwrap().file_name().display());
        assert!(documented.contains(&row), "{row} is not documented");
    }
}

#[test]
fn findings_of_a_shard_stay_in_its_folder_and_those_of_a_merge_are_saved_in_the_checkout() {
    let folder = without_known_issues();
    let folder = folder.path();
    fs::create_dir_all(folder.join("corpus/regressions")).unwrap();
    let fixed = "[[cause]]\nid = \"shape\"\ntitle = \"Shape is wrong.\"\nexplanation = \"\"\nlink = \"not reported\"\n\
                 [[cause.variant]]\nid = \"was-fixed\"\n\
                 signature = \"tract | Shape | panic | \"\nfirst_version = \"0.1\"\nlast_version = \"99.0\"\n\
                 case = \"Shape@28 float[1]\"\n";
    fs::write(folder.join("known/tract.toml"), fixed).unwrap();
    let campaign = ["campaign", "--runtimes", "in-house,tract/typed", "--operator", "shape", "--cases", "300"];
    let saved = || fs::read_dir(folder.join("corpus/regressions")).unwrap().count();
    for (shard, output) in [("1/2", "1"), ("2/2", "2")] {
        assert_runs(folder, 1, &[&campaign[..], &["--shard", shard, "--output", output]].concat());
        assert!(folder.join(output).join("corpus/regressions").is_dir());
    }
    assert_eq!(saved(), 0);
    assert_runs(folder, 0, &["merge", "1", "2", "--output", "lenient", "--fail-on", "crash"]);
    let summary = summary(&folder.join("lenient"));
    assert_eq!((&summary["fixed"][0]["id"], summary["known"].as_array().unwrap().len()), (&"was-fixed".into(), 0));
    let found = summary["new"].as_array().unwrap().len();
    assert!(found > 0);
    assert_eq!(saved(), found);
    assert_eq!(fs::read_dir(folder.join("snapshots")).unwrap().count(), found);
}

#[test]
fn what_cannot_be_merged_is_said_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let campaign = |more: &[&str], output: &str| {
        let campaign =
            ["campaign", "--operator", HEART, "--cases", "448", "--runtimes", "in-house,tract", "--output", output];
        assert_runs(folder, 0, &[&campaign[..], more].concat());
    };
    campaign(&["--shard", "1/2"], "first");
    campaign(&["--shard", "2/2"], "second");
    campaign(&["--shard", "2/3"], "third");
    campaign(&["--seed", "5"], "seed-5");
    let runtimes = [
        "campaign",
        "--operator",
        HEART,
        "--cases",
        "448",
        "--shard",
        "2/2",
        "--runtimes",
        "in-house",
        "--output",
        "runtimes",
    ];
    assert_runs(folder, 0, &runtimes);

    let refused = |folders: &[&str], said: &str| {
        assert_refused(folder, &[&["merge"], folders, &["--output", "merged"]].concat(), said);
        assert!(!folder.join("merged").exists());
    };
    refused(&["first", "nowhere"], "nowhere holds no campaign: name folders that `crosscheck campaign`");
    refused(&["first", "runtimes"], "its runtimes are in-house");
    refused(&["first", "third"], "merge shards of one division only");
    refused(&["first", "second", "--runtimes", "in-house"], "name the same with --runtimes");
    refused(&[], "required arguments");

    let over_another = ["merge", "first", "second", "--output", "seed-5"];
    assert_refused(folder, &over_another, "seed-5 holds a campaign that is not among those to be merged");

    // Seeds may be merged, and are distinguished.
    assert_runs(folder, 0, &["merge", "second", "seed-5", "first", "--output", "seeds"]);
    let seeds = summary(&folder.join("seeds"));
    assert_fits_the_schema(&seeds);
    let origins = seeds["origins"].as_array().unwrap().iter();
    let origins: Vec<_> = origins.map(|origin| (&origin["source"]["seed"], &origin["cases"])).collect();
    assert_eq!(origins, [(&0.into(), &448.into()), (&5.into(), &448.into())]);
    assert_eq!(seeds["cases"]["total"], 896);
    for manner in [&["--resume"][..], &[]] {
        let campaign =
            [&["campaign", "--operator", HEART, "--runtimes", "in-house", "--cases", "9", "--output", "seeds"], manner]
                .concat();
        assert_refused(folder, &campaign, "seeds holds several campaigns that were merged");
    }

    // A shard that was stopped is merged as far as it got if that is asked for, and said to be so.
    let endless =
        ["campaign", "--operator", HEART, "--runtimes", "in-house,tract", "--shard", "2/2", "--output", "endless"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_crosscheck")).args(endless).current_dir(folder).spawn().unwrap();
    let cases = loop {
        match cases_in(&folder.join("endless")) {
            0 => sleep(Duration::from_millis(20)),
            _ => break child.kill().and_then(|()| child.wait()).map(|_| cases_in(&folder.join("endless"))).unwrap(),
        }
    };
    refused(&["endless", "first"], "shard 2/2 of {");
    let error = assert_runs(folder, 0, &["merge", "endless", "first", "--incomplete", "--output", "stopped"]);
    let said = format!("was stopped after {cases} cases");
    assert!(error.contains("shard 2/2 ") && error.contains(&said), "{error}");
    let text = fs::read_to_string(folder.join("stopped/summary.md")).unwrap();
    assert!(text.contains(&format!("**Incomplete**: shard 2/2 {said}")), "{text}");
    assert_eq!(summary(&folder.join("stopped"))["complete"], false);

    let checkpoint = folder.join("second/checkpoint.json");
    let text = fs::read_to_string(&checkpoint).unwrap();
    fs::write(&checkpoint, text.replacen("\"agreed\":", "\"agreed\":1", 1)).unwrap();
    refused(&["first", "second"], "checkpoint.json: it is damaged");
    let elsewhere = without_known_issues();
    let first = folder.join("first");
    assert_refused(elsewhere.path(), &["merge", first.to_str().unwrap()], "the known issues here are not those");
}

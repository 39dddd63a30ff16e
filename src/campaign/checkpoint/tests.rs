//! Checkpoints that are written, read again, and damaged in every way.

use super::*;
use crate::campaign::tests::options;
use crate::campaign::{Stream, Times, run};
use crate::case::Generator;
use crate::runtime::planted::{self, panics_on_zero, short_shape, wrong_type};
use crate::runtime::{OpenError, Runtime, Stop};

fn open() -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    Ok(vec![planted::without_faults()?, planted::with_faults(&[short_shape, wrong_type, panics_on_zero])?])
}

fn header() -> Header {
    let ids = open().unwrap().iter().map(|runtime| runtime.id().clone()).collect();
    Header::new((serde_json::json!({ "seed": 7 }), Shard::WHOLE), ids, "none".to_owned(), vec![], false)
}

/// A campaign of this many cases with a runtime that has faults.
fn campaign(checkpoint: Option<&mut Checkpoint>, cases: u64) -> Statistics {
    let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
    let options = options(&source, Some(cases), 2);
    run(&options, checkpoint, &open, &Stop::default(), &|_| {}).unwrap()
}

fn begin(folder: &Path) -> Checkpoint {
    Opened::open(folder, Manner::Begin).unwrap().start(header(), Limits::default()).unwrap()
}

/// How many cases are not run again when a campaign is resumed.
fn resume(folder: &Path) -> Result<u64, String> {
    let opened = Opened::open(folder, Manner::Resume).map_err(|error| error.to_string())?;
    Ok(opened.saved().unwrap().statistics.cases)
}

#[test]
fn statistics_are_read_as_they_are_written() {
    let statistics = campaign(None, 500);
    assert!(statistics.groups.len() > 20, "{}", statistics.groups.len());
    let text = serde_json::to_string(&statistics).unwrap();
    let again: Statistics = serde_json::from_str(&text).unwrap();
    assert_eq!(format!("{again:#?}"), format!("{statistics:#?}"));
    let unknown = text.replace("\"operator\":\"Shape\"", "\"operator\":\"Sharp\"");
    let error = serde_json::from_str::<Statistics>(&unknown).unwrap_err().to_string();
    assert!(error.contains("no operator `Sharp`"), "{error}");
}

#[test]
fn a_checkpoint_holds_what_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut checkpoint = begin(folder.path());
    let statistics = campaign(Some(&mut checkpoint), 500);
    checkpoint.end(Duration::ZERO, Duration::ZERO, true).unwrap();
    let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
    let saved = opened.saved().unwrap();
    assert!(saved.has_ended);
    assert_eq!(saved.cases.iter().collect::<Vec<_>>(), [&(0..500)]);
    assert_eq!(format!("{:#?}", saved.statistics), format!("{statistics:#?}"));
}

#[test]
fn a_campaign_that_was_not_ended_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let failure = |manner| Opened::open(folder.path(), manner).unwrap_err().to_string();
    assert!(failure(Manner::Resume).contains("no campaign to go on with"));
    let checkpoint = begin(folder.path());
    for manner in [Manner::Begin, Manner::Restart, Manner::Resume] {
        assert!(failure(manner).contains("in use by another campaign"), "{}", failure(manner));
    }
    drop(checkpoint);
    assert!(failure(Manner::Begin).contains("go on with --resume, or start over with --restart"));
    let again = Opened::open(folder.path(), Manner::Restart).unwrap().start(header(), Limits::default()).unwrap();
    again.end(Duration::ZERO, Duration::ZERO, true).unwrap();
    begin(folder.path());
}

#[test]
fn what_another_campaign_has_otherwise_is_said() {
    let folder = tempfile::tempdir().unwrap();
    drop(begin(folder.path()));
    let mut other = header();
    other.source["seed"] = 8.into();
    other.shard = Shard::new(2, 3).unwrap();
    other.runtimes[1].version = "1".to_owned();
    other.ignore_known = true;
    let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
    let error = opened.start(other, Limits::default()).unwrap_err().to_string();
    for words in [
        r#"its cases are {"seed":7} and not {"seed":8}"#,
        "its shard is 1/1 and not 2/3",
        "planted 0 and not in-house",
        "--ignore-known is false and not true",
        "start over with --restart",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!error.contains("known issues"), "{error}");
}

#[test]
fn damage_is_said_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    campaign(Some(&mut begin(folder.path())), 500);
    let whole = fs::read(&path).unwrap();
    assert_eq!(resume(folder.path()), Ok(500));
    let assert_damaged = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        for manner in [Manner::Resume, Manner::Begin] {
            let error = Opened::open(folder.path(), manner).unwrap_err().to_string();
            let is_said = error.starts_with(&format!("{}: ", path.display())) && error.contains("--restart");
            assert!(is_said, "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    };
    arbtest::arbtest(|u| {
        let mut bytes = whole.clone();
        let place = u.choose_index(bytes.len())?;
        if u.arbitrary()? {
            bytes.truncate(place);
        } else {
            bytes[place] ^= u.int_in_range(1..=255)?;
        }
        assert_damaged(&bytes);
        assert_damaged(u.bytes(u.len())?);
        Ok(())
    })
    .budget_ms(500);
    // The checksum is right, but the contents are no campaign.
    let nonsense = r#"[{"header":7}]"#;
    let text = format!("{}{}{}{nonsense}}}\n", HEAD.0, sha256(nonsense.as_bytes()), HEAD.1);
    assert_damaged(text.as_bytes());
    Opened::open(folder.path(), Manner::Restart).unwrap().start(header(), Limits::default()).unwrap();
    assert_eq!(resume(folder.path()), Ok(0));
}

#[test]
fn what_was_counted_since_the_checkpoint_is_run_again() {
    let whole = campaign(None, 500);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let mut checkpoint = begin(folder.path());
    campaign(Some(&mut checkpoint), 200);
    let early = fs::read(&path).unwrap();
    campaign(Some(&mut checkpoint), 400);
    drop(checkpoint);
    fs::write(&path, early).unwrap();
    assert_eq!(resume(folder.path()), Ok(200));
    let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
    let resumed = campaign(Some(&mut opened.start(header(), Limits::default()).unwrap()), 500);
    let result = |statistics: Statistics| {
        format!("{:#?}", Statistics { elapsed: Duration::ZERO, times: Times::default(), ..statistics })
    };
    assert_eq!(result(resumed), result(whole));
}

#[test]
fn a_small_share_of_the_time_is_spent_on_checkpoints() {
    let ms = Duration::from_millis;
    assert_eq!((pause(false, ms(1)), pause(true, ms(1))), (PAUSE, SHORT_PAUSE));
    assert_eq!((pause(false, ms(100)), pause(true, ms(100))), (ms(5000), ms(5000)));
}

#[test]
fn a_checkpoint_that_cannot_be_written_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut checkpoint = begin(folder.path());
    fs::create_dir(folder.path().join(NEW)).unwrap();
    let source = Stream::new(Generator::of_the_heart(), 7, vec![]);
    let options = options(&source, Some(500), 2);
    let error = run(&options, Some(&mut checkpoint), &open, &Stop::default(), &|_| {}).unwrap_err().to_string();
    let path = folder.path().join(FILE);
    assert!(error.starts_with(&format!("{} cannot be written", path.display())), "{error}");
    assert!(error.ends_with("goes on with --resume once there is room"), "{error}");
    drop(checkpoint);
    assert_eq!(resume(folder.path()), Ok(0));
}

//! Journals as they are written, as they are read again, and damaged in every way.

use super::*;
use crate::campaign::tests::options;
use crate::campaign::{Stream, run};
use crate::case::Generator;
use crate::runtime::liar::{self, panics_on_zero, short_shape, wrong_type};
use crate::runtime::{OpenError, Runtime, Stop};
use std::sync::{Arc, OnceLock};

fn open() -> Result<Vec<Box<dyn Runtime>>, OpenError> {
    Ok(vec![liar::honest()?, liar::liar(&[short_shape, wrong_type, panics_on_zero])?])
}

fn header() -> Header {
    let ids = open().unwrap().iter().map(|runtime| runtime.id().clone()).collect();
    Header::new((serde_json::json!({ "seed": 7 }), Shard::WHOLE), ids, "none".to_owned(), vec![], false)
}

/// A campaign of 500 cases with a runtime that lies.
fn campaign(journal: Option<&mut Journal>) -> Statistics {
    let source = Stream::new(Generator::default(), 7, vec![]);
    let options = options(&source, Some(500), 2);
    run(&options, journal, &open, &Stop::default(), &|_| {}).unwrap()
}

fn begin(folder: &Path) -> Journal {
    Opened::open(folder, Manner::Begin).unwrap().start(header(), Limits::default()).unwrap()
}

/// Opens a journal to resume it, and tells how many cases it holds.
fn resume(folder: &Path) -> Result<u64, String> {
    let opened = Opened::open(folder, Manner::Resume).map_err(|error| error.to_string())?;
    Ok(opened.kept().unwrap().whole.statistics.cases)
}

/// A journal of three parts, of which the last is not ended.
fn three_parts() -> &'static [u8] {
    static BYTES: OnceLock<Arc<[u8]>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = begin(folder.path());
        let source = Stream::new(Generator::default(), 7, vec![]);
        for cases in [20, 40, 60] {
            journal = {
                let options = options(&source, Some(cases), 1);
                run(&options, Some(&mut journal), &open, &Stop::default(), &|_| {}).unwrap();
                drop(journal);
                let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
                opened.start(header(), Limits::default()).unwrap()
            };
        }
        fs::read(folder.path().join(FILE)).unwrap().into()
    })
}

#[test]
fn statistics_are_read_as_they_are_written() {
    let statistics = campaign(None);
    assert!(statistics.groups.len() > 20, "{}", statistics.groups.len());
    let text = serde_json::to_string(&statistics).unwrap();
    let again: Statistics = serde_json::from_str(&text).unwrap();
    assert_eq!(format!("{again:#?}"), format!("{statistics:#?}"));
    let unknown = text.replace("\"operator\":\"Shape\"", "\"operator\":\"Sharp\"");
    let error = serde_json::from_str::<Statistics>(&unknown).unwrap_err().to_string();
    assert!(error.contains("no operator `Sharp`"), "{error}");
}

#[test]
fn a_journal_holds_what_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = begin(folder.path());
    let statistics = campaign(Some(&mut journal));
    journal.end(Duration::ZERO, true).unwrap();
    let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
    let kept = opened.kept().unwrap();
    assert!(kept.has_ended);
    assert_eq!(kept.whole.cases.iter().collect::<Vec<_>>(), [&(0..500)]);
    assert_eq!(format!("{:#?}", kept.whole.statistics), format!("{statistics:#?}"));
}

#[test]
fn a_campaign_that_was_not_ended_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let failure = |manner| Opened::open(folder.path(), manner).unwrap_err().to_string();
    assert!(failure(Manner::Resume).contains("no campaign to go on with"));
    let journal = begin(folder.path());
    for manner in [Manner::Begin, Manner::Restart, Manner::Resume] {
        assert!(failure(manner).contains("in use by another campaign"), "{}", failure(manner));
    }
    drop(journal);
    assert!(failure(Manner::Begin).contains("go on with --resume, or start anew with --restart"));
    let again = Opened::open(folder.path(), Manner::Restart).unwrap().start(header(), Limits::default()).unwrap();
    again.end(Duration::ZERO, true).unwrap();
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
        "liar 0 and not in-house",
        "--ignore-known is false and not true",
        "start anew with --restart",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!error.contains("known issues") && !error.contains("format"), "{error}");
}

#[test]
fn damage_before_the_last_line_names_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let text = str::from_utf8(three_parts()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7);
    for (number, of) in [(1, r#""seed":7"#), (2, r#""agreed":"#), (4, r#""cases""#)] {
        let mut damaged: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        damaged[number - 1] = damaged[number - 1].replacen(of, &of.replace('e', "é"), 1);
        fs::write(&path, damaged.join("\n") + "\n").unwrap();
        let error = resume(folder.path()).unwrap_err();
        let place = format!("{}, line {number}: its checksum is another; start anew", path.display());
        assert!(error.starts_with(&place), "{error}");
    }
    // A part that is there twice.
    fs::write(&path, [&lines[..3], &lines[1..2], &lines[3..]].concat().join("\n") + "\n").unwrap();
    let error = resume(folder.path()).unwrap_err();
    assert!(error.contains("line 4: it counts cases that are counted already"), "{error}");
    // At the end it is torn.
    fs::write(&path, format!("{}\n{{\"sum\":\"0\"}}\n", lines.join("\n"))).unwrap();
    assert_eq!(resume(folder.path()), Ok(60));
}

#[test]
fn a_journal_cut_anywhere_is_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let whole = three_parts();
    let ends: Vec<usize> = (1..=whole.len()).filter(|&end| whole[end - 1] == b'\n').collect();
    arbtest::arbtest(|u| {
        let length = u.int_in_range(0..=whole.len())?;
        fs::write(&path, &whole[..length]).unwrap();
        let lines = ends.iter().filter(|&&end| end <= length).count();
        match resume(folder.path()) {
            // Every other line is a part.
            Ok(cases) => assert_eq!(cases, (lines / 2 * 20) as u64),
            Err(error) => assert!(lines == 0 && error.contains("no campaign to go on with"), "{error}"),
        }
        if lines > 0 {
            let opened = Opened::open(folder.path(), Manner::Resume).unwrap();
            opened.start(header(), Limits::default()).unwrap().end(Duration::ZERO, true).unwrap();
            assert_eq!(resume(folder.path()), Ok((lines / 2 * 20) as u64), "what comes next is whole");
        }
        Ok(())
    });
}

#[test]
fn no_damage_is_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    arbtest::arbtest(|u| {
        let mut bytes = three_parts().to_vec();
        bytes.truncate(u.int_in_range(0..=bytes.len())?);
        for _ in 0..u.int_in_range(1..=4)? {
            let place = u.choose_index(bytes.len().max(1))?;
            let flip = u.int_in_range(1..=255)?;
            bytes.get_mut(place).into_iter().for_each(|byte| *byte ^= flip);
        }
        fs::write(&path, bytes).unwrap();
        let cases = resume(folder.path());
        assert!(cases.is_err() || cases.is_ok_and(|cases| cases <= 60 && cases % 20 == 0));
        Ok(())
    });
    let noise = |u: &mut arbitrary::Unstructured| {
        fs::write(&path, u.bytes(u.len())?).unwrap();
        assert!(resume(folder.path()).is_err());
        Ok(())
    };
    arbtest::arbtest(noise);
}

#[test]
fn a_journal_that_cannot_be_written_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = begin(folder.path());
    journal.file = File::open(folder.path().join(FILE)).unwrap();
    let source = Stream::new(Generator::default(), 7, vec![]);
    let options = options(&source, Some(500), 2);
    let error = run(&options, Some(&mut journal), &open, &Stop::default(), &|_| {}).unwrap_err().to_string();
    let path = folder.path().join(FILE);
    assert!(error.starts_with(&format!("{} cannot be written", path.display())), "{error}");
    assert!(error.ends_with("--resume goes on once there is room"), "{error}");
    drop(journal);
    assert_eq!(resume(folder.path()), Ok(0));
}

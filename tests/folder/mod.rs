//! What a campaign leaves in its folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_crosscheck::runtime::KINDS;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with an empty ledger, in which every mismatch is new.
pub fn without_known_issues() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("known")).unwrap();
    for kind in KINDS {
        fs::write(folder.path().join(format!("known/{}.toml", kind.name)), "").unwrap();
    }
    folder
}

/// Every file below a folder.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The same of a campaign, but for the checkpoint, the order of minimizing, and what it cost.
pub fn files_without_cost(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = files(folder);
    assert!(files.remove(Path::new("checkpoint.json")).is_some());
    files.remove(Path::new("minimized.jsonl"));
    let mut summary = summary(folder);
    assert!(summary.as_object_mut().unwrap().remove("cost").is_some());
    files.insert("summary.json".into(), summary.to_string());
    let text = files.get_mut(Path::new("summary.md")).unwrap();
    text.truncate(text.find("\n## Cost\n").expect("what it cost"));
    files
}

/// The summary of a campaign.
pub fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

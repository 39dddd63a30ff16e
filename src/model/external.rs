//! Tensors whose elements are in another file of the model's folder.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::proto::{AttributeProto, EXTERNAL, GraphProto, ModelProto, StringStringEntryProto, TensorProto};

/// Where the elements of a tensor are, as the keys `location`, `offset` and `length` of `TensorProto.external_data` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path below the model's folder.
    pub file: PathBuf,
    /// In bytes.
    pub offset: u64,
    /// In bytes; `None` stands for up to the end of the file.
    pub length: Option<u64>,
}

/// Where the elements of a tensor are, if they are in another file.
///
/// # Errors
/// If an entry cannot be read, or the file is not below the model's folder; the error names the tensor.
pub fn place(tensor: &TensorProto) -> Result<Option<Place>, String> {
    if tensor.data_location != Some(EXTERNAL) {
        return Ok(None);
    }
    let name = tensor.name.as_deref().unwrap_or("");
    let entry = |key: &str| {
        let found = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
        found.map(|entry| entry.value.clone().unwrap_or_default())
    };
    let number = |key: &str| {
        let parse =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{name}`: its {key} `{text}` is no number"));
        entry(key).map(parse).transpose()
    };
    let file = PathBuf::from(entry("location").ok_or_else(|| format!("`{name}` does not say which file it is in"))?);
    if !file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("`{name}`: the file {} is not below the model's folder", file.display()));
    }
    Ok(Some(Place { file, offset: number("offset")?.unwrap_or(0), length: number("length")? }))
}

/// Makes a tensor refer to a place for its elements.
pub fn refer(tensor: &mut TensorProto, place: &Place) {
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    tensor.raw_data = None;
    tensor.data_location = Some(EXTERNAL);
    tensor.external_data =
        vec![entry("location", place.file.display().to_string()), entry("offset", place.offset.to_string())];
    tensor.external_data.extend(place.length.map(|length| entry("length", length.to_string())));
}

impl Place {
    /// Reads the bytes at this place.
    ///
    /// # Errors
    /// If the file below this folder cannot be read or is too short.
    pub fn read(&self, folder: &Path) -> io::Result<Vec<u8>> {
        let path = folder.join(&self.file);
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = File::open(&path).map_err(failed)?;
        let there = file.metadata().map_err(failed)?.len().saturating_sub(self.offset);
        let length = self.length.unwrap_or(there);
        if length > there {
            let what = format!("it has {there} bytes from {} on, and {length} are to be there", self.offset);
            return Err(failed(io::Error::new(io::ErrorKind::UnexpectedEof, what)));
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.offset)).map_err(failed)?;
        file.take(length).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// Calls a function on every tensor of a model except those of its functions: initializers and attributes, in graphs within nodes
/// too.
///
/// # Errors
/// The first error of the function.
pub fn for_each_tensor<E>(
    model: &mut ModelProto,
    mut each: impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    model.graph.iter_mut().try_for_each(|graph| of_graph(graph, &mut each))
}

fn of_graph<E>(graph: &mut GraphProto, each: &mut dyn FnMut(&mut TensorProto) -> Result<(), E>) -> Result<(), E> {
    graph.initializer.iter_mut().try_for_each(&mut *each)?;
    for AttributeProto { t, tensors, g, graphs, .. } in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        t.iter_mut().chain(tensors).try_for_each(&mut *each)?;
        g.iter_mut().chain(graphs).try_for_each(|graph| of_graph(graph, each))?;
    }
    Ok(())
}

/// Reads elements from other files into the model. `folder` is the model's folder.
///
/// # Errors
/// If an entry or a file cannot be read.
pub fn inline(model: &mut ModelProto, folder: &Path) -> io::Result<()> {
    for_each_tensor(model, |tensor| {
        let place = place(tensor).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if let Some(place) = place {
            tensor.raw_data = Some(place.read(folder)?.into());
            tensor.data_location = None;
            tensor.external_data.clear();
        }
        Ok(())
    })
}

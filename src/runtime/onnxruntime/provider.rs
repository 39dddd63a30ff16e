//! Execution providers of onnxruntime: how a configuration names one, and how it is added to a session.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use ort::AsPointer;
use ort::ep::{self, ArbitrarilyConfigurableExecutionProvider, ExecutionProvider};
use ort::session::builder::SessionBuilder;

use crate::case::Case;
use crate::model;

/// An execution provider as a configuration names it: `XNNPACK`, or `CUDA(device_id=0,enable_cuda_graph=1)` with options of
/// onnxruntime.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Provider<'a> {
    name: &'a str,
    options: Vec<Setting<'a>>,
}

/// The name of an option, and its value.
type Setting<'a> = (&'a str, String);

type Add = fn(&mut SessionBuilder, &[Setting]) -> ort::Result<()>;

/// The providers with a call of their own in the API: the name in a configuration, the name that the library lists, and the call.
/// All other providers are added by name.
const WITH_OWN_CALL: [(&str, &str, Add); 11] = [
    ("ACL", ep::ACL::NAME, add_plain::<ep::ACL>),
    ("CANN", ep::CANN::NAME, add_with_options::<ep::CANN>),
    ("CUDA", ep::CUDA::NAME, add_with_options::<ep::CUDA>),
    ("DirectML", ep::DirectML::NAME, add_plain::<ep::DirectML>),
    ("MIGraphX", ep::MIGraphX::NAME, add_plain::<ep::MIGraphX>),
    ("NNAPI", ep::NNAPI::NAME, add_plain::<ep::NNAPI>),
    ("OneDNN", ep::OneDNN::NAME, add_with_options::<ep::OneDNN>),
    ("RKNPU", ep::RKNPU::NAME, add_plain::<ep::RKNPU>),
    ("ROCm", ep::ROCm::NAME, add_with_options::<ep::ROCm>),
    ("TensorRT", ep::TensorRT::NAME, add_with_options::<ep::TensorRT>),
    ("VSINPU", ep::VSINPU::NAME, add_plain::<ep::VSINPU>),
];

impl Provider<'_> {
    /// Reads `NAME` or `NAME(OPTION=VALUE,OPTION=VALUE)`. A part without an `=` belongs to the value before it, as in
    /// `OpenVINO(device_type=AUTO:GPU,CPU)`.
    ///
    /// # Errors
    /// If the text has neither form.
    pub(super) fn parse(text: &str) -> Result<Provider<'_>, String> {
        let wrong = || format!("`{text}` is no execution provider: write NAME or NAME(OPTION=VALUE,OPTION=VALUE)");
        let (name, options) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(wrong)?)),
            None => (text, None),
        };
        if name.is_empty() || text.contains('\0') {
            return Err(wrong());
        }
        let mut read: Vec<Setting> = Vec::new();
        for part in options.into_iter().flat_map(|options| options.split(',')) {
            match (part.split_once('='), read.last_mut()) {
                (Some((option, value)), _) if !option.trim().is_empty() => read.push((option.trim(), value.to_owned())),
                (None, Some((_, value))) => *value = format!("{value},{part}"),
                _ => return Err(wrong()),
            }
        }
        Ok(Provider { name, options: read })
    }

    /// Adds the provider before the one for the CPU, and loads a model with it: some providers report only then that they cannot
    /// work here.
    ///
    /// # Errors
    /// If the library lacks the provider, or it cannot work. The message lists the providers of the library, or gives the reason.
    pub(super) fn add(self, builder: &mut SessionBuilder) -> Result<(), String> {
        let name = self.name;
        let listed_name = format!("{}ExecutionProvider", name.strip_suffix("ExecutionProvider").unwrap_or(name));
        let is_meant = |(short, listed, _): &&(&str, &str, Add)| {
            short.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(&listed_name)
        };
        let own = WITH_OWN_CALL.iter().find(is_meant);
        let listed_name = own.map_or(&*listed_name, |(_, listed, _)| listed);
        let there = available_providers();
        if !there.iter().any(|listed| listed.eq_ignore_ascii_case(listed_name)) {
            return Err(format!(
                "this library has no execution provider `{name}`; it has {}: name one of these in `configurations` of \
                 runtimes.toml, or a library that was built with `{name}` as `library`",
                there.join(", ")
            ));
        }
        let added = match own {
            Some((_, _, add)) => add(builder, &self.options),
            None => add_by_name(builder, name, &self.options),
        };
        let case: Case = "Flatten@13 float[1]".parse().map_err(|error| format!("{error}"))?;
        let model = model::job(&case, &case.tensors()).model.bytes().map_err(|error| error.to_string())?.into_owned();
        let loaded = added.and_then(|()| builder.commit_from_memory(&model));
        loaded.map(drop).map_err(|error| format!("the execution provider `{name}` cannot be used: {}", error.message()))
    }
}

fn add_with_options<P>(builder: &mut SessionBuilder, options: &[Setting]) -> ort::Result<()>
where
    P: ExecutionProvider + ArbitrarilyConfigurableExecutionProvider + Default,
{
    let provider = |provider: P, (option, value): &Setting| provider.with_arbitrary_config(option, value);
    options.iter().fold(P::default(), provider).register(builder)
}

fn add_plain<P: ExecutionProvider + Default>(builder: &mut SessionBuilder, options: &[Setting]) -> ort::Result<()> {
    match options.first() {
        Some((option, _)) => Err(ort::Error::new(format!("it is given no options here: leave out `{option}`"))),
        None => P::default().register(builder),
    }
}

fn add_by_name(builder: &mut SessionBuilder, name: &str, options: &[Setting]) -> ort::Result<()> {
    let text = |text: &str| CString::new(text).map_err(|error| ort::Error::new(error.to_string()));
    let name = text(name)?;
    let names = options.iter().map(|(option, _)| text(option)).collect::<ort::Result<Vec<_>>>()?;
    let values = options.iter().map(|(_, value)| text(value)).collect::<ort::Result<Vec<_>>>()?;
    let [names, values] = [&names, &values].map(|texts| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>());
    // SAFETY: the builder is live, all the texts end in NUL and live on, and there are as many names as values.
    unsafe {
        let append = ort::api().SessionOptionsAppendExecutionProvider;
        let (name, length) = (name.as_ptr(), options.len());
        ort::Error::result_from_status(append(builder.ptr_mut(), name, names.as_ptr(), values.as_ptr(), length))
    }
}

/// The execution providers that the library was built with.
fn available_providers() -> Vec<String> {
    let (mut names, mut count): (*mut *mut c_char, _) = (ptr::null_mut(), 0);
    // SAFETY: the library gives an array of `count` strings, which are copied before the library takes them back.
    unsafe {
        let get = ort::api().GetAvailableProviders;
        if ort::Error::result_from_status(get(&raw mut names, &raw mut count)).is_err() {
            return vec![];
        }
        let name = |index| CStr::from_ptr(*names.add(index)).to_string_lossy().into_owned();
        let all = (0..usize::try_from(count).unwrap_or(0)).map(name).collect();
        let _ = ort::Error::result_from_status((ort::api().ReleaseAvailableProviders)(names, count));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_has_a_name_and_options() {
        let read = |text| {
            let Provider { name, options } = Provider::parse(text).unwrap();
            (name, options.iter().map(|(option, value)| format!("{option}: {value}")).collect::<Vec<_>>())
        };
        assert_eq!(read("XNNPACK"), ("XNNPACK", vec![]));
        let options = ["device_id: 0", "enable_cuda_graph: 1"].map(str::to_owned).to_vec();
        assert_eq!(read("CUDA(device_id=0,enable_cuda_graph=1)"), ("CUDA", options.clone()));
        assert_eq!(read("CUDA(device_id=0, enable_cuda_graph=1)"), ("CUDA", options));
        let options = ["device_type: AUTO:GPU,CPU", "config: {a=(b)}", "empty: "].map(str::to_owned).to_vec();
        assert_eq!(read("OpenVINO(device_type=AUTO:GPU,CPU,config={a=(b)},empty=)"), ("OpenVINO", options));
        for text in ["", "(a=1)", "CUDA(a=1", "CUDA()", "CUDA(a)", "CUDA(=1)", "CUDA(a=1)b", "C\0DA", "CUDA(a=\0)"] {
            let error = Provider::parse(text).unwrap_err();
            assert!(error.contains("write NAME or NAME(OPTION=VALUE"), "{text}: {error}");
        }
    }

    #[test]
    fn a_provider_with_a_call_of_its_own_is_known_by_the_names_that_people_know() {
        let names = WITH_OWN_CALL.map(|(name, listed, _)| format!("{name} {listed}"));
        assert!(names.contains(&"CUDA CUDAExecutionProvider".to_owned()), "{names:?}");
        assert!(names.contains(&"TensorRT TensorrtExecutionProvider".to_owned()), "{names:?}");
    }
}

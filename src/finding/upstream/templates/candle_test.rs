use std::collections::HashMap;
use std::error::Error;

use candle_core::{{ "{Device, Tensor}" if feeds else "Tensor" }};

fn outputs() -> Result<HashMap<String, Tensor>, Box<dyn Error>> {
    let model = candle_onnx::read_file(concat!(env!("CARGO_MANIFEST_DIR"), "/model.onnx"))?;
    let inputs = HashMap::from([
{% for feed in feeds %}
        ("{{ feed.name }}".to_owned(), Tensor::from_vec(Vec::<{{ feed.element_type }}>::from([{{ feed.elements }}]), &[{{ feed.dims or "0usize; 0" }}][..], &Device::Cpu)?),
{% endfor %}
    ]);
    Ok(candle_onnx::simple_eval(&model, inputs)?)
}

#[test]
fn {{ name }}() {
{% if expected %}
    let output = &outputs().unwrap()["{{ output_name }}"];
    assert_eq!(output.dims(), [{{ expected.dims or "0usize; 0" }}]);
    let elements = output.flatten_all().unwrap().to_vec1::<{{ expected.element_type }}>().unwrap();
    assert_eq!(elements, Vec::<{{ expected.element_type }}>::from([{{ expected.elements }}]));
{% else %}
    if let Ok(outputs) = outputs() {
        panic!("the model is not valid, and its outputs are {outputs:?}");
    }
{% endif %}
}

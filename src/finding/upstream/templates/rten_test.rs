use std::error::Error;

{% if setup == "plain" %}
use rten::{ModelOptions, ShapeInferenceMode, Value};
{% else %}
use rten::{ModelOptions, Value};
{% endif %}

fn outputs() -> Result<Vec<Value>, Box<dyn Error>> {
{% if setup == "plain" %}
    let mut options = ModelOptions::with_all_ops();
    options.enable_optimization(false);
    options.shape_inference(ShapeInferenceMode::Off);
{% else %}
    let options = ModelOptions::with_all_ops();
{% endif %}
    let model = options.load(include_bytes!("model.onnx").to_vec())?;
{% if feeds %}
    let inputs = vec![
{% for feed in feeds %}
        (
            model.node_id("{{ feed.name }}")?,
            Value::from_shape(&[{{ feed.dims or "0usize; 0" }}], Vec::<{{ feed.element_type }}>::from([{{ feed.elements }}]))?.into(),
        ),
{% endfor %}
    ];
{% else %}
    let inputs = vec![];
{% endif %}
    Ok(model.run(inputs, model.output_ids(), None)?)
}

#[test]
fn {{ name }}() {
{% if expected %}
    let expected = Value::from_shape(&[{{ expected.dims or "0usize; 0" }}], Vec::<{{ expected.element_type }}>::from([{{ expected.elements }}])).unwrap();
    assert_eq!(outputs().unwrap()[{{ output }}], expected);
{% else %}
    if let Ok(outputs) = outputs() {
        panic!("the model is not valid, and its outputs are {outputs:?}");
    }
{% endif %}
}

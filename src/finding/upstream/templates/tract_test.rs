use tract_onnx::prelude::*;

fn outputs() -> TractResult<TVec<TValue>> {
    let {{ "mut " if setup == "pinned" and feeds }}model = tract_onnx::onnx().model_for_read(&mut &include_bytes!("model.onnx")[..])?;
{% if setup == "pinned" %}
{% for feed in feeds %}
    model.set_input_fact({{ loop.index0 }}, InferenceFact::dt_shape({{ feed.element_type }}::datum_type(), &[{{ feed.dims or "0usize; 0" }}]))?;
{% endfor %}
{% endif %}
    let model = model.into_{{ "typed" if setup == "typed" else "optimized" }}()?.into_runnable()?;
{% if feeds %}
    model.run(tvec![
{% for feed in feeds %}
        Tensor::from_shape::<{{ feed.element_type }}>(&[{{ feed.dims }}], &[{{ feed.elements }}])?.into(),
{% endfor %}
    ])
{% else %}
    model.run(tvec![])
{% endif %}
}

#[test]
fn {{ name }}() {
{% if expected %}
    let expected = Tensor::from_shape::<{{ expected.element_type }}>(&[{{ expected.dims }}], &[{{ expected.elements }}]).unwrap();
    assert_eq!(*outputs().unwrap()[{{ output }}], expected);
{% else %}
    if let Ok(outputs) = outputs() {
        panic!("the model is not valid, and its outputs are {outputs:?}");
    }
{% endif %}
}

# OpenVINO on the CPU, in the precision of the model: without the hint, floats may be computed in bfloat16 where the CPU has it.

import io

import openvino

# What it says when it lacks something; everything else is a refusal.
GAPS = (
    *("NotImplementedError", "UnicodeDecodeError", "does not support", "doesn't support", "not supported", "Unsupported"),
    *("No conversion rule found", "not implemented", "Not Implemented", "Not implemented"),
    # A tensor of more dims than its plugin counts.
    ">= _Nb",
)
# The element types that numpy lacks, and what ONNX calls them. A tensor of these is read as its bytes.
FOREIGN = {
    **{"bf16": "BFLOAT16", "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2", "f8e8m0": "FLOAT8E8M0"},
    **{"f4e2m1": "FLOAT4E2M1", "i4": "INT4", "u4": "UINT4", "u2": "UINT2"},
}
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}

core = openvino.Core()


def fed(text):
    array = array_of(text)
    if array.dtype.kind == "O":
        raise NotImplementedError("tensors of strings")
    return openvino.Tensor(numpy.ascontiguousarray(array).reshape(array.shape))


def given(tensor):
    if tensor.element_type == openvino.Type.string:
        raise NotImplementedError("tensors of strings")
    foreign = FOREIGN.get(tensor.element_type.to_string())
    if foreign is None:
        return text_of_array(tensor.data)
    elements = numpy.asarray(tensor.data).tobytes()
    number = onnx.TensorProto.DataType.Value(foreign)
    return text_of(onnx.TensorProto(data_type=number, dims=list(tensor.shape), raw_data=elements))


def evaluate(job):
    stage = "load"
    try:
        compiled = core.compile_model(core.read_model(io.BytesIO(base64.b64decode(job["model"]))), "CPU", SETTINGS)
        stage = "run"
        inputs = {name for port in compiled.inputs for name in port.get_names()}
        constants = [name for name in job["feeds"] if name not in inputs]
        if constants:
            raise NotImplementedError(f"the input {constants[0]} has a default, which becomes a constant")
        request = compiled.create_infer_request()
        request.infer({name: fed(text) for name, text in job["feeds"].items()})
        return {"outputs": [given(request.get_output_tensor(place)) for place in range(len(compiled.outputs))]}
    except Exception as error:
        return failed(stage, error, GAPS)


# The plugin is loaded on first use, and no job waits for it.
evaluate({"model": text_of(an_identity()), "feeds": {"x": text_of_array(numpy.zeros(1, numpy.float32))}})
serve(openvino.__version__.split("-")[0], evaluate)

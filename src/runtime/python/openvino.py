# OpenVINO on the CPU, in the precision of the model: without the hint, floats may be computed in bfloat16 where the CPU has it.

import io

import openvino

# What it says when it lacks something; everything else is a refusal.
GAPS = (
    *("NotImplementedError", "UnicodeDecodeError", "does not support", "doesn't support", "not supported", "Unsupported"),
    *("No conversion rule found", "not implemented", "Not Implemented", "Not implemented"),
)
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "EXECUTION_MODE_HINT": "ACCURACY"}

core = openvino.Core()


def fed(text):
    array = array_of(text)
    if array.dtype.kind == "O":
        raise NotImplementedError("tensors of strings")
    return openvino.Tensor(numpy.ascontiguousarray(array).reshape(array.shape))


def evaluate(job):
    stage = "load"
    try:
        compiled = core.compile_model(core.read_model(io.BytesIO(base64.b64decode(job["model"]))), "CPU", SETTINGS)
        stage = "run"
        feeds = {name: fed(text) for name, text in job["feeds"].items()}
        given = compiled.create_infer_request().infer(feeds)
        return {"outputs": [text_of_array(given[place]) for place in range(len(compiled.outputs))]}
    except Exception as error:
        return failed(stage, error, GAPS)


serve(openvino.__version__.split("-")[0], evaluate)

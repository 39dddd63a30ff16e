"""onnxruntime's Python package as a runtime of the kind `command`; docs/command.md describes the protocol."""

import base64
import json
import os
import sys

# Set before onnxruntime is loaded: without this it writes a device id and events to the disk.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnx
import onnxruntime
from onnx import numpy_helper

# Messages of onnxruntime that mean a gap; every other message is a refusal.
GAPS = (
    "NOT_IMPLEMENTED",
    "is not currently registered or supported",
    "Unsupported model IR version",
    "*guarantees* support",
    "can't be converted to MLDataType",
)
# Element types that numpy does not have.
FOREIGN = ("bfloat16", "float8", "float4", "int4", "int2")


def options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def feed(text):
    return numpy_helper.to_array(onnx.TensorProto.FromString(base64.b64decode(text)))


def run(job):
    stage = "load"
    try:
        session = onnxruntime.InferenceSession(base64.b64decode(job["model"]), options())
        types = [value.type for value in session.get_inputs() + session.get_outputs()]
        if any(foreign in name for foreign in FOREIGN for name in types):
            return {"unsupported": f"numpy lacks one of {types}"}
        stage = "run"
        feeds = {name: feed(text) for name, text in job["feeds"].items()}
        outputs = session.run(None, feeds)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        if any(gap in message for gap in GAPS):
            return {"unsupported": message}
        return {"refused": message, "stage": stage}
    tensors = [numpy_helper.from_array(output).SerializeToString() for output in outputs]
    return {"outputs": [base64.b64encode(tensor).decode() for tensor in tensors]}


print(json.dumps({"protocol": 1, "version": onnxruntime.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)

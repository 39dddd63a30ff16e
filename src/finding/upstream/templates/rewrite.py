"""{{ title }}

Exits with 0 when {{ package }} does what is expected of it, and with 1 while it does not. To run it:

{% for command in commands %}
    {{ command }}
{% endfor %}
"""

import os
{% if apart %}
import subprocess
{% endif %}
import sys
from importlib.metadata import version
from pathlib import Path

# Before it is loaded: without this onnxruntime writes a device id and events to the disk.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnx
import onnxruntime
{% if package != "onnx" %}
import {{ module }}
{% endif %}
from onnx import checker, numpy_helper{{ ", version_converter" if package == "onnx" }}

HERE = Path(__file__).resolve().parent
EXPECTED = {{ expected|python }}
VERSION = f"{{ package }} {version('{{ package }}')}"


{% if package == "onnx" %}
def target(model):
    """The newest opset; for a model of that one, the opset before."""
    newest = onnx.defs.onnx_opset_version()
    opset = next((each.version for each in model.opset_import if each.domain == ""), newest)
    return newest - 1 if opset == newest else newest


{% endif %}
def load(path):
    return numpy_helper.to_array(onnx.load_tensor(HERE / path))


def interface(model):
    """The names, types and dims of the inputs that are fed, and the names of the outputs."""
    initializers = {initializer.name for initializer in model.graph.initializer}
    inputs = [(value.name, value.type) for value in model.graph.input if value.name not in initializers]
    return inputs, [value.name for value in model.graph.output]


def run(model):
    """The outputs of a model on onnxruntime without optimization."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [{% for name in models[0].names %}{{ name|python }}{{ ", " if not loop.last }}{% endfor %}]
    feeds = {name: load(f"test_data_set_0/input_{k}.pb") for k, name in enumerate(names)}
    return session.run(None, feeds)


def same(one, other):
    """Whether two outputs are the same to the bit."""
    if one.dtype == object or other.dtype == object:
        return one.dtype == other.dtype and one.shape == other.shape and one.tolist() == other.tolist()
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def check():
    """What is wrong with the rewritten model, or with its outputs; nothing if all is right."""
    before = onnx.load(HERE / "model.onnx")
    model = onnx.load(HERE / "model.onnx")
    try:
        after = {{ call }}
    except Exception as error:
{% if error_is_right %}
        return None
{% else %}
        return "gives the error: " + " ".join(str(error).split())[:300]
{% endif %}
    checker.check_model(before)
    try:
        checker.check_model(after)
    except Exception as error:
        return "gives a model that the checker refuses: " + " ".join(str(error).split())[:300]
    (old, outputs), (new, names) = interface(before), interface(after)
    if outputs != names or [value for value in old if value not in new] or len(new) > len(old):
        return f"gives a model with the inputs {[name for name, _ in new]} and the outputs {names}"
    try:
        results = run(after)
    except Exception as error:
{% if error_is_right %}
        return None
{% else %}
        return "gives a model that onnxruntime refuses: " + " ".join(str(error).split())[:300]
{% endif %}
    acceptable = [{% for path in acceptable %}load({{ path|python }}){{ ", " if not loop.last }}{% endfor %}]
    result = results[{{ output }}]
    if not any(same(result, each) for each in acceptable):
        return f"gives a model whose output is {result.dtype} of shape {list(result.shape)}: {result.tolist() if result.size else []}"
    return None


def main():
    wrong = check()
    print(f"{'WRONG' if wrong else 'RIGHT'}: {VERSION} {wrong or 'gives a model that does the same'}; expected is {EXPECTED}")
    return 1 if wrong else 0


{% if apart %}
{% include "apart.py" %}


if __name__ == "__main__":
    sys.exit(apart(VERSION, EXPECTED, {{ limit }}) if sys.argv[1:] != ["here"] else main())
{% else %}
if __name__ == "__main__":
    sys.exit(main())
{% endif %}

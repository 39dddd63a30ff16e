"""Holds reports against the onnx package: a line of JSON for each folder that is named.

The model text of issue.md is parsed and compared with model.onnx, valid models go through onnx.checker with full_check, and
each sentence that is quoted of an operator document is looked up in the schema of that version.
"""

import json
import re
import sys
from pathlib import Path

import onnx
from full_check import full_check
from onnx import defs, numpy_helper, parser


def elements(tensor):
    """The elements, whichever field holds them."""
    if 0 in tensor.dims:
        return []
    if tensor.data_type == onnx.TensorProto.STRING:
        return list(tensor.string_data)
    return numpy_helper.to_array(tensor).tobytes()


def normalized(model):
    """What is left of a model without what may be written in several ways, and the elements of its tensors."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    found = []

    def take(tensor):
        found.append((tensor.name, tensor.data_type, list(tensor.dims), elements(tensor)))
        tensor.Clear()

    for tensor in model.graph.initializer:
        take(tensor)
    for node in model.graph.node:
        node.ClearField("domain")
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                take(attribute.t)
    return model.SerializeToString(deterministic=True), found


def words(text):
    """A text without its layout."""
    return " ".join(re.sub(r"//", " ", text).split())


def document(name):
    """All that the onnx package says in the document of an operator version, such as Reshape-14."""
    if name.startswith("onnx.proto"):
        return words((Path(onnx.__file__).parent / "onnx.proto").read_text())
    operator, version = name.rsplit("-", 1)
    schema = defs.get_schema(operator, int(version))
    assert schema.since_version == int(version), f"{name} is no version of its own"
    parts = [schema.doc, *(attribute.description for attribute in schema.attributes.values())]
    parts += [value.description for value in [*schema.inputs, *schema.outputs]]
    return words(" ".join(parts))


def is_documented(source):
    """Whether the onnx package is as new as what is quoted."""
    return source.startswith("onnx.proto") or int(source.rsplit("-", 1)[1]) <= defs.onnx_opset_version()


def check(folder):
    issue = (folder / "issue.md").read_text()
    model = onnx.load(folder / "model.onnx")
    result = {"name": folder.name, "text": None, "same": None, "checked": False, "unquoted": []}
    block = re.search(r"## The model\n.*?\n```\n(.*?)\n```\n", issue, re.DOTALL)
    if block and "cannot be shown" not in issue.split("## The model")[1].split("```")[0]:
        result["text"] = block.group(1)
        result["same"] = normalized(parser.parse_model(block.group(1))) == normalized(model)
    if model.ir_version <= onnx.IR_VERSION and (folder / "test_data_set_0" / "output_0.pb").exists():
        try:
            result["checked"] = full_check(model)
        except onnx.shape_inference.InferenceError:
            # The inference of the package, which runtimes share, may be what is wrong.
            result["checked"] = False
    quotes = re.findall(r"^> (.*)\n\n— \[(.*?)\]", issue, re.MULTILINE)
    assert quotes, f"{folder.name} quotes nothing"
    # The IR specification is not in the package.
    own = [(quote, source) for quote, source in quotes if not source.startswith("ONNX IR") and is_documented(source)]
    result["unquoted"] = [f"{source}: {quote}" for quote, source in own if words(quote) not in document(source)]
    return result


for path in sys.argv[1:]:
    print(json.dumps(check(Path(path))), flush=True)

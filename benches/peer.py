"""Verdicts per CPU-second: a plain loop in Python, and `crosscheck campaign` on the same cases.

    cargo build --release
    python3 -m venv venv && venv/bin/pip install onnx==1.22.0 onnxruntime==1.32.0
    venv/bin/python benches/peer.py

The loop builds a model with onnx.helper, checks it with onnx.checker, runs it on onnxruntime with one thread, and compares
the result with that of onnx.reference. Reading the cases and starting Python are not counted. Of crosscheck everything is: its
start, its processes, and the cases that Python cannot judge, though only those that both judge are divided by the time. A verdict is one on one case on one runtime.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections import Counter, namedtuple

# Before it is loaded: without this onnxruntime writes a device id and events to the disk.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

# The element types that numpy has: the name in a case and the number in ONNX.
TYPES = {name: TensorProto.DataType.Value(name.upper()) for name in (
    "float16 float double bool string complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64").split()}
# An IR version that has all of these, and that every opset may be used with.
IR = 10
# What onnxruntime says when it lacks something; everything else is a refusal.
GAPS = ("NOT_IMPLEMENTED", "is not currently registered or supported", "*guarantees* support")
TEXT = r'"(?:[^"\\]|\\.)*"'
WORD = re.compile(
    rf"(?P<name>\w+)=(?P<value>\[[^]]*\]|{TEXT}|\S+)|(?P<omitted>_)(?!\S)"
    rf'|(?P<type>\w+)\[(?P<dims>[\d,]*)\]\{{(?P<elements>(?:{TEXT}|[^"}}])*)\}}:?(?P<wiring>\S*)')
Operand = namedtuple("Operand", "type array wiring")


class Skipped(Exception):
    """Why Python cannot judge a case."""


def attribute(name, text):
    value = json.loads(text) if text[0] in '["' else int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    return helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS if value == [] else None)


def operand(type_name, dims, elements, wiring):
    if type_name not in TYPES:
        raise Skipped("element type that numpy lacks")
    if wiring == "input(unranked)":
        raise Skipped("graph input without a shape, which onnx.checker refuses")
    dtype = helper.tensor_dtype_to_np_dtype(TYPES[type_name])

    def element(text):
        """Hexadecimal numbers are bits."""
        if text.startswith("0x"):
            return int(text, 16).to_bytes(dtype.itemsize, "little")
        return dtype.type(float(text) if dtype.kind == "f" else int(text)).tobytes()

    if type_name == "string":
        array = numpy.array(json.loads(f"[{elements}]"), dtype=object)
    else:
        array = numpy.frombuffer(b"".join(element(text) for text in elements.split(",") if text), dtype)
    try:
        return Operand(type_name, array.reshape([int(dim) for dim in dims.split(",") if dim]), wiring or "input")
    except ValueError:
        raise Skipped("dims that numpy cannot have") from None


def parse(line):
    """A line of `crosscheck cases --elements`: operator, opset, attributes, operands."""
    operator, opset, rest = re.fullmatch(r"(\w+)@(\d+)(.*)", line).groups()
    if int(opset) > onnx.defs.onnx_opset_version():
        raise Skipped("opset newer than the onnx package")
    words = list(WORD.finditer(rest))
    attributes = [attribute(word["name"], word["value"]) for word in words if word["name"]]
    operands = [None if word["omitted"] else operand(*word.group("type", "dims", "elements", "wiring"))
                for word in words if not word["name"]]
    return operator, int(opset), attributes, operands


def build(operator, opset, attributes, operands):
    """The model of a case, and what its graph inputs are fed."""
    names, nodes, inputs, initializers, feeds = [], [], [], [], {}
    for place, operand in enumerate(operands):
        names.append(name := f"input_{place}" if operand else "")
        if not operand:
            continue
        kind, shape = TYPES[operand.type], operand.array.shape
        if operand.wiring.startswith("input"):
            symbols = {"input(symbolic)": [f"{name}_{axis}" for axis in range(len(shape))],
                       "input(shared)": [f"shared_{size}" for size in shape]}
            inputs.append(helper.make_tensor_value_info(name, kind, symbols.get(operand.wiring, shape)))
            feeds[name] = operand.array
            continue
        raw = operand.type != "string" and "typed" not in operand.wiring
        values = operand.array.tobytes() if raw else operand.array.flatten().tolist()
        tensor = helper.make_tensor(name, kind, shape, values, raw)
        if operand.wiring.startswith("initializer"):
            initializers.append(tensor)
        else:
            nodes.append(helper.make_node("Constant", [], [name], value=tensor))
    nodes.append(helper.make_node(operator, names, ["output"]))
    nodes[-1].attribute.extend(attributes)
    data, target = ([operand for operand in operands if operand] + [None, None])[:2]
    # onnx.checker refuses an output without a rank.
    targets = [attribute.ints for attribute in attributes if attribute.name == "shape"] + [target.array.flat if target else []]
    ranks = {"Shape": 1, "Size": 0, "Flatten": 2}
    rank = ranks[operator] if operator in ranks else len(targets[0])
    kind = TYPES["int64"] if operator in ("Shape", "Size") or not data else TYPES[data.type]
    output = helper.make_tensor_value_info("output", kind, [f"output_{axis}" for axis in range(rank)])
    graph = helper.make_graph(nodes, "peer", inputs, [output], initializers)
    return helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", opset)]), feeds


def outcome(work):
    try:
        output = numpy.asarray(work()[0])
    except Exception as error:
        return "unsupported" if any(gap in str(error) for gap in GAPS) else "refused"
    is_text = output.dtype.kind in "OUS"
    return is_text or output.dtype, output.shape, output.tolist() if is_text else output.tobytes()


def verdict(case, options):
    model, feeds = build(*case)

    def expected():
        onnx.checker.check_model(model)
        return ReferenceEvaluator(model).run(None, feeds)

    session = lambda: onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    answer = outcome(lambda: session().run(None, feeds))
    return answer if answer == "unsupported" else "agrees" if outcome(expected) == answer else "differs"


def peer(cases, verdicts):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    start = time.process_time()
    verdicts.update(verdict(case, options) for case in cases)
    return len(cases) / (time.process_time() - start)


def campaign(judged, crosscheck, *arguments):
    """Verdicts on so many cases per CPU-second, user and system, of a campaign with all its processes."""
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with tempfile.TemporaryDirectory() as folder:
        start = spent()
        command = [crosscheck, "campaign", "--output", folder, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        runtimes = re.search("; runtimes: (.*)", done.stderr).group(1).split(", ")
        return judged * len(runtimes) / (spent() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crosscheck", default="target/release/crosscheck", metavar="PATH", help="the program")
    parser.add_argument("--seed", default="7", metavar="N")
    parser.add_argument("--cases", default="5000", metavar="N")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="how many runs to take the medians of")
    arguments = parser.parse_args()
    crosscheck = os.path.abspath(arguments.crosscheck)
    if arguments.runs < 1 or not os.path.isfile(crosscheck):
        parser.error(f"--runs is at least 1, and {crosscheck} must be there: `cargo build --release` makes it")
    stream = ["--seed", arguments.seed, "--cases", arguments.cases, "--nodes", "1"]
    lines = subprocess.run([crosscheck, "cases", "--elements", *stream], check=True, capture_output=True, text=True).stdout
    cases, skipped, verdicts = [], Counter(), Counter()
    # A string may hold what is a line end to `splitlines` alone.
    for line in lines.rstrip("\n").split("\n"):
        try:
            cases.append(parse(line))
        except Skipped as why:
            skipped[str(why)] += 1
    sides = {
        f"Python, onnxruntime {onnxruntime.__version__}": lambda: peer(cases, verdicts),
    }
    for runtimes in "onnxruntime/all", "onnxruntime,tract":
        command = [crosscheck, *stream, "--runtimes", runtimes]
        sides[f"crosscheck, {runtimes}"] = lambda command=command: campaign(len(cases), *command)
    # All sides in each run, so that whatever else the machine does meets every one of them.
    rates = [{side: work() for side, work in sides.items()} for _ in range(arguments.runs)]
    print(f"Seed {arguments.seed}: both judge {len(cases)} of {arguments.cases} cases; Python skips", dict(skipped))
    print("Python's verdicts in each run:", {name: count // arguments.runs for name, count in verdicts.items()})
    print(f"Verdicts per CPU-second, and how many times those of Python; medians of {arguments.runs} runs (lowest-highest):")
    for side in sides:
        found = [rate[side] for rate in rates]
        ratio = statistics.median(rate[side] / next(iter(rate.values())) for rate in rates)
        print(f"  {side:30} {statistics.median(found):7.0f} ({min(found):.0f}-{max(found):.0f}) {ratio:6.2f}")


if __name__ == "__main__":
    main()

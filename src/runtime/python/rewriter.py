# A rewriter of models: the one of the first argument, which is in the table REWRITERS, or a module with a function `rewrite` that
# takes a ModelProto and gives one. What it gives is run on onnxruntime without optimization, as is the model before it.

import ctypes
import functools
import importlib
import importlib.metadata
import queue
import subprocess
import threading
import time

from onnx import checker

JUDGE = "--judge"
TIME_LIMIT = 0.5  # seconds for a run of onnxruntime, and a second for each million characters of a job
MEMORY_LIMIT = 4 << 30  # bytes for its process


def converted(package, model):
    """To the newest opset that the package knows; from that one to the opset before it."""
    newest = onnx.defs.onnx_opset_version()
    opset = next((each.version for each in model.opset_import if each.domain == ""), newest)
    return package.convert_version(model, newest - 1 if opset == newest else newest)


# By name: the module, and how it is called.
REWRITERS = {
    "onnx-version-converter": ("onnx.version_converter", converted),
    "onnxoptimizer": ("onnxoptimizer", lambda package, model: package.optimize(model)),
    "onnxscript": ("onnxscript.optimizer", lambda package, model: package.optimize(model)),
    "onnxsim": ("onnxsim", lambda package, model: package.simplify(model)[0]),
    "onnxslim": ("onnxslim", lambda package, model: package.slim(model)),
}

# What a rewriter says when it lacks something; everything else is a refusal.
GAPS = (
    *("NotImplementedError", "ImportError", "is higher than the checker's", "No Op registered for", "No Adapter"),
    *("no supported data type", "Unknown tensor data type", "Unsupported version", "Could not find operator"),
    *("No schema registered for", "Field 'shape' of 'type' is required"),
)
# What onnxruntime says of a valid model that it cannot run: it has no kernel, or it reads int32 axes of Pad as int64.
JUDGE_GAPS = ("NOT_IMPLEMENTED", "ParseData type mismatch for tensor")


def serve_as_judge():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

    def fed(tensor):
        # Not from an array of numpy, which lacks some element types.
        value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
        ctypes.memmove(value.data_ptr(), tensor.raw_data, len(tensor.raw_data))
        return value

    def given(value):
        if not isinstance(value, onnxruntime.OrtValue):
            return text_of_array(value)
        size = value.tensor_size_in_bytes()
        data = ctypes.string_at(value.data_ptr(), size) if size else b""
        return text_of(onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=data))

    def evaluate(job):
        stage = "load"
        try:
            model = base64.b64decode(job["model"])
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            stage = "run"
            is_text = any(value.type == "tensor(string)" for value in session.get_inputs() + session.get_outputs())
            if is_text:
                outputs = session.run(None, {name: array_of(text) for name, text in job["feeds"].items()})
            else:
                feeds = {name: fed(tensor_of(text)) for name, text in job["feeds"].items()}
                outputs = session.run_with_ort_values(None, feeds)
            return {"outputs": [given(value) for value in outputs]}
        except Exception as error:
            return failed(stage, error, JUDGE_GAPS)

    end_with_the_parent()
    serve(onnxruntime.__version__, evaluate)


def end_with_the_parent():
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(2)

    threading.Thread(target=watch, daemon=True).start()
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


class Judge:
    """onnxruntime without optimization, in a process of its own: this program again, with another argument."""

    def __init__(self):
        self.start()

    def start(self):
        command = [sys.executable, *sys.orig_argv[1:3], JUDGE]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.lines = queue.Queue()
        threading.Thread(target=read_lines, args=(self.process.stdout, self.lines), daemon=True).start()
        if not self.lines.get():
            raise RuntimeError("onnxruntime cannot be started: is the package installed?")

    def reply(self, job):
        """What it does with a job; nothing if it ends its process, or takes too long."""
        text = json.dumps(job)
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=TIME_LIMIT + len(text) / 1e6)
        except (OSError, queue.Empty):
            line = ""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        self.start()
        return None


def read_lines(of, lines):
    """Puts each line of a file into a queue, and an empty one at its end."""
    for line in of:
        lines.put(line)
    lines.put("")


def what_is_wrong(model):
    """Why the checker refuses a model, with the names of the model in quotes; nothing if it does not."""
    try:
        checker.check_model(model)
    except Exception as error:
        graph = model.graph
        named = [*graph.initializer, *graph.node, *graph.input, *graph.output]
        names = {each.name for each in named} | {name for node in graph.node for name in [*node.input, *node.output]}
        words = f"{error} ".splitlines()[0].strip().split(" ")
        return " ".join(f"'{word}'" if word in names else word for word in words)
    return None


def changed(before, after, feeds):
    """What is no longer as it was for whoever runs the model, in words, names in quotes; nothing if all is."""
    inputs = {value.name: value.type.tensor_type for value in after.graph.input}
    outputs = [value.name for value in after.graph.output]
    if [value.name for value in before.graph.output] != outputs:
        return f"the outputs have other names: '{', '.join(outputs)}'"
    for value in before.graph.input:
        if value.name not in feeds:
            continue
        if value.name not in inputs:
            return f"an input is gone: '{value.name}'"
        old, new = value.type.tensor_type, inputs[value.name]
        if old.elem_type != new.elem_type:
            return f"an input has another element type: '{value.name}'"
        if not new.HasField("shape"):
            continue
        if old.HasField("shape") and len(old.shape.dim) != len(new.shape.dim):
            return f"an input has another rank: '{value.name}'"
        known = [dim.dim_value if dim.HasField("dim_value") else None for dim in old.shape.dim]
        for place, dim in enumerate(new.shape.dim):
            if dim.HasField("dim_value") and (not known or dim.dim_value != known[place]):
                return f"a dim of an input is fixed: '{value.name}, dim {place} is {dim.dim_value}'"
    initializers = {initializer.name for initializer in after.graph.initializer}
    added = set(inputs) - initializers - {value.name for value in before.graph.input}
    return f"there are new inputs: '{', '.join(sorted(added))}'" if added else None


def evaluate_with(rewrite, judge):
    @functools.lru_cache(maxsize=1)
    def rewritten(text):
        """The rewritten model, or the reply where there is none."""
        try:
            return rewrite(model_of(text)), None
        except Exception as error:
            return None, failed("load", error, GAPS)

    def run(job, model, inputs):
        """The reply of onnxruntime to the rewritten model, and that to the original one if it has other outputs, or none."""
        before = judge.reply(job)
        if before is None:
            return {"refused": "onnxruntime ends its process, or takes too long, without the rewriter"}, None
        feeds = {name: text for name, text in job["feeds"].items() if name in inputs}
        reply = judge.reply({"model": text_of(model), "feeds": feeds})
        if reply is None:
            return {"unsupported": "onnxruntime ends its process, or takes too long"}, None
        if "refused" in reply:
            reply["refused"] = f"onnxruntime refuses the rewritten model: {reply['refused']}"
        return reply, before if before.get("outputs") != reply.get("outputs") else None

    def evaluate(job):
        model, refused = rewritten(job["model"])
        if refused is not None:
            return refused
        before = model_of(job["model"])
        inputs = {value.name for value in model.graph.input}
        defaults = {initializer.name for initializer in before.graph.initializer}
        if any(name in defaults and name not in inputs for name in job["feeds"]):
            return {"unsupported": "it takes an input that has a default for a constant"}
        reply, original = run(job, model, inputs)
        invalid = None if what_is_wrong(before) else what_is_wrong(model)
        interface = changed(before, model, job["feeds"])
        return {**reply, "rewriting": {"invalid": invalid, "interface": interface, "original": original}}

    return evaluate


def rewriter(name):
    """The function of a rewriter, and its version."""
    if name in REWRITERS:
        module, call = REWRITERS[name]
        package = importlib.import_module(module)
        return functools.partial(call, package), importlib.metadata.version(module.split(".")[0])
    module = importlib.import_module(name)
    return module.rewrite, getattr(module, "__version__", "")


def warm_up(rewrite):
    """No job waits for what is loaded on first use."""
    try:
        rewrite(an_identity())
    except Exception as error:
        print(f"at a model of one Identity: {error}", file=sys.stderr)


if sys.argv[1] == JUDGE:
    serve_as_judge()
else:
    rewrite, version = rewriter(sys.argv[1])
    warm_up(rewrite)
    serve(version, evaluate_with(rewrite, Judge()))

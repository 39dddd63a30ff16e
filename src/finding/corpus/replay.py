"""Runs the cases beside this file on onnxruntime: `replay.py [EXPECTED]`. Exits with 1 if a case is not done as expected.

EXPECTED lists the cases that are known not to be right, and must not be; by default for the version that is installed."""
import csv, ctypes, multiprocessing, os, pathlib, sys
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it is loaded: it writes a device id and events to the disk
import numpy, onnx, onnx.numpy_helper, onnxruntime

HERE, LIMIT = pathlib.Path(__file__).resolve().parent, 10  # seconds for a case
NOT_RUN = ("ends", "is aborted", "is ended", "is killed", "takes all", "answers with memory")  # these end a process or differ

def rows(path): return [line for line in open(path, encoding="utf-8", newline="\n") if line[0] != "#"]
def tensors(folder, kind):
    return [onnx.load_tensor(folder / f"{kind}_{place}.pb") for place in range(len(list(folder.glob(f"{kind}_*.pb"))))]
def parts(tensor): return tensor.data_type, list(tensor.dims), list(tensor.string_data) or tensor.raw_data
def fed(tensor):
    if tensor.data_type == onnx.TensorProto.STRING:
        return numpy.array([text.decode() for text in tensor.string_data], object).reshape(list(tensor.dims))
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)  # numpy lacks some types
    ctypes.memmove(value.data_ptr(), tensor.raw_data, len(tensor.raw_data))
    return value

def given(value):
    if isinstance(value, numpy.ndarray):
        return parts(onnx.numpy_helper.from_array(value))
    size = value.tensor_size_in_bytes()
    return value.element_type(), list(value.shape()), ctypes.string_at(value.data_ptr(), size) if size else b""

def run(folder, right):  # what is wrong, or nothing
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        is_text = any(value.type == "tensor(string)" for value in session.get_inputs() + session.get_outputs())
        feeds = {tensor.name: fed(tensor) for tensor in tensors(folder / "test_data_set_0", "input")}
        outputs = [given(value) for value in (session.run if is_text else session.run_with_ort_values)(None, feeds)]
    except Exception as error:
        return "" if "refusal" in right else f"refuses: {error}"
    answers = [[parts(tensor) for tensor in tensors(folder / each, "output")] for each in right]
    return "" if "any" in right or outputs in answers else f"answers {outputs}"

def main(expected=HERE / f"expected/onnxruntime-{onnxruntime.__version__}-all.tsv"):
    if not os.path.exists(expected):
        print(f"{expected} is not there: name a list, or {os.devnull} if all cases must be right", file=sys.stderr)
        return 2
    known, failed, pool = dict(line.rstrip("\n").split("\t") for line in rows(expected)), 0, multiprocessing.Pool(1)
    cases = list(csv.DictReader(rows(HERE / "manifest.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
    for case in (case for case in cases if not known.get(case["folder"], "").startswith(NOT_RUN)):
        for _ in range(2):  # the second time in a new process: a case before may be why
            (job := pool.apply_async(run, (HERE / case["folder"], case["right"].split()))).wait(LIMIT)
            wrong = job.get() if job.ready() else "ends its process, or gives no answer in time"
            if is_expected := bool(wrong) == (case["folder"] in known):
                break
            pool.terminate(), (pool := multiprocessing.Pool(1))
        if not is_expected:
            failed += 1
            print("FAIL", case["folder"], case["case"], wrong[:300] or f"is right: delete it from {expected}", flush=True)
    print(f"onnxruntime {onnxruntime.__version__}: {len(cases)} cases, {len(known)} known not to be right, {failed} FAIL")
    return int(failed > 0)

if __name__ == "__main__": sys.exit(main(*sys.argv[1:]))

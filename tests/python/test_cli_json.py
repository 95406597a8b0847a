"""The contract of the command: the JSON's schema and sums, the same bytes every time, CSV, and every way to fail."""

import csv
import io
import json
import zipfile

import pytest
from command import EXAMPLES, ROOT, run

MODELS = ["resnet50", "gpt2", "lstm_lm", "detector", "unet"]
FITS, DOES_NOT_FIT, USAGE, INPUT, CANNOT_WRITE = 0, 1, 2, 3, 4
CATEGORIES = set(
    "parameters buffers gradients optimizer activations temporaries inputs workspace communication kv_cache"
    " allocator_slack context other".split()
)
KEYS = {
    "": "schema tool model recipe device peak marks breakdown bounds fits flops layers diagnostics assumptions",
    "tool": "name version",
    "model": "name format parameters trainable parameter_bytes buffer_bytes",
    "device": "name capacity",
    "peak": "requested allocated active reserved device at",
    "bounds": "low high why",
    "flops": "forward backward recompute",
}
ROW_KEYS = {
    "marks": "name step requested allocated active reserved allocated_peak",
    "breakdown": "category bytes",
    "layers": "name op output_shape parameters flops output_bytes saved_bytes workspace_bytes",
    "diagnostics": "kind severity count meaning first",
}
RECIPE = "mode batch loss precision optimizer optimizer-impl accumulate checkpoint inplace memory-format steps loop"


def example(name):
    return EXAMPLES / f"{name}.onnx"


def estimate(name, *flags):
    result = run("estimate", example(name), "--json", *flags)
    assert result.returncode in (FITS, DOES_NOT_FIT), result.stderr
    answer = json.loads(result.stdout)
    assert answer["fits"] == (result.returncode == FITS)
    return answer


@pytest.fixture(scope="module", params=MODELS)
def answer(request):
    return estimate(request.param, "--batch", 4, "--optimizer", "adam", "--device", "rtx3090")


def test_keys(answer):
    assert answer["schema"] == 1 and answer["tool"]["name"] == "ullage"
    for path, keys in KEYS.items():
        assert set(keys.split()) <= set(answer[path] if path else answer), path
    for key, keys in ROW_KEYS.items():
        assert answer[key], key
        assert all(set(keys.split()) <= set(row) for row in answer[key]), key
    assert set(RECIPE.split()) <= set(answer["recipe"])
    assert answer["recipe"]["batch"] == 4 and answer["recipe"]["optimizer"] == "adam"


def test_breakdown_sums_to_the_device_peak(answer):
    assert {row["category"] for row in answer["breakdown"]} <= CATEGORIES
    assert sum(row["bytes"] for row in answer["breakdown"]) == answer["peak"]["device"]
    assert all(isinstance(row["bytes"], int) and row["bytes"] > 0 for row in answer["breakdown"])


def test_counters_are_ordered(answer):
    for values in [answer["peak"], *answer["marks"]]:
        assert 0 < values["requested"] <= values["allocated"] <= values["active"] <= values["reserved"]
    assert answer["peak"]["reserved"] < answer["peak"]["device"]
    assert max(mark["allocated_peak"] for mark in answer["marks"]) == answer["peak"]["allocated"]


def test_bounds_hold_the_peak(answer):
    assert answer["bounds"]["low"] <= answer["peak"]["device"] <= answer["bounds"]["high"]
    assert answer["bounds"]["why"]


def test_layers_hold_the_parameters(answer):
    assert sum(layer["flops"] for layer in answer["layers"]) == answer["flops"]["forward"] > 0
    assert 0 < answer["model"]["trainable"] <= answer["model"]["parameters"]
    assert answer["model"]["parameter_bytes"] == 4 * answer["model"]["parameters"]


@pytest.mark.parametrize("name", MODELS)
def test_a_larger_batch_takes_no_less(name):
    peaks = [estimate(name, "--batch", batch, "--only-peak")["peak"] for batch in (2, 4, 8)]
    for counter in ("requested", "allocated"):
        values = [peak[counter] for peak in peaks]
        assert values == sorted(values) and values[0] < values[-1]


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bytes_every_time(name):
    first, second = (run("estimate", example(name), "--batch", 2, "--json").stdout for _ in range(2))
    assert first == second and first


@pytest.mark.parametrize("command", ["estimate", "summary", "inspect"])
def test_csv(command):
    result = run(command, example("vgg16"), "--csv")
    assert result.returncode == FITS
    tables = [list(csv.reader(io.StringIO(part), strict=True)) for part in result.stdout.split("\n\n")]
    for header, *rows in tables:
        assert rows and len(set(header)) == len(header)
        assert {len(row) for row in rows} == {len(header)}


def test_csv_and_json_agree():
    shown = run("estimate", example("vgg16"), "--csv").stdout.split("\n\n")[0]
    rows = list(csv.DictReader(io.StringIO(shown)))
    parts = {row["category"]: int(row["bytes"]) for row in rows if row["category"] != "total"}
    assert parts == {row["category"]: row["bytes"] for row in estimate("vgg16")["breakdown"]}


def refused(result, code, *words):
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr, result.stderr


def test_missing_file():
    refused(run("estimate", "no/such.onnx"), INPUT, "no/such.onnx", "hint:")


@pytest.mark.parametrize("command", ["estimate", "summary", "inspect"])
@pytest.mark.parametrize("kind", ["text", "zip", "empty", "folder"])
def test_wrong_format(command, kind, tmp_path):
    path = tmp_path / "model.onnx"
    if kind == "text":
        path.write_text("This is not a model.\n")
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.pkl", b"\x80\x02.")
    elif kind == "empty":
        path.touch()
    else:
        path.mkdir()
    refused(run(command, path), INPUT, str(path), "hint:")


@pytest.mark.parametrize(
    "flags",
    [
        ("--optimizer", "adamm"),
        ("--precision", "fp12"),
        ("--mode", "trian"),
        ("--checkpoint", "some"),
        ("--batch", "0"),
        ("--batch", "many"),
        ("--capacity", "24 bananas"),
    ],
    ids=" ".join,
)
def test_unknown_value(flags):
    refused(run("estimate", example("vgg16"), *flags), USAGE, flags[0].strip("-"), flags[1], "hint:")


def test_unknown_device_is_met_with_the_nearest():
    refused(run("estimate", example("vgg16"), "--device", "rtx3091"), USAGE, "rtx3091", "rtx3090")


def test_unknown_command_is_met_with_the_nearest():
    refused(run("estimat", example("vgg16")), USAGE, "did you mean: ullage estimate")


def test_unknown_layer_is_met_with_the_nearest():
    refused(run("explain", example("resnet50"), "layer1.0.conv9"), USAGE, "layer1.0.conv")


def test_cannot_write(tmp_path):
    for flag in ("-o", "--events"):
        path = tmp_path / "missing" / "file"
        refused(run("estimate", example("vgg16"), flag, path), CANNOT_WRITE, str(path))


@pytest.mark.parametrize("name", ["vgg16", "lstm_lm"])
def test_cut_files(name, tmp_path):
    whole = example(name).read_bytes()
    path = tmp_path / "cut.onnx"
    for cut in sorted({1, 2, 3, 7, 64, *(len(whole) * part // 16 for part in range(1, 16)), len(whole) - 1}):
        path.write_bytes(whole[:cut])
        refused(run("estimate", path, "--only-peak"), INPUT, str(path), "byte", "hint:")


def test_does_not_fit_is_an_answer():
    result = run("estimate", example("vgg16"), "--batch", 256, "--capacity", "4GiB")
    assert result.returncode == DOES_NOT_FIT and "does not fit" in result.stdout


def test_fail_over():
    flags = ("--batch", 4, "--with", "batch=64", "--fail-over")
    assert run("diff", example("vgg16"), *flags, 1).returncode == DOES_NOT_FIT
    assert run("diff", example("vgg16"), *flags, 100000).returncode == FITS


def test_runs_from_anywhere(tmp_path):
    assert ROOT not in tmp_path.parents
    assert run("list", "devices", cwd=tmp_path).returncode == FITS

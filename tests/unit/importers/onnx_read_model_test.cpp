// The files are made by tests/data/onnx/make.py, which says what is in each.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/protobuf_writer.h"
#include "ullage/importers/onnx/external.h"
#include "ullage/importers/onnx/model.h"

namespace ullage::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::field;
using wire::number;

struct Opened {
  Diagnostics notes;
  Result<FileModel> result;
  FileModel& model() { return result.value(); }
};

Opened open_tiny(const std::string& name) {
  Opened opened{.notes = {}, .result = FileModel{}};
  auto source = open_file(ULLAGE_SOURCE_DIR "/fuzz/corpus/onnx/" + name + ".onnx");
  EXPECT_TRUE(source) << name;
  opened.result = read_model(*source, opened.notes);
  return opened;
}

std::vector<std::string> lines(const std::vector<Node>& nodes) {
  std::vector<std::string> out;
  for (const Node& node : nodes) {
    std::string line;
    for (const auto output : node.outputs) line += std::string(output) + " ";
    line += "= " + std::string(node.op);
    for (const auto input : node.inputs) line += " " + std::string(input);
    out.push_back(line);
  }
  return out;
}

TEST(OnnxReadModel, StructureOfAPerceptron) {
  Opened o = open_tiny("mlp");
  ASSERT_TRUE(o.result);
  const FileModel& m = o.model();
  EXPECT_EQ(m.ir_version, 8);
  EXPECT_EQ(m.opset(), 17);
  EXPECT_EQ(m.producer, "make.py");
  EXPECT_THAT(lines(m.graph.nodes), ElementsAre("h = Gemm x w1 b1", "r = Relu h", "y = Gemm r w2 b2"));
  EXPECT_EQ(m.graph.nodes[0].integer("transB", 0), 1);
  EXPECT_EQ(m.graph.nodes[0].integer("transA", 7), 7);
  EXPECT_EQ(m.graph.nodes[0].place(), "node '/fc1/Gemm' (Gemm)");
  ASSERT_THAT(m.graph.initializers, SizeIs(4));
  const Tensor& w = m.graph.initializers[0];
  EXPECT_EQ(w.name, "w1");
  EXPECT_THAT(w.dims, ElementsAre(8, 4));
  EXPECT_EQ(w.dtype, DType::f32);
  EXPECT_EQ(w.payload, Payload::inside);
  EXPECT_EQ(w.stored_bytes, 128u);
  ASSERT_THAT(m.graph.inputs, SizeIs(1));
  EXPECT_EQ(m.graph.inputs[0].dims[0].param, "batch");
  EXPECT_FALSE(m.graph.inputs[0].dims[0].known());
  EXPECT_EQ(m.graph.inputs[0].dims[1].value, 4);
  EXPECT_TRUE(o.notes.empty());
}

TEST(OnnxReadModel, OldFilesListInitializersAmongInputs) {
  Opened o = open_tiny("ir3_inputs");
  EXPECT_THAT(o.model().graph.inputs, SizeIs(2));
  EXPECT_THAT(o.model().graph.initializers, SizeIs(1));
}

TEST(OnnxReadModel, WeightsInConstantNodesAndSubgraphs) {
  Opened constant = open_tiny("constant_weights");
  const Tensor* weight = constant.model().graph.nodes[0].tensor("value");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->numel(), 12);
  Opened branches = open_tiny("if_weights");
  const FileGraph* then_branch = branches.model().graph.nodes[0].graph("then_branch");
  ASSERT_TRUE(then_branch);
  EXPECT_THAT(then_branch->initializers[0].dims, ElementsAre(4, 3));
  EXPECT_THAT(lines(then_branch->nodes), ElementsAre("yt = MatMul x wt"));
}

TEST(OnnxReadModel, TheHigherOfTwoOpsetsCounts) {
  Opened o = open_tiny("duplicate_opset");
  EXPECT_EQ(o.model().opset(), 13);
  EXPECT_EQ(o.model().opset("ai.onnx.ml"), 2);
  EXPECT_EQ(o.notes.count("duplicate_opset"), 1);
  EXPECT_EQ(o.model().graph.nodes[0].domain, "");
}

TEST(OnnxReadModel, NamesMayBeAnything) {
  Opened o = open_tiny("odd_names");
  EXPECT_EQ(o.model().graph.outputs[0].name, "{\"name\": \"out\", \"é\": 1}");
  EXPECT_EQ(o.model().graph.nodes[0].inputs[0], "x y\tz");
}

// Outer(p, unused) → q, p   calls   Twice(a) {slope} → b:  t = Mul(a, a);  b = Elu(t) {alpha=@slope};   Outer's slope
// is 0.25 unless given.
TEST(OnnxReadModel, FunctionsAreInlined) {
  Opened o = open_tiny("functions");
  ASSERT_TRUE(o.result) << o.result.error().message;
  const auto& nodes = o.model().graph.nodes;
  EXPECT_THAT(lines(nodes), ElementsAre("block/first/t = Mul x x", "m = Elu block/first/t", "same = Identity x",
                                        "Outer/first/t = Mul m m", "y = Elu Outer/first/t", "z = Relu same"));
  EXPECT_EQ(nodes[1].real("alpha", 0), 0.25F);
  EXPECT_EQ(nodes[4].real("alpha", 0), 2.0F);
  EXPECT_EQ(nodes[0].name, "block/first/square");
  EXPECT_EQ(nodes[0].scope, "block/first");
}

TEST(OnnxReadModel, RecursionIsRefused) {
  Opened o = open_tiny("recursion");
  ASSERT_FALSE(o.result);
  EXPECT_EQ(o.result.error().message, "function 'F' calls itself");
  EXPECT_THAT(o.result.error().where, HasSubstr("node 'start/again' (F)"));
}

TEST(OnnxReadModel, ExternalDataIsLocatedNotRead) {
  Opened o = open_tiny("external");
  const Tensor& v = o.model().graph.initializers[1];
  EXPECT_EQ(v.payload, Payload::external);
  EXPECT_EQ(v.external_file, "missing.bin");
  EXPECT_EQ(v.external_offset, 64u);
  EXPECT_EQ(v.stored_bytes, 40u);
  EXPECT_EQ(o.notes.count("missing_external_data"), 2);
  EXPECT_EQ(o.notes.count("payload_size_mismatch"), 1);  // 3x3 floats are 36 bytes
}

TEST(OnnxReadModel, ExternalPathsThatLeadOutAreNotFollowed) {
  Opened o = open_tiny("external_unsafe");
  EXPECT_EQ(o.notes.count("unsafe_external_path"), 4);
  const auto read = read_reals(o.model(), o.model().graph.initializers[1]);  // /etc/passwd
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("not followed"));
}

TEST(OnnxReadModel, LinksAreNotFollowedAndFilesBesideTheModelAre) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "ullage_external";
  fs::create_directories(folder / "model");
  const auto tensor = [](std::string_view name, std::string_view file) {
    return field(5, number(1, 2) + number(2, 7) + field(8, name) + field(13, field(1, "location") + field(2, file)) +
                        number(14, 1));
  };
  std::ofstream(folder / "model" / "m.onnx", std::ios::binary)
      << number(1, 8) +
             field(7, tensor("good", "data.bin") + tensor("linked", "link.bin") + tensor("below", "dir/data.bin"));
  const int64_t values[2] = {5, -6};
  for (const char* name : {"secret.bin", "model/data.bin"}) {
    std::ofstream(folder / name, std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof(values));
  }
  fs::remove(folder / "model" / "link.bin");
  fs::remove(folder / "model" / "dir");
  fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  fs::create_directory_symlink(folder, folder / "model" / "dir");
  Diagnostics notes;
  const auto model = read_model(open_file((folder / "model" / "m.onnx").string()).value(), notes);
  ASSERT_TRUE(model);
  EXPECT_THAT(read_ints(*model, model->graph.initializers[0]).value(), ElementsAre(5, -6));
  EXPECT_THAT(read_ints(*model, model->graph.initializers[1]).error().message, HasSubstr("it is a link"));
  EXPECT_FALSE(read_ints(*model, model->graph.initializers[2]));
  EXPECT_EQ(notes.count("unsafe_external_path"), 2);
  fs::remove_all(folder);
}

TEST(OnnxReadModel, SparseWeightsHaveTheirDenseShape) {
  Opened o = open_tiny("sparse");
  const Tensor& w = o.model().graph.initializers[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_TRUE(w.sparse);
  EXPECT_THAT(w.dims, ElementsAre(4, 3));
  EXPECT_EQ(w.stored_elements, 2);
}

TEST(OnnxReadModel, FilesOfTheFutureAreReadWithAWarning) {
  Opened o = open_tiny("future");
  ASSERT_TRUE(o.result);
  EXPECT_EQ(o.notes.count("unsupported_opset"), 1);
}

TEST(OnnxReadModel, UnpackedNumbers) {
  Opened o = open_tiny("unpacked");
  const Tensor& s = o.model().graph.initializers[1];
  EXPECT_THAT(s.dims, ElementsAre(2, 1));
  EXPECT_THAT(read_ints(o.model(), s).value(), ElementsAre(5, 6));
  EXPECT_TRUE(o.notes.empty());
}

// Every type, in its typed field and as raw bytes; the values are those of make.py.
TEST(OnnxReadModel, ElementsOfEveryTypeInBothEncodings) {
  Opened o = open_tiny("typed_data");
  ASSERT_TRUE(o.result);
  EXPECT_TRUE(o.notes.empty());
  const std::map<DType, std::vector<double>> expected = {
      {DType::f32, {0.5, -2}},       {DType::f64, {0.5, -2}},      {DType::i64, {7, -3}},      {DType::i32, {7, -3}},
      {DType::i16, {7, -3}},         {DType::i8, {7, -3}},         {DType::u8, {7, 253}},      {DType::u16, {7, 65533}},
      {DType::u32, {7, 4294967293}}, {DType::u64, {7, 3}},         {DType::boolean, {1, 0}},   {DType::f16, {0.5, -2}},
      {DType::bf16, {0.5, -2}},      {DType::f8e4m3fn, {0.5, -2}}, {DType::f8e5m2, {0.5, -2}}, {DType::i4, {7, -3, 1}},
      {DType::u4, {7, 13, 1}},       {DType::f4e2m1, {0.5, -2, 6}}};
  ASSERT_THAT(o.model().graph.initializers, SizeIs(2 * expected.size()));
  for (const Tensor& tensor : o.model().graph.initializers) {
    const auto numbers = read_reals(o.model(), tensor);
    ASSERT_TRUE(numbers) << tensor.name << ": " << numbers.error().message;
    EXPECT_EQ(*numbers, expected.at(tensor.dtype)) << tensor.name;
    EXPECT_EQ(read_ints(o.model(), tensor).has_value(), !is_floating(tensor.dtype)) << tensor.name;
  }
}

TEST(OnnxReadModel, TypesOfValues) {
  Opened o = open_tiny("types");
  const auto& inputs = o.model().graph.inputs;
  EXPECT_EQ(inputs[0].kind, TypeKind::sequence);
  EXPECT_THAT(inputs[0].dims, SizeIs(2));
  EXPECT_EQ(inputs[1].kind, TypeKind::optional);
  EXPECT_TRUE(inputs[2].has_shape);
  EXPECT_THAT(inputs[2].dims, IsEmpty());
  EXPECT_FALSE(inputs[3].has_shape);
}

TEST(OnnxReadModel, NodesAreSortedAndCyclesRefused) {
  EXPECT_THAT(lines(open_tiny("unsorted").model().graph.nodes), ElementsAre("h = Tanh x", "y = Relu h"));
  const Opened cycle = open_tiny("cycle");
  ASSERT_FALSE(cycle.result);
  EXPECT_THAT(cycle.result.error().where, HasSubstr("node 'first' (Add)"));
  const Opened twice = open_tiny("made_twice");
  ASSERT_FALSE(twice.result);
  EXPECT_THAT(twice.result.error().message, HasSubstr("makes 'y', which node 'one' (Relu) makes already"));
}

TEST(OnnxReadModel, OddPayloadsAreCounted) {
  EXPECT_EQ(open_tiny("duplicate_initializer").notes.count("duplicate_name"), 1);
  Opened shorter = open_tiny("short_payload");
  EXPECT_EQ(shorter.notes.count("payload_size_mismatch"), 1);
  EXPECT_THAT(read_reals(shorter.model(), shorter.model().graph.initializers[0]).error().message,
              HasSubstr("needs 48 bytes, 40 are stored"));
  Opened huge = open_tiny("huge_dims");
  ASSERT_TRUE(huge.result);
  EXPECT_EQ(huge.model().graph.initializers[0].numel(), INT64_MAX);
  EXPECT_EQ(huge.notes.count("missing_weights"), 1);
}

}  // namespace
}  // namespace ullage::onnx

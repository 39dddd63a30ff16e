// What the tests of reports to onnxruntime use of its test library, as far as they can be checked without it: the calls compile, and
// each tensor has as many elements as its dims say.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#define TEST(suite, name)                                        \
  static void suite##_##name();                                  \
  static const int ran_##suite##_##name = (suite##_##name(), 0); \
  static void suite##_##name()
#define TEST_F(suite, name) TEST(suite, name)

namespace onnxruntime {

class NodeArg {};

class Node {
 public:
  void AddAttribute(const std::string&, int64_t) {}
  void AddAttribute(const std::string&, const std::string&) {}
  void AddAttribute(const std::string&, const std::vector<int64_t>&) {}
};

enum class TransformerLevel { Default, Level1, Level2, Level3 };

namespace test {

inline void Check(const std::vector<int64_t>& dims, size_t elements) {
  uint64_t expected = 1;
  for (int64_t dim : dims) expected *= static_cast<uint64_t>(dim);
  if (expected != elements) {
    std::printf("%zu elements, and the dims ask for %llu\n", elements, static_cast<unsigned long long>(expected));
    std::exit(1);
  }
}

class OpTester {
 public:
  enum class ExpectResult { kExpectSuccess, kExpectFailure };

  OpTester(const char*, int) {}
  void AddAttribute(const std::string&, int64_t) {}
  void AddAttribute(const std::string&, const std::string&) {}
  void AddAttribute(const std::string&, const std::vector<int64_t>&) {}
  template <typename T>
  void AddInput(const char*, std::initializer_list<int64_t> dims, std::initializer_list<T> values, bool = false) {
    Check(dims, values.size());
  }
  template <typename T>
  void AddInput(const char*, std::initializer_list<int64_t> dims, const std::vector<T>& values, bool = false) {
    Check(dims, values.size());
  }
  template <typename T>
  void AddOptionalInputEdge() {}
  template <typename T>
  void AddOutput(const char*, std::initializer_list<int64_t> dims, std::initializer_list<T> values) {
    Check(dims, values.size());
  }
  template <typename T>
  void AddOutput(const char*, std::initializer_list<int64_t> dims, const std::vector<T>& values) {
    Check(dims, values.size());
  }
  void Run(ExpectResult = ExpectResult::kExpectSuccess, const std::string& = "") { std::puts("ran"); }
};

class InferenceSessionWrapper {};

class ModelTestBuilder {
 public:
  template <typename T>
  NodeArg* MakeInput(const std::vector<int64_t>& shape, const std::vector<T>& data) {
    Check(shape, data.size());
    return &argument_;
  }
  template <typename T>
  NodeArg* MakeInitializer(const std::vector<int64_t>& shape, const std::vector<T>& data) {
    Check(shape, data.size());
    return &argument_;
  }
  NodeArg* MakeIntermediate() { return &argument_; }
  NodeArg* MakeOutput() { return &argument_; }
  NodeArg* MakeEmptyInput() { return &argument_; }
  Node& AddNode(const std::string&, const std::vector<NodeArg*>&, const std::vector<NodeArg*>&) { return node_; }

 private:
  NodeArg argument_;
  Node node_;
};

inline void TransformerTester(const std::function<void(ModelTestBuilder&)>& build_test_case,
                              const std::function<void(InferenceSessionWrapper&)>&, TransformerLevel, TransformerLevel,
                              int) {
  ModelTestBuilder builder;
  build_test_case(builder);
  std::puts("ran");
}

}  // namespace test
}  // namespace onnxruntime

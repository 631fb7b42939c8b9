// A whole translator in one library: ids of sources → ids of translations, with their scores and alignments. Nothing but
// numbers and addresses goes in, so that Python, JavaScript and others can open it.

#include <string>

#include "beam.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

// The order of `shape` and `reals` of `open_engine`: names of regard/runtime/engine.py.
enum Shape {
  kDim, kPre, kActivation, kEncoderLayers, kDecoderLayers, kEncoderHeads, kOwnHeads, kCrossHeads, kZeroBegin,
  kAlignedLayer, kPaddingId, kBeginId, kEndId, kUnknownId
};
enum Real { kSourceScale, kTargetScale, kSlope, kEpsilon };

constexpr int64_t kMost = 1 << 20;  // of a size

struct Fault {
  const char* message;
};

#if defined(__cpp_exceptions)
void check(bool fits, const char* message) {
  if (!fits) throw Fault{message};
}
#else
const char* last_fault = nullptr;  // a page has no exceptions: it reads this where a call was trapped

void check(bool fits, const char* message) {
  if (fits) return;
  last_fault = message;
  __builtin_trap();
}
#endif

// A tensor of a file: `rows` × `columns` numbers of `wide` bytes: 4, float32; 1, a weight w = scale · (u - 128).
struct Tensor {
  int64_t address, rows, columns, wide;
};

struct Matrix {
  const float* numbers;  // (outputs, inputs), or null
  const uint8_t* eight;  // (outputs, inputs), or null
  const float* scales;   // (outputs,) of `eight`
  const float* bias;     // (outputs,), or null
  int64_t outputs, inputs;
};

// Give pages of a file's map back that have been packed; who reads them again has them from the file.
void give_back(const void* from, int64_t bytes) {
#if defined(__linux__)
  const uintptr_t page = sysconf(_SC_PAGESIZE), first = (uintptr_t(from) + page - 1) / page * page;
  const uintptr_t last = (uintptr_t(from) + bytes) / page * page;
  if (first < last) madvise((void*)first, last - first, MADV_DONTNEED);
#endif
}

constexpr int64_t kGivenBack = 1024;  // outputs that are packed between two calls of it

// Tensors in the order in which the network is read; one that is not there has no address.
class Tensors {
 public:
  Tensors(const Tensor* all, int64_t count) : next(all), last(all + count) {}

  Tensor take(int64_t wide = 4) {
    check(next < last, "tensors are missing");
    const Tensor one = *next++;
    check(!one.address || (one.wide == wide && one.address % wide == 0), "a tensor has numbers of another kind");
    return one;
  }
  // (columns,) numbers; null where they are not there.
  const float* vector(int64_t columns) {
    const Tensor one = take();
    check(!one.address || one.rows * one.columns == columns, "a vector has another size than its layer");
    return (const float*)one.address;
  }
  Matrix matrix(int64_t inputs) {
    check(last - next >= 3, "tensors are missing");
    const Tensor weight = take(next[1].address ? 1 : 4), scales = take(), bias = take();
    Matrix made{};
    if (!weight.address) return made;
    check(weight.columns == inputs && weight.rows > 0, "a matrix has another size than its layer");
    check(!scales.address || scales.rows * scales.columns == weight.rows, "scales fit no matrix");
    check(!bias.address || bias.rows * bias.columns == weight.rows, "a bias fits no matrix");
    (scales.address ? *(const void**)&made.eight : *(const void**)&made.numbers) = (const void*)weight.address;
    made.scales = (const float*)scales.address, made.bias = (const float*)bias.address;
    made.outputs = weight.rows, made.inputs = weight.columns;
    return made;
  }
  void end() const { check(next == last, "there are more tensors than a network has"); }

 private:
  const Tensor *next, *last;
};

// A weight in panels, see products.h.
class PackedMatrix {
 public:
  explicit PackedMatrix(const Matrix& from) {
    const int64_t outputs = from.outputs, inputs = from.inputs, all = (outputs + kPanel - 1) / kPanel * kPanel;
    bias.reset(new float[all]());
    if (from.bias) std::copy_n(from.bias, outputs, bias.get());
    if (from.eight) {
      const int64_t stride = (inputs + 3) / 4 * 4;
      scales.reset(new float[all]());
      std::copy_n(from.scales, outputs, scales.get());
      eight.reset(new uint8_t[all * stride]);
      std::fill_n(eight.get(), all * stride, uint8_t(128));
      for (int64_t output = 0; output < outputs; ++output) {
        uint8_t* panel = eight.get() + output / kPanel * kPanel * stride + output % kPanel * 4;
        for (int64_t input = 0; input < inputs; ++input) {
          panel[input / 4 * 4 * kPanel + input % 4] = from.eight[output * inputs + input];
        }
        if ((output + 1) % kGivenBack == 0 || output + 1 == outputs) give_back(from.eight, (output + 1) * inputs);
      }
    } else {
      numbers.reset(new float[all * inputs]());
      for (int64_t output = 0; output < outputs; ++output) {
        float* panel = numbers.get() + output / kPanel * kPanel * inputs + output % kPanel;
        for (int64_t input = 0; input < inputs; ++input) panel[input * kPanel] = from.numbers[output * inputs + input];
        if ((output + 1) % kGivenBack == 0 || output + 1 == outputs) give_back(from.numbers, (output + 1) * inputs * 4);
      }
    }
    const void* panels = from.eight ? (const void*)eight.get() : (const void*)numbers.get();
    product = {panels, bias.get(), scales.get(), inputs, outputs};
  }
  Product product;

 private:
  std::unique_ptr<uint8_t[]> eight;
  std::unique_ptr<float[]> numbers, bias, scales;
};

class Engine {
 public:
  Engine(const int64_t* shape, const double* reals, Tensors tensors) : dim(shape[kDim]), aligned(shape[kAlignedLayer]) {
    const auto within = [&](Shape name, int64_t least, int64_t most) {
      check(shape[name] >= least && shape[name] <= most, "a size of the network is impossible");
    };
    within(kDim, 1, kMost), within(kEncoderLayers, 1, kMost), within(kDecoderLayers, 1, kMost);
    within(kEncoderHeads, 1, kWidest), within(kOwnHeads, 0, kWidest), within(kCrossHeads, 1, kWidest);
    within(kPre, 0, 1), within(kActivation, kRelu, kSwish), within(kAlignedLayer, 0, shape[kDecoderLayers] - 1);
    const Matrix source_table = tensors.matrix(dim), own_table = tensors.matrix(dim);
    const Matrix& target_table = own_table.outputs ? own_table : source_table;
    check(source_table.outputs > 0, "a matrix is missing");
    source_words = source_table.outputs, target_words = target_table.outputs;
    const float* source_added = take_places(tensors, source_places);
    const float* target_added = take_places(tensors, target_places);
    encoder = stack(tensors, shape, reals, shape[kEncoderLayers], shape[kEncoderHeads], 0);
    decoder = stack(tensors, shape, reals, shape[kDecoderLayers], shape[kOwnHeads], shape[kCrossHeads]);
    const Product* head = keep(tensors.matrix(dim));
    check(head->outputs == target_words, "the head has another number of words than the target");
    tensors.end();
    for (int64_t one = kPaddingId; one <= kUnknownId; ++one) {
      check(shape[one] >= 0 && shape[one] < target_words, "a special id is not in the vocabulary");
    }
    reads = writer(&encoder, nullptr, source_table, source_added, reals[kSourceScale], shape);
    reads.zero_begin = 0;
    writes = writer(&decoder, head, target_table, target_added, reals[kTargetScale], shape);
  }

  // Keys and values of texts, for each layer of the decoder.
  std::vector<float> read(int64_t texts, const int64_t* starts, const int64_t* ids) const {
    const int64_t places = starts[texts], width = decoder.blocks[0].cross.outputs;
    std::vector<float> states(places * dim), memory(decoder.layers * places * 2 * width);
    for (int64_t text = 0; text < texts; ++text) {
      for (int64_t place = starts[text]; place < starts[text + 1]; ++place) {
        embed(reads, ids[place], place - starts[text], states.data() + place * dim);
      }
    }
    encode_texts(encoder, texts, starts, states.data());
    for (int64_t layer = 0; layer < decoder.layers; ++layer) {
      project_rows(*sources[layer], places, states.data(), memory.data() + layer * places * 2 * width);
    }
    return memory;
  }

  // Say what is wrong with ids of texts; null: nothing.
  const char* fault(int64_t texts, const int64_t* starts, const int64_t* ids, int64_t most) const {
    if (most > target_places) return "a translation may be longer than the model has places";
    for (int64_t text = 0; text < texts; ++text) {
      if (starts[text + 1] <= starts[text]) return "a text is empty";
      if (starts[text + 1] - starts[text] > source_places) return "a text is longer than the model has places";
    }
    for (int64_t one = 0; one < starts[texts]; ++one) {
      if (ids[one] < 0 || ids[one] >= source_words) return "an id is not in the vocabulary";
    }
    return nullptr;
  }

  // What rows read before their first step, a row each text.
  Past begin(int64_t texts, const int64_t* starts, const float* memory, const int32_t* rows) const {
    Past past{};
    past.texts = rows, past.starts = starts, past.source = memory, past.places = starts[texts];
    for (int64_t text = 0; text < texts; ++text) past.longest = std::max(past.longest, starts[text + 1] - starts[text]);
    return past;
  }

  Writer reads, writes;
  int64_t dim, aligned, source_words, target_words, source_places, target_places;

 private:
  const float* take_places(Tensors& tensors, int64_t& count) const {
    const Tensor given = tensors.take();
    count = given.address ? given.rows : std::numeric_limits<int64_t>::max();
    check(!given.address || given.columns == dim, "positions are not as wide as the network");
    return (const float*)given.address;
  }

  Norm norm(Tensors& tensors) {
    const float *weight = tensors.vector(dim), *bias = tensors.vector(dim);
    return weight && bias ? Norm{weight, bias} : Norm{};
  }

  const Product* keep(const Matrix& matrix) {
    check(matrix.outputs > 0, "a matrix is missing");
    packed.emplace_back(new PackedMatrix(matrix));
    return &packed.back()->product;
  }

  Product product(Tensors& tensors, int64_t inputs) { return *keep(tensors.matrix(inputs)); }

  Stack stack(
      Tensors& tensors, const int64_t* shape, const double* reals, int64_t layers, int64_t own_heads, int64_t cross_heads) {
    blocks.emplace_back();
    for (int64_t layer = 0; layer < layers; ++layer) {
      Block block{};
      block.own_norm = norm(tensors), block.cross_norm = norm(tensors), block.forward_norm = norm(tensors);
      block.own = product(tensors, dim);
      const int64_t parts = own_heads ? 3 : 2, width = block.own.outputs / parts;
      check(block.own.outputs % parts == 0 && (!own_heads || width % own_heads == 0), "heads do not divide a layer");
      const Matrix out = tensors.matrix(width), query = tensors.matrix(dim);
      if (out.outputs) block.own_out = *keep(out);
      check(own_heads ? block.own_out.outputs == dim : block.own_out.outputs == dim || width == dim, "a layer is too narrow");
      const int64_t across = query.outputs;
      check((across > 0) == (cross_heads > 0) && (!across || across % cross_heads == 0), "heads do not divide a layer");
      const Matrix source = tensors.matrix(dim), cross_out = tensors.matrix(across ? across : dim);
      if (across) {
        check(source.outputs == 2 * across && cross_out.outputs == dim, "keys and values fit no queries");
        block.cross = *keep(query), block.cross_out = *keep(cross_out);
        sources.push_back(keep(source));
      }
      block.hidden = product(tensors, dim);
      block.forward_out = product(tensors, block.hidden.outputs);
      check(block.forward_out.outputs == dim && block.own_norm.weight && block.forward_norm.weight, "a layer is incomplete");
      check(!across || block.cross_norm.weight, "a layer is incomplete");
      const Block& first = blocks.back().empty() ? block : blocks.back().front();
      check(block.own.outputs == first.own.outputs && block.cross.outputs == first.cross.outputs, "layers differ in size");
      check(block.hidden.outputs == first.hidden.outputs, "layers differ in size");
      blocks.back().push_back(block);
    }
    const Norm last = norm(tensors);
    check(!shape[kPre] || last.weight, "the last norm is missing");
    return {blocks.back().data(), layers, dim, shape[kPre], own_heads, cross_heads, shape[kActivation],
            reals[kSlope], reals[kEpsilon], last};
  }

  Writer writer(
      const Stack* stack, const Product* head, const Matrix& table, const float* places, double scale,
      const int64_t* shape) const {
    return {stack, head, nullptr, table.numbers, places, scale, shape[kPaddingId], shape[kBeginId], shape[kEndId],
            shape[kUnknownId], shape[kZeroBegin], table.eight, table.scales};
  }

  Stack encoder, decoder;
  std::vector<const Product*> sources;  // of each layer of the decoder: keys and values of the source
  std::vector<std::vector<Block>> blocks;
  std::vector<std::unique_ptr<PackedMatrix>> packed;
};

// Ids that every translation begins with, as requirements without terms.
struct Beginning {
  Beginning(int64_t texts, int64_t size, int64_t end, int64_t longest, int64_t count, const int64_t* first)
      : zeros(texts), ones(texts, 1), sizes(texts, size), ends(texts, end), prefixes(texts * longest, -1) {
    for (int64_t text = 0; text < texts; ++text) {
      std::copy_n(first, std::min(count, longest), prefixes.data() + text * longest);
    }
    required.free = count, required.tried_count = 1, required.longest = longest;
    required.totals = required.nodes = required.next = zeros.data();
    required.tried = ends.data(), required.prefixes = prefixes.data(), required.banks = ones.data();
    required.widths = sizes.data();
  }
  std::vector<int64_t> zeros, ones, sizes, ends, prefixes;
  Required required{};
};

template <typename Run>
auto guarded(const char** fault, Run run) -> decltype(run()) {
  *fault = nullptr;
#if defined(__cpp_exceptions)
  try {
    return run();
  } catch (const Fault& found) {
    *fault = found.message;
  } catch (const std::exception&) {
    *fault = "there is not enough memory";
  }
  return {};
#else
  return run();
#endif
}

}  // namespace

extern "C" {

#if !defined(__cpp_exceptions)
const char* fault() { return last_fault; }
#endif

// A network from its tensors, four numbers each. They lie in the map of a file, which stays until the network is closed:
// embeddings, positions and norms are read there, and pages of what is packed are dropped. Null with a fault.
Engine* open_engine(const int64_t* shape, const double* reals, const int64_t* tensors, int64_t count, const char** fault) {
  return guarded(fault, [&] { return new Engine(shape, reals, Tensors((const Tensor*)tensors, count)); });
}

void close_engine(Engine* engine) { delete engine; }

// Search translations of texts, text i from starts[i] to starts[i + 1] in `ids`. All begin with `first_count` given ids,
// which cost nothing: the code of a language. What is found is read by `sizes` and `take`. Null with a fault.
Found* translate(
    const Engine* engine, int64_t texts, const int64_t* starts, const int64_t* ids, int64_t size, int64_t wanted,
    int64_t stop, int64_t least, int64_t at_limit, const int64_t* limits, const double* norms, int64_t first_count,
    const int64_t* first, const char** fault) {
  return guarded(fault, [&] {
    const int64_t longest = *std::max_element(limits, limits + texts);
    const char* problem = engine->fault(texts, starts, ids, longest);
    check(!problem, problem);
    check(size > 0 && size + 5 < engine->target_words, "the beam is wider than the vocabulary");
    check(wanted > 0 && least >= 0 && *std::min_element(limits, limits + texts) > 0, "a limit of the search is impossible");
    check(stop >= kFull && stop <= kBestFull && at_limit >= kEnd && at_limit <= kCut, "there is no such rule of a search");
    const bool known = std::all_of(first, first + first_count, [&](int64_t id) { return id >= 0 && id < engine->target_words; });
    check(known, "an id is not in the vocabulary");
    const std::vector<float> memory = engine->read(texts, starts, ids);
    std::vector<int32_t> rows(texts);
    std::iota(rows.begin(), rows.end(), 0);
    const std::vector<int64_t> last(texts, engine->writes.begin);
    const std::vector<uint8_t> dropped(texts);
    const Past past = engine->begin(texts, starts, memory.data(), rows.data());
    const Start start{texts, last.data(), &past};
    const Rules rules{size, wanted, stop, least, at_limit, limits, norms, nullptr, dropped.data()};
    const Beginning beginning(texts, size, engine->writes.end, longest, first_count, first);
    const Required* required = first_count ? &beginning.required : nullptr;
    const auto run = [&](Found& found) { Beams(engine->writes, start, rules, required, nullptr, found).run(); };
    return best_found(run, texts, wanted);
  });
}

// Log-probabilities (count + 1) of a translation and its end, and weights (count + 1, places) over its source. Returns 1,
// or 0 with a fault.
int64_t force(
    const Engine* engine, int64_t places, const int64_t* source, int64_t count, const int64_t* target, float* log_probs,
    float* weights, const char** fault) {
  return guarded(fault, [&]() -> int64_t {
    const int64_t starts[] = {0, places};
    const char* problem = engine->fault(1, starts, source, count + 1);
    check(!problem, problem);
    const std::vector<float> memory = engine->read(1, starts, source);
    const int32_t row = 0;
    const Stack& stack = *engine->writes.stack;
    Past past = engine->begin(1, starts, memory.data(), &row);
    const int64_t steps = count + 1, size = stack.layers * kept_of(stack), dim = engine->dim;
    const std::vector<int64_t> rows_then(steps, 1);
    std::vector<int64_t> words(target, target + count);
    words.push_back(engine->writes.end);
    std::vector<float> kept(steps * size), states(steps * dim);
    std::vector<float*> own(steps);
    for (int64_t time = 0; time < steps; ++time) {
      check(words[time] >= 0 && words[time] < engine->target_words, "an id is not in the vocabulary");
      embed(engine->writes, time ? words[time - 1] : engine->writes.begin, time, states.data() + time * dim);
      own[time] = kept.data() + time * size;
    }
    past.own = own.data(), past.rows_then = rows_then.data();
    past.aligned = weights, past.aligned_layer = engine->aligned;
    take_steps(stack, past, 1, steps, states.data());
    std::vector<int64_t> best(steps);
    std::vector<float> top(steps);
    const Asked asked{1, words.data(), log_probs};
    find_best(engine->writes.head, steps, states.data(), 1, 0, nullptr, best.data(), top.data(), asked);
    return 1;
  });
}

}  // extern "C"

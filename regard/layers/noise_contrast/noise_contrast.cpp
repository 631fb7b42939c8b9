// Scores of each place's inputs against its outputs, the loss of telling the right output from drawn ones, and its
// gradient. A place copies its rows once into buffers that stay in the cache; torch's pieces (gather, multiply,
// scatter) write and read (places, width, dim) numbers several times.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t kLanes = 16, kLargest = 64;  // numbers of a vector; inputs or outputs of a place
constexpr float kSteep = 80;                   // exp of more is no float32
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

inline float sum_of(Vector value) {
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += value[lane];
  return sum;
}

// The rows of a place, padded with zeros to whole vectors.
struct Place {
  int64_t vectors, inputs = 0, outputs = 0;
  std::vector<Vector> input, output;

  Place(int64_t dim, int64_t width, int64_t choices)
      : vectors((dim + kLanes - 1) / kLanes), input(width * vectors), output(choices * vectors) {}
  Vector* in(int64_t one) { return input.data() + one * vectors; }
  Vector* out(int64_t one) { return output.data() + one * vectors; }
};

inline void copy(Vector* to, const float* from, int64_t dim) { std::memcpy(to, from, dim * sizeof(float)); }

inline void add(float* to, const Vector* from, int64_t dim) {
  const float* numbers = reinterpret_cast<const float*>(from);
#pragma omp simd
  for (int64_t one = 0; one < dim; ++one) to[one] += numbers[one];
}

struct Given {
  int64_t places, width, choices, dim;
  const float *inputs, *outputs;
  const int32_t *contexts, *targets;  // (places, width), -1 where there is none; (places, choices), the right one first
  bool mean;                          // whether the mean of the inputs is scored, or each
};

// Copies the rows of a place; returns how many inputs it has, before their mean.
int64_t read(const Given& given, int64_t number, Place* place) {
  const int32_t* contexts = given.contexts + number * given.width;
  int64_t count = 0;
  for (int64_t one = 0; one < given.width; ++one)
    if (contexts[one] >= 0) copy(place->in(count++), given.inputs + contexts[one] * given.dim, given.dim);
  place->inputs = count;
  if (given.mean && count) {
    Vector* sum = place->in(0);
    for (int64_t part = 0; part < place->vectors; ++part) {
      for (int64_t one = 1; one < count; ++one) sum[part] += place->in(one)[part];
      sum[part] /= static_cast<float>(count);
    }
    place->inputs = 1;
  }
  place->outputs = count ? given.choices : 0;
  const int32_t* targets = given.targets + number * given.choices;
  for (int64_t one = 0; one < place->outputs; ++one)
    copy(place->out(one), given.outputs + targets[one] * given.dim, given.dim);
  return count;
}

template <int64_t count>
inline void multiply(const Vector* input, Vector* const* outputs, int64_t vectors, float* scores) {
  Vector sums[count] = {};
  for (int64_t part = 0; part < vectors; ++part)
#pragma GCC unroll 4
    for (int64_t one = 0; one < count; ++one) sums[one] += input[part] * outputs[one][part];
  for (int64_t one = 0; one < count; ++one) scores[one] = sum_of(sums[one]);
}

// Turns scores (choices) into their slopes; returns the loss.
inline double contrast(float* scores, int64_t choices) {
  double product = 1, loss = 0;
  for (int64_t one = 0; one < choices; ++one) {
    const float wrong = one ? scores[one] : -scores[one];
    if (wrong > kSteep) loss += wrong;
    const float grown = std::exp(wrong > kSteep ? kSteep : wrong), share = grown / (1 + grown);
    if (wrong <= kSteep) product *= 1.0 + grown;
    if (product > 1e200) loss += std::log(product), product = 1;
    scores[one] = one ? share : -share;
  }
  return loss + std::log(product);
}

}  // namespace

extern "C" {

int64_t largest() { return kLargest; }

// losses (places); slopes (places, width or 1, choices) of the losses by their scores.
void forward(
    int64_t places, int64_t width, int64_t choices, int64_t dim, const float* inputs, const float* outputs,
    const int32_t* contexts, const int32_t* targets, int mean, int64_t threads, float* losses, float* slopes) {
  const Given given{places, width, choices, dim, inputs, outputs, contexts, targets, mean != 0};
  const int64_t scored = given.mean ? 1 : width;
#pragma omp parallel num_threads(threads)
  {
    Place place(dim, width, choices);
#pragma omp for schedule(static)
    for (int64_t number = 0; number < places; ++number) {
      read(given, number, &place);
      Vector* rows[kLargest];
      for (int64_t one = 0; one < choices; ++one) rows[one] = place.out(one);
      double loss = 0;
      for (int64_t one = 0; one < place.inputs; ++one) {
        float* scores = slopes + (number * scored + one) * choices;
        int64_t choice = 0;
        for (; choice + 3 <= choices; choice += 3)
          multiply<3>(place.in(one), rows + choice, place.vectors, scores + choice);
        for (; choice < choices; ++choice) multiply<1>(place.in(one), rows + choice, place.vectors, scores + choice);
        loss += contrast(scores, choices);
      }
      losses[number] = static_cast<float>(loss);
    }
  }
}

// Gradients of a sum of losses times `weights` (places), added to (threads, rows, dim) of inputs and of outputs: each
// thread has its own, so that sums have one order.
void backward(
    int64_t places, int64_t width, int64_t choices, int64_t dim, const float* inputs, const float* outputs,
    const int32_t* contexts, const int32_t* targets, int mean, int64_t threads, const float* slopes,
    const float* weights, int64_t input_rows, int64_t output_rows, float* to_inputs, float* to_outputs) {
  const Given given{places, width, choices, dim, inputs, outputs, contexts, targets, mean != 0};
  const int64_t scored = given.mean ? 1 : width, share = (places + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int64_t thread = 0; thread < threads; ++thread) {
    float* own_inputs = to_inputs + thread * input_rows * dim;
    float* own_outputs = to_outputs + thread * output_rows * dim;
    Place place(dim, width, choices);
    std::vector<Vector> sum(place.vectors);
    const int64_t end = (thread + 1) * share < places ? (thread + 1) * share : places;
    for (int64_t number = thread * share; number < end; ++number) {
      const int64_t count = read(given, number, &place);
      if (!count) continue;
      const float weight = weights[number];
      const float* own = slopes + number * scored * choices;
      const int32_t* targets_of = targets + number * choices;
      for (int64_t choice = 0; choice < choices; ++choice) {
        for (int64_t part = 0; part < place.vectors; ++part) {
          Vector kept{};
          for (int64_t one = 0; one < place.inputs; ++one) kept += own[one * choices + choice] * place.in(one)[part];
          sum[part] = kept * weight;
        }
        add(own_outputs + targets_of[choice] * dim, sum.data(), dim);
      }
      const float each = given.mean ? weight / static_cast<float>(count) : weight;
      int64_t seen = 0;
      for (int64_t column = 0; column < width; ++column) {
        const int32_t row = contexts[number * width + column];
        if (row < 0) continue;
        if (!given.mean || !seen) {
          const float* own_slopes = own + seen * choices;
          for (int64_t part = 0; part < place.vectors; ++part) {
            Vector kept{};
            for (int64_t choice = 0; choice < choices; ++choice) kept += own_slopes[choice] * place.out(choice)[part];
            sum[part] = kept * each;
          }
        }
        ++seen;
        add(own_inputs + row * dim, sum.data(), dim);
      }
    }
  }
}

}  // extern "C"

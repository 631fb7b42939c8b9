// Attention of short sentences, forward and backward: scores, weights and contexts of one head stay in a core's cache.
// torch's batched products read transposed copies of queries, keys and values, and every step is a pass over memory.

#include <cmath>
#include <type_traits>
#include <vector>

#include "products.h"

namespace {

constexpr int64_t kRows = kLanes == 16 ? 6 : 3, kColumns = 4;  // vectors of a tile: they fit in the registers

// Numbers of (batch, head, row, feature), the features side by side.
struct Rows {
  float* data;
  int64_t batch, head, row;

  float* at(int64_t text, int64_t number) const { return data + text * batch + number * head; }
};

LAYOUT(Rows, data, batch, head, row);

// What may be seen, (batch, head, query, key), each axis broadcast by a stride of 0; none: everything.
struct Mask {
  const uint8_t* data;
  int64_t batch, head, query, key;
};

LAYOUT(Mask, data, batch, head, query, key);

struct Sizes {
  int64_t batch, heads, queries, keys, dim, value_dim, threads;
  float scale;

  int64_t padded() const { return (keys + kLanes - 1) / kLanes * kLanes; }
};

LAYOUT(Sizes, batch, heads, queries, keys, dim, value_dim, threads, scale);

template <int64_t rows, int64_t columns>
inline void multiply_tile(
    const float* a, int64_t a_row, int64_t a_step, int64_t steps, const float* b, int64_t b_row, float* c,
    int64_t c_row) {
  Vector sums[rows][columns] = {};
  for (int64_t step = 0; step < steps; ++step) {
    Vector right[columns];
    for (int64_t column = 0; column < columns; ++column) right[column] = load(b + step * b_row + column * kLanes);
    for (int64_t row = 0; row < rows; ++row) {
      const float left = a[row * a_row + step * a_step];
      for (int64_t column = 0; column < columns; ++column) sums[row][column] += left * right[column];
    }
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) store(c + row * c_row + column * kLanes, sums[row][column]);
}

template <int64_t columns>
inline void multiply_columns(
    const float* a, int64_t a_row, int64_t a_step, int64_t steps, const float* b, int64_t b_row, float* c,
    int64_t c_row, int64_t rows) {
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows)
    multiply_tile<kRows, columns>(a + row * a_row, a_row, a_step, steps, b, b_row, c + row * c_row, c_row);
  for (; row < rows; ++row)
    multiply_tile<1, columns>(a + row * a_row, a_row, a_step, steps, b, b_row, c + row * c_row, c_row);
}

// c (rows, width) = a (rows, steps) · b (steps, width); a by its two strides, width in whole vectors.
void multiply(
    const float* a, int64_t a_row, int64_t a_step, int64_t steps, const float* b, int64_t b_row, float* c,
    int64_t c_row, int64_t rows, int64_t width) {
  for (int64_t first = 0; first < width; first += kColumns * kLanes) {
    const auto times = [&](auto columns) {
      multiply_columns<decltype(columns)::value>(
          a, a_row, a_step, steps, b + first, b_row, c + first, c_row, rows);
    };
    switch (std::min(kColumns, (width - first) / kLanes)) {
      case 1: times(std::integral_constant<int64_t, 1>{}); break;
      case 2: times(std::integral_constant<int64_t, 2>{}); break;
      case 3: times(std::integral_constant<int64_t, 3>{}); break;
      default: times(std::integral_constant<int64_t, 4>{});
    }
  }
}

// (rows, width) → (width, padded), zeros behind the last row.
void transpose(const float* from, int64_t stride, int64_t rows, int64_t width, int64_t padded, float* to) {
  for (int64_t row = 0; row < padded; ++row)
    for (int64_t column = 0; column < width; ++column)
      to[column * padded + row] = row < rows ? from[row * stride + column] : 0.0f;
}

// Scores of a query → weights, in place; 0 for hidden keys and behind the last, and for all where none is seen.
void weigh(float* scores, int64_t keys, int64_t padded, float scale, const uint8_t* shown, int64_t step) {
  for (int64_t key = 0; key < padded; key += kLanes) store(scores + key, load(scores + key) * scale);
  for (int64_t key = keys; key < padded; ++key) scores[key] = -INFINITY;
  if (shown != nullptr)
    for (int64_t key = 0; key < keys; ++key) scores[key] = shown[key * step] ? scores[key] : -INFINITY;
  Vector top = load(scores);
  for (int64_t key = kLanes; key < padded; key += kLanes) top = larger(top, load(scores + key));
  const float largest = largest_of(top);
  if (largest == -INFINITY) {
    std::fill(scores, scores + padded, 0.0f);
    return;
  }
  Vector sum{};
  for (int64_t key = 0; key < padded; key += kLanes) {
    const Vector score = load(scores + key);
    const Vector grown = score == -INFINITY ? Vector{} : exponential(score - largest);
    store(scores + key, grown);
    sum += grown;
  }
  const float share = 1.0f / sum_of(sum);
  for (int64_t key = 0; key < padded; key += kLanes) store(scores + key, load(scores + key) * share);
}

// Gradients of weights → of scores, in place: w (g - sum w g), times the scale.
void weigh_back(const float* weights, float* gradients, int64_t padded, float scale) {
  Vector sum{};
  for (int64_t key = 0; key < padded; key += kLanes) sum += load(weights + key) * load(gradients + key);
  const float mean = sum_of(sum);
  for (int64_t key = 0; key < padded; key += kLanes)
    store(gradients + key, load(weights + key) * (load(gradients + key) - mean) * scale);
}

}  // namespace

extern "C" {

int64_t lanes() { return kLanes; }

// Writes contexts, and weights (batch, head, query, padded keys) for the way back.
void attend(
    const Sizes* given, const Rows* queries, const Rows* keys, const Rows* values, const Mask* mask, const Rows* contexts,
    float* weights) {
  const Sizes s = *given;
  const int64_t padded = s.padded();
#pragma omp parallel num_threads(s.threads)
  {
    std::vector<float> turned(padded * s.dim);
#pragma omp for collapse(2)
    for (int64_t text = 0; text < s.batch; ++text)
      for (int64_t head = 0; head < s.heads; ++head) {
        float* own = weights + (text * s.heads + head) * s.queries * padded;
        transpose(keys->at(text, head), keys->row, s.keys, s.dim, padded, turned.data());
        multiply(
            queries->at(text, head), queries->row, 1, s.dim, turned.data(), padded, own, padded, s.queries, padded);
        for (int64_t query = 0; query < s.queries; ++query) {
          const uint8_t* shown = mask->data;
          if (shown != nullptr) shown += text * mask->batch + head * mask->head + query * mask->query;
          weigh(own + query * padded, s.keys, padded, s.scale, shown, mask->key);
        }
        multiply(
            own, padded, 1, s.keys, values->at(text, head), values->row, contexts->at(text, head), contexts->row,
            s.queries, s.value_dim);
      }
  }
}

// Writes the gradients of queries, keys and values, given that of the contexts.
void attend_back(
    const Sizes* given, const Rows* queries, const Rows* keys, const Rows* values, const float* weights,
    const Rows* gradients, const Rows* to_queries, const Rows* to_keys, const Rows* to_values) {
  const Sizes s = *given;
  const int64_t padded = s.padded();
#pragma omp parallel num_threads(s.threads)
  {
    std::vector<float> turned(padded * s.value_dim), room(s.queries * padded);
    float* scores = room.data();
#pragma omp for collapse(2)
    for (int64_t text = 0; text < s.batch; ++text)
      for (int64_t head = 0; head < s.heads; ++head) {
        const float* own = weights + (text * s.heads + head) * s.queries * padded;
        const float* gradient = gradients->at(text, head);
        multiply(
            own, 1, padded, s.queries, gradient, gradients->row, to_values->at(text, head), to_values->row, s.keys,
            s.value_dim);
        transpose(values->at(text, head), values->row, s.keys, s.value_dim, padded, turned.data());
        multiply(gradient, gradients->row, 1, s.value_dim, turned.data(), padded, scores, padded, s.queries, padded);
        for (int64_t query = 0; query < s.queries; ++query)
          weigh_back(own + query * padded, scores + query * padded, padded, s.scale);
        multiply(
            scores, padded, 1, s.keys, keys->at(text, head), keys->row, to_queries->at(text, head), to_queries->row,
            s.queries, s.dim);
        multiply(
            scores, 1, padded, s.queries, queries->at(text, head), queries->row, to_keys->at(text, head), to_keys->row,
            s.keys, s.dim);
      }
  }
}

}  // extern "C"

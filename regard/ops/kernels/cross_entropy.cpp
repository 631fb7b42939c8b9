// Label-smoothed cross entropy of rows of logits and its gradient, in place: a row is read from memory once, where
// torch's pieces (max, softmax, gather, subtract, scatter) each read all rows.

#include <cmath>

#include "products.h"

namespace {

// Calls `vector(place)` for whole vectors of a row and `single(place)` for what is left.
template <typename Several, typename Single>
inline void each(int64_t count, Several vector, Single single) {
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) vector(place);
  for (; place < count; ++place) single(place);
}

}  // namespace

extern "C" {

// logits (rows, words) → their gradient: softmax - wanted distribution; losses (rows).
void cross_entropy(
    int64_t rows, int64_t words, float* logits, const int64_t* targets, double smoothing, int64_t threads,
    float* losses) {
  const float even = static_cast<float>(smoothing / words), sure = static_cast<float>(1.0 - smoothing);
#pragma omp parallel for num_threads(threads)
  for (int64_t row = 0; row < rows; ++row) {
    float* own = logits + row * words;
    const float gold = own[targets[row]];
    Vector tops = Vector{} - INFINITY, totals{}, sums{};
    float top = -INFINITY, total = 0, sum = 0;
    each(
        words, [&](int64_t word) { tops = larger(tops, load(own + word)), totals += load(own + word); },
        [&](int64_t word) { top = std::fmax(top, own[word]), total += own[word]; });
    top = std::fmax(top, largest_of(tops));
    total += sum_of(totals);
    each(
        words,
        [&](int64_t word) {
          const Vector grown = exponential(load(own + word) - top);
          store(own + word, grown);
          sums += grown;
        },
        [&](int64_t word) { sum += own[word] = std::exp(own[word] - top); });
    sum += sum_of(sums);
    losses[row] = top + std::log(sum) - sure * gold - even * total;
    const float share = 1.0f / sum;
    each(
        words, [&](int64_t word) { store(own + word, load(own + word) * share - even); },
        [&](int64_t word) { own[word] = own[word] * share - even; });
    own[targets[row]] -= sure;
  }
}

}  // extern "C"

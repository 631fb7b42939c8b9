// Label-smoothed cross entropy of rows of logits and its gradient, in place: a row is read from memory once, where
// torch's pieces (max, softmax, gather, subtract, scatter) each read all rows.

#include <cmath>
#include <utility>

#include "products.h"

namespace {

// Calls `vector(place)` for whole vectors of a row and `single(place)` for what is left.
template <typename Several, typename Single>
inline void each(int64_t count, Several vector, Single single) {
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes) vector(place);
  for (; place < count; ++place) single(place);
}

// (largest value, sum) of a row.
inline std::pair<float, float> top_and_total(const float* row, int64_t words) {
  Vector tops = Vector{} - INFINITY, totals{};
  float top = -INFINITY, total = 0;
  each(
      words, [&](int64_t word) { tops = larger(tops, load(row + word)), totals += load(row + word); },
      [&](int64_t word) { top = std::fmax(top, row[word]), total += row[word]; });
  return {std::fmax(top, largest_of(tops)), total + sum_of(totals)};
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
    const auto [top, total] = top_and_total(own, words);
    Vector sums{};
    float sum = 0;
    each(
        words,
        [&, top = top](int64_t word) {
          const Vector grown = exponential(load(own + word) - top);
          store(own + word, grown);
          sums += grown;
        },
        [&, top = top](int64_t word) { sum += own[word] = std::exp(own[word] - top); });
    sum += sum_of(sums);
    losses[row] = top + std::log(sum) - sure * gold - even * total;
    const float share = 1.0f / sum;
    each(
        words, [&](int64_t word) { store(own + word, load(own + word) * share - even); },
        [&](int64_t word) { own[word] = own[word] * share - even; });
    own[targets[row]] -= sure;
  }
}

// scores (2 rows, words), row i beside row i + rows → the gradient of losses + weight · divergences; both (rows).
void paired_cross_entropy(
    int64_t rows, int64_t words, const float* scores, const int64_t* targets, double smoothing, double weight,
    int64_t threads, float* gradient, float* losses, float* divergences) {
  const float even = static_cast<float>(smoothing / words), sure = static_cast<float>(1.0 - smoothing);
  const float half = static_cast<float>(0.5 * weight);
#pragma omp parallel for num_threads(threads)
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * words, second = (row + rows) * words, target = targets[row];
    const float *one = scores + first, *other = scores + second;
    float *mine = gradient + first, *theirs = gradient + second;
    const auto [top, total] = top_and_total(one, words);
    const auto [peak, whole] = top_and_total(other, words);
    Vector sums[4] = {};
    float sum[4] = {};  // of both exponentials, and of these times the difference of scores
    const auto grown = [&, top = top, peak = peak](int64_t word) {
      const Vector a = load(one + word), b = load(other + word), p = exponential(a - top), q = exponential(b - peak);
      store(mine + word, p), store(theirs + word, q);
      sums[0] += p, sums[1] += q, sums[2] += p * (a - b), sums[3] += q * (a - b);
    };
    each(words, grown, [&, top = top, peak = peak](int64_t word) {
      const float a = one[word], b = other[word], p = std::exp(a - top), q = std::exp(b - peak);
      mine[word] = p, theirs[word] = q;
      sum[0] += p, sum[1] += q, sum[2] += p * (a - b), sum[3] += q * (a - b);
    });
    for (int64_t each = 0; each < 4; ++each) sum[each] += sum_of(sums[each]);
    const float p_share = 1.0f / sum[0], q_share = 1.0f / sum[1];
    const float shift = top + std::log(sum[0]) - peak - std::log(sum[1]);  // of the logarithms of both sums
    const float forth = sum[2] * p_share - shift, back = shift - sum[3] * q_share;  // KL(p ‖ q), KL(q ‖ p)
    losses[row] = 0.5f * (top + std::log(sum[0]) + peak + std::log(sum[1]) - sure * (one[target] + other[target]) -
                          even * (total + whole));
    divergences[row] = 0.5f * (forth + back);
    const auto slopes = [&](auto a, auto b, auto p, auto q) {
      const auto apart = a - b - shift;  // log p - log q
      return std::pair{0.5f * (p - even) + half * (p * (apart - forth) + p - q),
                       0.5f * (q - even) - half * (q * (apart + back) + p - q)};
    };
    each(
        words,
        [&](int64_t word) {
          const auto [g, h] = slopes(load(one + word), load(other + word), load(mine + word) * p_share,
                                     load(theirs + word) * q_share);
          store(mine + word, g), store(theirs + word, h);
        },
        [&](int64_t word) {
          const auto [g, h] = slopes(one[word], other[word], mine[word] * p_share, theirs[word] * q_share);
          mine[word] = g, theirs[word] = h;
        });
    mine[target] -= 0.5f * sure, theirs[target] -= 0.5f * sure;
  }
}

}  // extern "C"

// Interpolation of a row's distribution with the words behind the nearest stored states of its text, as
// decoding/features/nearest_segments.py has it.

#pragma once

#include <vector>

#include "products.h"

namespace {

struct Nearest {
  int64_t places, distinct, neighbours;  // states of a text, words behind them, states that count
  double temperature, radius;            // of shares; the distance from which the weight is 0
  double weight, tie;                    // at distance 0; distances that differ by less are equal
  const float *keys, *lengths;           // (texts, places, dim), and their squared lengths (texts, places)
  const int64_t *slots, *words;          // (texts, places) → a place in words, -1: padding; (texts, distinct) rising
};

LAYOUT(Nearest, places, distinct, neighbours, temperature, radius, weight, tie, keys, lengths, slots, words);

inline float product_of(const float* a, const float* b, int64_t dim) {
  Vector sums{};
  int64_t one = 0;
  for (; one + kLanes <= dim; one += kLanes) sums += load(a + one) * load(b + one);
  float sum = sum_of(sums);
  for (; one < dim; ++one) sum += a[one] * b[one];
  return sum;
}

// What stored states add to the rows of a step.
class Joined {
 public:
  Joined(const Nearest* stored, int64_t dim, int64_t padding, int64_t texts) : stored(stored), dim(dim), counts(texts) {
    for (int64_t text = 0; stored && text < texts; ++text) {
      const int64_t* first = stored->words + text * stored->distinct;
      counts[text] = std::find(first, first + stored->distinct, padding) - first;
    }
    if (stored) most = *std::max_element(counts.begin(), counts.end());
  }

  void clear() { rest.clear(), masses.clear(); }

  // The next row is of this text, and has this state.
  void add(int64_t text, const float* state) {
    const int64_t row = rest.size();
    rest.push_back(0.0);
    masses.resize((row + 1) * most, 0.0);
    const int64_t *slots = stored->slots + text * stored->places, *last = slots + stored->places;
    const int64_t count = std::find(slots, last, -1) - slots;
    if (!count) return;
    measure(text, state, count);
    sorted = distances;
    const int64_t wanted = std::min(stored->neighbours, count) - 1;
    std::nth_element(sorted.begin(), sorted.begin() + wanted, sorted.end());
    const double farthest = sorted[wanted] + stored->tie, heat = stored->temperature;
    const double nearest = *std::min_element(sorted.begin(), sorted.begin() + wanted + 1);
    const double weight = stored->weight * std::max(0.0, 1.0 - nearest / stored->radius);
    if (!(weight > 0)) return;
    double* to = masses.data() + row * most;
    double sum = 0;
    for (int64_t place = 0; place < count; ++place) {
      if (distances[place] > farthest) continue;
      const double share = std::exp((nearest - distances[place]) / heat);
      to[slots[place]] += share;
      sum += share;
    }
    for (int64_t one = 0; one < most; ++one) to[one] *= weight / sum;
    rest[row] = std::log1p(-weight);
  }

  // The words that the states of a row speak for, to the end of a list.
  void speak(int64_t row, int64_t text, int64_t* to) const {
    for (int64_t one = 0; one < counts[text]; ++one) {
      if (masses[row * most + one] > 0) to[one] = stored->words[text * stored->distinct + one];
    }
  }

  double mass(int64_t row, int64_t text, int64_t id) const {
    const int64_t *first = stored->words + text * stored->distinct, *last = first + counts[text];
    const int64_t* found = std::lower_bound(first, last, id);
    return found != last && *found == id ? masses[row * most + (found - first)] : 0.0;
  }

  // A word's log-probability by the model → by both.
  double score(int64_t row, int64_t text, int64_t id, double log_prob) const {
    if (!stored) return log_prob;
    const double more = mass(row, text, id);
    return more > 0 ? std::log(std::exp(log_prob + rest[row]) + more) : log_prob + rest[row];
  }

  const Nearest* stored;  // null: nothing is
  int64_t most = 0;       // words that a row is spoken to for

 private:
  // |s - s'|² / (|s|² + |s'|²)
  void measure(int64_t text, const float* state, int64_t count) {
    const float *keys = stored->keys + text * stored->places * dim, *lengths = stored->lengths + text * stored->places;
    const float own = product_of(state, state, dim);
    distances.resize(count);
    for (int64_t place = 0; place < count; ++place) {
      const float both = std::max(own + lengths[place], 1e-30f);
      distances[place] = std::max(0.0f, 1.0f - 2.0f * product_of(state, keys + place * dim, dim) / both);
    }
  }

  const int64_t dim;
  std::vector<int64_t> counts;   // words of each text
  std::vector<double> rest;      // log(1 - weight) of each row
  std::vector<double> masses;    // (rows, most) weight · share of each word
  std::vector<float> distances, sorted;
};

}  // namespace

// The likeliest words of each row and their log-probabilities, in one pass over the vocabulary: logits of a block of
// words stay in the cache, where they are added up and searched.

#pragma once

#include "products.h"

namespace {

constexpr int64_t kRows = 96, kWords = 16 * kPanel;  // logits at once: they stay in a core's cache
constexpr int64_t kSearched = 4 * kLanes;            // words that are skipped together if none is among the best

// What is known of a row so far. The blocks are the same in any company of rows, so its numbers are, too.
struct Row {
  float largest = -INFINITY, sum = 0;  // sum of exp(logit - largest)
  float* best;                         // logits, falling
  int64_t* words;

  void add_up(const float* logits, int64_t count, float top) {
    if (top > largest) {
      sum = largest == -INFINITY ? 0 : sum * std::exp(largest - top);
      largest = top;
    }
    Vector sums{};
    for (int64_t word = 0; word < count; word += kLanes) sums += exponential(load(logits + word) - largest);
    sum += sum_of(sums);
  }

  void search(const float* logits, int64_t begin, int64_t count, int64_t wanted) {
    for (int64_t word = 0; word < count; ++word) {
      if (!(logits[word] > best[wanted - 1])) continue;
      int64_t place = wanted - 1;  // of equals the first stays before
      for (; place > 0 && logits[word] > best[place - 1]; --place) {
        best[place] = best[place - 1];
        words[place] = words[place - 1];
      }
      best[place] = logits[word];
      words[place] = begin + word;
    }
  }
};

float top_of(const float* logits, int64_t count) {
  Vector top = load(logits);
  for (int64_t word = kLanes; word < count; word += kLanes) top = larger(top, load(logits + word));
  return largest_of(top);
}

// Words whose log-probabilities are wanted, however unlikely they are.
struct Asked {
  int64_t count = 0;             // of a row
  const int64_t* words = nullptr;  // (rows, count), rising; -1: none
  float* log_probs = nullptr;      // (rows, count), -inf for none
};

// states (rows, dim) → words and log-probabilities (rows, wanted), the likeliest first; `forbidden` ones, rising, never.
void find_best(
    const Product* table, int64_t rows, const float* states, int64_t wanted, int64_t forbidden_count,
    const int64_t* forbidden, int64_t* words, float* log_probs, const Asked& asked = {}) {
  std::unique_ptr<float[]> logits(new float[std::min(rows, kRows) * kWords]);
  const int64_t panels = panels_of(*table), block = kWords / kPanel;
  std::fill(log_probs, log_probs + rows * wanted, -INFINITY);
  std::fill(asked.log_probs, asked.log_probs + rows * asked.count, -INFINITY);
  for (int64_t start = 0; start < rows; start += kRows) {
    const int64_t count = std::min(kRows, rows - start);
    Row known[kRows];
    int64_t next[kRows] = {};  // of the words that are asked for
    for (int64_t row = 0; row < count; ++row) {
      known[row].best = log_probs + (start + row) * wanted;
      known[row].words = words + (start + row) * wanted;
    }
    const Given given(*table, states + start * table->inputs, count);
    for (int64_t first = 0; first < panels; first += block) {
      const int64_t begin = first * kPanel, last = std::min(first + block, panels);
      multiply_panels(*table, first, last, given, [&](int64_t row, int64_t place, Vector one, Vector other) {
        float* to = logits.get() + row * kWords + place - begin;
        store(to, one);
        store(to + kLanes, other);
      });
      const int64_t length = (last - first) * kPanel;
      for (int64_t row = 0; row < count; ++row) {
        float* found = logits.get() + row * kWords;
        std::fill(found + std::min(length, table->outputs - begin), found + length, -INFINITY);
        known[row].add_up(found, length, top_of(found, length));
        for (int64_t one = 0; one < forbidden_count; ++one) {
          if (forbidden[one] >= begin && forbidden[one] < begin + length) found[forbidden[one] - begin] = -INFINITY;
        }
        const int64_t* wishes = asked.words + (start + row) * asked.count;
        for (; next[row] < asked.count && wishes[next[row]] < begin + length; ++next[row]) {
          if (wishes[next[row]] < 0) continue;
          asked.log_probs[(start + row) * asked.count + next[row]] = found[wishes[next[row]] - begin];
        }
        for (int64_t word = 0; word < length; word += kSearched) {
          const int64_t searched = std::min(kSearched, length - word);
          if (top_of(found + word, searched) > known[row].best[wanted - 1]) {
            known[row].search(found + word, begin + word, searched, wanted);
          }
        }
      }
    }
    for (int64_t row = 0; row < count; ++row) {
      const float total = known[row].largest + std::log(known[row].sum);
      for (int64_t one = 0; one < wanted; ++one) known[row].best[one] -= total;
      for (int64_t one = 0; one < asked.count; ++one) asked.log_probs[(start + row) * asked.count + one] -= total;
    }
  }
}

}  // namespace

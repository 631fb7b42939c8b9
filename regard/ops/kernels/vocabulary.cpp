// The likeliest words of rows, as Python asks for them: see vocabulary.h.

#include "vocabulary.h"

extern "C" {

// states (rows, dim) → words and log-probabilities (rows, wanted), the likeliest first; `forbidden` ones, rising, never.
// Log-probabilities (rows, asked_count) of the words asked for, rising, come besides.
void best_words(
    const Product* table, int64_t rows, const float* states, int64_t wanted, int64_t forbidden_count,
    const int64_t* forbidden, int64_t* words, float* log_probs, int64_t asked_count, const int64_t* asked,
    float* asked_log_probs) {
  find_best(
      table, rows, states, wanted, forbidden_count, forbidden, words, log_probs, {asked_count, asked, asked_log_probs});
}

}  // extern "C"

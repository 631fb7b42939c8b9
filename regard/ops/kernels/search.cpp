// Beam search in one call, as Python calls it: see beam.h.

#include "beam.h"

extern "C" {

// What is found, to be read by `sizes`, `take` and nothing else; null where memory ran out. `required` and `nearest` may
// be null.
Found* beam_search(
    const Writer* writer, const Start* start, const Rules* rules, const Required* required, const Nearest* nearest) {
  const auto run = [&](Found& found) { Beams(*writer, *start, *rules, required, nearest, found).run(); };
  try {
    return best_found(run, start->texts, rules->wanted);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // extern "C"

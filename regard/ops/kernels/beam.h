// Beam search over a Transformer's decoder in one call, with or without requirements. It finds what decoding/beam.py
// finds, step by step the same.

#pragma once

#include <functional>
#include <numeric>

#include "nearest.h"
#include "search.h"

namespace {

// What is required of each text: the arrays of `regard.decoding.phrases.PhraseTracker`, and shares of the beam.
struct Required {
  int64_t enough;  // likely hypotheses that may end a search, see `is_enough`; 0: never
  int64_t free;    // words of a prefix that cost nothing
  int64_t terms, symbols, tried_count, longest;
  const int64_t *needed, *sizes;        // (texts, terms)
  const int64_t* totals;                // (texts,)
  const int64_t* symbols_of;            // (texts, symbols), -1: none
  const int64_t* next;                  // (nodes, symbols + 1)
  const int64_t *left, *open, *whole;   // (nodes, terms)
  const uint8_t* parts_words;           // (vocab,)
  const int64_t *nodes, *met;           // (texts,) and (texts, terms): what a text begins with
  const int64_t* tried;                 // (texts, tried_count), rising, -1: none
  const int64_t* prefixes;              // (texts, longest), -1: none
  const int64_t *banks, *widths;        // (texts,)
};

LAYOUT(
    Required, enough, free, terms, symbols, tried_count, longest, needed, sizes, totals, symbols_of, next, left, open,
    whole, parts_words, nodes, met, tried, prefixes, banks, widths);

// What a row has written of what is required of its text: a node of the automata, and what is to be written yet.
struct Mark {
  int64_t text, node, remaining;
};

// Rows, those of a text one after the other.
struct Marks {
  std::vector<Mark> rows;
  std::vector<int64_t> met;  // (rows, terms) how often each term is written

  void add(const Mark& row, const int64_t* counts, int64_t terms) {
    rows.push_back(row);
    met.insert(met.end(), counts, counts + terms);
  }
  void clear() { rows.clear(), met.clear(); }
  int64_t end_of(int64_t first) const {  // of the rows of a text
    int64_t last = first;
    while (last < int64_t(rows.size()) && rows[last].text == rows[first].text) ++last;
    return last;
  }
};

// A word that may be written next.
struct Candidate {
  Word word;
  int32_t node, remaining, bank, met;  // as of Mark, once it is written; met: where its counts of terms are
};

// A word behind a row.
struct Choice {
  int64_t id;
  double log_prob, score;  // by the model; by the model and the stored states
};

class Beams {
 public:
  // `required` may be null: the beam of a text is then one bank, and every hypothesis may end; `nearest`, too.
  Beams(
      const Writer& writer, const Start& start, const Rules& rules, const Required* required, const Nearest* nearest,
      Found& found)
      : writer(writer), rules(rules), required(required), found(found), rows(writer, start, rules), ended(start.texts),
        bars(start.texts, kNever), joined(nearest, writer.stack->dim, writer.padding, start.texts),
        terms(required ? required->terms : 0), tried_each(required ? required->tried_count : 1),
        asked_each(tried_each + joined.most) {
    for (int64_t text = 0; text < start.texts; ++text) {
      const int64_t node = required ? required->nodes[text] : 0, *met = required ? required->met + text * terms : nullptr;
      marks.add({text, node, remaining(text, node, met)}, met, terms);
    }
  }

  void run() {
    while (!marks.rows.empty()) {
      look_ahead();
      grow();
      if (rules.stepped) rules.stepped();
      keep();
    }
  }

 private:
  int64_t width(int64_t text) const { return required ? required->widths[text] : rules.size; }

  bool ends(const Candidate& one) const { return one.word.id == writer.end; }

  // The next word of a prefix; -1: any.
  int64_t forced(int64_t text) const {
    return required ? required->prefixes[text * required->longest + rows.length - 1] : -1;
  }

  // The likeliest words of every row, and what is asked of them besides: the end, the words of its terms or prefix, and
  // those that stored states speak for.
  void look_ahead() {
    const int64_t count = rows.written.size();
    rows.step();
    each = 0;
    for (const Mark& row : marks.rows) each = std::max(each, width(row.text) + 1);  // one more than go on, for the end
    words.assign(count * each, writer.unknown);
    log_probs.resize(count * each);
    asked.assign(count * asked_each, writer.end);
    asked_log_probs.resize(asked.size());
    for (int64_t row = 0; row < count && required; ++row) {
      const int64_t text = marks.rows[row].text;
      int64_t* to = asked.data() + row * asked_each;
      std::copy_n(required->tried + text * tried_each, tried_each, to);
      if (forced(text) < 0) continue;
      std::fill_n(to, asked_each, -1);
      to[asked_each - 1] = forced(text);
    }
    if (joined.stored) hear(count);
    if (!writer.shortlists) return find_words(writer.head, 0, count);
    for (int64_t first = 0, last; first < count; first = last) {
      last = marks.end_of(first);
      const Shortlist& some = writer.shortlists[marks.rows[first].text];
      find_words(&some.head, first, last - first);
      const auto begin = words.begin() + first * each, end = words.begin() + last * each;
      std::transform(begin, end, begin, [&](int64_t word) { return some.words[word]; });
    }
  }

  // Join the states of all rows with those that are stored.
  void hear(int64_t count) {
    joined.clear();
    for (int64_t row = 0; row < count; ++row) {
      const int64_t text = marks.rows[row].text;
      joined.add(text, rows.states.data() + row * writer.stack->dim);
      if (forced(text) >= 0) continue;
      int64_t* to = asked.data() + row * asked_each;
      std::fill_n(to + tried_each, joined.most, -1);
      joined.speak(row, text, to + tried_each);
      std::sort(to, to + asked_each);
      for (int64_t one = 1; one < asked_each; ++one) {
        if (to[one] == to[one - 1]) to[one - 1] = -1;
      }
    }
  }

  void find_words(const Product* head, int64_t first, int64_t count) {
    const int64_t forbidden[] = {writer.padding, writer.begin, writer.end};
    find_best(
        head, count, rows.states.data() + first * writer.stack->dim, each, rows.length <= rules.least ? 3 : 2, forbidden,
        words.data() + first * each, log_probs.data() + first * each,
        {asked_each, asked.data() + first * asked_each, asked_log_probs.data() + first * asked_each});
  }

  // One word more: what has all may end, the best of each bank go on.
  void grow() {
    going.clear(), going_marks.clear();
    for (int64_t first = 0, last; first < int64_t(marks.rows.size()); first = last) {
      last = marks.end_of(first);
      const int64_t text = marks.rows[first].text;
      candidates.clear(), counts.clear();
      for (int64_t row = first; row < last; ++row) consider(row);
      close(text);
      rank(last - first);
      const size_t before = going.size();
      finish(text);
      share_out(text);
      if (going.size() == before) give_up(rows.written, marks, first, last, rows.length - 1);
    }
  }

  // All words that may stand behind a row.
  void consider(int64_t row) {
    const int64_t text = marks.rows[row].text, some = width(text) + 1, prefix = forced(text);
    const int64_t *likely = words.data() + row * each, *tried = asked.data() + row * asked_each;
    if (joined.stored && prefix < 0) return consider_joined(row, text, some);
    for (int64_t one = 0; one < some && prefix < 0; ++one) consider(row, likely[one], log_probs[row * each + one], false);
    for (int64_t one = 0; one < asked_each; ++one) {
      if (tried[one] < 0 || (prefix < 0 && std::find(likely, likely + some, tried[one]) != likely + some)) continue;
      consider(row, tried[one], asked_log_probs[row * asked_each + one], prefix < 0);
    }
  }

  // The likeliest words of a row by the model and its stored states, and what is tried besides.
  void consider_joined(int64_t row, int64_t text, int64_t some) {
    const int64_t *likely = words.data() + row * each, *tried = asked.data() + row * asked_each;
    choices.clear();
    const auto add = [&](int64_t id, double log_prob) {
      choices.push_back({id, log_prob, joined.score(row, text, id, log_prob)});
    };
    const auto is_near = [&](int64_t id) { return std::find(likely, likely + some, id) != likely + some; };
    for (int64_t one = 0; one < some; ++one) add(likely[one], log_probs[row * each + one]);
    for (int64_t one = 0; one < asked_each; ++one) {
      if (tried[one] >= 0 && !is_near(tried[one])) add(tried[one], asked_log_probs[row * asked_each + one]);
    }
    const auto better = [](const Choice& a, const Choice& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; };
    std::sort(choices.begin(), choices.end(), better);
    int64_t left = some;
    for (const Choice& one : choices) {
      const bool is_likely = left > 0 && (joined.mass(row, text, one.id) > 0 || is_near(one.id));
      left -= is_likely;
      if (is_likely || is_tried(text, one.id)) consider(row, one.id, one.log_prob, !is_likely);
    }
  }

  bool is_tried(int64_t text, int64_t id) const {
    if (!required) return id == writer.end;
    const int64_t* first = required->tried + text * tried_each;
    return std::find(first, first + tried_each, id) != first + tried_each;
  }

  // `tried`: the word is none of the likeliest, so it has to bring a term on.
  void consider(int64_t row, int64_t id, double log_prob, bool tried) {
    if (!(log_prob > kNever)) return;
    const auto [text, node, before] = marks.rows[row];
    const bool free = required && rows.length <= required->free && forced(text) >= 0;
    const double added = free ? 0.0 : joined.score(row, text, id, log_prob);
    const Word word{id, int64_t(candidates.size()), row, rows.written[row].sum + added, log_prob};
    if (!required) return candidates.push_back({word, 0, 0, 0, 0});
    const int64_t place = counts.size(), after = required->next[node * (required->symbols + 1) + symbol(text, id)];
    bool complete = true;
    for (int64_t term = 0; term < terms; ++term) {
      const int64_t needed = required->needed[text * terms + term];
      const int64_t closed = required->whole[node * terms + term] * required->parts_words[id];
      const int64_t count = std::min(marks.met[row * terms + term] + closed, needed);
      counts.push_back(std::min(count + required->open[after * terms + term], needed));
      complete = complete && counts.back() >= needed;
    }
    const int64_t left = remaining(text, after, counts.data() + place);
    const bool end = id == writer.end;
    if ((tried && !end && left >= before) || (end && !complete)) return counts.resize(place);
    const int64_t total = std::max<int64_t>(required->totals[text], 1);
    const int64_t bank = (total - left) * (required->banks[text] - 1) / total;
    candidates.push_back({word, int32_t(after), int32_t(left), int32_t(bank), int32_t(place)});
  }

  // The column of a word in an automaton: the last one is any other word.
  int64_t symbol(int64_t text, int64_t id) const {
    const int64_t *first = required->symbols_of + text * required->symbols, *last = first + required->symbols;
    return std::find(first, last, id) - first;
  }

  // Whether these words are the last ones, and no end is added to them.
  bool is_cut(int64_t text) const { return rules.at_limit == kCut && rows.length >= rules.limits[text]; }

  // At the limit nothing goes on, if anything can end.
  void close(int64_t text) {
    const auto goes_on = [&](const Candidate& one) { return !ends(one); };
    if (rows.length < rules.limits[text] || std::all_of(candidates.begin(), candidates.end(), goes_on)) return;
    if (is_cut(text)) return;
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), goes_on), candidates.end());
    if (rules.at_limit != kFree) return;
    for (Candidate& one : candidates) one.word.sum = rows.written[one.word.before].sum;
  }

  // The candidates bank by bank, the best first. Without banks no more of them than can matter: a row ends once at most.
  void rank(int64_t width) {
    const auto better = [](const Candidate& a, const Candidate& b) {
      if (a.bank != b.bank) return a.bank > b.bank;
      return a.word.sum != b.word.sum ? a.word.sum > b.word.sum : a.word.place < b.word.place;
    };
    if (required) return std::sort(candidates.begin(), candidates.end(), better);
    const size_t enough = std::min<size_t>(candidates.size(), rules.size + width);
    std::partial_sort(candidates.begin(), candidates.begin() + enough, candidates.end(), better);
    candidates.resize(enough);
  }

  // Words that are to be written yet, at most.
  int64_t remaining(int64_t text, int64_t node, const int64_t* counts) const {
    int64_t rest = 0, begun = 0;
    for (int64_t term = 0; term < terms; ++term) {
      const int64_t place = text * terms + term, missing = required->needed[place] - counts[term];
      rest += missing * required->sizes[place];
      if (missing > 0) begun = std::max(begun, required->sizes[place] - required->left[node * terms + term]);
    }
    return rest - begun;
  }

  // Notes what ends here: all that is likely, and the best of what has terms; in an exact search what is worth it.
  void finish(int64_t text) {
    bool first = required && required->totals[text] > 0;
    int64_t bank = -1, rank = 0;
    for (const Candidate& one : candidates) {
      rank = one.bank == bank ? rank + 1 : 0;
      bank = one.bank;
      const bool likely = rank < rules.size;
      if (!ends(one)) {
        if (likely && is_cut(text)) note(text, one.word);
        continue;
      }
      ended[text] += likely;
      if (likely || first) note(text, one.word);
      first = false;
    }
  }

  void note(int64_t text, const Word& end) {
    const double score = end.sum / rules.norms[rows.length];
    if (rules.stop == kExact && !(score > bars[text])) return;
    const bool cut = end.id != writer.end;
    found.texts[text].push_back(
        cut ? rows.hypothesis(end, rows.length, score) : rows.ended(end, score, rules.limits[text]));
    if (rules.stop == kExact) bars[text] = worst_of(text, rules.wanted);
  }

  // The score of the worst of the `count` best that have ended; never where there are fewer.
  double worst_of(int64_t text, int64_t count) const {
    std::vector<double> scores;
    for (const Hypothesis& one : found.texts[text]) scores.push_back(one.score);
    if (int64_t(scores.size()) < count) return kNever;
    std::nth_element(scores.begin(), scores.begin() + count - 1, scores.end(), std::greater<double>());
    return scores[count - 1];
  }

  // The best of each bank go on, then the second best, until the beam is full.
  void share_out(int64_t text) {
    if (is_cut(text)) return;
    int64_t bank = -1, rank = 0;
    std::vector<std::pair<int64_t, const Candidate*>> ranked;
    for (const Candidate& one : candidates) {
      if (ends(one)) continue;
      rank = one.bank == bank ? rank + 1 : 0;
      bank = one.bank;
      ranked.push_back({rank, &one});
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ranked.resize(std::min<size_t>(ranked.size(), width(text)));
    for (const auto& [_, one] : ranked) {
      going.push_back(one->word);
      going_marks.add({text, one->node, one->remaining}, counts.data() + one->met, terms);
    }
  }

  // A text that none of the hypotheses has ended of is answered by those that have most, unfinished: the best of these
  // rows, which have `length` words; by one of them where something is required.
  void give_up(const std::vector<Word>& last_words, const Marks& has, int64_t first, int64_t last, int64_t length) {
    auto& known = found.texts[has.rows[first].text];
    if (!known.empty()) return;
    std::vector<int64_t> order(last - first);
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int64_t more = has.rows[a].remaining - has.rows[b].remaining;
      return more ? more < 0 : last_words[a].sum > last_words[b].sum;
    });
    order.resize(std::min<int64_t>(order.size(), required ? 1 : rules.wanted));
    for (const int64_t row : order) {
      const double score = last_words[row].sum / rules.norms[std::max<int64_t>(length, 1)];
      known.push_back(rows.hypothesis(last_words[row], length, score));
    }
  }

  // Texts that are done leave; the rest is written on.
  void keep() {
    std::vector<Word> next;
    marks.clear();
    for (int64_t first = 0, last; first < int64_t(going.size()); first = last) {
      last = going_marks.end_of(first);
      const int64_t text = going_marks.rows[first].text;
      const bool cut_off = rules.limits[text] <= rows.length || (rules.stepped && rules.dropped[text]);
      if (cut_off) give_up(going, going_marks, first, last, rows.length);
      if (cut_off || is_done(text, first, last)) continue;
      next.insert(next.end(), going.begin() + first, going.begin() + last);
      for (int64_t row = first; row < last; ++row) {
        marks.add(going_marks.rows[row], going_marks.met.data() + row * terms, terms);
      }
    }
    rows.go_on(std::move(next));
  }

  bool is_done(int64_t text, int64_t first, int64_t last) const {
    if (rules.stop == kExact) return is_beaten(text, going[first]);
    return rules.stop == kBestFull ? is_best_full(text, going[first]) : is_full(text, first, last);
  }

  // Whether `size` hypotheses have ended, and the best row does not beat the worst of the best of them so far.
  bool is_best_full(int64_t text, const Word& best) const {
    return ended[text] >= rules.size && best.sum / rules.norms[rows.length] <= worst_of(text, rules.size);
  }

  // Whether not even the best row can beat what has ended: no end between the next place and the last one is better.
  bool is_beaten(int64_t text, const Word& best) const {
    const double soon = best.sum / rules.norms[rows.length + 1], late = best.sum / rules.norms[rules.limits[text]];
    return std::max(soon, late) <= bars[text];
  }

  // Whether enough hypotheses have ended: `size`, or so many that no row that has all terms has a better score so far.
  bool is_full(int64_t text, int64_t first, int64_t last) const {
    if (ended[text] >= rules.size) return true;
    const int64_t count = required ? required->enough : 0;
    if (!count || !required->totals[text] || ended[text] < count) return false;
    double best = kNever;
    for (int64_t row = first; row < last; ++row) {
      if (!going_marks.rows[row].remaining) best = std::max(best, going[row].sum);
    }
    return best / rules.norms[rows.length] <= worst_of(text, count);
  }

  const Writer& writer;
  const Rules& rules;
  const Required* required;
  Found& found;
  DecodedRows rows;
  std::vector<int64_t> ended;         // likely hypotheses that have, of each text
  std::vector<double> bars;           // of an exact search: the score of the worst of the `wanted` best that have ended
  Joined joined;                      // stored states beside the rows
  const int64_t terms;
  const int64_t tried_each, asked_each;  // words that a row tries, and that are asked of it
  int64_t each = 0;                   // words that are looked at behind a row
  Marks marks, going_marks;           // of the rows of this step and of the next
  std::vector<Word> going;            // rows of the next step
  std::vector<Candidate> candidates;  // of a text
  std::vector<int64_t> counts;        // how often each candidate has each term
  std::vector<Choice> choices;        // of a row
  std::vector<int64_t> words, asked;
  std::vector<float> log_probs, asked_log_probs;
};

}  // namespace

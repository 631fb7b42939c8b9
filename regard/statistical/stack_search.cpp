// The search of stack_search.py, step by step the same: equal sums in equal order, ties broken by who came first.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "layout.h"

namespace {

struct Language {
    const int64_t* firsts;
    const int32_t* arcs;
    const double* log_probs;
    const int32_t* nexts;
    const double* backoffs;
    const int32_t* lowers;
    int64_t start, end;
};

LAYOUT(Language, firsts, arcs, log_probs, nexts, backoffs, lowers, start, end);

struct Problem {
    int64_t length, options, reach, size, pops, n_best;
    const int32_t *starts, *ends;
    const int64_t* word_firsts;
    const int32_t* words;
    const double *inside, *previous, *following;
    const int32_t* groups;
    const double *outlook, *penalties;
};

LAYOUT(
    Problem, length, options, reach, size, pops, n_best, starts, ends, word_firsts, words, inside, previous,
    following, groups, outlook, penalties);

struct Arc {
    int64_t before;  // node
    int32_t option;
    double added;
    int64_t next;  // arc of the same node
};

struct Node {
    int64_t gap;
    uint64_t window;
    int32_t state, start, end, following;
    double score, rest;
    int64_t first_arc, last_arc;  // -1: none
    double total() const { return score + rest; }
};

struct Grid {
    std::vector<int64_t> nodes;
    int64_t first, count;  // options of the stretch
    int64_t gap;
    uint64_t window;
    double rest;
    std::unordered_set<uint64_t> seen;
};

struct Item {
    double total;
    int64_t number, grid, row, column;
    Node node;
    int64_t before;
    double added;
};

struct Later {
    bool operator()(const Item& one, const Item& other) const {
        return one.total != other.total ? one.total < other.total : one.number > other.number;
    }
};

using Key = std::array<uint64_t, 6>;

struct Hash {
    size_t operator()(const Key& key) const {
        uint64_t value = 0;
        for (uint64_t one : key) value = (value ^ one) * 0x9E3779B97F4A7C15ull, value ^= value >> 29;
        return value;
    }
};

struct Path {
    int32_t option;
    int64_t next;  // path, -1 at the end
};

struct Way {
    double total;
    int64_t number, node;
    double suffix;
    int64_t path;
};

struct LaterWay {
    bool operator()(const Way& one, const Way& other) const {
        return one.total != other.total ? one.total < other.total : one.number > other.number;
    }
};

class Search {
  public:
    Search(const Problem& problem, const Language& language) : p(problem), lm(language) {
        firsts.assign((p.length + 1) * (p.length + 1), 0);
        counts.assign((p.length + 1) * (p.length + 1), 0);
        for (int64_t one = p.options - 1; one >= 0; --one) {
            const int64_t span = p.starts[one] * (p.length + 1) + p.ends[one];
            firsts[span] = one;
            ++counts[span];
        }
        nodes.push_back({0, 0, int32_t(lm.start), 0, 0, -1, 0.0, outlook(0, p.length), -1, -1});
        stacks.push_back({0});
        for (int64_t size = 1; size <= p.length; ++size) stack(size);
    }

    int64_t best(int32_t* options, int64_t* lengths, double* scores) const {
        std::priority_queue<Way, std::vector<Way>, LaterWay> heap;
        std::vector<Path> paths;
        int64_t number = 0, found = 0;
        for (int64_t node : stacks.back()) {
            const double suffix = ending(nodes[node]);
            heap.push({nodes[node].score + suffix, number++, node, suffix, -1});
        }
        while (!heap.empty() && found < p.n_best) {
            const Way way = heap.top();
            heap.pop();
            const Node& node = nodes[way.node];
            if (node.first_arc < 0) {
                int64_t length = 0;
                for (int64_t path = way.path; path >= 0; path = paths[path].next) {
                    options[found * p.length + length++] = paths[path].option;
                }
                lengths[found] = length;
                scores[found++] = way.suffix;
            }
            for (int64_t arc = node.first_arc; arc >= 0; arc = arcs[arc].next) {
                const double suffix = way.suffix + arcs[arc].added;
                paths.push_back({arcs[arc].option, way.path});
                heap.push({nodes[arcs[arc].before].score + suffix, number++, arcs[arc].before, suffix,
                           int64_t(paths.size()) - 1});
            }
        }
        return found;
    }

  private:
    const Problem& p;
    const Language& lm;
    std::vector<int64_t> firsts, counts;  // of the options of each stretch
    std::vector<Node> nodes;
    std::vector<Arc> arcs;
    std::vector<std::vector<int64_t>> stacks;

    double outlook(int64_t start, int64_t end) const { return p.outlook[start * (p.length + 1) + end]; }

    double step(int32_t& state, int32_t word) const {
        double total = 0.0;
        while (state != 0) {
            const int32_t *first = lm.arcs + lm.firsts[state], *last = lm.arcs + lm.firsts[state + 1];
            const int32_t* place = std::lower_bound(first, last, word);
            if (place != last && *place == word) {
                state = lm.nexts[place - lm.arcs];
                return total + lm.log_probs[place - lm.arcs];
            }
            total += lm.backoffs[state];
            state = lm.lowers[state];
        }
        state = lm.nexts[word];
        return total + lm.log_probs[word];
    }

    double ending(const Node& node) const {
        int32_t state = node.state;
        const double value = step(state, int32_t(lm.end));
        const int side = node.end == p.length ? 0 : 2;
        return value + (node.following >= 0 ? p.following[node.following * 3 + side] : 0.0);
    }

    double rest(int64_t gap, uint64_t window) const {
        double total = 0.0;
        int64_t start = gap, place = gap + 1;
        for (uint64_t bits = window; bits; bits >>= 1, ++place) {
            if (bits & 1) {
                total += start < place ? outlook(start, place) : 0.0;
                start = place + 1;
            }
        }
        return total + (start < p.length ? outlook(start, p.length) : 0.0);
    }

    static bool cover(int64_t& gap, uint64_t& window, int64_t start, int64_t end) {
        for (int64_t place = start; place < end; ++place) {
            if (place < gap || (place > gap && (window >> (place - gap - 1) & 1))) return false;
        }
        bool first = false;
        for (int64_t place = start; place < end; ++place) {
            if (place == gap) first = true;
            else window |= uint64_t(1) << (place - gap - 1);
        }
        if (first) {
            bool more = true;
            while (more) {
                more = window & 1;
                window >>= 1;
                ++gap;
            }
        }
        return true;
    }

    void stack(int64_t size) {
        std::vector<Grid> grids = grids_of(size);
        std::priority_queue<Item, std::vector<Item>, Later> heap;
        std::unordered_map<Key, int64_t, Hash> known;
        std::vector<int64_t> made;
        int64_t number = 0;
        auto push = [&](int64_t place, int64_t row, int64_t column) {
            Grid& grid = grids[place];
            if (row >= int64_t(grid.nodes.size()) || column >= grid.count) return;
            if (!grid.seen.insert(uint64_t(row) << 32 | uint64_t(column)).second) return;
            Item item;
            item.number = number++, item.grid = place, item.row = row, item.column = column;
            item.before = grid.nodes[row];
            extend(item, int32_t(grid.first + column), grid);
            heap.push(item);
        };
        for (int64_t place = 0; place < int64_t(grids.size()); ++place) push(place, 0, 0);
        for (int64_t pop = 0; pop < p.pops && !heap.empty(); ++pop) {
            const Item item = heap.top();
            heap.pop();
            recombine(known, made, item);
            push(item.grid, item.row + 1, item.column);
            push(item.grid, item.row, item.column + 1);
        }
        std::stable_sort(made.begin(), made.end(),
                         [&](int64_t one, int64_t other) { return nodes[one].total() > nodes[other].total(); });
        if (int64_t(made.size()) > p.size) made.resize(p.size);
        stacks.push_back(std::move(made));
    }

    std::vector<Grid> grids_of(int64_t size) const {
        std::vector<Grid> grids;
        for (int64_t before = 0; before < size; ++before) {
            std::map<std::array<uint64_t, 3>, size_t> places;
            std::vector<std::vector<int64_t>> together;
            for (int64_t node : stacks[before]) {
                const Node& one = nodes[node];
                const auto place = places.insert({{uint64_t(one.gap), one.window, uint64_t(one.end)}, together.size()});
                if (place.second) together.emplace_back();
                together[place.first->second].push_back(node);
            }
            const int64_t width = size - before;
            for (const auto& some : together) {
                const Node one = nodes[some[0]];
                const int64_t last = std::min(p.length - width, one.end + p.reach);
                for (int64_t start = std::max(one.gap, one.end - p.reach); start <= last; ++start) {
                    const int64_t span = start * (p.length + 1) + start + width;
                    int64_t gap = one.gap;
                    uint64_t window = one.window;
                    if (!counts[span] || start + width - gap > 64 || !cover(gap, window, start, start + width)) continue;
                    if (start + width - gap > p.reach) continue;
                    grids.push_back({some, firsts[span], counts[span], gap, window, rest(gap, window), {}});
                }
            }
        }
        return grids;
    }

    void extend(Item& item, int32_t option, const Grid& grid) const {
        const Node& node = nodes[item.before];
        const int32_t start = p.starts[option], end = p.ends[option];
        const int side = start == node.end ? 0 : end == node.start ? 1 : 2;
        double added = p.inside[option];
        added += p.penalties[std::abs(start - node.end)];
        added += p.previous[option * 3 + side];
        added += node.following >= 0 ? p.following[node.following * 3 + side] : 0.0;
        int32_t state = node.state;
        for (int64_t word = p.word_firsts[option]; word < p.word_firsts[option + 1]; ++word) {
            added += step(state, p.words[word]);
        }
        item.node = {grid.gap, grid.window, state, start, end, option, node.score + added, grid.rest, -1, -1};
        item.added = added;
        item.total = item.node.total();
    }

    void recombine(std::unordered_map<Key, int64_t, Hash>& known, std::vector<int64_t>& made, const Item& item) {
        const Node& node = item.node;
        const Key key = {uint64_t(node.gap), node.window, uint64_t(node.state), uint64_t(node.start),
                         uint64_t(node.end), uint64_t(p.groups[node.following])};
        const auto place = known.insert({key, int64_t(nodes.size())});
        if (place.second) {
            made.push_back(int64_t(nodes.size()));
            nodes.push_back(node);
        }
        Node& own = nodes[place.first->second];
        own.score = std::max(own.score, node.score);
        arcs.push_back({item.before, node.following, item.added, -1});
        const int64_t arc = int64_t(arcs.size()) - 1;
        if (own.last_arc >= 0) arcs[own.last_arc].next = arc;
        else own.first_arc = arc;
        own.last_arc = arc;
    }
};

}  // namespace

// Writes options (n_best, length), lengths and scores (n_best,); returns how many derivations, -1 for want of memory.
extern "C" int64_t stack_search(const Problem* problem, const Language* language, int32_t* options, int64_t* lengths,
                                double* scores) {
    try {
        return Search(*problem, *language).best(options, lengths, scores);
    } catch (const std::bad_alloc&) {
        return -1;
    }
}

// Breadth-first search with bitmaps in memory, by one thread, of pancakes, tiles of three rows, and the towers of Hanoi with
// four pegs: what `benchmarks/baselines.py` compares Hakoiri with. Nothing is stored; the sizes of the layers are printed.
//
//     g++ -O3 -march=native -std=c++17 -o baselines benchmarks/baselines.cpp
//     ./baselines pancakes 11; ./baselines hanoi 15; ./baselines tiles 4
//     ./baselines roofline 27     # nanoseconds of a random mark in a bitmap of 2^27 bytes

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Word = std::uint64_t;

constexpr Word factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

// Bits seen, of the layer and of the next one, and which segments of them have any. A merge passes over the others.
struct Bitmaps {
    static constexpr std::size_t SEGMENT = 1024;    // words
    std::size_t words;
    std::vector<Word> seen, layer, next;
    std::vector<std::uint8_t> filled;

    explicit Bitmaps(std::size_t words)
        : words((words + SEGMENT - 1) / SEGMENT * SEGMENT), seen(this->words + 16), layer(this->words + 16), next(this->words + 16),
          filled(this->words / SEGMENT) {}
    // Make what is new in `next` the layer, and return its size.
    Word merge() {
        Word size = 0;
        for (std::size_t segment = 0; segment < filled.size(); segment++) {
            Word *now = &layer[segment * SEGMENT], *found = &next[segment * SEGMENT], *known = &seen[segment * SEGMENT];
            Word any = 0, count = 0;
            for (std::size_t i = 0; i < SEGMENT; i++) any |= found[i];
            if (!any) {
                if (filled[segment]) std::memset(now, 0, SEGMENT * sizeof(Word));
                filled[segment] = 0;
                continue;
            }
            for (std::size_t i = 0; i < SEGMENT; i++) {
                Word fresh = found[i] & ~known[i];
                now[i] = fresh, known[i] |= fresh, found[i] = 0;
                count += __builtin_popcountll(fresh);
            }
            filled[segment] = count > 0;
            size += count;
        }
        return size;
    }
    // Whether the layer has any of these bits' segments filled.
    bool has(std::size_t first, std::size_t bits) const {
        for (std::size_t s = first / 64 / SEGMENT, end = (first + bits - 1) / 64 / SEGMENT; s <= end; s++)
            if (filled[s]) return true;
        return false;
    }
};

// The number of an order: the digit of place i says how many larger ones stand before it, and is worth i!. Turning over the
// upper k changes the digits of these alone. So for k up to 5 each 120 numbers change in the same way (by tables of bytes),
// for k up to 8 each 40,320 do (one table for each k); for larger k a change is the sum of two tables of 1,680 numbers, made
// anew for each 40,320: which larger pancakes stand below is the same there.
template <int n> struct Pancakes {
    static constexpr int LOW = 8, BLOCK = 40320, INNER = 120, HALF = 1680;
    using Marks = unsigned __int128;
    static constexpr Word size() { return factorial(n); }
    Word start() const { return 0; }

    std::vector<std::array<Marks, 256>> inner{15};
    std::vector<std::uint16_t> middle[LOW + 1];
    std::vector<std::uint16_t> upper{}, lower{};             // for each of 40,320: which of 1,680 orders its halves have
    std::vector<std::array<std::uint8_t, 4>> upper_of{HALF}, lower_of{HALF};    // ranks, of 8, of the pancakes of a half
    std::vector<std::uint32_t> own[n + 1];    // for k > 8: what the order of the upper 8 alone contributes

    static void order_of(Word key, int count, int *order) {
        std::vector<int> left;
        for (int i = 0; i < count; i++) left.push_back(i);
        for (int place = count - 1; place >= 0; place--) {
            int digit = int(key / factorial(place));
            key %= factorial(place);
            order[place] = left[place - digit];
            left.erase(left.begin() + (place - digit));
        }
    }
    static Word number_of(const int *order, int count) {
        Word number = 0;
        for (int place = 0; place < count; place++) {
            int larger = 0;
            for (int i = 0; i < place; i++) larger += order[i] > order[place];
            number += larger * factorial(place);
        }
        return number;
    }
    Pancakes() {
        int order[LOW];
        for (int k = 6; k <= LOW; k++) middle[k].resize(BLOCK);
        for (int k = LOW + 1; k <= n; k++) own[k].resize(BLOCK);
        upper.resize(BLOCK), lower.resize(BLOCK);
        std::vector<int> met_upper(4096, -1), met_lower(4096, -1);
        int uppers = 0, lowers = 0;
        for (int q = 0; q < BLOCK; q++) {
            order_of(q, LOW, order);
            int up = 0, low = 0;
            for (int i = 0; i < 4; i++) up = up * 8 + order[i], low = low * 8 + order[4 + i];
            if (met_upper[up] < 0) {
                for (int i = 0; i < 4; i++) upper_of[uppers][i] = std::uint8_t(order[i]);
                met_upper[up] = uppers++;
            }
            if (met_lower[low] < 0) {
                for (int i = 0; i < 4; i++) lower_of[lowers][i] = std::uint8_t(order[4 + i]);
                met_lower[low] = lowers++;
            }
            upper[q] = std::uint16_t(met_upper[up]), lower[q] = std::uint16_t(met_lower[low]);
            for (int k = 2; k <= LOW; k++) {
                int turned[LOW];
                std::copy(order, order + LOW, turned);
                std::reverse(turned, turned + k);
                unsigned goal = unsigned(number_of(turned, LOW));
                if (k > 5) middle[k][q] = std::uint16_t(goal);
                else if (q < INNER)
                    for (int byte = 0; byte < 256; byte++)
                        if (byte >> (q & 7) & 1) inner[q >> 3][byte] |= Marks(1) << goal;
            }
            // Turned over with k - 8 more below: place p goes to k - 1 - p, before which those of p + 1 on stand.
            for (int k = LOW + 1; k <= n; k++)
                for (int p = 0; p < LOW; p++) {
                    unsigned larger = 0;
                    for (int i = p + 1; i < LOW; i++) larger += order[i] > order[p];
                    own[k][q] += larger * unsigned(factorial(k - 1 - p));
                }
        }
    }

    void spread(Bitmaps &maps) const {
        Word *layer = maps.layer.data(), *next = maps.next.data();
        std::vector<unsigned> a[n + 1], b[n + 1];
        for (int k = LOW + 1; k <= n; k++) a[k].resize(HALF), b[k].resize(HALF);
        std::vector<std::uint16_t> places(BLOCK);
        for (Word block = 0; block < size() / BLOCK; block++) {
            Word base = block * BLOCK;
            if (!maps.has(base, BLOCK)) continue;
            std::size_t count = 0;
            const Word *words = layer + base / 64;    // a block has whole words
            for (int i = 0; i < BLOCK / 64; i++)
                for (Word word = words[i]; word; word &= word - 1) places[count++] = std::uint16_t(64 * i + __builtin_ctzll(word));
            if (!count) continue;
            // Flips of 2 to 5: 15 bytes for each 120 numbers.
            const std::uint8_t *bytes = reinterpret_cast<const std::uint8_t *>(words);
            std::uint8_t *targets = reinterpret_cast<std::uint8_t *>(next + base / 64);
            for (int i = 0; i < BLOCK / INNER; i++) {
                Word low, high = 0;
                std::memcpy(&low, bytes + 15 * i, 8), std::memcpy(&high, bytes + 15 * i + 8, 7);
                if (!(low | high)) continue;
                Marks marks = 0;
                for (int byte = 0; byte < 15; byte++) marks |= inner[byte][bytes[15 * i + byte]];
                Word lows = Word(marks), highs = Word(marks >> 64), old;
                std::memcpy(&old, targets + 15 * i, 8), old |= lows, std::memcpy(targets + 15 * i, &old, 8);
                old = 0, std::memcpy(&old, targets + 15 * i + 8, 7), old |= highs, std::memcpy(targets + 15 * i + 8, &old, 7);
            }
            for (int k = 6; k <= LOW; k++) {
                const std::uint16_t *goals = middle[k].data();
                Word *marks = next + base / 64;
                for (std::size_t i = 0; i < count; i++) marks[goals[places[i]] >> 6] |= Word(1) << (goals[places[i]] & 63);
            }
            if constexpr (n > LOW) {
                int order[n], left[LOW];
                order_of(base, n, order);
                std::copy(order, order + LOW, left);
                std::sort(left, left + LOW);
                for (int k = LOW + 1; k <= n; k++) {
                    // What the pancakes below the upper 8 contribute, and how many of them are larger than each of the 8.
                    Word fixed = base;
                    for (int p = 0; p < k; p++) {
                        int old = 0, larger = 0;
                        for (int i = 0; i < p; i++) old += order[i] > order[p];
                        for (int i = p + 1; i < k; i++) larger += order[i] > order[p];
                        if (p >= LOW) fixed += larger * factorial(k - 1 - p) - old * factorial(p);
                    }
                    unsigned beyond[LOW] = {};
                    for (int rank = 0; rank < LOW; rank++)
                        for (int i = LOW; i < k; i++) beyond[rank] += order[i] > left[rank];
                    for (int i = 0; i < HALF; i++) {
                        unsigned sum = 0, other = 0;
                        for (int p = 0; p < 4; p++) {
                            sum += beyond[upper_of[i][p]] * unsigned(factorial(k - 1 - p));
                            other += beyond[lower_of[i][p]] * unsigned(factorial(k - 5 - p));
                        }
                        a[k][i] = sum, b[k][i] = other;
                    }
                    const unsigned *first = a[k].data(), *second = b[k].data(), *alone = own[k].data();
                    // The words of some goals are fetched before the first of them is set.
                    constexpr std::size_t WAITING = 128;
                    Word goals[WAITING];
                    for (std::size_t begin = 0; begin < count; begin += WAITING) {
                        std::size_t some = std::min(WAITING, count - begin);
                        for (std::size_t i = 0; i < some; i++) {
                            unsigned q = places[begin + i];
                            goals[i] = fixed + alone[q] + first[upper[q]] + second[lower[q]];
                            __builtin_prefetch(next + (goals[i] >> 6), 1);
                        }
                        for (std::size_t i = 0; i < some; i++) next[goals[i] >> 6] |= Word(1) << (goals[i] & 63);
                    }
                }
            }
        }
    }
};

// Two bits a disc, the smallest first. A word has the 64 places of the three smallest discs: their moves are moves of its bits
// under masks. All other moves need all three on one or two pegs (or three): moves of whole words' parts.
struct Hanoi {
    int discs;

    explicit Hanoi(int discs) : discs(discs) {}
    Word size() const { return Word(1) << 2 * discs; }
    Word start() const { return 0; }

    void spread(Bitmaps &maps) const {
        // Masks of the places where the three smallest leave both pegs a and b free; and those of the moves of the three.
        struct Move { Word from; int shift; };
        std::vector<Move> moves;
        Word clear[4][4] = {};
        for (int place = 0; place < 64; place++) {
            int pegs[3] = {place & 3, place >> 2 & 3, place >> 4};
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++) {
                    if (pegs[0] != a && pegs[1] != a && pegs[2] != a && pegs[0] != b && pegs[1] != b && pegs[2] != b)
                        clear[a][b] |= Word(1) << place;
                }
            for (int disc = 0; disc < 3; disc++)
                for (int to = 0; to < 4; to++) {
                    bool free = to != pegs[disc];
                    for (int smaller = 0; smaller < disc; smaller++) free &= pegs[smaller] != pegs[disc] && pegs[smaller] != to;
                    if (!free) continue;
                    int shift = (to - pegs[disc]) * (1 << 2 * disc);
                    auto found = std::find_if(moves.begin(), moves.end(), [&](Move m) { return m.shift == shift; });
                    if (found == moves.end()) moves.push_back({Word(1) << place, shift});
                    else found->from |= Word(1) << place;
                }
        }
        const Word *layer = maps.layer.data();
        Word *next = maps.next.data();
        Word words = size() / 64, ones = 0x5555555555555555 & (words - 1);
        for (Word i = 0; i < words; i++) {
            if (!(i & (Bitmaps::SEGMENT - 1)) && !maps.filled[i / Bitmaps::SEGMENT]) {
                i += Bitmaps::SEGMENT - 1;
                continue;
            }
            Word word = layer[i];
            if (!word) continue;
            Word marks = 0;
            for (const Move &move : moves) {
                Word moved = word & move.from;
                marks |= move.shift > 0 ? moved << move.shift : moved >> -move.shift;
            }
            next[i] |= marks;
            Word high = i >> 1, top[4];
            Word on[4] = {~(i | high) & ones, i & ~high & ones, high & ~i & ones, i & high & ones};
            for (int peg = 0; peg < 4; peg++) top[peg] = (on[peg] | words) & -(on[peg] | words);
            for (int a = 0; a < 4; a++)
                for (int b = a + 1; b < 4; b++) {
                    Word least = std::min(top[a], top[b]), some = word & clear[a][b];
                    if (least != words && some) next[i ^ least * Word(a ^ b)] |= some;
                }
        }
    }
};

// Tiles of three rows: 16 bits for each order of the tiles, one for each cell of the blank. A move along a row moves a bit by
// one place. A move along a column moves a tile past `columns` - 1 others: a window of `columns` tiles is turned by one, and
// the order's number changes by what the digits of the window say: how many smaller tiles follow each. The parity of the order
// follows from the row of the blank, so the last two tiles have no digit. The orders of the last LOW tiles make a block. A
// window of these alone has a table of goals in the block. A window that begins before has one change for a run of orders,
// which are moved together; so are those of the last window, which has few changes.
template <int columns> struct Tiles {
    static constexpr int cells = 3 * columns, tiles = cells - 1, LOW = tiles < 7 ? tiles : 7, HIGH = tiles - LOW;
    static constexpr int windows = tiles - columns + 1, BLOCK = int(factorial(LOW) / 2);
    static constexpr Word orders = factorial(tiles) / 2;
    static constexpr bool flips = (columns - 1) & 1;    // whether a move along a column changes the parity
    using Mask = std::uint16_t;
    static constexpr Word size() { return 16 * orders; }
    Word start() const { return 0; }

    std::vector<std::uint16_t> goals[2][2];             // of a way, a parity of the digits before: where each bit of a block goes
    std::vector<int> runs[2][windows];                  // the change of a window that begins before, by its digits
    struct Together { int change; std::vector<Mask> bits; };
    std::vector<Together> together[2][2];               // of a way and a parity: the orders of a block with each change
    std::vector<std::array<std::uint8_t, tiles>> digits{std::size_t(BLOCK)};    // of each order of the last tiles, but parity's
    static int worth(int place) { return place < tiles - 2 ? int(factorial(tiles - 1 - place) / 2) : 0; }

    // How much the number changes if the window is turned: its first tile to its end, or its last to its begin.
    static int change(int way, int window, const std::uint8_t *d) {
        int before = 0, after = 0;
        for (int i = 0; i < columns; i++) before += d[i] * worth(window + i);
        if (way == 0) {    // the first tile goes behind the others: it is larger than another if more smaller ones follow it
            int smaller = d[0];
            for (int i = 1; i < columns; i++) {
                bool passed = smaller > d[i];
                smaller -= passed;
                after += (d[i] + !passed) * worth(window + i - 1);
            }
            after += smaller * worth(window + columns - 1);
        } else {    // the last tile goes before the others
            int last = d[columns - 1];
            for (int i = columns - 2; i >= 0; i--) {
                bool passed = last >= d[i];    // the last is larger
                last += passed;
                after += (d[i] - !passed) * worth(window + i + 1);
            }
            after += last * worth(window);
        }
        return after - before;
    }
    Tiles() {
        for (int q = 0; q < BLOCK; q++)
            for (int place = HIGH, rest = q; place < tiles; place++) {
                digits[q][place] = worth(place) ? std::uint8_t(rest / worth(place)) : 0;
                if (worth(place)) rest %= worth(place);
            }
        for (int way = 0; way < 2; way++)
            for (int parity = 0; parity < 2; parity++) {
                goals[way][parity].resize(16 * BLOCK);
                for (int window = HIGH; window < windows; window++)
                    for (int q = 0; q < BLOCK; q++) {
                        int cell = way ? window : window + columns, goal = way ? window + columns : window;
                        auto d = digits[q];
                        int odd = parity + (flips ? cell / columns : 0);
                        for (int place = HIGH; place < tiles; place++) odd += d[place];
                        d[tiles - 2] = odd & 1;
                        int changed = change(way, window, &d[window]);
                        goals[way][parity][16 * q + cell] = std::uint16_t(16 * (q + changed) + goal);
                        if (window < windows - 1) continue;
                        auto &all = together[way][parity];
                        auto found = std::find_if(all.begin(), all.end(), [&](const Together &one) { return one.change == changed; });
                        if (found == all.end()) found = all.insert(all.end(), {changed, std::vector<Mask>(BLOCK)});
                        found->bits[q] = Mask(1 << cell);
                    }
            }
        for (int way = 0; way < 2; way++)
            for (int window = 0; window < HIGH && window < windows; window++) {
                int count = 1;
                for (int i = 0; i < columns; i++) count *= tiles - window - i;
                for (int number = 0; number < count; number++) {
                    std::uint8_t d[columns];
                    for (int i = columns - 1, rest = number; i >= 0; rest /= tiles - window - i, i--) d[i] = std::uint8_t(rest % (tiles - window - i));
                    runs[way][window].push_back(change(way, window, d));
                }
            }
    }

    void spread(Bitmaps &maps) const {
        Mask left = 0, right = 0;
        for (int cell = 0; cell < cells; cell++) {
            if (cell % columns > 0) left |= Mask(1 << cell);
            if (cell % columns < columns - 1) right |= Mask(1 << cell);
        }
        const Mask *layer = reinterpret_cast<const Mask *>(maps.layer.data());
        Mask *next = reinterpret_cast<Mask *>(maps.next.data());
        std::vector<std::uint16_t> places(16 * BLOCK + 4);
        for (Word block = 0; block < orders / BLOCK; block++) {
            Word base = block * BLOCK;
            if (!maps.has(16 * base, 16 * BLOCK)) continue;
            const Mask *from = layer + base;
            Mask *to = next + base, any = 0;
            for (int q = 0; q < BLOCK; q++) any |= from[q];
            if (!any) continue;
            for (int q = 0; q < BLOCK; q++) to[q] |= Mask((from[q] & left) >> 1 | (from[q] & right) << 1);
            std::uint8_t d[tiles] = {};
            int parity = 0;
            for (int place = 0, rest = int(block); place < HIGH; place++) {
                int each = worth(place) / BLOCK;
                d[place] = std::uint8_t(rest / each), rest %= each;
                parity += d[place];
            }
            Mask alone[2] = {};
            for (int way = 0; way < 2; way++)
                for (int window = 0; window < windows; window++) {
                    int cell = way ? window : window + columns, goal = way ? window + columns : window;
                    if (!(any >> cell & 1)) continue;
                    if (window == windows - 1) {
                        for (const Together &one : together[way][parity & 1]) {
                            Mask *target = to + one.change;
                            const Mask *bits = one.bits.data();
                            // The others have no bits here, and would be written outside the block.
                            int first = std::max(0, -one.change), last = std::min(BLOCK, BLOCK - one.change);
                            if (goal < cell)
                                for (int q = first; q < last; q++) target[q] |= Mask((from[q] & bits[q]) >> columns);
                            else
                                for (int q = first; q < last; q++) target[q] |= Mask((from[q] & bits[q]) << columns);
                        }
                        continue;
                    }
                    if (window >= HIGH) {
                        alone[way] |= Mask(1 << cell);
                        continue;
                    }
                    int run = window + columns > HIGH ? worth(window + columns - 1) : BLOCK, number = 0;
                    for (int place = window; place < HIGH && place < window + columns; place++) number = number * (tiles - place) + d[place];
                    const int *changes = &runs[way][window][std::size_t(number) * (BLOCK / run)];
                    for (int q = 0; q < BLOCK; q += run) {
                        const Mask *source = from + q;
                        Mask *target = to + q + *changes++, bit = Mask(1 << cell);
                        if (goal < cell)
                            for (int i = 0; i < run; i++) target[i] |= Mask((source[i] & bit) >> columns);
                        else
                            for (int i = 0; i < run; i++) target[i] |= Mask((source[i] & bit) << columns);
                    }
                }
            for (int way = 0; way < 2; way++) {
                if (!alone[way]) continue;
                const Word mask = 0x0001000100010001 * Word(alone[way]);
                unsigned count = 0;
                for (int i = 0; i < BLOCK / 4; i++) {
                    Word word;
                    std::memcpy(&word, from + 4 * i, 8), word &= mask;
                    // Four at a time, without a branch for words without bits: it would be mispredicted.
                    unsigned last = count + unsigned(__builtin_popcountll(word));
                    do {
                        for (int each = 0; each < 4; each++) {
                            places[count + each] = std::uint16_t(64 * i + __builtin_ctzll(word | Word(1) << 63));
                            word &= word - 1;
                        }
                        count += 4;
                    } while (count < last);
                    count = last;
                }
                const std::uint16_t *places_of = goals[way][parity & 1].data();
                for (unsigned i = 0; i < count; i++) {
                    unsigned goal = places_of[places[i]];
                    to[goal >> 4] |= Mask(1u << (goal & 15));
                }
            }
        }
    }
};

template <class Puzzle> void search(const Puzzle &puzzle) {
    Bitmaps maps((puzzle.size() + 63) / 64);
    maps.next[puzzle.start() / 64] |= Word(1) << puzzle.start() % 64;
    Word total = 0;
    for (int depth = 0;; depth++) {
        Word size = maps.merge();
        if (!size) break;
        std::printf("%d %llu\n", depth, (unsigned long long)size);
        total += size;
        puzzle.spread(maps);
    }
    std::printf("all %llu\n", (unsigned long long)total);
}

// Nanoseconds of setting a random bit in a bitmap of 2^power bytes: what a mark costs at least, without any work for it.
void roofline(int power) {
    std::vector<Word> bitmap((Word(1) << power) / 8, 0);
    Word mask = bitmap.size() - 1, state = 1, count = Word(1) << 26;
    auto began = std::chrono::steady_clock::now();
    for (Word i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bitmap[state >> 32 & mask] |= Word(1) << (state >> 26 & 63);
    }
    std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;
    std::printf("%.2f\n", spent.count() / double(count) + 0 * double(bitmap[0]));
}

int main(int count, char **arguments) {
    if (count != 3) return std::fprintf(stderr, "baselines pancakes|hanoi|tiles|roofline N\n"), 2;
    std::string name = arguments[1];
    int n = std::atoi(arguments[2]);
    if (name == "roofline") roofline(n);
    else if (name == "hanoi") search(Hanoi(n));
    else if (name == "tiles" && n == 3) search(Tiles<3>());
    else if (name == "tiles") search(Tiles<4>());
    else if (n == 9) search(Pancakes<9>());
    else if (n == 10) search(Pancakes<10>());
    else if (n == 11) search(Pancakes<11>());
    else if (n == 12) search(Pancakes<12>());
}

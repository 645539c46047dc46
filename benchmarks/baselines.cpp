// Breadth-first search with bitmaps in memory, by one thread, of pancakes, tiles of three rows, and the towers of Hanoi with
// four pegs: what `benchmarks/baselines.py` compares Hakoiri with. Nothing is stored; the sizes of the layers are printed.
//
//     g++ -O3 -march=native -std=c++17 -o baselines benchmarks/baselines.cpp
//     ./baselines pancakes 11; ./baselines hanoi 15; ./baselines tiles 4

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Word = std::uint64_t;

// The place of the set bit with this number, counted from the lowest.
inline unsigned bit_at(unsigned bits, unsigned number) {
#ifdef __BMI2__
    return __builtin_ctz(__builtin_ia32_pdep_si(1u << number, bits));
#else
    for (unsigned i = 0; i < number; i++) bits &= bits - 1;
    return __builtin_ctz(bits);
#endif
}

constexpr Word factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

// The number of an order: the digit of place i says how many larger ones stand before it, and is worth i!. Turning over
// the upper k changes the number of these alone. Divisors are constants, loops are unrolled.
template <int n> struct Pancakes {
    Word size() const { return factorial(n); }

    template <int place> static void unpack(unsigned key, unsigned left, int *order) {
        constexpr unsigned worth = unsigned(factorial(place));
        order[place] = bit_at(left, place - key / worth);
        if constexpr (place > 0) unpack<place - 1>(key % worth, left & ~(1u << order[place]), order);
    }
    template <int k, class Found> static void turn(unsigned key, const int *order, Found found) {
        unsigned number = 0, before = 0;
        for (int i = 0; i < k; i++) {
            int size = order[k - 1 - i];
            number += __builtin_popcount(before >> size) * unsigned(factorial(i));
            before |= 1u << size;
        }
        found(key - key % unsigned(factorial(k)) + number);
        if constexpr (k < n) turn<k + 1>(key, order, found);
    }
    template <class Found> void expand(Word key, Found found) const {
        int order[n];
        unpack<n - 1>(unsigned(key), (1u << n) - 1, order);
        turn<2>(unsigned(key), order, found);
    }
};

struct Hanoi {
    int discs;
    Word ones, none;

    explicit Hanoi(int discs) : discs(discs), ones(0x5555555555555555 & ((Word(1) << 2 * discs) - 1)), none(Word(1) << 2 * discs) {}
    Word size() const { return none; }

    template <class Found> void expand(Word key, Found found) const {
        Word high = key >> 1, top[4];
        Word on[4] = {~(key | high) & ones, key & ~high & ones, high & ~key & ones, key & high & ones};
        for (int peg = 0; peg < 4; peg++) top[peg] = (on[peg] | none) & -(on[peg] | none);
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++) {
                Word least = top[a] < top[b] ? top[a] : top[b];
                if (least != none) found(key ^ least * Word(a ^ b));
            }
    }
};

// Tiles of three rows. A move along a row keeps the order of the tiles; one along a column moves a tile past `columns` - 1
// others. The parity of the order follows from the cell of the blank, so the last two tiles have no digit. The number is
// that of the cell, and then that of the order: the digit of each place says how many smaller tiles follow it.
template <int columns> struct Tiles {
    static constexpr int cells = 3 * columns, tiles = cells - 1;
    static constexpr Word orders = factorial(tiles) / 2;
    Word size() const { return cells * orders; }

    // The order with this number, even or odd; the worth of the digit of place i is (tiles - 1 - i)! / 2. `left` has the
    // tiles from each place on.
    template <int place> static void unpack(unsigned key, unsigned odd, unsigned *order, unsigned *left) {
        if constexpr (place == tiles - 2) {
            unsigned low = __builtin_ctz(left[place]), high = 31 - __builtin_clz(left[place]);
            order[place] = odd ? high : low, order[place + 1] = odd ? low : high;
        } else {
            constexpr unsigned worth = unsigned(factorial(tiles - 1 - place) / 2);
            unsigned digit = key / worth;
            order[place] = bit_at(left[place], digit);
            left[place + 1] = left[place] & ~(1u << order[place]);
            unpack<place + 1>(key % worth, odd ^ (digit & 1), order, left);
        }
    }
    // The sum of the digits of some places, each times its worth, where these tiles stand there.
    unsigned part(int place, unsigned left, const unsigned *order) const {
        unsigned sum = 0;
        for (int i = 0; i < columns; i++) {
            sum += __builtin_popcount(left & ((1u << order[i]) - 1)) * worths[place + i];
            left &= ~(1u << order[i]);
        }
        return sum;
    }
    unsigned worths[tiles];
    Tiles() { for (int place = 0; place < tiles; place++) worths[place] = place < tiles - 2 ? unsigned(factorial(tiles - 1 - place) / 2) : 0; }
    // Whether the order is odd when the blank is in a row: a move along a column passes an odd or an even number of tiles.
    static unsigned odd(int cell) { return (columns - 1) & 1 ? (cell / columns) & 1 : 0; }

    template <class Found> void expand(Word key, Found found) const {
        int cell = int(key / orders), column = cell % columns;
        if (column > 0) found(key - orders);
        if (column < columns - 1) found(key + orders);
        unsigned order[tiles], left[tiles] = {(1u << tiles) - 1}, turned[columns];
        unpack<0>(unsigned(key % orders), odd(cell), order, left);
        if (cell >= columns) {
            const unsigned *begin = order + cell - columns;
            for (int i = 0; i < columns - 1; i++) turned[i] = begin[i + 1];
            turned[columns - 1] = begin[0];
            int place = cell - columns;
            found(key - columns * orders + part(place, left[place], turned) - part(place, left[place], begin));
        }
        if (cell < cells - columns) {
            const unsigned *begin = order + cell;
            for (int i = 0; i < columns - 1; i++) turned[i + 1] = begin[i];
            turned[0] = begin[columns - 1];
            found(key + columns * orders + part(cell, left[cell], turned) - part(cell, left[cell], begin));
        }
    }
};

template <class Puzzle> void search(const Puzzle &puzzle) {
    std::size_t words = (puzzle.size() + 63) / 64;
    std::vector<Word> seen(words), layer(words), next(words);
    seen[0] = layer[0] = 1;
    Word total = 0;
    for (int depth = 0;; depth++) {
        Word size = 0;
        for (std::size_t i = 0; i < words; i++)
            for (Word word = layer[i]; word; word &= word - 1) {
                size++;
                puzzle.expand(64 * i + __builtin_ctzll(word), [&](Word key) { next[key >> 6] |= Word(1) << (key & 63); });
            }
        if (!size) break;
        std::printf("%d %llu\n", depth, (unsigned long long)size);
        total += size;
        for (std::size_t i = 0; i < words; i++) {
            layer[i] = next[i] & ~seen[i];
            seen[i] |= layer[i];
            next[i] = 0;
        }
    }
    std::printf("all %llu\n", (unsigned long long)total);
}

int main(int count, char **arguments) {
    if (count != 3) return std::fprintf(stderr, "baselines pancakes|hanoi|tiles N\n"), 2;
    std::string name = arguments[1];
    int n = std::atoi(arguments[2]);
    if (name == "hanoi") search(Hanoi(n));
    else if (name == "tiles" && n == 3) search(Tiles<3>());
    else if (name == "tiles") search(Tiles<4>());
    else if (n == 10) search(Pancakes<10>());
    else if (n == 11) search(Pancakes<11>());
    else if (n == 12) search(Pancakes<12>());
}

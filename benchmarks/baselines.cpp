// Breadth-first search with bitmaps in memory, by one thread, of pancakes and of the towers of Hanoi with four pegs: what
// `benchmarks/baselines.py` compares Hakoiri with. Nothing is stored; the sizes of the layers are printed.
//
//     g++ -O3 -march=native -std=c++17 -o baselines benchmarks/baselines.cpp
//     ./baselines pancakes 11; ./baselines hanoi 15

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Word = std::uint64_t;

constexpr Word factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

// The number of an order: the digit of place i says how many larger ones stand before it, and is worth i!. Turning over
// the upper k changes the number of these alone. Divisors are constants, loops are unrolled.
template <int n> struct Pancakes {
    Word size() const { return factorial(n); }

    template <int place> static void unpack(unsigned key, unsigned left, int *order) {
        constexpr unsigned worth = unsigned(factorial(place));
        unsigned rest = left, digit = key / worth;
        for (unsigned i = 0; i < digit; i++) rest &= ~(1u << (31 - __builtin_clz(rest)));
        order[place] = 31 - __builtin_clz(rest);
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
    if (count != 3) return std::fprintf(stderr, "baselines pancakes|hanoi N\n"), 2;
    std::string name = arguments[1];
    int n = std::atoi(arguments[2]);
    if (name == "hanoi") search(Hanoi(n));
    else if (n == 10) search(Pancakes<10>());
    else if (n == 11) search(Pancakes<11>());
    else if (n == 12) search(Pancakes<12>());
}

// The hardest starts of sliding blocks of any shape, from the upper left corner to the lower right one.
//
//     g++ -O3 -march=native -std=c++17 -o corners campaigns/corners.cpp
//     ./corners ROWS COLUMNS PIECES       # boards of up to 20 cells
//
// A placement is a partition of some cells, not all, into connected pieces. Pieces of one shape are alike, but for the
// marked one. A move takes a piece anywhere that it gets to by steps over empty cells. The marked piece starts over the
// upper left cell; in the end it is over the lower right one. So its shape has both of these corners.
//
// For each set of pieces a search begins with all placements whose marked piece is in the end; of those with it at the
// start, the one that is met last is the hardest. Prints the number of pieces, the moves of the hardest start and its
// text (A is the marked piece), and how many sets of pieces, sets with a start, placements in the end, and placements
// met there are.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using Cells = uint32_t;
using Key = uint64_t;

static int rows, columns, cells;
static Cells whole, first_row, first_column, last_column;

// A key has a bit for each cell that is joined to the one to its right, for each that is joined to the one below, and for
// each that is not empty; then the first cell of the marked piece.
static int below_at, filled_at;
static const int marked_at = 58;

static Key mixed(Key x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static Key key_of(Cells piece) {
    return Key(piece & piece >> 1 & ~last_column) | Key(piece & piece >> columns) << below_at | Key(piece) << filled_at;
}

static int first_of(Cells piece) { return __builtin_ctz(piece); }

// The pieces of a key that have some of the cells, in the order of the first of these.
static int pieces_of(Key key, Cells sought, Cells *pieces) {
    const Cells joined = key & whole, below = key >> below_at & (whole >> columns);
    int count = 0;
    while (sought) {
        Cells piece = sought & -sought, before;
        do {
            before = piece;
            piece |= (piece & joined) << 1 | (piece >> 1 & joined);
            piece |= (piece & below) << columns | (piece >> columns & below);
        } while (piece != before);
        pieces[count++] = piece;
        sought &= ~piece;
    }
    return count;
}

// The cells after a step to the right, left, down or up; none if it leads out of the board.
static Cells stepped(Cells piece, int direction) {
    switch (direction) {
        case 0: return piece & last_column ? 0 : piece << 1;
        case 1: return piece & first_column ? 0 : piece >> 1;
        case 2: return piece & first_row << (cells - columns) ? 0 : piece << columns;
        default: return piece & first_row ? 0 : piece >> columns;
    }
}

static Cells beside(Cells some) {
    return (some & ~last_column) << 1 | (some & ~first_column) >> 1 | some << columns | some >> columns;
}

static Cells pushed(Cells piece, int direction, int other) {
    for (int way : {direction, other})
        while (Cells next = stepped(piece, way)) piece = next;
    return piece;
}

static Cells in_upper_left(Cells piece) { return pushed(piece, 1, 3); }

// Keys in the order in which they were added.
struct Met {
    std::vector<Key> table = std::vector<Key>(1 << 12, 0), order;

    void add(Key key) {
        if (2 * order.size() >= table.size()) {
            table.assign(2 * table.size(), 0);
            for (Key each : order) enter(each);
        }
        if (enter(key)) order.push_back(key);
    }

    // Add it with others, when its place in the table has come from memory.
    void add_later(Key key) {
        __builtin_prefetch(&table[mixed(key) & (table.size() - 1)], 1);
        waiting[waits++] = key;
        if (waits == 64) add_waiting();
    }

    void add_waiting() {
        for (int each = 0; each < waits; each++) add(waiting[each]);
        waits = 0;
    }

    void clear() {
        if (table.size() > 1 << 12 && table.size() > 64 * order.size()) table = std::vector<Key>(1 << 12, 0);
        else std::fill(table.begin(), table.end(), 0);
        order.clear();
    }

  private:
    Key waiting[64];
    int waits = 0;

    bool enter(Key key) {
        size_t at = mixed(key) & (table.size() - 1);
        while (table[at] && table[at] != key) at = (at + 1) & (table.size() - 1);
        if (table[at]) return false;
        table[at] = key;
        return true;
    }
};

// A placement in the end; `set` is the same for those with the same pieces.
struct End {
    Key set, key;
    bool operator<(const End &other) const { return set != other.set ? set < other.set : key < other.key; }
};

static std::vector<std::vector<Cells>> beginning;  // connected cells by the first one, small ones first
static std::vector<End> ends;
static int most = -1;
static Key hardest;
static uint64_t sets, sets_with_start, all_ends, all_met;

// Fill the free cells, in order, with so many pieces and empty cells.
static void fill(Cells free, Key key, Key set, int pieces, int empty) {
    if (!free) {
        ends.push_back({set, key});
        return;
    }
    const int cell = first_of(free), room = __builtin_popcount(free) - empty - (pieces - 1);
    if (empty) fill(free & (free - 1), key, set, pieces, empty - 1);
    if (!pieces) return;
    for (Cells piece : beginning[cell]) {
        const int size = __builtin_popcount(piece);
        if (size > room) break;
        // The last piece takes all that is left but the empty cells.
        if ((pieces == 1 && size < room) || piece & ~free) continue;
        fill(free & ~piece, key | key_of(piece), set + mixed(in_upper_left(piece)), pieces - 1, empty);
    }
}

static void search(const End *first, const End *last, Met &met) {
    Cells pieces[32], reached[32];
    Key farthest = 0;
    int moves = 0, found = -1;
    met.clear();
    for (const End *end = first; end < last; end++) met.add(end->key);
    for (size_t at = 0, layer = met.order.size();; at++) {
        if (at == layer) {
            met.add_waiting();
            if (at == met.order.size()) break;
            moves++, layer = met.order.size();
        }
        const Key key = met.order[at];
        const int marked = key >> marked_at;
        const Cells filled = key >> filled_at & whole, empty = whole & ~filled;
        // Only pieces beside an empty cell move: with the places fetched, 15 pieces on 4x5 take 3.7 CPU s in place of 8.7.
        const int count = pieces_of(key, filled & beside(empty), pieces);
        if (filled & 1 && !marked && moves > found) found = moves, farthest = key;
        for (int each = 0; each < count; each++) {
            const Cells others = filled & ~pieces[each];
            const bool is_marked = first_of(pieces[each]) == marked;
            const Key rest = (key & ~key_of(pieces[each])) & (is_marked ? (Key(1) << marked_at) - 1 : ~Key(0));
            int known = 1;
            reached[0] = pieces[each];
            for (int from = 0; from < known; from++)
                for (int direction = 0; direction < 4; direction++) {
                    const Cells to = stepped(reached[from], direction);
                    if (!to || to & others || std::find(reached, reached + known, to) != reached + known) continue;
                    reached[known++] = to;
                    met.add_later(rest | key_of(to) | (is_marked ? Key(first_of(to)) << marked_at : 0));
                }
        }
    }
    sets++, sets_with_start += found >= 0, all_met += met.order.size();
    if (found > most) most = found, hardest = farthest;
}

static std::string text_of(Key key) {
    Cells pieces[32];
    const int count = pieces_of(key, key >> filled_at & whole, pieces), marked = key >> marked_at;
    std::string text(cells, '.');
    char letter = 'B';
    for (int each = 0; each < count; each++) {
        const char mine = first_of(pieces[each]) == marked ? 'A' : letter++;
        for (int cell = 0; cell < cells; cell++)
            if (pieces[each] >> cell & 1) text[cell] = mine;
    }
    for (int row = rows - 1; row; row--) text.insert(row * columns, "/");
    return text;
}

static void list_connected() {
    beginning.resize(cells);
    std::vector<bool> is_known(size_t(1) << cells);
    std::vector<Cells> known;
    for (int cell = 0; cell < cells; cell++) known.push_back(Cells(1) << cell);
    for (size_t at = 0; at < known.size(); at++) {
        const Cells piece = known[at];
        beginning[first_of(piece)].push_back(piece);
        for (Cells around = beside(piece) & whole & ~piece; around; around &= around - 1) {
            const Cells more = piece | (around & -around);
            if (!is_known[more]) is_known[more] = true, known.push_back(more);
        }
    }
}

int main(int count, char **words) {
    if (count != 4) return fprintf(stderr, "usage: corners ROWS COLUMNS PIECES\n"), 2;
    rows = atoi(words[1]), columns = atoi(words[2]), cells = rows * columns;
    const int pieces = atoi(words[3]);
    if (rows < 1 || columns < 1 || cells > 20 || pieces < 1) return fprintf(stderr, "corners: at most 20 cells\n"), 2;
    whole = (Cells(1) << cells) - 1, first_row = (Cells(1) << columns) - 1;
    for (int row = 0; row < rows; row++) first_column |= Cells(1) << row * columns;
    last_column = first_column << (columns - 1);
    below_at = cells, filled_at = 2 * cells - columns;
    list_connected();
    Met met;
    for (Cells shape : beginning[0]) {
        const Cells goal = pushed(shape, 0, 2);
        if (!(goal >> (cells - 1))) continue;
        const int room = cells - __builtin_popcount(shape);
        for (int empty = 1; empty <= room - (pieces - 1); empty++) {
            if (pieces == 1 && empty < room) continue;
            ends.clear();
            fill(whole & ~goal, key_of(goal) | Key(first_of(goal)) << marked_at, 0, pieces - 1, empty);
            std::sort(ends.begin(), ends.end());
            all_ends += ends.size();
            for (size_t from = 0, to; from < ends.size(); from = to) {
                for (to = from; to < ends.size() && ends[to].set == ends[from].set; to++) {}
                search(&ends[from], &ends[to], met);
            }
        }
    }
    printf("%d %d %s %llu %llu %llu %llu\n", pieces, most, most < 0 ? "-" : text_of(hardest).c_str(),
           (unsigned long long)sets, (unsigned long long)sets_with_start, (unsigned long long)all_ends,
           (unsigned long long)all_met);
}

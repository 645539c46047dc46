"""The key ranges of a layer in the making: expanded and merged by threads, held in memory, spilled, sent to hosts."""

// How many files one value may have, wherever it comes from.

/** How many files (bytes) a frame, and a value of an output, may have: each is told by its digest in some hundred characters, and takes a row where it is kept. */
export const MOST_FILES = 10_000

// How many members one object may have, and how many files one value, whoever makes it.

/** How many keys an object may have, in requests and in values: of more the engine makes a table that takes long to ask for anything. */
export const MAX_OBJECT_KEYS = 100_000

/** How many files (bytes) a frame, and a value of an output, may have: each is told by its digest in some hundred characters, and takes a row where it is kept. */
export const MAX_FILES_PER_VALUE = 10_000

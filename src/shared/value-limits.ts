// The maximum number of members of one object, and of files of one value.

/** The maximum number of keys of an object, in requests and in values. Beyond it, V8's table for the object is slow to read. */
export const MAX_OBJECT_KEYS = 100_000

/** How many files (bytes) a frame, and a value of an output, may have: each is told by its digest in some hundred characters, and takes a row where it is kept. */
export const MAX_FILES_PER_VALUE = 10_000

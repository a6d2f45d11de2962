// How many members one object may have, whoever makes it.

/** How many keys an object may have, in requests and in values: of more the engine makes a table that takes long to ask for anything. */
export const MOST_KEYS = 100_000

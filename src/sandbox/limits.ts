// How much code in the sandbox may take, and how many workers run it.
import { availableParallelism } from 'node:os'

/** Milliseconds until a result or the next item: what a node has unless it says otherwise, and the bounds of what it may ask for. */
export const TIME_LIMIT_MS = 5_000
export const SHORTEST_TIME_LIMIT_MS = 10
export const LONGEST_TIME_LIMIT_MS = 60_000

/** Megabytes of values: what a node has unless it says otherwise, and the bounds of what it may ask for. */
export const MEMORY_LIMIT_MB = 64
export const SMALLEST_MEMORY_LIMIT_MB = 4
export const LARGEST_MEMORY_LIMIT_MB = 256

/** In characters. */
export const LONGEST_CODE = 1_000_000

/** In characters of JSON: of all inputs together, and of one result or item. */
export const LONGEST_JSON = 10_000_000

/** Values inside of one result or item, or of all inputs together: each costs far more memory than its characters. */
export const MAX_SCRIPT_VALUES = 1_000_000

/** Lines of the console in one call; the rest is dropped with one note. */
export const MAX_LOG_LINES = 1_000
/** In characters. */
export const LONGEST_LINE = 10_000

/** In characters, of what an error says. */
export const LONGEST_ERROR = 600

/** The stack of the code inside, in bytes: about 2,900 plain calls. */
export const STACK_BYTES = 512 * 1024

/** The worker's own stack. A frame inside takes many times its size of it, and overflowing it would be the engine's end. */
export const WORKER_STACK_MB = 48

/** The worker's own heap, where values are parsed once more before they leave it. */
export const WORKER_HEAP_MB = 256

/** All memory of the engine, in pages of 64 kB: the largest limit, and what inputs and outputs take on their way. */
export const INITIAL_MEMORY_PAGES = 256
export const MAX_MEMORY_PAGES = (LARGEST_MEMORY_LIMIT_MB + 128) * 16

/** Memory of an engine never shrinks: a worker that has more of it than this is not kept for another call. */
export const MAX_IDLE_ENGINE_BYTES = 64 * 1024 * 1024

/** How long after its time limit code may go on before its worker is killed: loops end in time by themselves. */
export const TIME_LIMIT_GRACE_MS = 500

/** How long a worker may take to start. */
export const WORKER_START_MS = 30_000

/** How far a stream runs ahead of its consumer: items, and characters of JSON. */
export const MAX_ITEMS_AHEAD = 32
export const MAX_CHARACTERS_AHEAD = 1_000_000

/** Workers that run code at the same time, unless the sandbox is told otherwise. */
export const DEFAULT_WORKERS = Math.min(4, Math.max(2, availableParallelism()))

/** How long a worker beyond these is kept without work, in milliseconds. */
export const WORKER_IDLE_MS = 30_000

/** Streams that keep a worker for themselves while they wait for their consumers: in all, and for one owner. */
export const MAX_HELD_STREAMS = 32
export const MAX_HELD_STREAMS_BY_OWNER = 16

/** Megabytes of values that all workers together may have by their limits: those that run, and those of held streams. */
export const MAX_TOTAL_MEMORY_MB = 2_304

/** After that many milliseconds a stream pauses at its next item, so that others may have its place. */
export const STREAM_TURN_MS = 100

// Limits of code in the sandbox, and the number of its workers.
import { availableParallelism } from 'node:os'

/** Milliseconds until a result or the next item: the default of a node, and the range of its setting. */
export const TIME_LIMIT_MS = 5_000
export const SHORTEST_TIME_LIMIT_MS = 10
export const LONGEST_TIME_LIMIT_MS = 60_000

/** Megabytes of values: the default of a node, and the range of its setting. */
export const MEMORY_LIMIT_MB = 64
export const SMALLEST_MEMORY_LIMIT_MB = 4
export const LARGEST_MEMORY_LIMIT_MB = 256

/** In characters. */
export const LONGEST_CODE = 1_000_000

/** In characters of JSON: all inputs together, or one result or item. */
export const LONGEST_JSON = 10_000_000

/** The limit of values in one result or item, or in all inputs together: each needs far more memory than its characters. */
export const MAX_SCRIPT_VALUES = 1_000_000

/** The limit of console lines per call; further lines are dropped with one note. */
export const MAX_LOG_LINES = 1_000
/** In characters. */
export const LONGEST_LINE = 10_000

/** In characters: the limit of an error message. */
export const LONGEST_ERROR = 600

/** The stack of the code, in bytes: about 2,900 plain calls. */
export const STACK_BYTES = 512 * 1024

/** The worker's own stack. It needs many times the size of the code's frames, and its overflow would crash the engine. */
export const WORKER_STACK_MB = 48

/** The worker's own heap, in which outputs are parsed for validation. */
export const WORKER_HEAP_MB = 256

/** All memory of the engine, in pages of 64 kB: the largest limit, plus room for inputs and outputs in transit. */
export const INITIAL_MEMORY_PAGES = 256
export const MAX_MEMORY_PAGES = (LARGEST_MEMORY_LIMIT_MB + 128) * 16

/** The memory of an engine never shrinks: a worker with more than this is not reused. */
export const MAX_IDLE_ENGINE_BYTES = 64 * 1024 * 1024

/** How long code may run past its time limit before its worker is killed. Loops are interrupted earlier, in the engine. */
export const TIME_LIMIT_GRACE_MS = 500

/** How long a worker may take to start. */
export const WORKER_START_MS = 30_000

/** The limits of a stream ahead of its consumer: items, and characters of JSON. */
export const MAX_ITEMS_AHEAD = 32
export const MAX_CHARACTERS_AHEAD = 1_000_000

/** The default number of workers that run code at the same time. */
export const DEFAULT_WORKERS = Math.min(4, Math.max(2, availableParallelism()))

/** How long an extra idle worker is kept, in milliseconds. */
export const WORKER_IDLE_MS = 30_000

/** The limits of streams that keep a worker while they wait for their consumers: in all, and per owner. */
export const MAX_HELD_STREAMS = 32
export const MAX_HELD_STREAMS_BY_OWNER = 16

/** Megabytes that all workers together may use by their limits: running workers and those of held streams. */
export const MAX_TOTAL_MEMORY_MB = 2_304

/** After this many milliseconds a stream pauses at its next item, so that others may get its permit. */
export const STREAM_TURN_MS = 100

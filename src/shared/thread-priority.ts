// Lowers the priority of threads and processes that do heavy work, so that the main thread of the server goes first, and work that
// has just begun goes before work that takes long. Only Linux has priorities of single threads; elsewhere nothing is lowered.
import { readlinkSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { platform, setPriority } from 'node:os'

/**
 * How nice to others are the threads that help the main thread, work that has just begun, and work that takes long. The main thread has 0, and
 * 19 is the most. It often waits for those that help it, so nothing else may go before them.
 */
const HELPER = 3
const FRESH = 5
const LONG = 15

/** After so many milliseconds work counts as long. */
const LONG_AFTER_MS = 300

/** The id of the calling thread, as the system knows it; null where its priority cannot be lowered alone. */
function threadId(): number | null {
  if (platform() !== 'linux') return null
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return Number.isInteger(id) ? id : null
  } catch {
    return null
  }
}

/** What Node calls the threads that collect garbage and compile, and those that read files and look up names. */
const HELPER_THREAD_NAMES = new Set(['V8Worker', 'libuv-worker'])
const THREADS_FOLDER = '/proc/self/task'

/** Lowers the priority of the threads of this process that help the main thread: they collect garbage, compile, read files and look up names. */
export async function lowerHelperThreads(): Promise<void> {
  if (platform() !== 'linux') return
  // Reading the folder needs threads that read files, and the first need makes all of them.
  const ids = await readdir(THREADS_FOLDER).catch(() => [])
  const names = await Promise.all(ids.map((id) => readFile(`${THREADS_FOLDER}/${id}/comm`, 'utf8').catch(() => '')))
  for (const [at, id] of ids.entries()) if (HELPER_THREAD_NAMES.has(names[at]!.trim())) setNice(Number(id), HELPER)
}

/** Lowers the priority of the calling thread to that of work that has just begun. Gives its id; null where single threads have no priority. */
export function lowerCurrentThread(): number | null {
  const id = threadId()
  if (id !== null) setNice(id, FRESH)
  return id
}

/** False where the system does not allow it, or there is no such thread or process. */
function setNice(id: number, priority: number): boolean {
  try {
    setPriority(id, priority)
    return true
  } catch {
    return false
  }
}

/** The priority of one worker: a thread, or a process with one busy thread. */
export class WorkerPriority {
  readonly #id: number | null
  #timer: NodeJS.Timeout | null = null
  #lowered = false
  /** Whether its priority could not be raised again after long work: other work would have to wait for nothing. */
  isStuckAtLow = false

  /** `id` is that of a thread or a process; null: unknown. */
  constructor(id: number | null | undefined) {
    this.#id = platform() === 'linux' ? (id ?? null) : null
    this.#set(FRESH)
  }

  /** A task begins. */
  begin(): void {
    this.end()
    if (this.#id === null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#lowered = this.#set(LONG)
    }, LONG_AFTER_MS)
    this.#timer.unref()
  }

  /** The task is over. */
  end(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#lowered) this.isStuckAtLow = !this.#set(FRESH)
    this.#lowered = false
  }

  /** False where the system does not allow it, or the worker is gone. */
  #set(priority: number): boolean {
    return this.#id !== null && setNice(this.#id, priority)
  }
}

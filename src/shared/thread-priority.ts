// Lowers the priority of threads and processes that do heavy work: the main thread goes first, and new work goes before long work. Only Linux has
// priorities of single threads; on other systems nothing is lowered.
import { readlinkSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { platform, setPriority } from 'node:os'

/**
 * The nice values of the threads that help the main thread, of new work, and of long work. The main thread has 0, and 19 is the maximum. The main
 * thread often waits for its helpers, so no other thread may go before them.
 */
const HELPER = 3
const FRESH = 5
const LONG = 15

/** Milliseconds after which work counts as long. */
const LONG_AFTER_MS = 300

/** The system's id of the calling thread; null: its priority cannot be lowered alone. */
function threadId(): number | null {
  if (platform() !== 'linux') return null
  try {
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    return Number.isInteger(id) ? id : null
  } catch {
    return null
  }
}

/** Node's names of the threads that collect garbage and compile, and of the threads that read files and look up names. */
const HELPER_THREAD_NAMES = new Set(['V8Worker', 'libuv-worker'])
const THREADS_FOLDER = '/proc/self/task'

/** Lowers the priority of the threads of this process that help the main thread: they collect garbage, compile, read files and look up names. */
export async function lowerHelperThreads(): Promise<void> {
  if (platform() !== 'linux') return
  // Reading the folder needs a thread for file access, and Node creates all of these threads at the first need.
  const ids = await readdir(THREADS_FOLDER).catch(() => [])
  const names = await Promise.all(ids.map((id) => readFile(`${THREADS_FOLDER}/${id}/comm`, 'utf8').catch(() => '')))
  for (const [at, id] of ids.entries()) if (HELPER_THREAD_NAMES.has(names[at]!.trim())) setNice(Number(id), HELPER)
}

/** Lowers the priority of the calling thread to that of new work. Returns its id; null: single threads have no priority. */
export function lowerCurrentThread(): number | null {
  const id = threadId()
  if (id !== null) setNice(id, FRESH)
  return id
}

/** False: the system does not allow it, or there is no such thread or process. */
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
  /** Whether the priority could not be raised again after long work. Further tasks of such a worker would wait needlessly. */
  isStuckAtLow = false

  /** `id` is the id of a thread or a process; null: unknown. */
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

  /** The task has ended. */
  end(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#lowered) this.isStuckAtLow = !this.#set(FRESH)
    this.#lowered = false
  }

  /** False: the system does not allow it, or the worker has ended. */
  #set(priority: number): boolean {
    return this.#id !== null && setNice(this.#id, priority)
  }
}

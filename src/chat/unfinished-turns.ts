// Turns that an earlier process left unfinished are stored as interrupted, each by itself: neither a full disk nor a damaged thread keeps the server
// from starting, or other threads from being served.
import type { ThreadTable, TurnTable } from '../db/schema.ts'
import type { Store } from '../db/store.ts'
import { threadByKey, turnOf, unfinishedTurns } from '../db/threads.ts'
import { isDamage, ServiceError, toServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { appendLeft } from './appending.ts'
import { messageFrame } from './frames.ts'
import type { Listeners } from './listeners.ts'

export interface UnfinishedTurnsParts {
  readonly store: Store
  readonly platform: Platform
  readonly log: Log
  readonly listeners: Listeners
}

/** Milliseconds until turns that could not be stored are tried again. */
const PAUSE_MS = 1_000

export class UnfinishedTurns {
  readonly #parts: UnfinishedTurnsParts
  /** Those that could not be stored yet. */
  #left: readonly TurnTable[] = []
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(parts: UnfinishedTurnsParts) {
    this.#parts = parts
  }

  /** Stores what there is of them now; what the disk does not take is tried again later. Gives how many were stored. It never throws. */
  async restore(): Promise<number> {
    const { log } = this.#parts
    try {
      this.#left = this.#parts.store.read(unfinishedTurns)
    } catch (err) {
      log.error({ err }, 'the turns that an earlier process left unfinished cannot be read')
    }
    const stored = await this.#storeAll()
    const turns = this.#left.length
    if (turns > 0) log.warn({ turns }, 'turns of an earlier process cannot be stored as interrupted now, but later')
    return stored
  }

  close(): void {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  async #storeAll(): Promise<number> {
    let stored = 0
    for (let at = 0; at < this.#left.length && !this.#closed; at++) {
      const turn = this.#left[at]!
      try {
        if (await this.#store(turn)) stored++
      } catch (error) {
        if (isPassing(error)) {
          // The others would fail for the same reason.
          this.#left = this.#left.slice(at)
          this.#retryLater()
          return stored
        }
        this.#giveUp(turn, error)
      }
    }
    this.#left = []
    return stored
  }

  /** False where the turn is not unfinished any more: a new message of its thread stores it as well. */
  async #store(turn: TurnTable): Promise<boolean> {
    const { store, platform, listeners } = this.#parts
    const about = { id: platform.id('message'), at: platform.timestamp() }
    const found = await store.write((tx) => {
      if (turnOf(tx, turn.thread_key)?.id !== turn.id) return null
      const message = appendLeft(tx, turn, about)
      return { message, thread: threadByKey(tx, turn.thread_key) as ThreadTable }
    })
    if (found) listeners.tell(found.thread.id, messageFrame(found.thread.id, found.message))
    return found !== null
  }

  #giveUp({ thread_key, id }: TurnTable, error: unknown): void {
    const fields = { thread_key, turn_id: id, code: toServiceError(error).code }
    const why = isDamage(error) ? 'its thread is damaged' : 'it cannot be stored'
    this.#parts.log.error(isDamage(error) ? fields : { ...fields, err: error }, `a turn stays unfinished: ${why}`)
  }

  #retryLater(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#storeAll().catch((err) => this.#parts.log.error({ err }, 'unfinished turns could not be stored'))
    }, PAUSE_MS)
    this.#timer.unref()
  }
}

/** Whether it may be stored later, as on a disk that is full now. */
function isPassing(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'SERVICE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

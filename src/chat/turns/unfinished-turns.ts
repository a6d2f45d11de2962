// Turns that an earlier process left unfinished are stored as interrupted, each by itself: neither a full disk nor a damaged thread keeps the server
// from starting, or other threads from being served.
import type { ThreadTable, TurnTable } from '../../db/schema.ts'
import type { Store } from '../../db/store.ts'
import { findThreadByKey, findTurn, listUnfinishedTurns } from '../../db/threads.ts'
import { isDamagedDataError, ServiceError, toServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import { createMessageFrame } from '../frames.ts'
import { appendInterrupted } from '../message-storage.ts'
import type { ThreadListeners } from '../threads/listeners.ts'

export interface UnfinishedTurnsParts {
  readonly store: Store
  readonly platform: Platform
  readonly log: Log
  readonly listeners: ThreadListeners
}

/** Milliseconds until turns that could not be stored are tried again. */
const RETRY_AFTER_MS = 1_000

export class UnfinishedTurns {
  readonly #parts: UnfinishedTurnsParts
  /** Those that could not be stored yet. */
  #remaining: readonly TurnTable[] = []
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(parts: UnfinishedTurnsParts) {
    this.#parts = parts
  }

  /** Stores what there is of them now; what the disk does not take is tried again later. Gives how many were stored. It never throws. */
  async restore(): Promise<number> {
    const { log } = this.#parts
    try {
      this.#remaining = this.#parts.store.read(listUnfinishedTurns)
    } catch (err) {
      log.error({ err }, 'the turns that an earlier process left unfinished cannot be read')
    }
    const stored = await this.#storeAll()
    const turns = this.#remaining.length
    if (turns > 0) log.warn({ turns }, 'turns of an earlier process cannot be stored as interrupted now, but later')
    return stored
  }

  close(): void {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  async #storeAll(): Promise<number> {
    let stored = 0
    for (let at = 0; at < this.#remaining.length && !this.#closed; at++) {
      const turn = this.#remaining[at]!
      try {
        if (await this.#store(turn)) stored++
      } catch (error) {
        if (isTemporary(error)) {
          // The others would fail for the same reason.
          this.#remaining = this.#remaining.slice(at)
          this.#retryLater()
          return stored
        }
        this.#giveUp(turn, error)
      }
    }
    this.#remaining = []
    return stored
  }

  /** False where the turn is not unfinished any more: a new message of its thread stores it as well. */
  async #store(turn: TurnTable): Promise<boolean> {
    const { store, platform, listeners } = this.#parts
    const about = { id: platform.id('message'), at: platform.timestamp() }
    const found = await store.write((tx) => {
      if (findTurn(tx, turn.thread_key)?.id !== turn.id) return null
      const message = appendInterrupted(tx, turn, about)
      return { message, thread: findThreadByKey(tx, turn.thread_key) as ThreadTable }
    })
    if (found) listeners.notify(found.thread.id, createMessageFrame(found.thread.id, found.message))
    return found !== null
  }

  #giveUp({ thread_key, id }: TurnTable, error: unknown): void {
    const fields = { thread_key, turn_id: id, code: toServiceError(error).code }
    const why = isDamagedDataError(error) ? 'its thread is damaged' : 'it cannot be stored'
    this.#parts.log.error(
      isDamagedDataError(error) ? fields : { ...fields, err: error },
      `a turn stays unfinished: ${why}`,
    )
  }

  #retryLater(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#storeAll().catch((err) => this.#parts.log.error({ err }, 'unfinished turns could not be stored'))
    }, RETRY_AFTER_MS)
    this.#timer.unref()
  }
}

/** Whether it may be stored later, as on a disk that is full now. */
function isTemporary(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'SERVICE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

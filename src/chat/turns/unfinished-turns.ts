// Stores turns that an earlier process left unfinished as interrupted, each by itself. A full disk or a damaged thread
// must not stop the server from starting or from serving other threads.
import type { Store } from '../../db/store.ts'
import type { ThreadTable, TurnTable } from '../../db/tables/chat.ts'
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

/** In milliseconds: how long after a failed attempt turns are stored again. */
const RETRY_AFTER_MS = 1_000

export class UnfinishedTurns {
  readonly #parts: UnfinishedTurnsParts
  /** The turns that are not stored yet. */
  #remaining: readonly TurnTable[] = []
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(parts: UnfinishedTurnsParts) {
    this.#parts = parts
  }

  /** Stores the unfinished turns, and retries later if the disk fails. Returns how many it stored. Never throws. */
  async restore(): Promise<number> {
    const { log } = this.#parts
    try {
      this.#remaining = this.#parts.store.read(listUnfinishedTurns)
    } catch (err) {
      log.error({ err }, 'unfinished turns of an earlier process cannot be read')
    }
    const stored = await this.#storeAll()
    const turns = this.#remaining.length
    if (turns > 0) log.warn({ turns }, 'unfinished turns of an earlier process cannot be stored yet; will retry')
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
          // The other turns would fail for the same reason.
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

  /** False if the turn is no longer unfinished: a new message of its thread also stores it. */
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

/** Whether a later attempt may succeed, for instance after a full disk. */
function isTemporary(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'SERVICE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

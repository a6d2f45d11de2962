// Creates, lists, reads, renames, extends and deletes threads. A thread of another owner gives the same NOT_FOUND as a
// thread that does not exist.

import type { CreateMessageRequest, Message, Thread } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { startTimeBudget } from '../../db/row-batches.ts'
import type { Store } from '../../db/store.ts'
import type { ThreadTable } from '../../db/tables/chat.ts'
import * as rows from '../../db/threads.ts'
import { ServiceError } from '../../errors.ts'
import type { Platform } from '../../platform.ts'
import type { KeyedQueue } from '../../shared/keyed-queue.ts'
import {
  decodeNumberCursor,
  decodeTimeCursor,
  encodeNumberCursor,
  encodeTimeCursor,
} from '../../shared/pagination-cursor.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import { validateContent } from '../content-validation.ts'
import { toThreadRecord } from '../contract-records.ts'
import { createDeletedFrame, createMessageFrame } from '../frames.ts'
import type { ChatLimits } from '../limits.ts'
import { appendMessage, createUnsequencedMessage, encodeContent, refuseFullThread } from '../message-storage.ts'
import { type OwnerRedactors, redactForOwner } from '../owner-redaction.ts'
import { readMessagesSteps } from '../reading.ts'
import { THREAD_NOT_FOUND, type TurnService } from '../turns/service.ts'
import { listThreadsSteps } from './list.ts'
import type { ThreadListeners } from './listeners.ts'

export interface ThreadServiceParts {
  readonly store: Store
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'begin'>
  readonly platform: Platform
  readonly limits: ChatLimits
  readonly turns: TurnService
  readonly lanes: KeyedQueue
  readonly listeners: ThreadListeners
  readonly redacting: OwnerRedactors
}

interface ThreadListRequest {
  readonly q?: string | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

interface MessageListRequest {
  readonly after_sequence?: number | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

/** A page, and the cursor of the next page, or null on the last page. */
export interface ChatPage<T> {
  readonly items: T[]
  readonly next: string | null
}

const DEFAULT_THREADS = 50
const DEFAULT_MESSAGES = 100
/** In milliseconds: how long a deletion removes messages at once. The next sweeps remove the rest. */
const REMOVAL_MS = 3
/** In characters. */
const MAX_TITLE_LENGTH = 255

const createNotFoundError = () => new ServiceError('NOT_FOUND', { message: THREAD_NOT_FOUND })

export class ThreadService {
  readonly #parts: ThreadServiceParts

  constructor(parts: ThreadServiceParts) {
    this.#parts = parts
  }

  async list(owner: OwnerScope, { q, limit, cursor }: ThreadListRequest): Promise<ChatPage<Thread>> {
    const wanted = limit ?? DEFAULT_THREADS
    const moment = decodeTimeCursor(cursor)
    const after = moment && { spoken_at: moment.at, id: moment.id }
    const { store, slices } = this.#parts
    const found = await slices.begin(
      userShareKey(owner),
      listThreadsSteps(store, owner, { q, after, limit: wanted + 1 }),
    )
    const page = found.slice(0, wanted)
    return {
      items: page.map((row) => this.#toRecord(row)),
      next: found.length > wanted ? encodeTimeCursor({ at: page.at(-1)!.spoken_at, id: page.at(-1)!.id }) : null,
    }
  }

  /** @throws CONFLICT if the owner has the maximum number of threads */
  async create(owner: OwnerScope, title: string | null): Promise<Thread> {
    const { store, platform, limits } = this.#parts
    const at = platform.timestamp()
    const row = {
      id: platform.id('thread'),
      user_id: owner.user_id,
      workspace_id: owner.workspace_id,
      title: this.#redactTitle(owner, title),
      last_sequence: 0,
      size: 0,
      spoken_at: at,
      created_at: at,
      updated_at: at,
    }
    await store.write((tx) => {
      if (rows.countThreads(tx, owner) >= limits.threads) throw createTooManyThreadsError(limits.threads)
      rows.insertThread(tx, row)
    })
    return this.#toRecord(row)
  }

  /** @throws NOT_FOUND */
  get(owner: OwnerScope, id: string): Thread {
    return this.#toRecord(this.row(owner, id))
  }

  /** @throws NOT_FOUND */
  row(owner: OwnerScope, id: string): ThreadTable {
    const row = this.#parts.store.read((tx) => rows.findOwnedThread(tx, owner, id))
    if (!row) throw createNotFoundError()
    return row
  }

  /** Null keeps the title. @throws NOT_FOUND */
  async rename(owner: OwnerScope, id: string, title: string | null): Promise<Thread> {
    const { store, platform } = this.#parts
    const updated_at = platform.timestamp()
    const shown = this.#redactTitle(owner, title)
    if (shown === null) return this.get(owner, id)
    await store.write((tx) => {
      if (!rows.renameThread(tx, owner, { id, title: shown, updated_at })) throw createNotFoundError()
    })
    return this.get(owner, id)
  }

  /**
   * Deletes the thread with its messages in one transaction, then ends its running turn and tells its followers.
   * @throws NOT_FOUND
   */
  async delete(owner: OwnerScope, id: string): Promise<void> {
    this.row(owner, id)
    const { lanes, turns, store, listeners } = this.#parts
    await lanes.run(id, async () => {
      // The turn is ended after the deletion: if the deletion fails, the turn runs on.
      await store.write((tx) => {
        if (!rows.deleteThread(tx, owner, id, startTimeBudget(REMOVAL_MS))) throw createNotFoundError()
      })
      await turns.interrupt(id)
      listeners.notify(id, createDeletedFrame(id))
    })
  }

  /** The oldest messages first. @throws NOT_FOUND */
  async messages(
    owner: OwnerScope,
    id: string,
    { after_sequence, limit, cursor }: MessageListRequest,
  ): Promise<ChatPage<Message>> {
    const wanted = limit ?? DEFAULT_MESSAGES
    const after = decodeNumberCursor(cursor) ?? after_sequence ?? 0
    const thread = this.row(owner, id)
    const { store, slices } = this.#parts
    const items = await slices.run(userShareKey(owner), readMessagesSteps(store, thread, after, wanted))
    const last = items.at(-1)?.sequence ?? thread.last_sequence
    return { items, next: last < thread.last_sequence ? encodeNumberCursor(last) : null }
  }

  /**
   * Stores a message that no model answers.
   * @throws NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE, CONFLICT if a turn is running or the thread is full
   */
  async add(owner: OwnerScope, id: string, { role, content }: CreateMessageRequest): Promise<Message> {
    const { lanes, turns, store, slices, platform, limits, listeners } = this.#parts
    this.row(owner, id)
    validateContent(content, '/body/content')
    return lanes.run(id, async () => {
      const said = { role: role ?? 'user', content: await redactForOwner(this.#parts, owner, content) } as const
      const text = await encodeContent(slices, owner, said.content)
      if (turns.isRunning(id))
        throw new ServiceError('CONFLICT', {
          message: 'A turn of this thread is running. Wait for its end, or stop it.',
        })
      const message = createUnsequencedMessage(this.row(owner, id).key, said, platform, text)
      const row = await store.write((tx) => {
        refuseFullThread(tx, message, limits)
        return appendMessage(tx, message)
      })
      const frame = createMessageFrame(id, row, said.content)
      listeners.notify(id, frame)
      return frame.message
    })
  }

  /** The redaction mark may be longer than the secret. */
  #redactTitle(owner: OwnerScope, title: string | null): string | null {
    return title && this.#parts.redacting.of(owner).text(title).slice(0, MAX_TITLE_LENGTH).toWellFormed()
  }

  #toRecord(row: Omit<ThreadTable, 'key'>): Thread {
    return toThreadRecord(row, this.#parts.turns.isRunning(row.id))
  }
}

function createTooManyThreadsError(most: number): ServiceError {
  const message = `You have ${most} threads, which is the limit. Delete some of them.`
  return new ServiceError('CONFLICT', { message })
}

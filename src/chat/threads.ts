// Threads and their messages as stored rows: made, listed, read, renamed, added to and deleted. Whatever belongs to another owner is the same
// NOT_FOUND as what does not exist.

import type { CreateMessageRequest, Message, Thread } from '../../generated/types.ts'
import { decodeMoment, decodeNumber, encodeMoment, encodeNumber } from '../cursor.ts'
import { within } from '../db/batches.ts'
import type { ThreadTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store } from '../db/store.ts'
import * as rows from '../db/threads.ts'
import { ServiceError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { Platform } from '../platform.ts'
import type { TimeSlices } from '../time-slices.ts'
import { append, contentText, refuseFull, unplaced } from './appending.ts'
import { refuseParts } from './content.ts'
import { deletedFrame, messageFrame } from './frames.ts'
import type { ChatLimits } from './limits.ts'
import type { Listeners } from './listeners.ts'
import { threadSteps } from './listing.ts'
import { messageSteps } from './reading.ts'
import { threadRecord } from './records.ts'
import { type Redacting, redacted } from './redacting.ts'
import { NO_THREAD, type Turns } from './turns.ts'

export interface ThreadsParts {
  readonly store: Store
  readonly slices: Pick<TimeSlices, 'run' | 'begin'>
  readonly platform: Platform
  readonly limits: ChatLimits
  readonly turns: Turns
  readonly lanes: KeyedQueue
  readonly listeners: Listeners
  readonly redacting: Redacting
}

interface ListRequest {
  readonly q?: string | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

interface MessagesRequest {
  readonly after_sequence?: number | null | undefined
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

/** A page, and the cursor of the next one, or null on the last. */
export interface Page<T> {
  readonly items: T[]
  readonly next: string | null
}

const THREADS = 50
const MESSAGES = 100
/** How long the messages of a deleted thread are removed at once, in milliseconds; what is left goes with the next sweeps. */
const REMOVAL_MS = 3
/** In characters. */
const LONGEST_TITLE = 255

const notFound = () => new ServiceError('NOT_FOUND', { message: NO_THREAD })

export class Threads {
  readonly #parts: ThreadsParts

  constructor(parts: ThreadsParts) {
    this.#parts = parts
  }

  async list(owner: Scope, { q, limit, cursor }: ListRequest): Promise<Page<Thread>> {
    const wanted = limit ?? THREADS
    const moment = decodeMoment(cursor)
    const after = moment && { spoken_at: moment.at, id: moment.id }
    const { store, slices } = this.#parts
    const found = await slices.begin(userKey(owner), threadSteps(store, owner, { q, after, limit: wanted + 1 }))
    const page = found.slice(0, wanted)
    return {
      items: page.map((row) => this.#record(row)),
      next: found.length > wanted ? encodeMoment({ at: page.at(-1)!.spoken_at, id: page.at(-1)!.id }) : null,
    }
  }

  /** @throws CONFLICT where the owner has as many as there may be */
  async create(owner: Scope, title: string | null): Promise<Thread> {
    const { store, platform, limits } = this.#parts
    const at = platform.timestamp()
    const row = {
      id: platform.id('thread'),
      user_id: owner.user_id,
      workspace_id: owner.workspace_id,
      title: this.#shown(owner, title),
      last_sequence: 0,
      size: 0,
      spoken_at: at,
      created_at: at,
      updated_at: at,
    }
    await store.write((tx) => {
      if (rows.countThreads(tx, owner) >= limits.threads) throw tooMany(limits.threads)
      rows.insertThread(tx, row)
    })
    return this.#record(row)
  }

  /** @throws NOT_FOUND */
  get(owner: Scope, id: string): Thread {
    return this.#record(this.row(owner, id))
  }

  /** @throws NOT_FOUND */
  row(owner: Scope, id: string): ThreadTable {
    const row = this.#parts.store.read((tx) => rows.ownedThread(tx, owner, id))
    if (!row) throw notFound()
    return row
  }

  /** Null leaves the title as it is. @throws NOT_FOUND */
  async rename(owner: Scope, id: string, title: string | null): Promise<Thread> {
    const { store, platform } = this.#parts
    const updated_at = platform.timestamp()
    const shown = this.#shown(owner, title)
    if (shown === null) return this.get(owner, id)
    await store.write((tx) => {
      if (!rows.renameThread(tx, owner, { id, title: shown, updated_at })) throw notFound()
    })
    return this.get(owner, id)
  }

  /** With its messages, in one step. Then a turn that runs is ended, and whoever follows it is told. @throws NOT_FOUND */
  async delete(owner: Scope, id: string): Promise<void> {
    this.row(owner, id)
    const { lanes, turns, store, listeners } = this.#parts
    await lanes.run(id, async () => {
      // A thread that cannot be deleted keeps its turn.
      await store.write((tx) => {
        if (!rows.deleteThread(tx, owner, id, within(REMOVAL_MS))) throw notFound()
      })
      await turns.interrupt(id)
      listeners.tell(id, deletedFrame(id))
    })
  }

  /** Messages from the oldest on. @throws NOT_FOUND */
  async messages(owner: Scope, id: string, { after_sequence, limit, cursor }: MessagesRequest): Promise<Page<Message>> {
    const wanted = limit ?? MESSAGES
    const after = decodeNumber(cursor) ?? after_sequence ?? 0
    const thread = this.row(owner, id)
    const { store, slices } = this.#parts
    const items = await slices.run(userKey(owner), messageSteps(store, thread, after, wanted))
    const last = items.at(-1)?.sequence ?? thread.last_sequence
    return { items, next: last < thread.last_sequence ? encodeNumber(last) : null }
  }

  /** Stores a message that nobody answers. @throws NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE, CONFLICT where a turn is under way, or the thread is full */
  async add(owner: Scope, id: string, { role, content }: CreateMessageRequest): Promise<Message> {
    const { lanes, turns, store, slices, platform, limits, listeners } = this.#parts
    this.row(owner, id)
    refuseParts(content, '/body/content')
    return lanes.run(id, async () => {
      const said = { role: role ?? 'user', content: await redacted(this.#parts, owner, content) } as const
      const text = await contentText(slices, owner, said.content)
      if (turns.isRunning(id)) throw new ServiceError('CONFLICT', { message: 'A turn of this thread is under way.' })
      const message = unplaced(this.row(owner, id).key, said, platform, text)
      const row = await store.write((tx) => {
        refuseFull(tx, message, limits)
        return append(tx, message)
      })
      const frame = messageFrame(id, row, said.content)
      listeners.tell(id, frame)
      return frame.message
    })
  }

  /** A mark may be longer than what it stands for. */
  #shown(owner: Scope, title: string | null): string | null {
    return title && this.#parts.redacting.of(owner).text(title).slice(0, LONGEST_TITLE).toWellFormed()
  }

  #record(row: Omit<ThreadTable, 'key'>): Thread {
    return threadRecord(row, this.#parts.turns.isRunning(row.id))
  }
}

function tooMany(most: number): ServiceError {
  const message = `You have ${most} threads, as many as there may be: delete some.`
  return new ServiceError('CONFLICT', { message })
}

// Following a job: every follower sees each event once, in order and without gaps, wherever it begins and however slow it is. That holds for events in
// memory and for events in the database.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { insertJobEvent, listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { updateJob } from '../../src/db/jobs/rows.ts'
import type { Store, Tx } from '../../src/db/store.ts'
import { ServiceError } from '../../src/errors.ts'
import { type FeedItem, type JobFeed, TAIL_ITEMS } from '../../src/events/job-feed.ts'
import { EventLog } from '../../src/events/log.ts'
import type { EventBody, JobFrame } from '../../src/events/types.ts'
import { countListeners } from '../helpers/listeners.ts'
import { collect } from '../helpers/loop.ts'
import { scaled } from '../helpers/scale.ts'
import { until } from '../helpers/server.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'

const AT = '2026-01-01T00:00:00.000Z'
const fact = (n: number): EventBody => ({ type: 'output_update', output_name: 'n', value: n })
const TERMINAL = { type: 'job_terminal', status: 'completed', snapshot: {} } as unknown as EventBody
/** The terminal events of these tests have no snapshot. */
const noSnapshots = () => ({}) as never
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A provisional frame that names the event before it. */
function progressAfter(sequence: number): JobFrame {
  return { type: 'node_progress', job_id: 'j', workflow_id: 'w', node_id: 'n', progress: sequence, total: 0 }
}

/** A job whose history is written by the test. */
class Writer {
  readonly feed: JobFeed
  readonly log: EventLog
  readonly key: number
  readonly errors: unknown[] = []
  #committing = false
  #ended = false

  constructor(log: EventLog, key: number, last_sequence: number, expected = false) {
    this.log = log
    this.key = key
    this.feed = log.open(key, last_sequence, expected)
  }

  events(count: number): void {
    for (let i = 0; i < count; i++) this.feed.append(fact(this.feed.sequence + 1), null, AT)
  }

  provisional(count: number): void {
    for (let i = 0; i < count; i++) this.feed.provisional(progressAfter(this.feed.sequence), AT)
  }

  end(): void {
    this.#ended = true
    this.feed.append(TERMINAL, null, AT)
  }

  commit(): void {
    if (this.#committing) return
    this.#committing = true
    this.log.commit(
      this.feed,
      (tx) => {
        this.#committing = false
        const { mark } = this.feed
        const status = this.#ended ? 'completed' : 'running'
        updateJob(tx, jobRow(this.key, { status, last_sequence: mark.sequence }))
        return mark
      },
      (error) => {
        if (error !== null) this.errors.push(error)
      },
    )
  }
}

let lastKey = 0

async function newJob(store: Store, older = 0): Promise<number> {
  const key = ++lastKey
  await store.write((tx) => {
    putJob(tx, jobRow(key))
    for (let sequence = 1; sequence <= older; sequence++) {
      const { type, ...payload } = fact(sequence)
      insertJobEvent(tx, { job_key: key, sequence, type, payload: JSON.stringify(payload), created_at: AT })
    }
  })
  return key
}

/** A job that has ended, with three events. */
function putEnded(tx: Tx, job_key: number): void {
  putJob(tx, jobRow(job_key, { status: 'cancelled', last_sequence: 3 }))
  for (const [sequence, { type, ...payload }] of [fact(1), fact(2), TERMINAL].entries()) {
    insertJobEvent(tx, { job_key, sequence: sequence + 1, type, payload: JSON.stringify(payload), created_at: AT })
  }
}

interface Seen {
  sequences: number[]
  provisional: number
}

/** Reads a history to its end. It waits for a turn of the event loop after every `pace` items; 0: it never waits. */
async function read(items: AsyncIterable<FeedItem>, after: number, pace: number): Promise<Seen> {
  const seen: Seen = { sequences: [], provisional: 0 }
  let last = after
  let count = 0
  for await (const { sequence, event, frame } of items) {
    if (sequence === null) {
      assert.equal(event, null)
      assert.equal(frame?.type === 'node_progress' && frame.progress, last, 'a frame stands where it was made')
      seen.provisional++
    } else {
      if (event?.type === 'output_update') assert.equal('value' in event && event.value, sequence)
      seen.sequences.push(sequence)
      last = sequence
    }
    if (pace > 0 && ++count % pace === 0) await turn()
  }
  return seen
}

type Step =
  | { do: 'events' | 'provisional'; count: number }
  | { do: 'commit' }
  | { do: 'turn' }
  | { do: 'follow'; where: number; pace: number }

const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: TAIL_ITEMS - 2, max: TAIL_ITEMS * 2 }) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('events' as const), count }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('provisional' as const), count }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'commit' }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'turn' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('follow' as const),
      where: fc.double({ min: 0, max: 1, noNaN: true }),
      pace: fc.constantFrom(0, 1, 7, 300),
    }),
  },
)

describe('follow', () => {
  test('every follower sees each event once, in order, without gaps, up to the end', async () => {
    await using opened = await openStore()
    const { store } = opened
    const log = new EventLog(store, noSnapshots)
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.constantFrom(0, 0, 3, 300, 2500),
      fc.boolean(),
      async (steps, older, expected) => {
        const key = await newJob(store, older)
        const writer = new Writer(log, key, older, expected)
        const { signal } = new AbortController()
        const followers: { after: number; seen: Promise<Seen> }[] = []
        const follow = (where: number, pace: number) => {
          const after = Math.round(where * writer.feed.committed)
          followers.push({ after, seen: read(log.follow(key, after, signal), after, pace) })
        }
        for (const one of steps) {
          if (one.do === 'follow') follow(one.where, one.pace)
          else if (one.do === 'turn') await turn()
          else if (one.do === 'commit') writer.commit()
          else writer[one.do](one.count)
        }
        follow(1, 0)
        writer.end()
        writer.commit()
        const last = writer.feed.sequence
        await until('the end to be committed', () => writer.feed.hasEnded)
        follow(0, 0)
        follow(1, 0)
        for (const { after, seen } of followers) {
          const { sequences } = await seen
          assert.deepEqual(
            sequences,
            Array.from({ length: last - after }, (_, at) => after + 1 + at),
          )
        }
        assert.deepEqual(writer.errors, [])
        assert.equal(log.feed(key), undefined)
      },
    )
    await fc.assert(property, { numRuns: scaled(40), interruptAfterTimeLimit: 60_000 })
  })

  test('followers see no event before its commit, and provisional frames in their places', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    const stop = new AbortController()
    const seen: string[] = []
    const reading = (async () => {
      for await (const { sequence, frame } of log.follow(writer.key, 0, stop.signal)) {
        seen.push(sequence === null ? `after ${frame?.type === 'node_progress' ? frame.progress : '?'}` : `${sequence}`)
      }
    })()
    writer.provisional(1)
    await turn()
    assert.deepEqual(seen, ['after 0'], 'with nothing staged before it, a frame is seen at once')
    writer.events(1)
    writer.provisional(1)
    writer.events(1)
    writer.provisional(2)
    await turn()
    assert.deepEqual(seen, ['after 0'], 'frames behind an event that is not committed wait with it')
    writer.commit()
    await until('the commit', () => seen.length === 6)
    assert.deepEqual(seen, ['after 0', '1', 'after 1', '2', 'after 2', 'after 2'])
    writer.end()
    writer.commit()
    await reading
    assert.equal(seen.at(-1), '3')
  })

  test('an expected follower gets the provisional frames from before it came', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0, true)
    writer.events(1)
    writer.provisional(3)
    writer.end()
    writer.commit()
    await until('the end', () => writer.feed.hasEnded)
    const { signal } = new AbortController()
    const seen = await read(log.follow(writer.key, 0, signal, writer.feed), 0, 0)
    assert.deepEqual(seen, { sequences: [1, 2], provisional: 3 })
    const later = await read(log.follow(writer.key, 0, signal), 0, 0)
    assert.deepEqual(later, { sequences: [1, 2], provisional: 0 }, 'without the feed there is only the database')
  })

  test('one read of stored events is bounded by its size, but returns at least one event', async () => {
    await using opened = await openStore()
    const sizes = [300_000, 300_000, 300_000, 300_000, 300_000, 10, 2_000_000, 10]
    const key = await newJob(opened.store)
    await opened.store.write((tx) => {
      for (const [at, size] of sizes.entries()) {
        const payload = JSON.stringify({ output_name: 'n', value: 'x'.repeat(size) })
        insertJobEvent(tx, { job_key: key, sequence: at + 1, type: 'output_update', payload, created_at: AT })
      }
      const row = jobRow(key, { last_sequence: sizes.length + 1, status: 'completed' })
      insertJobEvent(tx, {
        job_key: key,
        sequence: row.last_sequence,
        type: 'job_terminal',
        payload: '{}',
        created_at: AT,
      })
      updateJob(tx, row)
    })
    const readAfter = (after: number) =>
      opened.store.read((tx) => listJobEventsAfter(tx, key, after, 256)).map(({ sequence }) => sequence)
    assert.deepEqual([0, 4, 6, 7].map(readAfter), [[1, 2, 3, 4], [5, 6, 7], [7], [8, 9]])
    const log = new EventLog(opened.store, noSnapshots)
    const seen = await collect(log.follow(key, 0, new AbortController().signal))
    assert.deepEqual(
      seen.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    )
  })

  test('provisional frames are not kept while a job has no followers', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.provisional(10)
    writer.end()
    writer.commit()
    const seen = await read(log.follow(writer.key, 0, new AbortController().signal), 0, 0)
    assert.deepEqual(seen, { sequences: [1], provisional: 0 })
  })

  test('a follower that falls behind the items in memory gets the rest from the database', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    const items = log.follow(writer.key, 0, new AbortController().signal)
    writer.events(1)
    writer.commit()
    assert.equal((await items.next()).value?.sequence, 1)
    for (let batch = 0; batch < 5; batch++) {
      writer.events(TAIL_ITEMS)
      writer.commit()
      await until('the commit', () => writer.feed.committed === writer.feed.sequence)
    }
    assert.equal(writer.feed.positionAfter(1), null, 'the beginning has left the memory')
    writer.end()
    writer.commit()
    const seen = await read(items, 1, 0)
    assert.equal(seen.sequences.length, 5 * TAIL_ITEMS + 1)
    assert.equal(seen.sequences[0], 2)
  })

  test('of a job that continues in a new process, older events come from the database and the rest live', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const key = await newJob(opened.store, 10)
    const writer = new Writer(log, key, 10)
    const followers = [0, 3, 9, 10].map((after) => ({
      after,
      seen: read(log.follow(key, after, new AbortController().signal), after, 0),
    }))
    await turn()
    writer.events(1)
    writer.end()
    writer.commit()
    for (const { after, seen } of followers) {
      const expected = Array.from({ length: 12 - after }, (_, at) => after + 1 + at)
      assert.deepEqual((await seen).sequences, expected)
    }
  })

  test('events up to the given sequence are skipped, future ones included', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    const seen = read(log.follow(writer.key, 3, new AbortController().signal), 3, 0)
    for (let i = 0; i < 4; i++) {
      writer.events(1)
      writer.commit()
      await turn()
    }
    writer.end()
    writer.commit()
    assert.deepEqual((await seen).sequences, [4, 5])
  })

  test('the history of an unknown job is empty', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const seen = await read(log.follow(999_999, 0, new AbortController().signal), 0, 0)
    assert.deepEqual(seen, { sequences: [], provisional: 0 })
  })
})

describe('the end of following', () => {
  test('an abort ends a waiting follower, and leaves no listener on the feed or the signal', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    const stop = new AbortController()
    const { signal } = stop
    const listeners = countListeners(signal)
    const followers = Array.from({ length: 20 }, () => read(log.follow(writer.key, 0, signal), 0, 0))
    await turn()
    assert.equal(writer.feed.hasFollowers, true)
    assert.equal(listeners(), 20)
    stop.abort()
    await Promise.all(followers)
    assert.equal(writer.feed.hasFollowers, false)
    assert.equal(listeners(), 0)
  })

  test('an abort between two items ends a follower before the next item', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.events(10)
    writer.commit()
    const stop = new AbortController()
    const seen: (number | null)[] = []
    for await (const { sequence } of log.follow(writer.key, 0, stop.signal)) {
      seen.push(sequence)
      if (sequence === 4) stop.abort()
    }
    assert.deepEqual(seen, [1, 2, 3, 4])
    assert.equal(writer.feed.hasFollowers, false)
  })

  test('a follower that stops reading leaves nothing behind', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.events(2)
    writer.commit()
    for await (const { sequence } of log.follow(writer.key, 0, new AbortController().signal)) {
      if (sequence === 1) break
    }
    assert.equal(writer.feed.hasFollowers, false)
  })

  test('concurrent readers of a terminal event share it, and it is built when the first reader reaches it', async () => {
    await using opened = await openStore()
    let made = 0
    const log = new EventLog(opened.store, () => {
      made++
      return Promise.resolve({} as never)
    })
    await opened.store.write((tx) => putEnded(tx, 1))
    const readers = [1, 2].map(() => log.follow(1, 0, new AbortController().signal))
    for (const reader of readers) assert.equal((await reader.next()).value?.sequence, 1)
    assert.equal(made, 0)
    const ends = await Promise.all(readers.map(async (reader) => [await reader.next(), await reader.next()].at(-1)!))
    assert.equal(ends[0]!.value?.event?.type, 'job_terminal')
    assert.equal(ends[0]!.value, ends[1]!.value)
    assert.equal(made, 1)
  })

  test('the history of a job that is removed meanwhile stops before the terminal event', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, async () => null)
    await opened.store.write((tx) => putEnded(tx, 1))
    const items = await collect(log.follow(1, 0, new AbortController().signal))
    assert.deepEqual(
      items.map(({ sequence }) => sequence),
      [1, 2],
    )
  })

  test('a follower that is aborted before it begins sees no events', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.events(2)
    writer.commit()
    const seen = await read(log.follow(writer.key, 0, AbortSignal.abort()), 0, 0)
    assert.deepEqual(seen.sequences, [])
    assert.equal(writer.feed.hasFollowers, false)
  })

  test('where a history cannot be written any further, followers get the committed events and then SERVICE_UNAVAILABLE', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.events(2)
    writer.commit()
    await until('the commit', () => writer.feed.committed === 2)
    const items = log.follow(writer.key, 0, new AbortController().signal)
    const sequences = [(await items.next()).value?.sequence, (await items.next()).value?.sequence]
    const waiting = items.next()
    writer.events(1)
    log.abandon(writer.feed)
    await assert.rejects(waiting, (error) => error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE')
    assert.deepEqual(sequences, [1, 2])
    assert.equal(writer.feed.hasFollowers, false)
    assert.equal(log.feed(writer.key), undefined)
  })

  test('events that could not be written are not seen', async () => {
    await using opened = await openStore()
    const log = new EventLog(opened.store, noSnapshots)
    const writer = new Writer(log, await newJob(opened.store), 0)
    writer.events(1)
    const fault = new Error('the row is somebody else’s')
    const failed = new Promise((resolve) => {
      log.commit(
        writer.feed,
        () => {
          throw fault
        },
        resolve,
      )
    })
    assert.equal(await failed, fault)
    assert.equal(writer.feed.committed, 0)
    const seen = await read(log.follow(writer.key, 0, AbortSignal.timeout(20)), 0, 0)
    assert.deepEqual(seen.sequences, [])
  })
})

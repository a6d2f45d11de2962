// The charges for a passthrough answer, however it ends: after its head it is paid for.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  StreamedCompletion,
  type StreamedCompletionParts,
} from '../../../src/completions/upstream/streamed-completion.ts'
import type { PassthroughResponse, Provider } from '../../../src/models/provider.ts'
import { ProviderError } from '../../../src/models/provider-error.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'

type Counted = Parameters<StreamedCompletionParts['used']>[0]
type Brings = readonly (string | Error)[]

interface StreamOptions {
  readonly include_usage: boolean
}

interface Watched {
  readonly passing: StreamedCompletion
  readonly used: Counted[]
  /** The time in milliseconds. */
  now: number
}

const chunk = (content: string, completion_tokens: number) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }], usage: { prompt_tokens: 7, completion_tokens } })}\n\n`

/** A stream with these pieces, each with an optional delay, that then hangs. */
async function watched(pieces: Brings, ms = 0, more: Partial<Provider & StreamOptions> = {}): Promise<Watched> {
  const { include_usage = false, ...known } = more
  const provider = { ...pricedProvider(), ...known }
  const [model] = await provider.models({ credential: null, signal: new AbortController().signal })
  const left = [...pieces]
  const used: Counted[] = []
  const next = async () => {
    const value = left.shift()
    if (value === undefined) return await new Promise<never>(() => {})
    made.now += ms
    if (value instanceof Error) throw value
    return { done: false as const, value: Buffer.from(value) }
  }
  const body = { destroy() {}, release() {}, [Symbol.asyncIterator]: () => ({ next }) }
  const answer: PassthroughResponse = { status: 200, content_type: 'text/event-stream', body }
  const parts: StreamedCompletionParts = {
    found: { provider, model: model!, credential: null },
    body: {
      model: 'priced/small',
      messages: [{ role: 'user', content: 'hello out there' }],
      stream_options: { include_usage },
    },
    answer,
    owner: 'a',
    slices: new TimeSliceScheduler(),
    failed: () => 'data: {"error":{}}\n\n',
    used: (counted) => void used.push(counted),
  }
  const made: Watched = { used, now: 1_000, passing: new StreamedCompletion(parts, () => made.now) }
  return made
}

/** Reads pieces of a stream that hangs, and closes it. */
async function left(...pieces: readonly string[]): Promise<Counted[]> {
  const { passing, used } = await watched(pieces)
  for (const _ of pieces) await passing.next()
  void passing.next()
  passing.close()
  passing.close()
  return used
}

const COMMENT = ': PROCESSING\n\n'
const PING = 'event: ping\ndata: null\n\n'
const FILTERS = `data: ${JSON.stringify({ choices: [], id: '', model: '', created: 0, prompt_filter_results: [] })}\n\n`
const FAILED = 'data: {"error":{"message":"overloaded"}}\n\n'
const CUT = new ProviderError('failed', 'cut')

describe('the events before an answer', () => {
  for (const [what, before] of Object.entries({ 'a comment': COMMENT, 'a ping': PING, 'what filters say': FILTERS })) {
    test(`wait for the first piece before the response starts: ${what}`, async () => {
      const { passing } = await watched([before, before, chunk('one', 1), chunk('two', 2)])
      const seen = before === PING ? ':\n\n' : before
      assert.equal(String(await passing.next()), seen + seen + chunk('one', 1))
      assert.equal(String(await passing.next()), chunk('two', 2))
      passing.close()
    })

    test(`are not passed on if the answer fails: ${what}`, async () => {
      for (const failure of [FAILED, CUT, 'data: garbage\n\n']) {
        const { passing } = await watched([before, failure])
        await assert.rejects(passing.next(), { name: 'ProviderError', fault: 'failed' })
      }
      const { passing } = await watched([before + FAILED])
      await assert.rejects(passing.next(), { name: 'ProviderError' }, 'in one piece')
    })

    test(`are passed on after a long time: ${what}`, async () => {
      const { passing } = await watched([...Array(4).fill(before), FAILED], 4_000)
      const seen = before === PING ? ':\n\n' : before
      assert.equal(String(await passing.next()), seen.repeat(4))
      assert.match(String(await passing.next()), /^data: \{"error":\{\}\}\n\ndata: \[DONE\]\n\n$/)
    })
  }

  test('are passed on if there are many', async () => {
    const { passing } = await watched([...Array(1_000).fill(COMMENT)])
    assert.equal(String(await passing.next()), COMMENT.repeat(1_000))
    passing.close()
  })

  test('are passed on if they have many bytes', async () => {
    const long = `: ${'x'.repeat(32_764)}\n\n`
    const { passing } = await watched([long, long, FAILED])
    assert.equal(String(await passing.next()), long.repeat(2))
    assert.match(String(await passing.next()), /^data: \{"error":/)
  })

  test('are not an answer alone', async () => {
    const { passing } = await watched([FILTERS, 'data: [DONE]\n\n'])
    await assert.rejects(passing.next(), { name: 'ProviderError', fault: 'failed' })
  })

  test('are followed by the answer and its end', async () => {
    const first =
      'data: {"id":"a","model":"b","created":3,"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    const { passing } = await watched([FILTERS, first, 'data: [DONE]\n\n'])
    assert.equal(String(await passing.next()), FILTERS + first)
    assert.equal(String(await passing.next()), 'data: [DONE]\n\n')
    assert.equal(await passing.next(), null)
  })
})

describe('a passthrough answer whose client disconnects', () => {
  test('costs its input if it has no text yet', async () => {
    assert.deepEqual(await left(), [{ input_tokens: 3, output_tokens: 0 }])
  })

  test('costs what its server counted, or the text since then', async () => {
    assert.deepEqual(await left(chunk('one', 40)), [{ input_tokens: 7, output_tokens: 40 }])
    assert.deepEqual(await left(chunk('one', 1), chunk('x'.repeat(400), 1)), [{ input_tokens: 7, output_tokens: 101 }])
  })
})

test('input tokens are counted once, even if many usage chunks lack them', async () => {
  let looks = 0
  const countTokens = (text: string) => {
    looks++
    return text.length
  }
  const first = 'data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
  const counts = 'data: {"choices":[],"usage":{"completion_tokens":1}}\n\n'.repeat(100)
  const { passing, used } = await watched([first, counts, 'data: [DONE]\n\n'], 0, { countTokens, include_usage: true })
  for (let piece = await passing.next(); piece !== null; ) piece = await passing.next()
  assert.deepEqual([looks, used], [1, [{ input_tokens: 15, output_tokens: 1 }]])
})

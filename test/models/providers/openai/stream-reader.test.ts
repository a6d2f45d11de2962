// The parts of a stream are the same wherever its bytes are split: in the middle of a line end, a name, a character.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ProviderError } from '../../../../src/models/provider-error.ts'
import { readStreamParts } from '../../../../src/models/providers/openai/stream-reader.ts'
import type { UpstreamResponseBody } from '../../../../src/net/upstream/response-body.ts'
import { collect } from '../../../helpers/loop.ts'
import { events } from '../../../helpers/upstream-answers.ts'
import { textOf } from '../../openai-kit.ts'

const ASKED = { provider: 'acme', secret: null, credential: null }
const TEXT = ['ü😀', '\u2028한', '"\\n']
const SAID = {
  text: TEXT,
  thinking: ['Hm'],
  tool_calls: [
    { id: 'a', name: 'x', arguments: ['{"é"', ':1}'] },
    { id: 'b', name: 'y', arguments: ['{}'] },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4 },
}
const LINE_ENDS = ['\n', '\r\n', '\r'] as const

/** A body with exactly these pieces. */
function bodyOf(pieces: readonly Uint8Array[]): UpstreamResponseBody & { ended: string | null } {
  const left = [...pieces]
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const value = left.shift()
    return value === undefined ? { done: true, value } : { done: false, value }
  }
  const body = {
    next,
    ended: null as string | null,
    destroy: () => {
      body.ended = 'destroyed'
    },
    release: () => {
      body.ended = 'released'
    },
    [Symbol.asyncIterator]: () => ({ next }),
  }
  return body
}

/** Without bytes that give no part, so that there are fewer positions to split at. */
function bare(text: string): string {
  if (text === '[DONE]') return text
  const { choices, usage } = JSON.parse(text)
  return JSON.stringify({ choices: choices.map(({ logprobs: _, ...choice }: { logprobs: unknown }) => choice), usage })
}

function bytesOf(line_end: string, comments = false): Buffer {
  const data = events(SAID, { stream_options: { include_usage: true } }).map(bare)
  const comment = comments ? `:${line_end}` : ''
  return Buffer.from(data.map((text) => `${comment}data: ${text}${line_end}${line_end}`).join(''))
}

async function parts(pieces: readonly Uint8Array[]) {
  const body = bodyOf(pieces)
  const found = await collect(readStreamParts(body, ASKED))
  assert.equal(body.ended, 'released')
  return found
}

function splitAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const places = [0, ...offsets, bytes.length]
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end))
}

describe('a stream', () => {
  for (const line_end of LINE_ENDS) {
    const bytes = bytesOf(line_end)

    test(`with ${JSON.stringify(line_end)} has the same parts split at every offset`, async () => {
      const whole = await parts([bytes])
      assert.equal(textOf(whole), TEXT.join(''))
      assert.deepEqual(whole.at(-1), {
        type: 'end',
        usage: { input_tokens: 3, output_tokens: 4, cost: null },
        finish_reason: 'tool_calls',
      })
      for (let offset = 1; offset < bytes.length; offset++)
        assert.equal(JSON.stringify(await parts(splitAt(bytes, [offset]))), JSON.stringify(whole), `split at ${offset}`)
    })

    test(`with ${JSON.stringify(line_end)} has the same parts byte by byte, and after a byte order mark`, async () => {
      const whole = await parts([bytes])
      assert.deepEqual(await parts(Array.from(bytes, (byte) => Buffer.of(byte))), whole)
      const marked = Buffer.concat([Buffer.from('\ufeff'), bytes])
      assert.deepEqual(await parts(Array.from(marked, (byte) => Buffer.of(byte))), whole)
    })
  }

  test('has the same parts in any pieces', async () => {
    const pieced = fc.tuple(
      fc.constantFrom(...LINE_ENDS),
      fc.boolean(),
      fc.uniqueArray(fc.nat({ max: 1_000_000 }), { maxLength: 12 }),
    )
    const whole = await parts([bytesOf('\n')])
    await fc.assert(
      fc.asyncProperty(pieced, async ([line_end, comments, places]) => {
        const bytes = bytesOf(line_end, comments)
        const offsets = places.map((place) => place % bytes.length).sort((a, b) => a - b)
        assert.deepEqual(await parts(splitAt(bytes, offsets)), whole)
      }),
      { numRuns: 200 },
    )
  })

  test('whose reader stops in the middle closes its connection', async () => {
    const body = bodyOf([bytesOf('\n')])
    for await (const _ of readStreamParts(body, ASKED)) break
    assert.equal(body.ended, 'destroyed')
  })

  const said = (event: object | string) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
  const word = { choices: [{ index: 0, delta: { content: 'é😀' }, finish_reason: 'stop' }] }
  const PING = 'event: ping\ndata: null\n\n'
  const FILTERS = {
    choices: [],
    created: 0,
    id: '',
    model: '',
    object: '',
    prompt_filter_results: [{ prompt_index: 0 }],
  }

  /** The parts of a stream that is split in two at an offset, or its error. */
  async function outcome(bytes: Buffer, offset: number) {
    const left = bodyOf(splitAt(bytes, [offset]))
    return await collect(readStreamParts(left, ASKED)).catch((error: unknown) => error)
  }

  for (const [what, given] of Object.entries({
    'signs of life': `${PING}: still here\n\n${said(word)}event: heartbeat\ndata: x\n\n${PING}${said('[DONE]')}`,
    'what filters say of the prompt': said(FILTERS) + said(word) + said('[DONE]'),
    'an empty error in each chunk': said({ ...word, error: {} }) + said({ choices: [], error: null }) + said('[DONE]'),
    'names of its events': `event: chunk\nid: 7\n${said(word)}event: done\n${said('[DONE]')}`,
  })) {
    test(`with ${what} has its text, split at every offset`, async () => {
      const bytes = Buffer.from(given)
      const end = { type: 'end', usage: { input_tokens: 0, output_tokens: 0, cost: null }, finish_reason: 'stop' }
      for (let offset = 1; offset < bytes.length; offset++)
        assert.deepEqual(await outcome(bytes, offset), [{ type: 'text', text: 'é😀' }, end], `split at ${offset}`)
    })
  }

  for (const [what, given, fault] of [
    ['an error without a word', said(FILTERS) + said({ error: {} }), 'failed'],
    ['an error by its name', `${PING}event: error\n${said({ message: 'slow down', code: 429 })}`, 'rate_limited'],
    ['an error by its name, in mere words', 'event: error\ndata: out of memory\n\n', 'failed'],
    ['an error of another form', said({ object: 'error', message: 'no', type: 'rate_limited' }), 'rate_limited'],
    ['null', said('null'), 'failed'],
  ] as const) {
    test(`with ${what} fails, split at every offset`, async () => {
      const bytes = Buffer.from(given)
      for (let offset = 1; offset < bytes.length; offset++) {
        const error = await outcome(bytes, offset)
        assert.ok(error instanceof ProviderError, `split at ${offset}`)
        assert.equal(error.fault, fault, `split at ${offset}`)
      }
    })
  }
})

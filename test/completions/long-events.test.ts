// Long events of a stream are read in steps, with the same result as short events.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeRedactedSteps } from '../../src/completions/redaction/completion-json.ts'
import { RedactedEvents } from '../../src/completions/redaction/redacted-events.ts'
import { EventStreamReader } from '../../src/completions/upstream/event-stream-reader.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { runToCompletion as atOnce, TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { chunksIn } from './kit.ts'

const KEY = 'sk-Planted/key+4711-9f8e7d6c5b4a/3210zyxw'
const HEAD = { id: 'x', object: 'chat.completion.chunk', created: 17, model: 'm' }
const BEGIN = { ...HEAD, choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }
const END = { ...HEAD, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
const LONG = 'é'.repeat(300_000)
const events = (chunks: readonly object[]) => chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
const called = (more: object) => ({ tool_calls: [{ index: 0, ...more }] })
const redactor = new Redactor([KEY])

interface Passed {
  readonly chunks: ReturnType<typeof chunksIn>
  readonly fault: string | null
}

/** The output for a chunk, and the state after it. `more` makes the chunk long. */
function passed(chunk: object, more: object): Passed {
  const reader = new EventStreamReader({ include_usage: true, complete: () => ({ input_tokens: 1, output_tokens: 1 }) })
  const given = Buffer.from(`${events([BEGIN, { ...chunk, ...more }, END])}data: [DONE]\n\n`)
  const out: Uint8Array[] = []
  for (let at = 0; at < given.length; at += 65_536) out.push(...atOnce(reader.take(given.subarray(at, at + 65_536))))
  const told = Buffer.concat(out)
    .toString()
    .replaceAll(/call_[0-9a-f]{32}/g, 'made')
  return { chunks: chunksIn(told), fault: reader.fault?.message ?? null }
}

const delta = (given: object, index: number | null = 0) => ({ ...HEAD, choices: [{ index, delta: given }] })

const CHUNKS: Readonly<Record<string, object>> = {
  'a word': delta({ content: 'word' }),
  'parts with thoughts': delta({
    content: [
      { type: 'text', text: 'a' },
      { type: 'thinking', thinking: [{ text: 'b' }, { text: 'c' }] },
      { text: 'd' },
      null,
    ],
  }),
  'no number': delta({ content: 'word' }, null),
  'a call that lacks its id': delta(called({ function: { name: 'f', arguments: '{}' } })),
  'a call with a value': delta(called({ id: 'c', function: { name: 'f', arguments: { a: [1, { b: null }] } } })),
  'a call without arguments': delta(called({ id: 'c', type: 'function', function: { name: 'f' } })),
  'a call of a custom tool': delta(called({ custom: { name: 'f', input: 'x' } })),
  'a count': { ...HEAD, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
  'a count without choices': { ...HEAD, usage: { prompt_tokens: 3, completion_tokens: 4 } },
  'a failure': { error: { message: 'overloaded', code: 529 } },
  'nothing of an answer': { ...HEAD, object: 'other' },
}

describe('a long event', () => {
  for (const [what, chunk] of Object.entries(CHUNKS))
    test(`with ${what} is passed on like a short one`, () => {
      const short = passed(chunk, { long: null })
      const { chunks, ...known } = passed(chunk, { long: LONG })
      const shown = chunks.map((one) => ('long' in one ? { ...one, long: null } : one))
      assert.deepEqual({ chunks: shown, ...known }, short)
    })

  test('without missing fields passes byte for byte', () => {
    const given = `${events([BEGIN, { ...delta({ content: LONG }), large: [1, 2] }, END])}data: [DONE]\n\n`
    const odd = given.replace('[1,2]', '[1.0, 12345678901234567890]')
    const reader = new EventStreamReader({
      include_usage: false,
      complete: () => ({ input_tokens: 1, output_tokens: 1 }),
    })
    assert.equal(Buffer.concat(atOnce(reader.take(Buffer.from(odd)))).toString(), odd)
    assert.equal(reader.text_length, LONG.length)
  })

  const bad: Readonly<Record<string, string>> = { 'no JSON': `{"a":${LONG}}`, 'no object': LONG }
  for (const [what, data] of Object.entries(bad))
    test(`with ${what} is a fault`, () => {
      const reader = new EventStreamReader({
        include_usage: false,
        complete: () => ({ input_tokens: 1, output_tokens: 1 }),
      })
      atOnce(reader.take(Buffer.from(`${events([BEGIN])}data: ${data}\n\n`)))
      assert.ok(reader.fault)
    })
})

/** The output for events that arrive one by one. */
async function told(pieces: readonly string[]): Promise<string> {
  const left = [...pieces]
  const safety = { redactor, owner: 'a', slices: new TimeSliceScheduler() }
  const safe = new RedactedEvents({ next: async () => left.shift() ?? null, close() {} }, safety)
  let text = ''
  for (let piece = await safe.next(); piece !== null; piece = await safe.next())
    text += typeof piece === 'string' ? piece : Buffer.from(piece).toString()
  return text
}

const contentOf = (text: string, name = 'content') =>
  chunksIn(text)
    .map(({ choices: [choice] }) => choice.delta[name] ?? '')
    .join('')

describe('a secret in a long event', () => {
  test('is replaced, also if it is split across neighbouring events', async () => {
    const cut = [KEY.slice(0, 30), KEY.slice(30)]
    const pieces = [`${LONG}${KEY}${LONG}`, `a${cut[0]}`, `${cut[1]}${LONG}${cut[0]}`, `${cut[1]}b`]
    const shown = await told(pieces.map((content) => events([delta({ content })])))
    const content = contentOf(shown).replaceAll(LONG, '…')
    assert.equal(content, '…[redacted]…a[redacted]…[redacted]b')
  })

  test('is replaced outside of texts, and if it is written with escapes', async () => {
    const numbers = [...KEY].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')
    const written = JSON.stringify(`{"k":"${numbers}"}`)
    const call = `{"index":0,"function":{"name":"f","arguments":${written}}}`
    const event = `event: chunk\ndata: {"id":"x","z":["${numbers}"],"long":"${LONG}","choices":[{"index":0,"delta":{"tool_calls":[${call}]}}]}\n\n`
    const shown = await told([event])
    assert.ok(shown.startsWith('event: chunk\ndata: {'))
    const [chunk] = chunksIn(shown.replace('event: chunk\n', ''))
    assert.deepEqual(
      [chunk.z, chunk.long === LONG, chunk.choices[0].delta.tool_calls[0].function.arguments],
      [['[redacted]'], true, '{"k":"[redacted]"}'],
    )
  })

  test('does not change other events', async () => {
    const given = `${events([delta({ content: LONG })])}: comment\n\n${events([delta({ parts: Array.from({ length: 100_000 }, () => ({ text: 'a' })) })])}`
    assert.equal(await told([given]), given)
  })

  test('holds only a limited amount of text', async () => {
    const held = Array.from({ length: 60 }, (_, at) =>
      events([{ ...delta({ content: at === 0 ? KEY.slice(0, 20) : (KEY[19 + at] ?? '') }), long: LONG.repeat(2) }]),
    )
    const left = [...held]
    let most = 0
    const safe = new RedactedEvents(
      { next: async () => left.shift() ?? null, close() {} },
      { redactor, owner: 'a', slices: new TimeSliceScheduler() },
    )
    for (let shown = 0, piece = await safe.next(); piece !== null; piece = await safe.next()) {
      shown += piece.length
      most = Math.max(most, (held.length - left.length) * held[0]!.length - shown)
    }
    assert.ok(most < 20_000_000, `${most}`)
  })
})

test('a completion with very many texts is redacted in steps, also a secret split across several', () => {
  const parts = Array.from({ length: 200_000 }, (_, at) => ({
    text: at === 70_000 ? KEY.slice(0, 9) : at === 70_001 ? KEY.slice(9) : 'a',
  }))
  const completion = { choices: [{ index: 0, message: { role: 'assistant', content: 'x', parts } }] }
  const steps = encodeRedactedSteps(completion, redactor)
  let longest = 0
  let count = 0
  for (;;) {
    const from = process.threadCpuUsage()
    const step = steps.next()
    const { user, system } = process.threadCpuUsage(from)
    longest = Math.max(longest, user + system)
    count++
    if (!step.done) continue
    assert.ok(!step.value.includes(KEY.slice(0, 9)) && step.value.includes('[redacted]'))
    break
  }
  assert.ok(count > 100 && longest < 60_000, `${count} steps, the longest ${longest} µs`)
})

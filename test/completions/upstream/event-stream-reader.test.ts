// The output of chunk streams for any split, and the state after them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventStreamReader } from '../../../src/completions/upstream/event-stream-reader.ts'
import { runToCompletion as atOnce } from '../../../src/shared/time-slices.ts'

const chunk = (delta: object, more: object = {}) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 17,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: null }],
    usage: null,
    ...more,
  })
const finish = chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const usage = (prompt_tokens: number, completion_tokens: number) =>
  chunk(
    {},
    { choices: [], usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } },
  )
const texts = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Grüße 😀 "usage":{' }), finish]

const stream = (events: readonly string[], end = '\n') => events.map((data) => `data: ${data}${end}${end}`).join('')

interface Read {
  text: string
  reader: EventStreamReader
}

function readAll(events: readonly string[]): Pick<Read, 'reader'> {
  const reader = new EventStreamReader({
    include_usage: false,
    complete: () => ({ input_tokens: 1, output_tokens: 1 }),
  })
  atOnce(reader.take(Buffer.from(stream(events))))
  return { reader }
}

/** The output for bytes that are split at some offsets, and at the end of the stream. */
function read(bytes: Buffer, offsets: readonly number[], include_usage: boolean): Read {
  const reader: EventStreamReader = new EventStreamReader({
    include_usage,
    complete: (counted) => ({
      input_tokens: counted?.input_tokens || 5,
      output_tokens: counted?.output_tokens || reader.text_length,
    }),
  })
  const out: Uint8Array[] = []
  for (const [at, from] of [0, ...offsets].entries())
    out.push(...atOnce(reader.take(bytes.subarray(from, offsets[at]))))
  if (!reader.isDone && !reader.fault) out.push(Buffer.from(reader.end()))
  return { text: Buffer.concat(out).toString(), reader }
}

/** Checks that all splits give the same result. A part of the last line end may be missing, which changes nothing. */
function always(given: string, include_usage: boolean, expected: string): EventStreamReader {
  const bytes = Buffer.from(given)
  const is = ({ text, reader }: Read, how: string): EventStreamReader => {
    assert.ok(/(?:\n\n|\r|\r\n\r\n?)$/.test(text), how)
    assert.equal(text.trimEnd(), expected.trimEnd(), how)
    return reader
  }
  for (let at = 0; at <= bytes.length; at++) is(read(bytes, [at], include_usage), `split at ${at}`)
  const every = Array.from(bytes.subarray(1), (_, at) => at + 1)
  return is(read(bytes, every, include_usage), 'split everywhere')
}

describe('a stream of chunks', () => {
  for (const [name, end] of [
    ['feeds', '\n'],
    ['returns and feeds', '\r\n'],
    ['returns', '\r'],
  ] as const) {
    test(`passes unchanged, with lines that end with ${name}`, () => {
      const given = stream([...texts, usage(3, 4), '[DONE]'], end)
      const reader = always(given, true, given)
      assert.deepEqual(reader.reported_usage, { input_tokens: 3, output_tokens: 4 })
      assert.equal(reader.isDone, true)
    })
  }

  test('keeps its comments and event names', () => {
    const given = `: hello\n\n${stream([texts[0]!])}event: chunk\nid: 7\n${stream([texts[1]!])}:\n\n${stream([finish, '[DONE]'])}`
    always(given, false, given)
  })

  test('loses only the usage chunk if the client did not request it', () => {
    const reader = always(stream([...texts, usage(3, 4), '[DONE]']), false, stream([...texts, '[DONE]']))
    assert.deepEqual(reader.reported_usage, { input_tokens: 3, output_tokens: 4 })
  })

  test('keeps a chunk with usage and a choice in any case', () => {
    const both = chunk({ content: 'x' }, { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } })
    const given = stream([texts[0]!, both, finish, '[DONE]'])
    for (const asked of [false, true]) assert.equal(always(given, asked, given).reported_usage?.output_tokens, 4)
  })

  test('gains a usage chunk if the client requested it and the server sent none', () => {
    const { text } = read(Buffer.from(stream([...texts, '[DONE]'])), [], true)
    const made = { id: 'chatcmpl-1', created: 17, model: 'm', object: 'chat.completion.chunk', choices: [] }
    // The text has 23 characters in 27 bytes, and two escapes.
    const expected = { ...made, usage: { prompt_tokens: 5, completion_tokens: 26, total_tokens: 31 } }
    always(stream([...texts, '[DONE]']), true, text)
    const events = text.split('\n\n')
    assert.equal(`${events.slice(0, 3).join('\n\n')}\n\n`, stream(texts))
    const { usage: counted, ...rest } = JSON.parse(events[3]!.slice(6))
    assert.deepEqual(rest, made)
    assert.equal(counted.prompt_tokens, expected.usage.prompt_tokens)
    assert.ok(counted.completion_tokens > 20 && counted.completion_tokens < 30, String(counted.completion_tokens))
    assert.equal(events[4], 'data: [DONE]')
  })

  test('gets estimates in place of zero counts', () => {
    const { text } = read(Buffer.from(stream([...texts, usage(0, 7), '[DONE]'])), [], true)
    const last = JSON.parse(text.split('\n\n').at(-3)!.slice(6))
    assert.deepEqual(last.usage, { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 })
  })

  test('gets an end if its server sends only a finish reason', () => {
    always(stream(texts), false, stream([...texts, '[DONE]']))
    always(`${stream(texts)}data: [DONE]`, false, stream([...texts, '[DONE]']))
    always(`${stream(texts)}data: [DONE]\n`, false, stream([...texts, '[DONE]']))
  })

  test('has no output after its end', () => {
    always(`${stream([...texts, '[DONE]'])}garbage ${stream(texts)}`, false, stream([...texts, '[DONE]']))
  })

  test('is cut off if it ends without a finish reason, or inside an event', () => {
    const whole = stream([texts[0]!, texts[1]!])
    for (const given of [whole, `${stream(texts)}data: {"id"`, `${stream(texts)}data: {"id":1}\n`, ''])
      assert.throws(() => read(Buffer.from(given), [], false), { name: 'Malformed' }, given)
  })

  test('gets a finish reason if its server ends without one', () => {
    const ended = (finish_reason: string, index = 0) => ({
      ...{ id: 'chatcmpl-1', created: 17, model: 'm', object: 'chat.completion.chunk' },
      choices: [{ index, delta: {}, finish_reason }],
    })
    const call = { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'now', arguments: '{}' } }] }
    for (const [delta, reason] of [
      [{ content: 'x' }, 'stop'],
      [call, 'tool_calls'],
      [{ function_call: { name: 'now', arguments: '{}' } }, 'function_call'],
    ] as const) {
      const given = [texts[0]!, chunk(delta), chunk({ content: '' })]
      const expected = stream([...given, JSON.stringify(ended(reason)), '[DONE]'])
      always(stream([...given, '[DONE]']), false, expected)
    }
  })

  test('has choice indexes and plain texts, even if its server sends neither', () => {
    const of = (choice: object) => chunk({}, { choices: [choice] })
    const delta = {
      content: [
        { type: 'text', text: 'Grü' },
        { type: 'text', text: 'ße' },
      ],
    }
    const given = [
      texts[0]!,
      of({ delta: { content: 'x' } }),
      of({ index: null, delta }),
      of({ delta: {}, finish_reason: 'stop' }),
    ]
    const seen = [
      texts[0]!,
      of({ delta: { content: 'x' }, index: 0 }),
      of({ index: 0, delta: { content: 'Grüße' } }),
      of({ delta: {}, finish_reason: 'stop', index: 0 }),
    ]
    const reader = always(stream([...given, '[DONE]']), false, stream([...seen, '[DONE]']))
    assert.equal(reader.text_length, 8)
  })

  test('is at fault at garbage, and earlier events pass', () => {
    const before = stream([texts[0]!, texts[1]!])
    const error = JSON.stringify({ error: { message: 'overloaded' } })
    for (const garbage of [
      stream(['<html>']),
      stream(['null']),
      stream(['{"a": 1']),
      stream(['[1]']),
      stream([error]),
      stream([JSON.stringify({ object: 'error', message: 'out of memory', code: 500 })]),
      stream([JSON.stringify({ detail: 'out of memory' })]),
      stream([JSON.stringify({ choices: null, errors: [{ message: 'out of memory' }] })]),
      `event: error\n${stream(['{"message":"out of memory"}'])}`,
      `event: error\n${stream([chunk({ content: 'out of memory' })])}`,
      'event: error\n\n',
    ]) {
      const bytes = Buffer.from(`${before}${garbage}\n${stream(texts)}`)
      for (let at = 0; at <= bytes.length; at++) {
        const { text, reader } = read(bytes, [at], false)
        assert.equal(text, before)
        assert.equal(reader.fault?.name, 'Malformed')
      }
    }
  })

  test('is parsed by the standard: byte order marks, unknown fields, fields without a value', () => {
    const given = `\ufeffdata\nx: y\nretry: 5\n${stream(texts)}id\n${stream(['[DONE]'])}`
    always(given, false, given)
    const [head, ...rest] = texts
    always(
      `\ufeff${stream([head!])}`.concat(stream([...rest, '[DONE]'])),
      false,
      `\ufeff${stream([...texts, '[DONE]'])}`,
    )
  })

  test('passes only chunks on', () => {
    const strange = `${stream(['{"type":"ping"}'])}<html>the server said so\n\n`
    always(
      `${strange}${stream([texts[0]!])}${strange}${stream([texts[1]!, texts[2]!, '[DONE]'])}`,
      false,
      stream([...texts, '[DONE]']),
    )
  })

  test('turns a keep-alive event into a comment', () => {
    const pings = [
      'event: ping\ndata: null\n\n',
      'event: ping\ndata: {"type":"ping"}\n\n',
      'event: heartbeat\ndata: x\n\n',
    ]
    for (const ping of pings) {
      const given = `${ping}${stream([texts[0]!])}${ping}${stream([texts[1]!, texts[2]!])}${ping}${stream(['[DONE]'])}`
      always(given, false, given.replaceAll(ping, ':\n\n'))
    }
  })

  test('may have an empty error in each chunk', () => {
    for (const error of [{}, [], '', null]) {
      const given = stream([...texts.map((text) => JSON.stringify({ ...JSON.parse(text), error })), '[DONE]'])
      always(given, false, given)
    }
    const { reader, text } = read(Buffer.from(stream([texts[0]!, '{"error":{}}'])), [], false)
    assert.deepEqual([text, reader.fault === null], [stream([texts[0]!]), false])
  })

  test('begins with its first choice, after any results of a filter', () => {
    const filters = JSON.stringify({
      choices: [],
      created: 0,
      id: '',
      model: '',
      prompt_filter_results: [{ prompt_index: 0 }],
    })
    const given = stream([filters, ...texts, '[DONE]'])
    always(given, false, given)
    const { text } = read(Buffer.from(given), [], true)
    always(given, true, text)
    const { id, model, created } = JSON.parse(text.split('\n\n').at(-3)!.slice(6))
    assert.deepEqual([id, model, created], ['chatcmpl-1', 'm', 17])
    for (const [events, begun] of [
      [[filters], false],
      [['{"type":"ping"}'], false],
      [[usage(3, 4)], false],
      [[filters, texts[0]!], true],
    ] as const) {
      const reader = new EventStreamReader({
        include_usage: true,
        complete: () => ({ input_tokens: 1, output_tokens: 1 }),
      })
      atOnce(reader.take(Buffer.from(`: hello\n\n${stream(events)}`)))
      assert.equal(reader.hasBegun, begun, events.join())
    }
  })

  test('is at fault if it only ends', () => {
    const reader = (given: string) => {
      const made = new EventStreamReader({
        include_usage: true,
        complete: () => ({ input_tokens: 1, output_tokens: 1 }),
      })
      return [atOnce(made.take(Buffer.from(given))), made] as const
    }
    const [out, only] = reader(stream(['[DONE]']))
    assert.deepEqual([out, only.isDone, only.fault?.name], [[], false, 'Malformed'])
    assert.throws(() => reader('data: [DONE]')[1].end(), { name: 'Malformed' })
  })

  test('with several choices ends after all of them', () => {
    const of = (index: number, finish_reason: string | null = null) =>
      chunk({}, { choices: [{ index, delta: { content: 'x' }, finish_reason }] })
    const ends = (events: readonly string[], choices: number) => {
      const reader = new EventStreamReader({
        include_usage: false,
        choices,
        complete: () => ({ input_tokens: 1, output_tokens: 1 }),
      })
      atOnce(reader.take(Buffer.from(stream(events))))
      return reader.end()
    }
    const cut = { name: 'Malformed' }
    assert.throws(() => ends([of(0), of(1), of(0, 'stop')], 2), cut)
    assert.throws(() => ends([of(0), of(0, 'stop')], 2), cut)
    assert.throws(() => ends([of(0), of(1), of(2), of(0, 'stop'), of(1, 'stop')], 2), cut)
    assert.equal(ends([of(0), of(1), of(0, 'stop'), of(1, 'length')], 2), 'data: [DONE]\n\n')
  })

  test('counts every kind of model output', () => {
    for (const delta of [
      { reasoning: 'I think' },
      { tool_calls: [{ index: 0, type: 'custom', custom: { name: 'sh', input: 'ls -l' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'ls -l' } }] },
      { tool_calls: [{ index: 0, id: 'c', function: { name: 'now', arguments: '' } }] },
      { function_call: { name: 'now', arguments: '' } },
      { audio: { id: 'a', transcript: 'I say' } },
      { audio: { data: 'AAAA'.repeat(1_000) } },
    ]) {
      const reader = new EventStreamReader({
        include_usage: false,
        complete: () => ({ input_tokens: 1, output_tokens: 1 }),
      })
      atOnce(reader.take(Buffer.from(stream([texts[0]!, chunk(delta)]))))
      assert.ok(reader.text_length > 0 && reader.text_length < 100, JSON.stringify(delta))
    }
  })

  test('keeps a total that is more than its two parts', () => {
    const counts = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 90 }
    const given = stream([...texts, chunk({}, { choices: [], usage: counts }), '[DONE]'])
    always(given, true, given)
    const without = stream([
      ...texts,
      chunk({}, { choices: [], usage: { ...counts, total_tokens: undefined } }),
      '[DONE]',
    ])
    const { text } = read(Buffer.from(without), [], true)
    const { usage: counted } = JSON.parse(text.split('\n\n').at(-3)!.slice(6))
    assert.deepEqual(counted, { ...counts, total_tokens: 7 })
  })

  test('is at fault if it begins with something that is not JSON', () => {
    assert.ok(read(Buffer.from(stream(['{garbage}'])), [], false).reader.fault)
  })

  test('is at fault where an event does not end', () => {
    const reader = new EventStreamReader({
      include_usage: false,
      complete: () => ({ input_tokens: 1, output_tokens: 1 }),
    })
    const piece = Buffer.alloc(65_536, 'x')
    assert.deepEqual(atOnce(reader.take(Buffer.from('data: {'))), [])
    for (let mebibytes = 0; mebibytes <= 16; mebibytes += 1 / 16) atOnce(reader.take(piece))
    assert.match(reader.fault!.message, /an event that is too long/)
  })

  test('is read in linear time: many lines in one piece', () => {
    // A search for a return from each line on would read eight trillion characters.
    const bytes = Buffer.concat([Buffer.from('\r'), Buffer.alloc(4_000_000, '\n')])
    const reader = new EventStreamReader({
      include_usage: false,
      complete: () => ({ input_tokens: 1, output_tokens: 1 }),
    })
    assert.deepEqual(atOnce(reader.take(bytes)), [bytes])
    assert.equal(reader.fault, null)
  })

  test('is read in linear time: one line in many pieces', (t) => {
    const data = Buffer.from(stream([chunk({ content: 'x'.repeat(300_000) })]))
    const { concat } = Buffer
    let joined = 0
    t.mock.method(Buffer, 'concat', (pieces: readonly Uint8Array[]) => {
      joined += pieces.reduce((sum, { length }) => sum + length, 0)
      return concat(pieces)
    })
    const reader = new EventStreamReader({
      include_usage: false,
      complete: () => ({ input_tokens: 1, output_tokens: 1 }),
    })
    const out: Uint8Array[] = []
    for (let at = 0; at < data.length; at++) out.push(...atOnce(reader.take(data.subarray(at, at + 1))))
    assert.ok(joined <= data.length, `${joined} bytes were joined of ${data.length}`)
    assert.deepEqual(concat(out), data)
    assert.ok(out.length < 2_000, `${out.length} pieces`)
  })

  test('is at fault if its usage has too many names', () => {
    const { reader } = readAll(Array.from({ length: 200 }, (_, at) => chunk({}, { usage: { [`n${at}`]: 1 } })))
    assert.match(String(reader.fault?.message), /usage with too many or too large fields/)
  })

  test('is at fault if its usage has too large values', () => {
    const { reader } = readAll([
      chunk({}, { usage: { prompt_tokens: 1, more: Array.from({ length: 10_000 }, () => ({})) } }),
    ])
    assert.match(String(reader.fault?.message), /usage with too many or too large fields/)
  })
})

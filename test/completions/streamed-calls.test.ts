// Streamed tool calls without ids or indexes, split at any byte, and streams without a valid end.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventStreamReader } from '../../src/completions/upstream/event-stream-reader.ts'
import { runToCompletion as atOnce } from '../../src/shared/time-slices.ts'
import { chunksIn } from './kit.ts'

const HEAD = { id: 'x', object: 'chat.completion.chunk', created: 17, model: 'm' }
const chunk = (delta: object, finish_reason: unknown = null, index = 0) =>
  JSON.stringify({ ...HEAD, choices: [{ index, delta, finish_reason }] })
const calls = (...tool_calls: object[]) => chunk({ tool_calls })
const fn = (name: string | undefined, given: unknown) => ({ function: { name, arguments: given } })
const first = chunk({ role: 'assistant', content: '' })
const finish = chunk({}, 'tool_calls')
const stream = (events: readonly string[]) => events.map((data) => `data: ${data}\n\n`).join('')

function read(bytes: Buffer, offsets: readonly number[], choices = 1): string {
  const complete = () => ({ input_tokens: 1, output_tokens: 1 })
  const reader = new EventStreamReader({ include_usage: false, choices, complete })
  const out: Uint8Array[] = []
  for (const [at, from] of [0, ...offsets].entries())
    out.push(...atOnce(reader.take(bytes.subarray(from, offsets[at]))))
  if (!reader.isDone) out.push(Buffer.from(reader.end()))
  return Buffer.concat(out).toString()
}

interface Piece {
  readonly index?: number
  readonly id?: string
  readonly type?: string
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

/** The tool calls that a client gets, the same for any split of the stream. Generated ids are replaced by numbers. */
function told(events: readonly string[], choices = 1): Piece[] {
  const bytes = Buffer.from(stream([first, ...events, finish, '[DONE]']))
  const piecesOf = (text: string): Piece[] => {
    const ids: string[] = []
    const named = (id: string) => {
      if (!/^call_[0-9a-f]{32}$/.test(id)) return id
      ids.push(id)
      return `made ${ids.length}`
    }
    const pieces = chunksIn(text)
      .flatMap((one) => one.choices)
      .flatMap(({ delta }) => delta.tool_calls ?? [])
    const given = pieces.map((piece) => (piece.id === undefined ? piece : { ...piece, id: named(piece.id) }))
    assert.equal(new Set(ids).size, ids.length)
    return given
  }
  const whole = piecesOf(read(bytes, [], choices))
  for (let at = 1; at < bytes.length; at++) assert.deepEqual(piecesOf(read(bytes, [at], choices)), whole, `at ${at}`)
  return whole
}

describe('the calls of tools in a stream', () => {
  test('pass byte for byte if no field is missing', () => {
    const whole = { index: 1, id: 'a', type: 'function', ...fn('weather', '') }
    const given = stream([first, calls(whole), calls({ index: 1, ...fn(undefined, '{}') }), finish, '[DONE]'])
    assert.equal(read(Buffer.from(given), []), given)
  })

  test('have an id, a type and an index in their first piece', () => {
    const pieces = told([
      calls({ index: 0, ...fn('weather', '{"a') }),
      calls({ index: 0, ...fn(undefined, '":1}') }),
      calls({ index: 1, id: '', type: null, ...fn('time', '{}') }),
    ])
    assert.deepEqual(pieces, [
      { index: 0, id: 'made 1', type: 'function', function: { name: 'weather', arguments: '{"a' } },
      { index: 0, function: { arguments: '":1}' } },
      { index: 1, id: 'made 2', type: 'function', function: { name: 'time', arguments: '{}' } },
    ])
  })

  test('are told apart if they have no indexes, or equal ones', () => {
    for (const number of [{}, { index: null }, { index: 0 }]) {
      const pieces = told([
        calls({ ...number, id: 'a', ...fn('weather', '{}') }, { ...number, id: 'b', ...fn('time', '{}') }),
        calls({ ...number, id: 'c', ...fn('now', '{}') }),
      ])
      assert.deepEqual(
        pieces.map(({ index, id, type }) => [index, id, type]),
        [
          [0, 'a', 'function'],
          [1, 'b', 'function'],
          [2, 'c', 'function'],
        ],
      )
    }
  })

  test('have arguments as text, with all digits', () => {
    const piece = '{"index":0,"function":{"name":"é","arguments":{ "id": 1152921504606846976 }}}'
    const event = calls({ x: 0 }).replace('{"x":0}', piece)
    assert.deepEqual(told([event, calls(fn('now', undefined))]), [
      {
        ...{ index: 0, id: 'made 1', type: 'function' },
        function: { name: 'é', arguments: '{ "id": 1152921504606846976 }' },
      },
      { index: 1, id: 'made 2', type: 'function', function: { name: 'now', arguments: '' } },
    ])
  })

  test('may belong to a custom tool, and to several choices', () => {
    const custom = { custom: { name: 'sh', input: 'ls' } }
    const pieces = told(
      [chunk({ tool_calls: [custom] }, null, 0), chunk({ tool_calls: [fn('now', '{}')] }, 'stop', 1)],
      2,
    )
    assert.deepEqual(pieces, [
      { ...custom, index: 0, id: 'made 1', type: 'custom' },
      { index: 0, id: 'made 2', type: 'function', function: { name: 'now', arguments: '{}' } },
    ])
  })

  test('are complete if an event has several lines, and its chunk has the usage', () => {
    const usage = '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'
    const event = `${calls(fn('now', '{}')).slice(0, -1)},\ndata: ${usage}}`
    const [piece] = told([event])
    assert.deepEqual(piece, { index: 0, id: 'made 1', type: 'function', function: { name: 'now', arguments: '{}' } })
  })
})

test('a finish reason that is not a text does not end a stream', () => {
  for (const reason of ['', null, 0, false]) {
    for (const events of [[first, chunk({ content: 'a' }, reason)], [chunk({ content: 'a' }, reason)]]) {
      const { length } = events
      assert.throws(() => read(Buffer.from(stream(events)), []), { name: 'Malformed' }, `${reason} ${length}`)
      assert.throws(() => read(Buffer.from(stream(events)), [], 2), { name: 'Malformed' }, `${reason} ${length}`)
    }
  }
})

// Tool calls in the pieces of an answer: the call of each piece, and the limits.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { OpenAiAnswerReader } from '../../../../src/models/providers/openai/answer-reader.ts'
import { JsonObjectScanner } from '../../../../src/models/providers/openai/json-object-scanner.ts'
import { listToolCallPieces, ToolCallReader } from '../../../../src/models/providers/openai/tool-call-reader.ts'
import { MAX_TOOL_CALLS } from '../../../../src/models/providers/shared/provider-data-validation.ts'

interface Called {
  readonly name: string
  readonly text: string
}

const fn = (name: string | undefined, given: unknown) => ({ function: { name, arguments: given } })

/** The calls with their joined parts. */
function calledBy(...pieces: object[]): Called[] {
  const calls = new ToolCallReader()
  const found: Called[] = []
  for (const piece of pieces) {
    const { index, name = '', arguments: text } = calls.readPiece(piece)!
    const { name: before = '', text: sofar = '' } = found[index] ?? {}
    found[index] = { name: before || name, text: sofar + text }
  }
  return found
}

describe('a tool call', { timeout: 60_000 }, () => {
  for (const [what, given] of [
    ['no arguments', ''],
    ['arguments that are not whole', '{"all":'],
    ['arguments', '{}'],
  ])
    test(`with ${what} gets no piece of another call with the same number and no id`, () => {
      const pieces = [
        { index: 0, ...fn('delete_all', given) },
        { index: 0, ...fn('search', '{"a"') },
        { index: 0, function: { arguments: ':1}' } },
      ]
      assert.deepEqual(calledBy(...pieces), [
        { name: 'delete_all', text: given },
        { name: 'search', text: '{"a":1}' },
      ])
    })

  test('is a new call after a complete one, also where it begins without arguments or has the same name', () => {
    const pieces = [
      { index: 0, ...fn('a', '{}') },
      { index: 0, ...fn('b', '') },
      { index: 0, ...fn('b', '{"x":"}') },
      { index: 0, ...fn('b', '{"}') },
      { index: 0, ...fn('b', '{"y":1}') },
    ]
    assert.deepEqual(calledBy(...pieces), [
      { name: 'a', text: '{}' },
      { name: 'b', text: '{"x":"}{"}' },
      { name: 'b', text: '{"y":1}' },
    ])
  })

  test('is recognized by its id, with any names of its pieces', () => {
    const pieces = [
      { index: 0, id: 'p', ...fn('a', '{') },
      { index: 0, id: 'p', ...fn('b', '"x":') },
      { id: 'p', ...fn('a', '1}') },
    ]
    assert.deepEqual(calledBy(...pieces), [{ name: 'a', text: '{"x":1}' }])
  })

  test('has the name that a later piece gives it', () => {
    const pieces = [
      { index: 0, id: 'p' },
      { index: 0, ...fn('a', '{') },
      { index: 0, ...fn('a', '}') },
    ]
    assert.deepEqual(calledBy(...pieces), [{ name: 'a', text: '{}' }])
  })

  test('may have longer arguments than any string, since they are not kept', () => {
    const calls = new ToolCallReader()
    const piece = { index: 0, function: { arguments: 'x'.repeat(2 ** 24) } }
    for (let at = 0; at < 40; at++) assert.equal(calls.readPiece(piece)!.index, 0)
  })

  test('may come in any number of pieces that could each begin a new call', () => {
    const calls = new ToolCallReader()
    calls.readPiece({ index: 0, ...fn('a', '{"x":"') })
    const piece = { index: 0, ...fn('a', `{${'x'.repeat(1_000)}}`) }
    for (let at = 0; at < 20_000; at++) assert.equal(calls.readPiece(piece)!.index, 0)
  })
})

describe('tool calls in one answer', () => {
  for (const [what, pieceOf] of [
    ['ids', (at: number) => ({ id: `c${at}`, ...fn('a', '{}') })],
    ['numbers', (at: number) => ({ index: at, ...fn('a', '{}') })],
    ['names alone', () => fn('a', '{}')],
  ] as readonly (readonly [string, (at: number) => object])[])
    test(`with ${what} are ${MAX_TOOL_CALLS} at most`, () => {
      const calls = new ToolCallReader()
      for (let at = 0; at < MAX_TOOL_CALLS; at++) assert.equal(calls.readPiece(pieceOf(at))!.index, at)
      assert.throws(() => calls.readPiece(pieceOf(MAX_TOOL_CALLS)), { name: 'Malformed' })
    })

  test('have a limited length of ids and names', () => {
    const calls = new ToolCallReader()
    const long = 'x'.repeat(200_000)
    for (let at = 0; at < 5; at++) calls.readPiece({ id: `${at}${long}`, ...fn('a', '{}') })
    calls.readPiece({ id: `0${long}`, ...fn('a', '{}') })
    assert.throws(() => calls.readPiece({ index: 9, ...fn(long, '{}') }), { name: 'Malformed' })
  })

  test('have a limited number of pieces at once', () => {
    assert.equal(listToolCallPieces(Array(MAX_TOOL_CALLS).fill({})).length, MAX_TOOL_CALLS)
    assert.throws(() => listToolCallPieces(Array(MAX_TOOL_CALLS + 1).fill({})), { name: 'Malformed' })
    for (const none of [undefined, null, {}, 'a']) assert.deepEqual(listToolCallPieces(none), [])
  })
})

test('an answer for a node has a limited number of tool calls, whole or in one chunk', () => {
  const asked = { provider: 'up', secret: null, credential: null }
  for (const said of ['message', 'delta']) {
    const text = (count: number) =>
      JSON.stringify({ choices: [{ [said]: { tool_calls: Array(count).fill(fn('a', '{}')) } }] })
    assert.equal(
      new OpenAiAnswerReader(asked, undefined).readChunk(JSON.parse(text(MAX_TOOL_CALLS))).length,
      MAX_TOOL_CALLS,
    )
    assert.throws(() => new OpenAiAnswerReader(asked, undefined).readChunk(JSON.parse(text(MAX_TOOL_CALLS + 1))), {
      name: 'Malformed',
    })
  }
})

describe('a JSON object in pieces', () => {
  const isWhole = (pieces: readonly string[]) => {
    const object = new JsonObjectScanner()
    for (const piece of pieces) object.add(piece)
    return object.isComplete
  }

  test('is complete with its last character, and not before, wherever it is split', () => {
    const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, ' '), fc.nat(), (value, indent, at) => {
        const text = JSON.stringify(value, null, indent)
        const place = at % text.length
        assert.equal(isWhole([text.slice(0, place), text.slice(place)]), true)
        assert.equal(isWhole([text.slice(0, place)]), false)
        assert.equal(isWhole([...text, ' \n']), true)
      }),
    )
  })

  test('does not count another JSON value, or several objects', () => {
    for (const text of ['', ' ', '[]', '"{}"', '1', '{}{}', '{} x', 'x{}', '}{'])
      assert.equal(isWhole([text]), false, text)
  })
})

test('arguments that come as values have a limit, in one call and in all calls', () => {
  const call = (index: number, length: number) => ({
    index,
    function: { name: 'f', arguments: { a: 'x'.repeat(length) } },
  })
  assert.throws(() => new ToolCallReader().readPiece(call(0, 1_100_000)), { name: 'Malformed' })
  const calls = new ToolCallReader()
  for (let at = 0; at < 4; at++) assert.equal(calls.readPiece(call(at, 1_000_000))?.arguments.length, 1_000_008)
  assert.throws(() => calls.readPiece(call(4, 1_000_000)), { name: 'Malformed' })
})

// createChatCompletion with servers whose answers have more choices or tool calls than a client can request: refused, buffered or streamed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import document from '../../generated/openapi.json' with { type: 'json' }
import { MAX_CHOICES, MAX_TOOL_CALLS } from '../../src/models/providers/shared/provider-data-validation.ts'
import { asking, chunksIn, dataOf, type Gateway, post, type Received, startGateway } from '../completions/kit.ts'

const GAP = 20_000
const fill = <T>(count: number, item: T) => Array<T>(count).fill(item)
const whole = (choices: object[]) => ({ body: JSON.stringify({ choices }) })
const calling = (count: number) => ({ message: { tool_calls: fill(count, {}) } })
const chunk = (...choices: object[]) => ({ id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices })
const delta = (tool_calls: object[], index = 0) => chunk({ index, delta: { tool_calls }, finish_reason: null })
const named = (at: number) => ({ id: `c${at}`, function: { name: 'f', arguments: '{}' } })
const first = chunk({ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: null })
const last = (index = 0) => chunk({ index, delta: {}, finish_reason: 'stop' })

async function asked(gateway: Gateway, fields: object = {}): Promise<Received> {
  return await post(gateway.server, asking(fields))
}

test('as many choices are read as can be requested', () => {
  assert.equal(document.components.schemas.ChatCompletionRequest.properties.n.maximum, MAX_CHOICES)
})

describe('a buffered answer', { timeout: 60_000 }, () => {
  for (const [what, choices] of [
    ['choices', fill(GAP, { message: {} })],
    ['one choice more', fill(MAX_CHOICES + 1, { message: {} })],
    ['calls', [calling(GAP)]],
    ['calls of all its choices', fill(MAX_CHOICES, calling(MAX_TOOL_CALLS))],
    ['one call more', [calling(MAX_TOOL_CALLS - 1), calling(2)]],
  ] as const)
    test(`with too many ${what} gives 502`, async () => {
      await using gateway = await startGateway({ answer: () => whole([...choices]) })
      const { status, text } = await asked(gateway)
      assert.equal(status, 502, text.slice(0, 200))
    })

  test('can have the maximum of choices and calls', async () => {
    const answers = [fill(MAX_CHOICES, { message: {} }), [calling(MAX_TOOL_CALLS - 1), calling(1)]]
    await using gateway = await startGateway({ answer: (_, n) => whole(answers[n]!) })
    const many = JSON.parse((await asked(gateway)).text)
    assert.equal(many.choices.length, MAX_CHOICES)
    const { choices } = JSON.parse((await asked(gateway)).text)
    const ids = choices.flatMap(({ message }: (typeof choices)[0]) =>
      message.tool_calls.map(({ id }: { id: string }) => id),
    )
    assert.equal(new Set(ids).size, MAX_TOOL_CALLS)
  })
})

describe('a streamed answer', { timeout: 60_000 }, () => {
  const calls = Array.from({ length: GAP }, (_, at) => named(at))
  for (const [what, events] of [
    ['calls in one event', [delta(calls)]],
    ['pieces of calls in one event', [delta(fill(GAP, {}))]],
    ['calls in many events', calls.slice(0, MAX_TOOL_CALLS + 1).map((call) => delta([call]))],
    ['calls of several choices', calls.slice(0, MAX_TOOL_CALLS + 1).map((call, at) => delta([call], at % 2))],
    ['choices in one event', [chunk(...fill(GAP, { delta: {} }))]],
    ['choices in many events', Array.from({ length: MAX_CHOICES + 1 }, (_, at) => last(at))],
  ] as const)
    test(`with too many ${what} ends with an error after all earlier output`, async () => {
      await using gateway = await startGateway({ answer: () => ({ events: [first, ...events, last(), '[DONE]'] }) })
      const { status, text } = await asked(gateway, { stream: true, n: 2 })
      assert.equal(status, 200)
      assert.equal(dataOf(text).at(-1), '[DONE]')
      const chunks = chunksIn(text)
      assert.equal(chunks.at(-1).error.code, 502)
      assert.equal(chunks.length, events.length + 1)
    })

  test('can have the maximum, each with its index', async () => {
    const given = calls.slice(0, MAX_TOOL_CALLS)
    const events = [first, delta(given.slice(0, 600)), delta(given.slice(600)), last(), '[DONE]']
    await using gateway = await startGateway({ answer: () => ({ events }) })
    const told = chunksIn((await asked(gateway, { stream: true })).text)
    const pieces = told.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    assert.deepEqual(
      pieces.map(({ index, id }) => [index, id]),
      given.map(({ id }, at) => [at, id]),
    )
  })

  test('keeps the indexes of its tool calls, except impossible ones', async () => {
    const numbers = [7, Number.MAX_SAFE_INTEGER, 3, MAX_TOOL_CALLS, -1, 7]
    const events = [first, ...numbers.map((index, at) => delta([{ ...named(at), index }])), last(), '[DONE]']
    await using gateway = await startGateway({ answer: () => ({ events }) })
    const told = chunksIn((await asked(gateway, { stream: true })).text)
    const pieces = told.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    assert.deepEqual(
      pieces.map(({ index }) => index),
      [7, 8, 3, 9, 10, 11],
    )
  })
})

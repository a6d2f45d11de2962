// A provider in front of a server that speaks OpenAI's protocol: its requests, and its reading of answers in all forms.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CompletionPart } from '../../../../src/models/provider.ts'
import { ProviderError, type ProviderFault } from '../../../../src/models/provider-error.ts'
import { until } from '../../../helpers/server.ts'
import type { Script } from '../../../helpers/upstream.ts'
import { answering, KEY, startAsking, textOf } from '../../openai-kit.ts'

const END: CompletionPart = {
  type: 'end',
  usage: { input_tokens: 11, output_tokens: 7, cost: null },
  finish_reason: 'stop',
}
const USED = { prompt_tokens: 11, completion_tokens: 7 }

const fails = (fault: ProviderFault, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ProviderError, String(error))
  assert.equal(error.fault, fault)
  assert.match(error.message, message)
  assert.ok(!error.message.includes(KEY))
  return true
}

/** The tool calls with their joined pieces. */
function calls(parts: readonly CompletionPart[]): { id: string; name: string; arguments: string }[] {
  const found: { id: string; name: string; arguments: string }[] = []
  for (const part of parts) {
    if (part.type !== 'tool_call') continue
    found[part.index] ??= { id: '', name: '', arguments: '' }
    const call = found[part.index]!
    call.id += part.id ?? ''
    call.name += part.name ?? ''
    call.arguments += part.arguments
  }
  return found
}

describe('a completion', () => {
  test('is requested as a stream with usage, and comes as parts', async () => {
    await using asking = await startAsking(answering({ text: ['One', ' two'], usage: USED }))
    assert.deepEqual(await asking.ask({ seed: 7, n: 2, unknown_field: { a: 1 } }), [
      { type: 'text', text: 'One' },
      { type: 'text', text: ' two' },
      END,
    ])
    const [{ json, headers }] = asking.upstream.posts as [(typeof asking.upstream.posts)[0]]
    assert.deepEqual(json, {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello there' }],
      seed: 7,
      unknown_field: { a: 1 },
      stream: true,
      stream_options: { include_usage: true },
    })
    assert.equal(headers.authorization, `Bearer ${KEY}`)
    assert.equal(headers['content-type'], 'application/json')
  })

  test('is requested without a key where there is none', async () => {
    await using asking = await startAsking({ credential: null })
    await asking.ask()
    assert.equal(asking.upstream.posts[0]!.headers.authorization, undefined)
  })

  test('also sends the limit in the old field to a server on this machine', async () => {
    await using asking = await startAsking()
    await asking.ask({ max_completion_tokens: 5 })
    const { max_tokens, max_completion_tokens } = asking.upstream.posts[0]!.json
    assert.deepEqual([max_tokens, max_completion_tokens], [5, 5])
  })

  test('contains thoughts and refusals', async () => {
    await using asking = await startAsking(
      answering(
        { thinking: ['Hm', ' …'], text: 'Yes' },
        { refusal: 'No.' },
        {
          events: [{ choices: [{ delta: { reasoning: 'So' }, finish_reason: 'stop' }] }],
        },
      ),
    )
    const thought = await asking.ask()
    assert.deepEqual([textOf(thought, 'thinking'), textOf(thought)], ['Hm …', 'Yes'])
    assert.equal(textOf(await asking.ask(), 'refusal'), 'No.')
    assert.equal(textOf(await asking.ask(), 'thinking'), 'So')
  })

  test('contains parallel tool calls, piece by piece', async () => {
    const tool_calls = [
      { id: 'a', name: 'weather', arguments: ['{"city"', ':"Bern"}'] },
      { id: 'b', name: 'time', arguments: ['{', '"zone":1', '}'] },
    ]
    await using asking = await startAsking(answering({ tool_calls }))
    const parts = await asking.ask()
    assert.deepEqual(calls(parts), [
      { id: 'a', name: 'weather', arguments: '{"city":"Bern"}' },
      { id: 'b', name: 'time', arguments: '{"zone":1}' },
    ])
    const end = parts.at(-1)!
    assert.equal(end.type === 'end' && end.finish_reason, 'tool_calls')
    for (const part of parts.filter((one) => one.type === 'tool_call').slice(2)) assert.ok(!('id' in part))
  })

  const call = (given: object) => ({ choices: [{ index: 0, delta: { tool_calls: [given] } }] })
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  for (const [what, script] of [
    [
      'without ids and numbers',
      {
        tool_calls: [
          { name: 'x', arguments: '{}' },
          { name: 'y', arguments: '{"a":1}' },
        ],
        careless_calls: true,
      },
    ],
    [
      'that all have the same number',
      {
        events: [
          call({ index: 0, id: 'p', function: { name: 'x', arguments: '{}' } }),
          call({ index: 0, id: 'q', function: { name: 'y', arguments: '{"a":1}' } }),
          last,
        ],
      },
    ],
    [
      'that all have the same number, and no ids',
      {
        events: [
          call({ index: 0, function: { name: 'x', arguments: '' } }),
          call({ index: 0, function: { arguments: '{}' } }),
          call({ index: 0, id: '', function: { name: 'y', arguments: '{"a":1}' } }),
          last,
        ],
      },
    ],
    [
      'whose pieces repeat the name, and have no ids',
      {
        events: [
          call({ index: 0, function: { name: 'x', arguments: '{' } }),
          call({ index: 0, function: { name: 'x', arguments: '}' } }),
          call({ index: 1, function: { name: 'y', arguments: '{"a"' } }),
          call({ index: 1, function: { name: 'y', arguments: ':1}' } }),
          call({ index: 1, function: { name: 'y', arguments: '' } }),
          last,
        ],
      },
    ],
    [
      'without ids, as values, in an answer that is not streamed',
      {
        body: JSON.stringify({
          choices: [
            {
              message: {
                tool_calls: [
                  { function: { name: 'x', arguments: {} } },
                  { function: { name: 'y', arguments: { a: 1 } } },
                ],
              },
              finish_reason: 'stop',
            },
          ],
        }),
      },
    ],
    [
      'whose pieces repeat id and name',
      {
        events: [
          call({ index: 0, id: 'p', function: { name: 'x', arguments: '{' } }),
          call({ index: 0, id: 'p', function: { name: 'x', arguments: '}' } }),
          call({ index: 1, id: 'q', function: { name: 'y', arguments: { a: 1 } } }),
          last,
        ],
      },
    ],
    [
      'whose pieces have neither id nor number',
      {
        events: [
          call({ id: 'p', function: { name: 'x', arguments: '{' } }),
          call({ function: { arguments: '}' } }),
          call({ id: 'q', function: { name: 'y', arguments: '{"a":1}' } }),
          last,
        ],
      },
    ],
  ] as readonly (readonly [string, Script])[]) {
    test(`understands tool calls ${what}`, async () => {
      await using asking = await startAsking(answering(script))
      const parts = await asking.ask()
      const found = calls(parts)
      assert.deepEqual(
        found.map(({ name, arguments: text }) => [name, text]),
        [
          ['x', '{}'],
          ['y', '{"a":1}'],
        ],
      )
      assert.equal(new Set(found.map(({ id }) => id)).size, 2)
      assert.ok(found.every(({ id }) => id !== ''))
      const end = parts.at(-1)!
      assert.equal(end.type === 'end' && end.finish_reason, 'tool_calls')
    })
  }

  test('understands the old form of a tool call', async () => {
    await using asking = await startAsking(answering({ function_call: { name: 'x', arguments: ['{', '}'] } }))
    const parts = await asking.ask()
    assert.deepEqual(
      calls(parts).map(({ name, arguments: text }) => [name, text]),
      [['x', '{}']],
    )
    const end = parts.at(-1)!
    assert.equal(end.type === 'end' && end.finish_reason, 'tool_calls')
  })

  for (const [what, script, usage] of [
    ['none', { usage: 'none' }, { input_tokens: 0, output_tokens: 0, cost: null }],
    ['zeros', { usage: 'zeros' }, { input_tokens: 0, output_tokens: 0, cost: null }],
    [
      'one in each chunk, with a cost',
      {
        events: [
          { choices: [{ delta: { content: 'a' } }], usage: { ...USED, completion_tokens: 1 } },
          { choices: [{ delta: {}, finish_reason: 'length' }], usage: { ...USED, cost: 0.25 } },
        ],
      },
      { input_tokens: 11, output_tokens: 7, cost: 0.25 },
    ],
  ] as readonly (readonly [string, Script, object])[]) {
    test(`takes the usage of a server that gives ${what}`, async () => {
      await using asking = await startAsking(answering(script))
      const end = (await asking.ask()).at(-1)!
      assert.deepEqual(end.type === 'end' && end.usage, usage)
    })
  }

  for (const [reason, expected] of [
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['eos', 'stop'],
  ] as const) {
    test(`ends as the server says: ${reason}`, async () => {
      await using asking = await startAsking(answering({ finish_reason: reason }))
      const end = (await asking.ask()).at(-1)!
      assert.equal(end.type === 'end' && end.finish_reason, expected)
    })
  }

  test('comes from a server that does not stream', async () => {
    const tool_calls = [{ id: 'a', name: 'x', arguments: '{}' }]
    const body = {
      choices: [
        { message: { content: 'Hi', tool_calls: [{ id: 'a', function: tool_calls[0] }] }, finish_reason: 'stop' },
      ],
      usage: USED,
    }
    await using asking = await startAsking(answering({ body: JSON.stringify(body) }))
    const parts = await asking.ask()
    assert.equal(textOf(parts), 'Hi')
    assert.deepEqual(calls(parts), tool_calls)
    assert.deepEqual(parts.at(-1), { ...END, finish_reason: 'tool_calls' })
  })

  test('ends where a server sends no [DONE]', async () => {
    await using asking = await startAsking(answering({ text: 'Yes', usage: USED, no_done: true }))
    assert.deepEqual(await asking.ask(), [{ type: 'text', text: 'Yes' }, END])
  })

  test('ends at [DONE], and its connection is used again', async () => {
    await using asking = await startAsking(answering({ text: 'Yes', usage: USED }))
    for (let times = 0; times < 4; times++) await asking.ask()
    assert.ok(asking.upstream.connections <= 2, `${asking.upstream.connections} connections`)
    assert.ok(asking.upstream.posts.every(({ gone_at }) => gone_at === null))
  })
})

describe('the bytes of a stream', () => {
  const TEXT = ['Zürich 😀', ' – «한국어»', ' e\u0301']
  const whole = { text: TEXT, usage: USED }

  for (const line_end of ['\n', '\r\n', '\r'] as const) {
    for (const comments of [false, true]) {
      const name = `${JSON.stringify(line_end)}${comments ? ' and comments' : ''}`
      test(`come one by one, with ${name}`, async () => {
        await using asking = await startAsking(answering({ ...whole, line_end, comments, split: 'every' }))
        const parts = await asking.ask()
        assert.equal(textOf(parts), TEXT.join(''))
        assert.deepEqual(parts.at(-1), END)
      })
    }
  }

  test('may come in two pieces, split at any offset', async () => {
    const events = [
      { choices: [{ delta: { content: 'ü😀\u2028한' } }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      '[DONE]',
    ]
    const length = Buffer.byteLength(
      events.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\r\n\r\n`).join(''),
    )
    const answer = (_: unknown, n: number): Script => ({ events, line_end: '\r\n', split: [n + 1] })
    await using asking = await startAsking({ answer })
    assert.ok(length > 100)
    for (let offset = 1; offset < length; offset++)
      assert.equal(textOf(await asking.ask()), 'ü😀\u2028한', `split at ${offset}`)
  })

  test('may lack the last line end', async () => {
    const body = 'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]'
    await using asking = await startAsking(answering({ body, content_type: 'text/event-stream' }))
    assert.equal(textOf(await asking.ask()), 'a')
  })

  for (const [what, script, fault, message] of [
    ['break off', { text: ['a', 'b'], cuts: 2 }, 'failed', /closed the connection/],
    ['end without an end', { events: [{ choices: [{ delta: { content: 'a' } }] }] }, 'failed', /incomplete answer/],
    ['are no JSON', { events: ['{"choices":'] }, 'failed', /invalid answer/],
    ['are a page', { body: '<html>', content_type: 'text/html' }, 'failed', /no valid completion/],
    [
      'are an error',
      { events: [{ choices: [{ delta: { content: 'a' } }] }, { error: { message: `key ${KEY}`, code: 500 } }] },
      'failed',
      /in the middle/,
    ],
    [
      'are an error of limits',
      { events: [{ error: { message: 'slow down', code: 'rate_limit_exceeded' } }] },
      'rate_limited',
      /too often/,
    ],
    ['are a line without an end', { events: ['{}'], floods: 'line' }, 'too_large', /too large/],
    ['stop', { text: ['a', 'b'], hangs: 2 }, 'timed_out', /stopped in the middle/],
    ['never begin', { hangs: 'head' }, 'timed_out', /did not start its answer/],
  ] as readonly (readonly [string, Script, ProviderFault, RegExp])[]) {
    test(`fail where they ${what}`, async () => {
      await using asking = await startAsking({ ...answering(script), times: { head_ms: 60, idle_timeout_ms: 60 } })
      await assert.rejects(asking.ask(), fails(fault, message))
      const [asked] = asking.upstream.posts
      if (script.floods || script.hangs !== undefined) await asked!.gone
    })
  }

  test('are not read after the reader has stopped', async () => {
    await using asking = await startAsking(answering({ text: ['a', 'b'], hangs: 3 }))
    const parts = asking.parts()
    await parts.next()
    await parts.return!()
    await asking.upstream.posts[0]!.gone
  })

  test('end within the turn in which the caller gives up', async () => {
    await using asking = await startAsking(answering({ text: ['a', 'b'], hangs: 3 }))
    const stop = new AbortController()
    const parts = asking.parts({}, stop.signal)
    await parts.next()
    await parts.next()
    const reading = parts.next()
    const reason = new Error('enough')
    stop.abort(reason)
    await assert.rejects(reading, reason)
    await asking.upstream.posts[0]!.gone
  })

  test('wait for their reader', async () => {
    const chunk = { choices: [{ delta: { content: 'x'.repeat(60_000) } }] }
    await using asking = await startAsking(answering({ events: [chunk], floods: true }))
    const parts = asking.parts()
    await parts.next()
    const [asked] = asking.upstream.posts
    let before = -1
    await until('the flood to stand', async () => {
      const stands = asked!.sent === before
      before = asked!.sent
      await new Promise((resolve) => setTimeout(resolve, 30))
      return stands
    })
    assert.ok(asked!.sent < 32 * 1024 * 1024, `${asked!.sent} bytes were sent`)
    await parts.return!()
    await asked!.gone
  })
})

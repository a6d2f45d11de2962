// The kept state of tool calls, such as thoughts, is only sent for the owner of the call.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { ToolCallStateCache } from '../../src/models/providers/shared/tool-call-state-cache.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startGoogle } from '../helpers/google-upstream.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { leastProcessorMs } from '../helpers/processor.ts'
import { startServer } from '../helpers/server.ts'
import type { Loose } from '../helpers/vendor-upstream.ts'
import { GOOGLE_KEY, KEY, partsOf, quickClient, requestOf } from './vendor-kit.ts'

const TOOLS = [{ type: 'function' as const, function: { name: 'f' } }]
const HELLO = { role: 'user' as const, content: 'hello' }

/** A conversation that continues after a tool call with this id. */
const behind = (id: string) => [
  HELLO,
  { role: 'assistant' as const, content: null, tool_calls: [{ id, type: 'function' as const, function: F }] },
  { role: 'tool' as const, tool_call_id: id, content: 'done' },
]
const F = { name: 'f', arguments: '{}' }

const vendors = {
  anthropic: {
    start: () =>
      startAnthropic({
        answer: ({ json }) =>
          json.messages.length > 1
            ? {}
            : {
                says: [
                  { thinking: ['private'], signature: 'sealed' },
                  { tool: 'f', id: 'guessed', input: ['{}'] },
                ],
              },
      }),
    provider: createAnthropicProvider,
    model: 'claude-opus-5-5',
    secret: 'ANTHROPIC_API_KEY',
    key: KEY,
  },
  google: {
    start: () =>
      startGoogle({
        answer: ({ json }) =>
          (json.contents ?? []).length > 1
            ? {}
            : { says: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'sealed' }] },
      }),
    provider: (options: Parameters<typeof createGoogleProvider>[0]) =>
      createGoogleProvider({ ...options, newId: () => 'guessed' }),
    model: 'gemini-3.8-flash',
    secret: 'GEMINI_API_KEY',
    key: GOOGLE_KEY,
  },
}

for (const [name, { start, provider, model, secret, key }] of Object.entries(vendors))
  describe(`the thoughts of a model of ${name} before a tool call`, () => {
    test('are sent back only for the same user in the same workspace', async () => {
      await using client = quickClient()
      await using upstream = await start()
      await using idp = await startIdentityProvider()
      await using server = await startServer({
        environment: idp.environment,
        providers: [provider({ client, base_url: upstream.base_url })],
      })
      const sent = async (claims: Parameters<typeof idp.token>[0], messages: unknown) => {
        const headers = { Authorization: `Bearer ${await idp.token(claims)}` }
        await call(server, 'PUT', `/api/secrets/${secret}`, { headers, body: { value: key } })
        const body = { model: `${name}/${model}`, messages, tools: TOOLS }
        const { status, text } = await call(server, 'POST', '/v1/chat/completions', { headers, body })
        assert.equal(status, 200, text)
        return JSON.stringify(upstream.posted.at(-1))
      }
      await sent({ sub: 'ada' }, [HELLO])
      for (const other of [{ sub: 'bob' }, { sub: 'ada', workspace_id: 'w' }])
        assert.doesNotMatch(await sent(other, behind('guessed')), /sealed|private/)
      assert.match(await sent({ sub: 'ada' }, behind('guessed')), /sealed/)
    })

    test('are not kept where the owner of the call is unknown', async () => {
      await using client = quickClient()
      await using upstream = await start()
      const asked = provider({ client, base_url: upstream.base_url })
      const ask = (messages: Loose) =>
        partsOf(asked, requestOf(model, { messages, tools: TOOLS }), key, undefined, null)
      await ask([HELLO])
      await ask(behind('guessed'))
      assert.doesNotMatch(JSON.stringify(upstream.posted.at(-1)), /sealed|private/)
    })
  })

describe('the cached state of tool calls', () => {
  test('belongs to one owner', () => {
    const memory = new ToolCallStateCache<string>()
    memory.forOwner('a').keep('id', 'of a')
    memory.forOwner('b').keep('id', 'of b')
    memory.forOwner(null).keep('id', 'of nobody')
    assert.deepEqual(
      ['a', 'b', 'c', null].map((owner) => memory.forOwner(owner).of('id')),
      ['of a', 'of b', null, null],
    )
  })

  test('is dropped for the owner with the most, the oldest first', () => {
    const memory = new ToolCallStateCache<string>(100)
    const [much, little] = [memory.forOwner('much'), memory.forOwner('little')]
    // Each entry takes ten characters.
    little.keep('l0', '123456')
    for (let at = 0; at < 50; at++) much.keep(`m${at % 10}`, '123456')
    assert.equal(little.of('l0'), '123456')
    const left = Array.from({ length: 10 }, (_, at) => much.of(`m${at}`) !== null)
    assert.deepEqual(left, [false, ...Array<boolean>(9).fill(true)])
    for (let at = 1; at < 10; at++) little.keep(`l${at}`, '123456')
    const count = ({ of }: typeof much, letter: string) =>
      Array.from({ length: 10 }, (_, at) => of(`${letter}${at}`)).filter((one) => one !== null).length
    assert.deepEqual([count(much, 'm'), count(little, 'l')], [5, 5])
  })

  test('is dropped for many calls in no more time per call than for few', () => {
    // Each entry takes about ten characters.
    const memory = new ToolCallStateCache<string>(1_000_000).forOwner('me')
    let calls = 0
    const keepMany = () => {
      for (let left = 100_000; left > 0; left--) memory.keep(`c${calls++}`, 'what')
    }
    keepMany()
    // A search for the oldest entry from the first place of the map would take seconds.
    const took = leastProcessorMs(500, keepMany)
    assert.ok(took < 500, `took ${took} ms`)
    assert.deepEqual([memory.of('c0'), memory.of(`c${calls - 1}`)], [null, 'what'])
  })
})

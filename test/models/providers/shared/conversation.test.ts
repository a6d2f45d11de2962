// A conversation reaches a vendor without loss: every text, call and result arrives once, in order, in a form that the vendor accepts.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Provider } from '../../../../src/models/provider.ts'
import { createAnthropicProvider } from '../../../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../../../src/models/providers/google/provider.ts'
import { startAnthropic } from '../../../helpers/anthropic-upstream.ts'
import { startGoogle } from '../../../helpers/google-upstream.ts'
import type { Loose, VendorUpstream } from '../../../helpers/vendor-upstream.ts'
import { type Asked, GOOGLE_KEY, KEY, partsOf, quickClient, requestOf } from '../../vendor-kit.ts'

type Messages = NonNullable<Asked['messages']>

/** One round: the texts of each side, and the number of tool calls. */
const round = fc.record({
  who: fc.constantFrom('user' as const, 'assistant' as const),
  texts: fc.integer({ min: 1, max: 3 }),
  calls: fc.integer({ min: 0, max: 3 }),
  parts: fc.boolean(),
  reversed: fc.boolean(),
})
const system = fc.array(fc.constantFrom('system' as const, 'developer' as const), { maxLength: 2 })

/** Every text, call and result has a unique mark: `<1>`, `<2>` and so on. */
function conversation(
  roles: ('system' | 'developer')[],
  rounds: (typeof round extends fc.Arbitrary<infer R> ? R : never)[],
) {
  let marks = 0
  const mark = () => `<${++marks}>`
  const messages: Messages = roles.map((role) => ({ role, content: mark() }))
  messages.push({ role: 'user', content: mark() })
  for (const { who, texts, calls, parts, reversed } of rounds) {
    const said = Array.from({ length: texts }, mark)
    const content = parts ? said.map((text) => ({ type: 'text' as const, text })) : said.join('')
    if (who === 'user') {
      messages.push({ role: who, content })
      continue
    }
    const tool_calls = Array.from({ length: calls }, (_, at) => ({
      id: `id${marks}-${at}`,
      type: 'function' as const,
      function: { name: `tool.${at}`, arguments: JSON.stringify({ at: mark() }) },
    }))
    messages.push({ role: who, content, tool_calls })
    const ids = tool_calls.map(({ id }) => id)
    for (const tool_call_id of reversed ? ids.reverse() : ids)
      messages.push({ role: 'tool', tool_call_id, content: mark() })
    messages.push({ role: 'user', content: mark() })
  }
  return { messages, marks: Array.from({ length: marks }, (_, at) => `<${at + 1}>`) }
}

const marksIn = (sent: Loose) => JSON.stringify(sent).match(/<\d+>/g) ?? []

describe('a conversation arrives whole', () => {
  const client = quickClient()
  const ends: AsyncDisposable[] = [client]
  const vendors: Record<string, { upstream: VendorUpstream; provider: Provider; key: string; model: string }> = {}
  before(async () => {
    const [claude, gemini] = [await startAnthropic(), await startGoogle()]
    ends.push(claude, gemini)
    vendors.anthropic = {
      upstream: claude,
      provider: createAnthropicProvider({ client, base_url: claude.base_url }),
      key: KEY,
      model: 'claude-opus-5-5',
    }
    vendors.google = {
      upstream: gemini,
      provider: createGoogleProvider({ client, base_url: gemini.base_url }),
      key: GOOGLE_KEY,
      model: 'gemini-3.8-flash',
    }
  })
  after(async () => {
    for (const end of ends) await end[Symbol.asyncDispose]()
  })

  for (const name of ['anthropic', 'google'])
    test(`at ${name}`, async () => {
      const { upstream, provider, key, model } = vendors[name]!
      await fc.assert(
        fc.asyncProperty(system, fc.array(round, { maxLength: 5 }), async (roles, rounds) => {
          const { messages, marks } = conversation(roles, rounds)
          // The server refuses wrong turns, ids and positions of results, as the real one does.
          await partsOf(provider, requestOf(model, { messages }), key)
          const { system, systemInstruction, messages: sent, contents } = upstream.posted.at(-1)
          assert.deepEqual(marksIn([system, systemInstruction, sent, contents]), marks)
        }),
        { numRuns: 150 },
      )
    })
})

// The built-in echo model.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ChatMessage } from '../../../generated/types.ts'
import type { CompletionPart } from '../../../src/models/provider.ts'
import { builtinProvider } from '../../../src/models/providers/builtin-echo.ts'
import { leavesLoopFree } from '../../helpers/loop.ts'
import { collected } from '../kit.ts'

const never = new AbortController().signal

async function answer(
  messages: ChatMessage[],
  max_output_tokens: number | null = null,
  signal = never,
): Promise<CompletionPart[]> {
  const request = { model: 'echo', messages, max_completion_tokens: max_output_tokens }
  return await collected(builtinProvider.complete(request, { credential: null, signal }))
}

const says = (content: string, role: ChatMessage['role'] = 'user') => ({ role, content }) as ChatMessage
const textOf = (parts: CompletionPart[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

describe('builtin/echo', () => {
  test('is listed as an echo, and costs nothing', async () => {
    const [model, ...others] = await builtinProvider.models({ credential: null, signal: never })
    assert.deepEqual(others, [])
    assert.equal(model!.id, 'builtin/echo')
    assert.match(model!.title, /offline; not a language model/)
    const price = { currency: 'USD', per_request: 0, per_million_input_tokens: 0, per_million_output_tokens: 0 }
    assert.deepEqual(model!.price, price)
    assert.equal(builtinProvider.credential, null)
  })

  test('repeats the last message of the user, word by word', async () => {
    const messages = [says('be short', 'system'), says('first'), says('no', 'assistant'), says(' two  words\n')]
    assert.deepEqual(await answer([...messages, says('later', 'assistant')]), [
      { type: 'text', text: ' two' },
      { type: 'text', text: '  words\n' },
      { type: 'end', usage: { input_tokens: 7, output_tokens: 2, cost: 0 }, finish_reason: 'stop' },
    ])
  })

  test('counts the words of a long message without blocking the event loop', async () => {
    const message = says('a '.repeat(1_000_000))
    await leavesLoopFree(async () => async () => {
      const [, end] = await answer([message], 1)
      assert.ok(end?.type === 'end' && end.usage.input_tokens === 1_000_000)
    })
  })

  test('searches `stop` strings without blocking the event loop', async () => {
    const stop = Array.from({ length: 16 }, (_, at) => `${'a'.repeat(180 + at)}b`)
    const asked = (ends: string[]) =>
      collected(
        builtinProvider.complete(
          { model: 'echo', messages: [says('a '.repeat(10) + 'a'.repeat(4_000_000))], max_tokens: 1, stop: ends },
          { credential: null, signal: never },
        ),
      )
    await leavesLoopFree(async () => async () => {
      assert.equal(textOf(await asked(stop)), 'a')
    })
    // The string would be compared with every part of the message.
    const endless = `${'a'.repeat(100)}b${'a'.repeat(100)}`
    await assert.rejects(asked([endless]), { fault: 'unsupported', param: 'stop', message: /more than 200 characters/ })
  })

  test('stops at the limit, and only there', async () => {
    const end = (output_tokens: number, finish_reason: string) => ({
      type: 'end',
      usage: { input_tokens: 3, output_tokens, cost: 0 },
      finish_reason,
    })
    for (const [limit, text, last] of [
      [1, 'a', end(1, 'length')],
      [2, 'a b', end(2, 'length')],
      [3, 'a b c', end(3, 'stop')],
    ] as const) {
      const parts = await answer([says('a b c')], limit)
      assert.equal(textOf(parts), text)
      assert.deepEqual(parts.at(-1), last)
    }
  })

  test('repeats any text unchanged, and never counts zero tokens for a text', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '🙂', ' ', '\n', '\u00a0'), maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const parts = await answer([says(given)])
        assert.equal(textOf(parts), given)
        const { usage } = parts.at(-1) as Extract<CompletionPart, { type: 'end' }>
        assert.equal(usage.output_tokens, parts.length - 1)
        assert.equal(usage.output_tokens > 0, given !== '')
        assert.equal(usage.input_tokens, builtinProvider.countTokens(given))
        assert.deepEqual(await answer([says(given)]), parts)
      }),
    )
  })

  test('ends at its signal, and does not block the event loop', async () => {
    const abort = new AbortController()
    const long = 'word '.repeat(100_000)
    setImmediate(() => abort.abort(new Error('enough')))
    await assert.rejects(answer([says(long)], null, abort.signal), /enough/)
  })
})

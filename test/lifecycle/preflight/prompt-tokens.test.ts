// Tests that the tokens of prompts are counted if they cost something, once for each prompt, in pieces, and up to a limit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PromptTokenCounter } from '../../../src/lifecycle/preflight/prompt-tokens.ts'
import type { Provider } from '../../../src/models/provider.ts'
import { graph, node } from '../../engine/kit.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { preflightOf, requirementsOf } from '../preflight-kit.ts'

const counted: number[] = []
const models = {
  flat: dollars(0, 0, 1),
  output: dollars(0, 1),
  free: dollars(0, 0),
  unpriced: null,
  tokens: dollars(1, 0),
}
const provider: Provider = {
  ...pricedProvider({ models, max_output_tokens: 50 }),
  countTokens(text) {
    counted.push(text.length)
    return text.length
  },
}

let server: TestServer
before(async () => {
  server = await startServer({ providers: [provider] })
})
after(() => server[Symbol.asyncDispose]())

function asking(model: string, ids: string[], data: Record<string, unknown> = {}) {
  const nodes = ids.map((id) =>
    node(id, 'chat.Complete', { model: `priced/${model}`, prompt: 'x'.repeat(250_000), ...data }),
  )
  return preflightOf(server, graph(nodes, []))
}

test('tokens are counted only for models that charge for them, and once for the same prompt', async () => {
  counted.length = 0
  for (const model of ['flat', 'output', 'free', 'unpriced', 'missing']) await asking(model, ['a', 'b'])
  assert.deepEqual(counted, [])
  const { cost } = await asking('tokens', ['a', 'b', 'c'])
  assert.deepEqual(counted, [100_000, 100_000, 50_000])
  assert.equal(cost!.amount, 0.75)
})

test('between the pieces of a prompt other work gets its turn', async () => {
  let passed = 0
  const turns = { over: true, next: async () => void passed++ }
  await new PromptTokenCounter(turns).count(provider, ['x'.repeat(2_000_000)])
  // Each piece is looked up, and then counted.
  assert.equal(passed, 40)
})

test('characters are counted up to a limit, and the cost of longer prompts is not known', async () => {
  const tokens = new PromptTokenCounter({ over: false, next: async () => {} })
  const [long, longer] = [['a'.repeat(12_000_000)], ['b'.repeat(12_000_000)]]
  const first = await tokens.count(provider, long)
  counted.length = 0
  const second = await tokens.count(provider, longer)
  assert.deepEqual([first, second, await tokens.count(provider, long), counted], [12_000_000, null, 12_000_000, []])
})

test('texts are counted as one text with newlines between them, in the same pieces', async () => {
  const tokens = new PromptTokenCounter({ over: false, next: async () => {} })
  for (const texts of [
    ['a', 'b'],
    ['', ''],
    ['a'.repeat(99_999), 'b'],
    ['a'.repeat(150_000), '', 'b'.repeat(49_998)],
  ]) {
    counted.length = 0
    assert.equal(await tokens.count(provider, texts), texts.join('\n').length)
    assert.deepEqual(counted.slice(0, -1), Array(counted.length - 1).fill(100_000))
  }
  counted.length = 0
  assert.equal(await tokens.count(provider, ['a\nb']), 3)
  assert.deepEqual(counted, [])
})

test('after many long prompts no more are read, even if they were counted', async () => {
  const tokens = new PromptTokenCounter({ over: false, next: async () => {} })
  const texts = ['a'.repeat(10_000_000)]
  let known = 0
  while (!tokens.isFull) if ((await tokens.count(provider, texts)) !== null) known++
  assert.deepEqual([known, await tokens.count(provider, ['b'])], [20, null])
})

test('a model that gives fewer tokens than a node asks for is not available for it', async () => {
  const of = (max_output_tokens: number) => asking('flat', ['a'], { max_output_tokens })
  assert.deepEqual(requirementsOf(await of(50)), ['model priced/flat available true', 'provider priced available true'])
  const summary = await of(51)
  assert.equal(summary.runnable, false)
  assert.deepEqual(requirementsOf(summary)[0], 'model priced/flat unavailable true')
  assert.equal(summary.requirements[0]!.message, 'The model gives at most 50 tokens, and not 51.')
})

// A long answer of a model server is read in parts, and other work runs between them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelService } from '../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import { createBuiltinRegistry } from '../../src/models/providers/registry.ts'
import { collected } from './kit.ts'
import { answering, KEY, startAsking } from './openai-kit.ts'

const LONGEST = 600_000
const { signal } = new AbortController()

function parsedAtOnce(calls: readonly { readonly arguments: readonly unknown[] }[]): number {
  return Math.max(...calls.map(({ arguments: [text] }) => String(text).length))
}

async function asking(
  body: string,
  ask: (models: ReturnType<ModelService['accessFor']>) => Promise<void>,
): Promise<void> {
  await using it = await startAsking(answering({ body, content_type: 'application/json' }))
  const models = new ModelService({
    providers: createBuiltinRegistry([it.provider]),
    model_lists: new ModelListCache({ now: () => 0 }),
  })
  await ask(models.accessFor(createUnbilledContext(() => KEY)))
}

test('a long answer with vectors is read in parts', async (t) => {
  const vector = Array.from({ length: 8_192 }, (_, at) => at / 7)
  const data = Array.from({ length: 50 }, (_, index) => ({ object: 'embedding', index, embedding: vector }))
  await asking(JSON.stringify({ object: 'list', data }), async (models) => {
    const parse = t.mock.method(JSON, 'parse')
    const body = { model: 'acme/text-embedding-3-small', input: data.map(() => 'a') }
    const vectors = await models.embed({ body, signal })
    assert.deepEqual(vectors[49], vector)
    assert.equal(vectors.length, 50)
    const longest = parsedAtOnce(parse.mock.calls)
    assert.ok(longest < LONGEST, `${longest} characters at once`)
  })
})

test('a long completion that is no stream is read in parts', async (t) => {
  const message = { role: 'assistant', content: 'a line of text\n'.repeat(200_000) }
  const completion = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
  await asking(JSON.stringify(completion), async (models) => {
    const parse = t.mock.method(JSON, 'parse')
    const body = { model: 'acme/gpt-4o', messages: [{ role: 'user' as const, content: 'a' }] }
    const parts = await collected(models.complete({ body, signal }))
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    assert.equal(text, message.content)
    const longest = parsedAtOnce(parse.mock.calls)
    assert.ok(longest < LONGEST, `${longest} characters at once`)
  })
})

// A long request to a model server of any kind is written in steps, and other work runs between them.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelService } from '../../src/models/calls/model-service.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import { createBuiltinRegistry } from '../../src/models/providers/registry.ts'
import { KINDS } from './contract-kit.ts'
import { collected } from './kit.ts'
import { quickClient } from './vendor-kit.ts'

const client = quickClient()
after(() => client[Symbol.asyncDispose]())

const LONG = 'a line of text\n'.repeat(200_000)

describe('a long request', () => {
  for (const [kind, { model, key, remote, start }] of Object.entries(KINDS))
    test(`to a provider of the kind ${kind} is written in parts`, { skip: !remote && 'it is not sent' }, async (t) => {
      await using it = await start(client, 'answers')
      const models = new ModelService({
        providers: createBuiltinRegistry([it.provider]),
        model_lists: new ModelListCache({ now: () => 0 }),
      }).accessFor(createUnbilledContext(() => key))
      const stringify = t.mock.method(JSON, 'stringify')
      const messages = [{ role: 'user' as const, content: LONG }]
      const parts = await collected(
        models.complete({
          body: { model: `${it.provider.name}/${model}`, messages },
          signal: new AbortController().signal,
        }),
      )
      assert.equal(parts.at(-1)?.type, 'end')
      // The test's server writes its answers in the same process.
      const own = stringify.mock.calls.filter(({ stack }) => !stack.stack?.includes('/test/helpers/'))
      const longest = Math.max(...own.map(({ result }) => result?.length ?? 0))
      assert.ok(longest < 600_000, `${longest} characters at once`)
    })
})

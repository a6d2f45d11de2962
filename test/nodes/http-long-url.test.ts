// A URL with a secret that is too long is refused before it is parsed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import { FiringSecrets, fillUrlSecrets } from '../../src/nodes/http/secret-placeholders.ts'
import { runToCompletion, type Steps } from '../../src/shared/time-slices.ts'
import { takesLess } from '../helpers/patience.ts'

const context = {
  inSlices: async <T>(steps: Steps<T>) => runToCompletion(steps),
  isConnected: () => false,
  services: { secret: async () => 'abcdefghij' },
} as unknown as NodeContext

test('a URL that is too long is refused at once', async () => {
  const url = `http://127.0.0.1/{{secret:KEY}}${'é'.repeat(5_000_000)}`
  await takesLess(200, () =>
    assert.rejects(fillUrlSecrets(new FiringSecrets(context), url), /more than 16,384 characters/),
  )
  assert.equal(await fillUrlSecrets(new FiringSecrets(context), 'http://a.b/{{secret:KEY}}'), 'http://a.b/abcdefghij')
})

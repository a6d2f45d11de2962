// A URL with a secret in it that is too long is refused before anybody reads it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeContext } from '../../src/engine/node-type.ts'
import { FiringSecrets, fillUrl } from '../../src/nodes/http-secrets.ts'
import { finish, type Steps } from '../../src/time-slices.ts'
import { takesLess } from '../helpers/patience.ts'

const context = {
  inSlices: async <T>(steps: Steps<T>) => finish(steps),
  isConnected: () => false,
  services: { secret: async () => 'abcdefghij' },
} as unknown as NodeContext

test('a URL that is too long is refused at once', async () => {
  const url = `http://127.0.0.1/{{secret:KEY}}${'é'.repeat(5_000_000)}`
  await takesLess(200, () => assert.rejects(fillUrl(new FiringSecrets(context), url), /more than 16,384 characters/))
  assert.equal(await fillUrl(new FiringSecrets(context), 'http://a.b/{{secret:KEY}}'), 'http://a.b/abcdefghij')
})

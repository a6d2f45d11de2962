// Refusals and failures of a model server: the caller gets the right fault, in a message that never contains a key.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ProviderError, type ProviderFault } from '../../../../src/models/provider-error.ts'
import type { Script } from '../../../helpers/upstream.ts'
import { answering, KEY, startAsking } from '../../openai-kit.ts'

async function failure(script: Script, credential: string | null = KEY): Promise<ProviderError> {
  await using asking = await startAsking({ ...answering(script), credential })
  const error = await asking.ask().then(
    () => null,
    (thrown) => thrown,
  )
  assert.ok(error instanceof ProviderError, String(error))
  return error
}

const MARKED = 'sk-secret-of-the-upstream'

const CASES: readonly (readonly [what: string, script: Script, fault: ProviderFault, message: RegExp])[] = [
  [
    'a wrong request',
    { error: { message: "Invalid value: 'x'", param: 'messages' } },
    'rejected',
    /Invalid value: 'x'/,
  ],
  ['a request that is too long', { status: 413, error: { message: 'too long' } }, 'rejected', /too long/],
  [
    'a request that is well-formed but unwanted',
    { status: 422, body: '{"detail":"no such field"}' },
    'rejected',
    /no such field/,
  ],
  ['a request without a reason', { status: 400, body: '' }, 'rejected', /status 400/],
  ['a request with an HTML page', { status: 400, body: '<html>nginx</html>' }, 'rejected', /status 400/],
  ['a request with a plain text as the error', { status: 400, body: '{"error":"bad thing"}' }, 'rejected', /bad thing/],
  [
    'a request with an error in a list',
    { status: 400, body: '[{"error":{"message":"bad thing"}}]' },
    'rejected',
    /bad thing/,
  ],
  [
    'a model by an error code',
    { status: 404, error: { message: 'gone', code: 'model_not_found' } },
    'not_found',
    /no such model/,
  ],
  [
    'a model by a message',
    { status: 404, error: { message: 'model "x" not found, try pulling it first' } },
    'not_found',
    /pulling/,
  ],
  ['something else that is missing', { status: 404, error: { message: 'no file f' } }, 'rejected', /no file f/],
  ['a route', { status: 404, body: '404 page not found' }, 'failed', /no such route at its base URL/],
  ['a route with an error in JSON', { status: 404, body: '{"detail":"Not Found"}' }, 'failed', /no such route/],
  ['a key', { status: 401, error: { message: MARKED } }, 'no_key', /refused the key in the secret "ACME_API_KEY"/],
  [
    'a permission of a key',
    { status: 403, error: { message: MARKED } },
    'no_key',
    /does not allow this with the key in the secret "ACME_/,
  ],
  ['too many requests', { status: 429, error: { message: MARKED }, retry_after: '17' }, 'rate_limited', /too often/],
  [
    'an empty account',
    { status: 429, error: { message: MARKED, code: 'insufficient_quota' } },
    'rate_limited',
    /quota/,
  ],
  ['an unpaid account', { status: 402, error: { message: MARKED } }, 'failed', /credit/],
  ['after a time', { status: 408, error: { message: MARKED } }, 'timed_out', /took too long/],
  ['because it fails', { status: 500, error: { message: MARKED } }, 'failed', /failed to answer \(status 500\)/],
  ['because it is overloaded', { status: 503, body: MARKED, retry_after: '60' }, 'failed', /status 503/],
  ['an operation that it does not support', { status: 501, error: { message: MARKED } }, 'failed', /does not support/],
  ['to answer at this URL', { status: 307, body: MARKED, headers: { location: '/x' } }, 'failed', /check its base URL/],
]

describe('a server of models that refuses', () => {
  for (const [what, script, fault, message] of CASES) {
    test(what, async () => {
      const error = await failure(script)
      assert.equal(error.fault, fault)
      assert.match(error.message, message)
      assert.match(error.message, /^The provider "acme" /)
      assert.ok(!error.message.includes(MARKED) && !error.message.includes(KEY))
    })
  }

  test('names the field that causes the error', async () => {
    const { param } = await failure({ error: { message: 'no', param: 'temperature' } })
    assert.equal(param, 'temperature')
  })

  for (const [header, seconds] of [
    [{ 'retry-after': '17' }, 17],
    [{ 'retry-after': '2.4' }, 3],
    [{ 'retry-after-ms': '2500', 'retry-after': '9' }, 3],
    [{ 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }, 3_600],
    [{ 'retry-after': '99999999' }, 86_400],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ] as const) {
    test(`says when to try again: ${JSON.stringify(Object.keys(header))} ${seconds}`, async () => {
      const { retry_after_seconds } = await failure({ status: 429, error: { message: 'no' }, headers: { ...header } })
      if (seconds === 3_600) assert.ok(retry_after_seconds! > 3_500 && retry_after_seconds! <= 3_600)
      else assert.equal(retry_after_seconds, seconds)
    })
  }

  test('shows no key from its message, in any form, and cuts a long text', async () => {
    const said = `You sent ${KEY}, or ${Buffer.from(KEY).toString('base64')}: ${'x'.repeat(5_000)}`
    const { message, cause } = await failure({ error: { message: said } })
    assert.ok(message.length < 700)
    for (const text of [message, String(cause)]) {
      assert.ok(!text.includes(KEY) && !text.includes(Buffer.from(KEY).toString('base64')))
      assert.match(text, /You sent \*\*\*/)
    }
  })

  const codes = [...KEY].map((char) => char.charCodeAt(0))
  for (const [how, written] of [
    ['each character escaped', codes.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join('')],
    ['one character escaped', KEY.replace('k', '\\u006B')],
    ['escaped twice', KEY.replace('k', '\\\\u006b')],
    ['escaped as in HTML', codes.map((code) => `&#${code};`).join('')],
    ['escaped as in URLs', codes.map((code) => `%${code.toString(16)}`).join('')],
  ] as const) {
    test(`shows no key from its message with ${how}, in any field`, async () => {
      const body = `{"error":{"message":"bad ${written}","param":"${written}","code":"${written}"}}`
      const { message, param, cause } = await failure({ status: 400, body })
      const shown = `${message} ${param} ${cause}`
      assert.ok(!shown.includes(KEY) && !shown.includes(written) && !shown.includes(JSON.parse(`"${written}"`)), shown)
    })
  }

  test('and requires a key that was not sent', async () => {
    const { fault, message } = await failure({ status: 401, error: { message: 'no key' } }, null)
    const cure = "Set it with PUT /api/secrets/ACME_API_KEY, or ACME_API_KEY in the server's environment."
    assert.deepEqual([fault, message], ['no_key', `The provider "acme" needs the secret "ACME_API_KEY". ${cure}`])
  })

  test('gets no request with a key that no header can carry', async () => {
    const key = 'sk-line\nbreak'
    await using asking = await startAsking({ credential: key })
    await assert.rejects(asking.ask(), (error: ProviderError) => {
      assert.equal(error.fault, 'no_key')
      return !error.message.includes('break')
    })
    assert.equal(asking.upstream.requests.length, 0)
  })

  test('and never ends its error body is not waited for', async () => {
    const script: Script = { status: 400, events: ['{}'], floods: 'line' }
    const { fault } = await failure(script)
    assert.equal(fault, 'rejected')
  })
})

// The shared parts of vendors' providers: names of tools, URLs with a version, and keys that no header can carry.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { ProviderError } from '../../src/models/provider-error.ts'
import { createAnthropicProvider } from '../../src/models/providers/anthropic/provider.ts'
import { createGoogleProvider } from '../../src/models/providers/google/provider.ts'
import { estimateTokensByBytes } from '../../src/models/providers/shared/token-estimate.ts'
import { ToolNameMapping } from '../../src/models/providers/shared/tool-name-mapping.ts'
import { toVendorError } from '../../src/models/providers/shared/vendor-errors.ts'
import { withApiVersion } from '../../src/models/providers/shared/vendor-http.ts'
import { UpstreamClient } from '../../src/net/upstream/client.ts'
import { UpstreamFailure, type UpstreamFault } from '../../src/net/upstream/failure.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startGoogle } from '../helpers/google-upstream.ts'
import { takesLess } from '../helpers/patience.ts'
import { startVendor } from '../helpers/vendor-upstream.ts'
import { blames, GOOGLE_KEY, KEY, partsOf, requestOf } from './vendor-kit.ts'

const client = new UpstreamClient()
after(() => client[Symbol.asyncDispose]())

test('names of tools become valid and unique for the vendor, and each is mapped back', () => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-zA-Z0-9_.-]{1,128}$/),
    fc.constantFrom('a.b', 'a_b', 'a_b_2', '_a', '1', '_1', '.', '..', '-'),
  )
  for (const pattern of [/^[a-zA-Z0-9_-]{1,64}$/, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/])
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 20 }), (all) => {
        const names = new ToolNameMapping(pattern, all)
        const out = all.map((one) => names.toVendorName(one))
        for (const one of out) assert.match(one, pattern)
        assert.equal(new Set(out).size, all.length)
        assert.deepEqual(
          out.map((one) => names.fromVendorName(one)),
          all,
        )
        assert.deepEqual(
          all.filter((one) => pattern.test(one) && names.toVendorName(one) !== one),
          [],
        )
      }),
    )
})

test('many names with the same valid form take a short time', async () => {
  const all = Array.from({ length: 10_000 }, (_, at) => `${String.fromCodePoint(0x4e00 + at)}!`)
  await takesLess(500, () => {
    const names = new ToolNameMapping(/^[a-zA-Z0-9_-]{1,64}$/, ['___2', ...all])
    assert.deepEqual(
      [...all.slice(0, 3), ...all.slice(-1)].map((one) => names.toVendorName(one)),
      ['__', '___3', '___4', '___10001'],
    )
  })
})

test('URLs have the version of the protocol once', () => {
  assert.equal(withApiVersion('https://api.anthropic.com', 'v1'), 'https://api.anthropic.com/v1')
  assert.equal(withApiVersion('https://api.anthropic.com/v1/', 'v1'), 'https://api.anthropic.com/v1')
  assert.equal(withApiVersion('http://proxy/google/v1alpha', 'v1beta'), 'http://proxy/google/v1alpha')
  assert.equal(withApiVersion('http://proxy/v1/google', 'v1beta'), 'http://proxy/v1/google/v1beta')
})

test('tokens are estimated by bytes', () => {
  assert.deepEqual(['', 'a', 'abcd', 'abcde', '東京'].map(estimateTokensByBytes), [0, 1, 1, 2, 2])
})

test('errors of the connection have the right fault', () => {
  const failure = (fault: UpstreamFault) => toVendorError({ name: 'x' }, new UpstreamFailure(fault, 'went wrong')).fault
  const faults = ['silent', 'too_large', 'refused', 'reset', 'broken'] as const
  assert.deepEqual(faults.map(failure), ['timed_out', 'too_large', 'failed', 'failed', 'failed'])
  const own = new ProviderError('rejected', 'no')
  assert.equal(toVendorError({ name: 'x' }, own), own)
})

describe('a key that no header can carry', () => {
  for (const [name, start, provider] of [
    ['anthropic', startAnthropic, createAnthropicProvider],
    ['google', startGoogle, createGoogleProvider],
  ] as const)
    test(`is not sent to ${name}`, async () => {
      await using upstream = await start()
      const asked = provider({ client, base_url: upstream.base_url })
      for (const key of ['with\nline', 'schlüssel', 'two words', ''])
        await assert.rejects(partsOf(asked, requestOf('m'), key), blames('no_key', null, /a header cannot carry/))
      assert.equal(upstream.requests.length, 0)
    })
})

test('a key is sent without surrounding white space', async () => {
  await using claude = await startAnthropic()
  await using gemini = await startGoogle()
  await partsOf(
    createAnthropicProvider({ client, base_url: claude.base_url }),
    requestOf('claude-opus-5-5'),
    ` ${KEY}\n`,
  )
  const google = createGoogleProvider({ client, base_url: gemini.base_url })
  await google.models({ credential: `\t${GOOGLE_KEY} `, signal: new AbortController().signal })
  assert.equal(claude.requests[0]!.headers['x-api-key'], KEY)
  assert.equal(gemini.requests[0]!.headers['x-goog-api-key'], GOOGLE_KEY)
})

test('a failed list is not retried, and the next call requests it again', async () => {
  await using upstream = await startVendor(() => ({ status: 503, body: 'no' }))
  const { signal } = new AbortController()
  for (const provider of [createAnthropicProvider, createGoogleProvider])
    await assert.rejects(provider({ client, base_url: upstream.base_url }).models({ credential: KEY, signal }))
  assert.equal(upstream.requests.length, 2)
})

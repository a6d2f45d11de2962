// What a report shows of the credentials that a judgement was given: nothing, wherever a server repeats them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createCredentialRedactor } from '../../../src/conformance/server/credential-redaction.ts'

const TOKEN = 'ntk_0123/and "more"'

describe('a credential', () => {
  const hide = createCredentialRedactor([TOKEN, null, 'other-token-4711'])

  test('is hidden in texts, names and values', () => {
    const seen = { [`x ${TOKEN}`]: [{ deep: `other-token-4711 ${TOKEN}` }, 7, true, null] }
    assert.deepEqual(hide.evidence({ finding: `it is ${TOKEN}`, request: undefined, answer: seen }), {
      finding: 'it is [redacted]',
      request: undefined,
      answer: { 'x [redacted]': [{ deep: '[redacted] [redacted]' }, 7, true, null] },
    })
  })

  test('is hidden as it stands in URLs and in JSON', () => {
    const forms = [encodeURIComponent(TOKEN), JSON.stringify(TOKEN).slice(1, -1)]
    assert.equal(
      hide.text(`/ws?api_key=${forms[0]}&b {"a":"${forms[1]}"}`),
      '/ws?api_key=[redacted]&b {"a":"[redacted]"}',
    )
  })

  test('is hidden where it was cut off', () => {
    assert.equal(hide.text(`the answer is ${TOKEN.slice(0, 12)}`), 'the answer is [redacted]')
    assert.equal(hide.text(`the answer is ${TOKEN.slice(0, 7)}`), `the answer is ${TOKEN.slice(0, 7)}`)
  })

  test('of a few characters is not looked for', () => {
    const answer = { status: 'a token' }
    assert.equal(createCredentialRedactor(['a token']).evidence({ finding: '', answer }).answer, answer)
  })
})

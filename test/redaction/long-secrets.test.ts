// Long secrets are found like short ones, and their forms are not all encoded for a text that has only their prefix.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Redactor } from '../../src/redaction/redactor.ts'
import { takesLess } from '../helpers/patience.ts'

const OWNER = 'owner'
const LENGTHS = [287, 289, 1_055, 1_058, 8_220, 8_230, 65_000]
/** They share a prefix. */
const alike = (length: number, last: string) => `${'őłé"+\\'.repeat(12_000).slice(0, length)}${last}`

describe('a long secret', () => {
  const redactor = new Redactor()
  const secrets = LENGTHS.flatMap((length) => ['one', 'two'].map((last) => alike(length, last)))
  for (const secret of secrets) redactor.add(secret, OWNER)
  const own = redactor.forOwner(OWNER)

  test('is found in each form among others with the same prefix', () => {
    for (const secret of secrets) {
      const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
      for (const form of forms) assert.equal(own.text(`a ${form} z`), 'a [redacted] z')
      assert.equal(own.text(`${secret} `.repeat(3)), '[redacted] '.repeat(3))
    }
    assert.equal(own.text(alike(8_225, '')), alike(8_225, ''))
  })

  test('is found in pieces, and replaced if it is cut off', () => {
    for (const secret of secrets) {
      for (const size of [100, 1_000, 9_000]) {
        const pieces = own.createStreamReplacer()
        const text = `a ${secret} z`
        let told = ''
        for (let at = 0; at < text.length; at += size) told += pieces.push(text.slice(at, at + size), 'more')
        assert.equal(told + pieces.push('', 'none'), 'a [redacted] z')
      }
      assert.equal(own.message(`"${secret.slice(0, -4)}…" is none`), '"[redacted]…" is none')
    }
  })

  test('is no longer replaced after its removal', () => {
    const some = new Redactor()
    for (const secret of secrets) some.add(secret, OWNER)
    for (const secret of secrets.slice(1)) some.remove(secret, OWNER)
    assert.equal(
      some.forOwner(OWNER).text(`${secrets[0]} ${secrets[1]} ${secrets[9]}`),
      `[redacted] ${secrets[1]} ${secrets[9]}`,
    )
  })
})

test('a text with the prefix of a megabyte of secrets is searched quickly', async () => {
  for (const first of [(at: number) => `${at}`, () => '']) {
    const secrets = Array.from({ length: 12 }, (_, at) => first(at + 10) + alike(65_000, `${at + 10}`))
    const begins = secrets.map((secret) => secret.slice(0, 100))
    const written = [JSON.stringify, encodeURIComponent, (text: string) => Buffer.from(text).toString('base64')]
    const ascii = (text: string) =>
      JSON.stringify(text).replaceAll(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const forms = begins.flatMap((text) => [
      text,
      ...[...written, ascii].map((write) => write(text)),
      JSON.stringify(ascii(text)),
    ])
    const text = forms.join(' ')
    await takesLess(200, () => {
      const redactor = new Redactor()
      for (const secret of secrets) redactor.add(secret, OWNER)
      const own = redactor.forOwner(OWNER)
      assert.equal(own.text(text), text)
      assert.equal(own.createStreamReplacer().push(text, 'none'), text)
    })
  }
})

// The memory that each form of a secret takes, for all kinds of secrets.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redactor } from '../../src/redaction/redactor.ts'
import { heldBytes } from '../helpers/heap.ts'

const SECRETS = 200
/** In bytes. Structures that nearly no form uses took as much again. */
const MOST_OF_ONE = 1_400

const KINDS: Readonly<Record<string, (at: number) => string>> = {
  'of many lines': (at) => Array.from({ length: 64 }, (_, line) => `"${at}-${line}é`.padEnd(16, '/')).join('\n'),
  'that JSON and URLs write in other ways': (at) => `"${at}é/'${'word & word/'.repeat(20)}`,
}

for (const [kind, secretOf] of Object.entries(KINDS))
  test(`each form of secrets ${kind} takes little memory`, () => {
    const redactor = new Redactor()
    redactor.add('the first one', 'owner')
    const before = heldBytes()
    let forms = 0
    for (let at = 0; at < SECRETS; at++) {
      redactor.add(secretOf(at), 'owner')
      forms += redactor.countForms(secretOf(at))
    }
    const ofOne = (heldBytes() - before) / forms
    assert.ok(forms > 40 * SECRETS, `${forms} forms`)
    assert.ok(ofOne < MOST_OF_ONE, `${Math.round(ofOne)} bytes for each of ${forms} forms`)
    assert.equal(redactor.forOwner('owner').text(secretOf(1)), '[redacted]')
  })

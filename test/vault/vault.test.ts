// Tests sealed bytes: their format, what they are bound to, and that a change of any byte is detected.
import assert from 'node:assert/strict'
import { createDecipheriv, createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readKeyId, Vault, VaultError } from '../../src/vault/vault.ts'
import { scaled } from '../helpers/scale.ts'

const MASTER = Buffer.from('a master key for the tests only.')
const FINGERPRINT = '74d05fc9326960b9'
/** `{"n":1}` for the purpose `journal` in the context `12/0`. */
const SEALED = '0174d05fc9dba50d23b4f8c3ea5f47134d589e379b34a8adfaa525af1acbb61dbf79fdcf7511494f'

/** HKDF-SHA256 as RFC 5869 defines it, for one block. */
function hkdf(master: Uint8Array, info: string): Buffer {
  const extracted = createHmac('sha256', 'svc vault').update(master).digest()
  return createHmac('sha256', extracted)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
const bytes = (plain: string) => Buffer.from(plain)

describe('a vault', () => {
  test('distinguishes its key by a fingerprint that is derived like every key', () => {
    assert.equal(new Vault(MASTER).fingerprint, FINGERPRINT)
    assert.equal(hkdf(MASTER, 'fingerprint').toString('hex', 0, 8), FINGERPRINT)
    assert.equal(new Vault(MASTER).key_id, FINGERPRINT.slice(0, 8))
    assert.deepEqual(Buffer.from(new Vault(MASTER).signingKey('storage')), hkdf(MASTER, 'sign storage'))
    assert.notEqual(new Vault(bytes('a master key for the tests, too.')).fingerprint, FINGERPRINT)
  })

  test('opens what an earlier version has sealed', () => {
    assert.equal(text(new Vault(MASTER).cipher('journal').open(Buffer.from(SEALED, 'hex'), '12/0')), '{"n":1}')
  })

  test('seals as AES-256-GCM under a key of the purpose, with the header and the context authenticated', () => {
    const sealed = Buffer.from(new Vault(MASTER).cipher('journal').seal(bytes('content'), 'row 7'))
    assert.equal(sealed.toString('hex', 0, 5), `01${FINGERPRINT.slice(0, 8)}`)
    const decipher = createDecipheriv('aes-256-gcm', hkdf(MASTER, 'seal journal'), sealed.subarray(5, 17))
    decipher.setAAD(Buffer.concat([sealed.subarray(0, 5), bytes('row 7')])).setAuthTag(sealed.subarray(-16))
    assert.equal(decipher.update(sealed.subarray(17, -16), undefined, 'utf8') + decipher.final('utf8'), 'content')
  })

  test('gives the same cipher for the same purpose, and keeps its key when the given bytes change', () => {
    const master = Buffer.from(MASTER)
    const vault = new Vault(master)
    master.fill(0)
    assert.equal(vault.cipher('a'), vault.cipher('a'))
    assert.notEqual(vault.cipher('a'), vault.cipher('b'))
    assert.equal(text(vault.cipher('journal').open(Buffer.from(SEALED, 'hex'), '12/0')), '{"n":1}')
  })
})

describe('sealed bytes', () => {
  const cipher = new Vault(MASTER).cipher('journal')

  test('give back whatever was sealed, 33 bytes longer, in any context', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4096 }), fc.string({ unit: 'binary' }), (plain, context) => {
        const sealed = cipher.seal(plain, context)
        assert.equal(sealed.length, plain.length + 33)
        assert.deepEqual(Uint8Array.from(cipher.open(sealed, context)), plain)
        assert.deepEqual(Uint8Array.from(cipher.open(Uint8Array.from(sealed), context)), plain)
      }),
      { numRuns: scaled(100) },
    )
  })

  test('open alike as a view into other bytes', () => {
    const sealed = cipher.seal(bytes('content'), 'c')
    const around = new Uint8Array(sealed.length + 20).fill(7)
    around.set(sealed, 11)
    assert.equal(text(cipher.open(around.subarray(11, 11 + sealed.length), 'c')), 'content')
  })

  test('differ each time, over more than one filling of the pool of nonces', () => {
    const nonces = new Set(Array.from({ length: 1_000 }, () => text(cipher.seal(bytes(''), '').subarray(5, 17))))
    assert.equal(nonces.size, 1_000)
  })

  test('do not open once any bit of any byte has changed', () => {
    const sealed = cipher.seal(bytes('content'), 'c')
    for (let at = 0; at < sealed.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = Uint8Array.from(sealed)
        changed[at]! ^= 1 << bit
        assert.throws(() => cipher.open(changed, 'c'), VaultError, `byte ${at}, bit ${bit}`)
      }
    }
  })

  test('do not open when they are cut off anywhere, or longer', () => {
    const sealed = cipher.seal(bytes('content'), 'c')
    for (let length = 0; length < sealed.length; length++)
      assert.throws(() => cipher.open(sealed.subarray(0, length), 'c'), VaultError, `${length} bytes`)
    assert.throws(() => cipher.open(Buffer.concat([sealed, Buffer.from([0])]), 'c'), VaultError)
  })

  test('do not open in another context, for another purpose, or under another key, which is named', () => {
    const sealed = cipher.seal(bytes('content'), '1/2')
    for (const context of ['', '1/', '1/3', '12/', '1/2 '])
      assert.throws(() => cipher.open(sealed, context), VaultError)
    assert.throws(() => new Vault(MASTER).cipher('secret').open(sealed, '1/2'), /damaged, or belong elsewhere/)
    const other = new Vault(bytes('a master key for the tests, too.'))
    assert.throws(
      () => other.cipher('journal').open(sealed, '1/2'),
      new RegExp(`belong to the key ${FINGERPRINT.slice(0, 8)}, and the present one is ${other.key_id}`),
    )
  })

  test('name the key that they are sealed under, without revealing it', () => {
    assert.equal(readKeyId(cipher.seal(bytes(''), '')), FINGERPRINT.slice(0, 8))
    assert.throws(() => readKeyId(bytes('')), /cut off/)
    assert.throws(() => readKeyId(Buffer.alloc(33, 2)), /unknown version 2/)
  })
})

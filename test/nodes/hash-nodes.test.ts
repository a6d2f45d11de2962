// hash.*: the examples of the standards.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fire, outputOf } from './fire.ts'

describe('hash', () => {
  test('Digest', async () => {
    const of = (text: string, algorithm: string, encoding = 'hex') =>
      outputOf('hash.Digest', { text, algorithm, encoding })
    assert.equal(
      await outputOf('hash.Digest', { text: 'abc' }),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    assert.equal(await of('abc', 'sha1'), 'a9993e364706816aba3e25717850c26c9cd0d89d')
    assert.equal(await of('abc', 'md5'), '900150983cd24fb0d6963f7d28e17f72')
    assert.match((await of('abc', 'sha512')) as string, /^ddaf35a193617aba.*a54ca49f$/)
    assert.equal(await of('', 'md5', 'base64'), '1B2M2Y8AsgTpgAmY7PhCfg==')
    assert.doesNotMatch((await of('abc', 'sha512', 'base64url')) as string, /[+/=]/)
    await assert.rejects(of('abc', 'sha3'), /type_mismatch/)
  })

  test('Hmac', async () => {
    const data = { text: 'what do ya want for nothing?', key: 'Jefe' }
    const sha256 = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
    assert.equal(await outputOf('hash.Hmac', data), sha256)
    assert.equal(await outputOf('hash.Hmac', { ...data, algorithm: 'md5' }), '750c783e6ab0b503eaa86e310a5db738')
    assert.equal(((await outputOf('hash.Hmac', { text: '', key: 'k' })) as string).length, 64)
    await assert.rejects(outputOf('hash.Hmac', { text: 'x', key: '' }), /bad_input: The key is empty/)
    await assert.rejects(outputOf('hash.Hmac', { text: 'x' }), /missing_property/)
  })

  test('ContentId', async () => {
    const of = (value: unknown) => outputOf('hash.ContentId', { value })
    const id = await outputOf('hash.ContentId', { value: { b: 1, a: [1, { d: 2, c: 3 }] } })
    assert.equal(id, await outputOf('hash.Digest', { text: '{"a":[1,{"c":3,"d":2}],"b":1}' }))
    assert.equal(id, await of({ a: [1, { c: 3, d: 2 }], b: 1 }))
    assert.notEqual(await of('1'), await of(1))
    assert.equal(await of(null), await outputOf('hash.ContentId'))
    const ring: unknown[] = []
    ring.push(ring)
    await assert.rejects(of(ring), /too_deep/)
  })

  test('Checksum', async () => {
    assert.deepEqual(await fire('hash.Checksum', { text: '123456789' }), { output: 0xcbf43926, hex: 'cbf43926' })
    assert.deepEqual(await fire('hash.Checksum', { text: '' }), { output: 0, hex: '00000000' })
    await assert.rejects(fire('hash.Checksum', { text: 5 }), /type_mismatch/)
  })

  test('Uuid', async () => {
    const of = (name: string, namespace: string) => outputOf('hash.Uuid', { name, namespace })
    const uuid = '2ed6657d-e927-568b-95e1-2665a8aea6a2'
    assert.equal(await outputOf('hash.Uuid', { name: 'www.example.com', namespace: 'dns' }), uuid)
    assert.equal(await of('www.example.com', '6BA7B810-9dad-11d1-80b4-00c04fd430c8'), uuid)
    assert.match(
      (await of('', 'url')) as string,
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
    for (const bad of ['', 'constructor', 'x'.repeat(100_000)])
      await assert.rejects(of('a', bad), /bad_input: The namespace .{0,100} is neither a UUID nor one of dns, url/)
  })
})

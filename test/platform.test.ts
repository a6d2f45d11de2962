// The system platform: ids in the order of their creation, and secrets that never repeat.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemPlatform } from '../src/platform.ts'
import { until } from './helpers/server.ts'

test('ids are different, and later ones come behind earlier ones', async () => {
  const { id, now } = systemPlatform()
  const first = Array.from({ length: 1_000 }, () => id('job'))
  const made = now()
  await until('another millisecond', () => now() > made)
  const later = Array.from({ length: 1_000 }, () => id('job'))
  assert.equal(new Set([...first, ...later]).size, 2_000)
  for (const one of [...first, ...later]) assert.match(one, /^job_[0-9a-f]{32}$/)
  assert.ok(first.every((one) => later.every((other) => one < other)))
})

test('the random part of an id uses all of its characters', () => {
  const { id } = systemPlatform()
  const tails = Array.from({ length: 1_000 }, () => id('job').slice(-20))
  for (let at = 0; at < 20; at++) assert.equal(new Set(tails.map((tail) => tail[at])).size, 16, `place ${at}`)
})

test('secrets have as many bytes as were asked for, and are not handed out twice', () => {
  const { secret } = systemPlatform()
  const sizes = [1, 6, 32, 4_095, 4_096, 4_097, 10_000]
  for (const bytes of [...sizes, ...sizes]) {
    const value = Buffer.from(secret(bytes), 'base64url')
    assert.equal(value.length, bytes)
    if (bytes > 6) assert.ok(new Set(value).size > Math.min(bytes, 256) / 4, 'the bytes are not all alike')
  }
  const many = Array.from({ length: 5_000 }, () => secret(16))
  assert.equal(new Set(many).size, many.length)
})

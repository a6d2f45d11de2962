// Compiled patterns of many users: large ones do not stay in memory, so that small requests cannot fill it.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRegexPattern } from '../../src/nodes/regex-nodes.ts'
import { heldBytes } from '../helpers/heap.ts'

const LARGE = '.{0,999}'.repeat(6)
/** A few megabytes may stay: the last large pattern of each kind. */
const MOST_BYTES = 12_000_000

test('of forty large patterns of fifty characters almost none stays in memory', () => {
  checkRegexPattern(LARGE, {})
  const before = heldBytes()
  for (let at = 0; at < 20; at++)
    for (const ignore_case of [false, true]) checkRegexPattern(`${LARGE}${at}`, { ignore_case })
  const kept = heldBytes() - before
  assert.ok(kept < MOST_BYTES, `${kept} bytes`)
})

test('of patterns with few instructions and wide ranges, which take long to compile, the last one alone is remembered', () => {
  const wide = (at: number) => `[\\x{80}-\\x{10ffff}][\\x{81}-\\x{10fffe}]${at}`
  const cpu = (pattern: string) => {
    const before = process.threadCpuUsage()
    checkRegexPattern(pattern, { ignore_case: true })
    const { user } = process.threadCpuUsage(before)
    return user
  }
  const first = cpu(wide(1))
  cpu(wide(2))
  // Remembered results take microseconds.
  assert.ok(cpu(wide(1)) > first / 20)
})

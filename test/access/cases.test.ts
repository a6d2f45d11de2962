// Access case by case: each case goes to a real server from a real address, and its outcome is compared with a table that was written by hand from
// the contract.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { expected } from './cases/expected.ts'
import { casesOf } from './cases/generate.ts'
import { type ModeServer, startMode } from './cases/servers.ts'
import { fits, OWN_IPV4, tried } from './cases/wire.ts'
import { type Case, inWords, MODES, type Mode } from './cases/words.ts'

const LEAST = 400
const AT_ONCE = 8
/** Failures that are shown. */
const SHOWN = 20

/** Sends the cases, some at a time. Returns a description of each unexpected outcome. */
async function failures(mode: ModeServer, cases: readonly Case[]): Promise<string[]> {
  const waiting = [...cases]
  const found: string[] = []
  const work = async () => {
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      const wanted = expected(one)!
      const seen = await tried(one, mode.credentials[one.token], mode.port).catch((error) => `no answer: ${error}`)
      if (!fits(wanted, seen)) found.push(`${inWords(one)}\n    expected ${wanted}\n    came     ${seen}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return found
}

describe('the table of access cases', () => {
  test('imports nothing of the service', () => {
    for (const name of ['expected.ts', 'expected-trust.ts', 'words.ts']) {
      const text = readFileSync(new URL(`cases/${name}`, import.meta.url), 'utf8')
      const imported = [...text.matchAll(/\bfrom '([^']+)'|\bimport\(/g)].map(([, path]) => path)
      for (const path of imported) assert.match(String(path), /^\.\/(expected-trust|words)\.ts$/, name)
    }
  })

  const tally: Partial<Record<Mode, number>> = {}

  for (const mode of MODES) {
    test(`holds in the mode "${mode}"`, async () => {
      await using running = await startMode(mode)
      const cases = casesOf(mode).filter((one) => running.canTry(one) && expected(one) !== null)
      tally[mode] = cases.length
      const wrong = await failures(running, cases)
      assert.ok(wrong.length === 0, `${wrong.length} of ${cases.length}:\n${wrong.slice(0, SHOWN).join('\n')}`)
    })
  }

  test(`has at least ${LEAST} cases`, (t) => {
    for (const [mode, count] of Object.entries(tally)) t.diagnostic(`${count} cases: ${mode}`)
    const total = Object.values(tally).reduce((sum, count) => sum + count, 0)
    t.diagnostic(`${total} cases in all`)
    assert.ok(total >= LEAST, `${total} cases`)
    if (!OWN_IPV4) t.diagnostic('none of them from elsewhere: this machine has no address but loopback')
  })
})

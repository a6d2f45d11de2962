// Names of firings: the run journal makes them, and they can be parsed again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseCallIndex, parseFiringName, RunJournal } from '../../../src/jobs/journal/run-journal.ts'
import { scaled } from '../../helpers/scale.ts'

const SILENT = {
  recallFailure: () => null,
  recall: () => null,
  prepareRecall: () => null,
  remember: () => {},
  rememberDurably: async () => {},
  remembered: () => null,
}

const place = fc.tuple(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', '\\', '#', '/', '1', '.', 'n', '\n') }),
  ),
  fc.array(fc.nat(300), { maxLength: 3 }).map((path) => path.join('.')),
)

describe('the name of a firing', () => {
  test('has its node, its path and the caller of its workflow, for any ids of nodes', () => {
    fc.assert(
      fc.property(place, fc.array(fc.tuple(place, fc.nat(99)), { maxLength: 4 }), ([node_id, path], calls) => {
        let journal = new RunJournal(SILENT, true)
        let caller: string | null = null
        let scope = ''
        for (const [[calling, at], call] of calls) {
          caller = journal.formatName(calling, at)
          scope = `${caller}#${call}/`
          journal = journal.forCall(calling, at, call) as RunJournal
        }
        const firing = journal.formatName(node_id, path)
        assert.deepEqual(parseFiringName(firing), { firing, caller, scope, node_id, path })
        if (caller !== null) assert.equal(parseCallIndex(scope, caller), calls.at(-1)![1])
      }),
      { numRuns: scaled(500) },
    )
  })

  test('cannot be parsed from any other text', () => {
    for (const other of ['', 'n', '"n', '"n"1x', 'x"n"1', '"n"1#0/', '"n"#1"m"']) {
      assert.throws(() => parseFiringName(other), /^Error: not the name of a firing/)
    }
  })
})

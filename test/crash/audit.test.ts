// The judges of the crash run can be trusted: sound evidence is found sound, and each way of spoiling it is noticed, and called by its name.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobEvent } from '../../generated/types.ts'
import { coverage } from './audit/coverage.ts'
import type { Evidence } from './evidence.ts'
import { judge } from './report.ts'
import { soundEvidence } from './sound.ts'
import { type Mutable, SPOILT } from './spoilt.ts'

describe('the judges of the crash run', () => {
  test('find nothing wrong with a job that was killed, recovered and completed', () => {
    assert.deepEqual(judge(soundEvidence()), [])
  })

  for (const [name, [kind, what, spoil]] of Object.entries(SPOILT)) {
    test(`notice: ${name}`, () => {
      const evidence = soundEvidence()
      spoil(evidence as Mutable<Evidence>)
      const found = judge(evidence)
      assert.ok(
        found.some((one) => one.kind === kind && what.test(one.what)),
        `${kind} ${what} in ${JSON.stringify(found, null, 1)}`,
      )
    })
  }

  test('know which ways were taken', () => {
    const ways = coverage([soundEvidence()])
    assert.equal(ways['a running job was recovered'], 1)
    assert.equal(ways['a call that may be made twice was made again'], 1)
    assert.equal(ways['a queued job was restored'], 0)
    assert.equal(ways.node_interrupted, 0)
  })

  test('accept what a follower has not been told yet, where it did not watch to the end', () => {
    const evidence = soundEvidence()
    const tapes = evidence.tapes.map((tape) => ({
      ...tape,
      whole: false,
      events: tape.events.slice(0, 9) as JobEvent[],
    }))
    assert.deepEqual(judge({ ...evidence, tapes }), [])
  })
})

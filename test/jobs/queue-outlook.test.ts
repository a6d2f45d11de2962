// What the queue says of a job that is not there yet is what that job meets when it comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Contender, type Outlook, Queue } from '../../src/jobs/queue.ts'

const limits = { running: 4, running_per_user: 3, running_per_workflow: 2 }

interface Step {
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  /** Which of the running jobs end before it comes. */
  readonly ends: readonly number[]
}

const step: fc.Arbitrary<Step> = fc.record({
  user: fc.constantFrom('u', 'v'),
  workflow: fc.constantFrom('a', 'b', 'c'),
  exclusive: fc.boolean(),
  ends: fc.array(fc.nat(9), { maxLength: 1 }),
})

for (const waiting of [3, 8])
  test(`with ${waiting} places an outlook comes true, and changes nothing`, () => comesTrue(waiting))

function comesTrue(waiting: number): void {
  const seen = new Set<Outlook>()
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const queue = new Queue({ ...limits, waiting })
      const running: Contender[] = []
      for (const { ends, ...claim } of steps) {
        for (const at of ends) if (running.length > 0) queue.release(running.splice(at % running.length, 1)[0]!)
        const job: Contender = { ...claim, admit: () => void running.push(job), moved() {} }
        const before = [queue.running, queue.waiting]
        const outlook = queue.outlook(claim)
        assert.deepEqual([queue.running, queue.waiting], before)
        assert.equal(outlook, met(queue, job, running))
        seen.add(outlook)
      }
    }),
    { numRuns: 300 },
  )
  assert.deepEqual([...seen].sort(), ['full', 'start', 'wait'])
}

function met(queue: Queue, job: Contender, running: Contender[]): Outlook {
  if (queue.take(job)) {
    running.push(job)
    return 'start'
  }
  try {
    queue.wait(job)
    return 'wait'
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'QUEUE_FULL')
    return 'full'
  }
}

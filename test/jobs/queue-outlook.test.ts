// The forecast of the queue for a job agrees with what happens when the job comes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AdmissionForecast, JobQueue, type QueueableJob } from '../../src/jobs/queue.ts'

const limits = { running: 4, running_per_user: 3, running_per_workflow: 2 }

interface Step {
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  /** The running jobs that end before the job comes. */
  readonly ends: readonly number[]
}

const step: fc.Arbitrary<Step> = fc.record({
  user: fc.constantFrom('u', 'v'),
  workflow: fc.constantFrom('a', 'b', 'c'),
  exclusive: fc.boolean(),
  ends: fc.array(fc.nat(9), { maxLength: 1 }),
})

for (const waiting of [3, 8])
  test(`with ${waiting} places a forecast comes true, and changes nothing`, () => comesTrue(waiting))

function comesTrue(waiting: number): void {
  const seen = new Set<AdmissionForecast>()
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const queue = new JobQueue({ ...limits, waiting })
      const running: QueueableJob[] = []
      for (const { ends, ...claim } of steps) {
        for (const at of ends) if (running.length > 0) queue.release(running.splice(at % running.length, 1)[0]!)
        const job: QueueableJob = { ...claim, admit: () => void running.push(job), onPositionChanged() {} }
        const before = [queue.running, queue.waiting]
        const outlook = queue.forecastAdmission(claim)
        assert.deepEqual([queue.running, queue.waiting], before)
        assert.equal(outlook, met(queue, job, running))
        seen.add(outlook)
      }
    }),
    { numRuns: 300 },
  )
  assert.deepEqual([...seen].sort(), ['full', 'start', 'wait'])
}

function met(queue: JobQueue, job: QueueableJob, running: QueueableJob[]): AdmissionForecast {
  if (queue.tryTakeSlot(job)) {
    running.push(job)
    return 'start'
  }
  try {
    queue.enqueue(job)
    return 'wait'
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'QUEUE_FULL')
    return 'full'
  }
}

// The queue: limits over all, per user and per workflow, first come first served within them, exclusive runs, positions.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../../src/errors.ts'
import { JobQueue, type QueueableJob, type QueueLimits } from '../../src/jobs/queue.ts'
import { scaled } from '../helpers/scale.ts'

const WIDE: QueueLimits = { running: 100, running_per_user: 100, running_per_workflow: 100, waiting: 100 }

class Job implements QueueableJob {
  readonly name: string
  readonly user: string
  readonly workflow: string
  readonly exclusive: boolean
  admitted = 0
  positions: number[] = []
  onAdmit: () => void = () => {}

  constructor(name: string, user = 'u', workflow = 'w', exclusive = false) {
    this.name = name
    this.user = user
    this.workflow = `${user}/${workflow}`
    this.exclusive = exclusive
  }

  admit(): void {
    this.admitted++
    this.onAdmit()
  }

  onPositionChanged(position: number): void {
    this.positions.push(position)
  }
}

/** Does what the service does with a new job: starts it or lets it wait. */
function submit(queue: JobQueue, job: Job): 'runs' | 'waits' {
  if (queue.tryTakeSlot(job)) return 'runs'
  queue.enqueue(job)
  return 'waits'
}

const isFull = (error: unknown) => error instanceof ServiceError && error.code === 'QUEUE_FULL'

describe('queue', () => {
  test('a few of very many waiting jobs get their new position at once, and the others one after the other', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const queue = new JobQueue({ ...WIDE, running: 1, waiting: 4_000 })
    const jobs = Array.from({ length: 1_000 }, (_, at) => new Job(String(at), at % 2 ? 'x' : 'y', String(at)))
    for (const job of jobs) submit(queue, job)
    const told = () => jobs.reduce((sum, { positions }) => sum + positions.length, 0)
    queue.remove(jobs[1]!)
    assert.ok(told() < 50, String(told()))
    // More jobs leave before all have their positions, and the jobs at the end get theirs nevertheless.
    queue.remove(jobs[2]!)
    t.mock.timers.tick(20)
    assert.ok(told() < 100, String(told()))
    for (let at = 0; at < 100; at++) t.mock.timers.tick(20)
    const last = jobs.filter((job) => queue.position(job) > 0)
    assert.ok(last.length > 500)
    for (const job of last) assert.equal(job.positions.at(-1), queue.position(job))
    assert.ok(told() < 2_000)
  })

  test('runs no more jobs than the limit over all jobs', () => {
    const queue = new JobQueue({ ...WIDE, running: 2 })
    const [a, b, c] = [new Job('a', 'x'), new Job('b', 'y'), new Job('c', 'z')] as const
    assert.deepEqual([submit(queue, a), submit(queue, b), submit(queue, c)], ['runs', 'runs', 'waits'])
    assert.deepEqual([queue.running, queue.waiting, queue.position(c)], [2, 1, 1])
    queue.release(a)
    assert.deepEqual([c.admitted, queue.running, queue.waiting, queue.position(c)], [1, 2, 0, 0])
  })

  test('a user at its limit lets other users pass', () => {
    const queue = new JobQueue({ ...WIDE, running_per_user: 1 })
    const [a, b, c] = [new Job('a', 'x'), new Job('b', 'x', 'other'), new Job('c', 'y')] as const
    assert.deepEqual([submit(queue, a), submit(queue, b), submit(queue, c)], ['runs', 'waits', 'runs'])
    queue.release(c)
    assert.equal(b.admitted, 0)
    queue.release(a)
    assert.equal(b.admitted, 1)
  })

  test('a workflow at its limit lets other workflows of its user pass', () => {
    const queue = new JobQueue({ ...WIDE, running_per_workflow: 1 })
    const [a, b, c] = [new Job('a'), new Job('b'), new Job('c', 'u', 'other')] as const
    assert.deepEqual([submit(queue, a), submit(queue, b), submit(queue, c)], ['runs', 'waits', 'runs'])
    queue.release(a)
    assert.equal(b.admitted, 1)
  })

  test('an exclusive job waits for running jobs of its workflow, and is not overtaken by later jobs', () => {
    const queue = new JobQueue(WIDE)
    const first = new Job('first')
    const exclusive = new Job('exclusive', 'u', 'w', true)
    const later = new Job('later')
    const elsewhere = new Job('elsewhere', 'u', 'other', true)
    assert.deepEqual(
      [first, exclusive, later, elsewhere].map((job) => submit(queue, job)),
      ['runs', 'waits', 'waits', 'runs'],
    )
    queue.release(first)
    assert.deepEqual([exclusive.admitted, later.admitted], [1, 1], 'only its own start waits for others')
  })

  test('exclusive jobs of one workflow run one after the other', () => {
    const queue = new JobQueue(WIDE)
    const jobs = ['a', 'b', 'c'].map((name) => new Job(name, 'u', 'w', true))
    assert.deepEqual(
      jobs.map((job) => submit(queue, job)),
      ['runs', 'waits', 'waits'],
    )
    queue.release(jobs[0]!)
    assert.deepEqual(
      jobs.map((job) => job.admitted),
      [0, 1, 0],
    )
    queue.release(jobs[1]!)
    assert.equal(jobs[2]!.admitted, 1)
  })

  test('the first job of a user comes first, whatever its workflow is', () => {
    const queue = new JobQueue({ ...WIDE, running: 1 })
    const jobs = ['a', 'b', 'c', 'd'].map((name, at) => new Job(name, 'u', `w${at}`))
    for (const job of jobs) submit(queue, job)
    const order: string[] = []
    for (const job of jobs) job.onAdmit = () => order.push(job.name)
    for (const job of jobs) queue.release(job)
    assert.deepEqual(order, ['b', 'c', 'd'])
  })

  test('a full queue refuses with QUEUE_FULL and Retry-After', () => {
    const queue = new JobQueue({ ...WIDE, running: 1, waiting: 1 })
    submit(queue, new Job('a'))
    submit(queue, new Job('b'))
    assert.throws(() => submit(queue, new Job('c')), isFull)
    assert.throws(
      () => submit(queue, new Job('c')),
      (error) => (error as ServiceError).status === 429 && Number((error as ServiceError).headers['Retry-After']) > 0,
    )
    assert.deepEqual([queue.running, queue.waiting], [1, 1])
  })

  test('one user fills three quarters of the places, and the others still get theirs', () => {
    const queue = new JobQueue({ ...WIDE, running: 1, waiting: 16 })
    submit(queue, new Job('running', 'a'))
    const ofA = Array.from({ length: 12 }, (_, at) => new Job(`a${at}`, 'a'))
    for (const job of ofA) assert.equal(submit(queue, job), 'waits')
    assert.throws(() => submit(queue, new Job('a12', 'a')), isFull)
    assert.equal(queue.forecastAdmission(new Job('a12', 'a')), 'full')
    for (const user of ['b', 'c'])
      for (const name of ['1', '2']) {
        assert.equal(queue.forecastAdmission(new Job(name, user)), 'wait')
        assert.equal(submit(queue, new Job(name, user)), 'waits')
      }
    assert.throws(() => submit(queue, new Job('3', 'd')), isFull, 'all places are taken')
    for (const job of ofA.slice(0, 5)) queue.remove(job)
    assert.equal(submit(queue, new Job('a12', 'a')), 'waits', 'places that are left can be taken again')
    assert.throws(() => submit(queue, new Job('a13', 'a')), isFull)
  })

  test('with few places, a single user may take all', () => {
    for (const waiting of [0, 1, 2, 7]) {
      const queue = new JobQueue({ ...WIDE, running: 1, waiting })
      submit(queue, new Job('running', 'a'))
      for (let at = 0; at < waiting; at++) assert.equal(submit(queue, new Job(`${at}`, 'a')), 'waits')
      assert.throws(() => submit(queue, new Job('more', 'a')), isFull)
    }
  })

  test('restored jobs count, and are accepted beyond the share of their user', () => {
    const queue = new JobQueue({ ...WIDE, running: 1, waiting: 8 })
    queue.restore(Array.from({ length: 7 }, (_, at) => new Job(`${at}`, 'a')))
    assert.equal(queue.waiting, 7)
    submit(queue, new Job('running', 'z', 'other'))
    assert.throws(() => submit(queue, new Job('more', 'a')), isFull)
    assert.equal(submit(queue, new Job('b', 'b')), 'waits')
    assert.throws(() => submit(queue, new Job('c', 'c')), isFull)
  })

  test('a position counts the waiting jobs of the user alone, and changes with these alone', () => {
    const queue = new JobQueue({ ...WIDE, running: 1 })
    submit(queue, new Job('running', 'x'))
    const hers = Array.from({ length: 6 }, (_, at) => new Job(`hers ${at}`, 'x'))
    const [first, second] = [new Job('first', 'y'), new Job('second', 'y')] as const
    for (const job of [...hers, first, second]) submit(queue, job)
    assert.deepEqual([queue.position(hers[5]!), queue.position(first), queue.position(second)], [6, 1, 2])
    queue.remove(hers[0]!)
    assert.deepEqual([hers[5]!.positions, first.positions, second.positions], [[5], [], []])
    queue.remove(first)
    assert.deepEqual([hers[5]!.positions, second.positions, queue.position(second)], [[5], [1], 1])
  })

  test('jobs behind a job that leaves or is admitted get their new position', () => {
    const queue = new JobQueue({ ...WIDE, running: 1 })
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((name) => new Job(name))
    for (const job of jobs) submit(queue, job)
    const [a, b, c, d, e] = jobs as [Job, Job, Job, Job, Job]
    assert.deepEqual(
      [b, c, d, e].map((job) => queue.position(job)),
      [1, 2, 3, 4],
    )
    assert.equal(queue.remove(c), true)
    assert.equal(queue.remove(c), false)
    assert.deepEqual([b.positions, d.positions, e.positions], [[], [2], [3]])
    queue.release(a)
    assert.deepEqual([b.admitted, d.positions, e.positions], [1, [2, 1], [3, 2]])
  })

  test('a job that waited only for a leaving job is admitted', () => {
    const queue = new JobQueue(WIDE)
    const exclusive = new Job('exclusive', 'u', 'w', true)
    const later = new Job('later')
    for (const job of [new Job('first'), exclusive, later]) submit(queue, job)
    queue.remove(exclusive)
    assert.equal(later.admitted, 1)
  })

  test('restored jobs are not admitted before they are released, whichever job leaves or ends', () => {
    const queue = new JobQueue({ ...WIDE, running: 2 })
    const first = new Job('first', 'a', 'x')
    assert.equal(submit(queue, first), 'runs')
    const [lost, b, c] = [new Job('lost', 'b', 'y'), new Job('b', 'c', 'z'), new Job('c', 'd', 'v')] as const
    queue.restore([lost, b, c])
    queue.remove(lost)
    queue.release(first)
    assert.deepEqual([b.admitted, c.admitted, queue.waiting], [0, 0, 2])
    queue.admitRestored([c])
    assert.deepEqual([b.admitted, c.admitted], [0, 1])
    queue.admitRestored()
    assert.deepEqual([b.admitted, c.admitted, queue.waiting], [1, 1, 0])
  })

  test('a closed queue admits no more jobs', () => {
    const queue = new JobQueue({ ...WIDE, running: 1 })
    const [a, b] = [new Job('a'), new Job('b')] as const
    submit(queue, a)
    submit(queue, b)
    queue.close()
    queue.release(a)
    assert.deepEqual([b.admitted, queue.waiting, queue.running], [0, 1, 0])
  })

  test('ten thousand jobs that end during their admission do not nest', () => {
    const queue = new JobQueue({ ...WIDE, running: 1, waiting: 20_000 })
    const first = new Job('first')
    submit(queue, first)
    const jobs = Array.from({ length: 10_000 }, (_, at) => new Job(`${at}`))
    const order: string[] = []
    for (const job of jobs) {
      submit(queue, job)
      job.onAdmit = () => {
        order.push(job.name)
        queue.release(job)
      }
    }
    queue.release(first)
    assert.deepEqual(
      order,
      jobs.map((job) => job.name),
    )
    assert.deepEqual([queue.running, queue.waiting], [0, 0])
  })
})

/** The same rules as a simple model: after every change the first waiting job that may run runs. */
class Model {
  readonly limits: QueueLimits
  running: Job[] = []
  waiting: Job[] = []

  constructor(limits: QueueLimits) {
    this.limits = limits
  }

  #mayRun(job: Job, ahead: readonly Job[]): boolean {
    const sameWorkflow = this.running.filter((other) => other.workflow === job.workflow).length
    return (
      this.running.length < this.limits.running &&
      this.running.filter((other) => other.user === job.user).length < this.limits.running_per_user &&
      sameWorkflow < this.limits.running_per_workflow &&
      !(job.exclusive && sameWorkflow > 0) &&
      !ahead.some((other) => other.workflow === job.workflow)
    )
  }

  submit(job: Job): 'runs' | 'waits' | 'full' {
    if (this.#mayRun(job, this.waiting)) {
      this.running.push(job)
      return 'runs'
    }
    if (!this.#hasPlace(job)) return 'full'
    this.waiting.push(job)
    return 'waits'
  }

  /** From 8 places on, a user with more than an eighth of them must leave a quarter free. */
  #hasPlace(job: Job): boolean {
    const { waiting: limit } = this.limits
    const own = this.waiting.filter((other) => other.user === job.user).length + 1
    return this.waiting.length + 1 <= (limit >= 8 && own * 8 > limit ? (limit * 3) / 4 : limit)
  }

  leave(job: Job): void {
    this.waiting = this.waiting.filter((other) => other !== job)
    this.#settle()
  }

  release(job: Job): void {
    this.running = this.running.filter((other) => other !== job)
    this.#settle()
  }

  #settle(): void {
    for (;;) {
      const at = this.waiting.findIndex((job, place) => this.#mayRun(job, this.waiting.slice(0, place)))
      if (at < 0) return
      this.running.push(...this.waiting.splice(at, 1))
    }
  }
}

describe('queue against a model', () => {
  const limits = fc.record({
    running: fc.integer({ min: 1, max: 5 }),
    running_per_user: fc.integer({ min: 1, max: 4 }),
    running_per_workflow: fc.integer({ min: 1, max: 3 }),
    waiting: fc.integer({ min: 0, max: 16 }),
  })
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('submit' as const),
        user: fc.constantFrom('u', 'v', 'w'),
        workflow: fc.constantFrom('1', '2'),
        exclusive: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), at: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), at: fc.nat(20) }) },
  )

  test('has the same running and waiting jobs, in the same positions', () => {
    const property = fc.property(limits, fc.array(step, { minLength: 10, maxLength: 80 }), (given, steps) => {
      const queue = new JobQueue(given)
      const model = new Model(given)
      const all: Job[] = []
      for (const one of steps) {
        if (one.do === 'submit') {
          const job = new Job(`${all.length}`, one.user, one.workflow, one.exclusive)
          all.push(job)
          let found: string
          try {
            found = submit(queue, job)
          } catch (error) {
            assert.ok(isFull(error))
            found = 'full'
          }
          assert.equal(found, model.submit(job))
        } else if (one.do === 'release' && model.running.length > 0) {
          const job = model.running[one.at % model.running.length]!
          model.release(job)
          queue.release(job)
        } else if (one.do === 'leave' && model.waiting.length > 0) {
          const job = model.waiting[one.at % model.waiting.length]!
          model.leave(job)
          queue.remove(job)
        }
        assert.equal(queue.running, model.running.length)
        assert.equal(queue.waiting, model.waiting.length)
        for (const user of ['u', 'v', 'w'])
          assert.deepEqual(
            all
              .filter((job) => job.user === user && queue.position(job) > 0)
              .sort((a, b) => queue.position(a) - queue.position(b)),
            model.waiting.filter((job) => job.user === user),
          )
        for (const job of model.waiting) {
          const told = job.positions.at(-1)
          if (told !== undefined) assert.equal(told, queue.position(job), 'the last place it was told is its place')
        }
        assert.ok(all.every((job) => job.admitted <= 1))
      }
    })
    fc.assert(property, { numRuns: scaled(300), interruptAfterTimeLimit: 60_000 })
  })

  test('starves no job, however many come later: a job runs once as many have ended as were before it', () => {
    const property = fc.property(
      fc.record({
        running: fc.integer({ min: 1, max: 4 }),
        running_per_user: fc.integer({ min: 1, max: 3 }),
        running_per_workflow: fc.integer({ min: 1, max: 2 }),
      }),
      fc.array(
        fc.record({
          user: fc.constantFrom('a', 'b', 'c'),
          workflow: fc.constantFrom('v', 'w'),
          exclusive: fc.boolean(),
        }),
        {
          minLength: 5,
          maxLength: 40,
        },
      ),
      fc.nat(),
      (limits, before, ends) => {
        const queue = new JobQueue({ ...limits, waiting: 100_000 })
        const alive: Job[] = []
        const come = (job: Job) => {
          job.onAdmit = () => alive.push(job)
          if (submit(queue, job) === 'runs') alive.push(job)
        }
        for (const { user, workflow, exclusive } of before) come(new Job('before', user, workflow, exclusive))
        const late = new Job('late', 'late', 'w', ends % 2 === 0)
        come(late)
        for (let ended = 0; !alive.includes(late); ended++) {
          assert.ok(ended <= before.length, 'as many have ended as were there before it')
          // Two new jobs come for each job that ends, of its own user and of others.
          for (const user of ['a', 'late']) come(new Job('after', user, 'w', ended % 3 === 0))
          const oldest = alive.shift()!
          queue.release(oldest)
        }
      },
    )
    fc.assert(property, { numRuns: scaled(300), interruptAfterTimeLimit: 60_000 })
  })
})

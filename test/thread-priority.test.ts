// Heavy work does not take the processor from the main thread: the threads that do it have a lower priority.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCompute } from '../src/compute/compute.ts'
import { PayloadJudge } from '../src/payloads/payload-judge.ts'
import { task } from './compute/kit.ts'
import { NO_NICE_THREADS, niceThreads } from './helpers/nice-threads.ts'

test('a thread that computes is nicer than the main thread', { skip: NO_NICE_THREADS }, async () => {
  await using compute = createCompute({ workers: 1 })
  await compute.run(task('text.Words', { text: 'three small words' }))
  assert.deepEqual(niceThreads(), [5])
})

test('the thread that judges large requests is nicer than the main thread', { skip: NO_NICE_THREADS }, async () => {
  const judge = new PayloadJudge(1024 * 1024)
  await judge.body('ada', 'createWorkflow', Buffer.from('{}'))
  assert.deepEqual(niceThreads(), [5])
  judge.close()
})

// Heavy work does not take the processor from the main thread: its threads have a lower priority.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { createComputePool } from '../../src/compute/worker-pool.ts'
import { PayloadValidator } from '../../src/payloads/payload-validator.ts'
import { task } from '../compute/kit.ts'
import { NO_NICE_THREADS, niceThreads, threads } from '../helpers/nice-threads.ts'
import { MAIN, runProcess } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

test('a thread that computes is nicer than the main thread', { skip: NO_NICE_THREADS }, async () => {
  await using compute = createComputePool({ workers: 1 })
  await compute.run(task('text.Words', { text: 'three small words' }))
  assert.deepEqual(niceThreads(), [5])
})

test('the thread that judges large requests is nicer than the main thread', { skip: NO_NICE_THREADS }, async () => {
  const judge = new PayloadValidator(1024 * 1024)
  await judge.validateBody('ada', { operation: 'createWorkflow', passed_on: false, bytes: Buffer.from('{}') })
  assert.deepEqual(niceThreads(), [5])
  judge.close()
})

test('the threads that collect garbage and read files are nicer than the main thread', {
  skip: NO_NICE_THREADS,
}, async () => {
  const folder = temporaryFolder()
  try {
    await using server = runProcess(MAIN, ['serve', '--port', '0'], { SVC_DATA_DIR: folder })
    await until('the server', () => server.stdout().includes('listens on'))
    const found = threads(server.pid)
    for (const name of ['V8Worker', 'libuv-worker']) {
      const helpers = found.filter((thread) => thread.name === name)
      assert.equal(helpers.length, 4, name)
      assert.ok(
        helpers.every(({ nice }) => nice === 3),
        name,
      )
    }
    assert.equal(found.find(({ name }) => !['V8Worker', 'libuv-worker'].includes(name))?.nice, 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

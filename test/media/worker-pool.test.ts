// The pool of media processes: the results of tasks, and the protection of the server from hostile files.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as after, setImmediate as immediate } from 'node:timers/promises'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { MediaTask } from '../../src/engine/node-api/services/media.ts'
import { measureValue } from '../../src/engine/node-api/values/measure.ts'
import { createMediaPool, type MediaPoolOptions } from '../../src/media/worker-pool.ts'
import { longestTurn } from '../helpers/loop.ts'
import { belowInSome } from '../helpers/patience.ts'
import { runProcess } from '../helpers/process.ts'
import { atRealSize } from '../helpers/scale.ts'

const SCRIPT = new URL('./faulty-process.ts', import.meta.url)
const OWNER = 'ada'

function pool(options: MediaPoolOptions = {}) {
  const failures: string[] = []
  const failed = (detail: string) => void failures.push(detail)
  const media = createMediaPool({ script: SCRIPT, reportFailure: failed, processes: 1, ...options })
  const run = (task: string, more: Partial<MediaTask> = {}) =>
    media.run({ task, files: [], params: {}, owner: OWNER, signal: new AbortController().signal, ...more })
  const pid = async () => ((await run('faulty.echo')).value as { pid: number }).pid
  return { run, pid, failures, [Symbol.asyncDispose]: () => media[Symbol.asyncDispose]() }
}

function failsAs(type: string, message: RegExp) {
  return (error: unknown) => error instanceof NodeError && error.type === type && message.test(error.message)
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('work on files', () => {
  test('passes bytes and plain data in and out', async () => {
    await using media = pool()
    const files = [Uint8Array.of(1, 2, 3), new Uint8Array(3_000_000).fill(7)]
    const result = await media.run('faulty.echo', { files, params: { width: 3, names: ['é'] } })
    assert.deepEqual(
      result.files.map((file) => Buffer.from(file)),
      files.map((file) => Buffer.from(file)),
    )
    assert.deepEqual((result.value as { params: unknown }).params, { width: 3, names: ['é'] })
  })

  test('passes large tables in and out without blocking the event loop', { skip: atRealSize }, async () => {
    await using media = pool()
    const rows = Array.from({ length: 400_000 }, (_, at) => ({ at, name: `row ${at}` }))
    // Values of a run are measured.
    measureValue(rows)
    await media.run('faulty.echo')
    await belowInSome(75, () =>
      longestTurn(async () => {
        const { value } = await media.run('faulty.echo', { params: { rows } })
        const { params } = value as { params: { rows: typeof rows } }
        assert.equal(params.rows.length, rows.length)
        assert.deepEqual(params.rows.at(-1), rows.at(-1))
      }),
    )
  })

  test('reuses a process, and replaces it after its limit of tasks', async () => {
    await using media = pool({ tasks: 2 })
    const pids = [await media.pid(), await media.pid(), await media.pid()]
    assert.equal(pids[0], pids[1])
    assert.notEqual(pids[1], pids[2])
    assert.equal(alive(pids[0]!), false)
  })

  test('ends a process after its idle time', async () => {
    await using media = pool({ idle_ms: 20 })
    const pid = await media.pid()
    while (alive(pid)) await after(10)
    assert.notEqual(await media.pid(), pid)
  })

  test("reports a fault of a file with the task's own message", async () => {
    await using media = pool()
    await assert.rejects(media.run('faulty.refuse'), failsAs('bad_file', /^The file is damaged\.$/))
    assert.deepEqual(media.failures, [])
  })

  test('reports a bug only to the log', async () => {
    await using media = pool()
    await assert.rejects(media.run('faulty.throw'), failsAs('media_failed', /^The work on the file failed\.$/))
    await assert.rejects(media.run('faulty.unknown'), failsAs('media_failed', /failed/))
    assert.equal(media.failures.length, 2)
    assert.match(media.failures[0]!, /TypeError: a defect of ours/)
    assert.match(media.failures[1]!, /no task faulty\.unknown/)
  })

  for (const task of ['faulty.hang', 'faulty.wait'])
    test(`ends ${task} at its time limit, and keeps working`, async () => {
      await using media = pool()
      await assert.rejects(
        media.run(task, { time_limit_ms: 1_500 }),
        failsAs('media_timeout', /longer than 1\.5 seconds/),
      )
      await media.pid()
      assert.deepEqual(media.failures, [])
    })

  for (const task of ['faulty.abort', 'faulty.exit'])
    test(`survives ${task}`, async () => {
      await using media = pool()
      await assert.rejects(media.run(task), (error) => error instanceof NodeError && /^media_/.test(error.type ?? ''))
      await media.pid()
    })

  test('ends a process that fills its heap', async () => {
    await using media = pool({ heap_mb: 48 })
    await assert.rejects(media.run('faulty.heap'), failsAs('media_memory', /more memory/))
    await media.pid()
  })

  test('ends a process that takes too much memory outside of the heap', {
    skip: process.platform !== 'linux',
  }, async () => {
    await using media = pool({ memory_bytes: 300_000_000 })
    await assert.rejects(media.run('faulty.grow'), failsAs('media_memory', /more memory/))
    await media.pid()
  })

  test('ends a task whose run is cancelled, and its process with it', async () => {
    await using media = pool()
    const pid = await media.pid()
    const stop = new AbortController()
    const running = media.run('faulty.hang', { signal: stop.signal })
    await immediate()
    stop.abort(new Error('cancelled'))
    await assert.rejects(running, /^Error: cancelled$/)
    while (alive(pid)) await after(5)
    await assert.rejects(media.run('faulty.echo', { signal: stop.signal }), /^Error: cancelled$/)
  })

  test('serves owners in turns', async () => {
    await using media = pool()
    const order: string[] = []
    const of = async (owner: string) => {
      await media.run('faulty.echo', { owner })
      order.push(owner)
    }
    await Promise.all([of('ada'), of('ada'), of('ada'), of('bob')])
    assert.ok(order.indexOf('bob') <= 2, order.join())
  })

  test('refuses tasks after its end, and leaves no process', async () => {
    const media = pool()
    const pid = await media.pid()
    const running = assert.rejects(media.run('faulty.hang'), failsAs('media_failed', /ended/))
    const waiting = assert.rejects(media.run('faulty.echo'), failsAs('unavailable', /stopping/))
    await immediate()
    await media[Symbol.asyncDispose]()
    await running
    await waiting
    assert.equal(alive(pid), false)
    await assert.rejects(media.run('faulty.echo'), failsAs('unavailable', /stopping/))
  })

  test('applies the shorter time limit of a task', async () => {
    await using media = pool()
    await assert.rejects(
      media.run('faulty.hang', { time_limit_ms: 500 }),
      failsAs('media_timeout', /longer than 0\.5 seconds/),
    )
  })

  test('keeps the server alive until its processes have ended', async () => {
    const media = JSON.stringify(new URL('../../src/media/worker-pool.ts', import.meta.url).href)
    const script = `import { createMediaPool } from ${media}
      const media = createMediaPool({ script: new URL(${JSON.stringify(SCRIPT.href)}) })
      await media.run({ task: 'faulty.echo', files: [], params: {}, owner: 'ada', signal: new AbortController().signal })
      await media[Symbol.asyncDispose]()
      console.log('closed')`
    await using child = runProcess('--input-type=module', ['--eval', script])
    const { stdout, code } = await child.ended()
    assert.deepEqual([stdout, code], ['closed\n', 0])
  })
})

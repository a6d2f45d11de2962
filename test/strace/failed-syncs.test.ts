// A commit whose sync fails may have reached the disk, or not: the server cannot know. Its answer says so, and names the job.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { graph, sink, source } from '../engine/kit.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { type ServingProcess, serve, storedJobs } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

const works = spawnSync('strace', ['-f', '-e', 'inject=fsync:error=EIO', 'true']).status === 0
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

const plain = graph([source('in', 'x'), sink('out')], ['in.output->out.value'])

/** Every sync of a server fails from now on. */
async function failingSyncs(server: ServingProcess): Promise<AsyncDisposable> {
  const strace = spawn(
    'strace',
    [
      '-f',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      'inject=fsync,fdatasync:error=EIO',
      '-o',
      '/dev/null',
      '-p',
      String(server.pid),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(strace, 'close')
  await until('strace to hold the server', () => /attached/.test(said))
  return {
    async [Symbol.asyncDispose]() {
      strace.kill('SIGINT')
      await ended
    },
  }
}

const run = (server: ServingProcess) =>
  call<RunResult & ErrorBody>(server, 'POST', '/api/workflows/greeting/run', {
    body: { params: { name: 'x' }, background: true },
  })

test('a submission whose sync fails is answered as not known, with the job, through every door', { skip }, async () => {
  const folder = temporaryFolder()
  const data_dir = join(folder, 'data')
  try {
    await using server = await serve(data_dir, { SVC_LOG_LEVEL: 'silent' })
    assert.equal((await run(server)).status, 202)
    await using client = await connect(server)
    const named: string[] = []
    {
      await using _ = await failingSyncs(server)
      const { status, body, headers } = await run(server)
      assert.deepEqual([status, body.error.type], [503, 'outcome_unknown'])
      assert.match(body.error.message, /not known/)
      named.push(String(headers.location).replace('/api/jobs/', ''))
      client.command('run_job', { graph: plain })
      const frame = await client.next({ error: 'unavailable' })
      assert.equal(frame.code, 'OUTCOME_UNKNOWN')
      assert.match(String(frame.message), /not known/)
      named.push(frame.job_id!)
      // Nothing terminal is told of a job that may live.
      assert.deepEqual(client.of(frame.job_id!), [frame])
      server.kill('SIGKILL')
      await server.ended()
    }
    // What a server finds that starts after the kill it has been told of, and nothing else.
    await using again = await serve(data_dir)
    const found = await Promise.all(named.map((id) => call(again, 'GET', `/api/jobs/${id}`)))
    const there = found.filter(({ status }) => status === 200).length
    assert.ok(found.every(({ status }) => status === 200 || status === 404))
    await until('them to end', async () => storedJobs(data_dir, 'completed') === 1 + there)
    const { body: jobs } = await call<unknown[]>(again, 'GET', '/api/jobs')
    assert.equal(jobs.length, 1 + there)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

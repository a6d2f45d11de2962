// That an acknowledgement waits for the disk can only be seen from outside: strace counts what the server asks of the system.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

const works = spawnSync('strace', ['-f', '-e', 'trace=fsync,fdatasync', 'true']).status === 0
// Where strace is expected, as in continuous integration, to be without it is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('strace') === true
const skip = !expected && !works && 'skipped: strace is not here (Debian: apt-get install strace)'

interface Traced extends AsyncDisposable {
  readonly url: string
  /** How many syncs have come to their end by now. */
  syncs(): Promise<number>
}

/** A server whose syncs are counted. */
async function traced(environment: Record<string, string> = {}): Promise<Traced> {
  const folder = temporaryFolder()
  const trace = join(folder, 'trace')
  const server = await serve(join(folder, 'data'), environment)
  const strace = spawn('strace', ['-f', '-e', 'trace=fsync,fdatasync', '-o', trace, '-p', String(server.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(strace, 'close')
  const pids = () => new Set(readFileSync(trace, 'utf8').match(/^\d+/gm) ?? []).size
  await until('strace to hold the server', () => /attached/.test(said) && pids() >= 0)
  const count = () => readFileSync(trace, 'utf8').match(/(fsync|fdatasync)\b.* = 0$/gm)?.length ?? 0
  return {
    url: server.url,
    // strace writes a line before it lets the process go on, so that the lines of what was answered are there.
    syncs: async () => count(),
    async [Symbol.asyncDispose]() {
      strace.kill('SIGINT')
      await ended
      await server[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const submit = (server: { url: string }) =>
  call<RunResult>(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'x' }, background: true } })

/** No sync of earlier work is still to come. */
async function quiet(server: Traced): Promise<number> {
  let last = -1
  let same = 0
  return until('silence', async () => {
    const now = await server.syncs()
    same = now === last ? same + 1 : 0
    last = now
    return same > 20 ? { now } : null
  }).then(({ now }) => now)
}

describe('the syncs of a server', { skip }, () => {
  test('one comes between a submission and its acknowledgement, each time', async () => {
    await using server = await traced()
    await submit(server)
    for (let round = 0; round < 10; round++) {
      const before = await quiet(server)
      assert.equal((await submit(server)).status, 202)
      assert.ok((await server.syncs()) > before, `submission ${round} was acknowledged before a sync`)
    }
  })

  test('fifty submissions at once share them', async () => {
    await using server = await traced({ SVC_MAX_CONCURRENT_JOBS: '100', SVC_MAX_JOBS_PER_USER: '100' })
    await submit(server)
    const before = await quiet(server)
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit(server)))
    assert.ok(answers.every(({ status }) => status === 202))
    const syncs = (await quiet(server)) - before
    assert.ok(syncs >= 1 && syncs <= 25, `50 submissions took ${syncs} syncs`)
  })

  test('with SVC_DURABILITY=normal an acknowledgement waits for none', async () => {
    await using server = await traced({ SVC_DURABILITY: 'normal' })
    await submit(server)
    const before = await quiet(server)
    for (let round = 0; round < 10; round++) await submit(server)
    assert.equal(await quiet(server), before)
  })
})

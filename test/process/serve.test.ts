// `svc serve` from the view of people and supervisors: its output, its exit codes and its signals.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { version } from '../../src/version.ts'
import { call } from '../helpers/http.ts'
import { type Ended, MAIN, runProcess, SVC, serve, storedJobs } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string

before(() => {
  folder = temporaryFolder()
})

after(() => {
  rmSync(folder, { recursive: true, force: true })
})

let folders = 0
const newFolder = () => join(folder, `data-${++folders}`)

async function run(args: string[], environment: Record<string, string> = {}): Promise<Ended> {
  await using running = runProcess(MAIN, args, { SVC_DATA_DIR: newFolder(), ...environment })
  return await running.ended()
}

/** Asserts that the server did not start and gave the reason in one line. */
function refusedInOneLine({ code, stdout, stderr }: Ended, message: RegExp): void {
  assert.match(stderr, /^svc: [^\n]+\n$/)
  assert.match(stderr, message)
  assert.deepEqual([code, stdout], [1, ''])
}

const delayed = (seconds: number) => ({
  name: 'delayed',
  graph: {
    nodes: [
      { id: 'in', type: 'input.String', data: { name: 'in', value: 'x' } },
      { id: 'wait', type: 'control.Delay', data: { seconds } },
      { id: 'out', type: 'output.Output', data: { name: 'out' } },
    ],
    edges: [
      { source: 'in', sourceHandle: 'output', target: 'wait', targetHandle: 'value' },
      { source: 'wait', sourceHandle: 'output', target: 'out', targetHandle: 'value' },
    ],
  },
})

async function createDelayed(server: { url: string }, seconds: number): Promise<string> {
  const created = await call<Workflow>(server, 'POST', '/api/workflows', { body: delayed(seconds) })
  assert.equal(created.status, 201)
  return created.body.id
}

describe('svc serve', () => {
  test('prints its URL, serves, and ends with 0 on SIGTERM without an owner entry', async () => {
    const data_dir = newFolder()
    await using server = await serve(data_dir, {}, SVC)
    const mode = 'Local mode: callers on this machine are the administrator, all others need a token'
    assert.equal(
      server.stdout(),
      `svc ${version} listens on ${server.url}\n${mode}\nThe documentation is at ${server.url}/docs\n`,
    )
    assert.equal((await call(server, 'GET', '/health')).status, 200)
    assert.match(readFileSync(join(data_dir, 'owner'), 'utf8'), /process \d+/)
    server.kill('SIGTERM')
    const { code, stdout, stderr } = await server.ended()
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /svc stops: new work is refused, running jobs get 30 seconds\n$/)
    assert.equal(existsSync(join(data_dir, 'owner')), false)
  })

  test('drains on SIGTERM: it refuses new work, answers running work, keeps /ready, and /health is 503', async () => {
    const data_dir = newFolder()
    await using server = await serve(data_dir)
    const id = await createDelayed(server, 1)
    const running = call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    await until('the job to run', () => storedJobs(data_dir, 'running') === 1)
    server.kill('SIGTERM')
    await until('draining', async () => (await call(server, 'GET', '/health')).status === 503)
    const refused = await call(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'x' } } })
    assert.equal(refused.status, 503)
    assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/)
    assert.deepEqual((await call(server, 'GET', '/ready')).body, { status: 'ok' })
    const { status, body } = await running
    assert.deepEqual([status, body.status, body.outputs], [200, 'completed', { out: 'x' }])
    assert.equal((await server.ended()).code, 0)
  })

  test('ends at once on a second signal, and the next start continues the running jobs', async () => {
    const data_dir = newFolder()
    await using server = await serve(data_dir)
    const id = await createDelayed(server, 29)
    const { body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { background: true } })
    server.kill('SIGINT')
    await until('draining', async () => (await call(server, 'GET', '/health')).status === 503)
    // A repeated signal counts as an echo for a moment, so the test sends it until the server reacts.
    const ended = server.ended()
    await until('the end', () => {
      server.kill('SIGINT')
      return server.child.exitCode !== null
    })
    assert.equal((await ended).code, 1)
    await using next = await serve(data_dir, { SVC_LOG_LEVEL: 'info' })
    assert.match(next.stderr(), /"running":1,"waiting":0,"ended":0,"msg":"jobs of an earlier process are resumed"/)
    const job = () => call<JobSnapshot>(next, 'GET', `/api/jobs/${body.job_id}`)
    await until('the job to go on', async () => (await job()).body.status === 'running')
  })

  test('takes a signal that comes twice in a moment, as from a terminal, for one', async () => {
    const data_dir = newFolder()
    await using server = await serve(data_dir)
    const id = await createDelayed(server, 0.5)
    const running = call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    await until('the job to run', () => storedJobs(data_dir, 'running') === 1)
    server.kill('SIGINT')
    server.kill('SIGINT')
    assert.equal((await running).body.status, 'completed')
    assert.equal((await server.ended()).code, 0)
  })

  test('names the owner and ends with 1 on a data folder in use', async () => {
    const data_dir = newFolder()
    await using first = await serve(data_dir)
    refusedInOneLine(
      await run(['serve', '--port', '0'], { SVC_DATA_DIR: data_dir }),
      new RegExp(`belongs to a running server \\(process ${first.pid}, 127\\.0\\.0\\.1:0\\)`),
    )
    assert.equal((await call(first, 'GET', '/health')).status, 200)
  })

  test('starts despite the lock of a killed process', async () => {
    const data_dir = newFolder()
    await using first = await serve(data_dir)
    first.kill('SIGKILL')
    await first.ended()
    assert.ok(existsSync(join(data_dir, 'owner')))
    await using second = await serve(data_dir)
    assert.equal((await call(second, 'GET', '/health')).status, 200)
  })
})

describe('the log of svc serve', () => {
  const WARNS = `process.emitWarning('early'); setTimeout(() => process.emitWarning('late'), 1_500)`
  const warner = `--import=data:text/javascript,${encodeURIComponent(WARNS)}`

  test('has warnings of the process as lines of JSON', async () => {
    await using server = await serve(newFolder(), { SVC_LOG_LEVEL: 'warn', NODE_OPTIONS: warner })
    await until('both warnings', () => server.stderr().includes('"message":"late"'))
    const lines = server.stderr().trimEnd().split('\n')
    const warned = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'process warning')
    assert.deepEqual(
      warned.map(({ level, err }) => [level, err.message]),
      [
        [40, 'early'],
        [40, 'late'],
      ],
    )
  })

  test('has no warning when events of a job are followed, whole or as a stream and with a token', async () => {
    await using server = await serve(newFolder(), { SVC_LOG_LEVEL: 'warn' })
    const id = await createDelayed(server, 0)
    const { body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })
    const minted = await call<{ token: string }>(server, 'POST', '/api/tokens', {
      body: { name: 'a', scopes: ['read'] },
    })
    const events = `${server.url}/api/jobs/${body.job_id}/events`
    const callers: Record<string, string>[] = [{}, { Authorization: `Bearer ${minted.body.token}` }]
    for (const caller of callers)
      for (const accept of ['text/event-stream', 'application/json'])
        assert.match(await (await fetch(events, { headers: { ...caller, accept } })).text(), /job_terminal/)
    server.kill('SIGTERM')
    assert.equal((await server.ended()).stderr, '')
  })
})

describe('svc serve fails to start', () => {
  test('on a port in use', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const data_dir = newFolder()
    const ended = await run(['serve', '--port', String(port)], { SVC_DATA_DIR: data_dir })
    await new Promise((resolve) => other.close(resolve))
    refusedInOneLine(ended, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use; .*--port`))
    assert.equal(existsSync(join(data_dir, 'owner')), false)
  })

  test('on an address of another machine', async () => {
    refusedInOneLine(
      await run(['serve', '--host', '192.0.2.1', '--port', '0']),
      /192\.0\.2\.1 is not an address of this/,
    )
  })

  test('without a data folder that it can create', async () => {
    const path = join(folder, 'a-file')
    writeFileSync(path, '')
    refusedInOneLine(
      await run(['serve', '--port', '0'], { SVC_DATA_DIR: join(path, 'data') }),
      /lies below .*a-file, which is a file/,
    )
  })

  test('with a file that is not a database', async () => {
    const path = join(folder, 'letter.txt')
    writeFileSync(path, 'Dear reader, this is not the database that you are looking for. '.repeat(50))
    refusedInOneLine(
      await run(['serve', '--port', '0'], { SVC_DATABASE_URL: `sqlite:${path}` }),
      /letter\.txt is not a database/,
    )
  })

  test('with invalid settings, and prints each problem on a line', async () => {
    const { code, stdout, stderr } = await run(['serve', '--port', '0'], {
      SVC_LOG_LEVEL: 'loud',
      SVC_MAX_CONCURRENT_JOBS: '-1',
      SVC_PUBLIC_URL: 'nowhere',
    })
    assert.deepEqual([code, stdout], [1, ''])
    const lines = stderr.trimEnd().split('\n')
    assert.equal(lines.length, 3)
    for (const name of ['SVC_LOG_LEVEL', 'SVC_MAX_CONCURRENT_JOBS', 'SVC_PUBLIC_URL']) {
      assert.ok(
        lines.some((line) => line.startsWith(`svc: ${name} must be`)),
        stderr,
      )
    }
  })
})

describe('svc serve with wrong usage', () => {
  const WRONG: Record<string, string[]> = {
    'an option that there is not': ['--mode', 'desktop'],
    'a short option': ['-p', '80'],
    'a port that is no number': ['--port', 'http'],
    'a port beyond the last': ['--port', '65536'],
    'a negative port': ['--port=-1'],
    'an option without its value': ['--port'],
    'an empty host': ['--host', ''],
    'an argument': ['now'],
  }
  for (const [what, args] of Object.entries(WRONG)) {
    test(`${what} is refused with the usage and 2`, async () => {
      const { code, stdout, stderr } = await run(['serve', ...args])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^svc: [^\n]+\nusage: svc serve \[--host HOST\] \[--port PORT\]\n$/)
    })
  }
})

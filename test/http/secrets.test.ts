// Secrets over HTTP: write-only, used only by the nodes of their owner, and redacted wherever they come back.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import type { JobSnapshot, RunResult, Secret } from '../../generated/types.ts'
import { createLog } from '../../src/log.ts'
import { MOST_SECRET_BYTES, MOST_SECRETS } from '../../src/settings/secret-service.ts'
import { call, refused } from '../helpers/http.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { submission } from '../jobs/kit.ts'
import { LOCAL, makeWorkflow, OTHERS, putSecret, REACHING, sending, startReceiver } from '../settings/kit.ts'

const VALUE = 'sk-proj-a value/of "some" length'

/** A server that echoes its requests. */
async function startEcho(): Promise<AsyncDisposable & { readonly url: string }> {
  const http = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/plain')
    request.pipe(response)
  })
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

async function run(server: TestServer, workflow: string, params: object = {}): Promise<RunResult> {
  const { body } = await call<RunResult>(server, 'POST', `/api/workflows/${workflow}/run`, { body: { params } })
  return body
}

describe('putSecret, getSecret, listSecrets, deleteSecret', () => {
  test('set, list and delete a secret, and never return its value', async () => {
    await using server = await startServer()
    const unset = { name: 'KEY', description: '', is_set: false, updated_at: null }
    assert.deepEqual((await call(server, 'GET', '/api/secrets/KEY')).body, unset)
    const set = await putSecret(server, 'KEY', VALUE)
    assert.equal(set.status, 200)
    const { updated_at } = set.body
    assert.deepEqual(set.body, { ...unset, is_set: true, updated_at })
    assert.ok(Math.abs(Date.parse(updated_at!) - Date.now()) < 60_000)
    const read = await call(server, 'GET', '/api/secrets/KEY')
    assert.deepEqual(read.body, set.body)
    const listed = await call<Secret[]>(server, 'GET', '/api/secrets')
    assert.deepEqual(
      listed.body.map(({ name, is_set }) => [name, is_set]),
      [
        ['ANTHROPIC_API_KEY', false],
        ['GEMINI_API_KEY', false],
        ['KEY', true],
        ['OPENAI_API_KEY', false],
      ],
    )
    assert.equal(listed.body[0]!.description, 'The key of the provider "anthropic".')
    for (const { text } of [set, read, listed]) assert.ok(!text.includes('sk-proj'), text)
    for (let twice = 0; twice < 2; twice++) {
      assert.equal((await call(server, 'DELETE', '/api/secrets/KEY')).status, 204)
      assert.deepEqual((await call(server, 'GET', '/api/secrets/KEY')).body, unset)
    }
  })

  test('accept any text as a value, and refuse an invalid name or value', async () => {
    await using server = await startServer()
    for (const value of [' ', '\u0000', 'ä😀\n', 'x'.repeat(65_536)]) {
      assert.equal((await putSecret(server, '_a9', value)).status, 200)
      assert.equal(server.context.users.secrets.value(LOCAL, '_a9'), value)
    }
    const bad = (path: string, body: unknown) => refused(server, 'PUT', path, { body }, [400, 'invalid_request'])
    for (const name of ['9A', 'A-B', 'A.B', 'a%20b', 'x'.repeat(129), '%C3%A4'])
      assert.deepEqual(await bad(`/api/secrets/${name}`, { value: VALUE }), ['/path/name'], name)
    for (const value of ['', 5, null, ['a'], 'x'.repeat(65_537)])
      assert.deepEqual(await bad('/api/secrets/KEY', { value }), ['/body/value'])
    assert.deepEqual(await bad('/api/secrets/KEY', { value: VALUE, more: 1 }), ['/body/more'])
    assert.deepEqual(await bad('/api/secrets/KEY', {}), ['/body/value'])
    assert.equal((await call<Secret>(server, 'GET', '/api/secrets/KEY')).body.is_set, false)
  })

  test('do not repeat a refused value', async () => {
    await using server = await startServer()
    const value = `not-to-be-told-${'x'.repeat(65_536)}`
    for (const body of [{ value }, { value: [value] }, { value: { value } }, { value, more: 1 }]) {
      const { status, text } = await call(server, 'PUT', '/api/secrets/KEY', { body })
      assert.equal(status, 400)
      assert.ok(!text.includes('not-to-be-told'), text.slice(0, 200))
    }
  })

  test('refuse secrets and bytes beyond the owner’s limits, but replace a secret all the same', async () => {
    await using server = await startServer()
    const { secrets } = server.context.users
    await Promise.all(Array.from({ length: MOST_SECRETS }, (_, i) => secrets.put(LOCAL, `S${i}`, 'x')))
    assert.deepEqual(
      await refused(server, 'PUT', '/api/secrets/ONE_MORE', { body: { value: 'refused-value' } }, [409, 'conflict']),
      [],
    )
    assert.equal(server.context.users.redactor.text('refused-value'), 'refused-value')
    assert.equal((await putSecret(server, 'S7', 'another value')).status, 200)
    for (const other of OTHERS) assert.equal((await secrets.put(other, 'ONE_MORE', 'x')).is_set, true)

    const [owner] = [{ user_id: '3', workspace_id: null }]
    const part = MOST_SECRET_BYTES / 16
    for (let i = 0; i < 16; i++) await secrets.put(owner, `S${i}`, 'ä'.repeat(part / 2))
    await assert.rejects(secrets.put(owner, 'ONE_MORE', 'x'), { code: 'CONFLICT' })
    await assert.rejects(secrets.put(owner, 'S0', 'ä'.repeat(part / 2 + 1)), { code: 'CONFLICT' })
    await secrets.put(owner, 'S0', 'ä'.repeat(part / 2 - 1))
    await secrets.put(owner, 'ONE_MORE', 'x')
  })

  test('list the operator’s secret of the local user as set, without a time, until that user sets it', async () => {
    const environment = { SVC_SECRET_KEY: 'of the operator' }
    await using server = await startServer({ environment })
    const { secrets } = server.context.users
    const given = { name: 'KEY', description: '', is_set: true, updated_at: null }
    assert.deepEqual((await call(server, 'GET', '/api/secrets/KEY')).body, given)
    const { body } = await call<Secret[]>(server, 'GET', '/api/secrets')
    assert.deepEqual(
      body.filter(({ is_set }) => is_set),
      [given],
    )
    for (const owner of OTHERS) {
      assert.deepEqual(await secrets.get(owner, 'KEY'), { ...given, is_set: false })
      assert.equal(secrets.value(owner, 'KEY'), null)
      assert.deepEqual(
        (await secrets.list(owner)).filter(({ is_set }) => is_set),
        [],
      )
    }
    await putSecret(server, 'KEY', 'of the user')
    assert.equal(secrets.value(LOCAL, 'KEY'), 'of the user')
    await call(server, 'DELETE', '/api/secrets/KEY')
    assert.equal(secrets.value(LOCAL, 'KEY'), 'of the operator')
    assert.deepEqual((await call(server, 'GET', '/api/secrets/KEY')).body, given)
    for (const name of ['__proto__', 'constructor', 'toString']) {
      assert.equal(secrets.value(LOCAL, name), null)
      assert.equal((await secrets.get(LOCAL, name)).is_set, false)
    }
  })

  test('treat secrets of another user or workspace as unknown, with as many statements', async () => {
    await using server = await startServer()
    for (const owner of OTHERS) await server.context.users.secrets.put(owner, 'KEY', VALUE)
    const seen = (method: string, path: string) => async () => {
      const before = server.context.store.statements
      const { status, text } = await call(server, method, path)
      return [status, text.replaceAll('NONE', 'KEY'), server.context.store.statements - before]
    }
    for (const method of ['GET', 'DELETE'])
      assert.deepEqual(
        await seen(method, '/api/secrets/KEY')(),
        await seen(method, '/api/secrets/NONE')(),
        `${method} of a foreign one and a missing one`,
      )
    const { body } = await call<Secret[]>(server, 'GET', '/api/secrets')
    assert.ok(!body.some(({ is_set }) => is_set))
    for (const owner of OTHERS) assert.equal(server.context.users.secrets.value(owner, 'KEY'), VALUE)
    await putSecret(server, 'KEY', 'of the local user')
    for (const owner of OTHERS) assert.equal(server.context.users.secrets.value(owner, 'KEY'), VALUE)
  })

  test('record changes by name in the audit log', async () => {
    const lines: string[] = []
    const log = createLog('info', undefined, { write: (line: string) => void lines.push(line) })
    await using server = await startServer({ log, environment: { SVC_SECRET_GIVEN: 'of the operator' } })
    await putSecret(server, 'KEY', 'not-in-the-log')
    for (const name of ['KEY', 'KEY', 'GIVEN', 'NONE']) await call(server, 'DELETE', `/api/secrets/${name}`)
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ audit }) => audit)
    assert.deepEqual(
      told.map(({ audit, name, user_id }) => [audit, name, user_id]),
      [
        ['secret_set', 'KEY', '1'],
        ['secret_deleted', 'KEY', '1'],
      ],
    )
    assert.ok(!lines.join('').includes('not-in-the-log'))
  })
})

describe('a secret at work', () => {
  test('is sent by its owner’s jobs, over HTTP and the socket, with its present value', async () => {
    await using receiver = await startReceiver()
    await using server = await startServer({ environment: REACHING })
    const workflow = await makeWorkflow(server, sending(receiver.url))
    const missing = await run(server, workflow)
    assert.match(missing.error!.message, /There is no secret "KEY"\. Set it with PUT \/api\/secrets\/KEY, or/)
    for (const value of ['the first value', 'the second value']) {
      await putSecret(server, 'KEY', value)
      assert.equal((await run(server, workflow)).status, 'completed')
      await using client = await connect(server)
      client.command('run_job', { job_id: value.replaceAll(' ', '_'), workflow_id: workflow })
      await client.next({ type: 'job_update', status: 'completed' })
      assert.deepEqual(
        receiver.requests.splice(0).map(({ headers }) => headers['x-key']),
        [value, value],
      )
    }
    await call(server, 'DELETE', '/api/secrets/KEY')
    assert.equal((await run(server, workflow)).status, 'failed')
    assert.deepEqual(receiver.requests, [])
  })

  test('that changes while a job runs has the new value at the next firing', async () => {
    await using receiver = await startReceiver()
    await using server = await startServer({ environment: REACHING })
    const { graph } = sending(receiver.url)
    const ask = graph.nodes[0]!
    const workflow = await makeWorkflow(server, {
      name: 'Twice',
      graph: {
        nodes: [
          ask,
          { id: 'wait', type: 'human.Approval', data: {} },
          { ...ask, id: 'again' },
          { id: 'out', type: 'output.Output', data: { name: 'body' } },
        ],
        edges: [
          { source: 'ask', sourceHandle: 'body', target: 'wait', targetHandle: 'value' },
          { source: 'wait', sourceHandle: 'approved', target: 'again', targetHandle: 'body' },
          { source: 'again', sourceHandle: 'body', target: 'out', targetHandle: 'value' },
        ],
      },
    })
    await putSecret(server, 'KEY', 'before it waited')
    const { job_id, status } = await run(server, workflow)
    assert.equal(status, 'suspended')
    await putSecret(server, 'KEY', 'after it waited')
    await call(server, 'POST', `/api/jobs/${job_id}/resume`, { body: { value: true } })
    const { active } = await server.context.runs.jobs.get(LOCAL, job_id)
    await active?.settled()
    assert.deepEqual(
      receiver.requests.map(({ headers }) => headers['x-key']),
      ['before it waited', 'after it waited'],
    )
  })

  test('is read again if a job continues in another process', async () => {
    const data_dir = temporaryFolder()
    try {
      await using receiver = await startReceiver()
      const { nodes, edges } = sending(receiver.url).graph
      const waiting = {
        nodes: [{ id: 'wait', type: 'human.Approval', data: { value: 1 } }, ...nodes],
        edges: [{ source: 'wait', sourceHandle: 'approved', target: 'ask', targetHandle: 'body' }, ...edges],
      }
      let job_id: string
      {
        await using server = await startServer({ data_dir, environment: REACHING })
        const workflow = await makeWorkflow(server, { name: 'Waits', graph: waiting })
        await putSecret(server, 'KEY', 'set before the restart')
        ;({ job_id } = await run(server, workflow))
      }
      await using server = await startServer({ data_dir, environment: REACHING })
      await call(server, 'POST', `/api/jobs/${job_id}/resume`, { body: { value: true } })
      await until('the job to end', async () => (await server.context.runs.jobs.get(LOCAL, job_id)).row.finished_at)
      assert.deepEqual(
        receiver.requests.map(({ headers }) => headers['x-key']),
        ['set before the restart'],
      )
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('does not exist for jobs of other owners', async () => {
    await using receiver = await startReceiver()
    await using server = await startServer({ environment: { ...REACHING, SVC_SECRET_KEY: 'of the operator' } })
    await putSecret(server, 'KEY', 'of the local user')
    for (const owner of OTHERS) {
      const graph = sending(receiver.url).graph as never
      const { active } = server.context.runs.jobs.submit(owner, submission({ graph }))
      await active!.settled()
      assert.match(active!.row.error!, /unknown_secret|There is no secret/)
      await server.context.users.secrets.put(owner, 'KEY', `of ${owner.user_id} in ${owner.workspace_id}`)
      await server.context.runs.jobs.submit(owner, submission({ graph })).active!.settled()
      assert.equal(receiver.requests.pop()!.headers['x-key'], `of ${owner.user_id} in ${owner.workspace_id}`)
    }
    assert.deepEqual(receiver.requests, [])
  })

  test('comes back as [redacted] once it is set, in results, events, snapshots, errors and logs', async () => {
    await using server = await startServer()
    const names = async (value: string) => {
      const result = await run(server, 'greeting', { name: value })
      const job = await call<JobSnapshot>(server, 'GET', `/api/jobs/${result.job_id}`)
      const events = await call(server, 'GET', `/api/jobs/${result.job_id}/events`, {
        headers: { Accept: 'application/json' },
      })
      return { result, shown: JSON.stringify(result) + job.text + events.text }
    }
    const before = await names('a-value-of-mine')
    assert.deepEqual(before.result.outputs, { greeting: 'Hello, a-value-of-mine!' })
    await putSecret(server, 'KEY', 'a-value-of-mine')
    const after = await names('a-value-of-mine')
    assert.deepEqual(after.result.outputs, { greeting: 'Hello, [redacted]!' })
    assert.ok(!after.shown.includes('a-value-of-mine'))
    await putSecret(server, 'KEY', 'the-value-after-it')
    for (const value of ['a-value-of-mine', 'the-value-after-it'])
      assert.ok(!(await names(value)).shown.includes(value), 'a former value stays hidden while the process lives')
    await call(server, 'DELETE', '/api/secrets/KEY')
    assert.ok(!(await names('the-value-after-it')).shown.includes('the-value-after-it'))
  })

  test('of maximum length is sent, and is neither in the answer nor in the log', async () => {
    const value = Array.from({ length: 8_192 }, (_, at) => `(${at.toString(36).padStart(6, '+')}.`).join('')
    const parts = [value.slice(0, 65_000), value.slice(100, 120), value.slice(8_000, 8_020)]
    const lines: string[] = []
    const log = createLog('info', undefined, { write: (line: string) => void lines.push(line) })
    await using echo = await startEcho()
    await using server = await startServer({ environment: REACHING, log })
    await putSecret(server, 'KEY', value)
    const { nodes, edges } = sending(echo.url).graph
    const ask = { ...nodes[0]!, data: { url: echo.url, method: 'POST', body: 'a {{secret:KEY}} z' } }
    const workflow = await makeWorkflow(server, { name: 'Long', graph: { nodes: [ask, nodes[1]!], edges } })
    assert.deepEqual((await run(server, workflow)).outputs, { body: 'a *** z' })
    // However it is escaped.
    const logged = lines.join('').replaceAll('\\', '')
    for (const part of parts) assert.ok(!logged.includes(part), 'it is in the log')
  })

  test('is not redacted in the work of other owners, who would lose their words', async () => {
    await using server = await startServer()
    for (const owner of OTHERS) {
      await server.context.users.secrets.put(owner, 'WORD', 'completed')
      await server.context.users.secrets.put(owner, 'NAME', 'Ada Lovelace')
    }
    const { outputs } = await run(server, 'greeting', { name: 'Ada Lovelace' })
    assert.deepEqual(outputs, { greeting: 'Hello, Ada Lovelace!' })
    assert.equal(server.context.users.redactor.text('Ada Lovelace'), '[redacted]', 'in logs it is')
  })
})

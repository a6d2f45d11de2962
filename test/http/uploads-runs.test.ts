// The use of uploads: in runs over HTTP and the socket, and in reads by their owner. They have no database rows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CreateWorkflowRequest, RunResult, TemporaryAssetUpload } from '../../generated/types.ts'
import type { Statement } from '../../src/db/statement.ts'
import type { Store } from '../../src/db/store.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { created, edge, node } from './kit.ts'
import { ME, reader, stored } from './storage-kit.ts'
import { fileForm, given, temporaryFiles, UPLOADS } from './uploads-kit.ts'

type Caller = Readonly<Record<string, string>>

async function upload(server: TestServer, content: string, caller: Caller = {}): Promise<TemporaryAssetUpload> {
  const { raw, headers } = fileForm(content)
  const { status, body, text } = await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, {
    raw,
    headers: { ...headers, ...caller },
  })
  assert.equal(status, 201, text)
  return body
}

/** Publishes the text and the bytes of the file that `file` refers to. */
function loading(data: Record<string, unknown> = {}): CreateWorkflowRequest {
  return {
    name: 'Loading',
    graph: {
      nodes: [
        node('file', 'input.Any', { name: 'file' }),
        node('load', 'asset.Load', data),
        node('text', 'output.Output', { name: 'text' }),
        node('bytes', 'output.Output', { name: 'bytes' }),
      ],
      edges: [edge('file.output', 'load.asset'), edge('load.text', 'text.value'), edge('load.bytes', 'bytes.value')],
    },
  }
}

async function run(server: TestServer, id: string, file: unknown, headers: Caller = {}): Promise<RunResult> {
  const request = { body: { params: { file } }, headers }
  const { status, body, text } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, request)
  assert.equal(status, 200, text)
  return body
}

function query(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

/** Every row of every table. */
function dump(store: Store): string {
  return store.read((tx) => {
    const tables = tx
      .all(query(`select name from sqlite_schema where type = 'table'`), [])
      .map(({ name }) => String(name))
    assert.ok(tables.includes('asset') && tables.includes('job'))
    return JSON.stringify(tables.map((name) => [name, tx.all(query(`select * from "${name}"`), [])]))
  })
}

describe('an upload', () => {
  test('is loaded by a run over HTTP, by any form of its URL', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    const { id } = await created(server, loading())
    for (const file of [
      uri,
      { type: 'document', uri },
      `${uri}?a=b`,
      uri.replace('temp/', 'temp%2F'),
      server.url + uri,
    ]) {
      const { status, outputs, error } = await run(server, id, file)
      assert.equal(status, 'completed', JSON.stringify(error))
      assert.equal(outputs.text, 'Hello, Ada!')
      // As an output, its bytes become a file of the job.
      const { uri: made } = outputs.bytes as { uri: string }
      assert.equal((await call(server, 'GET', made)).text, 'Hello, Ada!')
      assert.notEqual(made, uri)
    }
  })

  test('is loaded by a run over the socket', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    const { id } = await created(server, loading())
    for (const mode of ['binary', 'text'] as const) {
      await using client = await connect(server, { mode })
      const job_id = `job-${mode}`
      client.command('run_job', { job_id, workflow_id: id, params: { file: { type: 'document', uri } } })
      const end = (await client.collect(job_id)).at(-1)!
      assert.equal(end.status, 'completed', JSON.stringify(end))
      assert.deepEqual((end.result as { outputs: Record<string, unknown[]> }).outputs.text, ['Hello, Ada!'])
    }
  })

  test('is known to the preflight', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    const { id } = await created(server, loading())
    const ask = async (file: string) => {
      const body = { workflow_id: id, interface_version: 1, level: 'availability', inputs: { file } }
      const answer = await call<{ runnable: boolean; requirements: { kind: string; status: string }[] }>(
        server,
        'POST',
        '/api/sdk/v1/preflight',
        { body },
      )
      assert.equal(answer.status, 200, answer.text)
      const { runnable, requirements } = answer.body
      return [runnable, requirements.filter(({ kind }) => kind === 'asset').map(({ status }) => status)]
    }
    assert.deepEqual(await ask(uri), [true, ['available']])
    assert.deepEqual(await ask(uri.replace(/[0-9a-f]{4}\./, 'zzzz.')), [false, ['missing']])
  })

  test('creates no row, and neither does reading it', async () => {
    await using server = await startServer()
    await created(server, loading())
    const before = dump(server.context.store)
    const { uri } = await upload(server, 'Hello, Ada!')
    await call(server, 'GET', uri)
    await call(server, 'POST', UPLOADS, fileForm(''))
    await server.context.runs.retention.sweep()
    assert.equal(dump(server.context.store), before)
    assert.equal((await call(server, 'GET', uri)).status, 200)
  })

  test('is removed by the sweep when it has expired', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { uri } = await upload(server, 'Hello, Ada!')
    platform.ms += 24 * HOUR
    assert.equal((await call(server, 'GET', uri)).status, 404)
    platform.ms += 1
    await server.context.runs.retention.sweep()
    assert.deepEqual(temporaryFiles(server), [])
  })

  test('survives a restart', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    await server.close(0)
    await using again = await startServer({ data_dir: server.data_dir })
    assert.equal((await call(again, 'GET', uri)).text, 'Hello, Ada!')
  })

  test('is refused if the profile is switched off, while earlier uploads are still served', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    await server.close(0)
    await using off = await startServer({
      data_dir: server.data_dir,
      environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' },
    })
    const { status, text } = await call(off, 'POST', UPLOADS, fileForm('x'))
    assert.equal(status, 503)
    assert.match(text, /"code":"SDK_LIFECYCLE_DISABLED"/)
    assert.equal((await call(off, 'GET', uri)).status, 200)
  })
})

describe('a run that cannot load its file', () => {
  const failure = async (server: TestServer, id: string, file: unknown, headers: Caller = {}) => {
    const { status, error } = await run(server, id, file, headers)
    assert.equal(status, 'failed')
    return error as { type: string; message: string }
  }

  test('fails with a message that names the lifetime of such files', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { uri } = await upload(server, 'Hello, Ada!')
    const { id } = await created(server, loading())
    platform.ms += 24 * HOUR
    const late = await failure(server, id, uri)
    assert.equal(late.type, 'asset_not_found')
    assert.match(late.message, /temporary files are kept for 24 hours/)
    await server.context.runs.retention.sweep()
    assert.deepEqual(await failure(server, id, uri), late)
    for (const missing of ['asset://none', '/api/storage/1/none.txt'])
      assert.equal((await failure(server, id, missing)).type, 'asset_not_found')
    for (const none of [
      'https://example.com/x',
      'file:///etc/passwd',
      '/api/storage/',
      'asset://',
      '/api/storage/a/../b',
      '',
    ])
      assert.equal((await failure(server, id, none)).type, 'bad_reference')
  })

  test('because it is too large, fails before the file is read', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'Hello, Ada!')
    const { id } = await created(server, loading({ max_bytes: 10 }))
    const { type, message } = await failure(server, id, uri)
    assert.equal(type, 'too_large')
    assert.match(message, /11 bytes/)
  })

  test('because it is foreign, fails as for an unknown file', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ environment: idp.environment })
    const as = async (sub: string, workspace_id: string) => ({
      Authorization: `Bearer ${await idp.token({ sub, workspace_id })}`,
    })
    const owner = await as('ada', 'w')
    const { uri } = await upload(server, 'of Ada', owner)
    const none = uri.replace(/[0-9a-f]{48}/, '0'.repeat(48))
    assert.equal((await call(server, 'GET', uri, { headers: owner })).text, 'of Ada')
    for (const headers of [await as('bob', 'w'), await as('ada', 'elsewhere')]) {
      const answers = []
      for (const path of [uri, none]) answers.push(await call(server, 'GET', path, { headers }))
      assert.deepEqual(answers[0]!.body, answers[1]!.body)
      assert.deepEqual([answers[0]!.status, answers[1]!.status], [404, 404])
      const { id } = (await call<{ id: string }>(server, 'POST', '/api/workflows', { body: loading(), headers })).body
      const { type, message } = await failure(server, id, uri, headers)
      assert.equal(type, 'asset_not_found')
      assert.equal(message.replace(uri, none), (await failure(server, id, none, headers)).message)
    }
  })
})

describe('an asset', () => {
  test('is loaded like an upload, by its id or its URL', async () => {
    await using server = await startServer()
    const row = await stored(server, 'kept for good', { name: 'note.txt', content_type: 'text/plain' })
    const { id } = await created(server, loading())
    for (const file of [`asset://${row.id}`, { asset_id: row.id }, `/api/storage/${row.storage_key}`])
      assert.equal((await run(server, id, file)).outputs.text, 'kept for good')
  })
})

describe('GET and HEAD of an upload', () => {
  test('serve it like an asset, with ranges and conditions, and without content that a browser would run', async () => {
    await using server = await startServer()
    const html = await server.context.assets.temporary.put(
      ME,
      given('<p>0123456789</p>', { name: 'ä.html', content_type: 'text/html' }),
    )
    const path = `/api/storage/${html.storage_key}`
    using files = reader(server)
    const whole = await files.read('GET', path)
    assert.equal(whole.bytes.toString(), '<p>0123456789</p>')
    assert.equal(whole.headers['content-type'], 'text/html')
    assert.equal(whole.headers['content-length'], '17')
    assert.equal(whole.headers.etag, `"${html.sha256}"`)
    assert.match(
      whole.headers['content-disposition']!,
      /^attachment; filename="_\.html"; filename\*=UTF-8''%C3%A4\.html$/,
    )
    assert.match(String(whole.headers['content-security-policy']), /sandbox$/)
    const head = await files.read('HEAD', path)
    assert.deepEqual([head.status, head.bytes.length, head.headers['content-length']], [200, 0, '17'])
    const part = await files.read('GET', path, { Range: 'bytes=15-999' })
    assert.deepEqual(
      [part.status, part.bytes.toString(), part.headers['content-range']],
      [206, '/p>'.slice(1), 'bytes 15-16/17'],
    )
    assert.equal((await files.read('GET', path, { Range: 'bytes=17-' })).status, 416)
    assert.equal((await files.read('GET', path, { 'If-None-Match': String(whole.headers.etag) })).status, 304)
    assert.equal((await files.read('GET', path.replace('temp/1/', 'temp%2F1%2F'))).status, 200)
  })

  test('are the only reads: other methods never change it, and DELETE removes it', async () => {
    await using server = await startServer()
    const { uri } = await upload(server, 'x')
    assert.equal((await call(server, 'PATCH', uri)).status, 405)
    assert.equal((await call(server, 'PUT', uri, { raw: 'y' })).status, 409)
    assert.equal((await call(server, 'GET', uri)).text, 'x')
    assert.equal((await call(server, 'DELETE', uri)).status, 204)
    assert.equal((await call(server, 'GET', uri)).status, 404)
    assert.deepEqual(temporaryFiles(server), [])
  })
})

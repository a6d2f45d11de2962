// The quota of temporary files: uploads for runs, objects below temp/, and files of jobs count together, for each user separately.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Capabilities, JobSnapshot, SdkError, TemporaryAssetUpload } from '../../generated/types.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { edge, node } from './kit.ts'
import { fileForm, temporaryFiles, UPLOADS } from './uploads-kit.ts'

const LIMIT = 200_000
const limited = { config: { max_temporary_bytes_per_user: LIMIT } }

type Caller = Readonly<Record<string, string>>

function upload(server: TestServer, bytes: number, caller: Caller = {}) {
  const { raw, headers } = fileForm('x'.repeat(bytes))
  return call<TemporaryAssetUpload & SdkError>(server, 'POST', UPLOADS, { raw, headers: { ...headers, ...caller } })
}

const put = (server: TestServer, key: string, bytes: number, headers: Caller = {}) =>
  call<SdkError>(server, 'PUT', `/api/storage/temp/${key}`, { raw: 'y'.repeat(bytes), headers })

describe('TEMPORARY_QUOTA_EXCEEDED', () => {
  test('uploadTemporaryAsset: reports the used bytes, the limit, and when to retry', async () => {
    const platform = clock()
    await using server = await startServer({ ...limited, platform })
    assert.equal((await upload(server, 120_000)).status, 201)
    const { status, body, headers } = await upload(server, 120_000)
    assert.deepEqual([status, body.code, body.error], [413, 'TEMPORARY_QUOTA_EXCEEDED', body.error])
    assert.deepEqual([body.error.type, body.retryable], ['temporary_quota_exceeded', false])
    assert.match(body.message, /take 120\d{3} of 200000 bytes, .* expire at 2026-01-02T00:00:00.000Z/)
    assert.equal(headers['retry-after'], String(24 * 3_600))
    assert.equal(temporaryFiles(server).length, 1)
    platform.ms += 24 * HOUR
    assert.equal((await upload(server, 120_000)).status, 201)
    const { limits } = (await call<Capabilities>(server, 'GET', '/api/sdk/v1/capabilities')).body
    assert.equal(limits.max_temporary_bytes_per_user, LIMIT)
  })

  test('a hundred concurrent uploads take no more than the limit, also after a restart', async () => {
    await using server = await startServer(limited)
    const answers = await Promise.all(Array.from({ length: 100 }, () => upload(server, 30_000)))
    const made = answers.filter(({ status }) => status === 201)
    for (const { status, body } of answers) assert.ok(status === 201 || body.code === 'TEMPORARY_QUOTA_EXCEEDED')
    assert.ok(made.length >= 1 && made.length <= 6, String(made.length))
    assert.equal(temporaryFiles(server).length, made.length)
    for (let count = made.length; count < 6; count += 1) assert.equal((await upload(server, 30_000)).status, 201)
    assert.equal((await upload(server, 30_000)).status, 413)
    await server.close(0)
    await using again = await startServer({ ...limited, data_dir: server.data_dir })
    assert.equal((await upload(again, 30_000)).status, 413)
    assert.equal((await upload(again, 10_000)).status, 201)
    assert.equal(temporaryFiles(again).length, 7)
  })

  test('putObject: objects below temp/ count together with uploads, and replaced objects do not', async () => {
    const platform = clock()
    await using server = await startServer({ ...limited, platform })
    assert.equal((await put(server, '1/a.txt', 150_000)).status, 201)
    assert.equal((await upload(server, 60_000)).status, 413)
    const over = await put(server, '1/b.txt', 60_000)
    assert.deepEqual([over.status, over.body.error.type], [413, 'temporary_quota_exceeded'])
    assert.equal((await call(server, 'GET', '/api/storage/temp/1/b.txt')).status, 404)
    assert.equal((await upload(server, 20_000)).status, 201)
    // A new object has to fit beside the old one.
    assert.equal((await put(server, '1/a.txt', 40_000)).status, 413)
    assert.equal((await put(server, '1/a.txt', 10_000)).status, 200)
    assert.equal((await upload(server, 150_000)).status, 201)
    assert.equal((await call(server, 'DELETE', '/api/storage/temp/1/a.txt')).status, 204)
    assert.equal((await put(server, '1/c.txt', 20_000)).status, 201)
    // Objects that are not temporary have no such limit.
    const kept = await call(server, 'PUT', '/api/storage/1/kept.txt', { raw: 'z'.repeat(LIMIT + 1) })
    assert.equal(kept.status, 201)
    platform.ms += 24 * HOUR
    assert.equal((await put(server, '1/d.txt', 190_000)).status, 201)
  })

  test('a deleted upload frees its bytes', async () => {
    await using server = await startServer(limited)
    const { body } = await upload(server, 150_000)
    assert.equal((await upload(server, 60_000)).status, 413)
    assert.equal((await call(server, 'DELETE', body.uri)).status, 204)
    assert.equal((await upload(server, 150_000)).status, 201)
  })

  test('each user has a quota of their own, in all workspaces together', async () => {
    await using idp = await startIdentityProvider()
    await using server = await startServer({ ...limited, environment: idp.environment })
    const as = async (sub: string, workspace_id: string): Promise<Caller> => ({
      Authorization: `Bearer ${await idp.token({ sub, workspace_id })}`,
    })
    assert.equal((await upload(server, 120_000, await as('ada', 'w'))).status, 201)
    const elsewhere = await upload(server, 120_000, await as('ada', 'elsewhere'))
    assert.equal(elsewhere.body.code, 'TEMPORARY_QUOTA_EXCEEDED')
    assert.equal((await put(server, 'ada/x', 120_000, await as('ada', 'elsewhere'))).status, 413)
    const bob = await as('bob', 'w')
    assert.equal((await upload(server, 120_000, bob)).status, 201)
    const { message } = (await upload(server, 120_000, bob)).body
    assert.match(message, /take 120\d{3} of 200000/)
  })

  test('a job whose files are temporary is not refused, and counts', async () => {
    await using server = await startServer(limited)
    assert.equal((await upload(server, 150_000)).status, 201)
    const graph = {
      nodes: [node('in', 'input.Any', { name: 'in' }), node('out', 'output.Output', { name: 'out' })],
      edges: [edge('in.output', 'out.value')],
    }
    const params = { in: `data:text/plain;base64,${Buffer.alloc(80_000, 'z').toString('base64')}` }
    await using client = await connect(server)
    const execution_options = { asset_persistence: 'temporary' }
    client.command('run_job', { job_id: 'made', graph, params, execution_options })
    assert.equal((await client.collect('made')).at(-1)!.status, 'completed')
    const { result } = (await call<JobSnapshot>(server, 'GET', '/api/jobs/made')).body
    assert.equal((await call(server, 'GET', result!.assets[0]!.asset.uri)).status, 200)
    assert.match((await upload(server, 1)).body.message, /take 23\d{4} of 200000/)
  })
})

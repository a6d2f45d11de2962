// Files that jobs make: assets with rows, or temporary files if the job is to leave no assets.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Asset, JobSnapshot, RunResult } from '../../generated/types.ts'
import { clock, filesOf, HOUR } from '../assets/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { edge, node } from './kit.ts'
import { temporaryFiles } from './uploads-kit.ts'

const PICTURE = Buffer.from('\x89PNG\r\n\x1a\n'.padEnd(20_000, 'x'), 'latin1')
const DATA_URL = `data:image/png;base64,${PICTURE.toString('base64')}`

/** Waits for a person's consent, then publishes a picture. */
const graph = (waits = false) => ({
  nodes: [
    node('in', 'input.Any', { name: 'in' }),
    ...(waits ? [node('ask', 'human.Approval', { message: 'Go on?' })] : []),
    node('out', 'output.Output', { name: 'picture' }),
    node('first', 'output.Output', { name: 'first' }),
  ],
  edges: [
    edge('in.output', 'first.value'),
    ...(waits ? [edge('in.output', 'ask.value'), edge('ask.approved', 'out.value')] : [edge('in.output', 'out.value')]),
  ],
})

async function made(server: TestServer, data: Record<string, unknown>): Promise<JobSnapshot> {
  await using client = await connect(server)
  const job_id = `job-${Object.keys(data).join('-')}`
  client.command('run_job', { job_id, graph: graph(), params: { in: DATA_URL }, ...data })
  const end = (await client.collect(job_id)).at(-1)!
  assert.equal(end.status, 'completed', JSON.stringify(end))
  return (await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)).body
}

const rows = ({ context }: TestServer) =>
  context.store.read((tx) => tx.all({ sql: 'select id from asset', bind: () => [] }, [])).length

describe('a job that is to leave no assets', () => {
  for (const data of [
    { execution_options: { asset_persistence: 'temporary' } },
    { require_terminal_result: true },
  ] as Record<string, unknown>[]) {
    test(`because of ${Object.keys(data)} leaves temporary files, and no rows`, async () => {
      const platform = clock()
      await using server = await startServer({ platform })
      const { result } = await made(server, data)
      assert.equal(result!.assets.length, 2)
      assert.equal(rows(server), 0)
      assert.equal(temporaryFiles(server).length, 2)
      const { asset } = result!.assets[0]!
      assert.match(asset.uri, /^\/api\/storage\/temp\/1\/[0-9a-f]{48}\.png$/)
      assert.match(asset.asset_id, /^temp_[0-9a-f]{48}$/)
      assert.equal(Date.parse(asset.expires_at!), platform.ms + 24 * HOUR)
      const { status, headers } = await call(server, 'GET', asset.uri)
      assert.deepEqual([status, headers['content-type'], headers['content-length']], [200, 'image/png', '20000'])
      // It can be an input of the next run.
      const next = { nodes: [node('load', 'asset.Load', { asset: `asset://${asset.asset_id}` })], edges: [] }
      await using client = await connect(server)
      client.command('run_job', { job_id: 'next', graph: next })
      assert.equal((await client.collect('next')).at(-1)!.status, 'completed')
      platform.ms += 24 * HOUR + 1
      assert.equal((await call(server, 'GET', asset.uri)).status, 404)
      await server.context.runs.retention.sweep()
      assert.deepEqual(temporaryFiles(server), [])
    })
  }

  test('keeps their names when it continues in another process', async () => {
    await using server = await startServer()
    const job_id = 'job-waits'
    const look = async (at: TestServer) => (await call<JobSnapshot>(at, 'GET', `/api/jobs/${job_id}`)).body
    {
      await using client = await connect(server)
      const execution_options = { asset_persistence: 'temporary' }
      client.command('run_job', { job_id, graph: graph(true), params: { in: DATA_URL }, execution_options })
      await until('the question', async () => (await look(server)).status === 'suspended')
    }
    const before = temporaryFiles(server)
    assert.equal(before.length, 1)
    await server.close(0)
    await using again = await startServer({ data_dir: server.data_dir })
    await call(again, 'POST', `/api/jobs/${job_id}/resume`, { body: { value: true } })
    const { result } = await until('its end', async () => {
      const snapshot = await look(again)
      return snapshot.status === 'completed' ? snapshot : null
    })
    const first = result!.assets.find(({ output_name }) => output_name === 'first')!.asset
    assert.deepEqual(before, [first.asset_id.slice(5)])
    for (const { asset } of result!.assets) assert.equal((await call(again, 'GET', asset.uri)).status, 200)
  })
})

describe('a result with files', () => {
  test('whose files expired is returned whole as long as its job exists', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const nested = { in: { pictures: [DATA_URL, 'no picture'], more: { note: 'x' } } }
    await using client = await connect(server)
    const execution_options = { asset_persistence: 'temporary' }
    client.command('run_job', { job_id: 'kept', graph: graph(), params: nested, execution_options })
    assert.equal((await client.collect('kept')).at(-1)!.status, 'completed')
    const read = async () => (await call<JobSnapshot>(server, 'GET', '/api/jobs/kept')).body
    const before = await read()
    const { asset, path } = before.result!.assets.find(({ output_name }) => output_name === 'picture')!
    const { size, sha256, content_type, download_url, expires_at } = asset
    assert.deepEqual([path, size, content_type, download_url], [['pictures', 0], 20_000, 'image/png', null])
    assert.equal(sha256, createHash('sha256').update(PICTURE).digest('hex'))
    assert.equal(Date.parse(expires_at!), platform.ms + 24 * HOUR)
    const value = (before.result!.outputs.picture as { pictures: Record<string, unknown>[] }).pictures[0]!
    assert.deepEqual([value.uri, value.asset_id, value.sha256], [asset.uri, asset.asset_id, sha256])
    platform.ms += 25 * HOUR
    await server.context.runs.retention.sweep()
    assert.deepEqual(temporaryFiles(server), [])
    assert.equal((await call(server, 'GET', asset.uri)).status, 404)
    assert.deepEqual(await read(), before)
    // It survives a restart, and is deleted with its job.
    await server.close(0)
    await using again = await startServer({ platform, data_dir: server.data_dir })
    assert.deepEqual((await call(again, 'GET', '/api/jobs/kept')).body, before)
    assert.equal((await call(again, 'DELETE', '/api/jobs/kept')).status, 204)
    assert.equal((await call(again, 'GET', '/api/jobs/kept')).status, 404)
  })

  test('keeps temporary files until they expire, even if its job is deleted before', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { result, job_id } = await made(server, { require_terminal_result: true })
    const { uri } = result!.assets[0]!.asset
    assert.equal((await call(server, 'DELETE', `/api/jobs/${job_id}`)).status, 204)
    assert.equal((await call(server, 'GET', uri)).status, 200)
    platform.ms += 25 * HOUR
    await server.context.runs.retention.sweep()
    assert.equal((await call(server, 'GET', uri)).status, 404)
    assert.deepEqual(temporaryFiles(server), [])
  })

  test('whose assets are deleted is returned whole, without their bytes and thumbnails', async () => {
    const platform = clock()
    await using server = await startServer({ platform })
    const { body } = await call<RunResult>(server, 'POST', '/api/workflows/contact-sheet/run', { body: {} })
    assert.equal(body.error, null)
    const read = async () => (await call<JobSnapshot>(server, 'GET', `/api/jobs/${body.job_id}`)).body
    const before = await read()
    const ids = [...new Set(before.result!.assets.map(({ asset }) => asset.asset_id))]
    assert.ok(ids.length > 0)
    const assetOf = async (id: string) => (await call<Asset>(server, 'GET', `/api/assets/${id}`)).body
    const pictures = await until('the small pictures', async () => {
      const all = await Promise.all(ids.map(assetOf))
      return all.every(({ thumb_url }) => thumb_url !== null) && all.map(({ thumb_url }) => thumb_url!)
    })
    const folder = join(server.data_dir, 'storage', 'objects')
    assert.ok(filesOf(folder).length >= 2)
    for (const uri of pictures) assert.equal((await call(server, 'GET', uri)).status, 200)
    platform.ms += 2 * HOUR
    for (const id of ids) assert.equal((await call(server, 'DELETE', `/api/assets/${id}`)).status, 204)
    for (const uri of pictures) assert.equal((await call(server, 'GET', uri)).status, 404)
    assert.deepEqual(filesOf(folder), [])
    assert.deepEqual(await read(), before)
  })

  test('keeps its assets when its job is deleted', async () => {
    await using server = await startServer()
    const { result, job_id } = await made(server, { job_name: 'x' })
    assert.equal((await call(server, 'DELETE', `/api/jobs/${job_id}`)).status, 204)
    for (const { asset } of result!.assets) assert.equal((await call(server, 'GET', asset.uri)).status, 200)
    assert.equal(rows(server), 2)
  })
})

test('a job leaves assets by default', async () => {
  await using server = await startServer()
  const { result } = await made(server, { job_name: 'x' })
  assert.equal(rows(server), 2)
  assert.deepEqual(temporaryFiles(server), [])
  for (const { asset } of result!.assets) assert.equal(asset.expires_at, null)
})

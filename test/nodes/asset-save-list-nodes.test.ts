// asset.Save and asset.List: the saved bytes and names, saving once, ownership, and search.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Asset, AssetPage, JobSnapshot, TemporaryAssetUpload } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { OutputGenerator, OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { AssetQuery, AssetToSave, AssetValue } from '../../src/engine/node-api/services/assets.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { readJobSnapshot } from '../../src/jobs/queries.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { cannotMount, memoryLog, smallDisk } from '../db/kit.ts'
import { graph, node, sink, withTypes } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { svc } from '../helpers/process.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { stored } from '../http/storage-kit.ts'
import { fileForm, UPLOADS } from '../http/uploads-kit.ts'
import { submission } from '../jobs/kit.ts'
import { context } from './context.ts'

const save = builtinRegistry.get('asset.Save')!
const list = builtinRegistry.get('asset.List')!
const OWNER: OwnerScope = { user_id: '1', workspace_id: null }
const BOB: OwnerScope = { user_id: 'bob', workspace_id: null }

const KEPT: AssetValue = {
  type: 'file',
  uri: '/api/storage/1/asset_a.bin',
  asset_id: 'asset_a',
  content_type: 'application/octet-stream',
  size: 1,
  sha256: 'a',
  name: 'a',
}

/** One firing against a store that keeps nothing; returns the request to save. */
async function saved(inputs: Record<string, unknown>): Promise<AssetToSave> {
  let asked: AssetToSave | null = null
  const assets = {
    ...noServices.assets,
    load: async () => ({ bytes: Buffer.from('loaded'), content_type: 'text/csv', name: 'loaded.csv' }),
    async save(asset: AssetToSave) {
      asked = asset
      return KEPT
    },
  }
  const redact = (text: string) => text.replaceAll('hunter2', '[secret]')
  const services = { ...noServices, assets, redact }
  const given = { name: '', content_type: null, folder: null, ...inputs }
  assert.deepEqual(await save.run!(given, { ...context, services }), { asset: KEPT })
  return asked!
}

const TEXT = 'text/plain; charset=utf-8'

const brief = ({ bytes, name, content_type }: AssetToSave) => [Buffer.from(bytes).toString(), name, content_type]

describe('asset.Save', () => {
  test('accepts bytes, texts, and values that have or reference a file', async () => {
    for (const [data, expected] of [
      [Buffer.from('bytes'), ['bytes', null, null]],
      ['héllo', ['héllo', null, TEXT]],
      ['', ['', null, TEXT]],
      ['/api/storage/1/x', ['/api/storage/1/x', null, TEXT]],
      [
        { type: 'image', data: Buffer.from('png'), content_type: 'image/png', name: 'a.png' },
        ['png', 'a.png', 'image/png'],
      ],
      [{ uri: '/api/storage/1/x' }, ['loaded', 'loaded.csv', 'text/csv']],
      [{ asset_id: 'a' }, ['loaded', 'loaded.csv', 'text/csv']],
    ] as const)
      assert.deepEqual(brief(await saved({ data })), expected)
  })

  test('uses the given name, else the name of the file', async () => {
    const { name, content_type, folder, node_id } = await saved({
      data: { asset_id: 'a' },
      name: 'report.txt',
      content_type: 'text/plain',
      folder: 'asset_f',
    })
    assert.deepEqual([name, content_type, folder, node_id], ['report.txt', 'text/plain', 'asset_f', 'n'])
  })

  test('saves no secrets that are known, in texts and names', async () => {
    assert.deepEqual(brief(await saved({ data: 'it is hunter2', name: 'hunter2.txt' })), [
      'it is [secret]',
      '[secret].txt',
      TEXT,
    ])
    const data = { data: Buffer.from('bytes'), content_type: 'image/hunter2', name: 'hunter2.png' }
    assert.deepEqual(brief(await saved({ data })), ['bytes', '[secret].png', 'image/[secret]'])
    const told = await saved({ data, content_type: 'text/x-hunter2' })
    assert.equal(told.content_type, 'text/x-[secret]')
  })

  test('refuses values that are not files', async () => {
    for (const data of [7, true, null, [], ['x'], {}, { type: 'image' }])
      await assert.rejects(saved({ data }), ({ type }: NodeError) => type === 'bad_input', JSON.stringify(data))
    const long = 'x'.repeat(10_000_001)
    await assert.rejects(saved({ data: long }), ({ type }: NodeError) => type === 'too_large')
  })

  test('needs the asset that its own value refers to, and none for a text', () => {
    const needs = (data: unknown, connected = false) =>
      save.needs!({ node_id: 'n', data: { data }, isConnected: () => connected })
    assert.deepEqual(needs({ asset_id: 'a' }), [{ kind: 'asset', reference: 'asset://a' }])
    for (const data of ['asset://a', null]) assert.deepEqual(needs(data), [])
    assert.deepEqual(needs({ asset_id: 'a' }, true), [])
  })
})

describe('asset.List', () => {
  const value = (id: string): AssetValue => ({ ...KEPT, asset_id: id })

  async function listed(
    inputs: Record<string, unknown>,
    there: readonly string[],
    given: readonly OutputValues[] = [],
  ) {
    const asked: AssetQuery[] = []
    const assets = {
      ...noServices.assets,
      async list(query: AssetQuery) {
        asked.push(query)
        return there.slice(0, query.limit).map(value)
      },
    }
    const services = { ...noServices, assets }
    const data = { folder: null, content_type: null, name: '', limit: 100, ...inputs }
    const stream = list.run!(data, { ...context, services, previousItems: given }) as OutputGenerator
    const items: unknown[] = []
    for (;;) {
      const { value: one, done } = await stream.next()
      if (done) return { asked, items, end: one as { assets: AssetValue[]; count: number } }
      items.push((one as { asset: AssetValue }).asset.asset_id)
    }
  }

  test('gives each by itself, and all of them', async () => {
    const { asked, items, end } = await listed({ name: 'x', limit: 2 }, ['c', 'b', 'a'])
    assert.deepEqual(asked, [{ folder: null, content_type: null, name: 'x', limit: 2 }])
    assert.deepEqual([items, end], [['c', 'b'], { assets: [value('c'), value('b')], count: 2 }])
    assert.deepEqual((await listed({}, [])).end, { assets: [], count: 0 })
  })

  test('resumes after the assets that it had given, each once', async () => {
    const given = [{ asset: value('c') }, { asset: value('b') }]
    const { items, end } = await listed({ limit: 4 }, ['e', 'd', 'c', 'b', 'a'], given)
    assert.deepEqual(items, ['e', 'd'])
    assert.deepEqual(
      end.assets.map(({ asset_id }) => asset_id),
      ['c', 'b', 'e', 'd'],
    )
    assert.deepEqual((await listed({ limit: 2 }, ['e', 'd', 'c'], given)).items, [])
  })
})

test(
  'asset.Save and asset.List need a server',
  inFolder(async (folder) => {
    for (const [type, data, handle] of [
      ['asset.Save', { data: 'x' }, 'asset'],
      ['asset.List', {}, 'assets'],
    ] as const) {
      const file = join(folder, `${type}.json`)
      const nodes = [node('n', type, data), sink('out')]
      writeFileSync(file, JSON.stringify({ graph: graph(nodes, [`n.${handle}->out.value`]) }))
      const { code, stderr } = await svc(['run', file])
      assert.notEqual(code, 0)
      assert.match(stderr, /svc run has no assets\. Run the workflow on a server: svc serve\./)
    }
  }),
)

/** Runs a graph as a job of a user, and returns its snapshot. */
async function ran(server: TestServer, made: ReturnType<typeof graph>, owner = OWNER, id = 'job') {
  const { jobs } = server.context.runs
  const job = jobs.submit(owner, submission({ graph: made, job_id: id })).active!
  await job.settled()
  return readJobSnapshot(server.context.runs, await jobs.get(owner, id))
}

const saving = (data: Record<string, unknown>) =>
  graph([node('save', 'asset.Save', data), sink('out')], ['save.asset->out.value'])

const listing = (data: Record<string, unknown>) =>
  graph([node('list', 'asset.List', data), sink('out')], ['list.assets->out.value'])

function outputOf({ result, error }: JobSnapshot): unknown {
  assert.equal(error, null, JSON.stringify(error))
  return result!.outputs.out
}

const assetsIn = async (server: TestServer) => (await call<AssetPage>(server, 'GET', '/api/assets')).body.assets

async function folderOf(server: TestServer, owner = OWNER, name = 'Folder'): Promise<string> {
  const { service: library } = server.context.assets
  return (await library.create(owner, { name, content_type: 'folder' }, null)).id
}

describe('a job that saves', () => {
  test('leaves an asset that says where it comes from, at once and whatever becomes of the job', async () => {
    await using server = await startServer()
    const folder = await folderOf(server)
    const failing = graph(
      [
        node('save', 'asset.Save', { data: 'a,b\n1,2\n', name: 'table.csv', content_type: 'text/csv', folder }),
        node('fail', 'json.Parse', {}),
        sink('out'),
      ],
      ['save.asset->fail.text', 'fail.output->out.value'],
    )
    const { status, workflow_id: made } = await ran(server, failing)
    assert.equal(status, 'failed')
    const asset = (await assetsIn(server)).find(({ content_type }) => content_type !== 'folder')!
    const { name, parent_id, job_id, node_id, workflow_id, size, sha256, content_type } = asset
    assert.deepEqual([name, parent_id, job_id, node_id, workflow_id], ['table.csv', folder, 'job', 'save', made])
    const digest = createHash('sha256').update('a,b\n1,2\n').digest('hex')
    assert.deepEqual([size, sha256, content_type], [8, digest, 'text/csv'])
    assert.equal((await call(server, 'GET', asset.get_url!)).text, 'a,b\n1,2\n')
  })

  test('gives a value that the next node, and the next run, accepts as the file', async () => {
    await using server = await startServer()
    const chain = graph(
      [
        node('save', 'asset.Save', { data: 'Hello, Ada!', name: 'note.txt' }),
        node('load', 'asset.Load'),
        node('again', 'asset.Save'),
        sink('out'),
        sink('text'),
      ],
      ['save.asset->load.asset', 'save.asset->again.data', 'load.text->text.value', 'again.asset->out.value'],
    )
    const { result } = await ran(server, chain)
    assert.equal(result!.outputs.text, 'Hello, Ada!')
    const value = result!.outputs.out as unknown as AssetValue
    const { name, type, content_type, size } = value
    assert.deepEqual([name, type, content_type, size], ['note.txt', 'document', 'text/plain; charset=utf-8', 11])
    const all = await assetsIn(server)
    assert.deepEqual([all.length, new Set(all.map(({ sha256 }) => sha256)).size], [2, 1])
    const next = graph([node('load', 'asset.Load', { asset: value }), sink('out')], ['load.text->out.value'])
    assert.equal(outputOf(await ran(server, next, OWNER, 'next')), 'Hello, Ada!')
    const empty = graph(
      [node('save', 'asset.Save', { data: '' }), node('load', 'asset.Load'), sink('out')],
      ['save.asset->load.asset', 'load.text->out.value'],
    )
    assert.equal(outputOf(await ran(server, empty, OWNER, 'empty')), '')
  })

  test('makes an asset of a temporary upload', async () => {
    await using server = await startServer()
    const { uri } = (await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, fileForm('for a day'))).body
    const value = outputOf(await ran(server, saving({ data: { uri } }))) as AssetValue
    assert.equal(value.name, 'note.txt')
    assert.equal((await call(server, 'GET', value.uri)).text, 'for a day')
    assert.equal((await call<Asset>(server, 'GET', `/api/assets/${value.asset_id}`)).body.id, value.asset_id)
  })

  test('makes an asset for each item of a stream, even for equal content', async () => {
    await using server = await startServer()
    const each = graph(
      [
        node('each', 'control.ForEach', { list: ['a', 'b', 'a'] }),
        node('save', 'asset.Save'),
        node('all', 'control.Collect'),
        sink('out'),
      ],
      ['each.item->save.data', 'save.asset->all.item', 'all.list->out.value'],
    )
    const values = outputOf(await ran(server, each)) as AssetValue[]
    assert.equal(new Set(values.map(({ asset_id }) => asset_id)).size, 3)
    assert.equal(new Set(values.map(({ sha256 }) => sha256)).size, 2)
    assert.equal((await assetsIn(server)).length, 3)
  })

  test('makes the same asset again if it was interrupted before the save was recorded', async () => {
    const held = Promise.withResolvers<void>()
    let hangs = true
    const type: NodeType = {
      ...save,
      async run(inputs, own) {
        const outputs = await save.run!(inputs, own)
        if (hangs) {
          held.resolve()
          await new Promise((_, reject) => own.signal.addEventListener('abort', () => reject(own.signal.reason)))
        }
        return outputs as OutputValues
      },
    }
    const registry = withTypes(type)
    await using server = await startServer({ registry })
    server.context.runs.jobs.submit(
      OWNER,
      submission({ graph: saving({ data: 'once', name: 'a.txt' }), job_id: 'job' }),
    )
    await held.promise
    const [before] = await assetsIn(server)
    await server.close(0)
    hangs = false
    await using again = await startServer({ registry, data_dir: server.data_dir })
    const { jobs } = again.context.runs
    const snapshot = await until('its end', async () => {
      const now = await readJobSnapshot(again.context.runs, await jobs.get(OWNER, 'job'))
      return now.status === 'completed' ? now : null
    })
    assert.equal((outputOf(snapshot) as AssetValue).asset_id, before!.id)
    assert.deepEqual(
      (await assetsIn(again)).map(({ id }) => id),
      [before!.id],
    )
    // Another job saves another asset.
    await ran(again, saving({ data: 'once', name: 'a.txt' }), OWNER, 'other')
    assert.equal((await assetsIn(again)).length, 2)
  })

  test('fails on a full disk without showing the cause, and the server works on', { skip: cannotMount }, async () => {
    using disk = smallDisk(8 * (1 << 20))
    const { log, lines } = memoryLog()
    await using server = await startServer({ log, data_dir: disk.path })
    const large = graph(
      [node('text', 'text.Repeat', { text: 'ninebytes', times: 1_000_000 }), node('save', 'asset.Save'), sink('out')],
      ['text.output->save.data', 'save.asset->out.value'],
    )
    const { status, error } = await ran(server, large)
    assert.deepEqual([status, error?.type, error?.node_id], ['failed', 'unavailable', 'save'])
    assert.match(error!.message, /cannot store the file now/)
    assert.doesNotMatch(JSON.stringify(error), /disk|space|ENOSPC|write/i)
    assert.ok(lines.some((line) => JSON.stringify(line).includes('ENOSPC')))
    assert.deepEqual(await assetsIn(server), [])
    assert.equal((outputOf(await ran(server, saving({ data: 'small' }), OWNER, 'small')) as AssetValue).size, 5)
  })

  test('fails for an unknown folder or that of another user, and leaves nothing behind', async () => {
    await using server = await startServer()
    const bobs = await folderOf(server, BOB)
    const row = await stored(server, 'no folder')
    const errors: unknown[] = []
    for (const [at, folder] of [bobs, 'asset_none', row.id].entries()) {
      const { error } = await ran(server, saving({ data: 'x', folder }), OWNER, `job-${at}`)
      errors.push(JSON.stringify(error).replaceAll(folder, '…'))
      assert.match(JSON.stringify(error), /folder_not_found/)
    }
    assert.equal(new Set(errors).size, 1)
    assert.equal((await assetsIn(server)).length, 1)
  })
})

describe('a job that lists', () => {
  test('finds its owner’s assets by folder, type and name, the newest first', async () => {
    await using server = await startServer()
    const folder = await folderOf(server)
    await stored(server, Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), { name: 'Holiday.png' })
    await stored(server, 'of Bob', { scope: BOB, name: 'holiday.txt' })
    await stored(server, 'elsewhere', { scope: { ...OWNER, workspace_id: 'w' }, name: 'holiday.txt' })
    await ran(server, saving({ data: 'one', name: 'holiday notes.txt', folder }), OWNER, 'one')
    await ran(server, saving({ data: 'two', name: 'b.txt' }), OWNER, 'two')
    let count = 0
    const names = async (data: Record<string, unknown>, owner = OWNER) => {
      const values = outputOf(await ran(server, listing(data), owner, `list-${count++}`)) as AssetValue[]
      return values.map(({ name }) => name)
    }
    assert.deepEqual(await names({}), ['b.txt', 'holiday notes.txt', 'Holiday.png'])
    assert.deepEqual(await names({ limit: 2 }), ['b.txt', 'holiday notes.txt'])
    assert.deepEqual(await names({ folder }), ['holiday notes.txt'])
    assert.deepEqual(await names({ folder: 'root' }), ['b.txt', 'Holiday.png'])
    assert.deepEqual(await names({ content_type: 'image' }), ['Holiday.png'])
    assert.deepEqual(await names({ content_type: 'text/plain' }), ['b.txt', 'holiday notes.txt'])
    assert.deepEqual(await names({ name: 'HOLI' }), ['holiday notes.txt', 'Holiday.png'])
    assert.deepEqual(await names({ name: 'holiday', content_type: 'text', folder }), ['holiday notes.txt'])
    assert.deepEqual(await names({ name: 'nothing' }), [])
    assert.deepEqual(await names({}, BOB), ['holiday.txt'])
    const { error } = await ran(server, listing({ folder }), BOB, 'foreign')
    assert.match(JSON.stringify(error), /folder_not_found/)
  })

  test('gives all of many', async () => {
    await using server = await startServer()
    for (let at = 0; at < 130; at += 1) await stored(server, 'x', { name: `${at}.txt` })
    const values = outputOf(await ran(server, listing({ limit: 1_000 }))) as AssetValue[]
    assert.deepEqual(
      values.map(({ name }) => name),
      Array.from({ length: 130 }, (_, at) => `${129 - at}.txt`),
    )
    assert.equal((outputOf(await ran(server, listing({}), OWNER, 'some')) as unknown[]).length, 100)
  })
})

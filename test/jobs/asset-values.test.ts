// Asset references as values: they pass typed edges and nodes, and the manifest lists each reference in an output, wherever it was made.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ResultManifest } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { graph, mapType, node, output, sink, source, testType, value } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { stored } from '../models/kit.ts'
import { OWNER, startGated, submit, valid } from './kit.ts'

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

interface Reference {
  type: string
  uri: string
  asset_id: string
  sha256: string
}

async function manifestOf(
  server: TestServer,
  of: Graph,
  params = {},
  scope: OwnerScope = OWNER,
): Promise<ResultManifest> {
  const job = submit(server, { graph: of, params }, scope)
  await job.settled()
  const { row } = await server.context.runs.jobs.get(scope, job.row.id)
  assert.equal(row.status, 'completed', String(row.error))
  const manifest = JSON.parse(row.result!) as ResultManifest
  valid('ResultManifest', manifest)
  return manifest
}

/** Each asset of the manifest is at its path, has its digest, and can be read. */
async function bound(server: TestServer, manifest: ResultManifest): Promise<[name: string, ...path: unknown[]][]> {
  for (const { output_name, path, asset } of manifest.assets) {
    const at = path.reduce(
      (found, key) => (found as Record<string | number, unknown>)[key],
      (manifest.outputs as Record<string, unknown>)[output_name],
    ) as Reference
    assert.deepEqual([at.uri, at.asset_id, at.sha256], [asset.uri, asset.asset_id, asset.sha256])
    const answer = await fetch(`${server.url}${asset.uri}`)
    assert.equal(answer.status, 200)
    assert.equal(digest(Buffer.from(await answer.arrayBuffer())), asset.sha256)
  }
  return manifest.assets.map(({ output_name, path }) => [output_name, ...path])
}

/** A reference to an asset of the caller. */
async function made(server: TestServer, data: string, scope = OWNER): Promise<Reference> {
  const of = graph([node('save', 'asset.Save', { data, name: 'a.txt' }), sink('out')], ['save.asset->out.value'])
  return (await manifestOf(server, of, {}, scope)).outputs.out as unknown as Reference
}

describe('a reference to an asset', () => {
  const MEDIA = ['image', 'audio', 'video', 'document', 'dataframe', 'model'] as const

  test('is a value of each type of media along edges of that type, and of no other', async () => {
    const of = (type: string): NodeType[] => [
      testType(`test.Give_${type}`, {
        properties: [value],
        outputs: [{ ...output, type: parseType(type) }],
        run: ({ value: given }) => ({ output: { ...(given as object), type } }),
      }),
      testType(`test.Take_${type}`, {
        properties: [{ ...value, type: parseType(type) }],
        outputs: [{ ...output, type: parseType(type) }],
        run: ({ value: given }) => ({ output: given }),
      }),
    ]
    await using server = await startGated({ types: MEDIA.flatMap(of) })
    const asset = await made(server, 'some text')
    assert.equal(asset.type, 'document')
    for (const type of MEDIA) {
      const through = graph(
        [source('in', null), node('give', `test.Give_${type}`), node('take', `test.Take_${type}`), sink('out')],
        ['in.output->give.value', 'give.output->take.value', 'take.output->out.value'],
      )
      const manifest = await manifestOf(server, through, { in: asset })
      assert.deepEqual(manifest.outputs.out, { ...asset, type })
      assert.deepEqual(await bound(server, manifest), [['out']])
    }
    const crossed = graph(
      [source('in', null), node('take', 'test.Take_image'), sink('out')],
      ['in.output->take.value', 'take.output->out.value'],
    )
    const job = submit(server, { graph: crossed, params: { in: asset } })
    await job.settled()
    assert.match(job.row.error!, /"type":"type_mismatch"/)
  })

  test('is accepted by nodes that work on files, and the manifest lists the files that they make', async () => {
    await using server = await startServer()
    const photo = '/api/assets/packages/pictures/photos/lake.jpg'
    const of = graph(
      [
        node('save', 'asset.Save', { data: { uri: photo } }),
        node('resize', 'image.Resize', { width: 16 }),
        node('again', 'image.Load'),
        node('pair', 'list.Append'),
        sink('out'),
        node('width', 'output.Output', { name: 'width' }),
      ],
      [
        'save.asset->resize.image',
        'save.asset->again.image',
        'save.asset->pair.list',
        'resize.image->pair.value',
        'pair.output->out.value',
        'again.width->width.value',
      ],
    )
    const manifest = await manifestOf(server, of)
    assert.deepEqual(await bound(server, manifest), [
      ['out', 0],
      ['out', 1],
    ])
    const [first, second] = manifest.outputs.out as unknown as [Reference, Reference]
    assert.deepEqual([first.type, second.type], ['image', 'image'])
    assert.notEqual(first.sha256, second.sha256)
  })

  test('of another user, without an asset, or with another URL is not an asset of the job', async () => {
    await using server = await startServer()
    const theirs = await made(server, 'theirs', { user_id: '2', workspace_id: null })
    const own = await made(server, 'own')
    const other = await made(server, 'other')
    const given = [
      theirs,
      { ...own, asset_id: 'asset_none' },
      { ...own, uri: other.uri },
      { asset_id: own.asset_id },
      own,
      { deep: { inside: [other] } },
    ]
    const manifest = await manifestOf(server, graph([source('in', null), sink('out')], ['in.output->out.value']), {
      in: given,
    })
    assert.deepEqual(manifest.outputs.out, given)
    assert.deepEqual(await bound(server, manifest), [
      ['out', 4],
      ['out', 5, 'deep', 'inside', 0],
    ])
  })
})

describe('an asset that a node makes', () => {
  const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')

  test('is listed wherever it is inside of lists and dicts', async () => {
    const giving = mapType('test.Gives', (given) => ({
      list: [PNG, { in: [[{ type: 'image', data: PNG, name: 'a.png' }]] }],
      dict: { 'a key': { b: new Uint8Array([1, 2, 3]) } },
      text: given,
    }))
    await using server = await startGated({ types: [giving] })
    const of = graph(
      [source('in', 'x'), node('give', 'test.Gives'), sink('out')],
      ['in.output->give.value', 'give.output->out.value'],
    )
    assert.deepEqual(await bound(server, await manifestOf(server, of)), [
      ['out', 'list', 0],
      ['out', 'list', 1, 'in', 0, 0],
      ['out', 'dict', 'a key', 'b'],
    ])
  })

  test('in a called workflow, or in a loop, is listed like any other', async () => {
    const bytes = mapType('test.Bytes', (given) => Buffer.from(`bytes of ${String(given)}`))
    const next = mapType('test.Next', (given) => Number(given) + 1)
    await using server = await startGated({ types: [bytes, next] })
    const called = graph(
      [source('in', 'called'), node('bytes', 'test.Bytes'), node('save', 'asset.Save'), sink('made'), sink('saved')],
      ['in.output->bytes.value', 'bytes.output->save.data', 'bytes.output->made.value', 'save.asset->saved.value'],
    )
    const workflow_id = await stored(server, called, 'called')
    const outputs = { made: { type: 'any' }, saved: { type: 'any' } }
    const inputs = { in: { type: 'any' } }
    const of = graph(
      [
        node('loop', 'control.Loop', { initial: 0, times: 3 }),
        node('next', 'test.Next'),
        node('call', 'workflow.Call', { workflow_id }, {
          dynamic_outputs: outputs,
          dynamic_properties: inputs,
        } as never),
        node('all', 'control.Collect'),
        sink('made'),
        sink('saved'),
      ],
      [
        'loop.value->next.value',
        'next.output->loop.next',
        'loop.value->call.in',
        'call.saved->all.item',
        'all.list->saved.value',
        'call.made->made.value',
      ],
    )
    const manifest = await manifestOf(server, of)
    const places = await bound(server, manifest)
    assert.deepEqual(places.map((place) => place.join('/')).sort(), [
      'made/0',
      'made/1',
      'made/2',
      'saved/0',
      'saved/1',
      'saved/2',
    ])
    const digests = [0, 1, 2].map((at) => digest(Buffer.from(`bytes of ${at}`)))
    for (const name of ['made', 'saved'])
      assert.deepEqual(
        (manifest.outputs as Record<string, Reference[]>)[name]!.map(({ sha256 }) => sha256),
        digests,
      )
    const { body } = await call<{ assets: unknown[] }>(server, 'GET', `/api/assets?job_id=${manifest.job_id}`)
    assert.equal(body.assets.length, 6)
  })
})

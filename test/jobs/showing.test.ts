// Shown and stored job data has no known secrets, no bytes, and no content twice.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ManifestAsset, ResultManifest } from '../../generated/types.ts'
import { listJobEventsAfter } from '../../src/db/jobs/events.ts'
import { listJournalPages } from '../../src/db/jobs/journal.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { listChangedOutputs } from '../../src/sockets/jobs/changed-outputs.ts'
import { StoredJobFrames } from '../../src/sockets/jobs/frames.ts'
import { graph, mapType, node, sink, source } from '../engine/kit.ts'
import { until } from '../helpers/server.ts'
import { gated, history, OWNER, plain, startGated, submit, valid } from './kit.ts'

const SECRET = 'hunter2-"and"-more'
const through = (type: string) =>
  graph([source('in', 'x'), node('n', type), sink('out')], ['in.output->n.value', 'n.output->out.value'])

describe('secrets that the server knows', () => {
  test('are replaced in outputs, frames, errors, provenance and stored data', async () => {
    const telling: NodeType = {
      ...mapType('test.Tells', (value) => ({ said: `it is ${SECRET}`, [SECRET]: value })),
    }
    const failing = mapType('test.Fails', () => {
      throw Object.assign(new Error('x'), {})
    })
    await using server = await startGated({ environment: { SVC_SECRET_X: SECRET }, types: [telling, failing] })
    const { store } = server.context
    const { jobs, events } = server.context.runs
    const job = submit(server, { graph: through('test.Tells'), params: { in: SECRET }, hasFollower: true })
    const seen: unknown[] = []
    for await (const item of events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)) seen.push(item)
    const { row } = await jobs.get(OWNER, job.row.id)
    const escaped = JSON.stringify(SECRET).slice(1, -1)
    for (const text of [
      JSON.stringify(seen),
      JSON.stringify(store.read((tx) => listJobEventsAfter(tx, row.key, 0, 100))),
      JSON.stringify(row),
    ]) {
      assert.ok(text.includes('[redacted]'))
      assert.ok(!text.includes(SECRET) && !text.includes(escaped) && !text.includes('hunter2'))
    }
    const manifest = JSON.parse(row.result!) as ResultManifest
    valid('ResultManifest', manifest)
    assert.deepEqual(manifest.provenance.inputs, { in: '[redacted]' })
    assert.deepEqual(manifest.outputs, { out: { said: 'it is [redacted]', '[redacted]': '[redacted]' } })
  })

  test('are not replaced in ids and in names of outputs, but in names of nodes', async () => {
    const failing = mapType('test.Fails', () => {
      throw new NodeError('no frail-node here', 'odd')
    })
    const environment = { SVC_SECRET_X: 'frail-node', SVC_SECRET_Y: 'said-output' }
    await using server = await startGated({ environment, types: [failing] })
    const { jobs } = server.context.runs
    const failed = submit(server, {
      graph: graph([source('in', 'x'), node('frail-node', 'test.Fails')], ['in.output->frail-node.value']),
    })
    await failed.settled()
    const { row } = await jobs.get(OWNER, failed.row.id)
    const { message, node_id } = JSON.parse(row.error!) as Record<string, unknown>
    assert.deepEqual([message, node_id], ['no [redacted] here', 'frail-node'])
    const events = await history(server, row)
    assert.ok(events.some((event) => event.type === 'node_status' && event.node_id === 'frail-node'))

    const done = submit(server, {
      graph: graph([source('in', 'x'), sink('said-output')], ['in.output->said-output.value']),
    })
    await done.settled()
    const ended = await jobs.get(OWNER, done.row.id)
    assert.deepEqual(Object.keys((JSON.parse(ended.row.result!) as ResultManifest).outputs), ['said-output'])
    const update = (await history(server, ended.row)).find((event) => event.type === 'output_update')
    assert.ok(update?.type === 'output_update' && update.output_name === 'said-output')
  })

  test('are unchanged for the nodes, even after the job was loaded again', async () => {
    const given: unknown[] = []
    const listening = mapType('test.Listens', (value) => {
      given.push(value)
      return 'heard'
    })
    await using server = await startGated({
      environment: { SVC_SECRET_X: SECRET },
      types: [listening],
      config: { max_concurrent_jobs: 1 },
    })
    submit(server, { graph: gated })
    const waiting = submit(server, { graph: through('test.Listens'), params: { in: SECRET } })
    await waiting.accepted()
    const [page] = server.context.store.read((tx) => listJournalPages(tx, waiting.row.key))
    assert.ok(page && !Buffer.from(page.body).includes('hunter2'), 'what is stored is sealed')
    const entry = await until('the firing', () => server.gate.waiting[0])
    entry.open()
    await waiting.settled()
    assert.deepEqual(given, [SECRET])
    assert.deepEqual(
      server.context.store.read((tx) => listJournalPages(tx, waiting.row.key)),
      [],
      'a job that has completed needs nothing any more',
    )
  })
})

describe('media', () => {
  test('has no secret in its name, its claimed type or the path to it; its bytes stay as they are', async () => {
    const bytes = Buffer.from(`some text with ${SECRET}`)
    const picture = { type: 'file', data: bytes, name: `a ${SECRET}.txt`, content_type: `text/x; y="hunter2-more-"` }
    const giving = mapType('test.Named', () => ({ [SECRET]: [picture] }))
    const environment = { SVC_SECRET_X: SECRET, SVC_SECRET_Y: 'hunter2-more-' }
    await using server = await startGated({ environment, types: [giving] })
    const job = submit(server, { graph: through('test.Named') })
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    const manifest = JSON.parse(row.result!) as ResultManifest
    valid('ResultManifest', manifest)
    assert.ok(!row.result!.includes('hunter2'))
    const [{ asset, path }] = manifest.assets as [ManifestAsset]
    assert.deepEqual(path, ['[redacted]', 0])
    assert.deepEqual([asset.name, asset.content_type], ['a [redacted].txt', 'text/plain; charset=utf-8'])
    const shown = manifest.outputs.out as Record<string, [Record<string, unknown>]>
    assert.deepEqual([shown['[redacted]']![0].name, shown['[redacted]']![0].uri], [asset.name, asset.uri])
    const answer = await fetch(`${server.url}${asset.uri}`)
    assert.ok(!answer.headers.get('content-disposition')?.includes('hunter2'))
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes)
  })

  test('is stored once and referred to, whole or inside of a value, with its digest', async () => {
    const bytes = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
    const giving = mapType('test.Gives', () => ({ picture: bytes, list: [bytes, 'text'] }))
    const whole = mapType('test.Whole', () => bytes)
    await using server = await startGated({ types: [giving, whole] })
    const { jobs } = server.context.runs
    for (const [type, paths] of [
      ['test.Gives', [['picture'], ['list', 0]]],
      ['test.Whole', [[]]],
    ] as const) {
      const job = submit(server, { graph: through(type) })
      await job.settled()
      const { row } = await jobs.get(OWNER, job.row.id)
      const manifest = JSON.parse(row.result!) as ResultManifest
      valid('ResultManifest', manifest)
      assert.deepEqual(
        manifest.assets.map(({ path }) => path),
        paths,
      )
      for (const { asset, path } of manifest.assets) {
        assert.equal(asset.sha256, createHash('sha256').update(bytes).digest('hex'))
        assert.equal(asset.content_type, 'image/png')
        const at = path.reduce((value, key) => (value as Record<string, unknown>)[key], manifest.outputs.out as unknown)
        assert.equal((at as { uri: string }).uri, asset.uri)
        const answer = await fetch(`${server.url}${asset.uri}`)
        assert.deepEqual([answer.status, Buffer.from(await answer.arrayBuffer())], [200, bytes])
      }
      const update = (await history(server, row)).find((event) => event.type === 'output_update')
      assert.equal(update && 'asset' in update, type === 'test.Whole')
    }
  })

  test('is shown to a returning client as it was shown live, with its description', async () => {
    const data = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
    const whole = mapType('test.Whole', () => ({ type: 'image', data, width: 3, height: 4 }))
    await using server = await startGated({ types: [whole] })
    const { context } = server
    const job = submit(server, { graph: through('test.Whole'), hasFollower: true })
    const live: unknown[] = []
    for await (const { frame } of context.runs.events.follow(job.row.key, 0, AbortSignal.timeout(60_000), job.feed)) {
      if (frame?.type === 'output_update') live.push(frame)
    }
    const { row } = await context.runs.jobs.get(OWNER, job.row.id)
    const events = await history(server, row)
    const later = events.flatMap((event, at) =>
      event.type === 'output_update' ? [new StoredJobFrames(row, context.runs).ofEvent(event, at + 1)] : [],
    )
    assert.deepEqual(later, live)
    const [changed] = await listChangedOutputs(context.runs, row, 0)
    const { value, output_name, sequence } = changed!
    const told = live[0] as { value: unknown; sequence: number }
    assert.deepEqual([output_name, value, sequence], ['out', told.value, told.sequence])
    const { asset, ...about } = events.find((event) => 'asset' in event) as unknown as { asset: ManifestAsset['asset'] }
    assert.deepEqual(about, { type: 'output_update', output_name: 'out', value })
    const { width, height, uri } = value as Record<string, unknown>
    assert.deepEqual([width, height, uri], [3, 4, asset.uri])
    // An event of an older version has the asset alone.
    const earlier = new StoredJobFrames(row, context.runs).ofEvent(
      { type: 'output_update', output_name: 'out', asset },
      1,
    ) as {
      value: unknown
    }
    assert.deepEqual(earlier.value, asset)
  })

  test('in parameters is shown by size and digest in the provenance', async () => {
    await using server = await startGated()
    const data = Buffer.alloc(20_000, 'a')
    const url = `data:text/plain;base64,${data.toString('base64')}`
    const job = submit(server, { graph: plain, params: { in: url } })
    await job.settled()
    const { row } = await server.context.runs.jobs.get(OWNER, job.row.id)
    const { provenance } = JSON.parse(row.result!) as ResultManifest
    const sha256 = createHash('sha256').update(data).digest('hex')
    assert.deepEqual(provenance.inputs.in, { type: 'document', content_type: 'text/plain', size: 20_000, sha256 })
  })
})

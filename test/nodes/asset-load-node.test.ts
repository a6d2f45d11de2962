// asset.Load: the URLs that it accepts, its text, its errors, and its needs before a run.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { NodeError } from '../../src/engine/node-api/node-error.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { svc } from '../helpers/process.ts'
import { context } from './context.ts'

const load = builtinRegistry.get('asset.Load')!

/** One firing against a store of one file, with the arguments of the store's calls. */
async function loaded(asset: unknown, bytes: string | Uint8Array = 'x', content_type = 'text/plain; charset=utf-8') {
  const asked: unknown[] = []
  const assets = {
    ...noServices.assets,
    async load(reference: string, max_bytes: number) {
      asked.push(reference, max_bytes)
      return { bytes: Buffer.from(bytes), content_type, name: 'file' }
    },
  }
  const outputs = await load.run!({ asset, max_bytes: 100 }, { ...context, services: { ...noServices, assets } })
  return { asked, ...(outputs as { bytes: Uint8Array; text: string | null }) }
}

describe('asset.Load', () => {
  test('accepts a URL, and an object that has one', async () => {
    const key = '/api/storage/temp/1/x.txt'
    for (const [asset, reference] of [
      [key, key],
      ['asset://a', 'asset://a'],
      [{ type: 'image', uri: key, asset_id: 'a' }, key],
      [{ asset_id: 'a' }, 'asset://a'],
      [{ asset_id: 'asset://a', uri: null }, 'asset://a'],
    ])
      assert.deepEqual((await loaded(asset)).asked, [reference, 100])
  })

  test('refuses other values', async () => {
    for (const asset of [7, true, null, [], ['asset://a'], {}, { uri: 7 }, { asset_id: null }])
      await assert.rejects(loaded(asset), ({ type }: NodeError) => type === 'bad_reference')
  })

  test('gives the bytes, and the text of text files', async () => {
    const latin = Buffer.from('caf\xe9', 'latin1')
    const cases: [Uint8Array | string, string, string | null][] = [
      ['héllo', 'text/plain; charset=utf-8', 'héllo'],
      ['héllo', 'text/csv', 'héllo'],
      ['{"a": 1}', 'application/json', '{"a": 1}'],
      ['<svg/>', 'image/svg+xml', '<svg/>'],
      ['{}', 'application/ld+json; charset="utf-8"', '{}'],
      ['\ufeffwith a mark', 'text/plain', 'with a mark'],
      [latin, 'text/plain; charset=iso-8859-1', 'café'],
      [latin, 'TEXT/PLAIN; a=b; Charset=ISO-8859-1', 'café'],
      [Buffer.from('hé', 'utf16le'), 'text/plain; charset=utf-16le', 'hé'],
      ['', 'text/plain', ''],
      [latin, 'text/plain', null],
      ['x', 'text/plain; charset=klingon', null],
      ['x', 'application/octet-stream', null],
      ['x', 'image/png', null],
      ['x', 'application/jsonish', null],
    ]
    for (const [content, type, text] of cases) {
      const outputs = await loaded('asset://a', content, type)
      assert.equal(outputs.text, text, type)
      assert.deepEqual(Buffer.from(outputs.bytes), Buffer.from(content))
    }
  })

  test('gives no text that is longer than texts may be', async () => {
    const long = Buffer.alloc(10_000_001, 'x')
    await assert.rejects(loaded('asset://a', long), ({ type }: NodeError) => type === 'too_large')
  })

  test('lists its needs, as far as its own values tell', () => {
    const needs = (asset: unknown, connected = false) =>
      load.needs!({ node_id: 'n', data: { asset, max_bytes: 1 }, isConnected: () => connected })
    const need = { kind: 'asset', reference: 'asset://a' }
    assert.deepEqual(needs('asset://a'), [need])
    assert.deepEqual(needs({ asset_id: 'a' }), [need])
    assert.deepEqual(needs(null), [])
    for (const asset of ['', 7, {}, [], { uri: 5 }, ['asset://a']])
      assert.deepEqual(needs(asset), [{ kind: 'asset', reference: '' }])
    assert.deepEqual(needs('asset://a', true), [])
  })

  test(
    'fails without a server',
    inFolder(async (folder) => {
      const file = join(folder, 'load.json')
      const nodes = [node('load', 'asset.Load', { asset: 'asset://a' }), node('out', 'output.Output', { name: 'text' })]
      writeFileSync(file, JSON.stringify({ graph: graph(nodes, ['load.text->out.value']) }))
      const { code, stderr } = await svc(['run', file])
      assert.notEqual(code, 0)
      assert.match(stderr, /svc run has no assets\. Run the workflow on a server: svc serve\./)
    }),
  )
})

// Tests values for asset.Load that refer to nothing: the asset is missing, and the run is not started.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graph, node } from '../engine/kit.ts'
import { startServer } from '../helpers/server.ts'
import { preflightOf, requirementsOf } from './preflight-kit.ts'

const loading = (value: unknown) =>
  graph(
    [
      node('in', 'input.Any', { name: 'file', value }),
      node('load', 'asset.Load'),
      node('out', 'output.Output', { name: 'text' }),
    ],
    ['in.output->load.asset', 'load.text->out.value'],
  )
const NOTHING = 'asset (none) missing true'

test('a value that is no reference is a missing asset, however it is given', async () => {
  await using server = await startServer()
  for (const value of [{ uri: 5 }, 7, {}, [7], { asset_id: null }, '']) {
    const what = JSON.stringify(value)
    const own = graph(
      [node('load', 'asset.Load', { asset: value }), node('out', 'output.Output', { name: 'text' })],
      ['load.text->out.value'],
    )
    const given = await preflightOf(server, loading(null), { inputs: { file: value } })
    const summaries = [given, await preflightOf(server, loading(value)), await preflightOf(server, own)]
    for (const summary of summaries) {
      assert.deepEqual(requirementsOf(summary), [NOTHING], what)
      assert.equal(summary.runnable, false, what)
    }
  }
})

test('a value that is not known yet is no missing asset', async () => {
  await using server = await startServer()
  const computed = graph(
    [
      node('in', 'input.Any', { name: 'file', value: 7 }),
      node('make', 'json.Stringify'),
      node('load', 'asset.Load'),
      node('out', 'output.Output', { name: 'text' }),
    ],
    ['in.output->make.value', 'make.output->load.asset', 'load.text->out.value'],
  )
  const summary = await preflightOf(server, computed)
  assert.deepEqual([summary.runnable, requirementsOf(summary)], [true, []])
})

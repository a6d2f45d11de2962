// `svc nodes` and `svc examples` list the available node types and examples.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exampleFor } from '../../src/nodes/examples/catalogue.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { loadExamples } from '../../src/workflows/examples.ts'
import { svc } from '../helpers/process.ts'

describe('svc nodes', () => {
  test('lists every node type with its title', async () => {
    const { code, stdout } = await svc(['nodes'])
    const lines = stdout.split('\n')
    assert.equal(code, 0)
    for (const { node_type, title } of builtinRegistry.all()) {
      assert.ok(
        lines.some((line) => line.startsWith(`${node_type} `) && line.includes(`  ${title}: `)),
        node_type,
      )
    }
    assert.match(stdout, new RegExp(`^${builtinRegistry.all().length} node types; `, 'm'))
  })

  test('finds node types that contain a text', async () => {
    const { code, stdout } = await svc(['nodes', 'COLLECT'])
    assert.equal(code, 0)
    assert.match(stdout, /^control\.Collect +Collect: /m)
    assert.doesNotMatch(stdout, /^input\./m)
  })

  test('prints all about one node type', async () => {
    const { code, stdout } = await svc(['nodes', 'control.Delay'])
    assert.equal(code, 0)
    assert.match(stdout, /^control\.Delay: Delay\n/)
    assert.match(stdout, /^properties:\n {2}value \(any\): The value to pass on\.$/m)
    assert.match(stdout, /^ {2}seconds \(float, default 1, at least 0, at most 86400\): How long to wait\.$/m)
    assert.match(stdout, /^outputs:\n {2}output \(any\)$/m)
    assert.match(stdout, /^example:\n {2}\{\n {4}"data": \{"value": "Try again\.", "seconds": 2\},\n/m)
  })

  test('says which names are free', async () => {
    const { stdout } = await svc(['nodes', 'workflow.Call'])
    assert.match(stdout, /any others, by the names that edges and dynamic_properties give them/)
    assert.match(stdout, /outputs:\n {2}any others, by the names that dynamic_outputs gives them/)
  })

  test('prints the same as JSON', async () => {
    const one = JSON.parse((await svc(['nodes', 'control.Delay', '--json'])).stdout)
    assert.deepEqual([one.node_type, one.properties.length], ['control.Delay', 2])
    assert.deepEqual(one.example, exampleFor('control.Delay'))
    const all = JSON.parse((await svc(['nodes', '--json'])).stdout)
    assert.equal(all.length, builtinRegistry.all().length)
  })

  test('suggests similar names for an unknown one, and ends with 1', async () => {
    const { code, stdout, stderr } = await svc(['nodes', 'control.Delai'])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^svc: no node type has "control\.Delai" in its name, title or description\. Did you mean/)
  })
})

describe('svc examples', () => {
  test('lists every example with its purpose', async () => {
    const { code, stdout } = await svc(['examples'])
    assert.equal(code, 0)
    for (const { id, description } of loadExamples().values())
      assert.match(stdout, new RegExp(`^${id} `, 'm'), description)
    assert.match(stdout, new RegExp(`^${loadExamples().size} examples; svc run ID runs one`, 'm'))
  })

  test('prints the same as JSON', async () => {
    const list = JSON.parse((await svc(['examples', '--json'])).stdout) as { id: string }[]
    assert.deepEqual(
      list.map(({ id }) => id),
      [...loadExamples().keys()],
    )
  })
})

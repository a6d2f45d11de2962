// Every node type has an example that is true: a run of it gives exactly the outputs that it shows.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { exampleFor, nodeExamples } from '../../../src/nodes/examples/catalogue.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { createExampleServices, type ExampleServices } from './example-services.ts'
import { exampleIssues, runExample } from './run-example.ts'

/** How many examples may show no outputs. */
const MOST_WITHOUT_OUTPUTS = 1
/** The longest outputs, in characters of JSON. */
const LONGEST_OUTPUTS = 700

const types = builtinRegistry.all().map(({ node_type }) => node_type)
const examples = [...nodeExamples]
const withOutputs = examples.filter(([, { outputs }]) => outputs !== undefined)

describe('the catalogue of examples', () => {
  test('has an example for each node type, and for no other', () => {
    assert.deepEqual([...nodeExamples.keys()].sort(), types)
    assert.equal(exampleFor('text.Unknown'), null)
    assert.equal(exampleFor('toString'), null)
  })

  test('is plain JSON', () => {
    for (const [type, example] of examples) assert.deepEqual(JSON.parse(JSON.stringify(example)), example, type)
  })

  test('says why an example shows no outputs', () => {
    const without = examples.filter(([, { outputs }]) => outputs === undefined)
    assert.deepEqual(
      without.filter(([, { note }]) => !note).map(([type]) => type),
      [],
    )
    assert.ok(without.length <= MOST_WITHOUT_OUTPUTS, without.map(([type]) => type).join(', '))
  })

  test('has short outputs, at least one in each example', () => {
    for (const [type, { outputs = {} }] of withOutputs) {
      assert.ok(Object.keys(outputs).length > 0, type)
      assert.ok(JSON.stringify(outputs).length <= LONGEST_OUTPUTS, type)
    }
  })

  test('has graphs without issues', () => {
    for (const [type, example] of examples) assert.deepEqual(exampleIssues(type, example), [], type)
  })
})

describe('a run of the example gives the outputs that it shows:', () => {
  let services: ExampleServices
  before(async () => {
    services = await createExampleServices()
  })
  after(() => services[Symbol.asyncDispose]())

  for (const [type, example] of withOutputs) {
    test(type, async () => {
      const { outputs = {} } = example
      assert.deepEqual(await runExample(type, example, Object.keys(outputs), services.forExample(type)), outputs)
    })
  }
})

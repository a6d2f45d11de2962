// Which workflows are models, and that a list of thousands does not check each graph again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  findConversationMapping,
  WorkflowModelFilter,
} from '../../../src/completions/workflow-models/conversation-mapping.ts'
import type { PlanInput, PlanOutput } from '../../../src/engine/compile/compiler.ts'
import { parseType } from '../../../src/engine/node-api/values/type-metadata.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { scaled } from '../../helpers/scale.ts'
import { startServer } from '../../helpers/server.ts'
import { hello, OWNER, STRANGER, stored } from '../workflow-kit.ts'

function input(name: string, type: string, more: Partial<PlanInput> = {}): PlanInput {
  return {
    node_id: name,
    name,
    description: '',
    type: parseType(type),
    required: true,
    default: null,
    stream: false,
    ...more,
  }
}

function output(name: string, type: string, stream = false): PlanOutput {
  return { node_id: name, name, description: '', type: parseType(type), stream }
}

const optional = { required: false }
const text = input('prompt', 'str')
const reply = output('reply', 'str')
const messages = { input: 'messages', takes: 'messages', output: 'reply' }

describe('a workflow is a model', () => {
  const cases: [string, PlanInput[], PlanOutput[], object][] = [
    ['with one text and one answer', [text], [reply], { input: 'prompt', takes: 'text', output: 'reply' }],
    ['whatever is optional besides', [input('a', 'str', optional), text, input('n', 'int', optional)], [reply], {}],
    [
      'with its only text, though it is optional',
      [input('a', 'str', optional), input('n', 'int', optional)],
      [reply],
      {},
    ],
    ['with a text that may come in pieces', [input('a', 'str', { required: false, stream: true })], [reply], {}],
    ['with a list of messages', [input('messages', 'list[any]')], [reply], messages],
    ['with messages of any type', [input('messages', 'any')], [reply], messages],
    ['with a history', [input('history', 'list[any]')], [reply], { ...messages, input: 'history' }],
    ['with its first text as the answer', [text], [output('n', 'int'), reply, output('b', 'str', true)], {}],
  ]
  for (const [what, inputs, outputs, face] of cases)
    test(what, () => {
      const found = findConversationMapping({ inputs, outputs })
      assert.ok(typeof found !== 'string', String(found))
      assert.deepEqual({ ...found, ...face }, found)
      assert.equal(found.output, 'reply')
    })
})

describe('a workflow is not a model', () => {
  const cases: [string, PlanInput[], PlanOutput[], RegExp][] = [
    ['without inputs', [], [reply], /no input/],
    ['that needs a number', [input('n', 'int'), input('a', 'str', optional)], [reply], /no input/],
    ['that needs two texts', [text, input('b', 'str')], [reply], /several required inputs/],
    [
      'with two texts, none of them required',
      [input('a', 'str', optional), input('b', 'str', optional)],
      [reply],
      /several/,
    ],
    ['with a list of something else', [input('files', 'list[any]')], [reply], /no input/],
    ['with lists of messages', [input('messages', 'list[any]', { ...optional, stream: true })], [reply], /no input/],
    ['without an output', [text], [], /no text output/],
    ['with a number as its output', [text], [output('n', 'int'), output('x', 'any')], /no text output/],
  ]
  for (const [what, inputs, outputs, why] of cases)
    test(what, () => assert.match(String(findConversationMapping({ inputs, outputs })), why))
})

describe('the list of workflows that are models', () => {
  test('has the runnable workflows of the owner, sorted by id, in their current state', async () => {
    await using server = await startServer()
    const { workflow_models } = server.context.models
    const { workflows } = server.context.runs
    const own = async (owner = OWNER) => (await workflow_models.list(owner)).filter(({ created }) => created > 0)
    const ids = [await stored(server, { ...hello(), name: 'First' }), await stored(server, hello())].sort()
    const broken = hello()
    broken.graph.edges.pop()
    broken.graph.nodes.push({ id: 'x', type: 'no.Such' } as never)
    await stored(server, broken)
    const of_others = await stored(server, { ...hello(), access: 'public' }, STRANGER)
    const listed = await own()
    assert.deepEqual(
      listed.map(({ workflow_id }) => workflow_id),
      ids,
    )
    assert.deepEqual(
      listed.map(({ id }) => id),
      ids.map((id) => `workflow/${id}`),
    )
    assert.deepEqual(listed.map(({ name }) => name).sort(), ['First', 'Talk'])
    assert.ok(listed.every(({ created }) => Math.abs(created - Date.now() / 1000) < 60))
    assert.deepEqual(
      (await own(STRANGER)).map(({ workflow_id }) => workflow_id),
      [of_others],
    )
    const number = hello()
    number.graph.nodes[0]!.type = 'input.Integer'
    await workflows.update(OWNER, ids[0]!, number, null)
    assert.deepEqual(
      (await own()).map(({ workflow_id }) => workflow_id),
      [ids[1]],
    )
    await workflows.delete(OWNER, ids[1]!, null)
    assert.deepEqual(await own(), [])
  })

  test('has the fitting bundled examples for every owner, after the owner’s workflows', async () => {
    await using server = await startServer()
    const { workflow_models } = server.context.models
    const { workflows } = server.context.runs
    const id = await stored(server, hello())
    const [own, ...bundled] = await workflow_models.list(OWNER)
    assert.equal(own?.workflow_id, id)
    assert.deepEqual(await workflow_models.list(STRANGER), bundled)
    const named = bundled.map(({ workflow_id }) => workflow_id)
    const fitting = workflows.examples().filter((example) => {
      const { plan } = workflows.example(example.id).compiled
      return plan !== null && typeof findConversationMapping(plan) !== 'string'
    })
    assert.deepEqual(
      named,
      fitting.map((example) => example.id),
    )
    assert.ok(named.includes('greeting') && !named.includes('hello-world'), named.join())
    const { etag } = workflows.example('greeting').compiled
    const greeting = { id: 'workflow/greeting', workflow_id: 'greeting', name: 'Greeting', etag, created: 0 }
    assert.deepEqual(
      bundled.find((one) => one.workflow_id === 'greeting'),
      greeting,
    )
    assert.deepEqual(workflow_models.get(STRANGER, 'greeting'), greeting)
  })

  test('checks each graph once, and lets others have their turns meanwhile', async () => {
    await using server = await startServer({ config: { durability: 'normal' } })
    const count = scaled(400)
    const { workflows } = server.context.runs
    const made = Array.from({ length: count }, (_, at) => hello({ name: 'prompt', description: `${at}` }))
    await Promise.all(made.map((one) => stored(server, one)))
    const { workflows: all } = await workflows.list(OWNER, {})
    let looks = 0
    const counting = {
      runnable(...asked: Parameters<typeof workflows.runnable>) {
        // Some of them take as long as large graphs.
        const end = performance.now() + (looks++ < 20 ? 1 : 0)
        while (performance.now() < end);
        return workflows.runnable(...asked)
      },
    }
    const faces = new WorkflowModelFilter(counting, new TimeSliceScheduler())
    let turns = 0
    const turn = () => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    assert.equal((await faces.filterModels(OWNER, all)).length, count)
    clearImmediate(next)
    assert.equal(looks, count)
    assert.ok(turns > 0)
    assert.equal((await faces.filterModels(OWNER, all)).length, count)
    assert.equal(looks, count)
  })

  test('checks a graph for each owner, so that the time of a list does not tell what others have', async () => {
    await using server = await startServer()
    const { workflows } = server.context.runs
    await stored(server, hello())
    const { workflows: all } = await workflows.list(OWNER, {})
    const looks: string[] = []
    const counting = {
      runnable({ user_id }: typeof OWNER, id: string) {
        looks.push(user_id)
        return workflows.runnable(OWNER, id)
      },
    }
    const models = new WorkflowModelFilter(counting, new TimeSliceScheduler())
    for (const owner of [OWNER, STRANGER, OWNER, STRANGER]) await models.filterModels(owner, all)
    assert.deepEqual(looks, [OWNER.user_id, STRANGER.user_id])
  })
})

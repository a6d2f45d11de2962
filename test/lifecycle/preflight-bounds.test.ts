// Tests that a preflight takes time and memory in proportion to its input, and that its answer is bounded.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AbortableTimeSlices } from '../../src/lifecycle/preflight/abortable-time-slices.ts'
import { AssetReferences } from '../../src/lifecycle/preflight/asset-references.ts'
import { createErrorIssue, createWarningIssue, IssueCollector } from '../../src/lifecycle/preflight/issues.ts'
import {
  limitRequirementsSteps,
  RequirementSet,
  type RunRequirement,
} from '../../src/lifecycle/preflight/requirements.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { runToCompletion, TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { graph, node } from '../engine/kit.ts'
import { takesLess } from '../helpers/patience.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { stored } from '../sockets/kit.ts'
import { calling, preflightOf, requirement } from './preflight-kit.ts'

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

/** Milliseconds of this thread. */
async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

describe('calls of workflows', () => {
  test('by many nodes that each lack many inputs take as long as both together, not their product', async () => {
    const named = Array.from({ length: 2_000 }, (_, at) => `n${at}`)
    const callee = await stored(
      server,
      graph(
        named.map((name) => node(name, 'input.String', { name })),
        [],
      ),
    )
    const nodes = named.map((id) => ({ ...calling(callee, { [id]: 'x', [`no ${id}`]: 1 }).nodes[0]!, id }))
    const workflow_id = await stored(server, graph(nodes, []))
    const { preflight } = server.context.runs
    const ME = { user_id: '1', workspace_id: null }
    const ms = await processorMs(async () => {
      const summary = await preflight.report(ME, { workflow_id }, AbortSignal.timeout(60_000))
      assert.equal(summary.issues.length, 1_001)
      assert.equal(summary.issues.at(-1)!.message, `There are ${2_000 * 2_000 - 1_000} more issues.`)
      assert.equal(summary.runnable, false)
    })
    assert.ok(ms < 2_000, `${ms} ms`)
  })

  test('with long names have short issues', async () => {
    const name = 'x'.repeat(100_000)
    const callee = await stored(server, graph([node('in', 'input.String', { name })], []))
    const { issues } = await preflightOf(server, calling(callee), { level: 'static' })
    assert.equal(issues[0]?.pin_name?.length, 512)
    assert.ok(issues[0]!.message.length <= 2_001)
  })
})

describe('issues', () => {
  test('beyond the limit are counted, and warnings are omitted first', () => {
    const issues = new IssueCollector()
    for (let at = 0; at < 600; at++) issues.add(createWarningIssue('w', `${at}`))
    for (let at = 0; at < 1_200; at++) issues.add(createErrorIssue('e', `${at}`))
    issues.countOmitted(5)
    const told = issues.list()
    assert.deepEqual(
      [told.length, told.filter(({ severity }) => severity === 'error').length, told.at(-1)!.message],
      [1_001, 1_000, 'There are 805 more issues.'],
    )
  })

  test('are each listed once', () => {
    const issues = new IssueCollector()
    for (let at = 0; at < 3; at++) issues.add(createErrorIssue('e', 'the same', 'node', 'pin'))
    assert.equal(issues.list().length, 1)
  })
})

describe('secrets', () => {
  const placeholders = (count: number) => Array.from({ length: count }, (_, at) => `{{secret:s${at}}}`).join('')
  const sending = (id: string, body: string) => node(id, 'http.Request', { url: 'http://a.test', method: 'POST', body })

  test('that a node names without end are looked up to a limit, and reported as one beyond it', async () => {
    const nodes = [sending('a', placeholders(200_000)), sending('b', '{{secret:s1}}')]
    const { requirements, runnable } = await preflightOf(server, graph(nodes, []), { level: 'availability' })
    assert.equal(requirements.length, 2_001)
    assert.equal(runnable, false)
    const others = requirements.find(({ id }) => id === 'others')
    assert.equal(others?.message, 'The run needs more than 2000 secrets: the others were not looked for.')
    assert.deepEqual(requirements.find(({ id }) => id === 's1')?.details, { node_ids: ['a', 'b'] })
  })

  test('of one name that a node names without end take little time', async () => {
    const { secretNamesSteps } = builtinRegistry.get('http.Request')!
    const data = { url: '{{secret:x}}'.repeat(1_000_000), query: null, headers: null, body: null }
    await takesLess(200, () =>
      assert.deepEqual(runToCompletion(secretNamesSteps!({ node_id: 'a', data, isConnected: () => false })), ['x']),
    )
  })
})

test('no more files of a list are checked than a firing accepts', () => {
  const files = Array.from({ length: 100_000 }, (_, at) => `asset://${at}`)
  const data = { files, names: null }
  const found = builtinRegistry.get('archive.Zip')!.needs!({ node_id: 'a', data, isConnected: () => false })
  assert.deepEqual([found.length, found[99]], [100, { kind: 'asset', reference: 'asset://99' }])
})

describe('references', () => {
  const found = async (text: string) => {
    const references = new AssetReferences(
      '',
      new AbortableTimeSlices(new TimeSliceScheduler(), 'one', AbortSignal.timeout(60_000)),
    )
    await references.collect([text])
    return [...references.found.keys()]
  }

  test('full of punctuation take no longer than others of their length', async () => {
    const textOf = (sign: string) => `asset://${sign.repeat(2_030)}a `.repeat(1_500)
    await found(textOf('b'))
    const letters = await processorMs(() => found(textOf('b')))
    const dots = await processorMs(() => found(textOf('.')))
    assert.ok(dots < 10 * letters + 100, `${dots} ms, and ${letters} ms`)
  })

  test('lose the punctuation after them, and only that', async () => {
    assert.deepEqual(await found('See asset://a.b-c.-. and asset://d--, too'), ['asset://a.b-c', 'asset://d'])
  })

  test('in a list of very many values are collected in turns, with a limited number of values each', async () => {
    let read = 0
    let most = 0
    const list = new Proxy(Array<string>(50_000).fill('a'), {
      get(of, name, receiver) {
        most = Math.max(most, ++read)
        return Reflect.get(of, name, receiver) as unknown
      },
    })
    const turns = new AbortableTimeSlices(new TimeSliceScheduler(), 'one', AbortSignal.timeout(60_000))
    const asked = Object.defineProperty(turns, 'over', {
      get() {
        read = 0
        return false
      },
    })
    const references = new AssetReferences('', asked)
    await references.collect({ list, after: [{ asset_id: 'one' }, 'asset://two'] })
    assert.ok(most < 5_000, `${most} reads in one turn`)
    assert.deepEqual([...references.found.keys()], ['asset://one', 'asset://two'])
  })

  test('inside of a long text let other work run, and stop if the client no longer waits', async () => {
    const gone = new AbortController()
    const references = new AssetReferences('', new AbortableTimeSlices(new TimeSliceScheduler(), 'one', gone.signal))
    const text = Array.from({ length: 200_000 }, (_, at) => `asset://n${at}`).join(' ')
    setImmediate(() => gone.abort())
    await assert.rejects(references.collect(text), { code: 'SERVICE_UNAVAILABLE' })
  })
})

describe('requirements', () => {
  const one = (more: Partial<RunRequirement>): RunRequirement => ({
    kind: 'model',
    id: 'm',
    name: 'm',
    status: 'available',
    blocking: true,
    message: null,
    ...more,
  })
  const merged = (...all: RunRequirement[]) => {
    const into = new RequirementSet()
    for (const each of all) into.add(each)
    return runToCompletion(into.sorted())
  }

  test('keep the worse of two different results, in any order, and either may block', () => {
    const worse = one({ status: 'missing', message: 'why', blocking: false })
    for (const both of [
      [one({}), worse],
      [worse, one({})],
    ]) {
      assert.deepEqual(merged(...both), [one({ status: 'missing', message: 'why' })])
    }
    const order = ['available', 'downloading', 'unknown', 'unavailable', 'missing'] as const
    for (const [at, status] of order.entries()) {
      const all = order.slice(0, at + 1).map((each) => one({ status: each }))
      assert.equal(merged(...all.toReversed())[0]!.status, status)
    }
  })

  test('name at most twenty of their nodes', () => {
    const ids = Array.from({ length: 30 }, (_, at) => `n${10 + at}`)
    const [all] = merged(...ids.toReversed().map((id) => one({ details: { node_ids: [id] } })))
    assert.equal((all!.details!.node_ids as string[]).length, 20)
  })

  test('have ids and names of at most 512 characters, and stay different', async () => {
    const taking = graph([node('in', 'input.Any', { name: 'x' })], [])
    const long = `asset://${'a'.repeat(100_000)}`
    const summary = await preflightOf(server, taking, { inputs: { x: [`${long}1`, `${long}2`, { asset_id: long }] } })
    assert.deepEqual(
      summary.requirements.map(({ id, name }) => [id.length, name.length]),
      [
        [512, 512],
        [512, 512],
        [512, 512],
      ],
    )
    assert.match(summary.requirements[0]!.id, /^asset:\/\/a+…[0-9a-f]{64}$/)
    const approving = graph([node('ask', 'human.Approval', { message: '😀'.repeat(10_000) })], [])
    const { name } = requirement(await preflightOf(server, approving), 'approval', 'ask')
    assert.deepEqual([name.length <= 512, name.isWellFormed()], [true, true])
  })

  test('are omitted if there is no room, met ones before the others', () => {
    const all = ['a', 'b', 'c', 'd'].map((id) => one({ id, status: id > 'b' ? 'missing' : 'available' }))
    const idsOf = (most: number) => {
      const { requirements, omitted_count, has_unmet_omitted } = runToCompletion(limitRequirementsSteps(all, most))
      return [requirements.map(({ id }) => id).join(''), omitted_count, has_unmet_omitted]
    }
    assert.deepEqual(idsOf(10_000), ['abcd', 0, false])
    assert.deepEqual(idsOf(700), ['acd', 1, false])
    assert.deepEqual(idsOf(300), ['c', 3, true])
  })

  test('that are omitted are an issue', async () => {
    const nodes = Array.from({ length: 9_000 }, (_, at) => {
      const message = `${at}`.padEnd(512, 'x')
      return { ...node('ask', 'human.Approval', { message }), id: `${at}`.padEnd(400, 'n') }
    })
    const summary = await preflightOf(server, graph(nodes, []))
    const [issue] = summary.issues
    assert.deepEqual([issue?.severity, issue?.code, summary.runnable], ['warning', 'more_requirements', true])
    assert.equal(issue?.message, `There are ${9_000 - summary.requirements.length} more requirements.`)
  })
})

// `run_job`: the frames of a run from its acknowledgement to its single terminal frame.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect, type Frame, frameName, isEnding } from '../helpers/socket.ts'
import {
  type Bench,
  flood,
  gated,
  gatedItems,
  graph,
  greeting,
  newId,
  node,
  startBench,
  stored,
  submission,
} from './kit.ts'

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

const names = (frames: readonly Frame[]) => frames.map((frame) => frameName(frame))
const statuses = (frames: readonly Frame[]) =>
  frames.filter((frame) => frame.type === 'job_update').map((frame) => frame.status)

describe('the frames of a run', () => {
  test('are job_ack, then one job_update running, node_update and output_update frames, and one terminal job_update', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting, params: { name: 'Ada' }, workflow_id: 'label' }, 'r1')
    const frames = await client.collect(job_id)
    assert.equal(frameName(frames[0]!), 'job_ack')
    assert.equal(frames[0]!.request_id, 'r1')
    assert.ok(frames.every((frame) => frame.workflow_id === 'label'))
    assert.deepEqual(statuses(frames), ['running', 'completed'])
    assert.equal(names(frames)[1], 'job_update')
    const end = frames.at(-1)!
    assert.deepEqual(end.result, { outputs: { greeting: ['Hello, Ada!'] } })
    assert.ok(typeof end.duration === 'number' && end.duration >= 0)
    const nodes = frames.filter((frame) => frame.type === 'node_update')
    for (const id of ['name', 'say', 'greeting']) {
      const mine = nodes.filter((frame) => frame.node_id === id)
      assert.deepEqual(
        mine.map((frame) => frame.status),
        ['running', 'completed'],
        id,
      )
    }
    const said = nodes.find((frame) => frame.node_id === 'say' && frame.status === 'completed')!
    assert.deepEqual([said.node_type, said.result], ['text.Template', { output: 'Hello, Ada!' }])
    assert.equal(nodes.find((frame) => frame.status === 'running')?.result, null)
    const output = frames.find((frame) => frame.type === 'output_update')!
    assert.deepEqual(
      [output.output_name, output.output_type, output.value, output.disposition, output.node_id],
      ['greeting', 'str', 'Hello, Ada!', 'append', 'greeting'],
    )
    assert.ok(frames.indexOf(output) < frames.length - 1)
    await client.settled()
    assert.equal(client.of(job_id).length, frames.length, 'nothing comes after the terminal frame')
  })

  test('have lists in result.outputs: for a single value, a stream, an output without values', async () => {
    await using client = await connect(bench.server)
    const of = graph(
      [
        node('list', 'input.List', { name: 'list', value: [1, 2, 3] }),
        node('each', 'control.ForEach'),
        node('items', 'output.Output', { name: 'items' }),
        node('if', 'control.If', { condition: false }),
        node('never', 'output.Output', { name: 'never' }),
        node('whole', 'output.Output', { name: 'whole' }),
      ],
      [
        'list.output->each.list',
        'each.item->items.value',
        'list.output->if.value',
        'if.if_true->never.value',
        'list.output->whole.value',
      ],
    )
    const job_id = newId()
    client.command('run_job', { job_id, graph: of })
    const frames = await client.collect(job_id)
    assert.deepEqual(frames.at(-1)?.result, { outputs: { items: [1, 2, 3], never: [], whole: [[1, 2, 3]] } })
    const skipped = frames.filter((frame) => frame.type === 'node_update' && frame.node_id === 'never')
    assert.deepEqual(
      skipped.map((frame) => [frame.status, frame.result]),
      [['skipped', null]],
    )
  })

  test('include chunk, node_progress, log_update and edge_update live', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, graph: flood(5, 10) })
    const frames = await client.collect(job_id)
    const of = (type: string) => frames.filter((frame) => frame.type === type)
    assert.deepEqual(
      of('chunk').map((frame) => frame.content),
      of('output_update').map((frame) => frame.value),
    )
    assert.deepEqual(
      of('node_progress')
        .map((frame) => [frame.progress, frame.total])
        .at(-1),
      [5, 5],
    )
    assert.equal(of('log_update').at(-1)?.content, 'item 4')
    assert.deepEqual(of('edge_update').at(-1)?.status, 'completed')
    assert.equal(of('edge_update').at(-1)?.counter, 5)
  })

  test('come for a stored workflow; null properties count as absent, unknown properties and a type are tolerated', async () => {
    await using client = await connect(bench.server)
    const [job_id, again] = [newId(), newId()]
    const nulls = {
      graph: null,
      params: null,
      job_name: null,
      concurrent: null,
      require_terminal_result: null,
      timeout_seconds: null,
      execution_options: { persistence: null, event_detail: null, asset_persistence: null },
    }
    const listed = await client.ask('list_workflows', {})
    assert.deepEqual((listed.result as { workflows: unknown[] }).workflows, [])
    const workflow_id = await stored(bench.server, greeting)
    client.send({ command: 'run_job', data: { job_id, workflow_id, ...nulls }, request_id: null, type: 'x' })
    const frames = await client.collect(job_id)
    assert.equal(frames[0]?.request_id, undefined)
    assert.deepEqual(frames.at(-1)?.result, { outputs: { greeting: ['Hello, world!'] } })
    const ignored = {
      type: 'run_job_request',
      job_type: 'workflow',
      execution_strategy: 'threaded',
      user_id: '7',
      auth_token: 'secret',
      api_url: null,
      env: { A: 'b' },
      explicit_types: true,
      resource_limits: [1],
      settings: {},
    }
    client.command('run_job', { job_id: again, workflow_id, ...ignored })
    assert.equal((await client.collect(again)).at(-1)?.status, 'completed')
  })

  test('have a job id of the server if the client sends none', async () => {
    await using client = await connect(bench.server)
    const { job_id } = await client.ask('run_job', { graph: greeting, job_id: null })
    assert.equal(frameName((await client.collect(String(job_id)))[0]!), 'job_ack')
  })
})

describe('event_detail', () => {
  const lists = (frames: readonly Frame[]) => [...new Set(names(frames))].sort()

  test('outputs omits nodes, edges and progress; terminal omits outputs as well', async () => {
    await using client = await connect(bench.server)
    const run = async (event_detail: string) => {
      const job_id = newId()
      client.command('run_job', { job_id, graph: flood(3, 3), execution_options: { event_detail } })
      return client.collect(job_id)
    }
    assert.deepEqual(lists(await run('full')), [
      'chunk',
      'edge_update',
      'job_ack',
      'job_update',
      'log_update',
      'node_progress',
      'node_update',
      'output_update',
    ])
    assert.deepEqual(lists(await run('outputs')), ['chunk', 'job_ack', 'job_update', 'log_update', 'output_update'])
    const terminal = await run('terminal')
    assert.deepEqual(lists(terminal), ['job_ack', 'job_update'])
    assert.deepEqual(terminal.at(-1)?.result, { outputs: { out: ['0:x', '1:x', '2:x'] } })
  })

  test('terminal includes the error of a node', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    const of = graph([node('bad', 'test.Fail', { value: 'no luck' })], [])
    client.command('run_job', { job_id, graph: of, execution_options: { event_detail: 'terminal' } })
    const frames = await client.collect(job_id)
    assert.deepEqual(names(frames), ['job_ack', 'job_update', 'node_update', 'job_update'])
    assert.deepEqual([frames[2]?.status, frames[2]?.error, frames[2]?.result], ['error', 'no luck', null])
  })
})

describe('runs that fail', () => {
  test('because a node throws send node_update error and one job_update failed, with a message that reveals nothing', async () => {
    await using client = await connect(bench.server)
    for (const [safe, text] of [
      [true, 'The oven is cold.'],
      [false, 'The node failed. The log says why.'],
    ] as const) {
      const job_id = newId()
      const of = graph([node('bad', 'test.Fail', { value: 'The oven is cold.', safe })], [])
      client.command('run_job', { job_id, graph: of })
      const frames = await client.collect(job_id)
      const node_update = frames.findLast((frame) => frame.type === 'node_update')!
      assert.deepEqual([node_update.node_id, node_update.status, node_update.error], ['bad', 'error', text])
      assert.deepEqual(statuses(frames), ['running', 'failed'])
      assert.equal(frames.at(-1)?.error, text)
    }
  })

  test('at their start send one job_update failed with the job id, without an acknowledgement', async () => {
    await using client = await connect(bench.server)
    const refusals: [object, RegExp][] = [
      [{ workflow_id: 'nowhere' }, /workflow/i],
      [{}, /workflow_id or graph/],
      [{ graph: greeting, params: { name: 5 } }, /takes a string \(str\), and the value is an integer/],
      [{ graph: greeting, params: { nme: 'Ada' } }, /no input "nme"/],
      [{ graph: graph([node('a', 'no.Such')], []) }, /no\.Such/],
      [{ graph: graph([node('a', 'text.Concat', {})], ['a.output->b.value']) }, /./],
    ]
    for (const [data, text] of refusals) {
      const job_id = newId()
      client.command('run_job', { job_id, ...data }, 'r')
      const frames = await client.collect(job_id)
      assert.deepEqual(names(frames), ['job_update'])
      assert.match(String(frames[0]?.error), text)
    }
    await client.settled()
    assert.deepEqual((await client.ask('get_status')).jobs, [])
  })

  test('at their start leave their job id free', async () => {
    await using client = await connect(bench.server)
    const job_id = newId()
    client.command('run_job', { job_id, workflow_id: 'nowhere' })
    await client.collect(job_id)
    client.command('run_job', { job_id, graph: greeting })
    await client.next({ type: 'job_update', job_id, status: 'completed' })
  })
})

describe('several jobs and several sockets', () => {
  test('run at once on one socket, each job with its own frames in order', async () => {
    await using client = await connect(bench.server)
    const jobs = Array.from({ length: 12 }, () => newId())
    for (const job_id of jobs) client.command('run_job', { job_id, graph: gated(job_id), params: { x: job_id } })
    for (const job_id of [...jobs].reverse()) await bench.gates.open(job_id)
    for (const job_id of jobs) {
      const frames = await client.collect(job_id)
      assert.equal(frameName(frames[0]!), 'job_ack')
      assert.deepEqual(statuses(frames), ['running', 'completed'])
      assert.deepEqual(frames.at(-1)?.result, { outputs: { out: [job_id] } })
    }
  })

  test('see the same frames of a job in both encodings', async () => {
    await using first = await connect(bench.server)
    await using second = await connect(bench.server, { mode: 'text' })
    await using third = await connect(bench.server)
    const job_id = newId()
    first.command('run_job', { job_id, graph: gatedItems(job_id), params: { list: ['a', 'b', 'c'] } })
    await bench.gates.at(job_id)
    for (const client of [second, third]) {
      client.command('reconnect_job', { job_id })
      await client.next({ type: 'job_update', job_id, status: 'running' })
    }
    for (let at = 0; at < 3; at++) await bench.gates.open(job_id)
    const tails = await Promise.all(
      [first, second, third].map(async (client) => {
        const frames = await client.collect(job_id)
        const begin = frames.findIndex((frame) => frame.type === 'output_update')
        return frames.slice(begin).filter((frame) => frame.type !== 'edge_update')
      }),
    )
    assert.deepEqual(tails[1], tails[0])
    assert.deepEqual(tails[2], tails[0])
    assert.equal(tails[0]!.filter(isEnding).length, 1)
  })

  test('attach to a job by its id with the same request, without a restart', async () => {
    await using first = await connect(bench.server)
    await using second = await connect(bench.server)
    const data = { job_id: newId(), graph: gated('same'), params: { x: { a: 1, b: [2] } } }
    const { job_id } = data
    first.command('run_job', data)
    await bench.gates.at('same')
    second.command('run_job', { ...data, job_name: null, params: { x: { b: [2], a: 1 } }, user_id: 'ignored' })
    assert.equal((await second.next({ type: 'job_resumed', job_id })).status, 'running')
    await bench.gates.open('same')
    for (const client of [first, second])
      assert.deepEqual(statuses(await client.collect(job_id)), ['running', 'completed'])
    assert.equal(bench.gates.isWaiting('same'), false)
    second.command('run_job', data)
    await second.next({ type: 'job_resumed', job_id, status: 'completed' })
  })

  test('get job_id_in_use for the same job id with another request, and the job is not affected', async () => {
    await using first = await connect(bench.server)
    await using second = await connect(bench.server)
    const job_id = newId()
    first.command('run_job', { job_id, graph: gated(job_id) })
    await bench.gates.at(job_id)
    second.command('run_job', { job_id, graph: gated(job_id), params: { x: 2 } }, 'r')
    assert.equal((await second.next({ request_id: 'r' })).error, 'job_id_in_use')
    second.command('run_job', { job_id, graph: gated(job_id), timeout_seconds: 5 })
    await second.next({ error: 'job_id_in_use', job_id })
    await bench.gates.open(job_id)
    const frames = await first.collect(job_id)
    assert.deepEqual(statuses(frames), ['running', 'completed'])
    assert.ok(frames.every((frame) => frame.error === undefined))
    await second.settled()
    assert.equal(second.of(job_id).filter((frame) => frame.type !== undefined).length, 0)
  })

  test('of two users can use the same job id', async () => {
    await using client = await connect(bench.server)
    const { jobs } = bench.server.context.runs
    const job_id = newId()
    const other = { user_id: '2', workspace_id: null }
    const { active } = jobs.submit(other, submission({ job_id, graph: gated('other'), params: { x: 'of the other' } }))
    await active!.accepted()
    assert.equal((await client.ask('get_status', { job_id })).status, 'unknown')
    client.command('cancel_job', { job_id })
    assert.equal((await client.next({ type: 'job_update', job_id })).status, 'failed')
    client.command('reconnect_job', { job_id })
    assert.equal((await client.next({ type: 'job_update', job_id })).status, 'failed')
    client.command('stream_input', { job_id, input: 'x', value: 1 })
    await client.next({ error: 'not_running', job_id })
    client.command('run_job', { job_id, graph: greeting })
    assert.deepEqual((await client.next({ type: 'job_update', job_id, status: 'completed' })).result, {
      outputs: { greeting: ['Hello, world!'] },
    })
    assert.equal(active!.status, 'running')
    await bench.gates.open('other')
    await active!.settled()
    assert.equal(active!.status, 'completed')
  })

  test('are not blocked by a slow command; commands for the same job are executed in order', async () => {
    await using client = await connect(bench.server)
    const [slow, quick] = [newId(), newId()]
    client.command('run_job', { job_id: slow, graph: gated(slow) })
    client.command('cancel_job', { job_id: slow })
    client.command('get_status', { job_id: slow }, 'after')
    client.command('ping', undefined, 'beside')
    client.command('run_job', { job_id: quick, graph: greeting })
    await client.collect(quick)
    await client.collect(slow)
    const mine = client.of(slow)
    assert.equal(mine.filter((frame) => frameName(frame) === 'job_ack').length, 2)
    assert.equal(mine.filter(isEnding).length, 1)
    assert.ok(['running', 'cancelled'].includes(String((await client.next({ request_id: 'after' })).status)))
    const at = (request_id: string) => client.frames.findIndex((frame) => frame.request_id === request_id)
    assert.ok(at('beside') < at('after'))
  })
})

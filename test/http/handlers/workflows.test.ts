// Workflows over HTTP: create, read, replace, delete, versions, interface and links.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type {
  ExampleWorkflow,
  StoredWorkflow,
  Workflow,
  WorkflowInterface,
  WorkflowListItem,
  WorkflowShare,
  WorkflowVersion,
} from '../../../generated/types.ts'
import { findOwnedWorkflow, updateWorkflow } from '../../../src/db/workflows.ts'
import { type Answer, call, type ErrorBody, refused } from '../../helpers/http.ts'
import { startServer, temporaryFolder } from '../../helpers/server.ts'
import { created, edge, greeting, node } from '../kit.ts'

const path = ({ id }: { id: string }, more = '') => `/api/workflows/${id}${more}`

describe('createWorkflow', () => {
  test('createWorkflow: stores the workflow and returns its URL', async () => {
    await using server = await startServer()
    const request = greeting({
      description: 'Greets.',
      tags: ['a', 'b'],
      access: 'public',
      settings: { colour: 'red' },
      run_mode: 'chat',
    })
    const { status, headers, body } = await call<StoredWorkflow>(server, 'POST', '/api/workflows', { body: request })
    assert.equal(status, 201)
    assert.equal(headers.location, path(body))
    assert.equal(headers.etag, '"1"')
    const { issues, ...record } = body
    assert.deepEqual(issues, [])
    const { id, created_at, updated_at, etag, input_schema, output_schema, ...rest } = record
    assert.deepEqual(rest, { ...request, workspace_id: null })
    assert.deepEqual(input_schema, { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] })
    assert.deepEqual(Object.keys(output_schema.properties), ['greeting'])
    assert.equal(created_at, updated_at)
    assert.ok(id && etag)
    assert.deepEqual((await call(server, 'GET', headers.location!)).body, record)
  })

  test('createWorkflow and updateWorkflow: store a graph with problems, and report these', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('name', 'input.String', { name: 'name' }),
        node('template', 'text.Templat', { template: 'Hello, {{name}}!' }),
        node('first', 'text.Concat'),
        node('second', 'text.Concat'),
        node('greeting', 'output.Output', { name: 'greeting', vlaue: 1 }),
      ],
      edges: [
        edge('name.outptu', 'greeting.value'),
        edge('first.output', 'second.a'),
        edge('second.output', 'first.a'),
      ],
    }
    const stored = await call<StoredWorkflow>(server, 'POST', '/api/workflows', { body: greeting({ graph }) })
    assert.equal(stored.status, 201)
    const found = stored.body.issues.map(({ severity, code, node_id, pin_name }) => [severity, code, node_id, pin_name])
    for (const expected of [
      ['error', 'unknown_node', 'template', null],
      ['error', 'unknown_handle', 'name', 'outptu'],
      ['error', 'illegal_cycle', 'second', null],
    ])
      assert.ok(
        found.some((one) => isDeepStrictEqual(one, expected)),
        `${expected} is not among ${JSON.stringify(found)}`,
      )
    const [unknown] = stored.body.issues
    assert.match(unknown!.message, /Did you mean "text\.Template"\?/)
    const { body } = await call<WorkflowInterface>(server, 'GET', path(stored.body, '/interface'))
    assert.deepEqual(body.diagnostics, stored.body.issues)
    const again = await call<StoredWorkflow>(server, 'PUT', path(stored.body), { body: greeting({ graph }) })
    assert.deepEqual(again.body.issues, stored.body.issues)
    const mended = await call<StoredWorkflow>(server, 'PUT', path(stored.body), { body: greeting() })
    assert.deepEqual(mended.body.issues, [])
  })

  test('createWorkflow: accepts a trailing slash', async () => {
    await using server = await startServer()
    assert.equal((await call(server, 'POST', '/api/workflows/', { body: greeting() })).status, 201)
  })

  test('createWorkflow: treats null as absent, and absent members as the default', async () => {
    await using server = await startServer()
    const nulls = { description: null, tags: null, access: null, settings: null, run_mode: null }
    const graph = {
      nodes: [
        node(
          'a',
          'input.String',
          { name: 'a' },
          { parent_id: null, dynamic_properties: null, dynamic_outputs: null, ui_properties: null },
        ),
      ],
      edges: [{ ...edge('a.output', 'b.value'), id: null, edge_type: null, ui_properties: null }],
    }
    const explicit = await created(server, { ...greeting({ graph }), ...nulls })
    const bare = await created(server, greeting({ graph }))
    for (const { description, tags, access, settings, run_mode } of [explicit, bare]) {
      assert.deepEqual(
        { description, tags, access, settings, run_mode },
        { description: '', tags: [], access: 'private', settings: {}, run_mode: 'workflow' },
      )
    }
  })

  test('INVALID_REQUEST: every problem is listed with its path, and nothing is stored', async () => {
    await using server = await startServer()
    const body = {
      name: '',
      extra: 1,
      tags: ['same', 'same'],
      access: 'secret',
      run_mode: 5,
      settings: [],
      description: 7,
      graph: { nodes: [{ id: 'a', type: '' }], edges: [{ source: 'a' }, 'edge'], more: true },
    }
    const paths = await refused(server, 'POST', '/api/workflows', { body }, [400, 'invalid_request'])
    for (const expected of [
      '/body/access',
      '/body/description',
      '/body/extra',
      '/body/graph/edges/0/sourceHandle',
      '/body/graph/edges/0/target',
      '/body/graph/edges/0/targetHandle',
      '/body/graph/edges/1',
      '/body/graph/more',
      '/body/graph/nodes/0/data',
      '/body/graph/nodes/0/type',
      '/body/name',
      '/body/run_mode',
      '/body/settings',
      '/body/tags',
    ]) {
      assert.ok(paths.includes(expected), `${expected} is not among ${paths}`)
    }
    assert.deepEqual((await call(server, 'GET', '/api/workflows')).body, [])
  })

  test('INVALID_REQUEST: missing members are named', async () => {
    await using server = await startServer()
    const paths = await refused(server, 'POST', '/api/workflows', { body: {} }, [400, 'invalid_request'])
    assert.deepEqual(paths, ['/body/graph', '/body/name'])
  })

  test('createWorkflow and updateWorkflow: refuse settings of more than 256 KiB of JSON', async () => {
    await using server = await startServer()
    // A letter of three bytes, and the 11 bytes around it.
    const settings = (bytes: number) => ({ text: `${'€'.repeat(1_000)}${'x'.repeat(bytes - 3_000 - 11)}` })
    const kept = await created(server, greeting({ settings: settings(262_144) }))
    assert.deepEqual(kept.settings, settings(262_144))
    const many = { list: Array.from({ length: 1_000_000 }, () => ({})) }
    for (const long of [settings(262_145), many])
      for (const [method, at] of [
        ['POST', '/api/workflows'],
        ['PUT', path(kept)],
      ] as const) {
        const body = greeting({ settings: long })
        assert.deepEqual(await refused(server, method, at, { body }, [400, 'invalid_request']), ['/body/settings'])
      }
    assert.deepEqual((await call(server, 'GET', path(kept))).body, kept)
  })

  test('getWorkflow: reads large settings that an earlier version stored', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting())
    const settings = { list: Array.from({ length: 100_000 }, (_, at) => ({ at })) }
    await server.context.store.write((tx) => {
      const row = findOwnedWorkflow(tx, { user_id: '1', workspace_id: null }, workflow.id)!
      updateWorkflow(tx, { ...row, settings: JSON.stringify(settings) }, 1)
    })
    assert.deepEqual((await call<Workflow>(server, 'GET', path(workflow))).body, { ...workflow, settings })
  })

  test('createWorkflow: stores unknown keys of nodes and edges, and a graph that cannot run, unchanged', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        {
          zeta: 1,
          id: 'n',
          type: 'nothing.Known',
          data: { z: 1, a: { nested: [1, null, 'x'] } },
          'x y': { b: 2, a: 1 },
          ui_properties: { x: 0.1 },
        },
        node('n', 'text.Concat'),
      ],
      edges: [{ ...edge('n.output', 'gone.value'), selected: true, '': 0, ünï: '✓' }],
    }
    const { id } = await created(server, { name: 'Draft', graph: graph as never })
    const { text } = await call<Workflow>(server, 'GET', `/api/workflows/${id}`)
    assert.ok(text.includes(JSON.stringify(graph)), 'the graph came back as other text')
    await refused(server, 'POST', `/api/workflows/${id}/run`, { body: {} }, [422, 'invalid_workflow_graph'])
  })

  test('createWorkflow: the etag depends on the graph, not on times, names or data of editors', async () => {
    await using server = await startServer()
    const first = await created(server, greeting())
    const moved = greeting()
    moved.graph.nodes[0]!.ui_properties = { x: 1, y: 2 }
    const second = await created(server, { ...moved, name: 'Other', tags: ['x'] })
    const changed = greeting()
    changed.graph.nodes[1]!.data = { template: 'Bye, {{name}}!' }
    const third = await created(server, changed)
    assert.equal(second.etag, first.etag)
    assert.notEqual(third.etag, first.etag)
  })
})

describe('getWorkflow', () => {
  test('getWorkflow: finds the bundled examples, which can be copied but not changed', async () => {
    await using server = await startServer()
    const listed = (await call<{ id: string }[]>(server, 'GET', '/api/workflows/examples')).body
    assert.ok(listed.length > 0)
    for (const { id } of listed) {
      const { status, headers, body } = await call<Workflow>(server, 'GET', path({ id }))
      assert.equal(status, 200)
      assert.equal(headers.etag, '"0"')
      const example = (await call<ExampleWorkflow>(server, 'GET', `/api/workflows/examples/${id}`)).body
      const { params: _, ...shown } = example
      assert.deepEqual({ ...body, ...shown }, body)
      const { etag } = (await call<WorkflowInterface>(server, 'GET', path({ id }, '/interface'))).body
      assert.equal(body.etag, etag)
      await refused(server, 'PUT', path({ id }), { body: greeting() }, [404, 'workflow_not_found'])
      const { name, graph } = body
      const copy = await call<StoredWorkflow>(server, 'POST', '/api/workflows', { body: { name, graph } })
      assert.equal(copy.body.etag, etag)
      assert.deepEqual(
        copy.body.issues.filter(({ severity }) => severity === 'error'),
        [],
      )
    }
  })

  test('WORKFLOW_NOT_FOUND: getWorkflow: an unknown workflow', async () => {
    await using server = await startServer()
    await refused(server, 'GET', '/api/workflows/wf_unknown', {}, [404, 'workflow_not_found'])
  })

  test('WORKFLOW_NOT_FOUND: a foreign workflow gives the same 404 for every operation', async () => {
    await using server = await startServer()
    const stranger = { user_id: '2', workspace_id: null }
    const inWorkspace = { user_id: '1', workspace_id: 'w' }
    for (const scope of [stranger, inWorkspace]) {
      const { record } = await server.context.runs.workflows.create(scope, greeting())
      const unknown = { id: 'wf_unknown' }
      const calls: [string, string, object][] = [
        ['GET', '', {}],
        ['PUT', '', { body: greeting() }],
        ['DELETE', '', {}],
        ['POST', '/run', { body: { params: { name: 'x' } } }],
        ['GET', '/versions', {}],
        ['GET', '/interface', {}],
        ['POST', '/share', {}],
        ['DELETE', '/share', {}],
      ]
      for (const [method, more, options] of calls) {
        const theirs = await call<ErrorBody>(server, method, path(record, more), options)
        const none = await call<ErrorBody>(server, method, path(unknown, more), options)
        assert.equal(theirs.status, 404, `${method} ${more}`)
        assert.deepEqual(theirs.body, none.body)
      }
      assert.equal((await server.context.runs.workflows.get(scope, record.id)).revision, 1)
    }
  })

  test('getWorkflow: survives a restart', async () => {
    const data_dir = temporaryFolder()
    const { rmSync } = await import('node:fs')
    try {
      const before = await startServer({ data_dir })
      const workflow = await created(before, greeting())
      await before.close(0)
      await using after = await startServer({ data_dir })
      assert.deepEqual((await call(after, 'GET', path(workflow))).body, workflow)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

describe('updateWorkflow', () => {
  test('updateWorkflow: replaces all editable members', async () => {
    await using server = await startServer()
    const before = await created(server, greeting({ description: 'old', tags: ['x'], access: 'public' }))
    const answer = await call<StoredWorkflow>(server, 'PUT', path(before), { body: greeting({ name: 'New' }) })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.etag, '"2"')
    const { name, description, tags, access, created_at, id } = answer.body
    assert.deepEqual(
      [name, description, tags, access, created_at, id],
      ['New', '', [], 'private', before.created_at, before.id],
    )
    const { issues: _, ...record } = answer.body
    assert.deepEqual((await call(server, 'GET', path(before))).body, record)
    await refused(server, 'PUT', path({ id: 'wf_unknown' }), { body: greeting() }, [404, 'workflow_not_found'])
    await refused(server, 'PUT', path(before), { body: { name: 1 } }, [400, 'invalid_request'])
  })

  const matching = ['"1"', ' "1" ', '*', ' * ', '"0", "1"', '"a,b" ,"1"', ',"1",', 'W/"1", "1"']
  const stale = ['"2"', 'W/"1"', '"a"', '"a,b"', '""', '"01x"', '"3", "2"', '"-1"', '"1.0"']
  const malformed = ['1', '"1', '1"', '"1" "1"', '"1"x', 'W/1', '*, "1"', ',', "'1'", '"1";q=1', 'w/"1"']

  test('updateWorkflow and deleteWorkflow: accept If-Match with the present revision', async () => {
    await using server = await startServer()
    for (const tag of matching) {
      const headers = { 'If-Match': tag }
      const one = await created(server, greeting())
      assert.equal((await call(server, 'PUT', path(one), { body: greeting(), headers })).status, 200, tag)
      const other = await created(server, greeting())
      assert.equal((await call(server, 'DELETE', path(other), { headers })).status, 204, tag)
    }
  })

  test('PRECONDITION_FAILED: If-Match with another revision changes nothing', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting())
    for (const tag of stale) {
      const headers = { 'If-Match': tag }
      await refused(server, 'PUT', path(workflow), { body: greeting(), headers }, [412, 'precondition_failed'])
      await refused(server, 'DELETE', path(workflow), { headers }, [412, 'precondition_failed'])
    }
    const { headers, body } = await call(server, 'GET', path(workflow))
    assert.equal(headers.etag, '"1"')
    assert.deepEqual(body, workflow)
  })

  test('INVALID_REQUEST: an If-Match that is not a list of entity tags is refused', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting())
    for (const tag of [...malformed, '"x"'.padEnd(300, ' x')]) {
      const options = { headers: { 'If-Match': tag } }
      const paths = await refused(server, 'DELETE', path(workflow), options, [400, 'invalid_request'])
      // One tag is too long as well.
      assert.deepEqual([...new Set(paths)], ['/headers/if-match'], tag)
    }
    const { body } = await call<{ error: { message: string } }>(server, 'DELETE', path(workflow), {
      headers: { 'If-Match': '3' },
    })
    assert.equal(body.error.message, '/headers/if-match: must be * or a list of entity tags in double quotes')
    assert.equal((await call(server, 'GET', path(workflow))).status, 200)
  })

  test('updateWorkflow: of writers with the same revision only one succeeds', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting())
    const names = Array.from({ length: 10 }, (_, at) => `Writer ${at}`)
    const answers = await Promise.all(
      names.map((name) =>
        call(server, 'PUT', path(workflow), { body: greeting({ name }), headers: { 'If-Match': '"1"' } }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 412)])
  })
})

describe('deleteWorkflow', () => {
  test('deleteWorkflow: deletes a workflow with its versions and link, once', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting({ access: 'public' }))
    const { body } = await call<WorkflowShare>(server, 'POST', path(workflow, '/share'))
    const answer = await call(server, 'DELETE', path(workflow))
    assert.equal(answer.status, 204)
    assert.equal(answer.headers['content-type'], undefined)
    for (const [method, gone] of [
      ['GET', path(workflow)],
      ['DELETE', path(workflow)],
      ['GET', path(workflow, '/versions')],
      ['GET', `/api/workflows/public/${workflow.id}`],
      ['GET', `/api/shared-workflows/${body.token}`],
    ] as const) {
      await refused(server, method, gone, {}, [404, 'workflow_not_found'])
    }
  })

  test('deleteWorkflow: does not affect a workflow with the same graph', async () => {
    await using server = await startServer()
    const [first, second] = [await created(server, greeting()), await created(server, greeting())]
    await call(server, 'DELETE', path(first))
    assert.deepEqual((await call(server, 'GET', path(second))).body, second)
  })
})

describe('listWorkflowVersions', () => {
  test('listWorkflowVersions: returns every revision, the newest first, with the graph on request', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting({ name: 'one' }))
    await call(server, 'PUT', path(workflow), { body: greeting({ name: 'two', graph: { nodes: [], edges: [] } }) })
    const plain = (await call<WorkflowVersion[]>(server, 'GET', path(workflow, '/versions'))).body
    assert.deepEqual(
      plain.map(({ version, name }) => [version, name]),
      [
        [2, 'two'],
        [1, 'one'],
      ],
    )
    assert.ok(plain.every((version) => !('graph' in version)))
    assert.equal(plain[1]!.etag, workflow.etag)
    const full = (await call<WorkflowVersion[]>(server, 'GET', path(workflow, '/versions?fields=full'))).body
    assert.deepEqual(
      full.map(({ graph }) => graph),
      [{ nodes: [], edges: [] }, workflow.graph],
    )
  })

  test('listWorkflowVersions: pages through Link until the end', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting({ name: 'v1' }))
    for (let at = 2; at <= 5; at++) await call(server, 'PUT', path(workflow), { body: greeting({ name: `v${at}` }) })
    const seen: number[] = []
    const sizes: number[] = []
    let next: string | null = path(workflow, '/versions?limit=2&fields=full')
    while (next !== null) {
      const { body, headers }: Answer<WorkflowVersion[]> = await call<WorkflowVersion[]>(server, 'GET', next)
      assert.ok(body.every(({ graph }) => graph))
      seen.push(...body.map(({ version }) => version))
      sizes.push(body.length)
      next = /^<([^>]+)>; rel="next"$/.exec(String(headers.link))?.[1] ?? null
    }
    assert.deepEqual(seen, [5, 4, 3, 2, 1])
    assert.deepEqual(sizes, [2, 2, 1])
    await refused(server, 'GET', path(workflow, '/versions?cursor=zz'), {}, [400, 'invalid_request'])
    await refused(server, 'GET', path(workflow, '/versions?fields=all'), {}, [400, 'invalid_request'])
  })
})

describe('getWorkflowInterface', () => {
  test('getWorkflowInterface: returns inputs and outputs of a graph that can run', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('count', 'input.Integer', { name: 'count', value: 3, min: 1, max: 9, description: 'How many.' }),
        node('list', 'input.List', { name: 'list' }),
        node('each', 'control.ForEach'),
        node('all', 'output.Output', { name: 'all' }),
        node('one', 'output.Output', { name: 'one', description: 'The count.' }),
      ],
      edges: [edge('list.output', 'each.list'), edge('each.item', 'all.value'), edge('count.output', 'one.value')],
    }
    const workflow = await created(server, { name: 'Pins', graph })
    for (const more of ['/interface', '/interface?version=1']) {
      const { status, body } = await call<WorkflowInterface>(server, 'GET', path(workflow, more))
      assert.equal(status, 200)
      assert.equal(body.workflow_id, workflow.id)
      assert.equal(body.etag, workflow.etag)
      assert.deepEqual(body.diagnostics, [])
      const [count, list] = body.inputs
      assert.deepEqual(
        [count!.name, count!.required, count!.default, count!.min, count!.max, count!.description],
        ['count', false, 3, 1, 9, 'How many.'],
      )
      assert.deepEqual([list!.name, list!.required, list!.default], ['list', true, null])
      assert.deepEqual(
        body.outputs.map(({ name, stream }) => [name, stream]),
        [
          ['all', true],
          ['one', false],
        ],
      )
    }
  })

  test('getWorkflowInterface: returns that of a bundled example', async () => {
    await using server = await startServer()
    const { body } = await call<WorkflowInterface>(server, 'GET', '/api/workflows/greeting/interface')
    assert.deepEqual(
      body.inputs.map(({ name }) => name),
      ['name'],
    )
  })

  test('getWorkflowInterface: a graph that cannot run has diagnostics', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [
        node('in', 'input.String', { name: 'in' }),
        node('x', 'no.Such'),
        node('out', 'output.Output', { name: 'out' }),
      ],
      edges: [edge('in.output', 'x.value'), edge('x.output', 'out.value'), edge('gone.output', 'out.value')],
    }
    const workflow = await created(server, { name: 'Broken', graph })
    const { status, body } = await call<WorkflowInterface>(server, 'GET', path(workflow, '/interface'))
    assert.equal(status, 200)
    const codes = body.diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)
    assert.ok(codes.includes('unknown_node') && codes.includes('dangling_edge'), String(codes))
    assert.deepEqual([body.inputs[0]!.name, body.outputs[0]!.name], ['in', 'out'])
  })

  test('INVALID_WORKFLOW_GRAPH: two inputs with the same name give 422, in the error format of SDKs', async () => {
    await using server = await startServer()
    const graph = {
      nodes: [node('a', 'input.String', { name: 'x' }), node('b', 'input.String', { name: 'x' })],
      edges: [],
    }
    const workflow = await created(server, { name: 'Twins', graph })
    const { status, body } = await call<{ code: string; retryable: boolean; detail: string; message: string }>(
      server,
      'GET',
      path(workflow, '/interface'),
    )
    assert.equal(status, 422)
    assert.deepEqual([body.code, body.retryable, body.detail], ['INVALID_WORKFLOW_GRAPH', false, body.message])
  })

  test('INVALID_REQUEST: any version but 1 is refused', async () => {
    await using server = await startServer()
    for (const version of ['2', '0', 'x', '1.5']) {
      const paths = await refused(server, 'GET', `/api/workflows/greeting/interface?version=${version}`, {}, [
        400,
        'invalid_request',
      ])
      assert.ok(paths.includes('/query/version'))
    }
  })
})

describe('links', () => {
  test('shareWorkflow, getSharedWorkflow, unshareWorkflow: manage a single link, which shows the present workflow', async () => {
    await using server = await startServer()
    const workflow = await created(server, greeting())
    const share = await call<WorkflowShare>(server, 'POST', path(workflow, '/share'))
    assert.equal(share.status, 200)
    assert.equal(share.body.url, `${server.url}/api/shared-workflows/${share.body.token}`)
    assert.deepEqual((await call(server, 'POST', path(workflow, '/share'))).body, share.body)
    const read = `/api/shared-workflows/${share.body.token}`
    assert.deepEqual((await call(server, 'GET', read)).body, workflow)
    await call(server, 'PUT', path(workflow), { body: greeting({ name: 'Later' }) })
    const later = await call<Workflow>(server, 'GET', read)
    assert.equal(later.body.name, 'Later')
    assert.equal(later.headers.etag, '"2"')
    for (const _ of [1, 2]) assert.equal((await call(server, 'DELETE', path(workflow, '/share'))).status, 204)
    await refused(server, 'GET', read, {}, [404, 'workflow_not_found'])
    const again = await call<WorkflowShare>(server, 'POST', path(workflow, '/share'))
    assert.notEqual(again.body.token, share.body.token)
  })

  test('shareWorkflow: the link is below the public URL', async () => {
    await using server = await startServer({ environment: { SVC_PUBLIC_URL: 'https://flows.example/base/' } })
    const { body } = await call<WorkflowShare>(server, 'POST', path(await created(server, greeting()), '/share'))
    assert.equal(body.url, `https://flows.example/base/api/shared-workflows/${body.token}`)
  })

  test('readers of a public or shared workflow do not learn its workspace', async () => {
    await using server = await startServer()
    const owner = { user_id: '2', workspace_id: 'secret-workspace' }
    const { workflows } = server.context.runs
    const { record } = await workflows.create(owner, greeting({ access: 'public' }))
    assert.equal(record.workspace_id, 'secret-workspace', 'its owner does')
    const { token } = await workflows.share(owner, record.id)
    for (const url of [
      '/api/workflows/public',
      `/api/workflows/public/${record.id}`,
      `/api/shared-workflows/${token}`,
    ]) {
      const { status, text } = await call(server, 'GET', url)
      assert.deepEqual([status, text.includes(record.id), text.includes('secret-workspace')], [200, true, false], url)
    }
  })

  test('getPublicWorkflow, listPublicWorkflows: return public workflows of all users, and no private ones', async () => {
    await using server = await startServer()
    const mine = await created(server, greeting({ name: 'Mine', access: 'public' }))
    const hidden = await created(server, greeting({ name: 'Hidden' }))
    const { record } = await server.context.runs.workflows.create(
      { user_id: '2', workspace_id: null },
      greeting({ name: 'Theirs', access: 'public' }),
    )
    const { body } = await call<WorkflowListItem[]>(server, 'GET', '/api/workflows/public')
    assert.deepEqual(body.map(({ name }) => name).sort(), ['Mine', 'Theirs'])
    assert.deepEqual((await call(server, 'GET', `/api/workflows/public/${mine.id}`)).body, mine)
    assert.equal((await call(server, 'GET', `/api/workflows/public/${record.id}`)).headers.etag, '"1"')
    await refused(server, 'GET', `/api/workflows/public/${hidden.id}`, {}, [404, 'workflow_not_found'])
    await call(server, 'PUT', path(mine), { body: greeting() })
    await refused(server, 'GET', `/api/workflows/public/${mine.id}`, {}, [404, 'workflow_not_found'])
  })
})
